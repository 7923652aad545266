//! Lists of filters and the rules by which their results are merged.
//!
//! The codes in the order of their seek distance:
//! ```text
//! Include < Skip < IncludeAndNextCol < NextCol < IncludeAndSeekNextRow
//!     < NextRow < SeekNextUsingHint
//! ```
//! "All" takes the longest step of any filter, "one" the shortest; whether the cell itself is
//! included is decided separately.

use std::cmp::Ordering;

use halite_types::cell::{self, CellRef};

use super::evaluate::{Evaluate, ReturnCode, ValueForm};

/// Seek distance of a code, regardless of whether it includes the cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SeekDistance {
    Cell,
    Column,
    Row,
}

fn seek_distance(code: ReturnCode) -> SeekDistance {
    match code {
        ReturnCode::Include | ReturnCode::Skip | ReturnCode::SeekNextUsingHint => {
            SeekDistance::Cell
        }
        ReturnCode::IncludeAndNextCol | ReturnCode::NextCol => SeekDistance::Column,
        ReturnCode::IncludeAndSeekNextRow | ReturnCode::NextRow => SeekDistance::Row,
    }
}

fn code(includes: bool, step: SeekDistance) -> ReturnCode {
    match (includes, step) {
        (true, SeekDistance::Cell) => ReturnCode::Include,
        (true, SeekDistance::Column) => ReturnCode::IncludeAndNextCol,
        (true, SeekDistance::Row) => ReturnCode::IncludeAndSeekNextRow,
        (false, SeekDistance::Cell) => ReturnCode::Skip,
        (false, SeekDistance::Column) => ReturnCode::NextCol,
        (false, SeekDistance::Row) => ReturnCode::NextRow,
    }
}

fn merge_all(a: ReturnCode, b: ReturnCode) -> ReturnCode {
    if a == ReturnCode::SeekNextUsingHint || b == ReturnCode::SeekNextUsingHint {
        return ReturnCode::SeekNextUsingHint;
    }
    code(a.includes() && b.includes(), seek_distance(a).max(seek_distance(b)))
}

/// Merges two codes of a "one" list. The distance of a hint is unknown here, so next to any other
/// code it counts as `Skip`.
fn merge_one(a: ReturnCode, b: ReturnCode) -> ReturnCode {
    if a == ReturnCode::SeekNextUsingHint && b == ReturnCode::SeekNextUsingHint {
        return ReturnCode::SeekNextUsingHint;
    }
    code(a.includes() || b.includes(), seek_distance(a).min(seek_distance(b)))
}

/// Common part of both lists.
struct Filters {
    filters: Vec<Box<dyn Evaluate>>,
    reversed: bool,
}

impl Filters {
    fn is_family_essential(&self, family: &[u8]) -> bool {
        self.filters.is_empty()
            || self.filters.iter().any(|filter| filter.is_family_essential(family))
    }

    fn set_reversed(&mut self, reversed: bool) {
        self.reversed = reversed;
        self.filters.iter_mut().for_each(|filter| filter.set_reversed(reversed));
    }

    fn set_seed(&mut self, seed: u64) {
        for (filter, position) in self.filters.iter_mut().zip(1..) {
            filter.set_seed(seed.wrapping_mul(31).wrapping_add(position));
        }
    }

    fn reset(&mut self) {
        self.filters.iter_mut().for_each(|filter| filter.reset());
    }

    fn transforms(&self) -> bool {
        self.filters.iter().any(|filter| filter.transforms())
    }

    fn has_filter_row(&self) -> bool {
        self.filters.iter().any(|filter| filter.has_filter_row())
    }

    fn drops_cells(&self) -> bool {
        self.filters.iter().any(|filter| filter.drops_cells())
    }

    fn keep_cell(&mut self, cell: CellRef<'_>) -> bool {
        self.filters.iter_mut().all(|filter| filter.keep_cell(cell))
    }

    /// Returns the order in which a scan of this direction reaches two keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = cell::compare_keys(a, b);
        if self.reversed { order.reverse() } else { order }
    }
}

/// `FilterList` with `MUST_PASS_ALL`.
pub(super) struct MustPassAll {
    list: Filters,
    hinted: Vec<usize>,
}

impl MustPassAll {
    pub(super) fn new(filters: Vec<Box<dyn Evaluate>>) -> Self {
        Self { list: Filters { filters, reversed: false }, hinted: Vec::new() }
    }
}

impl Evaluate for MustPassAll {
    fn is_family_essential(&self, family: &[u8]) -> bool {
        self.list.is_family_essential(family)
    }

    fn set_reversed(&mut self, reversed: bool) {
        self.list.set_reversed(reversed);
    }

    fn set_seed(&mut self, seed: u64) {
        self.list.set_seed(seed);
    }

    fn reset(&mut self) {
        self.list.reset();
        self.hinted.clear();
    }

    fn filter_all_remaining(&self) -> bool {
        self.list.filters.iter().any(|filter| filter.filter_all_remaining())
    }

    /// A filter with hints that accepts the row retains it, because its hint may skip more than
    /// this one row.
    fn filter_row_key(&mut self, row: &[u8]) -> bool {
        let (mut filtered, mut hinting_passed) = (false, false);
        for filter in &mut self.list.filters {
            if filter.filter_all_remaining() {
                return true;
            }
            if filter.filter_row_key(row) {
                filtered = true;
            } else if filter.is_hinting() {
                hinting_passed = true;
            }
        }
        filtered && !hinting_passed
    }

    /// After the first filter that excludes the cell only those with hints are called: the others
    /// may count accepted cells.
    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        self.hinted.clear();
        let mut merged = ReturnCode::Include;
        for (position, filter) in self.list.filters.iter_mut().enumerate() {
            if merged.includes() {
                if filter.filter_all_remaining() {
                    merged = ReturnCode::NextRow;
                    continue;
                }
            } else if !filter.is_hinting() {
                continue;
            }
            let code = filter.filter_cell(cell);
            if code == ReturnCode::SeekNextUsingHint {
                self.hinted.push(position);
            }
            if merged.includes() {
                merged = merge_all(merged, code);
            }
        }
        if self.hinted.is_empty() { merged } else { ReturnCode::SeekNextUsingHint }
    }

    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        let mut furthest: Option<Vec<u8>> = None;
        for &position in &self.hinted {
            let filter = &mut self.list.filters[position];
            if filter.filter_all_remaining() {
                continue;
            }
            let Some(hint) = filter.next_cell_hint(cell) else { continue };
            if furthest.as_ref().is_none_or(|key| self.list.compare(key, &hint).is_lt()) {
                furthest = Some(hint);
            }
        }
        furthest
    }

    fn transforms(&self) -> bool {
        self.list.transforms()
    }

    fn transform(&self, value: ValueForm) -> ValueForm {
        self.list.filters.iter().fold(value, |value, filter| filter.transform(value))
    }

    fn has_filter_row(&self) -> bool {
        self.list.has_filter_row()
    }

    fn drops_cells(&self) -> bool {
        self.list.drops_cells()
    }

    fn keep_cell(&mut self, cell: CellRef<'_>) -> bool {
        self.list.keep_cell(cell)
    }

    fn filter_row(&mut self) -> bool {
        self.list.filters.iter_mut().any(|filter| filter.filter_row())
    }
}

/// Last result of a filter of a "one" list in this row. The list takes the shortest step, so the
/// filter may receive cells that it requested to skip; its previous result applies to those.
#[derive(Default)]
struct PreviousCode {
    code: Option<ReturnCode>,
    key: Vec<u8>,
    included: bool,
}

impl PreviousCode {
    fn remember(&mut self, code: ReturnCode, cell: CellRef<'_>) {
        self.code = Some(code);
        self.included = code.includes();
        if !matches!(code, ReturnCode::Include | ReturnCode::Skip) {
            self.key.clear();
            self.key.extend_from_slice(cell.key());
        }
    }

    fn cell(&self) -> CellRef<'_> {
        CellRef::new(&self.key, &[], &[], 0)
    }
}

/// `FilterList` with `MUST_PASS_ONE`.
pub(super) struct MustPassOne {
    list: Filters,
    previous: Vec<PreviousCode>,
}

impl MustPassOne {
    pub(super) fn new(filters: Vec<Box<dyn Evaluate>>) -> Self {
        let previous = filters.iter().map(|_| PreviousCode::default()).collect();
        Self { list: Filters { filters, reversed: false }, previous }
    }

    /// Returns the code that the previous one implies for this cell.
    fn implied_code(&mut self, position: usize, cell: CellRef<'_>) -> Option<ReturnCode> {
        let last = &self.previous[position];
        match last.code? {
            ReturnCode::Include | ReturnCode::Skip => None,
            ReturnCode::SeekNextUsingHint => {
                let hint = self.list.filters[position].next_cell_hint(last.cell())?;
                self.list
                    .compare(cell.key(), &hint)
                    .is_lt()
                    .then_some(ReturnCode::SeekNextUsingHint)
            }
            ReturnCode::NextCol | ReturnCode::IncludeAndNextCol => {
                let before = last.cell();
                (before.qualifier() == cell.qualifier() && before.family() == cell.family())
                    .then_some(ReturnCode::NextCol)
            }
            ReturnCode::NextRow | ReturnCode::IncludeAndSeekNextRow => {
                (last.cell().family() == cell.family()).then_some(ReturnCode::NextRow)
            }
        }
    }
}

impl Evaluate for MustPassOne {
    fn is_family_essential(&self, family: &[u8]) -> bool {
        self.list.is_family_essential(family)
    }

    fn set_reversed(&mut self, reversed: bool) {
        self.list.set_reversed(reversed);
    }

    fn set_seed(&mut self, seed: u64) {
        self.list.set_seed(seed);
    }

    fn reset(&mut self) {
        self.list.reset();
        for last in &mut self.previous {
            last.code = None;
            last.included = false;
        }
    }

    fn filter_all_remaining(&self) -> bool {
        !self.list.filters.is_empty()
            && self.list.filters.iter().all(|filter| filter.filter_all_remaining())
    }

    /// Every filter receives the row, whatever the others return.
    fn filter_row_key(&mut self, row: &[u8]) -> bool {
        let mut filtered = !self.list.filters.is_empty();
        for filter in &mut self.list.filters {
            if !filter.filter_all_remaining() && !filter.filter_row_key(row) {
                filtered = false;
            }
        }
        filtered
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        if self.list.filters.is_empty() {
            return ReturnCode::Include;
        }
        let mut merged = None;
        for position in 0..self.list.filters.len() {
            self.previous[position].included = false;
            if self.list.filters[position].filter_all_remaining() {
                continue;
            }
            let code = self
                .implied_code(position, cell)
                .unwrap_or_else(|| self.list.filters[position].filter_cell(cell));
            self.previous[position].remember(code, cell);
            merged = Some(merged.map_or(code, |merged| merge_one(merged, code)));
        }
        merged.unwrap_or(ReturnCode::Skip)
    }

    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        let mut nearest: Option<Vec<u8>> = None;
        for position in 0..self.list.filters.len() {
            let filter = &mut self.list.filters[position];
            if filter.filter_all_remaining() {
                continue;
            }
            let hint = filter.next_cell_hint(cell)?;
            if nearest.as_ref().is_none_or(|key| self.list.compare(key, &hint).is_gt()) {
                nearest = Some(hint);
            }
        }
        nearest
    }

    fn transforms(&self) -> bool {
        self.list.transforms()
    }

    fn transform(&self, value: ValueForm) -> ValueForm {
        let included =
            self.list.filters.iter().zip(&self.previous).filter(|(_, last)| last.included);
        included.fold(value, |value, (filter, _)| filter.transform(value))
    }

    fn has_filter_row(&self) -> bool {
        self.list.has_filter_row()
    }

    fn drops_cells(&self) -> bool {
        self.list.drops_cells()
    }

    fn keep_cell(&mut self, cell: CellRef<'_>) -> bool {
        self.list.keep_cell(cell)
    }

    fn filter_row(&mut self) -> bool {
        !self.list.filters.is_empty()
            && self.list.filters.iter_mut().all(|filter| filter.filter_row())
    }
}
