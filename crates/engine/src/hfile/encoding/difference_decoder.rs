//! Decoder of PREFIX, DIFF and `FAST_DIFF` to the bytes of a plain block.

use std::marker::PhantomData;

use halite_types::{Error, Result};

use super::DecodedCells;
use super::cell_before::CellBefore;
use super::differences::DifferenceFormat;
use super::new_cell::NewCell;
use super::new_key::PaddedFamily;
use super::padded_input::{BlockStart, PaddedInput};
use super::plain_cells::{PlainCells, Room};
use super::tags::TagDictionary;
use crate::env::PADDING_BYTES;
use crate::hfile::cell_layout::CellLayout;
use crate::hfile::damaged;
use crate::hfile::data_cells::DataCells;
use crate::hfile::vint::ByteReader;

/// Decodes a block to plain bytes.
pub(super) fn decode_differences<F: DifferenceFormat>(
    input: PaddedInput<'_>,
    layout: CellLayout,
) -> Result<DecodedCells> {
    Decoder::<F>::new(input, layout, usize::MAX)?.run()
}

/// Decodes a part of a block to plain bytes.
pub(super) fn decode_difference_part<F: DifferenceFormat>(
    mut part: Vec<u8>,
    layout: CellLayout,
    before: Option<CellBefore<'_>>,
    plain_bytes: usize,
) -> Result<DecodedCells> {
    let end = part.len();
    let input = PaddedInput::new(&mut part, 0..end);
    match before {
        None => Decoder::<F>::new(input, layout, plain_bytes)?.run(),
        Some(before) => Decoder::<F>::of_part(input, layout, before, plain_bytes)?.run(),
    }
}

/// Decoder of one block, or of a part of one.
struct Decoder<'a, F> {
    format: PhantomData<F>,
    /// Position before the next cell. Reads of a cell may extend into the padding, which is found
    /// after the cell.
    input: ByteReader<'a>,
    layout: CellLayout,
    family: PaddedFamily,
    dictionary: TagDictionary<'a>,
    tags: Vec<u8>,
    cells: PlainCells,
}

impl<'a, F: DifferenceFormat> Decoder<'a, F> {
    /// Creates a decoder of the first `max_bytes` of a block.
    fn new(payload: PaddedInput<'a>, layout: CellLayout, max_bytes: usize) -> Result<Self> {
        let BlockStart { plain_bytes, family, cells } = BlockStart::read::<F>(payload)?;
        let input = ByteReader::starting_at(payload.bytes, cells);
        let cells = PlainCells::new(plain_bytes.min(max_bytes), payload.end, layout.tags);
        Ok(Self::of_cells(input, layout, family, cells))
    }

    /// Creates a decoder of a part of `bytes` plain bytes that is not the first of its block.
    fn of_part(
        part: PaddedInput<'a>,
        layout: CellLayout,
        before: CellBefore<'_>,
        bytes: usize,
    ) -> Result<Self> {
        let CellBefore { key, value_bytes } = before;
        PlainCells::after(key, value_bytes, bytes, part.end, layout.tags)
            .zip(PaddedFamily::of_key(key))
            .map(|(cells, family)| {
                Self::of_cells(ByteReader::new(part.bytes), layout, family, cells)
            })
            .ok_or_else(|| damaged("the part index does not tell the cell before it"))
    }

    fn of_cells(
        input: ByteReader<'a>,
        layout: CellLayout,
        family: PaddedFamily,
        cells: PlainCells,
    ) -> Self {
        Self {
            format: PhantomData,
            input,
            layout,
            family,
            dictionary: TagDictionary::default(),
            tags: Vec::new(),
            cells,
        }
    }

    fn run(mut self) -> Result<DecodedCells> {
        let all = if self.layout.tags { self.add_all::<true>() } else { self.add_all::<false>() };
        all.ok_or_else(|| self.broken())?;
        let (bytes, start, map) = self.cells.into_block().map_err(|(bytes, stated)| {
            damaged(format_args!("its cells come to {bytes} bytes, and it states {stated}"))
        })?;
        let payload = start..bytes.len();
        let cells = DataCells::validated(map.finish()?, self.layout);
        Ok(DecodedCells { bytes, payload, cells })
    }

    /// Decodes all cells, which have tags or not; `None` if one is damaged.
    fn add_all<const TAGS: bool>(&mut self) -> Option<()> {
        if self.cells.is_empty() {
            while self.add_cells::<TAGS, true>() {}
        }
        if !self.cells.is_empty() {
            while self.add_cells::<TAGS, false>() {}
        }
        self.is_at_end().then_some(())
    }

    /// Decodes the first cell of a block, or others, up to the end, a damaged cell, or the end of
    /// the room. Returns `true` in the last case.
    fn add_cells<const TAGS: bool, const FIRST: bool>(&mut self) -> bool {
        let mut reader = CellReader {
            layout: self.layout,
            family: &mut self.family,
            dictionary: &mut self.dictionary,
            tags: &mut self.tags,
        };
        let mut room = self.cells.room();
        let mut input = self.input;
        while input.remaining() > PADDING_BYTES {
            let mut next = input;
            let cell = reader.read::<F, TAGS, FIRST>(&mut next, &mut room);
            if cell.is_none() || next.remaining() < PADDING_BYTES {
                break;
            }
            input = next;
            if FIRST {
                break;
            }
        }
        self.input = input;
        let end = room.end();
        self.cells.leave(end)
    }

    fn is_at_end(&self) -> bool {
        self.input.remaining() <= PADDING_BYTES
    }

    #[cold]
    fn broken(&self) -> Error {
        damaged(format_args!(
            "its cell {} cannot be decoded from {} at byte {} of the payload",
            self.cells.count(),
            F::ENCODING.name(),
            self.input.position()
        ))
    }
}

/// What the decoding of a cell needs beside the previous one.
struct CellReader<'d, 'a> {
    layout: CellLayout,
    family: &'d mut PaddedFamily,
    dictionary: &'d mut TagDictionary<'a>,
    tags: &'d mut Vec<u8>,
}

impl<'a> CellReader<'_, 'a> {
    /// Decodes one cell; `None` if it is damaged or there is no room for it.
    #[inline(always)]
    fn read<F: DifferenceFormat, const TAGS: bool, const FIRST: bool>(
        &mut self,
        input: &mut ByteReader<'a>,
        room: &mut Room<'_>,
    ) -> Option<()> {
        let previous = room.previous();
        let head = F::read_head(input, previous)?;
        let mut parts = previous.parts;
        let mut cell = room.begin(head, &mut parts, input.remaining())?;
        if FIRST {
            F::read_first_key(input, head, &mut cell.key, self.family)?;
        } else {
            F::read_key(input, head, &mut cell.key, self.family)?;
        }
        if head.flag & F::SAME_VALUE == 0 {
            cell.read_value(input)?;
        } else {
            cell.repeat_value()?;
        }
        if TAGS {
            self.read_tags(input, &mut cell)?;
        }
        if self.layout.sequence_ids {
            cell.read_sequence_id(input)?;
        }
        let cell = cell.finish();
        room.push(cell)
    }

    fn read_tags(&mut self, input: &mut ByteReader<'a>, cell: &mut NewCell<'_>) -> Option<()> {
        let bytes = input.compressed_int()?;
        if !self.layout.tags_compressed {
            return cell.append_tags(input.take(bytes)?);
        }
        self.tags.clear();
        self.dictionary.read(input, bytes, self.tags)?;
        cell.append_tags(self.tags)
    }
}
