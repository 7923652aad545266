//! HBase's protobuf messages in its root directory, with the field numbers of its protocol files.
#![expect(missing_docs, reason = "fields have HBase's own names")]

use bytes::Bytes;
use halite_types::{Attributes, Error, FamilyDescriptor, Result, TableDescriptor, TableName};
use prost::Message;

use crate::message_count::{Countable, LEAF, Shape};

/// Four bytes before a message in most of HBase's files.
pub const PBUF: &[u8; 4] = b"PBUF";

/// HBase's `TableName`.
#[derive(Clone, PartialEq, Message)]
pub struct TableNameMessage {
    #[prost(bytes = "vec", required, tag = "1")]
    pub namespace: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub qualifier: Vec<u8>,
}

/// HBase's `BytesBytesPair`.
#[derive(Clone, PartialEq, Message)]
pub struct BytesBytesPair {
    #[prost(bytes = "vec", required, tag = "1")]
    pub first: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub second: Vec<u8>,
}

/// HBase's `NameStringPair`.
#[derive(Clone, PartialEq, Message)]
pub struct NameStringPair {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(string, required, tag = "2")]
    pub value: String,
}

/// HBase's `ColumnFamilySchema`.
#[derive(Clone, PartialEq, Message)]
pub struct ColumnFamilySchema {
    #[prost(bytes = "vec", required, tag = "1")]
    pub name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<BytesBytesPair>,
    #[prost(message, repeated, tag = "3")]
    pub configuration: Vec<NameStringPair>,
}

/// HBase's `TableSchema`, the content of `.tableinfo`.
#[derive(Clone, PartialEq, Message)]
pub struct TableSchema {
    #[prost(message, optional, tag = "1")]
    pub table_name: Option<TableNameMessage>,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<BytesBytesPair>,
    #[prost(message, repeated, tag = "3")]
    pub column_families: Vec<ColumnFamilySchema>,
    #[prost(message, repeated, tag = "4")]
    pub configuration: Vec<NameStringPair>,
}

/// HBase's `RegionInfo`, the content of `.regioninfo`.
#[derive(Clone, PartialEq, Message)]
pub struct RegionInfoMessage {
    #[prost(uint64, required, tag = "1")]
    pub region_id: u64,
    #[prost(message, required, tag = "2")]
    pub table_name: TableNameMessage,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub start_key: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub end_key: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "5")]
    pub offline: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub split: Option<bool>,
    #[prost(int32, optional, tag = "7")]
    pub replica_id: Option<i32>,
}

/// HBase's `Reference`, the content of a reference file.
#[derive(Clone, PartialEq, Message)]
pub struct ReferenceMessage {
    /// Flat key; only its row matters.
    #[prost(bytes = "vec", required, tag = "1")]
    pub splitkey: Vec<u8>,
    /// 0 for the cells at or after the key (TOP), 1 for those before it (BOTTOM).
    #[prost(int32, required, tag = "2")]
    pub range: i32,
}

/// HBase's `StoreFileEntry`.
#[derive(Clone, PartialEq, Message)]
pub struct StoreFileEntry {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(uint64, required, tag = "2")]
    pub size: u64,
}

/// HBase's `StoreFileList`, the content of a file list of the store file tracker `FILE`.
#[derive(Clone, PartialEq, Message)]
pub struct StoreFileList {
    #[prost(uint64, required, tag = "1")]
    pub timestamp: u64,
    #[prost(message, repeated, tag = "2")]
    pub store_file: Vec<StoreFileEntry>,
    #[prost(uint64, optional, tag = "3")]
    pub version: Option<u64>,
}

/// HBase's `SnapshotDescription`, the content of `.snapshotinfo`.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotDescription {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(string, optional, tag = "2")]
    pub table: Option<String>,
    #[prost(int32, optional, tag = "5")]
    pub version: Option<i32>,
}

/// HBase's `SnapshotDataManifest`, the content of `data.manifest`.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotDataManifest {
    #[prost(message, optional, tag = "1")]
    pub table_schema: Option<TableSchema>,
    #[prost(message, repeated, tag = "2")]
    pub region_manifests: Vec<SnapshotRegionManifest>,
}

/// HBase's `SnapshotRegionManifest`.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotRegionManifest {
    #[prost(message, optional, tag = "2")]
    pub region_info: Option<RegionInfoMessage>,
    #[prost(message, repeated, tag = "3")]
    pub family_files: Vec<FamilyFiles>,
}

/// Files of one family in a snapshot.
#[derive(Clone, PartialEq, Message)]
pub struct FamilyFiles {
    #[prost(bytes = "vec", required, tag = "1")]
    pub family_name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub store_files: Vec<SnapshotFile>,
}

/// Store file in a snapshot.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotFile {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub reference: Option<ReferenceMessage>,
    #[prost(uint64, optional, tag = "3")]
    pub file_size: Option<u64>,
}

const TABLE_SCHEMA: Shape =
    Shape(&[(1, &LEAF), (2, &LEAF), (3, &Shape(&[(2, &LEAF), (3, &LEAF)])), (4, &LEAF)]);
const REGION_INFO: Shape = Shape(&[(2, &LEAF)]);
const REGION_MANIFEST: Shape =
    Shape(&[(2, &REGION_INFO), (3, &Shape(&[(2, &Shape(&[(2, &LEAF)]))]))]);

impl Countable for TableSchema {
    const SHAPE: &'static Shape = &TABLE_SCHEMA;
}

impl Countable for RegionInfoMessage {
    const SHAPE: &'static Shape = &REGION_INFO;
}

impl Countable for ReferenceMessage {
    const SHAPE: &'static Shape = &LEAF;
}

impl Countable for StoreFileList {
    const SHAPE: &'static Shape = &Shape(&[(2, &LEAF)]);
}

impl Countable for SnapshotDescription {
    const SHAPE: &'static Shape = &LEAF;
}

impl Countable for SnapshotDataManifest {
    const SHAPE: &'static Shape = &Shape(&[(1, &TABLE_SCHEMA), (2, &REGION_MANIFEST)]);
}

impl Countable for SnapshotRegionManifest {
    const SHAPE: &'static Shape = &REGION_MANIFEST;
}

impl TableNameMessage {
    /// Returns the name.
    ///
    /// # Errors
    /// `Corrupt` if it is not UTF-8, `InvalidRequest` if it is no legal name.
    pub fn decode_name(&self) -> Result<TableName> {
        TableName::new(text(&self.namespace)?, text(&self.qualifier)?)
    }
}

impl TableSchema {
    /// Returns the descriptor.
    ///
    /// # Errors
    /// `Corrupt` if it has no name or is not text, `InvalidRequest` if a name is not legal.
    pub fn decode_descriptor(&self) -> Result<TableDescriptor> {
        let name = self
            .table_name
            .as_ref()
            .ok_or_else(|| Error::corrupt("it names no table"))?
            .decode_name()?;
        let mut table = TableDescriptor::new(name);
        table.attributes = attributes(&self.attributes)?;
        table.configuration = configuration(&self.configuration);
        for schema in &self.column_families {
            let mut family = FamilyDescriptor::new(Bytes::from(schema.name.clone()));
            family.attributes = attributes(&schema.attributes)?;
            family.configuration = configuration(&schema.configuration);
            table.set_family(family);
        }
        Ok(table)
    }
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Error::corrupt("a name is not UTF-8"))
}

fn attributes(pairs: &[BytesBytesPair]) -> Result<Attributes> {
    pairs.iter().map(|pair| Ok((text(&pair.first)?, text(&pair.second)?))).collect()
}

fn configuration(pairs: &[NameStringPair]) -> Attributes {
    pairs.iter().map(|pair| (pair.name.clone(), pair.value.clone())).collect()
}
