//! Header of a block: its kind, its sizes and its checksums.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::Result;

use super::checksum::{ChecksumType, checksum_bytes};
use super::damaged;
use super::vint::ByteReader;

/// Bytes of a block's header.
pub(super) const HEADER_BYTES: usize = 33;
/// Maximum payload in bytes that a block may state; a larger one is treated as damage.
pub(super) const MAX_PAYLOAD_BYTES: usize = 1 << 30;
/// Kind of a block's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "the names are HBase's; the head of the module shows each in its place"
)]
pub enum BlockKind {
    Data,
    LeafIndex,
    BloomChunk,
    Meta,
    IntermediateIndex,
    RootIndex,
    FileInfo,
    GeneralBloomMeta,
    DeleteFamilyBloomMeta,
}

/// Bytes that a data block starts with whose cells are encoded.
pub(super) const ENCODED_DATA_MAGIC: &[u8; 8] = b"DATABLKE";

impl BlockKind {
    /// Returns the eight bytes that a block of this kind starts with.
    pub fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Data => b"DATABLK*",
            Self::LeafIndex => b"IDXLEAF2",
            Self::BloomChunk => b"BLMFBLK2",
            Self::Meta => b"METABLKc",
            Self::IntermediateIndex => b"IDXINTE2",
            Self::RootIndex => b"IDXROOT2",
            Self::FileInfo => b"FILEINF2",
            Self::GeneralBloomMeta => b"BLMFMET2",
            Self::DeleteFamilyBloomMeta => b"DFBLMET2",
        }
    }

    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Data,
        Self::LeafIndex,
        Self::BloomChunk,
        Self::Meta,
        Self::IntermediateIndex,
        Self::RootIndex,
        Self::FileInfo,
        Self::GeneralBloomMeta,
        Self::DeleteFamilyBloomMeta,
    ];

    /// Returns the kind of a block that starts with these bytes.
    pub(super) fn from_magic(magic: [u8; 8]) -> Option<Self> {
        if magic == *ENCODED_DATA_MAGIC {
            return Some(Self::Data);
        }
        Self::ALL.into_iter().find(|kind| *kind.magic() == magic)
    }

    /// Returns the human-readable name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data block",
            Self::LeafIndex => "leaf index block",
            Self::BloomChunk => "bloom chunk",
            Self::Meta => "meta block",
            Self::IntermediateIndex => "intermediate index block",
            Self::RootIndex => "root index block",
            Self::FileInfo => "file info block",
            Self::GeneralBloomMeta => "bloom meta block",
            Self::DeleteFamilyBloomMeta => "delete-family bloom meta block",
        }
    }
}

/// Location of a block in its file, including header and checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockHandle {
    /// Offset of the header's first byte.
    pub offset: u64,
    /// Length of the whole block in bytes.
    pub on_disk_bytes: u32,
}

/// Header of a block: the 33 bytes before its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) magic: [u8; 8],
    /// Bytes of payload on disk and checksums.
    pub(super) body_bytes: usize,
    pub(super) uncompressed_bytes: usize,
    /// Offset of the previous block of this kind; -1 for the first.
    pub(super) previous_offset: i64,
    pub(super) checksum: ChecksumType,
    pub(super) bytes_per_checksum: usize,
    /// Bytes of header and payload on disk.
    pub(super) covered_bytes: usize,
}

impl BlockHeader {
    /// Reads a header and verifies that its sizes are consistent.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut input = ByteReader::new(bytes);
        let header = Self::read_fields(&mut input)
            .ok_or_else(|| damaged("its header holds an impossible number"))?;
        let payload = header.covered_bytes.checked_sub(HEADER_BYTES);
        let sums = checksum_bytes(header.covered_bytes, header.bytes_per_checksum);
        if header.bytes_per_checksum == 0
            || payload.and_then(|payload| payload.checked_add(sums)) != Some(header.body_bytes)
        {
            return Err(damaged("the sizes in its header contradict one another"));
        }
        if header.uncompressed_bytes > MAX_PAYLOAD_BYTES {
            return Err(damaged(format_args!(
                "its header states {} bytes, more than the {MAX_PAYLOAD_BYTES} a block may have",
                header.uncompressed_bytes
            )));
        }
        Ok(header)
    }

    fn read_fields(input: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            magic: input.take(8)?.try_into().ok()?,
            body_bytes: input.length()?,
            uncompressed_bytes: input.length()?,
            previous_offset: input.i64()?,
            checksum: ChecksumType::from_code(input.byte()?)?,
            bytes_per_checksum: input.length()?,
            covered_bytes: input.length()?,
        })
    }

    /// Returns the length of the whole block in bytes.
    pub(super) fn on_disk_bytes(&self) -> usize {
        self.body_bytes.saturating_add(HEADER_BYTES)
    }
}
