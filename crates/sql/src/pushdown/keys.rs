//! Conditions on the fields of a key, for the planner of `halite-rowkey`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use halite_rowkey::FieldId;
use halite_rowkey::plan::{Condition, MAX_UNITED_QUERIES, Predicate};
use halite_rowkey::value::Value;

use super::comparison::{Comparison, Test, comparison};
use crate::catalog::shape::{Source, TableShape};
use crate::catalog::statistics::key_fields;

/// Terms of an OR that are considered; longer ones narrow nothing.
const MAX_TERMS: usize = 4096;

/// Conditions on fields of the key: those of one term hold for each row of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyConditions {
    /// Terms, one at least; all conditions of a term hold together.
    pub(crate) terms: Vec<Vec<Condition>>,
    /// `true` if they hold for no other rows.
    pub(crate) is_exact: bool,
}

/// Returns the conditions on fields of the key that an expression implies; `None` if it implies
/// none.
pub(crate) fn conditions(shape: &TableShape, expr: &Expr) -> Option<KeyConditions> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            all_of(shape, conditions(shape, left), conditions(shape, right))
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => {
            let mut terms = Vec::new();
            flatten(expr, &mut terms);
            if terms.len() > MAX_TERMS {
                return None;
            }
            let terms: Option<Vec<_>> =
                terms.into_iter().map(|term| conditions(shape, term)).collect();
            any_of(shape, terms?)
        }
        _ => match comparison(shape, expr) {
            Some(found) => of_comparison(shape, found),
            None => of_list(shape, expr).or_else(|| of_row_values(shape, expr)),
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
    Some(KeyConditions { terms: vec![vec![Condition { field, predicate }]], is_exact })
}

/// Returns the conditions of a list of values that are ranges of the field, such as hours.
fn of_list(shape: &TableShape, expr: &Expr) -> Option<KeyConditions> {
    let Expr::InList(InList { expr, list, negated: false }) = expr else { return None };
    if list.len() > MAX_UNITED_QUERIES {
        return None;
    }
    let terms = list.iter().map(|item| {
        let equal = BinaryExpr::new(expr.clone(), Operator::Eq, Box::new(item.clone()));
        of_comparison(shape, comparison(shape, &Expr::BinaryExpr(equal))?)
    });
    any_of(shape, terms.collect::<Option<Vec<_>>>()?)
}

fn all_of(
    shape: &TableShape,
    left: Option<KeyConditions>,
    right: Option<KeyConditions>,
) -> Option<KeyConditions> {
    match (left, right) {
        (Some(mut left), Some(mut right)) => {
            if left.terms.len() * right.terms.len() > MAX_UNITED_QUERIES {
                let wide =
                    if left.terms.len() > right.terms.len() { &mut left } else { &mut right };
                *wide = hull_of(shape, &wide.terms).unwrap_or_else(KeyConditions::any);
            }
            let chosen = left.terms.iter().flat_map(|one| {
                right.terms.iter().map(|other| [one.as_slice(), other.as_slice()].concat())
            });
            let is_exact = left.is_exact && right.is_exact;
            Some(KeyConditions { terms: chosen.collect(), is_exact })
        }
        (Some(one), None) | (None, Some(one)) => Some(KeyConditions { is_exact: false, ..one }),
        (None, None) => None,
    }
}

impl KeyConditions {
    /// Returns those of any row.
    fn any() -> Self {
        Self { terms: vec![Vec::new()], is_exact: false }
    }
}

/// Returns the conditions of one of several conditions: their terms, of which those that are alike
/// but for a list of one field are one; or, where they are too many, for each field that all of
/// them restrict, the values of all, which is more than the terms permit together.
fn any_of(shape: &TableShape, of: Vec<KeyConditions>) -> Option<KeyConditions> {
    let is_exact = of.iter().all(|one| one.is_exact);
    let terms = with_lists(shape, of.into_iter().flat_map(|one| one.terms).collect());
    if terms.iter().any(Vec::is_empty) {
        return None;
    }
    if terms.len() > MAX_UNITED_QUERIES {
        return hull_of(shape, &terms);
    }
    (!terms.is_empty()).then_some(KeyConditions { terms, is_exact })
}

/// Joins the terms that differ in the values of their last field only.
fn with_lists(shape: &TableShape, terms: Vec<Vec<Condition>>) -> Vec<Vec<Condition>> {
    let order = key_fields(&shape.key);
    let place = |field: FieldId| order.iter().position(|of| *of == field);
    let mut joined: Vec<Vec<Condition>> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for mut term in terms {
        term.sort_by_key(|condition| place(condition.field));
        let last = term.last().map(|last| last.field);
        let is_single = term.iter().filter(|condition| Some(condition.field) == last).count() == 1;
        let values = match term.last().map(|last| &last.predicate) {
            Some(Predicate::Equals(value)) if is_single => vec![value.clone()],
            Some(Predicate::In(values)) if is_single => values.clone(),
            _ => {
                joined.push(term);
                continue;
            }
        };
        let others = format!("{last:?} {:?}", &term[..term.len() - 1]);
        match known.get(&others) {
            Some(&at) => {
                if let Some(condition) = joined[at].last_mut() {
                    let mut all =
                        match std::mem::replace(&mut condition.predicate, Predicate::NotNull) {
                            Predicate::Equals(value) => vec![value],
                            Predicate::In(values) => values,
                            _ => Vec::new(),
                        };
                    all.extend(values);
                    condition.predicate = Predicate::In(all);
                }
            }
            None => {
                known.insert(others, joined.len());
                joined.push(term);
            }
        }
    }
    joined
}

/// Returns, for each field that all terms restrict, the values of all of them.
fn hull_of(shape: &TableShape, terms: &[Vec<Condition>]) -> Option<KeyConditions> {
    let by_field = |term: &Vec<Condition>| {
        let mut fields: BTreeMap<FieldId, Predicate> = BTreeMap::new();
        for condition in term {
            fields.entry(condition.field).or_insert_with(|| condition.predicate.clone());
        }
        fields
    };
    let by_field: Vec<_> = terms.iter().map(by_field).collect();
    let (mut conditions, mut combinations) = (Vec::new(), 1usize);
    let mut fields = key_fields(&shape.key);
    fields.extend((0..shape.key.fields().len()).filter(|field| shape.key.is_only_hashed(*field)));
    for field in fields {
        let of_terms: Option<Vec<&Predicate>> =
            by_field.iter().map(|fields| fields.get(&field)).collect();
        let Some(predicates) = of_terms else { continue };
        let mut found = union(&predicates);
        // Lists of several fields are the values of one with all of the others.
        if let Some(Predicate::In(values)) = &mut found {
            values.sort_by(order);
            values.dedup_by(|one, other| order(one, other).is_eq());
            combinations = combinations.saturating_mul(values.len().max(1));
            if combinations > MAX_TERMS && !conditions.is_empty() {
                found = hull(&predicates);
            }
        }
        conditions.extend(found.map(|predicate| Condition { field, predicate }));
    }
    (!conditions.is_empty()).then_some(KeyConditions { terms: vec![conditions], is_exact: false })
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

/// Long lists of row values, `(a, b) IN (..)`: the values of each field. Others have become
/// conditions on fields before.
fn of_row_values(shape: &TableShape, expr: &Expr) -> Option<KeyConditions> {
    let Expr::InList(InList { expr: row, list, negated: false }) = expr else { return None };
    let columns = elements(row)?;
    let rows: Option<Vec<Vec<Expr>>> = list.iter().map(constant_row).collect();
    let rows = rows.filter(|rows| rows.iter().all(|row| row.len() == columns.len()))?;
    let term = |row: &Vec<Expr>| {
        let mut term = Vec::new();
        for (column, value) in columns.iter().zip(row) {
            let equal =
                BinaryExpr::new(Box::new(column.clone()), Operator::Eq, Box::new(value.clone()));
            let found = conditions(shape, &Expr::BinaryExpr(equal));
            term.extend(found.into_iter().flat_map(|found| found.terms).flatten());
        }
        KeyConditions { terms: vec![term], is_exact: false }
    };
    any_of(shape, rows.iter().map(term).collect())
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
