//! Data block encodings: HBase's formats that store keys as differences. A block is decoded as a
//! whole into the bytes of a plain one when it is opened, and encoded as a whole from these when it
//! is written, so no other module handles encodings. An encoding is one file, with one arm in
//! [`decode`] and one in [`DataBlockEncoding::find_encoder`].
//!
//! ```text
//! PREFIX, DIFF, FAST_DIFF    id u16 | bytes of the plain block i32 | [DIFF: familyLength u8 | family] | cells
//! cell                       key and value in the encoding's format [| tags] [| sequence id vlong]
//! tags                       length cint [| raw, or each through the dictionary of tags.rs]
//! ROW_INDEX_V1               id u16 | plain cells | rows i32 | their offsets i32... | bytes of the cells i32
//! ```
//! A `cint` is a number in groups of seven bits, the lowest first.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod data_block_encoding;
mod diff;
mod differences;
mod fast_diff;
mod key;
mod plain;
mod prefix;
mod row_index;
mod tags;

use super::block_header::unsupported_encoding;
use super::cell_layout::CellLayout;
use super::damaged;
use super::vint::ByteReader;
pub(super) use data_block_encoding::BlockEncoder;
pub use data_block_encoding::DataBlockEncoding;
use differences::decode_differences;
use halite_types::{Error, ErrorKind, Result};

impl DataBlockEncoding {
    /// Returns `true` if files with it can be written.
    pub fn is_written(self) -> bool {
        self.find_encoder().is_some()
    }

    /// Returns the encoding of the files of a family with this attribute `DATA_BLOCK_ENCODING`:
    /// `None` for an encoding that cannot be written.
    pub(crate) fn for_family(name: &str) -> Self {
        Self::from_name(name).filter(|encoding| encoding.is_written()).unwrap_or_default()
    }

    /// Returns an encoder for the data blocks of a new file.
    ///
    /// # Errors
    /// `Unsupported` for an encoding that cannot be written, with the encoding and the fix.
    pub(super) fn encoder(self) -> Result<Box<dyn BlockEncoder>> {
        self.find_encoder().ok_or_else(|| {
            let text = format!(
                "data block encoding {} is not written; set DATA_BLOCK_ENCODING to NONE",
                self.name()
            );
            Error::new(ErrorKind::Unsupported, text)
        })
    }

    fn find_encoder(self) -> Option<Box<dyn BlockEncoder>> {
        match self {
            Self::None => Some(Box::new(plain::PlainEncoder)),
            Self::Prefix | Self::Diff | Self::FastDiff | Self::RowIndexV1 => None,
        }
    }
}

/// Decodes an encoded block to the plain block.
///
/// # Errors
/// `Corrupt`; `Unsupported` for an encoding that HBase does not have.
pub(super) fn decode(payload: &[u8], layout: CellLayout) -> Result<Vec<u8>> {
    let mut input = ByteReader::new(payload);
    let id = input.u16().ok_or_else(|| damaged("it ends before the id of its encoding"))?;
    let encoding = DataBlockEncoding::ALL.into_iter().find(|encoding| encoding.id() == id);
    match encoding {
        Some(DataBlockEncoding::Prefix) => decode_differences::<prefix::Prefix>(payload, layout),
        Some(DataBlockEncoding::Diff) => decode_differences::<diff::Diff>(payload, layout),
        Some(DataBlockEncoding::FastDiff) => {
            decode_differences::<fast_diff::FastDiff>(payload, layout)
        }
        Some(DataBlockEncoding::RowIndexV1) => row_index::decode(payload),
        // A plain block has another magic and no id.
        Some(DataBlockEncoding::None) | None => Err(unsupported_encoding(&format!("number {id}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five cells of the samples `tiny-*`, in PREFIX.
    const PREFIX: &[u8] = b"\x00\x02\x00\x00\x00\xa4\x15\x04\x00\x00\x04row1\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04AAAA\x07\
        \x02\x04\x13\x00\x04AAAA\x06\x0a\x02\x0b2\x00\x00\x01\x8b\xcf\xe5\x68\x00\x04BB\x8e\x01\x2c\
        \x15\x01\x01\x05row10\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04C\x00\x14\x00\x01\x04row2\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x0c\x09";
    const DIFF: &[u8] = b"\x00\x03\x00\x00\x00\xa4\x01f\x50\x15\x04\x00\x00\x04row1col1\x05\x68\xe5\xcf\x8b\x01\x04AAAA\x07\
        \x0f\x0c\x05AAAA\x06\x0d\x02\x0b2\x00BB\x8e\x01\x2c\x8c\x16\x01\x01\x05row10col1\x05C\x00\x08\x15\x00\x01\x04row2col1\x00\x0c\x09";
    const FAST_DIFF: &[u8] = b"\x00\x04\x00\x00\x00\xa4\x00\x15\x04\x00\x00\x04row1\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04AAAA\x07\
        \x7f\x0c\x00\x06\x2f\x02\x0b2\x00BB\x8e\x01\x2c\x27\x16\x01\x01\x05row10col1\x05C\x00\x07\x15\x00\x01\x04row2col1\x05\x0c\x09";

    fn layout() -> CellLayout {
        CellLayout { sequence_ids: true, ..CellLayout::default() }
    }

    #[test]
    fn unsupported_encodings_become_none_or_are_rejected() {
        for encoding in DataBlockEncoding::ALL {
            let lower_name = encoding.name().to_ascii_lowercase();
            assert_eq!(DataBlockEncoding::from_name(encoding.name()), Some(encoding));
            assert_eq!(DataBlockEncoding::from_name(&lower_name), Some(encoding));
            let written = if encoding.is_written() { encoding } else { DataBlockEncoding::None };
            assert_eq!(DataBlockEncoding::for_family(encoding.name()), written);
            let Err(error) = encoding.encoder().map(drop) else { continue };
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(encoding.name()), "{error}");
        }
        assert_eq!(DataBlockEncoding::for_family("PREFIX_TREE"), DataBlockEncoding::None);
    }

    #[test]
    fn all_encodings_decode_to_the_same_plain_block() {
        let plain = decode(DIFF, layout()).unwrap();
        assert_eq!(plain.len(), 164);
        assert!(plain.starts_with(b"\x00\x00\x00\x15\x00\x00\x00\x04\x00\x04row1\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04AAAA\x07\0\0\0\x15"));
        assert!(plain.ends_with(b"\0\x04row2\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x0c\x09"));
        assert_eq!(decode(FAST_DIFF, layout()).unwrap(), plain);
        // The type of the last cell differs from the previous one: PREFIX stores all of the rest.
        let prefix = decode(PREFIX, layout());
        assert_eq!(prefix.unwrap(), plain);
        let mut indexed = b"\x00\x07".to_vec();
        indexed.extend_from_slice(&plain);
        for number in [3_u32, 0, 0x66, 0x86, 164] {
            indexed.extend_from_slice(&number.to_be_bytes());
        }
        assert_eq!(decode(&indexed, layout()).unwrap(), plain);
    }

    #[test]
    fn truncated_and_invalid_blocks_are_rejected() {
        for block in [PREFIX, DIFF, FAST_DIFF] {
            (0..block.len())
                .for_each(|end| assert!(decode(&block[..end], layout()).is_err(), "{end}"));
            for (at, byte) in [(5, 0xa5), (5, 0xa3), (2, 0x7f)] {
                let mut wrong = block.to_vec();
                wrong[at] = byte;
                assert!(decode(&wrong, layout()).is_err());
            }
        }
        assert!(decode(b"\x00\x07\0\0\0\0\0\0\0\x01", layout()).is_err());
        let unknown = decode(b"\x00\x06\0\0\0\0", layout()).unwrap_err();
        assert!(unknown.message().contains("number 6"), "{unknown}");
        let plain = decode(b"\x00\x00\0\0\0\0", layout()).unwrap_err();
        assert!(plain.message().contains("number 0"), "{plain}");
    }

    #[test]
    fn damaged_blocks_do_not_panic() {
        let mut seed = 1_u64;
        for block in [PREFIX, DIFF, FAST_DIFF] {
            for _ in 0..20_000 {
                let mut wrong = block.to_vec();
                for _ in 0..3 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let at = 6 + (seed >> 33) as usize % (wrong.len() - 6);
                    wrong[at] = seed.to_be_bytes()[2];
                }
                let tags = CellLayout {
                    tags: true,
                    tags_compressed: seed & 1 == 1,
                    sequence_ids: seed & 2 == 2,
                };
                drop((decode(&wrong, layout()), decode(&wrong, tags)));
            }
        }
    }
}
