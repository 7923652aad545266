//! The encodings by name and id.

use halite_types::{Error, ErrorKind, FamilyDescriptor};

use crate::hfile::block_header::{BlockKind, ENCODED_DATA_MAGIC};

/// Bytes of the id before an encoded block.
pub(super) const ID_BYTES: usize = 2;

/// Encoding of the cells of a file's data blocks: all those of HBase 2.6.
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

impl DataBlockEncoding {
    /// All encodings.
    pub const ALL: [Self; 5] =
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

    /// Returns the encoding of a family's new files, after its attribute `DATA_BLOCK_ENCODING`.
    /// `None` for a name that HBase 2.6 does not have: no table is created or altered with one, and a
    /// descriptor that was stored before must not prevent its table from being opened.
    pub fn for_family(family: &FamilyDescriptor) -> Self {
        Self::from_name(&family.data_block_encoding()).unwrap_or_default()
    }

    /// Returns the eight bytes that a data block with it starts with.
    pub(in crate::hfile) fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::None => BlockKind::Data.magic(),
            Self::Prefix | Self::Diff | Self::FastDiff | Self::RowIndexV1 => ENCODED_DATA_MAGIC,
        }
    }
}

/// Returns the error for data blocks in an encoding that HBase 2.6 does not have.
pub(in crate::hfile) fn unsupported_encoding(name: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "data block encoding {name} cannot be read; set DATA_BLOCK_ENCODING to NONE and let \
             HBase rewrite the file with a major compaction"
        ),
    )
}
