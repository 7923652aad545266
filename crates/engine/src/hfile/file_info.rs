//! File info: named properties of a whole file.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::BTreeMap;

use halite_types::cell::check_key;
use halite_types::{BloomType, Result};
use prost::Message;

use super::damaged;

/// HBase's names of the properties. Those that it writes for itself begin with `hfile.`.
#[expect(missing_docs, reason = "each constant is the fact's own name")]
pub mod info_key {
    pub const LAST_KEY: &str = "hfile.LASTKEY";
    pub const AVERAGE_KEY_LENGTH: &str = "hfile.AVG_KEY_LEN";
    pub const AVERAGE_VALUE_LENGTH: &str = "hfile.AVG_VALUE_LEN";
    pub const CREATED: &str = "hfile.CREATE_TIME_TS";
    pub const KEY_OF_BIGGEST_CELL: &str = "hfile.KEY_OF_BIGGEST_CELL";
    pub const LENGTH_OF_BIGGEST_CELL: &str = "hfile.LEN_OF_BIGGEST_CELL";
    pub const MAX_TAGS_LENGTH: &str = "hfile.MAX_TAGS_LEN";
    pub const TAGS_COMPRESSED: &str = "hfile.TAGS_COMPRESSED";
    pub const KEY_VALUE_VERSION: &str = "KEY_VALUE_VERSION";
    pub const MAX_CELL_SEQUENCE_ID: &str = "MAX_MEMSTORE_TS_KEY";
    pub const DATA_BLOCK_ENCODING: &str = "DATA_BLOCK_ENCODING";
    /// Only in files with encoded index blocks, which HBase 2.6 cannot write and Halite not read.
    pub const INDEX_BLOCK_ENCODING: &str = "INDEX_BLOCK_ENCODING";
    pub const BLOOM_TYPE: &str = "BLOOM_FILTER_TYPE";
    pub const BLOOM_PARAMETER: &str = "BLOOM_FILTER_PARAM";
    pub const LAST_BLOOM_KEY: &str = "LAST_BLOOM_KEY";
    pub const DELETE_FAMILY_COUNT: &str = "DELETE_FAMILY_COUNT";
    pub const TIME_RANGE: &str = "TIMERANGE";
    pub const EARLIEST_PUT: &str = "EARLIEST_PUT_TS";
    pub const MAX_SEQUENCE_ID: &str = "MAX_SEQ_ID_KEY";
    pub const MAJOR_COMPACTION: &str = "MAJOR_COMPACTION_KEY";
    pub const EXCLUDE_FROM_MINOR_COMPACTION: &str = "EXCLUDE_FROM_MINOR_COMPACTION";
    pub const COMPACTED_FROM: &str = "COMPACTION_EVENT_KEY";
    pub const HISTORICAL: &str = "HISTORICAL";
    pub const BULK_LOAD_TIME: &str = "BULKLOAD_TIMESTAMP";
    pub const BULK_LOAD_TASK: &str = "BULKLOAD_SOURCE_TASK";
    pub const KEEP_SEQUENCE_IDS: &str = "SKIP_RESET_SEQ_ID";
}

/// Prefix of every protobuf message of HBase's files.
const PROTOBUF_MAGIC: &[u8; 4] = b"PBUF";

/// HBase's `FileInfoProto`.
#[derive(Clone, PartialEq, Message)]
struct InfoMessage {
    #[prost(message, repeated, tag = "1")]
    entries: Vec<PairMessage>,
}

/// HBase's `BytesBytesPair`.
#[derive(Clone, PartialEq, Message)]
struct PairMessage {
    #[prost(bytes = "vec", required, tag = "1")]
    first: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    second: Vec<u8>,
}

/// HBase's `TimeRangeTracker`, the other form of a time range.
#[derive(Clone, PartialEq, Message)]
struct TimeRangeMessage {
    #[prost(uint64, optional, tag = "1")]
    from: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    to: Option<u64>,
}

/// HBase's `CompactionEventTracker`.
#[derive(Clone, PartialEq, Message)]
struct CompactedFromMessage {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

/// File info of one file; unknown properties are retained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    properties: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl FileInfo {
    /// Parses the payload of a file info block.
    pub(super) fn parse(payload: &[u8]) -> Result<Self> {
        let body = payload
            .strip_prefix(PROTOBUF_MAGIC)
            .ok_or_else(|| damaged("it does not start with PBUF"))?;
        let message = InfoMessage::decode_length_delimited(body).map_err(|why| {
            damaged(format_args!("it is no file info message ({why})")).with_source(why)
        })?;
        Ok(Self {
            properties: message.entries.into_iter().map(|pair| (pair.first, pair.second)).collect(),
        })
    }

    /// Returns the payload to write.
    pub(super) fn encode(&self) -> Vec<u8> {
        let pair = |(key, value): (&Vec<u8>, &Vec<u8>)| PairMessage {
            first: key.clone(),
            second: value.clone(),
        };
        let message = InfoMessage { entries: self.properties.iter().map(pair).collect() };
        let mut out = PROTOBUF_MAGIC.to_vec();
        out.extend_from_slice(&message.encode_length_delimited_to_vec());
        out
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Vec<u8>>) {
        self.properties.insert(key.as_bytes().to_vec(), value.into());
    }

    /// Returns all properties by name, as raw bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.properties.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// Returns one property as raw bytes; see [`info_key`] for names.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.properties.get(key.as_bytes()).map(Vec::as_slice)
    }

    /// Returns a property that is an `i64`; `None` if it is missing or of another length.
    pub fn long(&self, key: &str) -> Option<i64> {
        self.get(key)?.try_into().ok().map(i64::from_be_bytes)
    }

    /// Returns a property that is an `i32`; `None` if it is missing or of another length.
    pub fn int(&self, key: &str) -> Option<i32> {
        self.get(key)?.try_into().ok().map(i32::from_be_bytes)
    }

    /// Returns a boolean property; a missing one is `false`.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.iter().any(|&byte| byte != 0))
    }

    /// Returns a property that is a flat key.
    pub(super) fn flat_key(&self, key: &str) -> Result<Option<&[u8]>> {
        match self.get(key) {
            Some(bytes) if !check_key(bytes) => Err(damaged(format_args!("its {key} is no key"))),
            bytes => Ok(bytes),
        }
    }

    /// Returns the type of the general bloom filter.
    pub(super) fn bloom_type(&self) -> Result<BloomType> {
        Ok(match self.get(info_key::BLOOM_TYPE) {
            Some(b"ROW") => BloomType::Row,
            Some(b"ROWCOL") => BloomType::RowCol,
            Some(b"ROWPREFIX_FIXED_LENGTH") => {
                let length = self
                    .int(info_key::BLOOM_PARAMETER)
                    .and_then(|length| usize::try_from(length).ok())
                    .filter(|&length| length > 0);
                BloomType::RowPrefix(length.ok_or_else(|| {
                    damaged("its bloom filter is of row prefixes, but no prefix length is given")
                })?)
            }
            // No filter, or one of an unknown type, which serves no lookup.
            _ => BloomType::None,
        })
    }

    /// Returns the smallest and the largest timestamp; `None` if the property is missing or the
    /// file has no cell.
    pub fn time_range(&self) -> Option<(i64, i64)> {
        let bytes = self.get(info_key::TIME_RANGE)?;
        let (from, to) = if let Some(body) = bytes.strip_prefix(PROTOBUF_MAGIC) {
            let message = TimeRangeMessage::decode(body).ok()?;
            (message.from?.cast_signed(), message.to?.cast_signed())
        } else {
            let (from, to) = bytes.split_first_chunk::<8>()?;
            (i64::from_be_bytes(*from), i64::from_be_bytes(to.try_into().ok()?))
        };
        (from <= to).then_some((from, to))
    }

    /// Returns the names of the files that were merged into this one.
    pub fn compacted_from(&self) -> Vec<String> {
        let message =
            self.get(info_key::COMPACTED_FROM).and_then(|bytes| bytes.strip_prefix(PROTOBUF_MAGIC));
        let files = message
            .and_then(|body| CompactedFromMessage::decode(body).ok())
            .unwrap_or_default()
            .files;
        files.into_iter().map(|name| String::from_utf8_lossy(&name).into_owned()).collect()
    }
}

/// Encodes the value of [`info_key::COMPACTED_FROM`].
pub(super) fn encode_compacted_from(files: &[String]) -> Vec<u8> {
    let message = CompactedFromMessage {
        files: files.iter().map(|name| name.clone().into_bytes()).collect(),
    };
    let mut out = PROTOBUF_MAGIC.to_vec();
    out.extend_from_slice(&message.encode_to_vec());
    out
}

/// Encodes a boolean as HBase does.
pub(super) fn encode_flag(flag: bool) -> Vec<u8> {
    vec![if flag { 0xff } else { 0 }]
}
