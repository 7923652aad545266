//! Lists of filters and the rules by which their answers become one.
//!
//! The codes in the order of the step they make:
//! `Include < Skip < IncludeAndNextCol < NextCol < IncludeAndSeekNextRow < NextRow < SeekNextUsingHint`.
//! "All" takes the longest step any filter makes, "one" the shortest; whether the cell itself is taken is decided apart.

use std::cmp::Ordering;

use halite_types::cell::{self, CellRef};

use super::{Evaluate, ReturnCode, ValueForm};

/// How far a code goes, apart from whether it takes the cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Cell,
    Column,
    Row,
}

fn step(code: ReturnCode) -> Step {
    match code {
        ReturnCode::Include | ReturnCode::Skip | ReturnCode::SeekNextUsingHint => Step::Cell,
        ReturnCode::IncludeAndNextCol | ReturnCode::NextCol => Step::Column,
        ReturnCode::IncludeAndSeekNextRow | ReturnCode::NextRow => Step::Row,
    }
}

fn code(includes: bool, step: Step) -> ReturnCode {
    match (includes, step) {
        (true, Step::Cell) => ReturnCode::Include,
        (true, Step::Column) => ReturnCode::IncludeAndNextCol,
        (true, Step::Row) => ReturnCode::IncludeAndSeekNextRow,
        (false, Step::Cell) => ReturnCode::Skip,
        (false, Step::Column) => ReturnCode::NextCol,
        (false, Step::Row) => ReturnCode::NextRow,
    }
}

fn merge_all(a: ReturnCode, b: ReturnCode) -> ReturnCode {
    if a == ReturnCode::SeekNextUsingHint || b == ReturnCode::SeekNextUsingHint {
        return ReturnCode::SeekNextUsingHint;
    }
    code(a.includes() && b.includes(), step(a).max(step(b)))
}

/// How far a hint leads is not known here, so next to any other code it counts as `Skip`.
fn merge_one(a: ReturnCode, b: ReturnCode) -> ReturnCode {
    if a == ReturnCode::SeekNextUsingHint && b == ReturnCode::SeekNextUsingHint {
        return ReturnCode::SeekNextUsingHint;
    }
    code(a.includes() || b.includes(), step(a).min(step(b)))
}

/// What both lists do alike.
struct Filters {
    filters: Vec<Box<dyn Evaluate>>,
    reversed: bool,
}

impl Filters {
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

    /// The order in which a scan of this direction meets two keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = cell::compare_keys(a, b);
        if self.reversed { order.reverse() } else { order }
    }
}

/// `FilterList` with `MUST_PASS_ALL`.
pub(super) struct All {
    list: Filters,
    hinted: Vec<usize>,
}

impl All {
    pub(super) fn new(filters: Vec<Box<dyn Evaluate>>) -> Self {
        Self { list: Filters { filters, reversed: false }, hinted: Vec::new() }
    }
}

impl Evaluate for All {
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

    /// A filter with hints that lets the row pass keeps it, for its hint may spare more than this one row.
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

    /// After the first filter that leaves the cell out only those with hints are asked: the others may count what passes.
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

/// What a filter of a "one" list said last in this row. The list takes the shortest step, so the filter may be offered
/// cells that it asked to jump over; its old answer holds for those.
#[derive(Default)]
struct Last {
    code: Option<ReturnCode>,
    key: Vec<u8>,
    included: bool,
}

impl Last {
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
pub(super) struct One {
    list: Filters,
    last: Vec<Last>,
}

impl One {
    pub(super) fn new(filters: Vec<Box<dyn Evaluate>>) -> Self {
        let last = filters.iter().map(|_| Last::default()).collect();
        Self { list: Filters { filters, reversed: false }, last }
    }

    /// The answer that an earlier one implies for this cell.
    fn standing_answer(&mut self, position: usize, cell: CellRef<'_>) -> Option<ReturnCode> {
        let last = &self.last[position];
        match last.code? {
            ReturnCode::Include | ReturnCode::Skip => None,
            ReturnCode::SeekNextUsingHint => {
                let hint = self.list.filters[position].next_cell_hint(last.cell())?;
                self.list.compare(cell.key(), &hint).is_lt().then_some(ReturnCode::SeekNextUsingHint)
            }
            ReturnCode::NextCol | ReturnCode::IncludeAndNextCol => {
                let before = last.cell();
                (before.qualifier() == cell.qualifier() && before.family() == cell.family()).then_some(ReturnCode::NextCol)
            }
            ReturnCode::NextRow | ReturnCode::IncludeAndSeekNextRow => (last.cell().family() == cell.family()).then_some(ReturnCode::NextRow),
        }
    }
}

impl Evaluate for One {
    fn set_reversed(&mut self, reversed: bool) {
        self.list.set_reversed(reversed);
    }

    fn set_seed(&mut self, seed: u64) {
        self.list.set_seed(seed);
    }

    fn reset(&mut self) {
        self.list.reset();
        for last in &mut self.last {
            last.code = None;
            last.included = false;
        }
    }

    fn filter_all_remaining(&self) -> bool {
        !self.list.filters.is_empty() && self.list.filters.iter().all(|filter| filter.filter_all_remaining())
    }

    /// Every filter hears of the row, whatever the others say.
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
            self.last[position].included = false;
            if self.list.filters[position].filter_all_remaining() {
                continue;
            }
            let code = self.standing_answer(position, cell).unwrap_or_else(|| self.list.filters[position].filter_cell(cell));
            self.last[position].remember(code, cell);
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
        let included = self.list.filters.iter().zip(&self.last).filter(|(_, last)| last.included);
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
        !self.list.filters.is_empty() && self.list.filters.iter_mut().all(|filter| filter.filter_row())
    }
}
