//! Input of lint: the declaration, and what else is known of a table.

use bytes::Bytes;
use halite_rowkey::language::{Action, Column, SplitClause};
use halite_rowkey::plan::Question;
use halite_rowkey::schema::{FieldId, KeySchema, Order};
use halite_types::TableDescriptor;

use super::cells::CellSample;

/// Safe estimate of the writes to one row per second: they are sequential, and each waits for the
/// log.
pub(super) const HOT_ROW_PER_SECOND: f64 = 1_000.0;

/// Input of lint; unknown parts are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct LintInput<'a> {
    /// Declared key.
    pub key: Option<&'a KeySchema>,
    /// Families and attributes.
    pub table: Option<&'a TableDescriptor>,
    /// Value columns.
    pub columns: &'a [Column],
    /// Start keys of the regions, without the empty one; `None` if the splits are unknown.
    pub splits: Option<&'a [Bytes]>,
    /// Declared splits, if known.
    pub split: Option<&'a SplitClause>,
    /// Expected queries and writes.
    pub queries: &'a [QueryShape],
    /// Keys of the table, in the order of their writes if that is known.
    pub sample: Option<&'a KeySample>,
    /// Statistics of its cells.
    pub cells: Option<&'a CellSample>,
    /// Expected load.
    pub load: LoadEstimate,
}

/// Conditions of one kind of query or write on the fields of the key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryShape {
    /// Name in reports.
    pub name: String,
    /// Operation.
    pub action: Action,
    /// Conditions on fields.
    pub conditions: Vec<(FieldId, ConditionShape)>,
    /// Requested order of the rows.
    pub order: Vec<(FieldId, Order)>,
    /// All that it asks for, of columns outside the key too.
    pub asks: Question,
    /// Field with the times of the points in a row, if the table has a `SERIES`.
    pub point_time: Option<FieldId>,
    /// `true` if the order is by columns outside the key.
    pub orders_by_values: bool,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// `true` if it pages by skipping rows.
    pub has_offset: bool,
    /// `true` if it filters by values of columns outside the key.
    pub filters_values: bool,
    /// Executions per second on the busiest of its rows.
    pub rate: Option<f64>,
}

/// Condition of a query on one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionShape {
    /// One value.
    Equals,
    /// One of a few values.
    In,
    /// Values between bounds.
    Range,
    /// Text prefix.
    Prefix,
}

/// Sample of the keys of a table.
#[derive(Clone, Debug, Default)]
pub struct KeySample {
    /// Keys of the sample.
    pub keys: Vec<Bytes>,
    /// `true` if they are in the order in which they were written.
    pub is_in_arrival_order: bool,
}

/// Expected load of a table; unknown values are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadEstimate {
    /// Final number of rows.
    pub rows: Option<u64>,
    /// Peak rows written per second.
    pub writes_per_second: Option<f64>,
    /// Number of region servers.
    pub servers: Option<u32>,
}
