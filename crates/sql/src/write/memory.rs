//! Memory of the rows that a statement keeps while it writes, from that of all statements.

use datafusion::arrow::array::{Array, AsArray as _, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::execution::memory_pool::MemoryReservation;
use halite_rowkey::value::Value;
use halite_types::Bytes;

use super::row::ColumnValue;
use crate::error::Result;
use crate::session::interrupt::Running as RunningQuery;

/// Bytes of a row in a list or a set, besides its key and its values.
const ROW_BYTES: usize = 96;
/// Bytes of a text or of bytes in an array of views, and those that it has in place.
const VIEW_BYTES: usize = 16;
const VIEW_IN_PLACE: usize = 12;

/// Memory of one statement, which is given back at its end.
pub(super) struct KeptMemory(pub(super) MemoryReservation);

impl KeptMemory {
    /// Takes memory.
    ///
    /// # Errors
    /// `OutOfMemory` if the statements hold all that there is.
    pub(super) fn take(&self, bytes: usize) -> Result<()> {
        Ok(self.0.try_grow(bytes)?)
    }

    /// Gives memory back.
    pub(super) fn give_back(&self, bytes: usize) {
        self.0.shrink(bytes.min(self.0.size()));
    }

    /// Reads a query to its end.
    ///
    /// # Errors
    /// The error that ended it; `OutOfMemory`.
    pub(super) async fn all(&self, rows: &mut RunningQuery) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while let Some(batch) = rows.next().await? {
            self.take(bytes_of_batch(&batch))?;
            batches.push(batch);
        }
        Ok(batches)
    }
}

/// Returns the bytes of a row that is kept with some of its values.
pub(super) fn bytes_of_row(row: &Bytes, values: &[ColumnValue<'_>]) -> usize {
    let of_value = |(_, value): &ColumnValue<'_>| {
        let text = match value {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        size_of::<ColumnValue<'_>>() + text
    };
    ROW_BYTES + row.len() + values.iter().map(of_value).sum::<usize>()
}

/// Returns the bytes of the rows of a batch, which may be some of those of a larger one.
fn bytes_of_batch(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| bytes_of_array(column.as_ref())).sum()
}

/// Returns the bytes of the values of an array, which may be some of those of a larger one.
pub(crate) fn bytes_of_array(array: &dyn Array) -> usize {
    let of_view = |bytes: usize| VIEW_BYTES + if bytes > VIEW_IN_PLACE { bytes } else { 0 };
    match array.data_type() {
        DataType::Utf8View => {
            let texts = array.as_string_view().iter();
            texts.map(|text| of_view(text.map_or(0, str::len))).sum()
        }
        DataType::BinaryView => {
            let values = array.as_binary_view().iter();
            values.map(|bytes| of_view(bytes.map_or(0, <[u8]>::len))).sum()
        }
        _ => {
            let of_slice = array.to_data().get_slice_memory_size();
            of_slice.unwrap_or_else(|_| array.get_array_memory_size())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{Int64Array, StringViewArray};
    use datafusion::arrow::datatypes::{Field, Schema};

    use super::*;

    #[test]
    fn slices_count_their_own_rows() {
        let numbers = Int64Array::from_iter_values(0..1000);
        let texts = StringViewArray::from_iter_values((0..1000).map(|_| "longer than in place"));
        let schema = Schema::new(vec![
            Field::new("n", DataType::Int64, false),
            Field::new("t", DataType::Utf8View, false),
        ]);
        let columns: Vec<Arc<dyn Array>> = vec![Arc::new(numbers), Arc::new(texts)];
        let all = RecordBatch::try_new(Arc::new(schema), columns).expect("a batch");
        assert_eq!(bytes_of_batch(&all), 1000 * (8 + 16 + 20));
        assert_eq!(bytes_of_batch(&all.slice(500, 10)), 10 * (8 + 16 + 20));
    }
}
