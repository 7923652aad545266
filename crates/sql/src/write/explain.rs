//! EXPLAIN of a statement that writes: the operation that each row becomes, and how the rows are
//! found. With ANALYZE it runs first, and its queries are shown with what they read.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::scalar::ScalarValue;
use halite_types::key::to_string_binary;

use super::change::ChangePlan;
use super::explained::{Atomic, ExplainedWrite, RanWrite, RowsFrom};
use super::insert::{Conflict, InsertPlan};
use super::moved::MovePlan;
use super::running::Running;
use super::select::{self, exact_scan};
use super::source::RowSource;
use super::{PlanKind, WritePlan, with_count};
use crate::error::Result;
use crate::explain::Part;
use crate::session::statement::StatementContext;

impl WritePlan {
    /// Returns what the statement would do, without doing it; or what it did, after it has run.
    ///
    /// # Errors
    /// What is wrong with the query of its rows; the error of the run.
    pub(crate) async fn explain(
        &self,
        values: Vec<ScalarValue>,
        statement: &Arc<StatementContext>,
        analyze: bool,
    ) -> Result<ExplainedWrite> {
        let running = Running::new(&self.session, values.into(), statement);
        if !analyze {
            return self.explained(&running).await;
        }
        let running = running.keeping_plans();
        let started = Instant::now();
        let written = self.run_in(&running).await?;
        let ran = RanWrite {
            tag: written.tag,
            counts: statement.tally.counts(),
            written: statement.written.load(Ordering::Relaxed),
            examined: statement.examined.load(Ordering::Relaxed),
            elapsed: started.elapsed(),
        };
        let again = running.kept().len().saturating_sub(1);
        // The rows are written, also where nothing can be shown of it.
        let explained = self.explained(&running).await;
        let explained = explained.map_err(|error| with_count(error, statement))?;
        Ok(ExplainedWrite { ran: Some(ran), again, ..explained })
    }

    async fn explained(&self, running: &Running) -> Result<ExplainedWrite> {
        match self.kind.as_ref() {
            PlanKind::Insert(plan) => of_insert(plan, running).await,
            PlanKind::Change(plan) => of_change(plan, running).await,
            PlanKind::Move(plan) => Ok(of_move(plan)),
        }
    }
}

/// Returns the plan of a query, and `true` if it has run.
async fn plan_of(running: &Running, query: &LogicalPlan) -> Result<(Arc<dyn ExecutionPlan>, bool)> {
    match running.kept().into_iter().next() {
        Some(plan) => Ok((plan, true)),
        None => Ok((select::physical(running, query.clone()).await?.physical, false)),
    }
}

async fn of_insert(plan: &InsertPlan, running: &Running) -> Result<ExplainedWrite> {
    let looks = plan.looks(running.statement.settings.insert)?;
    let (each, atomic) = each_of_insert(plan, looks)?;
    let (rows, part) = match &plan.source {
        RowSource::Values(rows) => (RowsFrom::Values(rows.len()), None),
        RowSource::Query(query) => {
            let (query, has_run) = plan_of(running, query).await?;
            let is_kept = select::scans_of(&query, plan.target.table.name()) > 0;
            (RowsFrom::Query(is_kept), Some(Part::of(query.as_ref(), has_run)))
        }
    };
    Ok(ExplainedWrite {
        verb: if plan.is_upsert { "upsert" } else { "insert" },
        table: plan.target.table.name().to_string(),
        each,
        atomic,
        rows,
        plan: part,
        again: 0,
        ran: None,
    })
}

fn each_of_insert(plan: &InsertPlan, looks: bool) -> Result<(String, Atomic)> {
    if !looks {
        let each = "Put, without looking; columns that are NULL are deleted with it";
        return Ok((each.to_owned(), Atomic::Row));
    }
    let witness = plan.target.expect_witness()?;
    let cell =
        format!("{}:{}", to_string_binary(&witness.family), to_string_binary(&witness.qualifier));
    let then = match &plan.on_conflict {
        Conflict::Fail => "a row that is there ends the statement",
        Conflict::Nothing => "a row that is there stays",
        Conflict::Update(update) if update.steps.is_some() && plan.returning.is_none() => {
            let each = "Increment, whether the row is there or not";
            return Ok((each.to_owned(), Atomic::Row));
        }
        Conflict::Update(_) => {
            "a row that is there is read, and written if it still is as it was read"
        }
    };
    let each = format!("CheckAndMutate: Put if {cell} is missing; {then}");
    Ok((each, Atomic::RowAndCondition))
}

async fn of_change(plan: &ChangePlan, running: &Running) -> Result<ExplainedWrite> {
    let target = &plan.target;
    let is_delete = plan.sets.is_none();
    let (query, has_run) = plan_of(running, &plan.select).await?;
    let exact = if plan.depends_on_rows() {
        None
    } else {
        exact_scan(&query, target.table.name(), plan.has_limit)
    };
    let operation = if is_delete { "Delete" } else { "Put or Increment" };
    let checked =
        |text: String| (format!("CheckAndMutate: {operation} if {text}"), Atomic::RowAndCondition);
    let (each, atomic) = match &exact {
        _ if plan.version.is_some() => {
            let each = "get of the cells that have the time, and Delete of these versions";
            (each.to_owned(), Atomic::Row)
        }
        None => checked("the columns that are named still are as they were read".to_owned()),
        Some(exact) => match &exact.condition {
            Some(condition) => checked(condition.to_string()),
            None if is_delete && !plan.has_limit => {
                ("Delete, without looking".to_owned(), Atomic::Row)
            }
            None => checked("the row is there".to_owned()),
        },
    };
    let points = exact.as_ref().and_then(|exact| exact.points.as_ref());
    let rows = points.map_or(RowsFrom::Query(false), |points| RowsFrom::Keys(points.len()));
    let has_run = has_run && points.is_none();
    Ok(ExplainedWrite {
        verb: if is_delete { "delete" } else { "update" },
        table: target.table.name().to_string(),
        each,
        atomic,
        rows,
        plan: Some(Part::of(query.as_ref(), has_run)),
        again: 0,
        ran: None,
    })
}

fn of_move(plan: &MovePlan) -> ExplainedWrite {
    ExplainedWrite {
        verb: "move",
        table: plan.target.table.name().to_string(),
        each: "Put of all versions under the new key, then Delete of the old ones".to_owned(),
        atomic: Atomic::Steps,
        rows: RowsFrom::OneKey,
        plan: None,
        again: 0,
        ran: None,
    }
}
