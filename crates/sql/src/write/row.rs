//! One row of values as an operation on the table.

use std::sync::LazyLock;

use halite_rowkey::cell::CellErrorKind;
use halite_rowkey::error::KeyErrorKind;
use halite_rowkey::value::Value;
use halite_rowkey::{KeyError, KeyResolver, SaltGenerator};
use halite_types::key::to_string_binary;
use halite_types::op::{CheckAndMutate, Condition, Delete, Put, RowMutations, RowOp};
use halite_types::{Bytes, Filter};

use super::target::{MARKER_VALUE, Witness, WriteColumn, WriteTarget};
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};

/// Salts of all statements of this process, so that round robin continues.
static SALTS: LazyLock<SaltGenerator> = LazyLock::new(SaltGenerator::new);

/// Times of the cells of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CellTimes {
    /// Time of the cells; `None` for the time of the store.
    pub(super) ts: Option<i64>,
    /// Time to live in milliseconds.
    pub(super) ttl_ms: Option<u64>,
}

/// Column and its value.
pub(super) type ColumnValue<'v> = (usize, Value<'v>);

impl WriteTarget {
    /// Returns the key of a row, from values by column. Fields that are not given are null.
    ///
    /// # Errors
    /// `NotNull`, `LimitExceeded`, `InvalidParameter`, `OutOfRange`.
    pub(super) fn key(&self, values: &[ColumnValue<'_>]) -> Result<Bytes> {
        let (key, fields) = (&self.shape.key, self.fields(values));
        match key.encode_with(&fields, self.resolver()) {
            Ok(key) => Ok(Bytes::copy_from_slice(&key)),
            Err(error) => Err(self.key_error(&error)),
        }
    }

    /// Returns the key of a row that may be there; `None` if a value has no number in its
    /// dictionary, so that no row has it.
    ///
    /// # Errors
    /// As [`Self::key`].
    pub(super) fn known_key(&self, values: &[ColumnValue<'_>]) -> Result<Option<Bytes>> {
        let encoded = self.shape.key.encode_with(&self.fields(values), self.resolver());
        match encoded {
            Ok(key) => Ok(Some(Bytes::copy_from_slice(&key))),
            Err(error) if error.kind == KeyErrorKind::NotInDictionary => Ok(None),
            Err(error) => Err(self.key_error(&error)),
        }
    }

    /// Returns what knows the numbers of dictionaries and draws salts.
    fn resolver(&self) -> &dyn KeyResolver {
        match &self.dictionary {
            Some(dictionary) => dictionary,
            None => &*SALTS,
        }
    }

    /// Returns the values of the fields of the key.
    fn fields<'v>(&self, values: &'v [ColumnValue<'_>]) -> Vec<Value<'v>> {
        let mut fields = vec![Value::Null; self.shape.key.fields().len()];
        for (at, value) in values {
            if let Source::Key(field) = self.shape.columns[*at].source {
                fields[field] = value.borrowed();
            }
        }
        fields
    }

    /// Gives the new values of fields with a dictionary their numbers.
    ///
    /// # Errors
    /// Errors of the cluster; a dictionary without numbers left.
    pub(super) async fn assign_numbers(&self, values: &[ColumnValue<'_>]) -> Result<()> {
        let Some(dictionary) = &self.dictionary else { return Ok(()) };
        Ok(dictionary.assign(&self.fields(values)).await?)
    }

    fn key_error(&self, error: &KeyError) -> SqlError {
        let name = self.table.name();
        let (state, what) = match error.kind {
            KeyErrorKind::Null => (SqlState::NotNull, String::new()),
            // In the words of HBase.
            KeyErrorKind::Length(0) => (SqlState::InvalidParameter, "Row length is 0: ".to_owned()),
            KeyErrorKind::Length(bytes) => {
                (SqlState::LimitExceeded, format!("Row length {bytes} is > 32767: "))
            }
            KeyErrorKind::WrongType { .. } => (SqlState::WrongType, String::new()),
            KeyErrorKind::TooWide { .. } => (SqlState::OutOfRange, String::new()),
            _ => (SqlState::InvalidParameter, String::new()),
        };
        let described = self.shape.key.describe_error(error);
        SqlError::new(state, format!("table {name}: {what}{described}"))
    }

    /// Returns what writes the cells of a row: a Put, in one operation with a Delete of the columns
    /// that are null, where `deletes_nulls` is set.
    ///
    /// # Errors
    /// `NotNull` for null in a NOT NULL column, `OutOfRange` for a value that does not fit.
    pub(super) fn mutation(
        &self,
        row: &Bytes,
        values: &[ColumnValue<'_>],
        times: CellTimes,
        deletes_nulls: bool,
    ) -> Result<Option<RowOp>> {
        let mut put = Put::new(row.clone());
        if let Some(milliseconds) = times.ttl_ms {
            put = put.ttl_ms(milliseconds);
        }
        let (mut puts, mut delete) = (0, None);
        for (at, value) in values {
            let column = &self.shape.columns[*at];
            if let Source::Series(series) = column.source {
                let (family, qualifier, bytes) = self.point(series, value, values)?;
                put = match times.ts {
                    Some(ts) => put.add_at(family, qualifier, ts, bytes),
                    None => put.add(family, qualifier, bytes),
                };
                puts += 1;
                continue;
            }
            let Source::Cell { family, qualifier } = &column.source else { continue };
            let Some(cell) = &column.cell else { continue };
            if value.is_null() {
                if cell.not_null || cell.is_counter {
                    return Err(self.null_error(*at));
                }
                if deletes_nulls {
                    let columns = delete.unwrap_or_else(|| Delete::new(row.clone()));
                    delete = Some(match times.ts {
                        Some(ts) => columns.column_up_to(family, qualifier, ts),
                        None => columns.column(family, qualifier),
                    });
                }
                continue;
            }
            let bytes = cell.codec.encode(value).map_err(|error| {
                let state = match error.kind() {
                    CellErrorKind::WrongType => SqlState::WrongType,
                    _ => SqlState::OutOfRange,
                };
                SqlError::new(state, format!("column {}: {error}", column.name))
            })?;
            put = match times.ts {
                Some(ts) => put.add_at(family, qualifier, ts, bytes),
                None => put.add(family, qualifier, bytes),
            };
            puts += 1;
        }
        Ok(match (puts, delete) {
            (0, None) => None,
            (_, None) => Some(put.into()),
            (0, Some(delete)) => Some(delete.into()),
            (_, Some(delete)) => Some(RowMutations::new(row.clone()).add(put).add(delete).into()),
        })
    }

    /// Returns the family, the qualifier and the value of the cell of a point. Null takes the point
    /// away.
    fn point(
        &self,
        series: usize,
        value: &Value<'_>,
        values: &[ColumnValue<'_>],
    ) -> Result<(Bytes, Vec<u8>, Vec<u8>)> {
        let column = &self.shape.series[series];
        let time = match self.fields(values).get(column.field()) {
            Some(Value::Signed(time)) => i128::from(*time),
            Some(Value::Unsigned(time)) => i128::from(*time),
            _ => {
                let text = format!("column {column}: a point has a time");
                return Err(SqlError::new(SqlState::NotNull, text));
            }
        };
        let offset = u64::try_from(time.rem_euclid(column.width().into())).unwrap_or_default();
        let bytes = match series_number(value) {
            None => Vec::new(),
            Some(number) => column.value_bytes(number).map_err(|why| {
                SqlError::new(SqlState::OutOfRange, format!("column {column}: {why}"))
            })?,
        };
        Ok((column.family().clone(), column.loose_qualifier(offset), bytes))
    }

    /// Returns the error of null in a column that every row has.
    pub(super) fn null_error(&self, at: usize) -> SqlError {
        let column = &self.shape.columns[at].name;
        let declared = if self.shape.columns[at].is_counter() { "a COUNTER" } else { "NOT NULL" };
        let text = format!(
            "column {column} of table {} is {declared}: give it a value",
            self.table.name()
        );
        SqlError::new(SqlState::NotNull, text)
    }

    /// Adds the marker to a write of a new row. It has no time to live if it `stays`.
    pub(super) fn with_marker(
        &self,
        row: &Bytes,
        op: Option<RowOp>,
        times: CellTimes,
        stays: bool,
    ) -> Result<RowOp> {
        // A row of a SERIES is one by its points.
        let marker = self.shape.marker.as_ref().filter(|_| !self.shape.is_points());
        let Some(family) = marker else {
            return op.ok_or_else(|| self.no_cells(row));
        };
        let add = |put: Put| match times.ts {
            Some(ts) => put.add_at(family, b"", ts, MARKER_VALUE),
            None => put.add(family, b"", MARKER_VALUE),
        };
        let fresh = || {
            let put = Put::new(row.clone());
            add(match times.ttl_ms.filter(|_| !stays) {
                Some(milliseconds) => put.ttl_ms(milliseconds),
                None => put,
            })
        };
        Ok(match op {
            None => fresh().into(),
            Some(RowOp::Mutate(group)) if stays => group.add(fresh()).into(),
            Some(other) if stays => RowMutations::new(row.clone()).add(fresh()).add(other).into(),
            Some(RowOp::Put(put)) => add(put).into(),
            Some(RowOp::Mutate(mut group)) => {
                group.ops = group
                    .ops
                    .into_iter()
                    .map(|op| match op {
                        RowOp::Put(put) => add(put).into(),
                        other => other,
                    })
                    .collect();
                group.into()
            }
            Some(other) => RowMutations::new(row.clone()).add(fresh()).add(other).into(),
        })
    }

    fn no_cells(&self, row: &Bytes) -> SqlError {
        let columns: Vec<&str> =
            self.cells().map(|at| self.shape.columns[at].name.as_str()).collect();
        let text = format!(
            "table {}, row {}: a row consists of its cells, and none is given; give a value of {}",
            self.table.name(),
            to_string_binary(row),
            columns.join(", ")
        );
        SqlError::new(SqlState::NotNull, text)
    }

    /// Returns the text of a row for messages: the fields of its key.
    pub(super) fn row_text(&self, row: &[u8]) -> String {
        let key = &self.shape.key;
        match key.decode_with(row, self.resolver()) {
            Ok(decoded) => {
                let fields =
                    key.fields().iter().zip(decoded.values()).map(|(field, value)| {
                        format!("{} = {}", field.name, field.ty.print(value))
                    });
                fields.collect::<Vec<_>>().join(", ")
            }
            Err(_) => to_string_binary(row),
        }
    }
}

/// Returns a write that happens if the row is not there.
pub(super) fn if_absent(witness: &Witness, row: &Bytes, then: RowOp) -> RowOp {
    CheckAndMutate::if_not_exists(
        row.clone(),
        witness.family.clone(),
        witness.qualifier.clone(),
        then,
    )
    .into()
}

/// Returns a write that happens if a filter includes a cell of the row.
pub(super) fn if_matches(filter: Filter, row: &Bytes, then: RowOp) -> RowOp {
    CheckAndMutate::new(row.clone(), Condition::Filter(filter), then).into()
}

/// Returns the column that a statement writes, unless it is a time.
pub(super) fn position(column: WriteColumn) -> Option<usize> {
    match column {
        WriteColumn::Column(at) => Some(at),
        WriteColumn::Ts | WriteColumn::Ttl => None,
    }
}

/// Returns the number of a point; `None` for null.
#[expect(clippy::cast_precision_loss, reason = "a SERIES refuses numbers of more than 53 bits")]
fn series_number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::F64(number) => Some(*number),
        Value::F32(number) => Some(f64::from(*number)),
        Value::Signed(number) => Some(*number as f64),
        Value::Unsigned(number) => Some(*number as f64),
        _ => None,
    }
}
