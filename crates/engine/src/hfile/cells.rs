//! Cells of a data block: iteration and search.
//!
//! A cell is validated before it is read: when the block is opened, or by the step to it. After
//! that no access to it can fail. A search requires that all cells of the block are validated.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use super::block::Block;
use super::cell_map::CellMap;
use super::cell_span::{CellSpan, key_at, part};
use super::encoding::CellDecoder;
use super::{Comparator, damaged};
use halite_types::{CellRef, Result};

impl Block {
    /// Returns the first cell of a data block; `None` if its cells are encoded.
    pub(super) fn first_cell(&self) -> Option<CellSpan> {
        self.cell_at(0)
    }

    /// Returns the cell after `span`; `None` at the end of the block, or before a damaged cell
    /// unless all are validated ([`Block::check_end`]).
    #[inline]
    pub(super) fn cell_after(&self, span: &CellSpan) -> Option<CellSpan> {
        self.cell_at(span.end)
    }

    #[inline]
    fn cell_at(&self, offset: u32) -> Option<CellSpan> {
        let cells = self.cells()?;
        CellSpan::read(self.payload(), offset, cells.layout, cells.map().is_some())
    }

    /// Verifies that a walk over the cells, which found none at an offset, came to the end.
    ///
    /// # Errors
    /// `Corrupt`
    #[cold]
    pub(super) fn check_end(&self, offset: u32) -> Result<()> {
        if offset > 0 && offset as usize == self.payload().len() {
            return Ok(());
        }
        self.validated()?;
        Err(damaged(format_args!("its cell at byte {offset} of the payload cannot be read")))
    }

    /// Verifies that a decoder, which found no further cell, has read all of this data block.
    ///
    /// # Errors
    /// `Corrupt`
    #[cold]
    pub(super) fn check_decoded(&self, decoder: &CellDecoder) -> Result<()> {
        match self.encoded_cells() {
            Some(_) if decoder.is_at_end(self.payload()) => Ok(()),
            Some(cells) => Err(cells.broken(self.payload())),
            None => Err(damaged("its cells are decoded, and it is not encoded")),
        }
    }

    /// Decodes an encoded data block to a plain one; `None` if it is plain.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn decoded(&self) -> Result<Option<Self>> {
        let decoded = self.encoded_cells().map(|cells| cells.decode(self.payload()));
        Ok(decoded.transpose()?.map(Self::of_cells))
    }

    /// Returns the cells of a plain or decoded data block for a search; validates them before,
    /// unless they are.
    ///
    /// # Errors
    /// `Corrupt`
    pub(super) fn validated(&self) -> Result<ValidatedCells<'_>> {
        let cells = self.cells().ok_or_else(|| damaged("it is not a plain data block"))?;
        Ok(ValidatedCells { block: self, map: cells.validate(self.payload())? })
    }

    /// Returns the flat key of a cell of this block.
    #[inline]
    pub(super) fn key(&self, span: &CellSpan) -> &[u8] {
        part(self.payload(), span.key_start(), span.key_bytes)
    }

    /// Returns a cell of this block.
    #[inline]
    pub(super) fn cell(&self, span: &CellSpan) -> CellRef<'_> {
        let payload = self.payload();
        let tags = match span.tags_bytes {
            0 => &[],
            bytes => part(payload, span.tags_start(), bytes),
        };
        CellRef::new(
            part(payload, span.key_start(), span.key_bytes),
            part(payload, span.value_start(), span.value_bytes),
            tags,
            span.sequence,
        )
    }
}

/// Cells of a data block, all of them validated.
pub(super) struct ValidatedCells<'b> {
    block: &'b Block,
    map: &'b CellMap,
}

impl ValidatedCells<'_> {
    /// Returns the last cell.
    #[inline]
    pub(super) fn last_cell(&self) -> Option<CellSpan> {
        self.block.cell_at(self.map.last)
    }

    /// Returns the cell before `span`; `None` at the start of the block.
    pub(super) fn cell_before(&self, span: &CellSpan) -> Option<CellSpan> {
        let restarts = &self.map.restarts;
        let passed = restarts.partition_point(|&restart| restart < span.start);
        let mut cell = self.block.cell_at(*restarts.get(passed.checked_sub(1)?)?)?;
        while cell.end < span.start {
            cell = self.block.cell_after(&cell)?;
        }
        Some(cell)
    }

    /// Returns the first cell that begins at or after an offset in the payload.
    pub(super) fn cell_from(&self, offset: u32) -> Option<CellSpan> {
        let restarts = &self.map.restarts;
        let passed = restarts.partition_point(|&restart| restart <= offset);
        let mut cell = self.block.cell_at(*restarts.get(passed.checked_sub(1)?)?)?;
        while cell.start < offset {
            cell = self.block.cell_after(&cell)?;
        }
        Some(cell)
    }

    /// Returns the first cell at or after `key`, or `None` if all are before it. `from` is the offset of a cell known to be before `key`, or 0.
    pub(super) fn seek_cell(
        &self,
        key: &[u8],
        comparator: Comparator,
        from: u32,
    ) -> Option<CellSpan> {
        let Self { block, map } = self;
        // The order of a meta table's rows is not that of their bytes.
        let keys = (comparator == Comparator::Cell).then(|| map.search_keys(block.payload()));
        let keys = keys.flatten();
        let wanted = keys.map_or(0, |keys| keys.prefix.abbreviated_key(key));
        let before = |restart: usize| match keys.and_then(|keys| keys.abbreviated.get(restart)) {
            Some(&place) if place != wanted => place < wanted,
            _ => self
                .restart_key(restart)
                .is_some_and(|at| comparator.compare(at, key) == Ordering::Less),
        };
        let first =
            if from == 0 { 1 } else { map.restarts.partition_point(|&restart| restart <= from) };
        // Most steps of a scan are short, so the nearest restart is compared before the search
        // among all.
        let mut passed = first;
        if before(first) {
            let mut end = map.restarts.len();
            passed = first.saturating_add(1);
            while passed < end {
                let middle = passed.midpoint(end);
                if before(middle) { passed = middle.saturating_add(1) } else { end = middle }
            }
        }
        let start = if passed > first {
            map.restarts.get(passed.saturating_sub(1)).copied().unwrap_or(from)
        } else {
            from
        };
        let mut cell = block.cell_at(start)?;
        while comparator.compare(block.key(&cell), key) == Ordering::Less {
            cell = block.cell_after(&cell)?;
        }
        Some(cell)
    }

    #[inline]
    fn restart_key(&self, restart: usize) -> Option<&[u8]> {
        key_at(self.block.payload(), *self.map.restarts.get(restart)?)
    }
}
