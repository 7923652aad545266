//! Whether an answer is right where the order of a query leaves rows equal.

use std::sync::Arc;

use halite::sql::datafusion::arrow::array::RecordBatch;
use halite::sql::datafusion::arrow::compute::cast;
use halite::sql::datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use super::queries::Query;
use crate::answers::{Answer, Value, difference, difference_in_order, of_batches};
use crate::error::Result;

/// Returns the rows of batches with days and times as numbers, as SQLite has them.
pub(super) fn rows_of(batches: &[RecordBatch]) -> Result<Answer> {
    let numbered: Vec<RecordBatch> = batches.iter().map(with_numbers).collect::<Result<_>>()?;
    of_batches(&numbered)
}

fn with_numbers(batch: &RecordBatch) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for column in batch.columns() {
        let column = match column.data_type() {
            DataType::Date32 => cast(column, &DataType::Int32)?,
            DataType::Timestamp(_, zone) => {
                let millis = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
                cast(&cast(column, &millis)?, &DataType::Int64)?
            }
            _ => Arc::clone(column),
        };
        // Names do not count, and may repeat.
        fields.push(Field::new("", column.data_type().clone(), true));
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// Returns what the first difference is between the answer of a query as ClickBench writes it and
/// that with a total order. Of rows that tie with the last one, or after an OFFSET with the first
/// one, the values of the order are compared, and of all others every value.
pub(super) fn difference_up_to_ties(
    query: &Query,
    found: &Answer,
    expected: &Answer,
) -> Option<String> {
    if !query.has_ties() {
        return difference_in_order(found, expected);
    }
    let ordered = |answer: &Answer| answer.iter().map(|row| order_of(query, row)).collect();
    let (found_order, expected_order): (Answer, Answer) = (ordered(found), ordered(expected));
    if let Some(what) = difference_in_order(&found_order, &expected_order) {
        return Some(format!("order: {what}"));
    }
    let mut tied: Vec<&Vec<Value>> = expected_order.last().into_iter().collect();
    if query.has_offset() {
        tied.extend(expected_order.first());
    }
    let others = |answer: &Answer| {
        let mut rows = answer.clone();
        rows.retain(|row| {
            let order = order_of(query, row);
            !tied.iter().any(|tied| tied.iter().zip(&order).all(|(one, other)| one.is(other)))
        });
        rows
    };
    difference(&others(found), &others(expected))
}

fn order_of(query: &Query, row: &[Value]) -> Vec<Value> {
    query.ordered.iter().filter_map(|at| row.get(*at).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::queries::queries;
    use super::difference_up_to_ties;
    use crate::answers::{Answer, Value};

    fn answer(rows: &[(&str, i64)]) -> Answer {
        let row = |(text, count): &(&str, i64)| {
            vec![Value::Text((*text).to_owned()), Value::Whole(*count)]
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn only_rows_that_tie_with_the_last_one_may_be_others() {
        let query = &queries()[12];
        let expected = answer(&[("a", 9), ("b", 3), ("c", 3)]);
        let is_right =
            |rows: &[(&str, i64)]| difference_up_to_ties(query, &answer(rows), &expected).is_none();
        assert!(is_right(&[("a", 9), ("d", 3), ("b", 3)]));
        assert!(!is_right(&[("d", 9), ("b", 3), ("c", 3)]));
        assert!(!is_right(&[("a", 9), ("b", 3), ("c", 2)]));
        assert!(!is_right(&[("a", 9), ("b", 3)]));
        assert!(!is_right(&[("b", 3), ("a", 9), ("c", 3)]));
    }
}
