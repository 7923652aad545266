//! Walking the cells of a file in order, and seeking among them.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;
use std::sync::Arc;

use halite_types::cell::{first_on_row, key_row};
use halite_types::{CellRef, Error, Result};

use super::block::{Block, BlockKind, BlockPointer};
use super::cells::CellSpan;
use super::damaged;
use super::path::{Path, share_of};
use super::reader::{BlockSource, DirectBlocks, Reader};

/// A place in a file: on a cell, or on none. A new cursor is on none until it is told to seek, and so is one whose last
/// call failed. It owns what it needs, so it can be kept.
pub struct Cursor<S: BlockSource = DirectBlocks> {
    reader: Arc<Reader>,
    source: S,
    path: Path,
    /// The block `path` leads to.
    block: Option<(u64, Arc<Block>)>,
    cell: Option<CellSpan>,
}

impl<S: BlockSource> Cursor<S> {
    /// A cursor on no cell yet.
    pub fn new(reader: Arc<Reader>, source: S) -> Self {
        Self { reader, source, path: Path::default(), block: None, cell: None }
    }

    /// The file.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Its share of the memory of the blocks it keeps.
    pub(crate) fn held_bytes(&self) -> usize {
        self.block.as_ref().map_or(0, |(_, block)| share_of(block)).saturating_add(self.path.held_bytes())
    }

    /// The cell it is on, with its sequence id (0 if the file has none); `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<CellRef<'_>> {
        let (_, block) = self.block.as_ref()?;
        Some(block.cell(self.cell.as_ref()?))
    }

    /// The flat key of the cell it is on.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        let (_, block) = self.block.as_ref()?;
        Some(block.key(self.cell.as_ref()?))
    }

    /// Goes to the next cell; stays at the end.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        let (Some((_, block)), Some(cell)) = (&self.block, &self.cell) else { return Ok(()) };
        self.cell = block.cell_after(cell);
        if self.cell.is_some() { Ok(()) } else { self.enter_next() }
    }

    /// Goes to the first cell of the file.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.leave();
        let pointer = self.path.first(&self.reader, &self.source)?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.first_cell());
        Ok(())
    }

    /// Goes to the last cell of the file.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.leave();
        let pointer = self.path.last(&self.reader, &self.source)?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.last_cell());
        Ok(())
    }

    /// Goes to the first cell at or behind the flat key `key`, whatever its sequence id; to none if there is none. Does
    /// not go through the index if that cell is in the block it is in.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if let Some(cell) = self.seek_in_block(key) {
            self.cell = Some(cell);
            return Ok(());
        }
        let left = self.place().filter(|_| self.key().is_some_and(|at| self.reader.comparator().compare(at, key).is_lt()));
        self.leave();
        match self.path.find(&self.reader, &self.source, key)? {
            None => self.seek_to_first()?,
            Some(pointer) => {
                self.enter(Some(pointer))?;
                self.cell = self.block.as_ref().and_then(|(_, block)| block.seek_cell(key, self.reader.comparator(), 0));
                if self.cell.is_none() {
                    self.enter_next()?;
                }
            }
        }
        // Whoever seeks what is ahead must get ahead, or a read of cells that are not in order could go round for good.
        let is_back = left.is_some_and(|left| self.place().is_some_and(|place| place <= left));
        if is_back { self.give_up() } else { Ok(()) }
    }

    /// Goes to the last cell before the flat key `key`, whatever its sequence id; to none if there is none.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        self.leave();
        let Some(pointer) = self.path.find(&self.reader, &self.source, key)? else {
            self.block = None;
            return Ok(());
        };
        self.enter(Some(pointer))?;
        let Some((_, block)) = &self.block else { return Ok(()) };
        self.cell = match block.seek_cell(key, self.reader.comparator(), 0) {
            Some(cell) => block.cell_before(&cell),
            None => block.last_cell(),
        };
        if self.cell.is_none() {
            self.enter_previous()?;
        }
        let is_ahead = self.key().is_some_and(|at| self.reader.comparator().compare(at, key).is_ge());
        if is_ahead { self.give_up() } else { Ok(()) }
    }

    /// Goes to the first cell of the last row before `row`; to none if there is no such row.
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

    /// The cell [`Cursor::seek`] looks for, if it is certain to be in the block the cursor is in.
    fn seek_in_block(&self, key: &[u8]) -> Option<CellSpan> {
        let comparator = self.reader.comparator();
        let (_, block) = self.block.as_ref()?;
        let cell = self.cell.as_ref()?;
        match comparator.compare(block.key(cell), key) {
            Ordering::Less => {
                let last = block.last_cell()?;
                if comparator.compare(block.key(&last), key) == Ordering::Less { None } else { block.seek_cell(key, comparator, cell.start) }
            }
            _ if comparator.compare(block.key(&block.first_cell()?), key) == Ordering::Less => block.seek_cell(key, comparator, 0),
            _ => None,
        }
    }

    /// Where the cell it is on lies: its block and its offset in there.
    fn place(&self) -> Option<(u64, u32)> {
        Some((self.block.as_ref()?.0, self.cell.as_ref()?.start))
    }

    /// The error of a read that found cells where the order of their keys does not allow them.
    pub(crate) fn out_of_order(&self) -> Error {
        let block = self.block.as_ref().map_or(0, |(offset, _)| *offset);
        self.reader.place(damaged(format_args!("the cells in and around its data block at {block} are not in the order of their keys")))
    }

    fn give_up(&mut self) -> Result<()> {
        let error = self.out_of_order();
        self.leave();
        Err(error)
    }

    /// Gives up the place, but not the block, which the next step may need again.
    fn leave(&mut self) {
        self.cell = None;
    }

    /// Gets the block at `pointer`, unless it is the one at hand.
    fn enter(&mut self, pointer: Option<BlockPointer>) -> Result<()> {
        match pointer {
            None => self.block = None,
            Some(pointer) if self.block.as_ref().is_some_and(|(offset, _)| *offset == pointer.offset) => {}
            Some(pointer) => {
                self.block = None;
                self.block = Some((pointer.offset, self.source.block(&self.reader, pointer, BlockKind::Data)?));
            }
        }
        Ok(())
    }

    fn enter_next(&mut self) -> Result<()> {
        let from = self.block.as_ref().map(|(offset, _)| *offset);
        let pointer = self.path.next(&self.reader, &self.source)?;
        // Blocks lie in the order of their keys; an index that says otherwise could lead in circles.
        self.check_order(pointer.is_some_and(|pointer| Some(pointer.offset) <= from))?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.first_cell());
        Ok(())
    }

    fn enter_previous(&mut self) -> Result<()> {
        let from = self.block.as_ref().map(|(offset, _)| *offset);
        let pointer = self.path.previous(&self.reader, &self.source)?;
        self.check_order(pointer.is_some_and(|pointer| Some(pointer.offset) >= from))?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.last_cell());
        Ok(())
    }

    fn check_order(&self, wrong: bool) -> Result<()> {
        if wrong { Err(self.reader.place(damaged("its index does not have the data blocks in the order of the file"))) } else { Ok(()) }
    }
}
