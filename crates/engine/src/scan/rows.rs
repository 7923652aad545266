//! How a scan comes from row to row: through the stores of a region, forward or backward.

use std::ops::Bound;

use halite_types::cell::{first_on_row, last_on_row};
use halite_types::key::successor_of_row;
use halite_types::{Result, RowRange};

use super::store_scanner::StoreScanner;

/// The rows of a scan, one after the other.
pub(crate) trait Rows: Send {
    /// Puts the key of the next row into `row`, which holds the one before and nothing at first, and positions the stores
    /// at or before its cells; false if there is none.
    ///
    /// # Errors
    /// Damage or a failed read.
    fn next_row(&mut self, row: &mut Vec<u8>, stores: &mut Vec<StoreScanner>) -> Result<bool>;

    /// Whether it is known, without reading anything, that no row follows `row`, which has been read.
    fn is_last(&self, row: &[u8], stores: &[StoreScanner]) -> bool;

    /// Whether [`Rows::go_behind`] works.
    fn can_go_back(&self) -> bool {
        false
    }

    /// Puts the stores where they stand when `row` has been read, from wherever they are; an empty `row` is the beginning.
    ///
    /// # Errors
    /// Damage or a failed read.
    fn go_behind(&self, _row: &[u8], _stores: &mut [StoreScanner]) -> Result<()> {
        Ok(())
    }

    /// Cells that were looked at in stores that are not there any more.
    fn cells_examined(&self) -> u64 {
        0
    }
}

/// The rows that the stores have in a range.
pub(crate) struct StoredRows {
    pub(crate) range: RowRange,
    pub(crate) reverse: bool,
}

impl Rows for StoredRows {
    fn next_row(&mut self, row: &mut Vec<u8>, stores: &mut Vec<StoreScanner>) -> Result<bool> {
        if row.is_empty() && self.range.is_empty() {
            return Ok(false);
        }
        if self.reverse { self.row_before(row, stores) } else { self.row_after(row, stores) }
    }

    fn is_last(&self, row: &[u8], stores: &[StoreScanner]) -> bool {
        let (bound, reached) =
            if self.reverse { (&self.range.start, std::cmp::Ordering::Less) } else { (&self.range.end, std::cmp::Ordering::Greater) };
        let at_bound = matches!(bound, Bound::Included(last) if row == &last[..] || row.cmp(&last[..]) == reached);
        let is_past = |store: &StoreScanner| store.peek().is_none_or(|cell| self.range.is_past_end(cell.row()));
        at_bound || !self.reverse && stores.iter().all(is_past)
    }

    fn can_go_back(&self) -> bool {
        true
    }

    fn go_behind(&self, row: &[u8], stores: &mut [StoreScanner]) -> Result<()> {
        // At the beginning, and backwards, the next row is sought anyway.
        if row.is_empty() || self.reverse {
            return Ok(());
        }
        let key = last_on_row(row);
        stores.iter_mut().try_for_each(|store| store.seek(&key))
    }
}

impl StoredRows {
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
            // A store that had nothing more to say may still stand in the row that is done.
            for store in &mut *stores {
                if store.peek().is_some_and(|cell| cell.row() == row) {
                    store.skip_row(row)?;
                }
            }
        }
        let next = stores.iter().filter_map(|store| store.peek().map(|cell| (cell.row(), store))).min_by_key(|(row, _)| *row);
        let Some((next, store)) = next.filter(|(row, _)| !self.range.is_past_end(row)) else { return Ok(false) };
        if next <= &row[..] && !row.is_empty() {
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
        let found = best.filter(|row| self.range.contains(row));
        if let Some(found) = &found {
            let start = first_on_row(found);
            for store in &mut *stores {
                store.seek(&start)?;
            }
        }
        let is_found = found.is_some();
        // Where nothing is found the row stays the one before: it is the last that was looked at.
        *row = found.or(bound).unwrap_or_default();
        Ok(is_found)
    }
}
