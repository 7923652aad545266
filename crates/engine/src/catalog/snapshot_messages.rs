//! HBase's protobuf messages in the directory of a snapshot.

use prost::Message;

use super::messages::{Reference, RegionInfoMessage, TableSchema};

/// Version of the layout with manifests.
pub(crate) const MANIFEST_LAYOUT: i32 = 2;

/// HBase's `SnapshotDescription`, the content of `.snapshotinfo`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotDescription {
    #[prost(string, required, tag = "1")]
    pub(crate) name: String,
    #[prost(string, optional, tag = "2")]
    pub(crate) table: Option<String>,
    #[prost(int64, optional, tag = "3")]
    pub(crate) creation_time: Option<i64>,
    /// 0 for a disabled table, 1 for a flushed one, 2 if the flush was skipped.
    #[prost(int32, optional, tag = "4")]
    pub(crate) kind: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(crate) version: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub(crate) owner: Option<String>,
}

/// HBase's `SnapshotDataManifest`, the content of `data.manifest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotDataManifest {
    #[prost(message, optional, tag = "1")]
    pub(crate) table_schema: Option<TableSchema>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) region_manifests: Vec<SnapshotRegionManifest>,
}

/// HBase's `SnapshotRegionManifest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotRegionManifest {
    #[prost(message, required, tag = "2")]
    pub(crate) region_info: RegionInfoMessage,
    #[prost(message, repeated, tag = "3")]
    pub(crate) family_files: Vec<SnapshotFamilyFiles>,
}

/// Store files of one family in a region's manifest.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotFamilyFiles {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(crate) family_name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) store_files: Vec<SnapshotFile>,
}

/// Store file in a region's manifest.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotFile {
    #[prost(string, required, tag = "1")]
    pub(crate) name: String,
    /// Content of the file if it is a reference.
    #[prost(message, optional, tag = "2")]
    pub(crate) reference: Option<Reference>,
    /// Length of the store file in bytes, also of the one that a reference refers to.
    #[prost(uint64, optional, tag = "3")]
    pub(crate) file_size: Option<u64>,
}
