//! Trailer: the last 4096 bytes of a file, which are read first.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::{Error, ErrorKind, Result};
use prost::Message;

use super::codec::Compression;
use super::{Comparator, damaged};

/// Bytes of a trailer.
pub(super) const TRAILER_BYTES: usize = 4096;
/// Eight bytes that a trailer starts with.
pub(super) const MAGIC: &[u8; 8] = b"TRABLK\"$";
const MAJOR_VERSION: u32 = 3;
const MINOR_VERSION: u32 = 3;
/// Maximum index levels, more than any index has: HBase's writer stops at 16 above the leaves.
const MAX_INDEX_LEVELS: u32 = 32;
/// Value for "no such offset".
const NO_OFFSET: u64 = u64::MAX;

/// HBase's `FileTrailerProto`.
#[derive(Clone, PartialEq, Message)]
struct TrailerMessage {
    #[prost(uint64, optional, tag = "1")]
    file_info_offset: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    load_on_open_data_offset: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    uncompressed_data_index_size: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    total_uncompressed_bytes: Option<u64>,
    #[prost(uint32, optional, tag = "5")]
    data_index_count: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    meta_index_count: Option<u32>,
    #[prost(uint64, optional, tag = "7")]
    entry_count: Option<u64>,
    #[prost(uint32, optional, tag = "8")]
    num_data_index_levels: Option<u32>,
    #[prost(uint64, optional, tag = "9")]
    first_data_block_offset: Option<u64>,
    #[prost(uint64, optional, tag = "10")]
    last_data_block_offset: Option<u64>,
    #[prost(string, optional, tag = "11")]
    comparator_class_name: Option<String>,
    #[prost(uint32, optional, tag = "12")]
    compression_codec: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "13")]
    encryption_key: Option<Vec<u8>>,
}

/// Fields of a trailer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Offset of the file info block.
    pub file_info_offset: u64,
    /// Offset of the data index root, the first of the blocks that are read on opening.
    pub load_on_open_offset: u64,
    /// Uncompressed bytes of all data index blocks, without headers.
    pub uncompressed_index_bytes: u64,
    /// Uncompressed bytes of the file, as HBase counts them: with headers, without the upper index
    /// levels.
    pub total_uncompressed_bytes: u64,
    /// Entries in the data index root.
    pub data_index_count: u32,
    /// Entries in the meta index root.
    pub meta_index_count: u32,
    /// Cells in the file.
    pub entry_count: u64,
    /// Levels of the data index; 1 if its root points at data blocks.
    pub index_levels: u32,
    /// Offset of the first data block; `None` in an empty file.
    pub first_data_block_offset: Option<u64>,
    /// Offset of the last data block; `None` in an empty file.
    pub last_data_block_offset: Option<u64>,
    /// Order of the keys.
    pub comparator: Comparator,
    /// Compression of the blocks.
    pub compression: Compression,
}

impl Trailer {
    /// Parses the end of a file: its last 4096 bytes, or all of them if it is shorter.
    pub(super) fn read(end: &[u8]) -> Result<Self> {
        let version =
            end.last_chunk::<4>().ok_or_else(|| damaged("it is too short to have a trailer"))?;
        check_version(u32::from_be_bytes(*version))?;
        if end.len() != TRAILER_BYTES {
            return Err(damaged("it is too short to have a trailer"));
        }
        let body = end
            .strip_prefix(MAGIC)
            .ok_or_else(|| damaged("its trailer does not start with TRABLK"))?;
        let message = TrailerMessage::decode_length_delimited(body).map_err(|why| {
            damaged(format_args!("its trailer is no message ({why})")).with_source(why)
        })?;
        Self::from_message(message)
    }

    fn from_message(message: TrailerMessage) -> Result<Self> {
        if message.encryption_key.is_some() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "it is encrypted, which is not supported; take ENCRYPTION off the family and let \
                 HBase rewrite the file with a major compaction",
            ));
        }
        let compression = match message.compression_codec {
            None => Compression::None,
            Some(code) => Compression::from_code(code).ok_or_else(|| {
                damaged(format_args!("its trailer names the unknown codec {code}"))
            })?,
        };
        compression.check_readable()?;
        let class = message.comparator_class_name.unwrap_or_default();
        let comparator = Comparator::from_class_name(&class).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!("its keys are ordered by {class:?}, which is not known here"),
            )
        })?;
        let levels = message.num_data_index_levels.unwrap_or(0);
        if !(1..=MAX_INDEX_LEVELS).contains(&levels) {
            return Err(damaged(format_args!("its trailer states {levels} index levels")));
        }
        let offset = |offset: Option<u64>| offset.filter(|&offset| offset != NO_OFFSET);
        Ok(Self {
            file_info_offset: message.file_info_offset.unwrap_or(0),
            load_on_open_offset: message.load_on_open_data_offset.unwrap_or(0),
            uncompressed_index_bytes: message.uncompressed_data_index_size.unwrap_or(0),
            total_uncompressed_bytes: message.total_uncompressed_bytes.unwrap_or(0),
            data_index_count: message.data_index_count.unwrap_or(0),
            meta_index_count: message.meta_index_count.unwrap_or(0),
            entry_count: message.entry_count.unwrap_or(0),
            index_levels: levels,
            first_data_block_offset: offset(message.first_data_block_offset),
            last_data_block_offset: offset(message.last_data_block_offset),
            comparator,
            compression,
        })
    }

    /// Returns the 4096 bytes to write.
    pub(super) fn encode(&self) -> Vec<u8> {
        let message = TrailerMessage {
            file_info_offset: Some(self.file_info_offset),
            load_on_open_data_offset: Some(self.load_on_open_offset),
            uncompressed_data_index_size: Some(self.uncompressed_index_bytes),
            total_uncompressed_bytes: Some(self.total_uncompressed_bytes),
            data_index_count: Some(self.data_index_count),
            meta_index_count: Some(self.meta_index_count),
            entry_count: Some(self.entry_count),
            num_data_index_levels: Some(self.index_levels),
            first_data_block_offset: Some(self.first_data_block_offset.unwrap_or(NO_OFFSET)),
            last_data_block_offset: Some(self.last_data_block_offset.unwrap_or(NO_OFFSET)),
            comparator_class_name: Some(self.comparator.class_name().to_owned()),
            compression_codec: Some(self.compression.code()),
            encryption_key: None,
        };
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&message.encode_length_delimited_to_vec());
        let space = TRAILER_BYTES.saturating_sub(4);
        assert!(out.len() <= space, "the fields of a trailer fit into it");
        out.resize(space, 0);
        out.extend_from_slice(&((MINOR_VERSION << 24) | MAJOR_VERSION).to_be_bytes());
        out
    }
}

/// Verifies the version. It is checked first because every version of the format has it in its last
/// four bytes.
fn check_version(version: u32) -> Result<()> {
    let (major, minor) = (version & 0x00ff_ffff, version >> 24);
    match major {
        MAJOR_VERSION if minor <= MINOR_VERSION => Ok(()),
        1 | 2 => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "it has HFile version {major}, only version 3 can be read; let HBase rewrite it \
                 with a major compaction"
            ),
        )),
        MAJOR_VERSION..=255 => Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "it has HFile version {major}.{minor}, newer than the \
                 {MAJOR_VERSION}.{MINOR_VERSION} known here; open it with a newer Halite"
            ),
        )),
        _ => Err(damaged(format_args!(
            "its last four bytes are {version:#010x}, which is no HFile version"
        ))),
    }
}
