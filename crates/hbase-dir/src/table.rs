//! Tables of a root directory.

use std::path::{Path, PathBuf};

use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{Error, ErrorKind, FamilyDescriptor, Result, TableDescriptor, TableName};

use crate::file_list::{file_names, without_tracker};
use crate::locate::{FamilyPlace, family_directory};
use crate::messages::{RegionInfoMessage, TableSchema};
use crate::mob::{mob_region, without_mob};
use crate::region_set::{RegionCandidate, derived_regions, listed_regions, table_directory};
use crate::small_file::{Entry, damaged, length, list, read_delimited_pbuf, read_pbuf};
use crate::store_file_name::is_hex;
use crate::{HbaseFile, HbaseRegion, HbaseTable, LiveRegion, LiveRegions};

/// Refuses the directory of a Halite store. It has HBase's layout, but only its manifest tells
/// which files are live, and its newest cells may be in its log.
fn check_is_not_halite(root: &Path) -> Result<()> {
    if !root.join("halite").exists() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{} is a store of Halite, not a root directory of HBase; copy its \
         tables with `halite copy`",
        root.display()
    )))
}

/// Returns the tables of a root directory, except HBase's own, by name.
///
/// # Errors
/// `InvalidRequest` if it is not a root directory, `Corrupt`, or the file system's error.
pub fn list_tables(root: &Path) -> Result<Vec<TableName>> {
    let data = root.join("data");
    if !data.is_dir() {
        return Err(Error::invalid(format!(
            "{} is not a root directory of HBase: it has no directory \"data\"; give the directory \
             that hbase.rootdir names",
            root.display()
        )));
    }
    check_is_not_halite(root)?;
    let mut tables = Vec::new();
    for namespace in list(&data, false)? {
        if !namespace.is_directory || namespace.name == SYSTEM_NAMESPACE {
            continue;
        }
        for table in list(&namespace.path, false)?.into_iter().filter(|entry| entry.is_directory) {
            let name = TableName::new(&namespace.name[..], table.name)
                .map_err(|why| damaged(&table.path, why.message()))?;
            tables.push(name);
        }
    }
    Ok(tables)
}

/// How to tell which regions are live.
#[derive(Clone, Copy, Debug)]
pub enum Liveness<'a> {
    /// By `hbase:meta`.
    Listed(&'a LiveRegions),
    /// By the ids and ranges of the regions.
    Derived,
}

/// Reads a table of a root directory.
///
/// # Errors
/// `NoSuchTable`; `InvalidRequest` for one of HBase's own tables; `Corrupt`, with the path; or the
/// file system's error.
pub fn read_table(root: &Path, name: &TableName, liveness: Liveness<'_>) -> Result<HbaseTable> {
    if name.namespace() == SYSTEM_NAMESPACE {
        return Err(Error::invalid("it is one of HBase's own tables, which are not imported"));
    }
    let directory = table_directory(root, name);
    if !directory.is_dir() {
        let text = format!("it does not exist: there is no directory {}", directory.display());
        return Err(Error::new(ErrorKind::NoSuchTable, text));
    }
    let descriptor = read_descriptor(&directory)?;
    if descriptor.name() != name {
        let other = descriptor.name();
        return Err(damaged(&directory, format_args!("its descriptor is of table {other}")));
    }
    let Candidates { candidates, without_row } = read_candidates(name, &directory, liveness)?;
    let count = candidates.len().saturating_add(without_row.len());
    let live = match liveness {
        Liveness::Listed(listed) => listed_regions(candidates, name, &directory, listed)?,
        Liveness::Derived => derived_regions(&candidates, &directory)?,
    };
    let left_out = count.saturating_sub(live.len());
    let (replaced_regions, unlisted_regions) = match liveness {
        Liveness::Listed(_) => (0, left_out),
        Liveness::Derived => (left_out, 0),
    };
    let regions = live
        .into_iter()
        .map(|region| {
            read_region(root, &descriptor, region, |place, family| {
                let names = file_names(&place.path(), &descriptor, family)?;
                names.iter().map(|name| place.resolve(name, None)).collect()
            })
        })
        .collect::<Result<_>>()?;
    let (descriptor, mob_families) = without_mob(without_tracker(descriptor));
    let mut unknown_regions = Vec::new();
    for path in without_row {
        if has_store_files(&path)? {
            unknown_regions.push(path);
        }
    }
    Ok(HbaseTable {
        descriptor,
        mob_families,
        regions,
        replaced_regions,
        unlisted_regions,
        unknown_regions,
    })
}

/// Directories of regions in that of a table.
struct Candidates {
    candidates: Vec<RegionCandidate>,
    /// Directories with neither a file that describes the region nor a row of a live one.
    without_row: Vec<PathBuf>,
}

/// Reads which regions have a directory in that of a table.
fn read_candidates(
    name: &TableName,
    directory: &Path,
    liveness: Liveness<'_>,
) -> Result<Candidates> {
    let (mut candidates, mut without_row) = (Vec::new(), Vec::new());
    let mob_region = mob_region(name);
    for entry in list(directory, false)?.into_iter().filter(|entry| entry.is_directory) {
        if !is_hex(&entry.name) {
            return Err(damaged(&entry.path, "this is not a region's directory; move it away"));
        }
        let path = entry.path.join(".regioninfo");
        let Some(message) = read_region_info(&path, liveness)? else {
            match candidate_of_meta(name, &entry.name, &path, liveness)? {
                Some(candidate) => candidates.push(candidate),
                None if entry.name != mob_region => without_row.push(entry.path),
                None => {}
            }
            continue;
        };
        let candidate = RegionCandidate::new(&message, name, &path)?;
        if let Some(other) = candidate.as_ref().filter(|found| found.encoded_name != entry.name) {
            let text = format!("it describes region {}", other.encoded_name);
            return Err(damaged(&path, text));
        }
        // A clone has a directory of it here.
        candidates.extend(candidate.filter(|found| found.encoded_name != mob_region));
    }
    Ok(Candidates { candidates, without_row })
}

/// Returns whether a directory in that of a region has files, apart from logs.
fn has_store_files(region: &Path) -> Result<bool> {
    for family in list(region, true)?.into_iter().filter(|entry| entry.is_directory) {
        let is_family = !family.name.starts_with('.')
            && !["recovered.edits", "recovered.hfiles"].contains(&&family.name[..]);
        if is_family && list(&family.path, false)?.iter().any(|file| file.is_file) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads the file that describes a region; `None` if it is missing, or if it is damaged and
/// `hbase:meta` tells what is in it.
fn read_region_info(path: &Path, liveness: Liveness<'_>) -> Result<Option<RegionInfoMessage>> {
    if length(path)?.is_none() {
        return Ok(None);
    }
    match read_delimited_pbuf(path) {
        Err(error)
            if error.kind() == ErrorKind::Corrupt && matches!(liveness, Liveness::Listed(_)) =>
        {
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Returns the region of a directory without a whole `.regioninfo`, by the row of `hbase:meta`;
/// `None` if it has none, and is not live. HBase takes the row, too, and writes the file again when
/// it opens the region (`HRegionFileSystem.checkRegionInfoOnFilesystem`).
fn candidate_of_meta(
    table: &TableName,
    region: &str,
    path: &Path,
    liveness: Liveness<'_>,
) -> Result<Option<RegionCandidate>> {
    let Liveness::Listed(listed) = liveness else {
        return Err(damaged(
            path,
            "this file is missing, and without hbase:meta it is unknown which rows the region has: \
             copy data/hbase/meta, too; or start and stop HBase, which writes the file again; or \
             move the region away if it has no store files",
        ));
    };
    let found = listed.get(&(table.clone(), region.to_owned())).cloned();
    Ok(found.map(|LiveRegion { start, end, id }| RegionCandidate {
        start,
        end,
        id,
        encoded_name: region.to_owned(),
    }))
}

/// Returns a region with the files that `files` returns for each of its families.
pub(crate) fn read_region(
    root: &Path,
    table: &TableDescriptor,
    region: RegionCandidate,
    files: impl Fn(&FamilyPlace<'_>, &FamilyDescriptor) -> Result<Vec<HbaseFile>>,
) -> Result<HbaseRegion> {
    let mut found = Vec::new();
    for family in table.families() {
        let place = FamilyPlace {
            root,
            table: table.name(),
            region: &region.encoded_name,
            family: family.name(),
            directory: family_directory(family, root)?,
        };
        found.extend(files(&place, family)?);
    }
    let RegionCandidate { start, end, encoded_name, .. } = region;
    Ok(HbaseRegion { start, end, encoded_name, files: found })
}

/// Reads the newest descriptor below a table's or a snapshot's directory.
///
/// # Errors
/// `Corrupt` if there is none, or the newest is damaged.
pub(crate) fn read_descriptor(directory: &Path) -> Result<TableDescriptor> {
    let descriptors = directory.join(".tabledesc");
    let newest = list(&descriptors, true)?
        .into_iter()
        .filter_map(|entry| Some((descriptor_number(&entry)?, entry)))
        .max_by_key(|(number, _)| *number);
    let Some((_, entry)) = newest else {
        return Err(damaged(&descriptors, "it has no whole .tableinfo file"));
    };
    let schema: TableSchema = read_pbuf(&entry.path)?;
    let descriptor =
        schema.decode_descriptor().map_err(|why| damaged(&entry.path, why.message()))?;
    descriptor.check().map_err(|why| damaged(&entry.path, why.message()))?;
    Ok(descriptor)
}

/// Returns the number of a descriptor's file, `.tableinfo.<number>.<length>`. `None` for other
/// files, and for one that was not written to its end, which HBase ignores, too.
fn descriptor_number(entry: &Entry) -> Option<u64> {
    let numbers = entry.name.strip_prefix(".tableinfo")?;
    if numbers.is_empty() {
        return Some(0);
    }
    let (number, length) = match numbers.strip_prefix('.')?.split_once('.') {
        Some((number, length)) => (number, Some(length.parse::<u64>().ok()?)),
        None => (numbers.strip_prefix('.')?, None),
    };
    let number = number.parse().ok()?;
    length.is_none_or(|length| length == entry.bytes).then_some(number)
}
