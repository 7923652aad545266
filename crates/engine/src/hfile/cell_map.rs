//! Positions of the cells of a data block, which a search starts from.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cell_layout::CellLayout;
use super::cell_span::{CellSpan, key_at, part};
use super::damaged;
use halite_types::cell::{RowPrefix, check_key, key_row};
use halite_types::{Error, Result};

/// Distance in cells between restarts. A data block stores the offset of each restart, and, if it
/// is searched often, the start of its row after the common prefix of the block: twelve bytes each.
const RESTART_CELLS: u32 = 4;

/// Positions of the cells of a data block in its payload.
#[derive(Debug)]
pub(super) struct CellMap {
    pub(super) layout: CellLayout,
    /// Offsets of the cells 0, 4, 8 and so on.
    pub(super) restarts: Vec<u32>,
    /// Offset of the last cell.
    pub(super) last: u32,
    count: u32,
    was_searched: AtomicBool,
    search_keys: OnceLock<SearchKeys>,
}

/// Abbreviated rows of the restarts after the prefix that all rows share. A search compares these,
/// which are contiguous, before it reads the cells.
#[derive(Debug)]
pub(super) struct SearchKeys {
    pub(super) abbreviated: Box<[u64]>,
    pub(super) prefix: RowPrefix,
}

impl CellMap {
    /// Validates the cells of a payload.
    pub(super) fn parse(payload: &[u8], layout: CellLayout) -> Result<Self> {
        let mut cells = CellMapBuilder::default();
        let mut at = 0;
        while (at as usize) < payload.len() {
            let span = CellSpan::read(payload, at, layout)
                .ok_or_else(|| cells.broken(at, "does not fit the block"))?;
            check_flat_key(part(payload, span.key_start(), span.key_bytes))
                .map_err(|what| cells.broken(at, what))?;
            cells.add(at);
            at = span.end;
        }
        cells.finish(layout)
    }

    /// Returns the number of cells.
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    /// Returns the memory in bytes that it uses, or will at most when it is searched. The block
    /// cache needs the same number at every call.
    pub(super) fn memory_bytes(&self, payload: &[u8]) -> usize {
        let restarts = self.restarts.capacity().saturating_mul(size_of::<u32>());
        let keys = self.restarts.len().saturating_mul(size_of::<u64>());
        // No prefix of all rows is longer than the first one.
        let prefix = key_at(payload, 0).map_or(0, |key| key_row(key).len());
        restarts.saturating_add(keys).saturating_add(prefix)
    }

    /// Returns the keys for a search in the payload; `None` for the first search. Many blocks are
    /// read for one search, or for a scan, which is over before the keys would pay.
    pub(super) fn search_keys(&self, payload: &[u8]) -> Option<&SearchKeys> {
        if !self.was_searched.load(Ordering::Relaxed) {
            self.was_searched.store(true, Ordering::Relaxed);
            return None;
        }
        Some(self.search_keys.get_or_init(|| SearchKeys::new(self, payload)))
    }
}

impl SearchKeys {
    #[cold]
    fn new(map: &CellMap, payload: &[u8]) -> Self {
        let key = |at| key_at(payload, at);
        let row = |at| key(at).map(key_row).unwrap_or_default();
        let prefix = RowPrefix::from_bounds(row(0), row(map.last));
        let abbreviated = map
            .restarts
            .iter()
            .map(|&at| key(at).map_or(0, |key| prefix.abbreviated_key(key)))
            .collect();
        Self { abbreviated, prefix }
    }
}

/// Positions of the cells so far of a block that is validated from the first on.
#[derive(Debug, Default)]
pub(super) struct CellMapBuilder {
    restarts: Vec<u32>,
    last: u32,
    count: u32,
}

impl CellMapBuilder {
    /// Adds the next cell, which begins at an offset in the payload.
    #[inline]
    pub(super) fn add(&mut self, start: u32) {
        if self.count.is_multiple_of(RESTART_CELLS) {
            self.restarts.push(start);
        }
        self.last = start;
        self.count = self.count.wrapping_add(1);
    }

    /// Returns the number of cells so far.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the error of a block whose next cell, at an offset in the payload, is damaged.
    #[cold]
    pub(super) fn broken(&self, at: u32, what: &str) -> Error {
        damaged(format_args!("its cell {} at byte {at} of the payload {what}", self.count))
    }

    /// Returns the map of all cells.
    ///
    /// # Errors
    /// `Corrupt` if there is none.
    pub(super) fn finish(mut self, layout: CellLayout) -> Result<CellMap> {
        if self.count == 0 {
            return Err(damaged("it holds no cell"));
        }
        self.restarts.shrink_to_fit();
        Ok(CellMap {
            layout,
            restarts: self.restarts,
            last: self.last,
            count: self.count,
            was_searched: AtomicBool::new(false),
            search_keys: OnceLock::new(),
        })
    }
}

/// Verifies a key of a cell; the error says what is wrong with the cell.
#[inline]
pub(super) fn check_flat_key(key: &[u8]) -> Result<(), &'static str> {
    if !check_key(key) {
        return Err("has row and family lengths that do not fit its key");
    }
    // A scan stores its position as the last row; an empty row would be the start again.
    if key_row(key).is_empty() {
        return Err("has an empty row");
    }
    Ok(())
}
