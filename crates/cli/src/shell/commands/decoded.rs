//! Rows of a declared table by the names of fields and columns: `DECODED => true` of `get` and
//! `scan`.

use std::sync::Arc;

use halite::rowkey::KeyResolver;
use halite::rowkey::language::TableDeclaration;
use halite::rowkey::literal::LiteralDisplay;
use halite::rowkey::record::{RecordCell, RecordCodec};
use halite_types::key::to_string_binary;
use halite_types::{CellRef, TableName};

use super::error_hints::ErrorContext;
use crate::key::{dictionary_of, resolver_of};
use crate::shell::print;
use crate::shell::session::{EvalResult, Interrupt, Session};

/// Decoder of the rows of one table.
pub(super) struct RowDecoder {
    codec: RecordCodec,
    resolver: Arc<dyn KeyResolver + Send + Sync>,
}

impl RowDecoder {
    /// Returns the decoder of a table, which must declare its key.
    pub(super) fn new(session: &Session<'_>, table: &TableName) -> EvalResult<Self> {
        let descriptor = session.cluster().descriptor(table).with_hint(session, table)?;
        let declaration = TableDeclaration::from_descriptor(&descriptor).ok_or_else(|| {
            Interrupt::Problem(format!(
                "DECODED needs the row key of table {table}, which declares none; ALTER TABLE \
                 {table} ADOPT ROW KEY (..) declares it, or leave DECODED out"
            ))
        })?;
        let unreadable = |error: String| {
            Interrupt::Problem(format!("what table {table} declares cannot be read: {error}"))
        };
        let declaration = declaration.map_err(|error| unreadable(error.to_string()))?;
        let dictionary = dictionary_of(&**session.async_cluster(), table, &declaration.key)?;
        let resolver = resolver_of(dictionary);
        Ok(Self { codec: RecordCodec::new(&declaration).map_err(unreadable)?, resolver })
    }

    /// Formats a row key: `id = 'a', ts = 2024-03-15T00:00:00Z`; bytes that are no key of the
    /// declaration as the shell shows bytes.
    pub(super) fn row(&self, row: &[u8]) -> String {
        match self.codec.key().decode_with(row, &*self.resolver) {
            Ok(key) => self.codec.key().format_values(&key),
            Err(_) => to_string_binary(row),
        }
    }

    /// Returns the column of a cell and its time with its value: the name of a declared column and
    /// a value of its type, or family, qualifier and bytes.
    pub(super) fn cell(
        &self,
        session: &Session<'_>,
        cell: &CellRef<'_>,
        max_length: Option<usize>,
    ) -> (String, String) {
        let RecordCell { cell, place, value } = self.codec.decode_cell(*cell);
        let column = match &place {
            Some(place) => self.codec.name(place),
            None => print::column_name(&cell),
        };
        let value = match (&place, &value) {
            (Some(place), Ok(value)) => LiteralDisplay(value, self.codec.ty(place)).to_string(),
            (Some(_), Err(_)) => {
                format!("{} (no value of its type)", to_string_binary(cell.value()))
            }
            (None, _) => to_string_binary(cell.value()),
        };
        (column, print::time_and_value(session, &cell, &value, max_length))
    }
}
