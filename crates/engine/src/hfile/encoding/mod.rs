//! Data block encodings: HBase's formats that store keys as differences. A block is decoded as a
//! whole into the bytes of a plain one when it is opened, so no other module handles encodings.
//!
//! ```text
//! PREFIX, DIFF, FAST_DIFF    id u16 | bytes of the plain block i32 | [DIFF: familyLength u8 | family] | cells
//! cell                       key and value in the encoding's format [| tags] [| sequence id vlong]
//! tags                       length cint [| raw, or each through the dictionary of tags.rs]
//! ROW_INDEX_V1               id u16 | plain cells | rows i32 | their offsets i32... | bytes of the cells i32
//! ```
//! A `cint` is a number in groups of seven bits, the lowest first.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod diff;
mod fast_diff;
mod key;
mod prefix;
mod tags;

use halite_types::{Error, Result};

use super::block::{MAX_PAYLOAD_BYTES, unsupported_encoding};
use super::cells::CellLayout;
use super::damaged;
use super::vint::ByteReader;
use key::{Keys, Value};
use tags::TagDictionary;

/// Encoding of the cells of a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Prefix,
    Diff,
    FastDiff,
    RowIndexV1,
}

impl Encoding {
    const ALL: [Self; 4] = [Self::Prefix, Self::Diff, Self::FastDiff, Self::RowIndexV1];

    /// Returns HBase's name for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Prefix => "PREFIX",
            Self::Diff => "DIFF",
            Self::FastDiff => "FAST_DIFF",
            Self::RowIndexV1 => "ROW_INDEX_V1",
        }
    }

    fn id(self) -> u16 {
        match self {
            Self::Prefix => 2,
            Self::Diff => 3,
            Self::FastDiff => 4,
            Self::RowIndexV1 => 7,
        }
    }

    /// Returns the encoding of that name; `NONE` is not one.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name().as_bytes() == name)
    }
}

/// Decodes an encoded block to the plain block.
///
/// # Errors
/// `Corrupt`; `Unsupported` for an encoding that HBase does not have.
pub(super) fn decode(payload: &[u8], layout: CellLayout) -> Result<Vec<u8>> {
    let mut input = ByteReader::new(payload);
    let id = input.u16().ok_or_else(|| damaged("it ends before the id of its encoding"))?;
    let encoding = Encoding::ALL.into_iter().find(|encoding| encoding.id() == id);
    match encoding.ok_or_else(|| unsupported_encoding(&format!("number {id}")))? {
        Encoding::RowIndexV1 => row_index_cells(payload)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| damaged("its rows' index does not fit it")),
        encoding => Decoder::new(encoding, payload, input, layout)?.run(),
    }
}

/// Returns the cells before the index of rows. The index is not needed once the cells are found.
fn row_index_cells(payload: &[u8]) -> Option<&[u8]> {
    let mut end = ByteReader::starting_at(payload, payload.len().checked_sub(4)?);
    let cells = ByteReader::starting_at(payload, 2).take(end.length()?)?;
    let rows = ByteReader::starting_at(payload, cells.len().checked_add(2)?).length()?;
    let index = rows.checked_add(2)?.checked_mul(4)?;
    (cells.len().checked_add(2)?.checked_add(index)? == payload.len()).then_some(cells)
}

/// Decoder of a block to plain bytes.
struct Decoder<'a> {
    encoding: Encoding,
    payload: &'a [u8],
    input: ByteReader<'a>,
    layout: CellLayout,
    keys: Keys,
    dictionary: TagDictionary<'a>,
    /// Offset of the previous value in `out`, and its length.
    value: (usize, usize),
    /// Bytes of the plain block.
    bytes: usize,
    out: Vec<u8>,
}

impl<'a> Decoder<'a> {
    fn new(
        encoding: Encoding,
        payload: &'a [u8],
        mut input: ByteReader<'a>,
        layout: CellLayout,
    ) -> Result<Self> {
        let bytes = input.length().filter(|bytes| *bytes <= MAX_PAYLOAD_BYTES);
        let bytes = bytes.ok_or_else(|| damaged("it states an impossible size of its cells"))?;
        let mut keys = Keys::default();
        if encoding == Encoding::Diff {
            diff::read_family(&mut input, &mut keys)
                .ok_or_else(|| damaged("it ends inside its family"))?;
        }
        Ok(Self {
            encoding,
            payload,
            input,
            layout,
            keys,
            dictionary: TagDictionary::default(),
            value: (0, 0),
            bytes,
            out: Vec::new(),
        })
    }

    fn run(mut self) -> Result<Vec<u8>> {
        let mut number = 0_u32;
        while self.input.remaining() > 0 {
            self.cell().ok_or_else(|| self.broken(number))?;
            number = number.saturating_add(1);
        }
        if self.out.len() != self.bytes {
            return Err(damaged(format_args!(
                "its cells come to {} bytes, and it states {}",
                self.out.len(),
                self.bytes
            )));
        }
        Ok(self.out)
    }

    fn broken(&self, number: u32) -> Error {
        let at = self.input.position();
        damaged(format_args!(
            "its cell {number} cannot be decoded from {} near byte {at} of the payload",
            self.encoding.name()
        ))
    }

    /// Decodes one cell; `None` if it is damaged.
    fn cell(&mut self) -> Option<()> {
        let value = match self.encoding {
            Encoding::Prefix => prefix::read(&mut self.input, &mut self.keys),
            Encoding::Diff => diff::read(&mut self.input, &mut self.keys, self.value.1),
            _ => fast_diff::read(&mut self.input, &mut self.keys, self.value.1),
        }?;
        let value_bytes = match value {
            Value::Given(value) => value.len(),
            Value::Same => self.value.1,
        };
        let key = self.keys.finish();
        let whole = key.len().checked_add(value_bytes)?.checked_add(8)?;
        // Before any copy: a few bytes that repeat many times must not exceed the stated length.
        if self.out.len().checked_add(whole)? > self.bytes {
            return None;
        }
        self.out.extend_from_slice(&u32::try_from(key.len()).ok()?.to_be_bytes());
        self.out.extend_from_slice(&u32::try_from(value_bytes).ok()?.to_be_bytes());
        self.out.extend_from_slice(key);
        let start = self.out.len();
        match value {
            Value::Given(value) => self.out.extend_from_slice(value),
            Value::Same => {
                self.out.extend_from_within(self.value.0..self.value.0.checked_add(value_bytes)?);
            }
        }
        self.value = (start, value_bytes);
        self.suffixes()
    }

    /// Decodes the tags and the sequence id after a cell.
    fn suffixes(&mut self) -> Option<()> {
        if self.layout.tags {
            let bytes = self.input.compressed_int()?;
            self.out.extend_from_slice(&u16::try_from(bytes).ok()?.to_be_bytes());
            if self.layout.tags_compressed {
                self.dictionary.read(&mut self.input, bytes, &mut self.out)?;
            } else {
                self.out.extend_from_slice(self.input.take(bytes)?);
            }
        }
        if self.layout.sequence_ids {
            let start = self.input.position();
            self.input.vlong()?;
            self.out.extend_from_slice(self.payload.get(start..self.input.position())?);
        }
        Some(())
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
    fn three_encodings_of_the_same_cells_come_to_the_same_plain_block() {
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
    fn every_cut_and_a_wrong_size_are_damage() {
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
    }

    #[test]
    fn no_bytes_make_it_panic() {
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
