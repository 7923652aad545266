//! Row to values.

use halite_types::{Bytes, CellRef, Row};

use super::{Place, RecordCodec};
use crate::cell::CellError;
use crate::codec::{DecodedKey, KeyResolver};
use crate::error::KeyError;
use crate::language::ColumnType;
use crate::value::Value;

/// Decoded row, borrowing from it.
#[derive(Clone, Debug)]
pub struct Record<'r> {
    /// Fields, or why the bytes are no key of the schema.
    pub key: Result<DecodedKey<'r>, KeyError>,
    /// Newest cells, in the order of the row.
    pub cells: Vec<RecordCell<'r>>,
}

/// Decoded cell.
#[derive(Clone, Debug)]
pub struct RecordCell<'r> {
    /// Cell.
    pub cell: CellRef<'r>,
    /// Its place; `None` for a cell that no column declares, or a `SERIES`.
    pub place: Option<Place>,
    /// Its value, or why its bytes are none; bytes as they are without a place.
    pub value: Result<Value<'r>, CellError>,
}

impl Record<'_> {
    /// Returns the value of a column; `None` without a cell.
    ///
    /// # Errors
    /// Bytes that are no value of the column.
    pub fn value(&self, column: usize) -> Result<Option<&Value<'_>>, &CellError> {
        let place = Some(Place::Column(column));
        match self.cells.iter().find(|cell| cell.place == place) {
            Some(cell) => cell.value.as_ref().map(Some),
            None => Ok(None),
        }
    }
}

impl RecordCodec {
    /// Decodes the newest cells of a row that is not empty. Cells that are no values of their
    /// columns are errors of these cells only.
    pub fn decode<'r>(&self, row: &'r Row, resolver: &dyn KeyResolver) -> Record<'r> {
        let mut cells: Vec<RecordCell<'r>> = Vec::with_capacity(row.len());
        for cell in row {
            let is_older = cells.last().is_some_and(|last| {
                (last.cell.family(), last.cell.qualifier()) == (cell.family(), cell.qualifier())
            });
            if !is_older {
                cells.push(self.decode_cell(cell));
            }
        }
        Record { key: self.key.decode_with(row.key(), resolver), cells }
    }

    /// Decodes one cell. Bytes that are no value of their column are its error.
    pub fn decode_cell<'r>(&self, cell: CellRef<'r>) -> RecordCell<'r> {
        let owner = self
            .columns
            .iter()
            .position(|column| column.codec.is_some() && column.column.owns_cell(&cell));
        let codec = owner.and_then(|at| Some((at, self.columns[at].codec.as_ref()?)));
        let Some((at, codec)) = codec else {
            return RecordCell { cell, place: None, value: Ok(Value::from(cell.value())) };
        };
        let place = match self.columns[at].column.ty {
            ColumnType::Map { .. } => Place::Entry(at, Bytes::copy_from_slice(cell.qualifier())),
            _ => Place::Column(at),
        };
        RecordCell { cell, place: Some(place), value: codec.decode(cell.value()) }
    }
}
