//! Conditions on the parts of cells, as of `cells(t)`: which families, columns and times are read.
//! What is read has all cells that satisfy them; the conditions are checked again behind the scan.

use std::ops::Bound;

use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use halite_rowkey::plan::Predicate;
use halite_rowkey::value::Value;
use halite_types::filter::{Comparator, CompareOp};
use halite_types::key::to_string_binary;
use halite_types::{Bytes, Filter, Scan};

use super::history::History;
use crate::catalog::shape::{CellPart, Source, TableShape};
use crate::pushdown::comparison::{Test, comparison, literal_beginning};
use crate::types::literals::text_of;

/// Qualifiers that are named one by one; of more, the range is read that has them.
const MAX_QUALIFIERS: usize = 256;

/// Part of a cell, and the values that a condition permits.
type PartTest = (CellPart, Predicate);
/// Bound of qualifiers.
type BytesBound = Bound<Bytes>;

/// What conditions leave of the cells of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct CellConditions {
    /// Families that are read; `None` for all.
    families: Option<Vec<Bytes>>,
    /// Qualifiers that are read; `None` for those between the bounds.
    qualifiers: Option<Vec<Bytes>>,
    low: Option<BytesBound>,
    high: Option<BytesBound>,
    /// First and last time.
    from: Option<i64>,
    to: Option<i64>,
}

impl CellConditions {
    /// Returns what conditions leave, all of which hold.
    pub(super) fn of(shape: &TableShape, conditions: &[Expr]) -> Self {
        let tests: Vec<PartTest> =
            conditions.iter().flat_map(|condition| tests(shape, condition)).collect();
        let of = |wanted: CellPart| {
            tests.iter().filter(move |(part, _)| *part == wanted).map(|(_, predicate)| predicate)
        };
        let mut found = Self::default();
        if of(CellPart::Family).next().is_some() {
            let families = shape.families.iter();
            let is_read = |family: &&Bytes| of(CellPart::Family).all(|test| holds(test, family));
            found.families = Some(families.filter(is_read).cloned().collect());
        }
        for test in of(CellPart::Qualifier) {
            found.add_qualifiers(test);
        }
        if let Some(qualifiers) = &mut found.qualifiers {
            qualifiers.retain(|one| of(CellPart::Qualifier).all(|test| holds(test, one)));
            qualifiers.sort();
            qualifiers.dedup();
        }
        if let Some(many) = found.qualifiers.take_if(|some| some.len() > MAX_QUALIFIERS) {
            found.low = many.first().cloned().map(Bound::Included);
            found.high = many.last().cloned().map(Bound::Included);
        }
        for test in of(CellPart::Ts) {
            let (low, high) = times(test);
            found.from = found.from.max(low);
            found.to = match (found.to, high) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        found
    }

    fn add_qualifiers(&mut self, test: &Predicate) {
        let listed = match test {
            Predicate::Equals(value) => Some(vec![value]),
            Predicate::In(values) => Some(values.iter().collect()),
            _ => None,
        };
        if let Some(values) = listed {
            let bytes = values.into_iter().filter_map(bytes_of);
            self.qualifiers = Some(bytes.map(Bytes::copy_from_slice).collect());
            return;
        }
        let (low, high) = match test {
            Predicate::Range { low, high } => (bytes_bound(low), bytes_bound(high)),
            Predicate::Prefix(prefix) => {
                let end = successor(prefix).map(Bound::Excluded);
                (Some(Bound::Included(prefix.clone())), end)
            }
            _ => return,
        };
        // Of several bounds one is enough, as the conditions are checked again.
        self.low = low.or(self.low.take());
        self.high = high.or(self.high.take());
    }

    /// Returns `true` if no cell is left.
    pub(super) fn is_empty(&self) -> bool {
        let is_nothing = |list: &Option<Vec<Bytes>>| list.as_ref().is_some_and(Vec::is_empty);
        is_nothing(&self.families) || is_nothing(&self.qualifiers)
    }

    /// Returns the times of the cells to read. The newest cells are those of all times: only one
    /// that is new enough is the newest of those from a time on, and none is of those until a time.
    pub(super) fn times_of(&self, history: History, is_raw: bool) -> History {
        let is_all = is_raw && history.versions == Some(u32::MAX);
        let to = self.to.filter(|_| is_all);
        if self.from.is_none() && to.is_none() {
            return history;
        }
        let times = Some((self.from.unwrap_or(0).max(0), to.unwrap_or(i64::MAX)));
        history.and(History { versions: None, times })
    }

    /// Returns the scan of the families and columns. A raw scan has no columns, as in HBase.
    pub(super) fn applied(&self, shape: &TableShape, scan: Scan) -> Scan {
        let families = || self.families.as_deref().unwrap_or(&shape.families).iter();
        let is_raw = scan.raw;
        let scan = match (&self.families, &self.qualifiers) {
            (_, Some(qualifiers)) if !is_raw => {
                let columns =
                    families().flat_map(|family| qualifiers.iter().map(move |name| (family, name)));
                columns.fold(scan, |scan, (family, name)| scan.column(family.clone(), name.clone()))
            }
            (Some(families), _) => families.iter().cloned().fold(scan, Scan::family),
            (None, _) => scan,
        };
        match self.filter(is_raw) {
            Some(filter) => scan.filter(filter),
            None => scan,
        }
    }

    fn filter(&self, is_raw: bool) -> Option<Filter> {
        let compared = |op, bytes: &Bytes| Filter::Qualifier(op, Comparator::Binary(bytes.clone()));
        if let Some(qualifiers) = &self.qualifiers {
            let equal = |name: &Bytes| compared(CompareOp::Equal, name);
            return is_raw.then(|| Filter::One(qualifiers.iter().map(equal).collect()));
        }
        if self.low.is_none() && self.high.is_none() {
            return None;
        }
        let bound = |bound: &Option<BytesBound>| match bound {
            Some(Bound::Included(bytes)) => (Some(bytes.clone()), true),
            Some(Bound::Excluded(bytes)) => (Some(bytes.clone()), false),
            Some(Bound::Unbounded) | None => (None, true),
        };
        let ((min, min_inclusive), (max, max_inclusive)) = (bound(&self.low), bound(&self.high));
        if !is_raw {
            return Some(Filter::ColumnRange { min, min_inclusive, max, max_inclusive });
        }
        let (above, below) = match (min_inclusive, max_inclusive) {
            (true, true) => (CompareOp::GreaterOrEqual, CompareOp::LessOrEqual),
            (true, false) => (CompareOp::GreaterOrEqual, CompareOp::Less),
            (false, true) => (CompareOp::Greater, CompareOp::LessOrEqual),
            (false, false) => (CompareOp::Greater, CompareOp::Less),
        };
        let low = min.map(|min| compared(above, &min));
        let high = max.map(|max| compared(below, &max));
        Some(Filter::All(low.into_iter().chain(high).collect()))
    }

    /// Returns what is read, for EXPLAIN; `None` if that is all.
    pub(super) fn text(&self) -> Option<String> {
        let names = |list: &[Bytes]| {
            let names: Vec<String> = list.iter().map(|name| to_string_binary(name)).collect();
            names.join(", ")
        };
        let mut parts = Vec::new();
        if let Some(families) = &self.families {
            parts.push(format!("family {}", names(families)));
        }
        if let Some(qualifiers) = &self.qualifiers {
            parts.push(format!("qualifier {}", names(qualifiers)));
        } else if let Some(filter) = self.filter(false) {
            parts.push(filter.to_string());
        }
        if let Some(from) = self.from {
            parts.push(format!("from {from} on"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Returns the tests of an expression, all of which hold for its cells.
fn tests(shape: &TableShape, expr: &Expr) -> Vec<PartTest> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            [tests(shape, left), tests(shape, right)].concat()
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let sides = (tests(shape, left), tests(shape, right));
            match (sides.0.as_slice(), sides.1.as_slice()) {
                ([(one, left)], [(other, right)]) if one == other => {
                    either(left, right).map(|both| (*one, both)).into_iter().collect()
                }
                _ => Vec::new(),
            }
        }
        _ => test(shape, expr).into_iter().collect(),
    }
}

/// Returns a predicate that permits the values of both.
fn either(one: &Predicate, other: &Predicate) -> Option<Predicate> {
    let values = |predicate: &Predicate| match predicate {
        Predicate::Equals(value) => Some(vec![value.clone()]),
        Predicate::In(values) => Some(values.clone()),
        _ => None,
    };
    Some(Predicate::In([values(one)?, values(other)?].concat()))
}

fn test(shape: &TableShape, expr: &Expr) -> Option<PartTest> {
    if let Some(found) = comparison(shape, expr) {
        let Source::Part(part) = shape.columns[found.column].source else { return None };
        return match found.test {
            Test::Is(predicate) => Some((part, predicate)),
            Test::NotEqual(_) => None,
        };
    }
    // Bytes are compared with a pattern as text.
    let (of, pattern, is_like) = match expr {
        Expr::Like(Like {
            negated: false,
            case_insensitive: false,
            expr,
            pattern,
            escape_char,
        }) => {
            let escape = escape_char.unwrap_or('\\');
            let (prefix, rest) = literal_beginning(text_literal(pattern)?, escape)?;
            (expr.as_ref(), prefix, !rest.is_empty())
        }
        Expr::ScalarFunction(function) if function.name() == "starts_with" => {
            let [of, prefix] = function.args.as_slice() else { return None };
            (of, text_literal(prefix)?.to_owned(), true)
        }
        _ => return None,
    };
    let of = match of {
        Expr::Cast(cast) => cast.expr.as_ref(),
        other => other,
    };
    let Expr::Column(column) = of else { return None };
    let column = &shape.columns[shape.position(&column.name)?];
    let Source::Part(part @ CellPart::Qualifier) = column.source else { return None };
    let predicate = if is_like {
        Predicate::Prefix(Bytes::from(pattern))
    } else {
        Predicate::Equals(Value::Bytes(pattern.into_bytes().into()))
    };
    Some((part, predicate))
}

fn text_literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => text_of(value),
        _ => None,
    }
}

fn bytes_of<'v>(value: &'v Value<'_>) -> Option<&'v [u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn bytes_bound(bound: &Bound<Value<'_>>) -> Option<BytesBound> {
    Some(match bound {
        Bound::Included(value) => Bound::Included(Bytes::copy_from_slice(bytes_of(value)?)),
        Bound::Excluded(value) => Bound::Excluded(Bytes::copy_from_slice(bytes_of(value)?)),
        Bound::Unbounded => return None,
    })
}

/// Returns the least bytes that are above all that begin with a prefix.
fn successor(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end.into())
}

/// Returns `true` if a predicate permits bytes, or may.
fn holds(predicate: &Predicate, bytes: &[u8]) -> bool {
    let is = |value: &Value<'_>| bytes_of(value).is_none_or(|value| value == bytes);
    match predicate {
        Predicate::Equals(value) => is(value),
        Predicate::In(values) => values.iter().any(is),
        Predicate::Prefix(prefix) => bytes.starts_with(prefix),
        Predicate::Range { low, high } => {
            let above = match bytes_bound(low) {
                Some(Bound::Included(low)) => bytes >= &low[..],
                Some(Bound::Excluded(low)) => bytes > &low[..],
                Some(Bound::Unbounded) | None => true,
            };
            let below = match bytes_bound(high) {
                Some(Bound::Included(high)) => bytes <= &high[..],
                Some(Bound::Excluded(high)) => bytes < &high[..],
                Some(Bound::Unbounded) | None => true,
            };
            above && below
        }
        Predicate::IsNull => false,
        Predicate::NotNull => true,
    }
}

/// Returns the first and the last time that a predicate permits.
fn times(predicate: &Predicate) -> (Option<i64>, Option<i64>) {
    let time = |value: &Value<'_>| match value {
        Value::Signed(time) => Some(*time),
        _ => None,
    };
    let of_bound = |bound: &Bound<Value<'_>>| match bound {
        Bound::Included(value) | Bound::Excluded(value) => time(value),
        Bound::Unbounded => None,
    };
    match predicate {
        Predicate::Equals(value) => (time(value), time(value)),
        Predicate::In(values) => {
            let times: Option<Vec<i64>> = values.iter().map(time).collect();
            let times = times.unwrap_or_default();
            (times.iter().min().copied(), times.iter().max().copied())
        }
        Predicate::Range { low, high } => (of_bound(low), of_bound(high)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_above_a_prefix() {
        assert_eq!(successor(b"a\xff").as_deref(), Some(&b"b"[..]));
        assert_eq!(successor(b"\xff"), None);
        assert_eq!(successor(b""), None);
    }
}
