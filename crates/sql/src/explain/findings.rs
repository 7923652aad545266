//! What lint says of the plan of a statement, by the ids of its rules.

use std::any::Any;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::GlobalLimitExec;
use halite_rowkey::Order;
use halite_rowkey::plan::PlanNote;
use halite_rowkey::table_lint::LintMessage;

use super::Sorted;
use crate::catalog::lint::LintLine;
use crate::scan::aggregated::as_aggregated;
use crate::scan::exec::{ScanExec, as_scan};

/// Ranges of one scan beyond which they are a finding, as those of the rule about tables.
const MAX_FAN_OUT: usize = 64;

/// Returns the findings about a plan, those of each scan together.
pub(crate) fn findings(plan: &dyn ExecutionPlan) -> Vec<LintLine> {
    let mut lines = Vec::new();
    let above = Above { sorted: Sorted::default(), skipped: 0 };
    visit(plan, &above, &mut lines);
    lines
}

/// What the nodes above a node do to its rows.
struct Above {
    sorted: Sorted,
    /// Rows that are read and dropped.
    skipped: usize,
}

fn visit(plan: &dyn ExecutionPlan, above: &Above, lines: &mut Vec<LintLine>) {
    if let Some(aggregated) = as_aggregated(plan) {
        visit(aggregated.scan().as_ref(), &Above { sorted: Sorted::default(), ..*above }, lines);
        return;
    }
    if let Some(scan) = as_scan(plan) {
        let table = scan.spec.target.table.name().clone();
        let found = of_scan(scan, above).into_iter();
        lines.extend(found.map(|message| LintLine { table: table.clone(), message }));
        return;
    }
    let any: &dyn Any = plan;
    let skipped = any.downcast_ref::<GlobalLimitExec>().map_or(0, GlobalLimitExec::skip);
    let below = Above { sorted: above.sorted.below(plan), skipped: above.skipped.max(skipped) };
    plan.children().into_iter().for_each(|child: &Arc<dyn ExecutionPlan>| {
        visit(child.as_ref(), &below, lines);
    });
}

fn of_scan(scan: &ScanExec, above: &Above) -> Vec<LintMessage> {
    let spec = &scan.spec;
    let mut found = Vec::new();
    let serving = if scan.joined.is_empty() { spec.serving_key(&above.sorted) } else { None };
    let serving = serving.map(|key| format!("a table with {key}"));
    let mut add = |rule, severity, what: String, evidence: Option<String>, fix: Option<String>| {
        found.push(LintMessage { rule, severity, what, evidence, fix });
    };
    let is_full = spec.plan.is_full_scan() && spec.first_of.is_none() && scan.joined.is_empty();
    if is_full {
        let what = "Nothing in front of the key is known, so the whole table is read.";
        let key = Some(spec.plan.schema().to_string());
        add("Q-FULL", "warning", what.to_owned(), key, serving.clone());
    }
    let hashed = |note: &PlanNote| matches!(note, PlanNote::HashRange { .. });
    if spec.plan.notes().iter().any(hashed) {
        let what = "The statement does not give all that the key hashes, so no later condition \
                    narrows the range.";
        add("Q-HASHRANGE", "warning", what.to_owned(), None, serving.clone());
    }
    let ranges = spec.plan.fan_out();
    if ranges > MAX_FAN_OUT && !spec.plan.is_points() {
        let what = format!("{ranges} ranges are read, each a scan of its own.");
        let fix = "a condition on the fields of the salt, or fewer salts";
        add("Q-FAN", "warning", what, None, Some(fix.to_owned()));
    }
    let conditions: Vec<&str> =
        spec.filtered.iter().chain(&spec.checked_again).map(String::as_str).collect();
    if !conditions.is_empty() {
        let severity = if is_full { "warning" } else { "note" };
        let what = "Conditions narrow no key: each row of the ranges is compared.".to_owned();
        add("Q-FILTER", severity, what, Some(conditions.join(" AND ")), serving.clone());
    }
    if !above.sorted.by.is_empty() {
        let term = |(at, order): &(usize, Order)| {
            let name = spec.schema.fields().get(*at).map_or("?", |field| field.name());
            format!("{name}{}", if *order == Order::Desc { " DESC" } else { "" })
        };
        let by: Vec<String> = above.sorted.by.iter().map(term).collect();
        let what = "The key does not have the order that is wanted: the rows are read and sorted.";
        add("Q-SORT", "warning", what.to_owned(), Some(by.join(", ")), serving);
    }
    if above.skipped > 0 {
        let what = format!(
            "The first {} row(s) are read and dropped, and rows that come meanwhile shift the page.",
            above.skipped
        );
        let fix = "the values of the last row: WHERE (a, b) > (..) ORDER BY a, b LIMIT n";
        add("Q-OFFSET", "warning", what, None, Some(fix.to_owned()));
    }
    found
}
