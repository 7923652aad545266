//! Scan of every table, region and store file below `data`, in the archive and in the quarantine,
//! by recorded identity.

use std::collections::{BTreeMap, BTreeSet};

use halite_types::{Error, ErrorKind, RegionInfo, Result, TableDescriptor, TableName};
use prost::Message as _;

use super::metadata_files::read_small_file;
use crate::catalog::messages::{PBUF, RegionInfoMessage, TableSchema};
use crate::catalog::{Catalog, LinkTarget, layout};
use crate::engine::{quarantine, table_info};
use crate::env::{Env, is_not_a_file, list, list_if_exists};
use crate::hfile::Reader;
use crate::store::{STORE_ID_KEY, check_name, generation_of, name_of, region_number_of};

/// Location of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileLocation {
    Data,
    Archive,
    Quarantine,
}

/// Result of a scan.
#[derive(Debug, Default)]
pub(super) struct DiskScan {
    pub(super) namespaces: BTreeSet<String>,
    pub(super) tables: BTreeMap<TableName, DiskTable>,
}

/// Directory of a table, in all locations.
#[derive(Debug, Default)]
pub(super) struct DiskTable {
    /// Newest descriptor below `data` with its version.
    pub(super) descriptor: Option<(TableDescriptor, u32)>,
    /// True if the table has a directory below `data`.
    pub(super) is_there: bool,
    /// Regions by encoded name.
    pub(super) regions: BTreeMap<String, DiskRegion>,
}

/// Directory of a region.
#[derive(Debug, Default)]
pub(super) struct DiskRegion {
    /// Content of its `.regioninfo` below `data`.
    pub(super) info: Option<RegionInfo>,
    /// Number in the log, from `.regioninfo`.
    pub(super) number: Option<u64>,
    pub(super) is_there: bool,
    pub(super) files: Vec<DiskFile>,
}

/// Store that wrote a file and the file's original name. For a bulk-loaded file only the name,
/// which is unique.
type WrittenAs = (Option<[u8; 16]>, String);

/// Store file, link or reference.
#[derive(Clone, Debug)]
pub(super) struct DiskFile {
    pub(super) path: String,
    pub(super) location: FileLocation,
    /// Name of its family's directory.
    pub(super) family: String,
    pub(super) name: String,
    pub(super) written_as: Option<WrittenAs>,
    pub(super) kind: DiskFileKind,
}

#[derive(Clone, Debug)]
pub(super) enum DiskFileKind {
    /// File written by a store.
    Own(FileProperties),
    /// Bulk-loaded file, with the sequence id of its cells.
    Loaded(u64),
    /// Link or reference.
    Linked(LinkTarget),
    /// File that cannot be opened, with the reason.
    Damaged(String),
    /// File written by another program.
    Foreign,
}

/// Properties recorded in a file when it was written.
#[derive(Clone, Debug)]
pub(super) struct FileProperties {
    pub(super) store_id: [u8; 16],
    pub(super) generation: u64,
    /// Number of its region in the log.
    pub(super) number: Option<u64>,
    pub(super) newest_cell: u64,
    pub(super) compacted_from: Vec<String>,
}

impl DiskFile {
    /// Returns its properties, if this store wrote it.
    pub(super) fn own(&self, store_id: [u8; 16]) -> Option<&FileProperties> {
        match &self.kind {
            DiskFileKind::Own(facts) if facts.store_id == store_id => Some(facts),
            _ => None,
        }
    }

    /// Returns `true` if this store wrote the file under this name, in any location.
    pub(super) fn was_written_as(&self, store_id: [u8; 16], name: &str) -> bool {
        self.written_as
            .as_ref()
            .is_some_and(|(by, written)| by.is_none_or(|by| by == store_id) && written == name)
    }

    /// Returns `true` if the file contains cells.
    pub(super) fn has_cells(&self, store_id: [u8; 16]) -> bool {
        self.own(store_id).is_some() || matches!(self.kind, DiskFileKind::Loaded(_))
    }
}

impl DiskScan {
    /// Scans the directories.
    ///
    /// # Errors
    /// The file system's error.
    pub(super) fn read(env: &Env) -> Result<Self> {
        let mut scan = Self::default();
        let (over, kept) = quarantine::batches(env, &Catalog::default())?;
        let quarantined = over
            .into_iter()
            .chain(kept)
            .map(|batch| (format!("{batch}/"), FileLocation::Quarantine));
        let roots = [
            (String::new(), FileLocation::Data),
            (format!("{}/", layout::ARCHIVE), FileLocation::Archive),
        ];
        for (root, place) in roots.into_iter().chain(quarantined) {
            let data = format!("{root}{}", layout::DATA);
            for namespace in directories(env, &data)? {
                if place == FileLocation::Data {
                    scan.namespaces.insert(namespace.clone());
                }
                for table in directories(env, &format!("{data}/{namespace}"))? {
                    if let Ok(name) = TableName::new(&namespace, &table) {
                        scan.table(env, &format!("{data}/{namespace}/{table}"), &name, place)?;
                    }
                }
            }
        }
        scan.follow_renames();
        Ok(scan)
    }

    fn table(
        &mut self,
        env: &Env,
        directory: &str,
        name: &TableName,
        place: FileLocation,
    ) -> Result<()> {
        let table = self.tables.entry(name.clone()).or_default();
        if place == FileLocation::Data {
            table.is_there = true;
            table.descriptor = descriptor(env, directory)?;
        }
        for encoded in directories(env, directory)? {
            let path = format!("{directory}/{encoded}");
            let region = table.regions.entry(encoded).or_default();
            if place == FileLocation::Data {
                region.is_there = true;
                let (info, number) = region_info(env, &path)?.unzip();
                (region.info, region.number) = (info, number.flatten());
            }
            for family in directories(env, &path)? {
                for file in list(env, &format!("{path}/{family}"))?
                    .into_iter()
                    .filter(|entry| !entry.name.starts_with('.'))
                {
                    let path = format!("{path}/{family}/{}", file.name);
                    let (kind, written_as) = match file.unexpected {
                        Some(what) => (DiskFileKind::Damaged(format!("it is {what}")), None),
                        None => kind(env, &path, &file.name, name)?,
                    };
                    region.files.push(DiskFile {
                        path,
                        location: place,
                        family: family.clone(),
                        name: file.name,
                        written_as,
                        kind,
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns all regions.
    pub(super) fn regions(&self) -> impl Iterator<Item = &DiskRegion> {
        self.tables.values().flat_map(|table| table.regions.values())
    }

    /// Returns all files.
    pub(super) fn files(&self) -> impl Iterator<Item = &DiskFile> {
        self.regions().flat_map(|region| &region.files)
    }

    /// Returns the id of the store that wrote most of the files.
    pub(super) fn most_common_store(&self) -> Option<[u8; 16]> {
        let mut counts: BTreeMap<[u8; 16], u64> = BTreeMap::new();
        for file in self.files() {
            if let DiskFileKind::Own(facts) = &file.kind {
                *counts.entry(facts.store_id).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(id, _)| id)
    }
}

/// Returns `true` if a Halite store wrote any store file that a scan finds.
pub(super) fn has_own_file(env: &Env) -> Result<bool> {
    Ok(DiskScan::read(env)?.most_common_store().is_some())
}

/// Returns the directories in a directory that are not hidden; none if it does not exist.
fn directories(env: &Env, path: &str) -> Result<Vec<String>> {
    Ok(list_if_exists(env, path)?
        .into_iter()
        .filter(|entry| entry.is_dir && !entry.name.starts_with('.'))
        .map(|entry| entry.name)
        .collect())
}

fn descriptor(env: &Env, directory: &str) -> Result<Option<(TableDescriptor, u32)>> {
    let folder = format!("{directory}/.tabledesc");
    let mut found: Vec<(u32, String)> = list_if_exists(env, &folder)?
        .into_iter()
        .filter_map(|entry| Some((table_info::version_of(&entry.name)?, entry.name)))
        .collect();
    found.sort();
    for (version, name) in found.into_iter().rev() {
        let bytes = read_small_file(env, &format!("{folder}/{name}"))?.into_bytes();
        let schema = bytes.strip_prefix(PBUF).and_then(|body| TableSchema::decode(body).ok());
        if let Some(descriptor) = schema
            .and_then(|schema| schema.decode_descriptor().ok())
            .filter(|descriptor| descriptor.check().is_ok())
        {
            return Ok(Some((descriptor, version)));
        }
    }
    Ok(None)
}

fn region_info(env: &Env, directory: &str) -> Result<Option<(RegionInfo, Option<u64>)>> {
    let bytes = read_small_file(env, &format!("{directory}/.regioninfo"))?.into_bytes();
    let message = bytes
        .strip_prefix(PBUF)
        .and_then(|body| RegionInfoMessage::decode_length_delimited(body).ok());
    Ok(message.and_then(|message| {
        let table = message.table_name.decode_name().ok()?;
        let (start, end) =
            (message.start_key.unwrap_or_default(), message.end_key.unwrap_or_default());
        Some((
            layout::new_region(&table, start.into(), end.into(), message.region_id),
            message.number,
        ))
    }))
}

/// Returns the kind of a file, and its original identity. A file counts as damaged only if its
/// content was read and is wrong: a file that cannot be read, or belongs to a newer program, may
/// contain all its cells.
fn kind(
    env: &Env,
    path: &str,
    name: &str,
    table: &TableName,
) -> Result<(DiskFileKind, Option<WrittenAs>)> {
    if let Some(target) = layout::target_of(name, table) {
        return Ok((DiskFileKind::Linked(target), None));
    }
    let shown = format!("{}/{path}", env.fs.root());
    let file = match env.fs.open(path) {
        Err(error) if is_not_a_file(&error) => {
            return Ok((DiskFileKind::Damaged(error.to_string()), None));
        }
        opened => {
            opened.map_err(|error| Error::io(format!("opening store file {shown}"), error))?
        }
    };
    let reader = match Reader::open(file, &shown) {
        Ok(reader) => reader,
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            return Ok((DiskFileKind::Damaged(error.message().to_owned()), None));
        }
        Err(error) => return Err(error),
    };
    if let Some(sequence) = layout::loaded_sequence_of(name) {
        return Ok((DiskFileKind::Loaded(sequence), Some((None, name.to_owned()))));
    }
    let info = reader.info();
    let Some(store_id) = info.get(STORE_ID_KEY).and_then(|id| id.try_into().ok()) else {
        return Ok((DiskFileKind::Foreign, None));
    };
    let written_as = name_of(info).map(|name| (Some(store_id), name));
    if let Err(error) = check_name(info, &store_id, name, path) {
        return Ok((DiskFileKind::Damaged(error.message().to_owned()), written_as));
    }
    let facts = FileProperties {
        store_id,
        generation: generation_of(info),
        number: region_number_of(info),
        newest_cell: reader.max_cell_sequence_id(),
        compacted_from: info.compacted_from(),
    };
    Ok((DiskFileKind::Own(facts), written_as))
}
