//! EXPLAIN of a statement that writes: the operation that each row becomes, and how the rows are
//! found.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::scalar::ScalarValue;
use halite_types::key::to_string_binary;

use super::change::ChangePlan;
use super::insert::{Conflict, InsertPlan};
use super::moved::MovePlan;
use super::running::Running;
use super::select::{self, exact_scan};
use super::source::RowSource;
use super::target::WriteTarget;
use super::{PlanKind, WritePlan};
use crate::error::Result;
use crate::explain;
use crate::session::statement::StatementContext;

impl WritePlan {
    /// Returns what the statement would do, without doing it.
    ///
    /// # Errors
    /// What is wrong with the query of its rows.
    pub(crate) async fn explain(
        &self,
        values: Vec<ScalarValue>,
        statement: &Arc<StatementContext>,
    ) -> Result<String> {
        let running = Running::new(&self.session, values.into(), statement);
        match self.kind.as_ref() {
            PlanKind::Insert(plan) => of_insert(plan, &running).await,
            PlanKind::Change(plan) => of_change(plan, &running).await,
            PlanKind::Move(plan) => Ok(of_move(plan)),
        }
    }
}

async fn of_insert(plan: &InsertPlan, running: &Running) -> Result<String> {
    let looks = plan.looks(running.statement.settings.insert)?;
    let target = &plan.target;
    let verb = if plan.is_upsert { "upsert" } else { "insert" };
    let mut text = format!("{verb} {}\n", target.table.name());
    let _ = writeln!(text, "  each     {}", each_of_insert(plan, target, looks)?);
    match &plan.source {
        RowSource::Values(rows) => {
            let _ = writeln!(text, "  rows     {} of VALUES", rows.len());
        }
        RowSource::Query(query) => {
            let query = select::physical(running, query.as_ref().clone()).await?;
            if select::scans_of(&query.physical, target.table.name()) > 0 {
                text.push_str("  rows     of a query that is read to its end first\n");
            } else {
                text.push_str("  rows     of a query\n");
            }
            add_plan(&mut text, query.physical.as_ref());
        }
    }
    Ok(text)
}

fn each_of_insert(plan: &InsertPlan, target: &WriteTarget, looks: bool) -> Result<String> {
    if !looks {
        return Ok("Put, without looking; columns that are NULL are deleted with it".to_owned());
    }
    let witness = target.expect_witness()?;
    let cell =
        format!("{}:{}", to_string_binary(&witness.family), to_string_binary(&witness.qualifier));
    let then = match &plan.on_conflict {
        Conflict::Fail => "a row that is there ends the statement",
        Conflict::Nothing => "a row that is there stays",
        Conflict::Update(update) if update.steps.is_some() && plan.returning.is_none() => {
            return Ok("Increment, whether the row is there or not".to_owned());
        }
        Conflict::Update(_) => {
            "a row that is there is read, and written if it still is as it was read"
        }
    };
    Ok(format!("CheckAndMutate: Put if {cell} is missing; {then}"))
}

async fn of_change(plan: &ChangePlan, running: &Running) -> Result<String> {
    let target = &plan.target;
    let is_delete = plan.sets.is_none();
    let verb = if is_delete { "delete" } else { "update" };
    let query = select::physical(running, plan.select.clone()).await?;
    let exact = if plan.depends_on_rows() {
        None
    } else {
        exact_scan(&query.physical, target.table.name(), plan.has_limit)
    };
    let operation = if is_delete { "Delete" } else { "Put or Increment" };
    let each = match &exact {
        _ if plan.version.is_some() => {
            "get of the cells that have the time, and Delete of these versions".to_owned()
        }
        None => format!(
            "CheckAndMutate: {operation} if the columns that are named still are as they were read"
        ),
        Some(exact) => match &exact.condition {
            Some(condition) => format!("CheckAndMutate: {operation} if {condition}"),
            None if is_delete && !plan.has_limit => "Delete, without looking".to_owned(),
            None => format!("CheckAndMutate: {operation} if the row is there"),
        },
    };
    let mut text = format!("{verb} {}\n  each     {each}\n", target.table.name());
    match exact.as_ref().and_then(|exact| exact.points.as_ref()) {
        Some(points) => {
            let _ = writeln!(text, "  rows     {} whole key(s), which are not read", points.len());
        }
        None => text.push_str("  rows     of a query\n"),
    }
    add_plan(&mut text, query.physical.as_ref());
    Ok(text)
}

fn of_move(plan: &MovePlan) -> String {
    let name = plan.target.table.name();
    format!(
        "move {name}\n  each     Put of all versions under the new key, then Delete of the old ones\n"
    )
}

fn add_plan(text: &mut String, plan: &dyn ExecutionPlan) {
    for line in explain::text(plan, None, false).lines() {
        let _ = writeln!(text, "  {line}");
    }
}
