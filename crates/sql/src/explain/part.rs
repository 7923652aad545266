//! A plan of DataFusion as the steps that EXPLAIN shows.

use std::fmt::Write as _;
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;

use super::json::{Json, Members};
use super::scan::ScanPart;
use super::sorted::Sorted;
use super::units::milliseconds;
use crate::scan::aggregated::as_aggregated;
use crate::scan::exec::as_scan;
use crate::scan::full_scan::dropped_rows;
use crate::session::rounds;

/// Steps that only let other tasks run in between, and count.
const UNSEEN: [&str; 2] = ["CooperativeExec", rounds::NAME];

/// Step of a plan, with those whose rows it takes.
pub(crate) struct Part {
    what: What,
    inputs: Vec<Part>,
}

enum What {
    Scan(Box<ScanPart>),
    /// Aggregates that regions compute.
    Aggregate(String),
    /// Step of DataFusion.
    Step {
        /// Name, as `hash_join`.
        name: String,
        /// DataFusion's words.
        text: String,
        /// Rows that it returned.
        rows: Option<usize>,
        /// Time that it took besides that of its inputs.
        ms: Option<f64>,
        /// What reads less.
        note: Option<String>,
    },
}

impl Part {
    /// Explains a plan, with what its steps did if it has run.
    pub(crate) fn of(plan: &dyn ExecutionPlan, has_run: bool) -> Self {
        Self::below(plan, has_run, &Sorted::default())
    }

    /// `sorted` is the order to which the steps above sort the rows of this one.
    fn below(plan: &dyn ExecutionPlan, has_run: bool, sorted: &Sorted) -> Self {
        let below = sorted.below(plan);
        let mut inputs: Vec<&dyn ExecutionPlan> =
            plan.children().into_iter().map(AsRef::as_ref).collect();
        if UNSEEN.contains(&plan.name())
            && let [only] = inputs.as_slice()
        {
            return Self::below(*only, has_run, &below);
        }
        let what = if let Some(aggregated) = as_aggregated(plan) {
            inputs = vec![aggregated.scan().as_ref()];
            What::Aggregate(aggregated.line())
        } else if let Some(scan) = as_scan(plan) {
            What::Scan(Box::new(ScanPart::of(scan, has_run, sorted)))
        } else {
            step(plan, has_run)
        };
        let inputs = inputs.into_iter().map(|input| Self::below(input, has_run, &below)).collect();
        Self { what, inputs }
    }

    /// Returns the lines, the scans named as direct or not.
    pub(crate) fn text(&self, is_direct: bool) -> String {
        let mut out = String::new();
        self.write(&mut out, 0, is_direct);
        out
    }

    fn write(&self, out: &mut String, depth: usize, is_direct: bool) {
        let indent = "  ".repeat(depth);
        match &self.what {
            What::Scan(scan) => {
                for line in scan.lines(is_direct) {
                    let _ = writeln!(out, "{indent}{line}");
                }
            }
            What::Aggregate(line) => {
                let _ = writeln!(out, "{indent}{line}");
            }
            What::Step { text, rows, ms, note, .. } => {
                let _ = write!(out, "{indent}{text}");
                if let Some(rows) = rows {
                    let _ = write!(out, ", rows {rows}");
                }
                if let Some(ms) = ms {
                    let _ = write!(out, ", {}", milliseconds(*ms));
                }
                out.push('\n');
                if let Some(note) = note {
                    let _ = writeln!(out, "{indent}  note     {note}");
                }
            }
        }
        self.inputs.iter().for_each(|input| input.write(out, depth + 1, is_direct));
    }

    /// Returns the object of the step.
    pub(crate) fn json(&self, is_direct: bool) -> Json {
        let named = |name: &str| Members::default().with("step", name);
        let members = match &self.what {
            What::Scan(scan) => return named("scan").with("scan", scan.json(is_direct)).into(),
            What::Aggregate(text) => named("aggregate_in_regions").with("text", text.as_str()),
            What::Step { name, text, rows, ms, note } => named(name)
                .with("text", text.as_str())
                .with_some("rows", *rows)
                .with_some("ms", *ms)
                .with_some("note", note.clone()),
        };
        let inputs: Vec<Json> = self.inputs.iter().map(|input| input.json(is_direct)).collect();
        members.with("inputs", inputs).into()
    }
}

fn step(plan: &dyn ExecutionPlan, has_run: bool) -> What {
    let one = DisplayableExecutionPlan::new(plan).one_line().to_string();
    let metrics = plan.metrics().filter(|_| has_run);
    let rows = metrics.as_ref().and_then(|metrics| metrics.output_rows());
    let ns = metrics.as_ref().and_then(|metrics| metrics.elapsed_compute());
    let time = ns.and_then(|ns| u64::try_from(ns).ok()).filter(|ns| *ns > 0);
    What::Step {
        name: step_name(plan.name()),
        text: one.trim_end().to_owned(),
        rows,
        ms: time.map(|ns| Duration::from_nanos(ns).as_secs_f64() * 1000.0),
        note: dropped_rows(plan),
    }
}

/// Returns the name of an operator of DataFusion, as `hash_join` of `HashJoinExec`.
fn step_name(operator: &str) -> String {
    let mut name = String::new();
    for letter in operator.strip_suffix("Exec").unwrap_or(operator).chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::step_name;

    #[test]
    fn names_of_operators_are_words() {
        assert_eq!(step_name("HashJoinExec"), "hash_join");
        assert_eq!(step_name("FilterExec"), "filter");
        assert_eq!(step_name("SortPreservingMergeExec"), "sort_preserving_merge");
    }
}
