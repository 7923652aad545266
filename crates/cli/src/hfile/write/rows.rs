//! Conversion of a line to the cells of a row, and the reasons why a line is bad.

use std::sync::Arc;

use csv::ByteRecord;
use halite::rowkey::{
    Dictionary, FieldType, KeyError, KeyErrorKind, KeyResolver, KeySchema, TimeUnit, Value,
};
use halite::{CellType, block_on};
use halite_types::CellRef;
use halite_types::cell::write_key;
use halite_types::op::check_row;

use super::mapping::{KeySource, Mapping, is_nullable};
use crate::key::ResolvedKey;

/// Flat key and value of a cell.
type KeyAndValue = (Vec<u8>, Vec<u8>);

/// Converter of lines to cells.
pub(super) struct RowMaker {
    pub(super) mapping: Mapping,
    /// Key that the table declares.
    pub(super) key: Option<ResolvedKey>,
    /// Resolver of values that the declared key does not contain.
    pub(super) resolver: Arc<dyn KeyResolver + Send + Sync>,
    /// Dictionary to which missing values are added.
    pub(super) assigned: Option<Arc<Dictionary>>,
    /// Timestamp of cells without a column for it, in milliseconds.
    pub(super) now_ms: i64,
    /// `true` if an empty value makes no cell.
    pub(super) skip_empty: bool,
    /// Maximum size of a cell, as for a put; 0 means no limit.
    pub(super) max_cell_bytes: usize,
}

impl RowMaker {
    /// Passes the flat key and the value of each cell of a line. Nothing is passed for a bad line.
    ///
    /// # Errors
    /// The reason why the line is bad, or an error of `each`.
    pub(super) fn cells(
        &self,
        line: &ByteRecord,
        mut each: impl FnMut(&[u8], &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Result<(), String>> {
        match self.parse(line) {
            Ok(cells) => {
                for (key, value) in &cells {
                    each(key, value)?;
                }
                Ok(Ok(()))
            }
            Err(reason) => Ok(Err(reason)),
        }
    }

    /// Returns the flat key and the value of each cell of a line.
    fn parse(&self, line: &ByteRecord) -> Result<Vec<KeyAndValue>, String> {
        let mapping = &self.mapping;
        if line.len() != mapping.width {
            return Err(format!("it has {} columns and not {}", line.len(), mapping.width));
        }
        let field = |at: usize| line.get(at).unwrap_or_default();
        let row = self.row_key(&field)?;
        check_row(&row).map_err(|error| error.message().to_owned())?;
        let timestamp = match mapping.timestamp {
            Some(at) => timestamp(field(at))?,
            None => self.now_ms,
        };
        let mut cells = Vec::with_capacity(mapping.cells.len());
        for cell in &mapping.cells {
            let text = field(cell.input);
            if self.skip_empty && text.is_empty() {
                continue;
            }
            let value = cell.ty.encode(text).map_err(|error| {
                format!(
                    "{}:{}: {error}",
                    halite::to_string_binary(&cell.family),
                    halite::to_string_binary(&cell.qualifier)
                )
            })?;
            let mut key = Vec::new();
            let code = CellType::Put.code();
            write_key(&mut key, &row, &cell.family, &cell.qualifier, timestamp, code);
            let bytes = CellRef::new(&key, &value, &[], 0).encoded_len();
            if self.max_cell_bytes > 0 && bytes > self.max_cell_bytes {
                return Err(format!(
                    "a cell of {bytes} bytes is over the limit of {}; split the value, or raise \
                     the table's hbase.server.keyvalue.maxsize",
                    self.max_cell_bytes
                ));
            }
            cells.push((key, value));
        }
        Ok(cells)
    }

    fn row_key<'l>(&self, field: &impl Fn(usize) -> &'l [u8]) -> Result<Vec<u8>, String> {
        match (&self.mapping.key, &self.key) {
            (KeySource::Column(at), None) => Ok(field(*at).to_vec()),
            (KeySource::Column(at), Some(declared)) => {
                let row = field(*at);
                declared
                    .key
                    .decode_with(row, &*self.resolver)
                    .map_err(|error| declared.key.describe_bad_key(row, &*self.resolver, &error))?;
                Ok(row.to_vec())
            }
            (KeySource::Fields(columns), Some(declared)) => {
                let values = field_values(&declared.key, columns, field)?;
                self.encode(declared, &values)
            }
            (KeySource::Fields(_), None) => Err("the table declares no key".into()),
        }
    }

    fn encode(&self, declared: &ResolvedKey, values: &[Value<'_>]) -> Result<Vec<u8>, String> {
        let describe = |error: &KeyError| declared.key.describe_error(error);
        match declared.key.encode_with(values, &*self.resolver) {
            Ok(row) => Ok(row.to_vec()),
            Err(error) if error.kind == KeyErrorKind::NotInDictionary => {
                let Some(dictionary) = &self.assigned else {
                    return Err(format!("{}; --assign gives it a number", describe(&error)));
                };
                block_on(dictionary.assign(values)).map_err(|error| error.to_string())?;
                let row = declared.key.encode_with(values, &**dictionary);
                row.map(|row| row.to_vec()).map_err(|error| describe(&error))
            }
            Err(error) => Err(describe(&error)),
        }
    }
}

/// Returns the values of the fields of a key.
fn field_values<'l>(
    key: &KeySchema,
    columns: &[Option<usize>],
    field: &impl Fn(usize) -> &'l [u8],
) -> Result<Vec<Value<'static>>, String> {
    let value = |(id, column): (usize, &Option<usize>)| {
        let Some(column) = column else { return Ok(Value::Null) };
        let about = &key.fields()[id];
        let text = std::str::from_utf8(field(*column))
            .map_err(|_| format!("{}: the text is not UTF-8", about.name))?;
        if text.is_empty() && is_nullable(key, id) {
            return Ok(Value::Null);
        }
        about.ty.parse(text).map_err(|error| format!("{}: {error}", about.name))
    };
    columns.iter().enumerate().map(value).collect()
}

/// Parses a time in milliseconds, or one with a date.
fn timestamp(text: &[u8]) -> Result<i64, String> {
    let text = String::from_utf8_lossy(text);
    match FieldType::Timestamp(TimeUnit::Millis).parse(text.trim()) {
        // The largest means the time of the write.
        Ok(Value::Signed(time)) if (0..i64::MAX).contains(&time) => Ok(time),
        Ok(_) => Err(format!("timestamp {text:?}: give milliseconds since 1970, 0 or more")),
        Err(error) => Err(format!("timestamp {error}")),
    }
}
