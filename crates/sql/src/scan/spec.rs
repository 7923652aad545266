//! What one scan reads.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::logical_expr::Expr;
use halite_rowkey::plan::{Condition, KeyGroups, PlanNote, Predicate};
use halite_rowkey::value::Value;
use halite_rowkey::{KeyQuery, Plan, PlanOptions, UndecodableRows};
use halite_types::{Filter, RegionInfo, Scan, Table};

use super::history::History;
use super::selection::{TestedColumns, cells, select};
use crate::catalog::shape::{Pseudo, Source, TableShape};
use crate::error::{Result, SqlError};
use crate::pushdown::push;
use crate::session::overflow::shown;
use crate::session::settings::{Settings, UnreadableKeys};

/// Rows of a table, and of a range of it, as long as nothing is known of them.
const TABLE_ROWS: usize = 1_000_000;
const RANGE_ROWS: usize = 1000;

/// Table of a scan.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) table: Arc<dyn Table>,
    pub(crate) shape: Arc<TableShape>,
    /// Regions in key order, as of planning.
    pub(crate) regions: Arc<Vec<RegionInfo>>,
}

/// Columns that a scan returns.
#[derive(Clone, Copy)]
pub(crate) struct Projection<'c> {
    /// Positions in the shape; `None` for all.
    pub(crate) columns: Option<&'c Vec<usize>>,
    /// Their schema, where it is known.
    pub(crate) schema: Option<&'c SchemaRef>,
}

/// What one scan reads: the columns, the plan of the key, the cells, the filter.
#[derive(Clone)]
pub(crate) struct ScanSpec {
    pub(crate) target: Target,
    /// Positions of the returned columns in the shape.
    pub(crate) columns: Vec<usize>,
    pub(crate) schema: SchemaRef,
    pub(crate) plan: Arc<Plan>,
    pub(crate) history: History,
    /// Cells to read and the filter; range, limit and direction are the plan's.
    pub(crate) template: Scan,
    /// The part of the filter that is conditions on cells; `None` if there are none.
    pub(crate) condition: Option<Filter>,
    /// Conditions that the server's filter checks, as text.
    pub(crate) filtered: Vec<String>,
    /// Conditions that are checked again behind the scan, as text.
    pub(crate) checked_again: Vec<String>,
    pub(crate) unreadable: UndecodableRows,
    /// Values of fields of which the key has only a hash, as the statement gives them.
    pub(crate) given: Vec<(usize, Value<'static>)>,
    /// Columns that the filter tests.
    tested: TestedColumns,
    /// Groups of which only the first row is read.
    pub(crate) first_of: Option<FirstRows>,
    /// `true` if rows without a cell of the columns are not read.
    pub(crate) skips_empty: bool,
}

/// Groups of which only the first row is read.
#[derive(Clone, Debug)]
pub(crate) struct FirstRows {
    pub(crate) groups: KeyGroups,
    /// Names of the fields that the rows of a group have in common.
    pub(crate) fields: Vec<String>,
}

impl ScanSpec {
    /// Decides what is read for the columns of `projection`, with conditions that all hold.
    ///
    /// # Errors
    /// A column or a condition that a scan cannot serve, with what to do instead.
    pub(crate) fn new(
        target: Target,
        projection: Projection<'_>,
        conditions: &[Expr],
        limit: Option<usize>,
        history: History,
        settings: &Settings,
    ) -> Result<Self> {
        let shape = Arc::clone(&target.shape);
        let columns: Vec<usize> =
            projection.columns.map_or_else(|| (0..shape.columns.len()).collect(), Clone::clone);
        let mut query = KeyQuery::all();
        // A row may have any number of versions and cells.
        query.limit = limit.filter(|_| history.versions.is_none() && !shape.is_cells);
        let mut filters = Vec::new();
        let mut columns_of_filter = TestedColumns::default();
        let (mut filtered, mut checked_again) = (Vec::new(), Vec::new());
        for condition in conditions {
            let pushed = push(&shape, history, condition);
            query.conditions.extend(pushed.conditions);
            if let Some(filter) = pushed.filter {
                filters.push(filter);
                filtered.push(shown(condition));
            }
            columns_of_filter.tested.extend(pushed.tested);
            columns_of_filter.present.extend(pushed.present);
            if !pushed.is_exact {
                checked_again.push(shown(condition));
            }
        }
        check_columns(&target, &columns)?;
        let wants =
            |pseudo| columns.iter().any(|at| shape.columns[*at].source == Source::Pseudo(pseudo));
        if history.versions.is_some() && wants(Pseudo::Cells) {
            return Err(SqlError::unsupported(
                "_cells has the newest cells only: with VERSIONS, name declared columns, or use \
                 cells(t)",
            ));
        }
        if shape.is_cells && wants(Pseudo::Version) {
            return Err(SqlError::unsupported(
                "cells(t) has no _version: ts distinguishes its cells",
            ));
        }
        let given = given_values(&shape, &columns, &query.conditions)?;
        let plan = Plan::new(&shape.key, &query, &PlanOptions::default())?;
        let filter = match filters.len() {
            0 | 1 => filters.pop(),
            _ => Some(Filter::All(filters)),
        };
        let template = match history.versions {
            _ if shape.is_cells => cells(&shape, &columns),
            Some(_) => History::select(&shape, &columns),
            None => select(&shape, &columns, &columns_of_filter, filter.clone()),
        };
        let field = |at: &usize| shape.columns[*at].field.clone();
        let schema = projection.schema.map_or_else(
            || Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>())),
            Arc::clone,
        );
        // Rows without readable fields satisfy no condition on them.
        let unreadable = match settings.unreadable_keys {
            UnreadableKeys::Fail => UndecodableRows::Fail,
            UnreadableKeys::Null if query.conditions.is_empty() => UndecodableRows::Return,
            UnreadableKeys::Null | UnreadableKeys::Count => UndecodableRows::Count,
        };
        Ok(Self {
            target,
            columns,
            schema,
            plan: Arc::new(plan),
            history,
            template: history.applied(template)?,
            condition: filter,
            filtered,
            checked_again,
            unreadable,
            given,
            tested: columns_of_filter,
            first_of: None,
            skips_empty: false,
        })
    }

    /// Returns `true` if each row of the table is at most one row of the answer.
    pub(crate) fn is_row_by_row(&self) -> bool {
        self.history.versions.is_none() && !self.target.shape.is_cells
    }

    /// Returns the same scan with another limit and direction.
    ///
    /// # Errors
    /// None in practice: the conditions were planned before.
    pub(crate) fn replanned(&self, limit: Option<usize>, reverse: bool) -> Result<Self> {
        let mut query = self.plan.query().clone();
        (query.limit, query.reverse) = (limit, reverse);
        let plan = Plan::new(self.plan.schema(), &query, &PlanOptions::default())?;
        Ok(Self { plan: Arc::new(plan), ..self.clone() })
    }

    /// Returns `true` if the rows of the scan are those of its ranges and its filter, each once: what
    /// is left out of them then is decided by who asks for it.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_row_by_row()
            && self.plan.query().limit.is_none()
            && self.first_of.is_none()
            && self.checked_again.is_empty()
            && self.unreadable != UndecodableRows::Return
    }

    /// Returns `true` if leaving out rows that a join does not need leaves out nothing else.
    pub(crate) fn is_plain_scan(&self) -> bool {
        self.plan.query().limit.is_none()
            && self.first_of.is_none()
            && self.unreadable != UndecodableRows::Return
    }

    /// Returns about how many rows the scan returns, for choices between plans. A range of a known
    /// beginning of the key is taken for [`RANGE_ROWS`].
    pub(crate) fn estimated_rows(&self) -> usize {
        let ranges = self.plan.ranges().count();
        let is_full = self.plan.notes().iter().any(|note| matches!(note, PlanNote::FullScan));
        let rows = match self.plan.points() {
            Some(points) => points.len(),
            None if is_full => TABLE_ROWS,
            None => ranges.saturating_mul(RANGE_ROWS).min(TABLE_ROWS),
        };
        rows.min(self.plan.query().limit.unwrap_or(usize::MAX))
    }

    /// Returns the same scan of other ranges.
    pub(super) fn with_plan(&self, plan: Plan) -> Self {
        Self { plan: Arc::new(plan), ..self.clone() }
    }

    /// Returns the same scan of the first rows of groups, in a direction.
    ///
    /// # Errors
    /// None in practice: the conditions were planned before.
    pub(crate) fn first_rows(&self, first_of: FirstRows, reverse: bool) -> Result<Self> {
        Ok(Self { first_of: Some(first_of), ..self.replanned(None, reverse)? })
    }

    /// Returns the same scan without the rows that have no cell of its columns, all of which are
    /// cells.
    ///
    /// # Errors
    /// None in practice: the times were checked before.
    pub(crate) fn without_empty_rows(&self) -> Result<Self> {
        let tested =
            TestedColumns { tested: self.tested.tested.clone(), present: self.columns.clone() };
        let template = select(&self.target.shape, &self.columns, &tested, self.condition.clone());
        let template = self.history.applied(template)?;
        Ok(Self { template, skips_empty: true, ..self.clone() })
    }
}

/// Refuses columns that a scan cannot read.
fn check_columns(target: &Target, columns: &[usize]) -> Result<()> {
    let name = target.table.name();
    if target.shape.has_dictionary() {
        return Err(SqlError::unsupported(format!(
            "table {name} numbers values by a dictionary (DICT), which SQL does not read yet; use \
             the row-key API"
        )));
    }
    for column in columns.iter().filter_map(|at| target.shape.columns.get(*at)) {
        if let Source::Unread(ty) = &column.source {
            return Err(SqlError::unsupported(format!(
                "column {} of table {name} is declared {ty}, which SQL does not read yet; name the \
                 other columns, or use halite key scan",
                column.name
            )));
        }
    }
    Ok(())
}

/// Returns the values of the fields of which the key has only a hash, by the position of the column
/// in the shape: those that the statement gives.
fn given_values(
    shape: &TableShape,
    columns: &[usize],
    conditions: &[Condition],
) -> Result<Vec<(usize, Value<'static>)>> {
    let mut given = Vec::new();
    for &at in columns {
        let Source::Key(field) = shape.columns[at].source else { continue };
        if !shape.key.is_only_hashed(field) {
            continue;
        }
        let value = conditions.iter().find_map(|condition| match &condition.predicate {
            Predicate::Equals(value) if condition.field == field => Some(value.clone()),
            _ => None,
        });
        let Some(value) = value else {
            let name = &shape.columns[at].name;
            return Err(SqlError::unsupported(format!(
                "the key has only a hash of {name}: it is shown where the statement gives it, so \
                 add {name} = .. to WHERE, or leave it out of SELECT"
            )));
        };
        given.push((at, value));
    }
    Ok(given)
}
