//! Encodings whose cells are stored as differences from the previous cell.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::marker::PhantomData;

use halite_types::{Error, Result};

use super::data_block_encoding::{DataBlockEncoding, ID_BYTES};
use super::key::{Keys, Value};
use super::tags::TagDictionary;
use crate::hfile::block_header::MAX_PAYLOAD_BYTES;
use crate::hfile::cell_layout::CellLayout;
use crate::hfile::damaged;
use crate::hfile::vint::ByteReader;

/// Decoder of an encoding whose cells are stored as differences from the previous one.
pub(super) trait DifferenceDecoder {
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

/// Decodes a block to plain bytes.
pub(super) fn decode_differences<D: DifferenceDecoder>(
    payload: &[u8],
    layout: CellLayout,
) -> Result<Vec<u8>> {
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
