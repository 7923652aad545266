//! Arrow arrays of `MAP` columns.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, MapArray, StringBuilder, StructArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use halite_rowkey::value::{FieldType, Value};

use super::builder::ColumnBuilder;

/// Array of maps that grows by one entry at a time.
pub(crate) struct MapColumnBuilder {
    entries: FieldRef,
    keys: Keys,
    values: ColumnBuilder,
    /// Entries of each map so far.
    lengths: Vec<usize>,
    open: usize,
}

enum Keys {
    Text(StringBuilder),
    Other(ColumnBuilder),
}

impl MapColumnBuilder {
    /// Creates an empty array for a field of `map_field`, with keys and values of these types.
    pub(crate) fn new(field: &Field, key: FieldType, value: FieldType) -> Self {
        let entries = match field.data_type() {
            DataType::Map(entries, _) => Arc::clone(entries),
            _ => Arc::new(field.clone()),
        };
        let keys = if key.is_text() {
            Keys::Text(StringBuilder::new())
        } else {
            Keys::Other(ColumnBuilder::new(key))
        };
        Self { entries, keys, values: ColumnBuilder::new(value), lengths: Vec::new(), open: 0 }
    }

    /// Adds an entry to the map of the current row. A value that is none of its type becomes null.
    ///
    /// # Errors
    /// What is wrong with the value or the key, as the end of a sentence; a key that is none of its
    /// type has no entry.
    pub(crate) fn push(
        &mut self,
        key: &Value<'_>,
        value: Result<Value<'_>, String>,
    ) -> Result<(), String> {
        match (&mut self.keys, key) {
            (Keys::Text(keys), Value::Text(text)) => keys.append_value(text),
            (Keys::Text(_), other) => return Err(format!("its key is {}", other.kind_name())),
            (Keys::Other(keys), key) => keys.append(key)?,
        }
        self.open += 1;
        let appended = value.and_then(|value| self.values.append(&value));
        if appended.is_err() {
            self.values.append_null();
        }
        appended
    }

    /// Ends the map of the current row.
    pub(crate) fn end_row(&mut self) {
        self.lengths.push(std::mem::take(&mut self.open));
    }

    /// Returns the array, and begins an empty one.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        let keys: ArrayRef = match &mut self.keys {
            Keys::Text(keys) => Arc::new(keys.finish()),
            Keys::Other(keys) => keys.finish(),
        };
        let values = self.values.finish();
        let offsets = OffsetBuffer::from_lengths(std::mem::take(&mut self.lengths));
        let fields = match self.entries.data_type() {
            DataType::Struct(fields) => fields.clone(),
            _ => datafusion::arrow::datatypes::Fields::empty(),
        };
        debug_assert_eq!(keys.len(), values.len(), "an entry is a key and a value");
        let entries = StructArray::new(fields, vec![keys, values], None);
        Arc::new(MapArray::new(Arc::clone(&self.entries), offsets, entries, None, false))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::AsArray as _;
    use datafusion::arrow::datatypes::Int32Type;
    use halite_rowkey::language::Statement;

    use super::*;
    use crate::types::map_field;

    #[test]
    fn maps_have_the_entries_of_their_rows() {
        let text = "CREATE TABLE t (m MAP(I32, STRING) FAMILY f, ROW KEY (k STRING))";
        let Ok(Statement::CreateTable(declared)) = text.parse() else { panic!("{text}") };
        let field = map_field(&declared.columns[0]);
        let mut maps = MapColumnBuilder::new(&field, FieldType::I32, FieldType::String);
        maps.push(&Value::Signed(1), Ok("one".into())).unwrap();
        maps.push(&Value::Signed(2), Err("damaged".to_owned())).unwrap_err();
        maps.push(&Value::Signed(1 << 40), Ok("none".into())).unwrap_err();
        maps.end_row();
        maps.end_row();
        maps.push(&Value::Signed(3), Ok("three".into())).unwrap();
        maps.end_row();
        let array = maps.finish();
        assert_eq!(array.data_type(), field.data_type());
        let maps = array.as_map();
        let keys = maps.keys().as_primitive::<Int32Type>();
        let lengths: Vec<i32> = (0..3).map(|at| maps.value_length(at)).collect();
        assert_eq!((lengths.as_slice(), &keys.values()[..]), (&[2, 0, 1][..], &[1, 2, 3][..]));
        let values = maps.values().as_string_view();
        assert_eq!((values.value(0), values.is_null(1), values.value(2)), ("one", true, "three"));
    }
}
