//! Conditions on cells as HBase's filters, which every cluster runs next to the data.
//!
//! A comparison of a cell is at most two ranges of its bytes: of two's complement numbers, negative
//! ones lie behind the others. A filter here includes all rows of its expression, if the cells are
//! of their declared types, and no others if it is exact.

use std::ops::Bound;

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use halite_rowkey::plan::Predicate;
use halite_rowkey::value::{FieldType, Value};
use halite_types::filter::{Comparator, CompareOp};
use halite_types::{Bytes, Filter};

use super::comparison::{Test, comparison, text_column};
use super::patterns::pattern;
use crate::catalog::shape::{Source, TableShape};
use crate::types::cells::{comparable_bytes, is_signed};

/// Depth of AND and OR in one filter.
const MAX_DEPTH: usize = 8;
/// Comparisons in one filter.
const MAX_COMPARISONS: usize = 256;

/// Filter of one condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CellFilter {
    /// Filter.
    pub(crate) filter: Filter,
    /// Columns that it tests, by position: they must be among those that are read.
    pub(crate) tested: Vec<usize>,
    /// Those among them of which every included row has a cell.
    pub(crate) present: Vec<usize>,
    /// `true` if it includes no other rows.
    pub(crate) is_exact: bool,
    comparisons: usize,
}

/// Returns the filter that includes the rows of an expression; `None` if HBase has none.
pub(crate) fn filter(shape: &TableShape, expr: &Expr) -> Option<CellFilter> {
    at_depth(shape, expr, 0).filter(|found| found.comparisons <= MAX_COMPARISONS)
}

fn at_depth(shape: &TableShape, expr: &Expr, depth: usize) -> Option<CellFilter> {
    if depth > MAX_DEPTH {
        return None;
    }
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let (one, other) =
                (at_depth(shape, left, depth + 1)?, at_depth(shape, right, depth + 1)?);
            Some(CellFilter {
                filter: Filter::All(vec![one.filter, other.filter]),
                tested: [one.tested, other.tested].concat(),
                present: [one.present, other.present].concat(),
                is_exact: one.is_exact && other.is_exact,
                comparisons: one.comparisons + other.comparisons,
            })
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (one, other) =
                (at_depth(shape, left, depth + 1)?, at_depth(shape, right, depth + 1)?);
            let present =
                one.present.into_iter().filter(|column| other.present.contains(column)).collect();
            Some(CellFilter {
                filter: Filter::One(vec![one.filter, other.filter]),
                tested: [one.tested, other.tested].concat(),
                present,
                is_exact: one.is_exact && other.is_exact,
                comparisons: one.comparisons + other.comparisons,
            })
        }
        _ => of_comparison(shape, expr).or_else(|| of_pattern(shape, expr)),
    }
}

fn of_comparison(shape: &TableShape, expr: &Expr) -> Option<CellFilter> {
    let found = comparison(shape, expr).filter(|found| found.is_exact)?;
    let column = &shape.columns[found.column];
    let Source::Cell { family, qualifier } = &column.source else { return None };
    let tests_presence = matches!(found.test, Test::Is(Predicate::IsNull | Predicate::NotNull));
    // A counter without a cell is no null one.
    if tests_presence && column.is_counter() {
        return None;
    }
    if !tests_presence && column.cell.as_ref().is_some_and(|cell| !cell.is_java()) {
        return None;
    }
    // A counter without a cell is 0.
    let missing_passes = column.is_counter() && zero_passes(&found.test);
    let cell = CellTest { family, qualifier, ty: column.ty, missing_passes };
    let filter = match &found.test {
        Test::NotEqual(value) => cell.test(CompareOp::NotEqual, cell.bytes(value)?),
        Test::Is(predicate) => cell.predicate(predicate)?,
    };
    let is_null = matches!(found.test, Test::Is(Predicate::IsNull));
    let comparisons = match &found.test {
        Test::Is(Predicate::In(values)) => values.len(),
        _ => 2,
    };
    let present = if is_null || missing_passes { Vec::new() } else { vec![found.column] };
    // Cells of another type than the statement says are found when they are read.
    let has_any = column.ty.is_text() || column.ty == FieldType::Bytes;
    let is_exact = tests_presence || !column.is_guessed || has_any;
    Some(CellFilter { filter, tested: vec![found.column], present, is_exact, comparisons })
}

/// Returns the filter of what a pattern says of text. A row without a cell has none, and none of
/// another type is text of the column.
fn of_pattern(shape: &TableShape, expr: &Expr) -> Option<CellFilter> {
    let (of, comparators) = pattern(expr)?;
    let at = text_column(shape, of)?;
    let column = &shape.columns[at];
    let Source::Cell { family, qualifier } = &column.source else { return None };
    if column.cell.as_ref().is_some_and(|cell| !cell.is_java()) {
        return None;
    }
    let cell = CellTest { family, qualifier, ty: column.ty, missing_passes: false };
    let comparisons = comparators.len();
    let tests = comparators.into_iter();
    let mut tests: Vec<Filter> =
        tests.map(|comparator| cell.compare(CompareOp::Equal, comparator, true)).collect();
    let filter = if comparisons == 1 { tests.pop()? } else { Filter::All(tests) };
    Some(CellFilter { filter, tested: vec![at], present: vec![at], is_exact: false, comparisons })
}

/// Returns `true` if 0 satisfies a test.
fn zero_passes(test: &Test) -> bool {
    let zero = Value::Signed(0);
    match test {
        Test::NotEqual(value) => *value != zero,
        Test::Is(Predicate::Equals(value)) => *value == zero,
        Test::Is(Predicate::In(values)) => values.contains(&zero),
        Test::Is(Predicate::Range { low, high }) => {
            let is_above = match low {
                Bound::Unbounded => true,
                Bound::Included(low) => low.compare(&zero).is_le(),
                Bound::Excluded(low) => low.compare(&zero).is_lt(),
            };
            let is_below = match high {
                Bound::Unbounded => true,
                Bound::Included(high) => high.compare(&zero).is_ge(),
                Bound::Excluded(high) => high.compare(&zero).is_gt(),
            };
            is_above && is_below
        }
        Test::Is(_) => false,
    }
}

/// Column that is tested.
struct CellTest<'s> {
    family: &'s Bytes,
    qualifier: &'s Bytes,
    ty: FieldType,
    /// `true` if a row without the cell passes.
    missing_passes: bool,
}

impl CellTest<'_> {
    fn predicate(&self, predicate: &Predicate) -> Option<Filter> {
        Some(match predicate {
            Predicate::Equals(value) if !value.is_null() => {
                self.test(CompareOp::Equal, self.bytes(value)?)
            }
            Predicate::In(values) if !values.is_empty() => {
                let each = values
                    .iter()
                    .map(|value| Some(self.test(CompareOp::Equal, self.bytes(value)?)));
                Filter::One(each.collect::<Option<_>>()?)
            }
            Predicate::Range { low, high } => self.range(low, high)?,
            Predicate::Prefix(prefix) => {
                self.compare(CompareOp::Equal, Comparator::BinaryPrefix(prefix.clone()), true)
            }
            Predicate::IsNull => self.compare(CompareOp::Equal, Comparator::Null, false),
            Predicate::NotNull => self.compare(CompareOp::NotEqual, Comparator::Null, true),
            Predicate::Equals(_) | Predicate::In(_) => return None,
        })
    }

    fn range(&self, low: &Bound<Value<'static>>, high: &Bound<Value<'static>>) -> Option<Filter> {
        let low = (low, CompareOp::GreaterOrEqual, CompareOp::Greater);
        let high = (high, CompareOp::LessOrEqual, CompareOp::Less);
        let mut sides = Vec::with_capacity(2);
        for (bound, inclusive, exclusive) in [low, high] {
            match bound {
                Bound::Unbounded => {}
                Bound::Included(value) => sides.push(self.side(inclusive, value)?),
                Bound::Excluded(value) => sides.push(self.side(exclusive, value)?),
            }
        }
        match sides.len() {
            0 | 1 => sides.pop(),
            _ => Some(Filter::All(sides)),
        }
    }

    /// Returns the filter of one bound.
    fn side(&self, op: CompareOp, value: &Value<'_>) -> Option<Filter> {
        let bytes = self.bytes(value)?;
        let filter = self.test(op, bytes.clone());
        if !is_signed(self.ty) {
            return Some(filter);
        }
        // Cells from this one on, as unsigned bytes, are negative numbers.
        let mut first_negative = vec![0; bytes.len()];
        first_negative[0] = 0x80;
        let negative = |op| self.test(op, first_negative.clone());
        let is_negative = bytes[0] & 0x80 != 0;
        let upward = matches!(op, CompareOp::Greater | CompareOp::GreaterOrEqual);
        Some(match (upward, is_negative) {
            (true, true) => Filter::One(vec![filter, negative(CompareOp::Less)]),
            (true, false) => Filter::All(vec![filter, negative(CompareOp::Less)]),
            (false, true) => Filter::All(vec![filter, negative(CompareOp::GreaterOrEqual)]),
            (false, false) => Filter::One(vec![filter, negative(CompareOp::GreaterOrEqual)]),
        })
    }

    fn bytes(&self, value: &Value<'_>) -> Option<Vec<u8>> {
        comparable_bytes(self.ty, value)
    }

    fn test(&self, op: CompareOp, bytes: Vec<u8>) -> Filter {
        self.compare(op, Comparator::Binary(bytes.into()), !self.missing_passes)
    }

    fn compare(&self, op: CompareOp, comparator: Comparator, filter_if_missing: bool) -> Filter {
        Filter::SingleColumnValue {
            family: self.family.clone(),
            qualifier: self.qualifier.clone(),
            op,
            comparator,
            filter_if_missing,
            latest_version_only: true,
            exclude: false,
        }
    }
}
