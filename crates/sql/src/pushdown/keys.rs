//! Conditions on the fields of a key, for the planner of `halite-rowkey`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use halite_rowkey::FieldId;
use halite_rowkey::plan::{Condition, Predicate};
use halite_rowkey::value::Value;

use super::comparison::{Comparison, Test, comparison};
use crate::catalog::shape::{Source, TableShape};

/// Terms of an OR that are considered; longer ones narrow nothing.
const MAX_TERMS: usize = 4096;

/// Conditions that hold for all rows of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyConditions {
    /// Conditions, all of which hold.
    pub(crate) conditions: Vec<Condition>,
    /// `true` if they hold for no other rows.
    pub(crate) is_exact: bool,
}

/// Returns the conditions on fields of the key that an expression implies; `None` if it implies
/// none.
pub(crate) fn conditions(shape: &TableShape, expr: &Expr) -> Option<KeyConditions> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            all_of(conditions(shape, left), conditions(shape, right))
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => {
            let mut terms = Vec::new();
            flatten(expr, &mut terms);
            if terms.len() > MAX_TERMS {
                return None;
            }
            let terms: Option<Vec<_>> =
                terms.into_iter().map(|term| conditions(shape, term)).collect();
            any_of(&terms?)
        }
        _ => match comparison(shape, expr) {
            Some(found) => of_comparison(shape, found),
            None => of_row_values(shape, expr),
        },
    }
}

/// Returns the terms of nested ORs, without recursion on the left side, where they nest deeply.
fn flatten<'e>(mut expr: &'e Expr, terms: &mut Vec<&'e Expr>) {
    while let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = expr {
        match right.as_ref() {
            Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => flatten(right, terms),
            term => terms.push(term),
        }
        expr = left;
    }
    terms.push(expr);
}

fn of_comparison(shape: &TableShape, found: Comparison) -> Option<KeyConditions> {
    let Source::Key(field) = shape.columns[found.column].source else { return None };
    let Test::Is(predicate) = found.test else { return None };
    // A field of which the key has only a hash is looked up by single values.
    if shape.key.is_only_hashed(field) && !matches!(predicate, Predicate::Equals(_)) {
        return None;
    }
    // Null are also the fields of rows whose keys are none, wherever they are.
    if shape.null_keys && predicate == Predicate::IsNull {
        return None;
    }
    let is_exact = found.is_exact && (shape.is_whole(field) || shape.key.is_only_hashed(field));
    Some(KeyConditions { conditions: vec![Condition { field, predicate }], is_exact })
}

fn all_of(left: Option<KeyConditions>, right: Option<KeyConditions>) -> Option<KeyConditions> {
    match (left, right) {
        (Some(mut left), Some(right)) => {
            left.conditions.extend(right.conditions);
            left.is_exact &= right.is_exact;
            Some(left)
        }
        (Some(one), None) | (None, Some(one)) => Some(KeyConditions { is_exact: false, ..one }),
        (None, None) => None,
    }
}

/// Returns the conditions of one of several terms: for each field that all of them restrict, the
/// values of all. That is more than the terms permit together, unless they are lists of one field.
fn any_of(terms: &[KeyConditions]) -> Option<KeyConditions> {
    let by_field = |term: &KeyConditions| {
        let mut fields: BTreeMap<FieldId, Vec<Predicate>> = BTreeMap::new();
        for condition in &term.conditions {
            fields.entry(condition.field).or_default().push(condition.predicate.clone());
        }
        fields
    };
    let terms_by_field: Vec<_> = terms.iter().map(by_field).collect();
    let mut conditions = Vec::new();
    for &field in terms_by_field.first()?.keys() {
        let of_terms: Option<Vec<&Predicate>> =
            terms_by_field.iter().map(|fields| fields.get(&field).map(|of| &of[0])).collect();
        if let Some(predicate) = of_terms.and_then(|predicates| union(&predicates)) {
            conditions.push(Condition { field, predicate });
        }
    }
    let is_list = |term: &KeyConditions| {
        let of_list =
            |predicate: &Predicate| matches!(predicate, Predicate::Equals(_) | Predicate::In(_));
        term.is_exact && matches!(term.conditions.as_slice(), [only] if of_list(&only.predicate))
    };
    let is_exact = terms.iter().all(is_list) && conditions.len() == 1;
    (!conditions.is_empty()).then_some(KeyConditions { conditions, is_exact })
}

/// Returns a predicate that permits the values of all `predicates`.
fn union(predicates: &[&Predicate]) -> Option<Predicate> {
    let mut values = Vec::new();
    for predicate in predicates {
        match predicate {
            Predicate::Equals(value) => values.push(value.clone()),
            Predicate::In(more) => values.extend(more.iter().cloned()),
            _ => return hull(predicates),
        }
    }
    Some(Predicate::In(values))
}

/// Returns the range from the least to the greatest value.
fn hull(predicates: &[&Predicate]) -> Option<Predicate> {
    let mut ranges = predicates.iter().map(|predicate| range_of(predicate));
    let (mut low, mut high) = ranges.next()??;
    for range in ranges {
        let (other_low, other_high) = range?;
        if begins_before(&other_low, &low) {
            low = other_low;
        }
        if ends_after(&other_high, &high) {
            high = other_high;
        }
    }
    if (&low, &high) == (&Bound::Unbounded, &Bound::Unbounded) {
        return None;
    }
    Some(Predicate::Range { low, high })
}

type Range = (Bound<Value<'static>>, Bound<Value<'static>>);

fn range_of(predicate: &Predicate) -> Option<Range> {
    match predicate {
        Predicate::Range { low, high } => Some((low.clone(), high.clone())),
        Predicate::Equals(value) => {
            Some((Bound::Included(value.clone()), Bound::Included(value.clone())))
        }
        Predicate::In(values) => {
            let least = values.iter().min_by(|one, other| order(one, other))?;
            let most = values.iter().max_by(|one, other| order(one, other))?;
            Some((Bound::Included(least.clone()), Bound::Included(most.clone())))
        }
        Predicate::Prefix(prefix) => {
            let text = std::str::from_utf8(prefix).ok()?.to_owned();
            Some((Bound::Included(Value::Text(text.into())), Bound::Unbounded))
        }
        Predicate::IsNull | Predicate::NotNull => None,
    }
}

fn begins_before(one: &Bound<Value<'_>>, other: &Bound<Value<'_>>) -> bool {
    match (one, other) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(one), Bound::Excluded(other)) => is_at_most(one, other),
        (Bound::Included(one) | Bound::Excluded(one), Bound::Included(other))
        | (Bound::Excluded(one), Bound::Excluded(other)) => is_below(one, other),
    }
}

fn ends_after(one: &Bound<Value<'_>>, other: &Bound<Value<'_>>) -> bool {
    match (one, other) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(one), Bound::Excluded(other)) => is_at_most(other, one),
        (Bound::Included(one) | Bound::Excluded(one), Bound::Included(other))
        | (Bound::Excluded(one), Bound::Excluded(other)) => is_below(other, one),
    }
}

fn order(one: &Value<'_>, other: &Value<'_>) -> Ordering {
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.compare(other),
    }
}

fn number(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Unsigned(number) => Some(i128::from(*number)),
        Value::Signed(number) => Some(i128::from(*number)),
        _ => None,
    }
}

fn is_below(one: &Value<'_>, other: &Value<'_>) -> bool {
    order(one, other) == Ordering::Less
}

fn is_at_most(one: &Value<'_>, other: &Value<'_>) -> bool {
    order(one, other) != Ordering::Greater
}

/// Row values: `(a, b) > (x, y)` bounds `a`, `(a, b) IN (..)` lists the values of each.
fn of_row_values(shape: &TableShape, expr: &Expr) -> Option<KeyConditions> {
    let (row, op, constants): (_, _, Vec<&Expr>) = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match elements(left) {
            Some(_) => (left.as_ref(), *op, vec![right.as_ref()]),
            None => (right.as_ref(), op.swap()?, vec![left.as_ref()]),
        },
        Expr::InList(InList { expr, list, negated: false }) => {
            (expr.as_ref(), Operator::Eq, list.iter().collect())
        }
        _ => return None,
    };
    let columns = elements(row)?;
    let rows: Option<Vec<Vec<Expr>>> = constants.into_iter().map(constant_row).collect();
    let rows = rows.filter(|rows| rows.iter().all(|row| row.len() == columns.len()))?;
    let (first, op) = match op {
        Operator::Eq => (columns.len(), Operator::Eq),
        Operator::Lt | Operator::LtEq => (1, Operator::LtEq),
        Operator::Gt | Operator::GtEq => (1, Operator::GtEq),
        _ => return None,
    };
    let of_column = |at: usize| {
        let terms = rows.iter().map(|row| {
            let one = BinaryExpr::new(Box::new(columns[at].clone()), op, Box::new(row[at].clone()));
            conditions(shape, &Expr::BinaryExpr(one))
        });
        any_of(&terms.collect::<Option<Vec<_>>>()?)
    };
    let found: Vec<Condition> =
        (0..first).filter_map(of_column).flat_map(|found| found.conditions).collect();
    (!found.is_empty()).then_some(KeyConditions { conditions: found, is_exact: false })
}

/// Returns the columns of a row value.
fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::ScalarFunction(function) if function.name() == "struct" => Some(&function.args),
        Expr::Cast(cast) => elements(&cast.expr),
        _ => None,
    }
}

/// Returns the constants of a row value.
fn constant_row(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Literal(ScalarValue::Struct(row), _) => row
            .columns()
            .iter()
            .map(|column| {
                ScalarValue::try_from_array(column, 0).ok().map(|value| Expr::Literal(value, None))
            })
            .collect(),
        other => elements(other).map(<[Expr]>::to_vec),
    }
}
