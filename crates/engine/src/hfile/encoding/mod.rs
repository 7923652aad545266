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

mod diff;
mod fast_diff;
mod key;
mod plain;
mod prefix;
mod row_index;
mod tags;

use std::marker::PhantomData;

use halite_types::{Error, ErrorKind, Result};

use super::block::{BlockKind, ENCODED_DATA_MAGIC, MAX_PAYLOAD_BYTES, unsupported_encoding};
use super::cells::CellLayout;
use super::damaged;
use super::vint::ByteReader;
use key::{Keys, Value};
use tags::TagDictionary;

/// Bytes of the id before an encoded block.
const ID_BYTES: usize = 2;

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
pub(super) trait BlockEncoder: Send {
    /// Returns the payload of the block with these cells, which are the payload of a plain one.
    fn encode<'a>(&'a mut self, cells: &'a [u8], layout: CellLayout) -> Result<&'a [u8]>;
}

/// Decoder of an encoding whose cells are stored as differences from the previous one.
trait DifferenceDecoder {
    const ENCODING: DataBlockEncoding;

    /// Reads the fields before the first cell; `None` if they are damaged.
    fn read_start(_input: &mut ByteReader<'_>, _keys: &mut Keys) -> Option<()> {
        Some(())
    }

    /// Reads the key of a cell into `keys`, and its value; `None` if it is damaged. `value_bytes`
    /// is the length of the previous value.
    fn read<'a>(
        input: &mut ByteReader<'a>,
        keys: &mut Keys,
        value_bytes: usize,
    ) -> Option<Value<'a>>;
}

impl DataBlockEncoding {
    const ALL: [Self; 5] = [Self::None, Self::Prefix, Self::Diff, Self::FastDiff, Self::RowIndexV1];

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

    fn id(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Prefix => 2,
            Self::Diff => 3,
            Self::FastDiff => 4,
            Self::RowIndexV1 => 7,
        }
    }

    /// Returns the encoding with an HBase name such as `FAST_DIFF`.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name().as_bytes() == name)
    }

    /// Returns the eight bytes that a data block with it starts with.
    pub(super) fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::None => BlockKind::Data.magic(),
            Self::Prefix | Self::Diff | Self::FastDiff | Self::RowIndexV1 => ENCODED_DATA_MAGIC,
        }
    }

    /// Returns `true` if files with it can be written.
    pub fn is_written(self) -> bool {
        self.find_encoder().is_some()
    }

    /// Returns the encoding of the files of a family with this attribute `DATA_BLOCK_ENCODING`:
    /// `None` for an encoding that cannot be written.
    pub(crate) fn for_family(name: &str) -> Self {
        Self::from_name(name.as_bytes())
            .filter(|encoding| encoding.is_written())
            .unwrap_or_default()
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

fn decode_differences<D: DifferenceDecoder>(payload: &[u8], layout: CellLayout) -> Result<Vec<u8>> {
    Decoder::<D>::new(payload, layout)?.run()
}

/// Decoder of a block to plain bytes.
struct Decoder<'a, D> {
    differences: PhantomData<D>,
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

impl<'a, D: DifferenceDecoder> Decoder<'a, D> {
    fn new(payload: &'a [u8], layout: CellLayout) -> Result<Self> {
        let mut input = ByteReader::starting_at(payload, ID_BYTES);
        let bytes = input.length().filter(|bytes| *bytes <= MAX_PAYLOAD_BYTES);
        let bytes = bytes.ok_or_else(|| damaged("it states an impossible size of its cells"))?;
        let mut keys = Keys::default();
        D::read_start(&mut input, &mut keys)
            .ok_or_else(|| damaged("it ends before its first cell"))?;
        Ok(Self {
            differences: PhantomData,
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
            D::ENCODING.name()
        ))
    }

    /// Decodes one cell; `None` if it is damaged.
    fn cell(&mut self) -> Option<()> {
        let value = D::read(&mut self.input, &mut self.keys, self.value.1)?;
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
    fn an_encoding_that_is_not_written_is_replaced_by_none_or_refused() {
        for encoding in DataBlockEncoding::ALL {
            assert_eq!(DataBlockEncoding::from_name(encoding.name().as_bytes()), Some(encoding));
            let written = if encoding.is_written() { encoding } else { DataBlockEncoding::None };
            assert_eq!(DataBlockEncoding::for_family(encoding.name()), written);
            let Err(error) = encoding.encoder().map(drop) else { continue };
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(encoding.name()), "{error}");
        }
        assert_eq!(DataBlockEncoding::for_family("PREFIX_TREE"), DataBlockEncoding::None);
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
        let plain = decode(b"\x00\x00\0\0\0\0", layout()).unwrap_err();
        assert!(plain.message().contains("number 0"), "{plain}");
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
