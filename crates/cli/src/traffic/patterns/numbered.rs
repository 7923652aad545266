//! Numbered rows: orders, some of which are wanted more than others, and pages that are read one
//! after the other.

use std::ops::Range;

use halite::Bytes;

use super::operation::{NewRow, Operation};
use super::pattern::{KeyWriter, Pattern, PatternConfig};
use crate::bench::SeededRng;

/// Share of the hot range in gets, in percent.
const HOT_PERCENT: u64 = 80;
/// Most rows of one scan of a sweep, which reads 20 times per second if the rate allows.
const MAX_PAGE_ROWS: u64 = 200;
const SCANS_PER_SECOND: u64 = 20;

/// Orders, of which one contiguous tenth is wanted most.
pub(super) struct Orders {
    keys: KeyWriter,
    chance: SeededRng,
    rows: u64,
    hot: Range<u64>,
}

impl Orders {
    pub(super) fn new(keys: KeyWriter, config: &PatternConfig) -> Self {
        let (rows, hot) = (config.rows, hot_tenth(config.rows));
        Self { keys, chance: SeededRng::new(config.seed), rows, hot }
    }
}

/// Returns a tenth of the numbers below `rows` on both sides of a number that ends with zeros: half
/// of them begin with other digits than the other half, so no prefix describes them.
pub(super) fn hot_tenth(rows: u64) -> Range<u64> {
    let half = rows / 2;
    let unit = 10_u64.pow(half.max(1).ilog10());
    let middle = half / unit * unit;
    let width = rows / 10;
    let start = middle.saturating_sub(width / 2);
    start..start + width
}

impl Pattern for Orders {
    fn row(&self, order: u64) -> NewRow {
        NewRow::new(self.keys.numbered(order))
            .with("customer", super::users::user_id(order * 7 % 1000))
            .with("state", if order.is_multiple_of(3) { "sent" } else { "paid" })
    }

    fn next(&mut self) -> Operation {
        if self.chance.below(100) < 10 {
            let order = self.chance.below(self.rows);
            return Operation::Put(self.row(order));
        }
        let width = self.hot.end - self.hot.start;
        let order = if self.chance.below(100) < HOT_PERCENT {
            self.hot.start + self.chance.below(width)
        } else {
            let order = self.chance.below(self.rows - width);
            if order < self.hot.start { order } else { order + width }
        };
        Operation::Get(self.keys.numbered(order))
    }

    fn splits(&self, regions: u64) -> Option<Vec<Bytes>> {
        Some(self.keys.numbered_splits(self.rows, regions))
    }
}

/// Pages, all of which are read in order, over and over; now and then one is changed.
pub(super) struct Pages {
    keys: KeyWriter,
    chance: SeededRng,
    rows: u64,
    rows_per_scan: u64,
    next: u64,
}

impl Pages {
    pub(super) fn new(keys: KeyWriter, config: &PatternConfig) -> Self {
        Self {
            keys,
            chance: SeededRng::new(config.seed),
            rows: config.rows,
            rows_per_scan: (config.rate / SCANS_PER_SECOND).clamp(1, MAX_PAGE_ROWS),
            next: 0,
        }
    }
}

impl Pattern for Pages {
    fn row(&self, page: u64) -> NewRow {
        NewRow::new(self.keys.numbered(page))
            .with("title", format!("Page {page}"))
            .with("body", "All work and no play. ".repeat(4))
    }

    fn next(&mut self) -> Operation {
        if self.chance.below(100) < 5 {
            let page = self.chance.below(self.rows);
            return Operation::Put(self.row(page));
        }
        let (start, rows) = (self.next, self.rows_per_scan.min(self.rows - self.next));
        self.next = (start + rows) % self.rows;
        Operation::Scan {
            start: self.keys.numbered(start),
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
        }
    }

    fn splits(&self, regions: u64) -> Option<Vec<Bytes>> {
        Some(self.keys.numbered_splits(self.rows, regions))
    }

    fn units(&self, operation: &Operation) -> u64 {
        match operation {
            Operation::Scan { rows, .. } => *rows as u64,
            _ => 1,
        }
    }
}
