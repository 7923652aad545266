//! EXPLAIN: what a statement reads, and, after it has run, what it read.
//!
//! Scans are shown as the planner of `halite-rowkey` sees them; the other steps in a line each.

mod findings;
mod scan;
mod sorted;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::execution::TaskContext;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};

use crate::error::Result;
use crate::scan::aggregated::as_aggregated;
use crate::scan::exec::as_scan;
use crate::session::interrupt::Running;
use crate::session::rounds;
use crate::session::statement::StatementContext;

pub(crate) use findings::findings;
pub(crate) use sorted::Sorted;

/// What a statement did.
pub(crate) struct Ran {
    /// Time of the whole statement.
    pub(crate) elapsed: Duration,
    /// Rows of the answer.
    pub(crate) rows: usize,
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

/// Returns the text of a plan. `is_direct` tells that its scan alone answers the statement.
pub(crate) fn text(plan: &dyn ExecutionPlan, ran: Option<&Ran>, is_direct: bool) -> String {
    let mut out = String::new();
    write_node(&mut out, plan, 0, ran, &Sorted::default());
    if is_direct {
        let named = |line: &str| {
            let is_scan = line.trim_start().starts_with("scan ");
            format!("{line}{}\n", if is_scan { ", direct" } else { "" })
        };
        out = out.lines().map(named).collect();
    }
    if let Some(ran) = ran {
        let _ = writeln!(out, "rows {}, {}", ran.rows, milliseconds(ran.elapsed));
    }
    out
}

/// `sorted` is the order to which the nodes above sort the rows of this one.
fn write_node(
    out: &mut String,
    plan: &dyn ExecutionPlan,
    depth: usize,
    ran: Option<&Ran>,
    sorted: &Sorted,
) {
    let below = sorted.below(plan);
    // They only let other tasks run in between, and count.
    if ["CooperativeExec", rounds::NAME].contains(&plan.name()) {
        for child in plan.children() {
            write_node(out, child.as_ref(), depth, ran, &below);
        }
        return;
    }
    let indent = "  ".repeat(depth);
    if let Some(aggregated) = as_aggregated(plan) {
        let _ = writeln!(out, "{indent}{}", aggregated.line());
        write_node(out, aggregated.scan().as_ref(), depth + 1, ran, &below);
        return;
    }
    if let Some(scan) = as_scan(plan) {
        for line in scan::lines(scan, ran.is_some(), sorted) {
            let _ = writeln!(out, "{indent}{line}");
        }
    } else {
        let one = DisplayableExecutionPlan::new(plan).one_line().to_string();
        let _ = write!(out, "{indent}{}", one.trim_end());
        let metrics = plan.metrics().filter(|_| ran.is_some());
        if let Some(rows) = metrics.and_then(|metrics| metrics.output_rows()) {
            let _ = write!(out, ", rows {rows}");
        }
        out.push('\n');
    }
    for child in plan.children() {
        write_node(out, child.as_ref(), depth + 1, ran, &below);
    }
}

/// Returns DataFusion's own plans.
pub(crate) fn datafusion_plans(logical: &str, physical: &dyn ExecutionPlan) -> String {
    let physical = DisplayableExecutionPlan::new(physical).indent(true).to_string();
    format!("\nlogical plan\n{logical}\n\nphysical plan\n{physical}")
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
