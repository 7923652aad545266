//! Rows of a declared table by name: values of fields and columns to a put, and a row back to
//! values.
//!
//! A name is that of a field, of a column, or `MAP[KEY]` for one cell of a `MAP`. Points of a
//! `SERIES` are written by [`crate::series`].

mod decode;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use halite_types::{Bytes, Put};

pub use decode::{Record, RecordCell};

use crate::cell::CellCodec;
use crate::codec::KeyResolver;
use crate::condition_text::value_of;
use crate::language::{Column, ColumnType, TableDeclaration};
use crate::schema::{FieldId, KeySchema};
use crate::value::{FieldType, Value};

/// Codec of the rows of one table.
#[derive(Clone, Debug)]
pub struct RecordCodec {
    key: Arc<KeySchema>,
    columns: Vec<RecordColumn>,
}

/// Column with the codecs of its cells.
#[derive(Clone, Debug)]
struct RecordColumn {
    column: Column,
    /// `None` for a `SERIES`.
    codec: Option<CellCodec>,
    /// Codec of the qualifiers of a `MAP`.
    map_key: Option<CellCodec>,
}

/// Place of a value in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Field of the key.
    Field(FieldId),
    /// Column, by its index in the declaration.
    Column(usize),
    /// Cell of a `MAP`: the index of the column, and the whole qualifier.
    Entry(usize, Bytes),
}

impl RecordCodec {
    /// Returns the codec of a declared table.
    ///
    /// # Errors
    /// A column whose encoding does not have its type.
    pub fn new(declaration: &TableDeclaration) -> Result<Self, String> {
        let column = |column: &Column| {
            let in_column = |error: String| format!("column {}: {error}", column.name);
            let codec = match column.ty {
                ColumnType::Series { .. } => None,
                _ => Some(column.codec().map_err(in_column)?),
            };
            let map_key = match column.ty {
                ColumnType::Map { key, .. } => {
                    Some(CellCodec::new(key, column.encoding).map_err(in_column)?)
                }
                _ => None,
            };
            Ok(RecordColumn { column: column.clone(), codec, map_key })
        };
        Ok(Self {
            key: Arc::new(declaration.key.clone()),
            columns: declaration.columns.iter().map(column).collect::<Result<_, String>>()?,
        })
    }

    /// Returns the key.
    pub fn key(&self) -> &Arc<KeySchema> {
        &self.key
    }

    /// Returns the columns, in the order of the declaration.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|column| &column.column)
    }

    /// Returns the place of a name. A name of a field and of a column is that of the field.
    ///
    /// # Errors
    /// A name that the table does not have, with the ones that it has.
    pub fn place(&self, name: &str) -> Result<Place, String> {
        let name = name.trim();
        if let Some(field) = self.key.field_id(name) {
            return Ok(Place::Field(field));
        }
        if let Some(at) = self.columns.iter().position(|column| column.column.name == name) {
            return match self.columns[at].column.ty {
                ColumnType::Map { .. } => {
                    Err(format!("{name} is a MAP; name one of its cells, as in {name}[KEY]"))
                }
                ColumnType::Series { .. } => {
                    Err(format!("{name} is a SERIES, whose points halite series writes"))
                }
                _ => Ok(Place::Column(at)),
            };
        }
        self.entry(name)?.ok_or_else(|| self.unknown(name))
    }

    /// Returns the place of `MAP[KEY]`; `None` for another name.
    fn entry(&self, name: &str) -> Result<Option<Place>, String> {
        let Some((map, key)) = name.strip_suffix(']').and_then(|rest| rest.split_once('[')) else {
            return Ok(None);
        };
        let Some(at) = self.columns.iter().position(|column| column.column.name == map) else {
            return Ok(None);
        };
        let column = &self.columns[at];
        let Some(codec) = &column.map_key else {
            return Err(format!("{name}: {map} is no MAP; leave [{key}] out"));
        };
        let value = value_of(codec.ty(), key).map_err(|error| format!("{name}: {error}"))?;
        let bytes = codec.encode(&value).map_err(|error| format!("{name}: {error}"))?;
        let qualifier = [&column.column.qualifier[..], &bytes].concat();
        Ok(Some(Place::Entry(at, qualifier.into())))
    }

    fn unknown(&self, name: &str) -> String {
        let fields = self.key.fields().iter().map(|field| field.name.as_str());
        let names: Vec<&str> =
            fields.chain(self.columns.iter().map(|column| column.column.name.as_str())).collect();
        let near = halite_types::suggest::closest_match(name, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
        format!("there is no field or column {name}; {near}there are {}", names.join(", "))
    }

    /// Returns the type of the values of a place.
    pub fn ty(&self, place: &Place) -> FieldType {
        match place {
            Place::Field(field) => self.key.fields()[*field].ty,
            Place::Column(at) | Place::Entry(at, _) => {
                self.columns[*at].codec.as_ref().map_or(FieldType::Bytes, CellCodec::ty)
            }
        }
    }

    /// Parses `NAME=VALUE`: text in single quotes is literal, `null` is null.
    ///
    /// # Errors
    /// An unknown name, and text that is no value of the type.
    pub fn parse(&self, given: &str) -> Result<(Place, Value<'static>), String> {
        let (name, text) = given
            .split_once('=')
            .ok_or_else(|| format!("{given:?}: a value is given as NAME=VALUE"))?;
        let place = self.place(name)?;
        let value =
            value_of(self.ty(&place), text).map_err(|error| format!("{}: {error}", name.trim()))?;
        Ok((place, value))
    }

    /// Returns the values of the fields of the key, in their order; null where none is given.
    pub fn fields<'v>(&self, values: &'v [(Place, Value<'_>)]) -> Vec<Value<'v>> {
        let mut fields = vec![Value::Null; self.key.fields().len()];
        for (place, value) in values {
            if let Place::Field(field) = place {
                fields[*field] = value.borrowed();
            }
        }
        fields
    }

    /// Returns the put of a row. Fields without a value are null. Columns without one have their
    /// DEFAULT, or no cell; a null has no cell either.
    ///
    /// # Errors
    /// A place that is given twice, values that are no key, a NOT NULL column without a value, one
    /// that does not fit, and a row without cells.
    pub fn put(
        &self,
        values: &[(Place, Value<'_>)],
        resolver: &dyn KeyResolver,
    ) -> Result<Put, String> {
        for (at, (place, _)) in values.iter().enumerate() {
            if values[..at].iter().any(|(other, _)| other == place) {
                return Err(format!("{} is given twice; leave one out", self.name(place)));
            }
        }
        let key = self
            .key
            .encode_with(&self.fields(values), resolver)
            .map_err(|error| self.key.describe_error(&error))?;
        let mut put = Put::new(Bytes::from(key));
        let mut cells = 0;
        for (at, column) in self.columns.iter().enumerate() {
            for (qualifier, bytes) in column.cells(at, values)? {
                cells += 1;
                put = put.add(&column.column.family, qualifier, bytes);
            }
        }
        if cells == 0 {
            return Err(format!(
                "a row consists of its cells, and none is given; give a value of {}",
                self.columns().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
            ));
        }
        Ok(put)
    }

    /// Returns the name of a place.
    pub fn name(&self, place: &Place) -> String {
        match place {
            Place::Field(field) => self.key.fields()[*field].name.clone(),
            Place::Column(at) => self.columns[*at].column.name.clone(),
            Place::Entry(at, qualifier) => {
                let column = &self.columns[*at];
                format!("{}[{}]", column.column.name, column.map_key_text(qualifier))
            }
        }
    }
}

impl RecordColumn {
    /// Returns qualifiers and values of the cells to write.
    fn cells(
        &self,
        at: usize,
        values: &[(Place, Value<'_>)],
    ) -> Result<Vec<(Bytes, Vec<u8>)>, String> {
        let Some(codec) = &self.codec else { return Ok(Vec::new()) };
        let mut cells = Vec::new();
        let mut encode = |qualifier: &Bytes, value: &Value<'_>| {
            if !value.is_null() {
                let bytes = codec.encode(value);
                let bytes = bytes.map_err(|error| format!("{}: {error}", self.column.name))?;
                cells.push((qualifier.clone(), bytes));
            }
            Ok::<_, String>(())
        };
        let given = values.iter().find(|(place, _)| *place == Place::Column(at));
        match (given.map(|(_, value)| value), &self.column.default) {
            (Some(value), _) => encode(&self.column.qualifier, value)?,
            (None, Some(default)) => encode(&self.column.qualifier, default)?,
            (None, None) => {}
        }
        for (place, value) in values {
            if let Place::Entry(of, qualifier) = place
                && *of == at
            {
                encode(qualifier, value)?;
            }
        }
        if cells.is_empty() && self.column.not_null {
            return Err(format!("{0} is NOT NULL; give it a value: {0}=..", self.column.name));
        }
        Ok(cells)
    }

    /// Returns the key of a cell of the `MAP` as text, or its bytes if they are no key.
    fn map_key_text(&self, qualifier: &[u8]) -> String {
        let key = qualifier.get(self.column.qualifier.len()..).unwrap_or_default();
        let decoded = self.map_key.as_ref().and_then(|codec| {
            let value = codec.decode(key).ok()?;
            Some(codec.ty().print(&value))
        });
        decoded.unwrap_or_else(|| format!("x'{}'", halite_types::key::to_hex(key)))
    }
}
