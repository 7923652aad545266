//! What one scan reads.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::logical_expr::Expr;
use halite_rowkey::plan::{Condition, KeyGroups, Predicate};
use halite_rowkey::value::Value;
use halite_rowkey::{Dictionary, FieldId, KeyQuery, Plan, PlanOptions, UndecodableRows};
use halite_types::{Filter, RegionInfo, RowRange, Scan, Table};

use super::asked::add_asked;
use super::cell_conditions::CellConditions;
use super::history::History;
use super::selection::{TestedColumns, cells, never_null, select};
use crate::catalog::shape::{Pseudo, Source, TableShape};
use crate::catalog::statistics::TableStatistics;
use crate::error::{Result, SqlError};
use crate::pushdown::push;
use crate::session::overflow::shown;
use crate::session::settings::{Settings, UnreadableKeys};

/// Rows of a table, and of a range of it, as long as nothing is known of them.
const TABLE_ROWS: usize = 1_000_000;
const RANGE_ROWS: usize = 1000;
/// Rows of a group from which on a seek is cheaper than reading them.
const LARGE_GROUP_ROWS: u64 = 20;

/// Table of a scan.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) table: Arc<dyn Table>,
    pub(crate) shape: Arc<TableShape>,
    /// Regions in key order, as of planning.
    pub(crate) regions: Arc<Vec<RegionInfo>>,
    /// Dictionaries of its key, as of planning.
    pub(crate) dictionary: Option<Arc<Dictionary>>,
    /// What ANALYZE left of it.
    pub(crate) statistics: Option<Arc<TableStatistics>>,
}

impl Target {
    /// Returns the options of the planner of keys.
    pub(super) fn plan_options(&self) -> PlanOptions {
        let dictionary = self.dictionary.clone();
        PlanOptions { resolver: dictionary.map(|one| one as _), ..PlanOptions::default() }
    }
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
    /// Which cells of `cells(t)` the conditions leave, as text.
    pub(crate) cells: Option<String>,
    /// Columns of cells that the statement compares with constants, by position in the shape.
    pub(super) asked: Vec<(usize, Predicate)>,
    pub(crate) unreadable: UndecodableRows,
    /// Values of fields of which the key has only a hash, as the statement gives them.
    pub(crate) given: Vec<(usize, Value<'static>)>,
    /// Columns that the filter tests.
    tested: TestedColumns,
    /// Groups of which only the first row is read.
    pub(crate) first_of: Option<FirstRows>,
    /// `true` if rows without a cell of the columns are not read.
    pub(crate) skips_empty: bool,
    /// Keys that it reads if it is a part of a scan.
    part: Option<RowRange>,
    /// Parts in which it may be read at once; 0 for as many as there are processors.
    pub(crate) max_parts: usize,
    /// Reads of the scan that are in flight at once.
    pub(crate) scan_concurrency: usize,
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
        // A row may have any number of versions, cells and points.
        let is_row_by_row = history.versions.is_none() && !shape.is_cells() && !shape.is_points();
        query.limit = limit.filter(|_| is_row_by_row);
        let mut filters = Vec::new();
        let mut columns_of_filter = TestedColumns::default();
        let (mut filtered, mut checked_again) = (Vec::new(), Vec::new());
        let (mut asked, mut any_of) = (Vec::new(), Vec::new());
        for condition in conditions {
            let pushed = push(&shape, history, condition);
            if !pushed.is_of_key() {
                add_asked(&shape, condition, &mut asked);
            }
            query.conditions.extend(pushed.conditions);
            any_of.extend(pushed.any_of);
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
        if shape.is_cells() && wants(Pseudo::Version) {
            return Err(SqlError::unsupported(
                "cells(t) has no _version: ts distinguishes its cells",
            ));
        }
        let is_map = |at: &usize| matches!(shape.columns[*at].source, Source::Map { .. });
        if history.versions.is_some()
            && let Some(at) = columns.iter().find(|at| is_map(at))
        {
            let map = &shape.columns[*at].name;
            return Err(SqlError::unsupported(format!(
                "the MAP {map} has the newest cells only: with VERSIONS, name its entries, as in \
                 {map}['key'], or use cells(t)"
            )));
        }
        if !shape.series.is_empty() && !shape.is_cells() && history != History::default() {
            let name = target.table.name();
            return Err(SqlError::unsupported(format!(
                "table {name} has a SERIES, whose packed points have one time: VERSIONS and AS OF \
                 would leave out points; read cells({name})"
            )));
        }
        let of_cells = shape.is_cells().then(|| CellConditions::of(&shape, conditions));
        if of_cells.as_ref().is_some_and(CellConditions::is_empty) {
            query.conditions.extend(none_of(&shape));
            filters.push(Filter::FilterAll);
        }
        let given = given_values(&shape, &columns, &query.conditions)?;
        let is_of_key = !query.conditions.is_empty() || !any_of.is_empty();
        let options = target.plan_options();
        let plan = Plan::with_alternatives(&shape.key, &query, &any_of, &options)?;
        let filter = match filters.len() {
            0 | 1 => filters.pop(),
            _ => Some(Filter::All(filters)),
        };
        if history == History::default() {
            columns_of_filter.never_null = never_null(&shape);
        }
        let mut read = history;
        let template = match history.versions {
            _ if let Some(conditions) = &of_cells => {
                let scan = cells(&shape, &columns);
                read = conditions.times_of(history, scan.raw);
                match filter.clone() {
                    Some(nothing) => scan.filter(nothing),
                    None => conditions.applied(&shape, scan),
                }
            }
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
            UnreadableKeys::Null if !is_of_key => UndecodableRows::Return,
            UnreadableKeys::Null | UnreadableKeys::Count => UndecodableRows::Count,
        };
        Ok(Self {
            target,
            columns,
            schema,
            plan: Arc::new(plan),
            history,
            template: read.applied(template)?,
            condition: filter,
            filtered,
            checked_again,
            cells: of_cells.and_then(|conditions| conditions.text()),
            asked,
            unreadable,
            given,
            tested: columns_of_filter,
            first_of: None,
            skips_empty: false,
            part: None,
            max_parts: usize::try_from(settings.partitions).unwrap_or(usize::MAX),
            scan_concurrency: settings.scan_concurrency,
        })
    }

    /// Returns `true` if each row of the table is at most one row of the answer.
    pub(crate) fn is_row_by_row(&self) -> bool {
        let shape = &self.target.shape;
        self.history.versions.is_none() && !shape.is_cells() && !shape.is_points()
    }

    /// Returns the same scan with another limit and direction.
    ///
    /// # Errors
    /// None in practice: the conditions were planned before.
    pub(crate) fn replanned(&self, limit: Option<usize>, reverse: bool) -> Result<Self> {
        let plan = self.plan.replanned(limit, reverse)?;
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

    /// Returns about how many rows the scan returns, for choices between plans. Without statistics
    /// a range of a known beginning of the key is taken for [`RANGE_ROWS`].
    pub(crate) fn estimated_rows(&self) -> usize {
        let ranges = self.plan.ranges().count();
        let is_full = self.plan.is_full_scan();
        let rows = if self.plan.is_points() {
            ranges
        } else if self.target.statistics.is_some() {
            usize::try_from(self.known_rows().unwrap_or_default()).unwrap_or(usize::MAX)
        } else if is_full {
            TABLE_ROWS
        } else {
            ranges.saturating_mul(RANGE_ROWS).min(TABLE_ROWS)
        };
        rows.min(self.plan.query().limit.unwrap_or(usize::MAX))
    }

    /// Returns about how many bytes of memory the columns of a row need, by the statistics of the
    /// table.
    pub(crate) fn known_row_bytes(&self) -> Option<u64> {
        let statistics = self.target.statistics.as_ref()?;
        let of_column = |at: &usize| {
            let column = &self.target.shape.columns[*at];
            let is_of_key = match column.source {
                Source::Key(_) => true,
                Source::Cell { .. } | Source::CellTs { .. } => false,
                _ => return None,
            };
            statistics.bytes_of(*at, column.field.data_type(), is_of_key)
        };
        self.columns.iter().map(of_column).sum()
    }

    /// Returns about how many rows the conditions on the key leave, by the statistics of the table.
    pub(crate) fn known_rows(&self) -> Option<u64> {
        let statistics = self.target.statistics.as_ref()?;
        let of_query = |query: &KeyQuery| statistics.rows_of(self.plan.schema(), &query.conditions);
        let all = self.plan.queries().map(of_query).fold(0, u64::saturating_add);
        Some(all.min(statistics.rows))
    }

    /// Returns `true` if the statistics of the table say that the groups of the leading `fields` have
    /// too few rows to seek from one to the next.
    pub(crate) fn has_small_groups(&self, fields: &[FieldId]) -> bool {
        let conditions = &self.plan.query().conditions;
        let rows = self.target.statistics.as_ref().and_then(|statistics| {
            statistics.rows_of_group(self.plan.schema(), conditions, fields)
        });
        rows.is_some_and(|rows| rows < LARGE_GROUP_ROWS)
    }

    /// Returns the same scan of other ranges, as far as they are in its part.
    pub(super) fn with_plan(&self, plan: Plan) -> Self {
        let plan = self.part.iter().fold(plan, |plan, part| plan.within(part));
        Self { plan: Arc::new(plan), ..self.clone() }
    }

    /// Returns parts of the scan with about as many regions each, at most `most`; none if it is not
    /// worth it, or if the rows of the parts were not those of the whole: a limit, first rows of
    /// groups.
    pub(crate) fn parts(&self, most: usize) -> Vec<Arc<Self>> {
        let whole = self.plan.query().limit.is_none() && self.first_of.is_none();
        if most < 2 || !whole || self.plan.is_points() {
            return Vec::new();
        }
        let is_read = |region: &&RegionInfo| {
            self.plan.ranges().any(|range| range.touches(&region.start, &region.end))
        };
        let read: Vec<&RegionInfo> = self.target.regions.iter().filter(is_read).collect();
        let count = most.min(read.len());
        if count < 2 {
            return Vec::new();
        }
        // Regions may split meanwhile: their ends are but keys between the parts.
        let first_of = |part: usize| &read[part * read.len() / count].start;
        let part = |at: usize| {
            let start =
                if at == 0 { Bound::Unbounded } else { Bound::Included(first_of(at).clone()) };
            let end = match at + 1 {
                next if next == count => Bound::Unbounded,
                next => Bound::Excluded(first_of(next).clone()),
            };
            let part = RowRange { start, end };
            let plan = Arc::new(self.plan.within(&part));
            Arc::new(Self { plan, part: Some(part), ..self.clone() })
        };
        (0..count).map(part).collect()
    }

    /// Returns the ranges of the scan, each in one region as of planning.
    pub(super) fn ranges_by_region(&self) -> Vec<RowRange> {
        let mut ranges = Vec::new();
        let mut start = Bound::Unbounded;
        let ends = self.target.regions.iter().skip(1).map(|next| Some(&next.start)).chain([None]);
        for end in ends {
            let end = end.map_or(Bound::Unbounded, |end| Bound::Excluded(end.clone()));
            let next = match &end {
                Bound::Excluded(key) => Bound::Included(key.clone()),
                Bound::Included(_) | Bound::Unbounded => Bound::Unbounded,
            };
            let region = RowRange { start: std::mem::replace(&mut start, next), end };
            ranges.extend(self.plan.within(&region).ranges().map(|range| range.range.clone()));
        }
        ranges
    }

    /// Returns the same scan of the first rows of groups, in a direction.
    ///
    /// # Errors
    /// None in practice: the conditions were planned before.
    pub(crate) fn first_rows(&self, first_of: FirstRows, reverse: bool) -> Result<Self> {
        Ok(Self { first_of: Some(first_of), ..self.replanned(None, reverse)? })
    }

    /// Returns the same scan of other columns of a shape that has those of this one, with its
    /// conditions on cells or without.
    ///
    /// # Errors
    /// None in practice: the times were checked before.
    pub(crate) fn with_columns(
        &self,
        shape: &Arc<TableShape>,
        columns: Vec<usize>,
        is_filtered: bool,
    ) -> Result<Self> {
        let (tested, condition) = if is_filtered {
            (self.tested.clone(), self.condition.clone())
        } else {
            let never_null = self.tested.never_null.clone();
            (TestedColumns { never_null, ..TestedColumns::default() }, None)
        };
        let template = select(shape, &columns, &tested, condition.clone());
        let field = |at: &usize| shape.columns[*at].field.clone();
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        Ok(Self {
            target: Target { shape: Arc::clone(shape), ..self.target.clone() },
            template: self.history.applied(template)?,
            columns,
            schema,
            condition,
            tested,
            ..self.clone()
        })
    }

    /// Returns the same scan without the rows that have no cell of its columns, all of which are
    /// cells.
    ///
    /// # Errors
    /// None in practice: the times were checked before.
    pub(crate) fn without_empty_rows(&self) -> Result<Self> {
        let tested = TestedColumns { present: self.columns.clone(), ..self.tested.clone() };
        let template = select(&self.target.shape, &self.columns, &tested, self.condition.clone());
        let template = self.history.applied(template)?;
        Ok(Self { template, skips_empty: true, ..self.clone() })
    }
}

/// Returns a condition that no row satisfies; `None` if the key has no field to look up.
fn none_of(shape: &TableShape) -> Option<Condition> {
    let field = (0..shape.key.fields().len()).find(|field| shape.is_whole(*field))?;
    Some(Condition { field, predicate: Predicate::In(Vec::new()) })
}

/// Refuses columns that a scan cannot read.
fn check_columns(target: &Target, columns: &[usize]) -> Result<()> {
    let name = target.table.name();
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
