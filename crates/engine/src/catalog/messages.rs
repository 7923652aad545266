//! HBase's protobuf messages stored in its directories, and their conversion from and to
//! descriptors.
//!
//! Written manually because there are few fields; the tags are those of HBase's `HBase.proto`.

use bytes::Bytes;
use halite_types::{
    Attributes, Error, FamilyDescriptor, RegionInfo, Result, TableDescriptor, TableName,
};
use prost::Message;

/// Four bytes that HBase writes before a message in a file.
pub(crate) const PBUF: &[u8; 4] = b"PBUF";

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableNameMessage {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(crate) namespace: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub(crate) qualifier: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BytesBytesPair {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(crate) first: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub(crate) second: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NameStringPair {
    #[prost(string, required, tag = "1")]
    pub(crate) name: String,
    #[prost(string, required, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ColumnFamilySchema {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(crate) name: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) attributes: Vec<BytesBytesPair>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) configuration: Vec<NameStringPair>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableSchema {
    #[prost(message, optional, tag = "1")]
    pub(crate) table_name: Option<TableNameMessage>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) attributes: Vec<BytesBytesPair>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) column_families: Vec<ColumnFamilySchema>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) configuration: Vec<NameStringPair>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionInfoMessage {
    #[prost(uint64, required, tag = "1")]
    pub(crate) region_id: u64,
    #[prost(message, required, tag = "2")]
    pub(crate) table_name: TableNameMessage,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(crate) start_key: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) end_key: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "5")]
    pub(crate) offline: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub(crate) split: Option<bool>,
    #[prost(int32, optional, tag = "7")]
    pub(crate) replica_id: Option<i32>,
    /// Number of the region in the log; Halite's own field, in `.regioninfo` only. HBase ignores
    /// it.
    #[prost(uint64, optional, tag = "20001")]
    pub(crate) number: Option<u64>,
}

/// Content of a reference file: the file and its half.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Reference {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(crate) splitkey: Vec<u8>,
    /// 0 for the cells at or after the split key (TOP), 1 for those before it (BOTTOM).
    #[prost(int32, required, tag = "2")]
    pub(crate) range: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OneString {
    #[prost(string, required, tag = "1")]
    pub(crate) text: String,
}

impl From<&TableName> for TableNameMessage {
    fn from(name: &TableName) -> Self {
        Self { namespace: name.namespace().into(), qualifier: name.qualifier().into() }
    }
}

impl TableNameMessage {
    pub(crate) fn decode_name(&self) -> Result<TableName> {
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .map_err(|_| Error::corrupt("a table name is not UTF-8"))
        };
        TableName::new(text(&self.namespace)?, text(&self.qualifier)?)
    }
}

fn pairs(attributes: &Attributes) -> Vec<BytesBytesPair> {
    attributes
        .iter()
        .map(|(name, value)| BytesBytesPair {
            first: name.as_bytes().into(),
            second: value.as_bytes().into(),
        })
        .collect()
}

fn settings(configuration: &Attributes) -> Vec<NameStringPair> {
    configuration
        .iter()
        .map(|(name, value)| NameStringPair { name: name.clone(), value: value.clone() })
        .collect()
}

fn attributes(pairs: &[BytesBytesPair]) -> Attributes {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    pairs.iter().map(|pair| (text(&pair.first), text(&pair.second))).collect()
}

fn configuration(pairs: &[NameStringPair]) -> Attributes {
    pairs.iter().map(|pair| (pair.name.clone(), pair.value.clone())).collect()
}

impl From<&TableDescriptor> for TableSchema {
    fn from(table: &TableDescriptor) -> Self {
        let family = |family: &FamilyDescriptor| ColumnFamilySchema {
            name: family.name().to_vec(),
            attributes: pairs(&family.attributes),
            configuration: settings(&family.configuration),
        };
        Self {
            table_name: Some(table.name().into()),
            attributes: pairs(&table.attributes),
            column_families: table.families().map(family).collect(),
            configuration: settings(&table.configuration),
        }
    }
}

impl TableSchema {
    pub(crate) fn decode_descriptor(&self) -> Result<TableDescriptor> {
        let name = self
            .table_name
            .as_ref()
            .ok_or_else(|| Error::corrupt("a table schema has no name"))?
            .decode_name()?;
        let mut table = TableDescriptor::new(name);
        table.attributes = attributes(&self.attributes);
        table.configuration = configuration(&self.configuration);
        for schema in &self.column_families {
            let mut family = FamilyDescriptor::new(Bytes::from(schema.name.clone()));
            family.attributes = attributes(&schema.attributes);
            family.configuration = configuration(&schema.configuration);
            table.set_family(family);
        }
        Ok(table)
    }
}

impl From<&RegionInfo> for RegionInfoMessage {
    fn from(region: &RegionInfo) -> Self {
        Self {
            region_id: region.region_id,
            table_name: (&region.table).into(),
            start_key: Some(region.start.to_vec()),
            end_key: Some(region.end.to_vec()),
            offline: Some(false),
            split: Some(false),
            replica_id: Some(0),
            number: None,
        }
    }
}

/// Returns the content of `.regioninfo` for a region with this number in the log.
pub(crate) fn region_info_file(region: &RegionInfo, number: u64) -> Vec<u8> {
    let message = RegionInfoMessage { number: Some(number), ..region.into() };
    [PBUF.as_slice(), &message.encode_length_delimited_to_vec()].concat()
}

/// Returns the content of `.tableinfo`, a reference file and other files that contain a bare
/// message after the magic.
pub(crate) fn pbuf(message: &impl Message) -> Vec<u8> {
    [PBUF.as_slice(), &message.encode_to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_descriptor_round_trips() {
        let table = TableDescriptor::new("ns:t".parse().unwrap())
            .family(FamilyDescriptor::new("f").versions(3).set("MINE", "kept"))
            .family(FamilyDescriptor::new("g"))
            .set("READONLY", "false");
        let bytes = TableSchema::from(&table).encode_to_vec();
        assert_eq!(TableSchema::decode(&bytes[..]).unwrap().decode_descriptor().unwrap(), table);
    }
}
