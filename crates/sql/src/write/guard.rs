//! Conditions that hold when a row is written: that its cells still are as they were read.

use halite_rowkey::value::Value;
use halite_types::filter::{Comparator, CompareOp};
use halite_types::{Bytes, Filter, Get, Row};

use super::row::ColumnValue;
use super::target::WriteTarget;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::session::settings::BadCells;
use crate::types::cells::{comparable_bytes, read_declared};

/// Returns the filter that includes a row whose column has these bytes, or no cell.
fn unchanged(family: &Bytes, qualifier: &Bytes, bytes: Option<&[u8]>) -> Filter {
    let (comparator, filter_if_missing) = match bytes {
        Some(bytes) => (Comparator::Binary(Bytes::copy_from_slice(bytes)), true),
        None => (Comparator::Null, false),
    };
    Filter::SingleColumnValue {
        family: family.clone(),
        qualifier: qualifier.clone(),
        op: CompareOp::Equal,
        comparator,
        filter_if_missing,
        latest_version_only: true,
        exclude: false,
    }
}

/// Returns the filter that includes rows by all tests; without one, every row that is there.
pub(super) fn all_of(mut tests: Vec<Filter>) -> Filter {
    match tests.len() {
        0 => Filter::FirstKeyOnly,
        1 => tests.remove(0),
        _ => Filter::All(tests),
    }
}

impl WriteTarget {
    /// Returns `true` if equal values of a column always have equal bytes.
    pub(super) fn is_canonical(&self, at: usize) -> bool {
        use halite_rowkey::FieldType as Type;
        let column = &self.shape.columns[at];
        let is_java = column.cell.as_ref().is_some_and(|cell| cell.is_java());
        is_java && !matches!(column.ty, Type::Bool | Type::F32 | Type::F64 | Type::Decimal)
    }

    /// Returns the test that a column still has a value; `None` for fields of the key, which do
    /// not change, and for columns that are not canonical.
    pub(super) fn has_value(&self, at: usize, value: &Value<'_>) -> Option<Filter> {
        let column = &self.shape.columns[at];
        let Source::Cell { family, qualifier } = &column.source else { return None };
        if value.is_null() {
            return Some(unchanged(family, qualifier, None));
        }
        let bytes = comparable_bytes(column.ty, value)?;
        let mut test = unchanged(family, qualifier, Some(&bytes));
        // A counter without a cell is 0.
        if let Filter::SingleColumnValue { filter_if_missing, .. } = &mut test
            && column.is_counter()
            && *value == Value::Signed(0)
        {
            *filter_if_missing = false;
        }
        Some(test)
    }

    /// Returns the test that a column still is as in a row that was read.
    pub(super) fn as_in(&self, at: usize, row: &Row) -> Option<Filter> {
        let Source::Cell { family, qualifier } = &self.shape.columns[at].source else {
            return None;
        };
        Some(unchanged(family, qualifier, row.value(family, qualifier)))
    }

    /// Returns a get of columns.
    pub(super) fn get(&self, row: &Bytes, columns: &[usize]) -> Get {
        let cells = columns.iter().filter_map(|at| match &self.shape.columns[*at].source {
            Source::Cell { family, qualifier } => Some((family.clone(), qualifier.clone())),
            _ => None,
        });
        cells.fold(Get::new(row.clone()), |get, (family, qualifier)| get.column(family, qualifier))
    }

    /// Returns the values of columns of a row that was read; of fields of the key, nothing.
    ///
    /// # Errors
    /// `InvalidValue` for a cell that is none of its column's type, unless it is null by
    /// `bad_cells`.
    pub(super) fn values_of(
        &self,
        row: &Row,
        columns: &[usize],
        bad_cells: BadCells,
    ) -> Result<Vec<ColumnValue<'static>>> {
        let mut values = Vec::with_capacity(columns.len());
        for at in columns {
            let column = &self.shape.columns[*at];
            let Source::Cell { family, qualifier } = &column.source else { continue };
            let value = match row.value(family, qualifier) {
                None if column.is_counter() => Value::Signed(0),
                None => Value::Null,
                Some(bytes) => match read_declared(column.ty, column.cell.as_deref(), bytes) {
                    Ok(value) => value.into_owned(),
                    Err(_) if bad_cells == BadCells::Null => Value::Null,
                    Err(what) => {
                        let text = format!(
                            "table {}, row {}, column {}: {what}",
                            self.table.name(),
                            self.row_text(row.key()),
                            column.name
                        );
                        return Err(SqlError::new(SqlState::InvalidValue, text));
                    }
                },
            };
            values.push((*at, value));
        }
        Ok(values)
    }
}
