//! Statements that write: INSERT, UPSERT, UPDATE, DELETE, MOVE ROW.
//!
//! A statement becomes operations of HBase on one row each: Put, Delete, Increment, or
//! `CheckAndMutate` of one of them. Nothing goes through DataFusion's hooks for writes, which lose
//! conditions.
//!
//! `syntax/` reads the statement, `target.rs` finds its table. `insert.rs` plans rows of values
//! (`source.rs`), `insert_rows.rs` writes them; `conflict.rs` changes those that are there, by
//! expressions over both rows (`excluded.rs`), or adds to counters (`counters.rs`). `change.rs` plans
//! UPDATE and DELETE as a SELECT of rows, `sets.rs` what SET does, and `apply.rs` changes the rows
//! (`candidate.rs`) under the condition that they still are as they were read (`guard.rs`);
//! `version.rs` deletes the cells of one time.
//! `row.rs` turns values into one operation, `sink.rs` sends operations in batches, `memory.rs` counts
//! what is kept, `exprs.rs`
//! evaluates expressions, `values.rs` says what may be assigned, `returning.rs` returns rows, `explain.rs` says what
//! a statement does, or would do, as `explained.rs` shows it.

mod apply;
mod candidate;
mod change;
mod conflict;
mod counters;
mod excluded;
mod explain;
mod explained;
mod exprs;
mod guard;
mod insert;
mod insert_rows;
mod memory;
mod moved;
mod parsed;
mod returning;
mod row;
mod running;
mod select;
mod sets;
mod sink;
mod source;
mod syntax;
mod target;
mod tries;
mod values;
mod version;

use std::sync::Arc;

use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;
use halite_types::TableDescriptor;

use crate::catalog::HaliteCatalog;
use crate::error::{Result, SqlError, SqlState};
use crate::session::large_stack::on_large_stack;
use crate::session::parameters::fields_of;
use crate::session::settings::Settings;
use crate::session::statement::StatementContext;
use exprs::Parameters;
use insert::InsertPlan;
use running::Running;
use syntax::{WriteStatement, write_statement};
use target::WriteTarget;

pub(crate) use memory::bytes_of_array;
pub(crate) use running::Written;
pub(crate) use target::marker_family;

/// Planned statement that writes: INSERT, UPSERT, UPDATE, DELETE, MOVE ROW. It may run several
/// times, with values of its parameters.
#[derive(Clone)]
pub(crate) struct WritePlan {
    session: SessionContext,
    kind: Arc<PlanKind>,
}

enum PlanKind {
    Insert(InsertPlan),
    Change(change::ChangePlan),
    Move(moved::MovePlan),
}

impl WritePlan {
    /// Plans a statement.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) async fn prepare(
        session: &SessionContext,
        catalog: &Arc<HaliteCatalog>,
        tokens: Vec<TokenWithSpan>,
    ) -> Result<Self> {
        let (session, catalog) = (session.clone(), Arc::clone(catalog));
        let planning = session.clone();
        let kind = on_large_stack(move |handle| {
            handle.block_on(async move {
                Ok::<_, SqlError>(match write_statement(tokens)? {
                    WriteStatement::Insert(statement) => {
                        PlanKind::Insert(InsertPlan::new(&planning, &catalog, *statement).await?)
                    }
                    WriteStatement::Change(statement) => PlanKind::Change(
                        change::ChangePlan::new(&planning, &catalog, *statement).await?,
                    ),
                    WriteStatement::Move(statement) => {
                        PlanKind::Move(moved::MovePlan::new(&planning, &catalog, statement).await?)
                    }
                })
            })
        })
        .await??;
        Ok(Self { session, kind: Arc::new(kind) })
    }

    /// Checks an INSERT, of which the tokens and the values of its parameters are given, into a
    /// table that is not created yet.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) async fn check_declared(
        session: &SessionContext,
        catalog: &Arc<HaliteCatalog>,
        descriptor: TableDescriptor,
        (tokens, values): (Vec<TokenWithSpan>, Vec<ScalarValue>),
        statement: &StatementContext,
    ) -> Result<()> {
        // Its notices are those of the run.
        let statement = Arc::new(StatementContext::new(statement.settings.clone()));
        let running = Running::new(session, values.into(), &statement);
        let (session, catalog) = (session.clone(), Arc::clone(catalog));
        let plan = on_large_stack(move |handle| {
            let WriteStatement::Insert(insert) = write_statement(tokens)? else {
                let text = "rows of a new table are inserted; please report it";
                return Err(SqlError::new(SqlState::Internal, text));
            };
            let target = WriteTarget::declared(&catalog, descriptor)?;
            handle.block_on(InsertPlan::of(&session, &catalog, target, *insert))
        });
        plan.await??.check(&running).await
    }

    /// Returns the parameters, named `$1`, `$2` .., with the type and the metadata of the columns
    /// that they meet; text where nothing tells.
    ///
    /// # Errors
    /// `UndefinedParameter` for a parameter that is no number.
    pub(crate) fn parameters(&self) -> Result<Vec<FieldRef>> {
        let mut known = Parameters::new();
        match self.kind.as_ref() {
            PlanKind::Insert(plan) => plan.parameters(&mut known)?,
            PlanKind::Change(plan) => plan.parameters(&mut known)?,
            PlanKind::Move(plan) => plan.parameters(&mut known)?,
        }
        Ok(fields_of(&known))
    }

    /// Checks that a value may be assigned to a column of an INSERT, by its position among those
    /// that the statement names.
    ///
    /// # Errors
    /// What is wrong with the value, with the name of the column.
    pub(crate) fn check_value(&self, at: usize, value: &ScalarValue) -> Result<()> {
        let PlanKind::Insert(plan) = self.kind.as_ref() else { return Ok(()) };
        let column = plan.columns.get(at).and_then(|column| row::position(*column));
        let Some(column) = column.and_then(|at| plan.target.shape.columns.get(at)) else {
            return Ok(());
        };
        values::assign(&column.name, column.ty, value).map(drop)
    }

    /// Returns the columns of RETURNING; `None` without it.
    pub(crate) fn returning_schema(&self) -> Option<SchemaRef> {
        match self.kind.as_ref() {
            PlanKind::Insert(plan) => plan.returning.as_ref().map(|one| Arc::clone(&one.output)),
            PlanKind::Change(plan) => plan.returning.as_ref().map(|one| Arc::clone(&one.output)),
            PlanKind::Move(_) => None,
        }
    }

    /// Returns `true` if the plan depends on nothing but the table that is written and on values,
    /// so that it is the same each time.
    pub(crate) fn is_kept(&self) -> bool {
        match self.kind.as_ref() {
            PlanKind::Insert(plan) => plan.is_kept(),
            PlanKind::Change(plan) => plan.direct.is_some(),
            PlanKind::Move(_) => false,
        }
    }

    /// Returns `true` if planning the statement again would give the same.
    pub(crate) async fn is_current(&self, catalog: &HaliteCatalog, settings: &Settings) -> bool {
        let target = match self.kind.as_ref() {
            PlanKind::Insert(plan) => &plan.target,
            PlanKind::Change(plan) => &plan.target,
            PlanKind::Move(_) => return false,
        };
        target.is_current(catalog, settings).await
    }

    /// Runs the statement.
    ///
    /// # Errors
    /// The first error; the text says how many rows were written for certain.
    pub(crate) async fn run(
        &self,
        values: Arc<[ScalarValue]>,
        statement: &Arc<StatementContext>,
    ) -> Result<Written> {
        self.run_in(&Running::new(&self.session, values, statement)).await
    }

    async fn run_in(&self, running: &Running) -> Result<Written> {
        let ran = match self.kind.as_ref() {
            PlanKind::Insert(plan) => Box::pin(plan.run(running)).await,
            PlanKind::Change(plan) => Box::pin(plan.run(running)).await,
            PlanKind::Move(plan) => plan.run(running).await,
        };
        ran.map_err(|error| with_count(error, &running.statement))
    }
}

/// Adds to an error how many rows were written before it.
pub(crate) fn with_count(mut error: SqlError, statement: &StatementContext) -> SqlError {
    error.message.push_str(&statement.rows_written().text());
    error
}
