//! Answers as rows of values, and whether two are the same up to rounding.

use halite::sql::datafusion::arrow::array::{Array as _, AsArray as _, RecordBatch};
use halite::sql::datafusion::arrow::compute::cast;
use halite::sql::datafusion::arrow::datatypes::{DataType, Float64Type};

use crate::error::Result;

/// Digits behind the point to which averages and quotients of decimals are rounded.
const ROUNDED: f64 = 1e-5;
/// Sums of doubles differ in their last digits.
const RELATIVE: f64 = 1e-9;

/// Value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Number(f64),
    Text(String),
}

impl Value {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => {
                (one - other).abs() <= ROUNDED + RELATIVE * other.abs()
            }
            (one, other) => one == other,
        }
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (one, other) => one.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
        }
    }
}

/// Rows of an answer.
pub(super) type Answer = Vec<Vec<Value>>;

/// Returns the rows of batches.
pub(super) fn of_batches(batches: &[RecordBatch]) -> Result<Answer> {
    let mut rows = Vec::new();
    for batch in batches {
        let mut columns = Vec::new();
        for column in batch.columns() {
            let is_number = column.data_type().is_numeric();
            let to = if is_number { DataType::Float64 } else { DataType::Utf8 };
            columns.push(cast(column, &to)?);
        }
        for row in 0..batch.num_rows() {
            let value =
                |column: &std::sync::Arc<dyn halite::sql::datafusion::arrow::array::Array>| {
                    if column.is_null(row) {
                        return Value::Null;
                    }
                    match column.as_primitive_opt::<Float64Type>() {
                        Some(numbers) => Value::Number(numbers.value(row)),
                        None => Value::Text(column.as_string::<i32>().value(row).to_owned()),
                    }
                };
            rows.push(columns.iter().map(value).collect());
        }
    }
    Ok(rows)
}

/// Returns the rows of a query of SQLite.
pub(super) fn of_sqlite(sqlite: &rusqlite::Connection, query: &str) -> Result<Answer> {
    use rusqlite::types::ValueRef;
    let mut statement = sqlite.prepare(query)?;
    let width = statement.column_count();
    let mut rows = statement.query([])?;
    let mut answer = Vec::new();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(width);
        for at in 0..width {
            values.push(match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Number(number as f64),
                ValueRef::Real(number) => Value::Number(number),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            });
        }
        answer.push(values);
    }
    Ok(answer)
}

/// Returns what the first difference is; `None` if the answers are the same. Rows that the order of
/// a query leaves equal may change places.
pub(super) fn difference(found: &Answer, expected: &Answer) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} rows instead of {}", found.len(), expected.len()));
    }
    let Some(first) = unequal(found, expected) else { return None };
    let sorted = |answer: &Answer| {
        let mut rows = answer.clone();
        rows.sort_by(|one, other| {
            let mut pairs = one.iter().zip(other).map(|(one, other)| one.order(other));
            pairs.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        rows
    };
    unequal(&sorted(found), &sorted(expected))?;
    Some(format!("row {first} is {:?} instead of {:?}", found[first], expected[first]))
}

fn unequal(found: &Answer, expected: &Answer) -> Option<usize> {
    let is_same = |(one, other): (&Vec<Value>, &Vec<Value>)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is(other))
    };
    found.iter().zip(expected).position(|rows| !is_same(rows))
}
