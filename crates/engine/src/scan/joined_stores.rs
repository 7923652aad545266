//! Stores of the families that do not decide on rows, read only for the rows that the filter
//! includes (HBase: the joined heap of `RegionScannerImpl`).
//!
//! A filter that allows it decides on whole rows, so such a row is never returned in parts, and no
//! limit applies inside it.

use halite_types::cell::first_on_row;
use halite_types::{CellRef, CellsBuilder, Result};

use super::filter::FilterState;
use super::store_scanner::{RowStop, StoreScanner};

/// Stores that are read on demand.
pub(super) struct JoinedStores {
    stores: Vec<StoreScanner>,
    /// `false` until the first row: the stores are at no cell.
    is_positioned: bool,
}

impl JoinedStores {
    pub(super) fn new(stores: Vec<StoreScanner>) -> Self {
        Self { stores, is_positioned: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stores.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &StoreScanner> {
        self.stores.iter()
    }

    /// Adds the cells of `row`, whose other cells are in `out` after the first `start.0` cells,
    /// which end at byte `start.1`. Rows must be passed in ascending order.
    pub(super) fn add_row(
        &mut self,
        row: &[u8],
        out: &mut CellsBuilder,
        start: (usize, usize),
        filter: &mut Option<FilterState>,
    ) -> Result<()> {
        let before = out.len();
        for store in &mut self.stores {
            let is_before = store.peek().is_some_and(|cell| cell.row() < row);
            if is_before || !self.is_positioned {
                store.seek(&first_on_row(row))?;
            }
            store.start_row();
            store.read_row(row, out, filter, RowStop::NEVER)?;
        }
        self.is_positioned = true;
        if out.len() > before {
            sort_families(out, start);
        }
        Ok(())
    }
}

/// Sorts the cells of a row by family; those of one family are in order.
fn sort_families(out: &mut CellsBuilder, start: (usize, usize)) {
    let mut cells: Vec<CellRef<'_>> = out.iter().skip(start.0).collect();
    if cells.is_sorted_by_key(CellRef::family) {
        return;
    }
    cells.sort_by_key(CellRef::family);
    let mut sorted = CellsBuilder::default();
    cells.into_iter().for_each(|cell| sorted.push(cell));
    out.truncate(start.0, start.1);
    sorted.iter().for_each(|cell| out.push(cell));
}
