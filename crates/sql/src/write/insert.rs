//! INSERT and UPSERT.

use std::collections::BTreeSet;

use datafusion::prelude::SessionContext;

use super::conflict::ConflictPlan;
use super::excluded::conflict_key;
use super::exprs::Parameters;
use super::insert_rows::InsertRun;
use super::returning::Returning;
use super::row::position;
use super::running::{Running, Written};
use super::select;
use super::source::{InputRow, RowSource, evaluated};
use super::syntax::{InsertStatement, OnConflict};
use super::target::{WriteColumn, WriteTarget};
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::scan::full_scan::check_plan;
use crate::session::settings::InsertMode;

/// Planned INSERT or UPSERT.
pub(super) struct InsertPlan {
    pub(super) target: WriteTarget,
    pub(super) columns: Vec<WriteColumn>,
    pub(super) source: RowSource,
    pub(super) is_upsert: bool,
    pub(super) on_conflict: Conflict,
    pub(super) returning: Option<Returning>,
}

/// What happens to a row that is there.
pub(super) enum Conflict {
    Fail,
    Nothing,
    Update(Box<ConflictPlan>),
}

impl InsertPlan {
    pub(super) async fn new(
        session: &SessionContext,
        catalog: &HaliteCatalog,
        mut statement: InsertStatement,
    ) -> Result<Self> {
        let alias = statement.alias.take();
        let target = WriteTarget::find(catalog, &statement.table, alias).await?;
        Self::of(session, catalog, target, statement).await
    }

    /// Plans a statement whose table is found.
    pub(super) async fn of(
        session: &SessionContext,
        catalog: &HaliteCatalog,
        mut target: WriteTarget,
        mut statement: InsertStatement,
    ) -> Result<Self> {
        target.name_entries(statement.columns_mut())?;
        if target.cells().next().is_none() && target.shape.series.is_empty() {
            let name = target.table.name();
            return Err(SqlError::unsupported(format!(
                "table {name} declares no columns that SQL writes; CREATE TABLE .. (columns, ROW \
                 KEY (..)) declares them"
            )));
        }
        let is_named = !statement.columns.is_empty();
        let mut columns: Vec<WriteColumn> = if is_named {
            statement.columns.iter().map(|one| target.column(one)).collect::<Result<_>>()?
        } else {
            (0..target.shape.columns.len()).map(WriteColumn::Column).collect()
        };
        let source = statement.source;
        let source =
            RowSource::plan(session, catalog, &target, &mut columns, is_named, source).await?;
        check_columns(&target, &columns)?;
        let on_conflict = match statement.on_conflict {
            OnConflict::Fail => Conflict::Fail,
            OnConflict::Nothing { key } => {
                target.check_found("INSERT .. ON CONFLICT")?;
                conflict_key(&target, &key)?;
                Conflict::Nothing
            }
            OnConflict::Update(clause) => {
                target.check_found("INSERT .. ON CONFLICT")?;
                conflict_key(&target, &clause.key)?;
                let plan = ConflictPlan::new(session, catalog, &target, *clause, &columns);
                Conflict::Update(Box::new(plan.await?))
            }
        };
        let returning = match statement.returning {
            Some(items) => Some(Returning::plan(session, catalog, &target, items).await?),
            None => None,
        };
        if target.shape.is_points()
            && (returning.is_some() || !matches!(on_conflict, Conflict::Fail))
        {
            return Err(SqlError::unsupported(format!(
                "points of the SERIES of table {} are written without looking; leave ON CONFLICT \
                 and RETURNING out",
                target.table.name()
            )));
        }
        // A point is written over, whatever the verb.
        let is_upsert = statement.is_upsert || target.shape.is_points();
        Ok(Self { target, columns, source, is_upsert, on_conflict, returning })
    }

    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        self.source.parameters(known)?;
        if let Conflict::Update(plan) = &self.on_conflict {
            plan.parameters(known)?;
        }
        self.returning.as_ref().map_or(Ok(()), |returning| returning.parameters(known))
    }

    /// Returns `true` if the rows are those of VALUES.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.source, RowSource::Values(_))
    }

    /// Returns `true` if a row that is there is not written over.
    ///
    /// # Errors
    /// `NotSupported` where nothing tells whether it is.
    pub(super) fn looks(&self, insert: InsertMode) -> Result<bool> {
        let is_plain = matches!(self.on_conflict, Conflict::Fail);
        let looks = !self.is_upsert && !(is_plain && insert == InsertMode::Upsert);
        if looks {
            self.target.check_found("INSERT")?;
        }
        Ok(looks)
    }

    /// Checks what can be known before the first row is read.
    ///
    /// # Errors
    /// As those of a run.
    pub(super) async fn check(&self, running: &Running) -> Result<()> {
        if self.looks(running.statement.settings.insert)? {
            self.target.expect_witness()?;
        }
        check_key(&self.target, &self.columns)?;
        match &self.source {
            RowSource::Values(rows) => {
                evaluated(running, &self.target, &self.columns, rows).map(drop)
            }
            RowSource::Query(plan) => {
                let query = select::physical(running, plan.as_ref().clone()).await?;
                check_plan(query.physical.as_ref(), &running.statement)
            }
        }
    }

    pub(super) async fn run(&self, running: &Running) -> Result<Written> {
        let looks = self.looks(running.statement.settings.insert)?;
        let mut run = InsertRun::new(self, running, looks);
        let pushed = self.push_rows(running, &mut run).await;
        run.finish(pushed).await
    }

    async fn push_rows(&self, running: &Running, run: &mut InsertRun<'_>) -> Result<()> {
        match &self.source {
            RowSource::Values(rows) => {
                for row in evaluated(running, &self.target, &self.columns, rows)? {
                    run.push(row).await?;
                }
            }
            RowSource::Query(plan) => {
                let query = select::physical(running, plan.as_ref().clone()).await?;
                // What it writes itself is none of its rows.
                let reads_itself = select::scans_of(&query.physical, self.target.table.name()) > 0;
                let mut rows = query.run(&running.statement)?;
                if reads_itself {
                    for batch in run.memory.all(&mut rows).await? {
                        run.push_batch(&batch).await?;
                    }
                } else {
                    while let Some(batch) = rows.next().await? {
                        run.push_batch(&batch).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the DEFAULT values of columns that are not given. UPSERT changes no column that is not
    /// given, but a row must have those that are NOT NULL.
    pub(super) fn with_defaults(&self, row: &mut InputRow<'_>, looks: bool) {
        for at in self.target.cells() {
            let Some(cell) = &self.target.shape.columns[at].cell else { continue };
            if let Some(default) = &cell.default
                && (looks || cell.not_null)
                && !row.values.iter().any(|(given, _)| *given == at)
            {
                row.values.push((at, default.clone()));
            }
        }
    }
}

/// Checks that no column is given twice, and that all that must be given are.
fn check_columns(target: &WriteTarget, columns: &[WriteColumn]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].contains(column) {
            let name = position(*column).map_or("_ts or _ttl", |at| &target.shape.columns[at].name);
            let text = format!("column {name} is given twice; leave one out");
            return Err(SqlError::new(SqlState::Syntax, text));
        }
    }
    let given: BTreeSet<usize> = columns.iter().filter_map(|one| position(*one)).collect();
    given.iter().try_for_each(|at| target.check_written(*at))?;
    for at in target.cells().filter(|at| !given.contains(at)) {
        let cell = target.shape.columns[at].cell.as_ref();
        if cell.is_some_and(|cell| cell.not_null && cell.default.is_none() && !cell.is_counter) {
            return Err(target.null_error(at));
        }
    }
    Ok(())
}

/// Checks that all fields of the key are given that a row must have.
fn check_key(target: &WriteTarget, columns: &[WriteColumn]) -> Result<()> {
    for (at, column) in target.shape.columns.iter().enumerate() {
        let is_field = matches!(column.source, Source::Key(_));
        let is_given = || columns.iter().any(|one| position(*one) == Some(at));
        if is_field && !column.field.is_nullable() && !is_given() {
            let text = format!(
                "column {} of table {} is a field of its key: give it a value",
                column.name,
                target.table.name()
            );
            return Err(SqlError::new(SqlState::NotNull, text));
        }
    }
    Ok(())
}
