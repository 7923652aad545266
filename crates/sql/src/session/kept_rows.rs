//! Rows of a query that a temporary table is to keep: as its columns have them, each batch counted
//! before the next one comes.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array as _, ArrayRef, AsArray as _, RecordBatch, RecordBatchOptions, UInt32Array,
    new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, take};
use datafusion::arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::sql::sqlparser::ast::Ident;

use crate::catalog::local::{SessionTables, TempTable};
use crate::error::{Result, SqlError, SqlState};
use crate::names::by_case;
use crate::write::bytes_of_array;

/// Bytes of a batch, and of each of its columns, besides those of their values.
const PART_BYTES: usize = 256;
/// Bytes of a value that has none of its own width, at least.
const VARIABLE_BYTES: usize = 16;

/// Rows that are kept.
pub(super) struct KeptRows<'s> {
    tables: &'s SessionTables,
    memory: MemoryReservation,
    /// Columns of the table.
    pub(super) schema: SchemaRef,
    /// Place of each among the columns of the query.
    places: Vec<Option<usize>>,
    batches: Vec<RecordBatch>,
}

impl<'s> KeptRows<'s> {
    pub(super) fn new(
        tables: &'s SessionTables,
        memory: MemoryReservation,
        schema: SchemaRef,
        places: Vec<Option<usize>>,
    ) -> Self {
        Self { tables, memory, schema, places, batches: Vec::new() }
    }

    /// Adds rows of the query.
    ///
    /// # Errors
    /// `OutOfMemory`; values that are none of the columns.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let held = self.memory.size();
        let widths = self.schema.fields().iter().map(|field| least_bytes(field.data_type()));
        self.hold(held, rows.saturating_mul(widths.fold(0, usize::saturating_add)))?;
        let batch = compact(&assigned(&self.schema, &self.places, batch)?)?;
        let parts = PART_BYTES.saturating_mul(1 + batch.num_columns());
        self.hold(held, batch.get_array_memory_size().saturating_add(parts))?;
        self.batches.push(batch);
        Ok(())
    }

    /// Holds memory for rows besides that which was held before them.
    fn hold(&self, before: usize, bytes: usize) -> Result<()> {
        let bytes = before.saturating_add(bytes);
        self.tables.check_room(bytes)?;
        Ok(self.memory.try_resize(bytes)?)
    }

    /// Gives all rows to the table. Returns their number.
    pub(super) fn add_to(self, table: &TempTable) -> usize {
        let rows = self.batches.iter().map(RecordBatch::num_rows).sum();
        table.add(self.batches, &self.memory);
        rows
    }
}

/// Returns the bytes that a value of a type has at least.
fn least_bytes(ty: &DataType) -> usize {
    match ty {
        DataType::Null | DataType::Boolean => 1,
        DataType::FixedSizeBinary(bytes) => usize::try_from(*bytes).unwrap_or_default(),
        DataType::FixedSizeList(item, values) => {
            least_bytes(item.data_type()).saturating_mul(usize::try_from(*values).unwrap_or(0))
        }
        DataType::Struct(fields) => {
            let widths = fields.iter().map(|field| least_bytes(field.data_type()));
            widths.fold(0, usize::saturating_add)
        }
        _ => ty.primitive_width().unwrap_or(VARIABLE_BYTES),
    }
}

/// Copies columns that hold much more than their values: some rows of larger batches.
fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let column = |array: &ArrayRef| -> Result<ArrayRef> {
        let own = bytes_of_array(array.as_ref());
        if array.get_array_memory_size() <= own.saturating_mul(2).saturating_add(PART_BYTES) {
            return Ok(Arc::clone(array));
        }
        let rows = u32::try_from(array.len()).unwrap_or(u32::MAX);
        let all = UInt32Array::from_iter_values(0..rows);
        let copied = take(array.as_ref(), &all, None).map_err(DataFusionError::from)?;
        let copied: ArrayRef = match copied.data_type() {
            DataType::Utf8View => Arc::new(copied.as_string_view().gc()),
            DataType::BinaryView => Arc::new(copied.as_binary_view().gc()),
            _ => copied,
        };
        Ok(copied)
    };
    let columns = batch.columns().iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
        .map_err(|error| DataFusionError::from(error).into())
}

/// Returns for each column of a table the position among those that are given.
pub(super) fn places(
    schema: &SchemaRef,
    columns: &[Ident],
    given: usize,
) -> Result<Vec<Option<usize>>> {
    let all = schema.fields().len();
    let mut places = vec![None; all];
    let count_error = |columns: usize| {
        let text = format!("{given} value(s) are given for {columns} column(s)");
        SqlError::new(SqlState::Syntax, text)
    };
    if columns.is_empty() {
        if given > all {
            return Err(count_error(all));
        }
        places.iter_mut().take(given).zip(0..).for_each(|(place, at)| *place = Some(at));
        return Ok(places);
    }
    if columns.len() != given {
        return Err(count_error(columns.len()));
    }
    for (at, column) in columns.iter().enumerate() {
        let mut names = schema.fields().iter().map(|field| field.name().as_str());
        let placed = |error: SqlError| error.at(column.span.start.line, column.span.start.column);
        let found = match column.quote_style {
            Some(_) => names.find(|name| *name == column.value),
            None => by_case(&column.value, names).map_err(placed)?,
        };
        let Some(found) = found.and_then(|name| schema.index_of(name).ok()) else {
            let text = format!("the temporary table has no column {}", column.value);
            return Err(placed(SqlError::new(SqlState::UndefinedColumn, text)));
        };
        places[found] = Some(at);
    }
    Ok(places)
}

/// Returns rows as those of a table.
fn assigned(
    schema: &SchemaRef,
    places: &[Option<usize>],
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let column = |(field, place): (&FieldRef, &Option<usize>)| -> Result<ArrayRef> {
        let array = match place {
            Some(at) => cast_with_options(batch.column(*at), field.data_type(), &options).map_err(
                |error| {
                    let text = format!("column {}: {error}", field.name());
                    SqlError::new(SqlState::WrongType, text)
                },
            )?,
            None => new_null_array(field.data_type(), batch.num_rows()),
        };
        if !field.is_nullable() && array.null_count() > 0 {
            let text = format!("column {} is NOT NULL, and a row has no value", field.name());
            return Err(SqlError::new(SqlState::NotNull, text));
        }
        Ok(array)
    };
    let columns = schema.fields().iter().zip(places).map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| DataFusionError::from(error).into())
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int64Array, StringViewArray};

    use super::*;

    #[test]
    fn some_rows_of_a_batch_hold_no_others() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
        let texts = StringViewArray::from_iter_values((0..10_000).map(|_| "longer than in place"));
        let texts: ArrayRef = Arc::new(texts);
        let all = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).expect("a batch");
        let some = compact(&all.slice(500, 10)).expect("rows");
        assert_eq!(some, all.slice(500, 10));
        assert!(some.get_array_memory_size() < 4000, "{}", some.get_array_memory_size());
        assert_eq!(least_bytes(&DataType::Int64), 8);
        assert_eq!(least_bytes(&DataType::Utf8View), 16);
    }
}
