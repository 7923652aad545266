//! Cells of a data block: their positions, iteration and search.
//!
//! The cells are validated once, when the block is opened. After that no access to them can fail.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::cmp::Ordering;

use super::block::Block;
use super::cell_layout::CellLayout;
use super::vint::ByteReader;
use super::{Comparator, damaged};
use halite_types::cell::{RowPrefix, check_key, key_row};
use halite_types::{CellRef, Error, Result};

/// Distance in cells between restarts. A data block stores the offset of each restart, and the
/// start of its row after the common prefix of the block: twelve bytes each.
const RESTART_CELLS: usize = 4;

/// Positions of the cells of a data block in its payload.
#[derive(Debug)]
pub(super) struct CellMap {
    layout: CellLayout,
    /// Offsets of the cells 0, 4, 8 and so on.
    restarts: Vec<u32>,
    /// Abbreviated rows of these cells after `row_prefix`. A search compares these, which are
    /// contiguous, before it reads the cells.
    abbreviated_keys: Vec<u64>,
    row_prefix: RowPrefix,
    /// Offset of the last cell.
    last: u32,
    count: u32,
}

impl CellMap {
    /// Validates the cells of a payload.
    pub(super) fn parse(payload: &[u8], layout: CellLayout) -> Result<Self> {
        let mut map = Self {
            layout,
            restarts: Vec::new(),
            abbreviated_keys: Vec::new(),
            row_prefix: RowPrefix::default(),
            last: 0,
            count: 0,
        };
        let mut at = 0;
        while (at as usize) < payload.len() {
            let span = CellSpan::read(payload, at, layout)
                .ok_or_else(|| broken_cell(map.count, at, "does not fit the block"))?;
            let key = part(payload, at.wrapping_add(8), span.key_bytes);
            if !check_key(key) {
                return Err(broken_cell(
                    map.count,
                    at,
                    "has row and family lengths that do not fit its key",
                ));
            }
            // A scan stores its position as the last row; an empty row would be the start again.
            if key_row(key).is_empty() {
                return Err(broken_cell(map.count, at, "has an empty row"));
            }
            if (map.count as usize).is_multiple_of(RESTART_CELLS) {
                map.restarts.push(at);
            }
            map.last = at;
            map.count = map.count.saturating_add(1);
            at = span.end;
        }
        if map.count == 0 {
            return Err(damaged("it holds no cell"));
        }
        map.restarts.shrink_to_fit();
        let row = |at| key_at(payload, at).map(key_row);
        map.row_prefix =
            RowPrefix::from_bounds(row(0).unwrap_or_default(), row(map.last).unwrap_or_default());
        map.abbreviated_keys = map
            .restarts
            .iter()
            .map(|&at| key_at(payload, at).map_or(0, |key| map.row_prefix.abbreviated_key(key)))
            .collect();
        Ok(map)
    }

    /// Returns the number of cells.
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let restarts = self
            .restarts
            .capacity()
            .saturating_mul(4)
            .saturating_add(self.abbreviated_keys.capacity().saturating_mul(8));
        restarts.saturating_add(self.row_prefix.memory_bytes())
    }
}

impl Block {
    /// Returns the first cell of a data block.
    pub(super) fn first_cell(&self) -> Option<CellSpan> {
        self.cell_at(0)
    }

    /// Returns the last cell of a data block.
    #[inline]
    pub(super) fn last_cell(&self) -> Option<CellSpan> {
        self.cell_at(self.cells()?.last)
    }

    /// Returns the cell after `span`; `None` at the end of the block.
    #[inline]
    pub(super) fn cell_after(&self, span: &CellSpan) -> Option<CellSpan> {
        self.cell_at(span.end)
    }

    #[inline]
    fn cell_at(&self, offset: u32) -> Option<CellSpan> {
        let payload = self.payload();
        let map = self.cells()?;
        if usize::try_from(offset).ok()? >= payload.len() {
            return None;
        }
        CellSpan::read(payload, offset, map.layout)
    }

    /// Returns the cell before `span`; `None` at the start of the block.
    pub(super) fn cell_before(&self, span: &CellSpan) -> Option<CellSpan> {
        let map = self.cells()?;
        let passed = map.restarts.partition_point(|&restart| restart < span.start);
        let mut cell = self.cell_at(*map.restarts.get(passed.checked_sub(1)?)?)?;
        while cell.end < span.start {
            cell = self.cell_after(&cell)?;
        }
        Some(cell)
    }

    /// Returns the first cell that begins at or after an offset in the payload.
    pub(super) fn cell_from(&self, offset: u32) -> Option<CellSpan> {
        let map = self.cells()?;
        let passed = map.restarts.partition_point(|&restart| restart <= offset);
        let mut cell = self.cell_at(*map.restarts.get(passed.checked_sub(1)?)?)?;
        while cell.start < offset {
            cell = self.cell_after(&cell)?;
        }
        Some(cell)
    }

    /// Returns the first cell of a data block at or after `key`, or `None` if all are before it.
    /// `from` is the offset of a cell known to be before `key`, or 0.
    pub(super) fn seek_cell(
        &self,
        key: &[u8],
        comparator: Comparator,
        from: u32,
    ) -> Option<CellSpan> {
        let map = self.cells()?;
        // The order of a meta table's rows is not that of their bytes.
        let place = (comparator == Comparator::Cell).then(|| map.row_prefix.abbreviated_key(key));
        let before = |restart: usize| match (place, map.abbreviated_keys.get(restart)) {
            (Some(wanted), Some(&place)) if place != wanted => place < wanted,
            _ => self
                .restart_key(map, restart)
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
        let mut cell = self.cell_at(start)?;
        while comparator.compare(self.key(&cell), key) == Ordering::Less {
            cell = self.cell_after(&cell)?;
        }
        Some(cell)
    }

    #[inline]
    fn restart_key(&self, map: &CellMap, restart: usize) -> Option<&[u8]> {
        key_at(self.payload(), *map.restarts.get(restart)?)
    }

    /// Returns the flat key of a cell of this block.
    #[inline]
    pub(super) fn key(&self, span: &CellSpan) -> &[u8] {
        part(self.payload(), span.start.wrapping_add(8), span.key_bytes)
    }

    /// Returns a cell of this block.
    #[inline]
    pub(super) fn cell(&self, span: &CellSpan) -> CellRef<'_> {
        let payload = self.payload();
        let key_start = span.start.wrapping_add(8);
        let value_start = key_start.wrapping_add(span.key_bytes);
        let tags_start = value_start.wrapping_add(span.value_bytes).wrapping_add(2);
        let tags =
            if span.tags_bytes == 0 { &[] } else { part(payload, tags_start, span.tags_bytes) };
        CellRef::new(
            part(payload, key_start, span.key_bytes),
            part(payload, value_start, span.value_bytes),
            tags,
            span.sequence,
        )
    }
}

/// Returns the flat key of the cell that begins at an offset.
#[inline]
fn key_at(payload: &[u8], offset: u32) -> Option<&[u8]> {
    let mut input = ByteReader::starting_at(payload, usize::try_from(offset).ok()?);
    let key_bytes = input.length()?;
    input.take(4)?;
    input.take(key_bytes)
}

/// Returns a part that is known to be inside the payload, because the cells were validated when the
/// block was opened.
#[inline]
fn part(payload: &[u8], start: u32, length: u32) -> &[u8] {
    let start = start as usize;
    payload.get(start..start.wrapping_add(length as usize)).unwrap_or_default()
}

/// Position of one cell in the payload of a data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSpan {
    pub(super) start: u32,
    key_bytes: u32,
    value_bytes: u32,
    tags_bytes: u32,
    pub(super) end: u32,
    sequence: u64,
}

impl CellSpan {
    /// Reads the lengths of a cell; `None` if it does not fit the payload. A scan calls this twice for
    /// each cell, therefore the lengths are added first and compared with the payload once.
    #[inline]
    fn read(payload: &[u8], start: u32, layout: CellLayout) -> Option<Self> {
        let &[k0, k1, k2, k3, v0, v1, v2, v3] = payload.get(start as usize..)?.first_chunk()?;
        let key_bytes = length(u32::from_be_bytes([k0, k1, k2, k3]))?;
        let value_bytes = length(u32::from_be_bytes([v0, v1, v2, v3]))?;
        // Four numbers of 32 bits: their sum fits into 64.
        let mut end = u64::from(start)
            .wrapping_add(8)
            .wrapping_add(u64::from(key_bytes))
            .wrapping_add(u64::from(value_bytes));
        let mut tags_bytes = 0;
        if layout.tags {
            let tags = payload.get(usize::try_from(end).ok()?..)?.first_chunk()?;
            tags_bytes = u32::from(u16::from_be_bytes(*tags));
            end = end.wrapping_add(2).wrapping_add(u64::from(tags_bytes));
        }
        let mut sequence = 0;
        if layout.sequence_ids {
            let mut input = ByteReader::starting_at(payload, usize::try_from(end).ok()?);
            sequence = u64::try_from(input.vlong()?).ok()?;
            end = input.position() as u64;
        }
        if end > payload.len() as u64 {
            return None;
        }
        let end = u32::try_from(end).ok()?;
        Some(Self { start, key_bytes, value_bytes, tags_bytes, end, sequence })
    }
}

/// Returns a stored length; `None` if it is negative as Java's `int`.
#[inline]
fn length(stored: u32) -> Option<u32> {
    (stored <= i32::MAX.cast_unsigned()).then_some(stored)
}

fn broken_cell(number: u32, at: u32, what: &str) -> Error {
    damaged(format_args!("its cell {number} at byte {at} of the payload {what}"))
}
