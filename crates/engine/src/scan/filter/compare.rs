//! Filters that compare a part of a cell with a given value.

use std::collections::BTreeSet;

use bytes::Bytes;
use halite_types::cell::CellRef;
use halite_types::{Comparator, CompareOp, Error, Result};

pub(super) use super::comparator::Comparison;
use super::compiled_regex::RegexBudget;
use super::evaluate::{Evaluate, ReturnCode};

/// `RowFilter`.
pub(super) struct RowCompare {
    comparison: Comparison,
    filter_row: bool,
}

impl RowCompare {
    pub(super) fn new(
        op: CompareOp,
        comparator: &Comparator,
        room: &mut RegexBudget,
    ) -> Result<Self> {
        Ok(Self { comparison: Comparison::new(op, comparator, room)?, filter_row: false })
    }
}

impl Evaluate for RowCompare {
    fn reset(&mut self) {
        self.filter_row = false;
    }

    fn filter_row_key(&mut self, row: &[u8]) -> bool {
        self.filter_row |= !self.comparison.accepts(row);
        self.filter_row
    }

    fn filter_cell(&mut self, _cell: CellRef<'_>) -> ReturnCode {
        if self.filter_row { ReturnCode::NextRow } else { ReturnCode::Include }
    }

    fn filter_row(&mut self) -> bool {
        self.filter_row
    }
}

/// `FamilyFilter`, `QualifierFilter` and `ValueFilter`.
pub(super) struct PartCompare {
    comparison: Comparison,
    part: for<'a> fn(&CellRef<'a>) -> &'a [u8],
    otherwise: ReturnCode,
}

impl PartCompare {
    pub(super) fn family(
        op: CompareOp,
        comparator: &Comparator,
        room: &mut RegexBudget,
    ) -> Result<Self> {
        Ok(Self {
            comparison: Comparison::new(op, comparator, room)?,
            part: |cell| cell.family(),
            otherwise: ReturnCode::NextRow,
        })
    }

    pub(super) fn qualifier(
        op: CompareOp,
        comparator: &Comparator,
        room: &mut RegexBudget,
    ) -> Result<Self> {
        Ok(Self {
            comparison: Comparison::new(op, comparator, room)?,
            part: |cell| cell.qualifier(),
            otherwise: ReturnCode::Skip,
        })
    }

    pub(super) fn value(
        op: CompareOp,
        comparator: &Comparator,
        room: &mut RegexBudget,
    ) -> Result<Self> {
        Ok(Self {
            comparison: Comparison::new(op, comparator, room)?,
            part: |cell| cell.value(),
            otherwise: ReturnCode::Skip,
        })
    }
}

impl Evaluate for PartCompare {
    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        if self.comparison.accepts((self.part)(&cell)) {
            ReturnCode::Include
        } else {
            self.otherwise
        }
    }
}

/// Family and qualifier.
pub(super) struct Column {
    family: Bytes,
    qualifier: Bytes,
}

impl Column {
    pub(super) fn new(family: &Bytes, qualifier: &Bytes) -> Self {
        Self { family: family.clone(), qualifier: qualifier.clone() }
    }

    fn is_of_family(&self, family: &[u8]) -> bool {
        self.family == family
    }

    fn holds(&self, cell: &CellRef<'_>) -> bool {
        cell.qualifier() == self.qualifier && cell.family() == self.family
    }
}

/// `SingleColumnValueFilter` and `SingleColumnValueExcludeFilter`.
pub(super) struct SingleColumnValue {
    column: Column,
    comparison: Comparison,
    filter_if_missing: bool,
    latest_version_only: bool,
    exclude: bool,
    /// `true` if the column satisfies the comparison, once it was found in this row.
    matched: Option<bool>,
}

impl SingleColumnValue {
    pub(super) fn new(
        column: Column,
        test: Comparison,
        filter_if_missing: bool,
        latest_version_only: bool,
        exclude: bool,
    ) -> Result<Self> {
        if test.is_no_op() {
            return Err(Error::invalid(
                "filter: a SingleColumnValueFilter cannot have NO_OP as its operator; choose a \
                 comparison",
            ));
        }
        Ok(Self {
            column,
            comparison: test,
            filter_if_missing,
            latest_version_only,
            exclude,
            matched: None,
        })
    }
}

impl Evaluate for SingleColumnValue {
    fn reset(&mut self) {
        self.matched = None;
    }

    fn is_family_essential(&self, family: &[u8]) -> bool {
        !self.filter_if_missing || self.column.is_of_family(family)
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        match self.matched {
            Some(true) => return ReturnCode::Include,
            Some(false) if self.latest_version_only => return ReturnCode::NextRow,
            _ if !self.column.holds(&cell) => return ReturnCode::Include,
            _ => {}
        }
        let matched = self.comparison.accepts(cell.value());
        self.matched = Some(matched);
        if matched || !self.latest_version_only { ReturnCode::Include } else { ReturnCode::NextRow }
    }

    fn has_filter_row(&self) -> bool {
        true
    }

    fn drops_cells(&self) -> bool {
        self.exclude
    }

    fn keep_cell(&mut self, cell: CellRef<'_>) -> bool {
        !(self.exclude && self.column.holds(&cell))
    }

    fn filter_row(&mut self) -> bool {
        self.matched.map_or(self.filter_if_missing, |matched| !matched)
    }
}

/// `ColumnValueFilter`.
pub(super) struct ColumnValue {
    column: Column,
    comparison: Comparison,
    found: bool,
}

impl ColumnValue {
    pub(super) fn new(column: Column, comparison: Comparison) -> Self {
        Self { column, comparison, found: false }
    }
}

impl Evaluate for ColumnValue {
    fn reset(&mut self) {
        self.found = false;
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        if !self.column.holds(&cell) {
            return if self.found { ReturnCode::NextRow } else { ReturnCode::NextCol };
        }
        self.found = true;
        if self.comparison.accepts(cell.value()) { ReturnCode::Include } else { ReturnCode::Skip }
    }
}

/// `DependentColumnFilter`.
pub(super) struct DependentColumn {
    column: Column,
    drop_column: bool,
    check: Option<Comparison>,
    timestamps: BTreeSet<i64>,
}

impl DependentColumn {
    pub(super) fn new(column: Column, drop_column: bool, check: Option<Comparison>) -> Self {
        Self { column, drop_column, check, timestamps: BTreeSet::new() }
    }
}

impl Evaluate for DependentColumn {
    fn reset(&mut self) {
        self.timestamps.clear();
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        if !self.column.holds(&cell) {
            return ReturnCode::Include;
        }
        if self.check.as_ref().is_some_and(|check| !check.accepts(cell.value())) {
            return ReturnCode::Skip;
        }
        self.timestamps.insert(cell.timestamp());
        if self.drop_column { ReturnCode::Skip } else { ReturnCode::Include }
    }

    fn has_filter_row(&self) -> bool {
        true
    }

    fn drops_cells(&self) -> bool {
        true
    }

    fn keep_cell(&mut self, cell: CellRef<'_>) -> bool {
        self.timestamps.contains(&cell.timestamp())
    }
}
