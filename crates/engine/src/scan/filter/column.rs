//! Filters by column, by timestamp, or by the number of columns.

use std::collections::BTreeSet;

use bytes::Bytes;
use halite_types::cell::{self, CellRef};
use halite_types::{Error, Result};

use super::evaluate::{Evaluate, ReturnCode, ValueForm};

fn seek_to_column(cell: &CellRef<'_>, qualifier: &[u8]) -> Vec<u8> {
    cell::first_on_column(cell.row(), cell.family(), qualifier)
}

/// `ColumnPrefixFilter`.
pub(super) struct ColumnPrefix {
    prefix: Bytes,
}

impl ColumnPrefix {
    pub(super) fn new(prefix: &Bytes) -> Self {
        Self { prefix: prefix.clone() }
    }
}

impl Evaluate for ColumnPrefix {
    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        let qualifier = cell.qualifier();
        if qualifier.starts_with(&self.prefix) {
            ReturnCode::Include
        } else if qualifier < &self.prefix[..] {
            ReturnCode::SeekNextUsingHint
        } else {
            ReturnCode::NextRow
        }
    }

    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        Some(seek_to_column(&cell, &self.prefix))
    }

    fn is_hinting(&self) -> bool {
        true
    }
}

/// `MultipleColumnPrefixFilter`.
pub(super) struct MultipleColumnPrefix {
    prefixes: BTreeSet<Bytes>,
    hint: Option<Bytes>,
}

impl MultipleColumnPrefix {
    pub(super) fn new(given: &[Bytes]) -> Result<Self> {
        let prefixes: BTreeSet<Bytes> = given.iter().cloned().collect();
        if prefixes.len() < given.len() {
            return Err(Error::invalid(
                "filter: a MultipleColumnPrefixFilter has a prefix twice; give each once",
            ));
        }
        Ok(Self { prefixes, hint: None })
    }
}

impl Evaluate for MultipleColumnPrefix {
    /// As in HBase only the greatest prefix not above the qualifier is compared. Of two prefixes
    /// the longer therefore hides the shorter after it: with `a` and `ab` the column `ac` does not
    /// pass, although it begins with `a`.
    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        if self.prefixes.is_empty() {
            return ReturnCode::Include;
        }
        let qualifier = cell.qualifier();
        let at_or_below = (std::ops::Bound::Unbounded, std::ops::Bound::Included(qualifier));
        if self
            .prefixes
            .range::<[u8], _>(at_or_below)
            .next_back()
            .is_some_and(|prefix| qualifier.starts_with(prefix))
        {
            return ReturnCode::Include;
        }
        let above = (std::ops::Bound::Excluded(qualifier), std::ops::Bound::Unbounded);
        match self.prefixes.range::<[u8], _>(above).next() {
            Some(next) => {
                self.hint = Some(next.clone());
                ReturnCode::SeekNextUsingHint
            }
            None => ReturnCode::NextRow,
        }
    }

    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        self.hint.as_ref().map(|hint| seek_to_column(&cell, hint))
    }

    fn is_hinting(&self) -> bool {
        true
    }
}

/// `ColumnRangeFilter`.
pub(super) struct ColumnRange {
    min: Option<Bytes>,
    min_inclusive: bool,
    max: Option<Bytes>,
    max_inclusive: bool,
}

impl ColumnRange {
    pub(super) fn new(
        min: Option<&Bytes>,
        min_inclusive: bool,
        max: Option<&Bytes>,
        max_inclusive: bool,
    ) -> Self {
        Self { min: min.cloned(), min_inclusive, max: max.cloned(), max_inclusive }
    }
}

impl Evaluate for ColumnRange {
    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        let qualifier = cell.qualifier();
        if let Some(min) = &self.min {
            match qualifier.cmp(min) {
                std::cmp::Ordering::Less => return ReturnCode::SeekNextUsingHint,
                std::cmp::Ordering::Equal if !self.min_inclusive => return ReturnCode::NextCol,
                _ => {}
            }
        }
        let below_max = self.max.as_ref().is_none_or(|max| {
            qualifier < &max[..] || (self.max_inclusive && qualifier == &max[..])
        });
        if below_max { ReturnCode::Include } else { ReturnCode::NextRow }
    }

    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        Some(seek_to_column(&cell, self.min.as_deref().unwrap_or_default()))
    }

    fn is_hinting(&self) -> bool {
        true
    }
}

/// `FirstKeyOnlyFilter`, and `FirstKeyValueMatchingQualifiersFilter` with qualifiers.
pub(super) struct FirstKeyOnly {
    qualifiers: Option<BTreeSet<Bytes>>,
    found: bool,
}

impl FirstKeyOnly {
    pub(super) fn new(qualifiers: Option<&Vec<Bytes>>) -> Self {
        Self { qualifiers: qualifiers.map(|given| given.iter().cloned().collect()), found: false }
    }
}

impl Evaluate for FirstKeyOnly {
    fn reset(&mut self) {
        self.found = false;
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        if self.found {
            return ReturnCode::NextRow;
        }
        self.found =
            self.qualifiers.as_ref().is_none_or(|qualifiers| qualifiers.contains(cell.qualifier()));
        ReturnCode::Include
    }
}

/// `KeyOnlyFilter`.
pub(super) struct KeyOnly {
    length_as_value: bool,
}

impl KeyOnly {
    pub(super) fn new(length_as_value: bool) -> Self {
        Self { length_as_value }
    }
}

impl Evaluate for KeyOnly {
    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        ReturnCode::Include
    }

    fn transforms(&self) -> bool {
        true
    }

    fn transform(&self, value: ValueForm) -> ValueForm {
        if self.length_as_value { ValueForm::Length(value.len()) } else { ValueForm::Empty }
    }
}

/// `ColumnCountGetFilter`.
pub(super) struct ColumnCountGet {
    limit: u64,
    count: u64,
}

impl ColumnCountGet {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit: limit.into(), count: 0 }
    }
}

impl Evaluate for ColumnCountGet {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn filter_all_remaining(&self) -> bool {
        self.count > self.limit
    }

    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        self.count += 1;
        if self.count > self.limit { ReturnCode::NextCol } else { ReturnCode::IncludeAndNextCol }
    }
}

/// `ColumnPaginationFilter`.
pub(super) struct ColumnPagination {
    limit: u64,
    offset: u64,
    column_offset: Option<Bytes>,
    count: u64,
}

impl ColumnPagination {
    pub(super) fn new(limit: u32, offset: u32, column_offset: Option<&Bytes>) -> Self {
        Self {
            limit: limit.into(),
            offset: offset.into(),
            column_offset: column_offset.cloned(),
            count: 0,
        }
    }
}

impl Evaluate for ColumnPagination {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        let first = if self.column_offset.is_some() { 0 } else { self.offset };
        if self.count >= first + self.limit {
            return ReturnCode::NextRow;
        }
        if self.count == 0
            && self.column_offset.as_ref().is_some_and(|offset| cell.qualifier() < &offset[..])
        {
            return ReturnCode::SeekNextUsingHint;
        }
        self.count += 1;
        if self.count > first { ReturnCode::IncludeAndNextCol } else { ReturnCode::NextCol }
    }

    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        self.column_offset.as_ref().map(|offset| seek_to_column(&cell, offset))
    }
}

/// `TimestampsFilter`.
pub(super) struct Timestamps {
    selected: BTreeSet<i64>,
    min: i64,
    can_hint: bool,
}

impl Timestamps {
    pub(super) fn new(given: &[i64], can_hint: bool) -> Result<Self> {
        if let Some(negative) = given.iter().find(|&&timestamp| timestamp < 0) {
            return Err(Error::invalid(format!(
                "filter: a TimestampsFilter has the timestamp {negative}; give milliseconds since \
                 1970"
            )));
        }
        let wanted: BTreeSet<i64> = given.iter().copied().collect();
        let min = wanted.first().copied().unwrap_or(i64::MAX);
        Ok(Self { selected: wanted, min, can_hint })
    }
}

impl Evaluate for Timestamps {
    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        let timestamp = cell.timestamp();
        if self.selected.contains(&timestamp) {
            ReturnCode::Include
        } else if timestamp < self.min {
            ReturnCode::NextCol
        } else if self.can_hint {
            ReturnCode::SeekNextUsingHint
        } else {
            ReturnCode::Skip
        }
    }

    fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        if !self.can_hint {
            return None;
        }
        let (row, family, qualifier) = (cell.row(), cell.family(), cell.qualifier());
        Some(match self.selected.range(..cell.timestamp()).next_back() {
            Some(&next) => cell::make_key(row, family, qualifier, next, cell::TYPE_MAXIMUM),
            None => cell::last_on_column(row, family, qualifier),
        })
    }

    fn is_hinting(&self) -> bool {
        true
    }
}
