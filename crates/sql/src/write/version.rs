//! `DELETE FROM t WHERE <whole key> AND _ts = time`: the cells of the row's columns that have this
//! time. They are looked up first: a delete marker where no cell is would hide one that is written
//! with that time later.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Ident};
use halite_types::op::Delete;
use halite_types::query::TimeRange;
use halite_types::{Bytes, CellRef, Get, Row, TableExt as _};

use super::apply::{Change, Changes, SentChange};
use super::change::ChangePlan;
use super::exprs::constant;
use super::parsed::{is_constant, named};
use super::running::{Running, Written};
use super::sink::Sink;
use super::source::{Assigned, RowValue, plan_value};
use super::syntax::ChangeStatement;
use super::target::{CHUNK_ROWS, WriteColumn, WriteTarget};
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::{Pseudo, Source};
use crate::error::{Result, SqlError, SqlState};

/// Takes the condition on the time out of a DELETE that has one beside others, and plans its time.
///
/// # Errors
/// `NotSupported` for clauses that make no sense with it.
pub(super) async fn take(
    session: &SessionContext,
    catalog: &HaliteCatalog,
    target: &WriteTarget,
    statement: &mut ChangeStatement,
) -> Result<Option<RowValue>> {
    if statement.assignments.is_some() {
        return Ok(None);
    }
    let Some(selection) = statement.selection.take() else { return Ok(None) };
    let mut terms = Vec::new();
    flatten(selection.clone(), &mut terms);
    let Some(at) = terms.iter().position(|term| time_of(term).is_some()) else {
        statement.selection = Some(selection);
        return Ok(None);
    };
    let time = time_of(&terms.remove(at));
    let refused = [
        (terms.is_empty(), "without the key of the row"),
        (statement.returning.is_some(), "with RETURNING, as the row stays"),
        (statement.limit.is_some() || statement.order_by.is_some(), "with ORDER BY or LIMIT"),
        (!statement.from.is_empty(), "with USING"),
    ];
    if let Some((_, what)) = refused.iter().find(|(is_there, _)| *is_there) {
        return Err(SqlError::unsupported(format!("_ts = .. in DELETE {what}: {}", form(target))));
    }
    let and = |one: Expr, other: Expr| Expr::BinaryOp {
        left: Box::new(one),
        op: BinaryOperator::And,
        right: Box::new(other),
    };
    statement.selection = terms.into_iter().reduce(and);
    let time = named(catalog, time.into_iter().collect(), Vec::new()).await?.pop();
    let time = time.ok_or_else(|| SqlError::new(SqlState::Internal, "a time was lost"))?;
    plan_value(&session.state(), target, WriteColumn::Ts, time).map(Some)
}

fn form(target: &WriteTarget) -> String {
    format!(
        "DELETE FROM {} WHERE <whole key> AND _ts = time deletes the cells of the row that have \
         this time",
        target.table.name()
    )
}

/// Returns `true` for a time between two milliseconds, which no cell has.
fn is_finer_than_cells(time: &ScalarValue) -> bool {
    let is_time = matches!(
        time.data_type(),
        DataType::Timestamp(..) | DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
    );
    let fine = DataType::Timestamp(TimeUnit::Nanosecond, Some("+00:00".into()));
    match time.cast_to(&fine) {
        Ok(ScalarValue::TimestampNanosecond(Some(ns), _)) => is_time && ns % 1_000_000 != 0,
        // Too far away for nanoseconds, or no time.
        _ => false,
    }
}

/// Returns the terms of AND, in their order.
fn flatten(expr: Expr, terms: &mut Vec<Expr>) {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            flatten(*left, terms);
            flatten(*right, terms);
        }
        Expr::Nested(inner) if is_and(&inner) => flatten(*inner, terms),
        other => terms.push(other),
    }
}

fn is_and(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::And, .. } | Expr::Nested(_))
}

/// Returns the time of `_ts = time`.
fn time_of(term: &Expr) -> Option<Expr> {
    let (left, right) = match term {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => (left, right),
        Expr::Nested(inner) => return time_of(inner),
        _ => return None,
    };
    let is_ts = |ident: &Ident| ident.value.eq_ignore_ascii_case(Pseudo::Ts.name());
    let names_ts = |expr: &Expr| match expr {
        Expr::Identifier(ident) => is_ts(ident),
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(is_ts),
        _ => false,
    };
    let value = match (names_ts(left), names_ts(right)) {
        (true, false) => right,
        (false, true) => left,
        _ => return None,
    };
    is_constant(value).then(|| value.as_ref().clone())
}

impl ChangePlan {
    /// Deletes the version of a time.
    pub(super) async fn delete_version(
        &self,
        running: &Running,
        time: &RowValue,
    ) -> Result<Written> {
        let target = &self.target;
        if let RowValue::Constant(expr) = time
            && is_finer_than_cells(constant(running, expr)?.as_ref())
        {
            return Ok(Written { tag: "DELETE 0".to_owned(), returned: None });
        }
        let Assigned::Ts(time) = time.value(running, target, WriteColumn::Ts)? else {
            // Null is no time of a cell.
            return Ok(Written { tag: "DELETE 0".to_owned(), returned: None });
        };
        let memory = running.memory();
        let changes = Changes { plan: self, change: Change::Delete, running, memory };
        let Some(keys) = changes.whole_keys().await? else {
            return Err(SqlError::unsupported(format!(
                "_ts = .. in DELETE with other conditions than a whole key: {}",
                form(target)
            )));
        };
        let mut count = 0;
        let mut sink: Sink<'_, SentChange> = Sink::new(target, &running.statement);
        let mut pushed = Ok(());
        for keys in keys.chunks(CHUNK_ROWS) {
            match self.push_versions(keys, time, &mut sink).await {
                Ok(rows) => count += rows,
                Err(error) => {
                    pushed = Err(error);
                    break;
                }
            }
        }
        sink.finish(pushed).await?;
        Ok(Written { tag: format!("DELETE {count}"), returned: None })
    }

    /// Sends the deletes of some rows; returns how many have cells of the time.
    async fn push_versions(
        &self,
        keys: &[Bytes],
        time: i64,
        sink: &mut Sink<'_, SentChange>,
    ) -> Result<u64> {
        let table = self.target.table.as_ref();
        let range = TimeRange::at(time)?;
        let gets = keys.iter().map(|key| Get::new(key.clone()).time_range(range)).collect();
        let mut count = 0;
        for (key, row) in keys.iter().zip(table.get_all(gets).await?) {
            let cells: Vec<CellRef<'_>> =
                row.iter().filter(|cell| self.target.is_of_version(cell, time)).collect();
            if cells.is_empty() {
                continue;
            }
            let mut delete = cells.iter().fold(Delete::new(key.clone()), |delete, cell| {
                delete.version(cell.family(), cell.qualifier(), time)
            });
            if self.target.has_never_null() {
                let now = table.get(Get::new(key.clone()).versions(2)).await?;
                if !self.target.check_left(&now, time)?
                    && let Some(family) = &self.target.shape.marker
                {
                    // A row of the marker alone would be one whose columns are NULL.
                    delete = delete.column(family, b"");
                }
            }
            sink.push(SentChange { row: key.clone(), image: None }, delete.into()).await?;
            count += 1;
        }
        Ok(count)
    }
}

impl WriteTarget {
    /// Returns `true` for a cell of a column that has a time; of a table that declares no columns,
    /// for each. The marker of a row stays: it is no column.
    fn is_of_version(&self, cell: &CellRef<'_>, time: i64) -> bool {
        let is_of_column = || self.shape.is_cell_of_column(cell.family(), cell.qualifier());
        cell.timestamp() == time && (!self.shape.is_declared || is_of_column())
    }

    fn has_never_null(&self) -> bool {
        let columns = self.shape.columns.iter();
        columns.filter_map(|column| column.cell.as_ref()).any(|cell| cell.not_null)
    }

    /// Checks that a row of which other cells are left keeps those of columns that are NOT NULL.
    /// Returns `true` if cells of columns are left.
    fn check_left(&self, row: &Row, time: i64) -> Result<bool> {
        let is_left = |cell: &CellRef<'_>| cell.timestamp() != time;
        let is_of_row = |cell: &CellRef<'_>| {
            is_left(cell) && self.shape.is_cell_of_column(cell.family(), cell.qualifier())
        };
        if !row.iter().any(|cell| is_of_row(&cell)) {
            return Ok(false);
        }
        for column in &self.shape.columns {
            let Source::Cell { family, qualifier } = &column.source else { continue };
            let is_never_null = column.cell.as_ref().is_some_and(|cell| cell.not_null);
            let is_of_column = |cell: CellRef<'_>| {
                is_left(&cell) && cell.family() == family && cell.qualifier() == qualifier
            };
            if is_never_null && !row.iter().any(is_of_column) {
                let text = format!(
                    "table {}, row {}: column {} is NOT NULL and has no other version, and other \
                     columns have: DELETE the row, or UPDATE it",
                    self.table.name(),
                    self.row_text(row.key()),
                    column.name
                );
                return Err(SqlError::new(SqlState::NotNull, text));
            }
        }
        Ok(true)
    }
}
