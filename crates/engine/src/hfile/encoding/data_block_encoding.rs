//! The encodings by name and id, and what encodes a block.

use halite_types::Result;

use crate::hfile::block_header::{BlockKind, ENCODED_DATA_MAGIC};
use crate::hfile::cell_layout::CellLayout;

/// Bytes of the id before an encoded block.
pub(super) const ID_BYTES: usize = 2;

/// Encoding of the cells of a file's data blocks. All of HBase's encodings can be read;
/// [`DataBlockEncoding::is_written`] returns `true` for those that can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the encoding of that name")]
pub enum DataBlockEncoding {
    #[default]
    None,
    Prefix,
    Diff,
    FastDiff,
    RowIndexV1,
}

/// Encoder of the data blocks of one file. It may keep its buffers from block to block.
pub(in crate::hfile) trait BlockEncoder: Send {
    /// Returns the payload of the block with these cells, which are the payload of a plain one.
    fn encode<'a>(&'a mut self, cells: &'a [u8], layout: CellLayout) -> Result<&'a [u8]>;
}

impl DataBlockEncoding {
    pub(super) const ALL: [Self; 5] =
        [Self::None, Self::Prefix, Self::Diff, Self::FastDiff, Self::RowIndexV1];

    /// Returns HBase's name, as in the attribute `DATA_BLOCK_ENCODING`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Prefix => "PREFIX",
            Self::Diff => "DIFF",
            Self::FastDiff => "FAST_DIFF",
            Self::RowIndexV1 => "ROW_INDEX_V1",
        }
    }

    pub(super) fn id(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Prefix => 2,
            Self::Diff => 3,
            Self::FastDiff => 4,
            Self::RowIndexV1 => 7,
        }
    }

    /// Returns the encoding with an HBase name such as `FAST_DIFF`, ignoring case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name().eq_ignore_ascii_case(name.trim()))
    }

    /// Returns the eight bytes that a data block with it starts with.
    pub(in crate::hfile) fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::None => BlockKind::Data.magic(),
            Self::Prefix | Self::Diff | Self::FastDiff | Self::RowIndexV1 => ENCODED_DATA_MAGIC,
        }
    }
}
