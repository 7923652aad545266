//! HBase's catalog `hbase:meta`: its files and logs, and what its rows say.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{FamilyDescriptor, Result, TableDescriptor, TableName};
use prost::Message as _;

use crate::file_list::file_names;
use crate::locate::FamilyPlace;
use crate::logs::{recovered_edits, table_directories};
use crate::messages::{PBUF, RegionInfoMessage};
use crate::region_set::{encoded_name, table_directory};
use crate::small_file::{damaged, list};
use crate::table::read_descriptor;
use crate::{HbaseFile, LogFile};

/// Encoded name of the only region.
pub(crate) const REGION: &str = "1588230740";
/// Family with the states of regions.
pub const META_FAMILY: &[u8] = b"info";
/// Column with the region.
pub const META_REGION: &[u8] = b"regioninfo";
/// Column with its state.
pub const META_STATE: &[u8] = b"state";

/// States of regions that others have replaced, or that are to replace others.
const NOT_LIVE: [&[u8]; 4] = [b"SPLIT", b"MERGED", b"SPLITTING_NEW", b"MERGING_NEW"];

/// Store files and logs of `hbase:meta`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaFiles {
    /// Store files of the family [`META_FAMILY`].
    pub files: Vec<HbaseFile>,
    /// Parts of logs in its directory.
    pub logs: Vec<LogFile>,
}

/// Region that is live by `hbase:meta`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRegion {
    pub(crate) start: Bytes,
    pub(crate) end: Bytes,
    pub(crate) id: u64,
}

/// Regions that are live by `hbase:meta`, by table and encoded name.
pub type LiveRegions = BTreeMap<(TableName, String), LiveRegion>;

/// Returns the files of `hbase:meta`; `None` if the root directory does not have it. `wal_root` is
/// the root directory, or the one that `hbase.wal.dir` names.
///
/// # Errors
/// `Corrupt`, with the path, or the file system's error.
pub fn find_meta(root: &Path, wal_root: &Path) -> Result<Option<MetaFiles>> {
    let name = TableName::new(SYSTEM_NAMESPACE, "meta")?;
    let directory = table_directory(root, &name);
    if !directory.join(REGION).is_dir() {
        return Ok(None);
    }
    let mut table = TableDescriptor::new(name);
    if !list(&directory.join(".tabledesc"), true)?.is_empty() {
        table = read_descriptor(&directory)?;
    }
    let family = Bytes::from_static(META_FAMILY);
    let known = table.find_family(&family).cloned();
    let descriptor = known.unwrap_or_else(|| FamilyDescriptor::new(family.clone()));
    let place = FamilyPlace {
        root,
        table: table.name(),
        region: REGION,
        family: &family,
        directory: "info",
    };
    let files = file_names(&place.path(), &table, &descriptor)?
        .iter()
        .map(|name| place.resolve(name, None))
        .collect::<Result<_>>()?;
    let mut logs = Vec::new();
    for directory in table_directories(root, wal_root, table.name()) {
        logs.extend(recovered_edits(&directory.join(REGION))?);
    }
    Ok(Some(MetaFiles { files, logs }))
}

/// Returns the region of a row of `hbase:meta` with its table and encoded name, given the newest
/// values of the columns [`META_REGION`] and [`META_STATE`]; `None` if it is not live.
///
/// # Errors
/// `Corrupt` if the region is no message.
pub fn live_region(
    root: &Path,
    region: &[u8],
    state: &[u8],
) -> Result<Option<((TableName, String), LiveRegion)>> {
    let broken = |why: &dyn std::fmt::Display| {
        damaged(&root.join("data/hbase/meta"), format_args!("a row's region: {why}"))
    };
    let message =
        region.strip_prefix(PBUF).ok_or_else(|| broken(&"it does not start with PBUF"))?;
    let message = RegionInfoMessage::decode(message).map_err(|why| broken(&why))?;
    let is_parent = message.offline.unwrap_or(false) && message.split.unwrap_or(false);
    if is_parent || message.replica_id.unwrap_or(0) != 0 || NOT_LIVE.contains(&state) {
        return Ok(None);
    }
    let table = message.table_name.decode_name().map_err(|why| broken(&why.message()))?;
    let name = encoded_name(&message, &table);
    let region = LiveRegion {
        start: message.start_key.unwrap_or_default().into(),
        end: message.end_key.unwrap_or_default().into(),
        id: message.region_id,
    };
    Ok(Some(((table, name), region)))
}
