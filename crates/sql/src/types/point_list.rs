//! Arrow arrays of a `SERIES` in bucket rows: each value is the list of the row's points.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, ListArray, StructArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use halite_rowkey::value::{FieldType, Value};

use super::arrow_field;
use super::builder::ColumnBuilder;

/// Returns the members of a point: its time and its number.
fn members(time: FieldType, number: FieldType) -> Fields {
    Fields::from(vec![arrow_field("ts", time, true), arrow_field("value", number, false)])
}

fn item(time: FieldType, number: FieldType) -> Field {
    Field::new_list_field(DataType::Struct(members(time, number)), false)
}

/// Returns the Arrow field of a `SERIES` of bucket rows: a list of points, null without any. The
/// time of a point is null where the key of its row cannot be read.
pub(crate) fn point_list_field(name: &str, time: FieldType, number: FieldType) -> Field {
    Field::new(name, DataType::List(Arc::new(item(time, number))), true)
}

/// Array of lists that grows by one point at a time.
pub(crate) struct PointListBuilder {
    types: (FieldType, FieldType),
    times: ColumnBuilder,
    numbers: ColumnBuilder,
    /// Points of each list so far.
    lengths: Vec<usize>,
    open: usize,
}

impl PointListBuilder {
    /// Creates an empty array of points with times and numbers of these types.
    pub(crate) fn new(time: FieldType, number: FieldType) -> Self {
        Self {
            types: (time, number),
            times: ColumnBuilder::new(time),
            numbers: ColumnBuilder::new(number),
            lengths: Vec::new(),
            open: 0,
        }
    }

    /// Adds a point to the list of the current row.
    ///
    /// # Errors
    /// What is wrong with the time or the number, as the end of a sentence; the array is of no use
    /// then.
    pub(crate) fn push(&mut self, time: &Value<'_>, number: &Value<'_>) -> Result<(), String> {
        self.times.append(time)?;
        self.numbers.append(number)?;
        self.open += 1;
        Ok(())
    }

    /// Ends the list of the current row, which is null without points.
    pub(crate) fn end_row(&mut self) {
        self.lengths.push(std::mem::take(&mut self.open));
    }

    /// Returns the array, and begins an empty one.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        let (times, numbers) = (self.times.finish(), self.numbers.finish());
        let lengths = std::mem::take(&mut self.lengths);
        let known: NullBuffer = lengths.iter().map(|length| *length > 0).collect();
        debug_assert_eq!(times.len(), numbers.len(), "a point is a time and a number");
        let (time, number) = self.types;
        let points = StructArray::new(members(time, number), vec![times, numbers], None);
        let offsets = OffsetBuffer::from_lengths(lengths);
        let item = Arc::new(item(time, number));
        Arc::new(ListArray::new(item, offsets, Arc::new(points), Some(known)))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::AsArray as _;
    use datafusion::arrow::datatypes::Float64Type;
    use halite_rowkey::value::TimeUnit;

    use super::*;

    #[test]
    fn lists_have_the_points_of_their_rows() {
        let time = FieldType::Timestamp(TimeUnit::Millis);
        let mut lists = PointListBuilder::new(time, FieldType::F64);
        lists.push(&Value::Signed(1), &Value::F64(0.5)).unwrap();
        lists.push(&Value::Signed(2), &Value::F64(1.5)).unwrap();
        lists.end_row();
        lists.end_row();
        lists.push(&Value::Null, &Value::F64(2.5)).unwrap();
        lists.end_row();
        let array = lists.finish();
        assert_eq!(array.data_type(), point_list_field("p", time, FieldType::F64).data_type());
        let array = array.as_list::<i32>();
        let nulls: Vec<bool> = (0..3).map(|row| array.is_null(row)).collect();
        assert_eq!(nulls, [false, true, false]);
        let points = array.values().as_struct();
        let numbers = points.column(1).as_primitive::<Float64Type>();
        assert_eq!((array.value_length(0), &numbers.values()[..]), (2, &[0.5, 1.5, 2.5][..]));
        assert_eq!((points.column(0).null_count(), lists.finish().len()), (1, 0));
    }
}
