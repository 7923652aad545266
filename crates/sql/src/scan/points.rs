//! Points of a bucket row: each is a row of the answer, or all are lists of one.

use halite_rowkey::series::{SeriesColumn, SeriesError};
use halite_rowkey::value::{FieldType, Value};
use halite_types::Row;

/// Points of one row. Those of several `SERIES` at one time are one.
#[derive(Default)]
pub(super) struct PointRows {
    /// Times after the start of the bucket, ascending.
    offsets: Vec<i64>,
    /// Numbers of each time, one for each series.
    numbers: Vec<Option<f64>>,
    series: usize,
}

/// One point.
#[derive(Clone, Copy)]
pub(super) struct PointRow<'p> {
    offset: i64,
    numbers: &'p [Option<f64>],
}

impl PointRows {
    /// Returns the points of a row. `refuse` is called for a series whose cells are damaged, which
    /// has no points if that is no error.
    ///
    /// # Errors
    /// The first error of `refuse`.
    pub(super) fn of<E>(
        row: &Row,
        series: &[SeriesColumn],
        mut refuse: impl FnMut(&SeriesColumn, SeriesError) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut found: Vec<(i64, usize, f64)> = Vec::new();
        for (at, column) in series.iter().enumerate() {
            match column.points(row.iter()) {
                Ok(of) => {
                    found.extend(of.points.iter().map(|point| (point.offset, at, point.value)));
                }
                Err(error) => refuse(column, error)?,
            }
        }
        if series.len() > 1 {
            found.sort_by_key(|(offset, at, _)| (*offset, *at));
        }
        let mut rows = Self { series: series.len(), ..Self::default() };
        for (offset, at, number) in found {
            if rows.offsets.last() != Some(&offset) {
                rows.offsets.push(offset);
                rows.numbers.resize(rows.offsets.len() * series.len(), None);
            }
            let last = rows.numbers.len() - series.len();
            rows.numbers[last + at] = Some(number);
        }
        Ok(rows)
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the points, ascending or descending.
    pub(super) fn iter(&self, is_descending: bool) -> impl Iterator<Item = PointRow<'_>> {
        let count = self.offsets.len();
        (0..count).map(move |at| {
            let at = if is_descending { count - 1 - at } else { at };
            let numbers = &self.numbers[at * self.series..(at + 1) * self.series];
            PointRow { offset: self.offsets[at], numbers }
        })
    }
}

impl PointRow<'_> {
    /// Returns the time of the point, from that of its bucket.
    pub(super) fn time(&self, bucket: &Value<'_>) -> Value<'static> {
        match bucket {
            Value::Signed(start) => Value::Signed(start.saturating_add(self.offset)),
            Value::Unsigned(start) => Value::Unsigned(start.saturating_add_signed(self.offset)),
            _ => Value::Null,
        }
    }

    /// Returns the number of a series as a value of its type; null where it has no point.
    #[expect(clippy::cast_possible_truncation, reason = "cells of the type were read")]
    #[expect(clippy::cast_sign_loss, reason = "cells of an unsigned type were read")]
    pub(super) fn value(&self, series: usize, ty: FieldType) -> Value<'static> {
        let Some(number) = self.numbers.get(series).copied().flatten() else { return Value::Null };
        match ty {
            FieldType::F32 => Value::F32(number as f32),
            FieldType::F64 => Value::F64(number),
            _ if ty.integer_range().is_some_and(|(least, _)| least < 0) => {
                Value::Signed(number as i64)
            }
            _ => Value::Unsigned(number as u64),
        }
    }
}
