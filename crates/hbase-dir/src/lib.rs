//! Tables in a root directory of HBase: their descriptors, regions and store files, read without a
//! running HBase.
//!
//! `table.rs` reads a table of a stopped HBase, `snapshot.rs` a snapshot. `logs.rs` lists the logs,
//! in which a killed HBase has left cells, and `wal/` reads them. `region_set.rs` selects the live
//! regions, by `hbase:meta` (`meta.rs`) where it is there. `locate.rs` finds the file behind a name
//! in a family's directory (`store_file_name.rs`). `messages.rs` has HBase's protobuf messages,
//! `small_file.rs` reads the files that contain them, with a limit of their messages
//! (`message_count.rs`). `mob.rs` finds the values that are not in store files.
//!
//! Only names, small files and logs are read here, no store file. Nothing is written. Every file
//! may be damaged or hostile: names are parsed before they become parts of a path, and a small file
//! is refused by its length before it is read.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod bare_files;
mod file_list;
mod locate;
mod logs;
mod message_count;
pub mod messages;
mod meta;
mod mob;
mod region_set;
mod small_file;
mod snapshot;
mod store_file_name;
mod table;
#[cfg(test)]
mod tests;
pub mod wal;

use std::path::PathBuf;

use bytes::Bytes;
use halite_types::TableDescriptor;

pub use bare_files::read_bare_files;
pub use logs::{LogFile, list_logs, list_meta_logs, recorded_sequence};
pub use meta::{
    LiveRegion, LiveRegions, META_FAMILY, META_REGION, META_STATE, MetaFiles, find_meta,
    live_region,
};
pub use mob::{is_mob, mob_file};
pub use snapshot::read_snapshot;
pub use table::{Liveness, list_tables, read_table};

/// Table as HBase stored it.
#[derive(Clone, Debug, PartialEq)]
pub struct HbaseTable {
    /// Descriptor, without the attributes that describe HBase's directory only.
    pub descriptor: TableDescriptor,
    /// Families whose large values are in files of their own: their store files have references to
    /// them, which [`mob_file`] resolves. The descriptor is without `IS_MOB`.
    pub mob_families: Vec<Bytes>,
    /// Live regions by start key. Whether they cover all rows is not checked.
    pub regions: Vec<HbaseRegion>,
    /// Number of regions that were left out because newer ones have their rows: not `hbase:meta`,
    /// but the regions themselves told so.
    pub replaced_regions: usize,
    /// Number of directories of regions that were left out because `hbase:meta` does not list them
    /// as live.
    pub unlisted_regions: usize,
    /// Those of these directories that have store files, and no file that describes the region:
    /// nothing tells whether another region has their rows.
    pub unknown_regions: Vec<PathBuf>,
}

/// Region of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HbaseRegion {
    /// First row (inclusive).
    pub start: Bytes,
    /// End row (exclusive); empty for none.
    pub end: Bytes,
    /// Name of its directory.
    pub encoded_name: String,
    /// Store files of all families, by family and name.
    pub files: Vec<HbaseFile>,
}

/// Store file, or half of one, of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HbaseFile {
    /// Family.
    pub family: Bytes,
    /// Name in the family's directory, which differs from the file's if it is a link or reference.
    pub name: String,
    /// File with the cells: links and references are resolved.
    pub path: PathBuf,
    /// Length of that file in bytes.
    pub bytes: u64,
    /// Sequence id of all its cells if HBase bulk-loaded it.
    pub loaded_sequence: Option<u64>,
    /// Rows of the file that count, from the first (inclusive) to the end (exclusive, empty for
    /// none), if the region refers to a half of it.
    pub rows: Option<(Bytes, Bytes)>,
}
