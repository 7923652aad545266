//! Decoder of PREFIX, DIFF and `FAST_DIFF` to the bytes of a plain block.

use std::marker::PhantomData;

use halite_types::{Error, Result};

use super::data_block_encoding::ID_BYTES;
use super::differences::{DifferenceFormat, Value};
use super::plain_cells::PlainCells;
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
    Decoder::<F>::new(payload, layout)?.run()
}

/// Decoder of one block.
struct Decoder<'a, F> {
    format: PhantomData<F>,
    input: ByteReader<'a>,
    layout: CellLayout,
    dictionary: TagDictionary<'a>,
    cells: PlainCells<'a>,
}

impl<'a, F: DifferenceFormat> Decoder<'a, F> {
    fn new(payload: &'a [u8], layout: CellLayout) -> Result<Self> {
        let mut input = ByteReader::starting_at(payload, ID_BYTES);
        let bytes = input.length().filter(|bytes| *bytes <= MAX_PAYLOAD_BYTES);
        let bytes = bytes.ok_or_else(|| damaged("it states an impossible size of its cells"))?;
        let mut cells = PlainCells::new(bytes, payload.len());
        F::read_start(&mut input, &mut cells)
            .ok_or_else(|| damaged("it ends before its first cell"))?;
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
