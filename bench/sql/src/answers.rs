//! Answers as rows of values, and whether two are the same up to rounding.

use halite::sql::datafusion::arrow::array::{Array as _, AsArray as _, RecordBatch};
use halite::sql::datafusion::arrow::compute::cast;
use halite::sql::datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};

use crate::error::Result;

/// Digits behind the point to which averages and quotients of decimals are rounded.
const ROUNDED: f64 = 1e-5;
/// Sums of doubles differ in their last digits.
const RELATIVE: f64 = 1e-9;

/// Value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    /// Exact, unlike a [`Value::Number`] of 16 digits.
    Whole(i64),
    Number(f64),
    Text(String),
}

impl Value {
    /// Returns `true` if the values are the same up to rounding.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one == other,
            (one, other) => match (one.number(), other.number()) {
                (Some(one), Some(other)) => (one - other).abs() <= ROUNDED + RELATIVE * other.abs(),
                _ => one == other,
            },
        }
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one.cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (one, other) => match (one.number(), other.number()) {
                (Some(one), Some(other)) => one.total_cmp(&other),
                _ => one.rank().cmp(&other.rank()),
            },
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Number(number) => Some(*number),
            Self::Null | Self::Text(_) => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Whole(_) | Self::Number(_) => 1,
            Self::Text(_) => 2,
        }
    }
}

/// Rows of an answer.
pub(crate) type Answer = Vec<Vec<Value>>;

/// Returns the rows of batches.
pub(crate) fn of_batches(batches: &[RecordBatch]) -> Result<Answer> {
    let mut rows = Vec::new();
    for batch in batches {
        let mut columns = Vec::new();
        for column in batch.columns() {
            let to = match column.data_type() {
                // Those above the greatest I64 are not whole numbers of SQLite.
                DataType::UInt64 => DataType::Float64,
                ty if ty.is_integer() => DataType::Int64,
                ty if ty.is_numeric() => DataType::Float64,
                _ => DataType::Utf8,
            };
            columns.push(cast(column, &to)?);
        }
        for row in 0..batch.num_rows() {
            let value =
                |column: &std::sync::Arc<dyn halite::sql::datafusion::arrow::array::Array>| {
                    if column.is_null(row) {
                        return Value::Null;
                    }
                    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
                        return Value::Whole(numbers.value(row));
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
pub(crate) fn of_sqlite(sqlite: &rusqlite::Connection, query: &str) -> Result<Answer> {
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
                ValueRef::Integer(number) => Value::Whole(number),
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
pub(crate) fn difference(found: &Answer, expected: &Answer) -> Option<String> {
    let first = difference_in_order(found, expected)?;
    if found.len() != expected.len() {
        return Some(first);
    }
    difference_in_order(&sorted(found), &sorted(expected)).map(|_| first)
}

/// Returns what the first difference is of answers whose order is total; `None` without one.
pub(crate) fn difference_in_order(found: &Answer, expected: &Answer) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} rows instead of {}", found.len(), expected.len()));
    }
    let is_same = |(one, other): (&Vec<Value>, &Vec<Value>)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is(other))
    };
    let row = found.iter().zip(expected).position(|rows| !is_same(rows))?;
    Some(format!("row {row} is {:?} instead of {:?}", found[row], expected[row]))
}

fn sorted(answer: &Answer) -> Answer {
    let mut rows = answer.clone();
    rows.sort_by(|one, other| {
        let mut pairs = one.iter().zip(other).map(|(one, other)| one.order(other));
        pairs.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}
