//! Iteration over the cells of a file in order, and seeks.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::Arc;

use super::block::Block;
use super::block_header::{BlockHandle, BlockKind};
use super::cell_span::CellSpan;
use super::cells::ValidatedCells;
use super::damaged;
use super::encoding::CellDecoder;
use super::index_path::{IndexPath, memory_share};
use super::part_index::{Part, PartChoice};
use super::reader::{BlockOrPart, BlockSource, DirectBlocks, Reader};
use halite_types::cell::{first_on_row, key_row};
use halite_types::{CellRef, Error, Result};

/// Position in a file: on a cell, or on none. A new cursor is on none until its first seek, and so
/// is one whose last call failed. It owns its data, so it can be stored.
pub struct Cursor<S: BlockSource = DirectBlocks> {
    reader: Arc<Reader>,
    source: S,
    index_path: IndexPath,
    /// Block that `index_path` leads to, or a part of it.
    loaded: Option<Loaded>,
    place: Place,
    /// Parts that were loaded each after the one before it in the file, by steps or by seeks.
    parts_passed: u8,
}

/// Where a cursor is in the cells in memory.
enum Place {
    /// On no cell.
    Nowhere,
    /// On a cell of plain bytes.
    Cell(CellSpan),
    /// On a cell of an encoded block, which its decoder holds.
    Decoded(Box<CellDecoder>),
}

impl Place {
    fn at(cell: Option<CellSpan>) -> Self {
        cell.map_or(Self::Nowhere, Self::Cell)
    }

    fn is_nowhere(&self) -> bool {
        matches!(self, Self::Nowhere)
    }
}

/// Number of parts that a cursor reads one after another; then it reads whole blocks. A scan of 100
/// small rows needs about that many.
const MAX_PARTS_PASSED: u8 = 4;

/// Cells in memory: a data block, or a part of one.
struct Loaded {
    pointer: BlockHandle,
    cells: Arc<Block>,
    part: Option<Part>,
}

impl Loaded {
    /// Returns the offset of its cells in the payload of their block.
    fn start(&self) -> u32 {
        self.part.map_or(0, |part| part.start)
    }

    /// Returns `true` if it is the part after the part `before` in the file, in the same block or
    /// the next one.
    fn follows(&self, before: &Self) -> bool {
        let (Some(part), Some(last)) = (self.part, before.part) else { return false };
        if self.pointer == before.pointer {
            last.number.checked_add(1) == Some(part.number)
        } else {
            last.is_last && part.number == 0 && self.pointer.offset > before.pointer.offset
        }
    }
}

impl<S: BlockSource> Cursor<S> {
    /// Returns a cursor on no cell.
    pub fn new(reader: Arc<Reader>, source: S) -> Self {
        Self {
            reader,
            source,
            index_path: IndexPath::default(),
            loaded: None,
            place: Place::Nowhere,
            parts_passed: 0,
        }
    }

    /// Returns the file.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Returns its share of the memory of the blocks it holds, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        let cell = match &self.place {
            Place::Decoded(decoder) => decoder.memory_bytes(),
            Place::Nowhere | Place::Cell(_) => 0,
        };
        let cells = self.cells().map_or(0, memory_share).saturating_add(cell);
        cells.saturating_add(self.index_path.held_bytes())
    }

    /// Returns the current cell, with its sequence id (0 if the file has none); `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<CellRef<'_>> {
        let cells = self.cells()?;
        match &self.place {
            Place::Nowhere => None,
            Place::Cell(span) => Some(cells.cell(span)),
            Place::Decoded(decoder) => Some(decoder.cell(cells.payload())),
        }
    }

    /// Returns the flat key of the current cell.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Nowhere => None,
            Place::Cell(span) => Some(self.cells()?.key(span)),
            Place::Decoded(decoder) => Some(decoder.key()),
        }
    }

    /// Returns the block or part that the position is in.
    #[inline]
    fn cells(&self) -> Option<&Arc<Block>> {
        self.loaded.as_ref().map(|loaded| &loaded.cells)
    }

    /// Moves to the next cell; stays at the end.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        let Some(loaded) = &self.loaded else { return Ok(()) };
        match &mut self.place {
            Place::Nowhere => Ok(()),
            Place::Cell(span) => match loaded.cells.cell_after(span) {
                Some(next) => {
                    *span = next;
                    Ok(())
                }
                None => self.enter_after_last(),
            },
            Place::Decoded(decoder) => {
                if decoder.read_next(loaded.cells.payload()) {
                    Ok(())
                } else {
                    self.enter_after_last()
                }
            }
        }
    }

    /// Moves to the first cell of the file.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.leave();
        let pointer = self.index_path.first(&self.reader, &self.source)?;
        self.enter(pointer)?;
        self.enter_first_cell()
    }

    /// Moves to the last cell of the file.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.leave();
        let pointer = self.index_path.last(&self.reader, &self.source)?;
        self.enter(pointer)?;
        self.place = Place::at(self.validated()?.and_then(|cells| cells.last_cell()));
        Ok(())
    }

    /// Moves to the first cell at or after the flat key `key`, whatever its sequence id; to none if
    /// there is none. Does not read the index if that cell is in the current block, except for a
    /// seek backward in a block that is decoded cell by cell.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if self.decodes_up_to(key) {
            return self.decode_up_to(key);
        }
        let found = self.seek_in_block(key);
        if found.is_err() {
            self.leave();
        }
        if let Some(cell) = found? {
            self.place = Place::Cell(cell);
            return Ok(());
        }
        let left = self.position().filter(|_| {
            self.key().is_some_and(|at| self.reader.comparator().compare(at, key).is_lt())
        });
        self.leave();
        match self.index_path.find(&self.reader, &self.source, key)? {
            None => self.seek_to_first()?,
            Some(pointer) => {
                self.enter_for_key(pointer, key)?;
                let comparator = self.reader.comparator();
                let found = self.validated()?.and_then(|cells| cells.seek_cell(key, comparator, 0));
                self.place = Place::at(found);
                if self.place.is_nowhere() {
                    self.enter_next()?;
                }
            }
        }
        // A seek forward must advance, or a read of cells that are out of order could loop
        // endlessly.
        let is_back = left.is_some_and(|left| self.position().is_some_and(|place| place <= left));
        if is_back { self.give_up() } else { Ok(()) }
    }

    /// Moves to the last cell before the flat key `key`, whatever its sequence id; to none if there
    /// is none.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.leave();
        let Some(pointer) = self.index_path.find(&self.reader, &self.source, key)? else {
            self.loaded = None;
            return Ok(());
        };
        self.enter(Some(pointer))?;
        let comparator = self.reader.comparator();
        let Some(cells) = self.validated()? else { return Ok(()) };
        self.place = Place::at(match cells.seek_cell(key, comparator, 0) {
            Some(cell) => cells.cell_before(&cell),
            None => cells.last_cell(),
        });
        if self.place.is_nowhere() {
            self.enter_previous()?;
        }
        let is_ahead =
            self.key().is_some_and(|at| self.reader.comparator().compare(at, key).is_ge());
        if is_ahead { self.give_up() } else { Ok(()) }
    }

    /// Moves to the first cell of the last row before `row`; to none if there is no such row.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_to_previous_row(&mut self, row: &[u8]) -> Result<()> {
        self.seek_before(&first_on_row(row))?;
        match self.key().map(|key| first_on_row(key_row(key))) {
            Some(key) => self.seek(&key),
            None => Ok(()),
        }
    }

    /// Returns the cell that [`Cursor::seek`] searches, if it is certain to be in the current
    /// block, and that is plain.
    fn seek_in_block(&self, key: &[u8]) -> Result<Option<CellSpan>> {
        let comparator = self.reader.comparator();
        let (Some(loaded), Place::Cell(cell)) = (&self.loaded, &self.place) else {
            return Ok(None);
        };
        let block = &loaded.cells;
        let is_before = |cell: Option<CellSpan>| {
            cell.is_some_and(|cell| comparator.compare(block.key(&cell), key).is_lt())
        };
        let is_forward = is_before(Some(*cell));
        if !is_forward && !is_before(block.first_cell()) {
            return Ok(None);
        }
        let cells = block.validated().map_err(|error| self.of_block(loaded.pointer, error))?;
        if !is_forward {
            return Ok(cells.seek_cell(key, comparator, 0));
        }
        if is_before(cells.last_cell()) {
            return Ok(None);
        }
        Ok(cells.seek_cell(key, comparator, cell.start))
    }

    /// Returns `true` if the current cell is before `key`, and all cells up to it are in the
    /// current block, which is decoded cell by cell.
    fn decodes_up_to(&self, key: &[u8]) -> bool {
        let Place::Decoded(decoder) = &self.place else { return false };
        let comparator = self.reader.comparator();
        let next = self.index_path.next_key(&self.reader);
        comparator.compare(decoder.key(), key).is_lt()
            && next.is_none_or(|next| comparator.compare(key, next).is_lt())
    }

    /// Moves to the first cell at or after `key` by decoding one after another, which is less work
    /// than decoding the whole block again.
    fn decode_up_to(&mut self, key: &[u8]) -> Result<()> {
        let comparator = self.reader.comparator();
        if let (Some(loaded), Place::Decoded(decoder)) = (&self.loaded, &mut self.place) {
            let payload = loaded.cells.payload();
            while decoder.read_next(payload) {
                if comparator.compare(decoder.key(), key).is_ge() {
                    return Ok(());
                }
            }
        }
        self.enter_after_last()
    }

    /// Returns the position of the current cell: its block and its offset in the block.
    fn position(&self) -> Option<(u64, u32)> {
        let loaded = self.loaded.as_ref()?;
        let start = match &self.place {
            Place::Nowhere => return None,
            Place::Cell(span) => span.start,
            Place::Decoded(decoder) => decoder.plain_offset(),
        };
        Some((loaded.pointer.offset, loaded.start().saturating_add(start)))
    }

    /// Returns the error of a read that found cells out of key order.
    pub(crate) fn out_of_order(&self) -> Error {
        let block = self.block_offset().unwrap_or(0);
        self.reader.with_path(damaged(format_args!(
            "the cells in and around its data block at {block} are not in the order of their keys"
        )))
    }

    fn give_up(&mut self) -> Result<()> {
        let error = self.out_of_order();
        self.leave();
        Err(error)
    }

    /// Returns the offset of the block that the position is in.
    fn block_offset(&self) -> Option<u64> {
        self.loaded.as_ref().map(|loaded| loaded.pointer.offset)
    }

    /// Clears the position, but keeps the block, which the next step may need again.
    fn leave(&mut self) {
        self.place = Place::Nowhere;
    }

    /// Verifies that no decoder is left to read bytes of other cells than those it was made for.
    fn assert_not_decoding(&self) {
        debug_assert!(!matches!(self.place, Place::Decoded(_)), "a decoder keeps its block");
    }

    /// Reads the whole block at `pointer`, unless it is the current one.
    fn enter(&mut self, pointer: Option<BlockHandle>) -> Result<()> {
        self.assert_not_decoding();
        let Some(pointer) = pointer else {
            self.loaded = None;
            return Ok(());
        };
        if !self.has_whole(pointer) {
            self.loaded = None;
            let cells = self.source.block(&self.reader, pointer, BlockKind::Data)?;
            self.loaded = Some(Loaded { pointer, cells, part: None });
        }
        Ok(())
    }

    /// Reads the block at `pointer`, or the part of it in which the search for `key` begins.
    fn enter_for_key(&mut self, pointer: BlockHandle, key: &[u8]) -> Result<()> {
        let is_same = self.loaded.as_ref().is_some_and(|loaded| loaded.pointer == pointer);
        if is_same && (self.has_whole(pointer) || self.parts_passed >= MAX_PARTS_PASSED) {
            self.enter(Some(pointer))
        } else {
            self.load(pointer, PartChoice::Key(key))
        }
    }

    fn has_whole(&self, pointer: BlockHandle) -> bool {
        self.loaded
            .as_ref()
            .is_some_and(|loaded| loaded.pointer == pointer && loaded.part.is_none())
    }

    fn load(&mut self, pointer: BlockHandle, choice: PartChoice<'_>) -> Result<()> {
        self.assert_not_decoding();
        let before = self.loaded.take();
        let BlockOrPart { cells, part } =
            self.source.block_or_part(&self.reader, pointer, choice)?;
        let loaded = Loaded { pointer, cells, part };
        let follows = before.is_some_and(|before| loaded.follows(&before));
        self.parts_passed = if follows { self.parts_passed.saturating_add(1) } else { 0 };
        self.loaded = Some(loaded);
        Ok(())
    }

    /// Moves to the first cell after the current block or part, in which no cell follows the
    /// current one.
    #[cold]
    fn enter_after_last(&mut self) -> Result<()> {
        let last = std::mem::replace(&mut self.place, Place::Nowhere);
        let Some(loaded) = &self.loaded else { return Ok(()) };
        let cells = &loaded.cells;
        match last {
            Place::Nowhere => Ok(()),
            Place::Cell(span) => cells.check_end(span.end),
            Place::Decoded(decoder) => cells.check_decoded(&decoder),
        }
        .map_err(|error| self.of_block(loaded.pointer, error))?;
        self.enter_next()
    }

    /// Returns the cells of the current block or part, all of them validated and plain. The place
    /// is on none of them, or on a plain one.
    fn validated(&mut self) -> Result<Option<ValidatedCells<'_>>> {
        self.assert_not_decoding();
        let Some(loaded) = &mut self.loaded else { return Ok(None) };
        let pointer = loaded.pointer;
        let reader = &self.reader;
        let of_block = |error| reader.of_block(pointer, BlockKind::Data, error);
        if let Some(plain) = loaded.cells.decoded().map_err(of_block)? {
            loaded.cells = Arc::new(plain);
        }
        loaded.cells.validated().map(Some).map_err(of_block)
    }

    /// Returns the error of a data block that was read before, as [`Reader::read_block`] does.
    #[cold]
    fn of_block(&self, pointer: BlockHandle, error: Error) -> Error {
        self.reader.of_block(pointer, BlockKind::Data, error)
    }

    /// Moves to the first cell after the current block or part.
    fn enter_next(&mut self) -> Result<()> {
        let current = self.loaded.as_ref().map(|loaded| (loaded.pointer, loaded.part));
        match current {
            Some((pointer, Some(part))) if !part.is_last => self.enter_next_part(pointer, part),
            _ => self.enter_next_block(current.is_some_and(|(_, part)| part.is_some())),
        }
    }

    /// Moves to the first cell after a part that is not the last of its block.
    fn enter_next_part(&mut self, pointer: BlockHandle, part: Part) -> Result<()> {
        if self.parts_passed < MAX_PARTS_PASSED {
            self.load(pointer, PartChoice::Number(part.number.saturating_add(1)))?;
        } else {
            self.enter(Some(pointer))?;
        }
        // The source may have returned the whole block in place of the part.
        let passed = part.end();
        let start = self.loaded.as_ref().map_or(0, Loaded::start);
        let next =
            self.validated()?.and_then(|cells| cells.cell_from(passed.saturating_sub(start)));
        self.place = Place::at(next);
        if self.place.is_nowhere() { self.give_up() } else { Ok(()) }
    }

    fn enter_next_block(&mut self, in_parts: bool) -> Result<()> {
        let from = self.block_offset();
        let pointer = self.index_path.next(&self.reader, &self.source)?;
        // Blocks are in the order of their keys; an index that contradicts this could lead in
        // circles.
        self.check_order(pointer.is_some_and(|pointer| Some(pointer.offset) <= from))?;
        match pointer {
            Some(pointer) if in_parts && self.parts_passed < MAX_PARTS_PASSED => {
                self.load(pointer, PartChoice::Number(0))?;
            }
            pointer => self.enter(pointer)?,
        }
        self.enter_first_cell()
    }

    /// Moves to the first cell of the current block or part.
    fn enter_first_cell(&mut self) -> Result<()> {
        let Some(loaded) = &self.loaded else {
            self.leave();
            return Ok(());
        };
        let cells = &loaded.cells;
        let first = match cells.encoded_cells() {
            Some(encoded) => {
                let mut decoder = Box::new(encoded.decoder());
                if decoder.read_first(cells.payload()) {
                    Ok(Place::Decoded(decoder))
                } else {
                    Err(encoded.broken(cells.payload()))
                }
            }
            None => match cells.first_cell() {
                Some(first) => Ok(Place::Cell(first)),
                None => cells.check_end(0).map(|()| Place::Nowhere),
            },
        };
        self.place = first.map_err(|error| self.of_block(loaded.pointer, error))?;
        Ok(())
    }

    fn enter_previous(&mut self) -> Result<()> {
        let from = self.block_offset();
        let pointer = self.index_path.previous(&self.reader, &self.source)?;
        self.check_order(pointer.is_some_and(|pointer| Some(pointer.offset) >= from))?;
        self.enter(pointer)?;
        self.place = Place::at(self.validated()?.and_then(|cells| cells.last_cell()));
        Ok(())
    }

    fn check_order(&self, wrong: bool) -> Result<()> {
        if wrong {
            Err(self.reader.with_path(damaged(
                "its index does not have the data blocks in the order of the file",
            )))
        } else {
            Ok(())
        }
    }
}
