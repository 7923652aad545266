//! EXPLAIN: what a statement reads, and, after it has run, what it read.
//!
//! `part.rs` makes the steps of a plan those that are shown, `scan.rs` a scan as the planner of
//! `halite-rowkey` sees it. Text and JSON (`json.rs`) are of the same parts. `ranges.rs` has the
//! ranges of a plan as rows.

mod findings;
mod json;
mod part;
mod ranges;
mod scan;
mod sorted;
mod units;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::execution::TaskContext;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};

use crate::error::Result;
use crate::session::interrupt::Running;
use crate::session::statement::StatementContext;

pub(crate) use findings::findings;
pub(crate) use json::{Json, Members};
pub(crate) use part::Part;
pub(crate) use ranges::ranges;
pub(crate) use sorted::Sorted;
pub(crate) use units::milliseconds;

/// Version of the JSON: it changes where a member gets another meaning, or goes.
pub(crate) const JSON_VERSION: usize = 1;

/// What a statement did.
pub(crate) struct Ran {
    /// Time of the whole statement.
    pub(crate) elapsed: Duration,
    /// Rows of the answer.
    pub(crate) rows: usize,
}

/// Explained query.
pub(crate) struct ExplainedQuery {
    /// Its plan.
    pub(crate) plan: Part,
    /// `true` if its scan alone answers the statement.
    pub(crate) is_direct: bool,
    /// What it did, if it has run.
    pub(crate) ran: Option<Ran>,
    /// DataFusion's plans, if they are shown.
    pub(crate) plans: Option<DataFusionPlans>,
}

/// DataFusion's own plans as text.
pub(crate) struct DataFusionPlans {
    logical: String,
    physical: String,
}

impl DataFusionPlans {
    /// Returns the text of plans.
    pub(crate) fn of(logical: String, physical: &dyn ExecutionPlan) -> Self {
        let physical = DisplayableExecutionPlan::new(physical).indent(true).to_string();
        Self { logical, physical }
    }
}

/// Runs a plan and drops its rows.
///
/// # Errors
/// The error of the statement.
pub(crate) async fn run(plan: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Result<Ran> {
    let started = Instant::now();
    let stream = execute_stream(Arc::clone(plan), Arc::clone(context))?;
    let mut running = Running::new(stream, StatementContext::of(context));
    let mut rows = 0;
    while let Some(batch) = running.next().await? {
        rows += batch.num_rows();
    }
    Ok(Ran { elapsed: started.elapsed(), rows })
}

impl ExplainedQuery {
    /// Returns the lines.
    pub(crate) fn text(&self) -> String {
        let mut out = self.plan.text(self.is_direct);
        if let Some(ran) = &self.ran {
            let _ = writeln!(out, "rows {}, {}", ran.rows, milliseconds(of_time(ran.elapsed)));
        }
        if let Some(plans) = &self.plans {
            let (logical, physical) = (&plans.logical, &plans.physical);
            let _ = write!(out, "\nlogical plan\n{logical}\n\nphysical plan\n{physical}");
        }
        out
    }

    /// Returns the object.
    pub(crate) fn json(&self) -> Json {
        let ran = self
            .ran
            .as_ref()
            .map(|ran| Members::default().with("rows", ran.rows).with("ms", of_time(ran.elapsed)));
        let plans = self.plans.as_ref().map(|plans| {
            Members::default()
                .with("logical", plans.logical.as_str())
                .with("physical", plans.physical.as_str())
        });
        Members::default()
            .with("version", JSON_VERSION)
            .with("statement", "query")
            .with("plan", self.plan.json(self.is_direct))
            .with_some("ran", ran)
            .with_some("datafusion", plans)
            .into()
    }
}

/// Returns a time in milliseconds.
pub(crate) fn of_time(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
