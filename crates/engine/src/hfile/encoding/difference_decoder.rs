//! Decoder of PREFIX, DIFF and `FAST_DIFF` to the bytes of a plain block.

use std::marker::PhantomData;
use std::ops::Range;

use halite_types::{Error, Result};

use super::EncodedPart;
use super::data_block_encoding::ID_BYTES;
use super::differences::{DifferenceFormat, Value};
use super::plain_cells::{LENGTHS_BYTES, PlainCells};
use super::tags::TagDictionary;
use crate::hfile::block_header::MAX_PAYLOAD_BYTES;
use crate::hfile::cell_layout::CellLayout;
use crate::hfile::damaged;
use crate::hfile::vint::ByteReader;

/// Decodes a block to plain bytes.
pub(super) fn decode_differences<F: DifferenceFormat>(
    payload: &[u8],
    layout: CellLayout,
) -> Result<Vec<u8>> {
    Decoder::<F>::new(payload, layout, usize::MAX)?.run()
}

/// Decodes a part of a block to plain bytes, and returns where they are in the buffer.
pub(super) fn decode_difference_part<F: DifferenceFormat>(
    part: &EncodedPart<'_>,
) -> Result<(Vec<u8>, Range<usize>)> {
    let start = part.before.map_or(0, |before| before.key.len().saturating_add(LENGTHS_BYTES));
    let block = Decoder::<F>::for_part(part)?.run()?;
    let cells = start..block.len();
    Ok((block, cells))
}

/// Decoder of one block, or of a part of one.
struct Decoder<'a, F> {
    format: PhantomData<F>,
    input: ByteReader<'a>,
    layout: CellLayout,
    dictionary: TagDictionary<'a>,
    cells: PlainCells<'a>,
}

impl<'a, F: DifferenceFormat> Decoder<'a, F> {
    /// Creates a decoder of the first `max_bytes` of a block.
    fn new(payload: &'a [u8], layout: CellLayout, max_bytes: usize) -> Result<Self> {
        let mut input = ByteReader::starting_at(payload, ID_BYTES);
        let bytes = input.length().filter(|bytes| *bytes <= MAX_PAYLOAD_BYTES);
        let bytes = bytes.ok_or_else(|| damaged("it states an impossible size of its cells"))?;
        let mut cells = PlainCells::new(bytes.min(max_bytes), payload.len());
        F::read_start(&mut input, &mut cells)
            .ok_or_else(|| damaged("it ends before its first cell"))?;
        Ok(Self { format: PhantomData, input, layout, dictionary: TagDictionary::default(), cells })
    }

    fn for_part(part: &EncodedPart<'a>) -> Result<Self> {
        let EncodedPart { bytes, layout, before, plain_bytes } = *part;
        let Some(before) = before else {
            return Self::new(bytes, layout, plain_bytes);
        };
        let cells = PlainCells::after(before, plain_bytes, bytes.len())
            .ok_or_else(|| damaged("the part index does not tell the cell before it"))?;
        let input = ByteReader::new(bytes);
        Ok(Self { format: PhantomData, input, layout, dictionary: TagDictionary::default(), cells })
    }

    fn run(mut self) -> Result<Vec<u8>> {
        let mut number = 0_u32;
        while self.input.remaining() > 0 {
            self.cell().ok_or_else(|| self.broken(number))?;
            number = number.saturating_add(1);
        }
        self.cells.into_block().map_err(|(bytes, stated)| {
            damaged(format_args!("its cells come to {bytes} bytes, and it states {stated}"))
        })
    }

    fn broken(&self, number: u32) -> Error {
        let at = self.input.position();
        damaged(format_args!(
            "its cell {number} cannot be decoded from {} near byte {at} of the payload",
            F::ENCODING.name()
        ))
    }

    /// Decodes one cell; `None` if it is damaged.
    #[inline]
    fn cell(&mut self) -> Option<()> {
        match F::read(&mut self.input, &mut self.cells)? {
            Value::Given(value) => self.cells.finish(Some(value))?,
            Value::Same => self.cells.finish(None)?,
        }
        self.suffixes()
    }

    /// Decodes the tags and the sequence id after a cell.
    #[inline]
    fn suffixes(&mut self) -> Option<()> {
        let out = self.cells.suffixes();
        if self.layout.tags {
            let bytes = self.input.compressed_int()?;
            out.extend_from_slice(&u16::try_from(bytes).ok()?.to_be_bytes());
            if self.layout.tags_compressed {
                self.dictionary.read(&mut self.input, bytes, out)?;
            } else {
                out.extend_from_slice(self.input.take(bytes)?);
            }
        }
        if self.layout.sequence_ids {
            let bytes = self.input.vlong_bytes()?;
            self.cells.push_next(&mut self.input, bytes)?;
        }
        Some(())
    }
}
