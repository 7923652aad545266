//! Snapshots in a root directory, or in a directory that HBase exported them to.

use std::collections::BTreeMap;
use std::path::Path;

use halite_types::{
    Error, ErrorKind, FamilyDescriptor, Result, TableDescriptor, TableName, schema,
};

use crate::file_list::without_tracker;
use crate::locate::FamilyPlace;
use crate::messages::{
    FamilyFiles, SnapshotDataManifest, SnapshotDescription, SnapshotRegionManifest,
};
use crate::mob::{mob_region, without_mob};
use crate::region_set::{RegionCandidate, derived_regions};
use crate::small_file::{damaged, list, read_bare, unsupported};
use crate::table::{read_descriptor, read_region};
use crate::{HbaseFile, HbaseRegion, HbaseTable};

/// Version of the layout with manifests.
const MANIFEST_LAYOUT: i32 = 2;

/// Reads a snapshot: the table at that time.
///
/// # Errors
/// `NoSuchSnapshot`; `InvalidRequest` for an illegal name; `Unsupported` for the layout
/// before manifests; `Corrupt`, with the path; or the file system's error.
pub fn read_snapshot(root: &Path, name: &str) -> Result<HbaseTable> {
    schema::check_qualifier("snapshot", name)?;
    let directory = root.join(".hbase-snapshot").join(name);
    let about = directory.join(".snapshotinfo");
    let Some(description) = read_bare::<SnapshotDescription>(&about)? else {
        let text = format!("it does not exist: there is no file {}", about.display());
        return Err(Error::new(ErrorKind::NoSuchSnapshot, text));
    };
    if description.version != Some(MANIFEST_LAYOUT) {
        return Err(unsupported(
            &about,
            format_args!(
                "the layout of the snapshot is version {}; version {MANIFEST_LAYOUT} can be read: \
                 clone it with HBase and take another",
                description.version.unwrap_or(0)
            ),
        ));
    }
    let (descriptor, manifests) = read_manifests(&directory)?;
    let table: TableName = description
        .table
        .unwrap_or_default()
        .parse()
        .map_err(|why: Error| damaged(&about, why.message()))?;
    if *descriptor.name() != table {
        let other = descriptor.name();
        return Err(damaged(
            &about,
            format_args!("it is of table {table}, and the data of {other}"),
        ));
    }
    let regions = read_regions(root, &directory, &descriptor, &manifests)?;
    let (descriptor, mob_families) = without_mob(without_tracker(descriptor));
    let (replaced_regions, unlisted_regions) = (0, 0);
    Ok(HbaseTable {
        descriptor,
        mob_families,
        regions,
        replaced_regions,
        unlisted_regions,
        unknown_regions: Vec::new(),
    })
}

/// Returns the table and the manifests of its regions, which are in one file or in one file each.
fn read_manifests(directory: &Path) -> Result<(TableDescriptor, Vec<SnapshotRegionManifest>)> {
    let path = directory.join("data.manifest");
    if let Some(manifest) = read_bare::<SnapshotDataManifest>(&path)? {
        let schema = manifest.table_schema.ok_or_else(|| damaged(&path, "it has no table"))?;
        let descriptor = schema
            .decode_descriptor()
            .and_then(|descriptor| descriptor.check().map(|()| descriptor))
            .map_err(|why| damaged(&path, why.message()))?;
        return Ok((descriptor, manifest.region_manifests));
    }
    if !directory.join(".tabledesc").is_dir() {
        return Err(damaged(&path, "the manifest of the snapshot is missing; restore it"));
    }
    let descriptor = read_descriptor(directory)?;
    let mut manifests = Vec::new();
    for entry in list(directory, false)? {
        if entry.name.starts_with("region-manifest.") && !entry.is_directory {
            manifests.extend(read_bare(&entry.path)?);
        }
    }
    Ok((descriptor, manifests))
}

fn read_regions(
    root: &Path,
    directory: &Path,
    table: &TableDescriptor,
    manifests: &[SnapshotRegionManifest],
) -> Result<Vec<HbaseRegion>> {
    let mut candidates = Vec::new();
    let mut by_name = BTreeMap::new();
    let mob_region = mob_region(table.name());
    for manifest in manifests {
        let info = manifest
            .region_info
            .as_ref()
            .ok_or_else(|| damaged(directory, "the manifest of a region does not name it"))?;
        let region = RegionCandidate::new(info, table.name(), directory)?;
        if let Some(region) = region.filter(|region| region.encoded_name != mob_region) {
            by_name.insert(region.encoded_name.clone(), manifest);
            candidates.push(region);
        }
    }
    derived_regions(&candidates, directory)?
        .into_iter()
        .map(|region| {
            let manifest = by_name.get(&region.encoded_name);
            let listed: &[FamilyFiles] = manifest.map_or(&[], |it| &it.family_files);
            read_region(root, table, region, |place, family| listed_files(place, family, listed))
        })
        .collect()
}

/// Returns the files of a family that the manifest of a region lists.
fn listed_files(
    place: &FamilyPlace<'_>,
    family: &FamilyDescriptor,
    families: &[FamilyFiles],
) -> Result<Vec<HbaseFile>> {
    let of_family = families.iter().filter(|files| files.family_name[..] == family.name()[..]);
    of_family
        .flat_map(|files| &files.store_files)
        .map(|file| {
            let found = place.resolve(&file.name, file.reference.as_ref())?;
            match file.file_size.filter(|bytes| *bytes != found.bytes) {
                Some(bytes) => Err(damaged(
                    &found.path,
                    format_args!("it has {} bytes, and the snapshot says {bytes}", found.bytes),
                )),
                None => Ok(found),
            }
        })
        .collect()
}
