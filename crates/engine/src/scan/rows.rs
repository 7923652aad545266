//! Iteration of a scan over the rows of a region's stores, forward or in reverse.

use std::ops::Bound;

use halite_types::cell::{first_on_row, last_on_row};
use halite_types::key::successor_of_row;
use halite_types::{Error, Result, RowRange};

use super::store_scanner::StoreScanner;

/// Cursor over the rows of a scan.
pub(crate) trait RowCursor: Send {
    /// Writes the key of the next row to `row`, which contains the previous one and is empty at
    /// first. Positions the stores at or before its cells. Returns `false` if there is none.
    ///
    /// # Errors
    /// Damage or a failed read.
    fn next_row(&mut self, row: &mut Vec<u8>, stores: &mut Vec<StoreScanner>) -> Result<bool>;

    /// Returns `true` if it is known, without reading, that no row follows `row`, which has been
    /// read.
    fn is_last(&self, row: &[u8], stores: &[StoreScanner]) -> bool;

    /// Returns `true` if [`RowCursor::reseek_after`] is supported.
    fn can_reseek(&self) -> bool {
        false
    }

    /// Moves the stores from any position to their position after `row` has been read; an empty
    /// `row` is the start.
    ///
    /// # Errors
    /// Damage or a failed read.
    fn reseek_after(&self, _row: &[u8], _stores: &mut [StoreScanner]) -> Result<()> {
        Ok(())
    }

    /// Returns the number of cells examined in stores that no longer exist.
    fn cells_examined(&self) -> u64 {
        0
    }
}

/// Rows that the stores have in a range.
pub(crate) struct StoreRowCursor {
    pub(crate) range: RowRange,
    pub(crate) reverse: bool,
}

impl RowCursor for StoreRowCursor {
    fn next_row(&mut self, row: &mut Vec<u8>, stores: &mut Vec<StoreScanner>) -> Result<bool> {
        if row.is_empty() && self.range.is_empty() {
            return Ok(false);
        }
        if self.reverse { self.row_before(row, stores) } else { self.row_after(row, stores) }
    }

    fn is_last(&self, row: &[u8], stores: &[StoreScanner]) -> bool {
        let (bound, reached) = if self.reverse {
            (&self.range.start, std::cmp::Ordering::Less)
        } else {
            (&self.range.end, std::cmp::Ordering::Greater)
        };
        let at_bound = matches!(bound, Bound::Included(last) if row == &last[..] || row.cmp(&last[..]) == reached);
        let is_past = |store: &StoreScanner| {
            store.peek().is_none_or(|cell| self.range.is_past_end(cell.row()))
        };
        at_bound || !self.reverse && stores.iter().all(is_past)
    }

    fn can_reseek(&self) -> bool {
        true
    }

    fn reseek_after(&self, row: &[u8], stores: &mut [StoreScanner]) -> Result<()> {
        // At the start, and in reverse, the next row is searched anyway.
        if row.is_empty() || self.reverse {
            return Ok(());
        }
        let key = last_on_row(row);
        stores.iter_mut().try_for_each(|store| store.seek(&key))
    }
}

impl StoreRowCursor {
    fn row_after(&self, row: &mut Vec<u8>, stores: &mut [StoreScanner]) -> Result<bool> {
        if row.is_empty() {
            let start = match &self.range.start {
                Bound::Unbounded => first_on_row(b""),
                Bound::Included(row) => first_on_row(row),
                Bound::Excluded(row) => last_on_row(row),
            };
            for store in &mut *stores {
                store.seek(&start)?;
            }
        } else {
            // A store that was finished early may still be in the previous row.
            for store in &mut *stores {
                if store.peek().is_some_and(|cell| cell.row() == row) {
                    store.skip_row(row)?;
                }
            }
        }
        let next = stores
            .iter()
            .filter_map(|store| store.peek().map(|cell| (cell.row(), store)))
            .min_by_key(|(row, _)| *row);
        let Some((next, store)) = next.filter(|(row, _)| !self.range.is_past_end(row)) else {
            return Ok(false);
        };
        // An empty row would be the start of the scan again.
        if next <= &row[..] {
            return Err(store.out_of_order());
        }
        row.clear();
        row.extend_from_slice(next);
        Ok(true)
    }

    fn row_before(&self, row: &mut Vec<u8>, stores: &mut [StoreScanner]) -> Result<bool> {
        let bound: Option<Vec<u8>> = match &self.range.end {
            _ if !row.is_empty() => Some(std::mem::take(row)),
            Bound::Unbounded => None,
            Bound::Excluded(row) => Some(row.to_vec()),
            // Everything before the row that follows this one directly.
            Bound::Included(row) => Some(successor_of_row(row)),
        };
        let mut best: Option<Vec<u8>> = None;
        for store in &mut *stores {
            if let Some(found) = store.row_before(bound.as_deref())?
                && best.as_ref().is_none_or(|best| *best < found)
            {
                best = Some(found);
            }
        }
        if best.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::corrupt("a cell has an empty row; restore the table from a backup"));
        }
        let found = best.filter(|row| self.range.contains(row));
        if let Some(found) = &found {
            let start = first_on_row(found);
            for store in &mut *stores {
                store.seek(&start)?;
            }
        }
        let is_found = found.is_some();
        // If no row is found, `row` stays the previous one: it is the last examined row.
        *row = found.or(bound).unwrap_or_default();
        Ok(is_found)
    }
}
