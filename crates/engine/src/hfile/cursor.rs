//! Iteration over the cells of a file in order, and seeks.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;
use std::sync::Arc;

use super::block::Block;
use super::block_header::{BlockHandle, BlockKind};
use super::cells::CellSpan;
use super::damaged;
use super::index_path::{IndexPath, memory_share};
use super::reader::{BlockSource, DirectBlocks, Reader};
use halite_types::cell::{first_on_row, key_row};
use halite_types::{CellRef, Error, Result};

/// Position in a file: on a cell, or on none. A new cursor is on none until its first seek, and so
/// is one whose last call failed. It owns its data, so it can be stored.
pub struct Cursor<S: BlockSource = DirectBlocks> {
    reader: Arc<Reader>,
    source: S,
    index_path: IndexPath,
    /// Block that `index_path` leads to.
    block: Option<(u64, Arc<Block>)>,
    cell: Option<CellSpan>,
}

impl<S: BlockSource> Cursor<S> {
    /// Returns a cursor on no cell.
    pub fn new(reader: Arc<Reader>, source: S) -> Self {
        Self { reader, source, index_path: IndexPath::default(), block: None, cell: None }
    }

    /// Returns the file.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Returns its share of the memory of the blocks it holds, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.block
            .as_ref()
            .map_or(0, |(_, block)| memory_share(block))
            .saturating_add(self.index_path.held_bytes())
    }

    /// Returns the current cell, with its sequence id (0 if the file has none); `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<CellRef<'_>> {
        let (_, block) = self.block.as_ref()?;
        Some(block.cell(self.cell.as_ref()?))
    }

    /// Returns the flat key of the current cell.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        let (_, block) = self.block.as_ref()?;
        Some(block.key(self.cell.as_ref()?))
    }

    /// Moves to the next cell; stays at the end.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        let (Some((_, block)), Some(cell)) = (&self.block, &self.cell) else { return Ok(()) };
        self.cell = block.cell_after(cell);
        if self.cell.is_some() { Ok(()) } else { self.enter_next() }
    }

    /// Moves to the first cell of the file.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.leave();
        let pointer = self.index_path.first(&self.reader, &self.source)?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.first_cell());
        Ok(())
    }

    /// Moves to the last cell of the file.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.leave();
        let pointer = self.index_path.last(&self.reader, &self.source)?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.last_cell());
        Ok(())
    }

    /// Moves to the first cell at or after the flat key `key`, whatever its sequence id; to none if
    /// there is none. Does not read the index if that cell is in the current block.
    ///
    /// # Errors
    /// As [`BlockSource::block`].
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        if let Some(cell) = self.seek_in_block(key) {
            self.cell = Some(cell);
            return Ok(());
        }
        let left = self.position().filter(|_| {
            self.key().is_some_and(|at| self.reader.comparator().compare(at, key).is_lt())
        });
        self.leave();
        match self.index_path.find(&self.reader, &self.source, key)? {
            None => self.seek_to_first()?,
            Some(pointer) => {
                self.enter(Some(pointer))?;
                self.cell = self
                    .block
                    .as_ref()
                    .and_then(|(_, block)| block.seek_cell(key, self.reader.comparator(), 0));
                if self.cell.is_none() {
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
    /// block.
    fn seek_in_block(&self, key: &[u8]) -> Option<CellSpan> {
        let comparator = self.reader.comparator();
        let (_, block) = self.block.as_ref()?;
        let cell = self.cell.as_ref()?;
        match comparator.compare(block.key(cell), key) {
            Ordering::Less => {
                let last = block.last_cell()?;
                if comparator.compare(block.key(&last), key) == Ordering::Less {
                    None
                } else {
                    block.seek_cell(key, comparator, cell.start)
                }
            }
            _ if comparator.compare(block.key(&block.first_cell()?), key) == Ordering::Less => {
                block.seek_cell(key, comparator, 0)
            }
            _ => None,
        }
    }

    /// Returns the position of the current cell: its block and its offset in the block.
    fn position(&self) -> Option<(u64, u32)> {
        Some((self.block.as_ref()?.0, self.cell.as_ref()?.start))
    }

    /// Returns the error of a read that found cells out of key order.
    pub(crate) fn out_of_order(&self) -> Error {
        let block = self.block.as_ref().map_or(0, |(offset, _)| *offset);
        self.reader.with_path(damaged(format_args!(
            "the cells in and around its data block at {block} are not in the order of their keys"
        )))
    }

    fn give_up(&mut self) -> Result<()> {
        let error = self.out_of_order();
        self.leave();
        Err(error)
    }

    /// Clears the position, but keeps the block, which the next step may need again.
    fn leave(&mut self) {
        self.cell = None;
    }

    /// Reads the block at `pointer`, unless it is the current one.
    fn enter(&mut self, pointer: Option<BlockHandle>) -> Result<()> {
        match pointer {
            None => self.block = None,
            Some(pointer)
                if self.block.as_ref().is_some_and(|(offset, _)| *offset == pointer.offset) => {}
            Some(pointer) => {
                self.block = None;
                self.block = Some((
                    pointer.offset,
                    self.source.block(&self.reader, pointer, BlockKind::Data)?,
                ));
            }
        }
        Ok(())
    }

    fn enter_next(&mut self) -> Result<()> {
        let from = self.block.as_ref().map(|(offset, _)| *offset);
        let pointer = self.index_path.next(&self.reader, &self.source)?;
        // Blocks are in the order of their keys; an index that contradicts this could lead in
        // circles.
        self.check_order(pointer.is_some_and(|pointer| Some(pointer.offset) <= from))?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.first_cell());
        Ok(())
    }

    fn enter_previous(&mut self) -> Result<()> {
        let from = self.block.as_ref().map(|(offset, _)| *offset);
        let pointer = self.index_path.previous(&self.reader, &self.source)?;
        self.check_order(pointer.is_some_and(|pointer| Some(pointer.offset) >= from))?;
        self.enter(pointer)?;
        self.cell = self.block.as_ref().and_then(|(_, block)| block.last_cell());
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
