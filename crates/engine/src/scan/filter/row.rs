//! Filters by row key or by the number of rows.

use std::cmp::Ordering;

use bytes::Bytes;
use halite_types::cell::{self, CellRef};
use halite_types::key::successor_of_prefix;
use halite_types::rng::SplitMix64;

use super::evaluate::{Evaluate, ReturnCode};

/// `PrefixFilter`.
pub(super) struct Prefix {
    start: Bytes,
    reversed: bool,
    passed: bool,
    /// Order of the row relative to the prefix in the direction of the scan, once the row key was
    /// passed.
    order: Option<Ordering>,
}

impl Prefix {
    pub(super) fn new(prefix: &Bytes) -> Self {
        Self { start: prefix.clone(), reversed: false, passed: false, order: None }
    }
}

impl Evaluate for Prefix {
    fn set_reversed(&mut self, reversed: bool) {
        self.reversed = reversed;
    }

    fn reset(&mut self) {
        self.order = None;
    }

    fn filter_all_remaining(&self) -> bool {
        self.passed
    }

    fn filter_row_key(&mut self, row: &[u8]) -> bool {
        if self.passed {
            return true;
        }
        let order = row[..row.len().min(self.start.len())].cmp(&self.start);
        let place = if self.reversed { order.reverse() } else { order };
        self.order = Some(place);
        self.passed = place.is_gt();
        self.passed
    }

    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        match self.order {
            Some(Ordering::Less) => ReturnCode::SeekNextUsingHint,
            Some(Ordering::Equal) => ReturnCode::Include,
            Some(Ordering::Greater) | None => ReturnCode::NextRow,
        }
    }

    fn next_cell_hint(&mut self, _cell: CellRef<'_>) -> Option<Vec<u8>> {
        if self.reversed {
            successor_of_prefix(&self.start).map(|end| cell::first_on_row(&end))
        } else {
            Some(cell::first_on_row(&self.start))
        }
    }

    fn is_hinting(&self) -> bool {
        true
    }

    fn filter_row(&mut self) -> bool {
        self.order != Some(Ordering::Equal)
    }
}

/// `FilterAllFilter`.
pub(super) struct FilterAll;

impl Evaluate for FilterAll {
    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        ReturnCode::Skip
    }

    fn has_filter_row(&self) -> bool {
        true
    }

    fn filter_row(&mut self) -> bool {
        true
    }
}

/// `PageFilter`: finished rows, counted in one region.
pub(super) struct Page {
    rows: u64,
    taken: u64,
}

impl Page {
    pub(super) fn new(rows: u64) -> Self {
        Self { rows, taken: 0 }
    }
}

impl Evaluate for Page {
    fn filter_all_remaining(&self) -> bool {
        self.taken >= self.rows
    }

    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        ReturnCode::Include
    }

    fn has_filter_row(&self) -> bool {
        true
    }

    fn filter_row(&mut self) -> bool {
        self.taken = self.taken.saturating_add(1);
        self.taken > self.rows
    }
}

/// `InclusiveStopFilter`.
pub(super) struct InclusiveStop {
    stop: Bytes,
    reversed: bool,
    passed: bool,
}

impl InclusiveStop {
    pub(super) fn new(stop: &Bytes) -> Self {
        Self { stop: stop.clone(), reversed: false, passed: false }
    }
}

impl Evaluate for InclusiveStop {
    fn set_reversed(&mut self, reversed: bool) {
        self.reversed = reversed;
    }

    fn filter_all_remaining(&self) -> bool {
        self.passed
    }

    fn filter_row_key(&mut self, row: &[u8]) -> bool {
        self.passed |= if self.reversed { row < &self.stop[..] } else { row > &self.stop[..] };
        self.passed
    }

    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        if self.passed { ReturnCode::NextRow } else { ReturnCode::Include }
    }
}

/// `RandomRowFilter`.
pub(super) struct RandomRow {
    chance: f32,
    rng: SplitMix64,
    filter_row: bool,
}

impl RandomRow {
    pub(super) fn new(chance: f32) -> Self {
        Self { chance, rng: SplitMix64::new(0), filter_row: false }
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive) in steps of 2^-24.
    fn draw(&mut self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "24 bits fit the mantissa")]
        let upper = (self.rng.next_u64() >> 40) as f32;
        upper / 16_777_216.0
    }
}

impl Evaluate for RandomRow {
    fn set_seed(&mut self, seed: u64) {
        self.rng = SplitMix64::new(seed);
    }

    fn reset(&mut self) {
        self.filter_row = false;
    }

    fn filter_row_key(&mut self, _row: &[u8]) -> bool {
        self.filter_row = self.chance < 0.0 || (self.chance <= 1.0 && self.draw() >= self.chance);
        self.filter_row
    }

    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        if self.filter_row { ReturnCode::NextRow } else { ReturnCode::Include }
    }

    fn has_filter_row(&self) -> bool {
        true
    }

    fn filter_row(&mut self) -> bool {
        self.filter_row
    }
}
