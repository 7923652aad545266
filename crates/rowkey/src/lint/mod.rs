//! Lint: what a declaration will cost, said before it costs anything.
//!
//! A rule looks at a [`Subject`] - a key, a table, its splits, the queries that are to be asked, a sample of keys, and what
//! load is expected - and needs as much of it as it needs: without a sample no rule about samples speaks. A
//! [`Finding`] names the rule, what is wrong, the evidence, and where possible the declaration that mends it.

mod asked;
mod cells;
mod declared;
mod families;
mod hbase_struct;
mod keys;
mod queries;
mod report;
mod rules;
mod samples;
mod scans;
mod seen;
mod splits;
mod text;
mod writes;

use bytes::Bytes;
use halite_types::TableDescriptor;

use crate::language::{Action, Column, SplitClause};
use crate::schema::{FieldId, KeySchema, Order};

pub use cells::CellSample;
pub use declared::lint_declaration;
pub use hbase_struct::{lint_struct, lint_structs, unfinished_struct};
pub use report::report;
pub use rules::{RULES, Rule, find_rule};
pub use scans::lint_scan;

/// Writes of one row each second that are safe to count on: they wait for each other, each for the log.
const HOT_ROW_PER_SECOND: f64 = 1_000.0;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// It costs something, now or as the table grows.
    Warning,
    /// It loses data, gives wrong answers, or makes one server do the work of all.
    Error,
}

impl Severity {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What is looked at; whatever is not known is left empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The declared key.
    pub key: Option<&'a KeySchema>,
    /// Families and attributes.
    pub table: Option<&'a TableDescriptor>,
    /// Columns of values.
    pub columns: &'a [Column],
    /// The keys at which regions begin, without the empty one; `None` if it is not known how the table is split.
    pub splits: Option<&'a [Bytes]>,
    /// How it is declared to be split, if that is known.
    pub split: Option<&'a SplitClause>,
    /// What will be asked and written.
    pub queries: &'a [QueryShape],
    /// Keys of the table, in the order in which they were written if that is known.
    pub sample: Option<&'a Sample>,
    /// What its cells show.
    pub cells: Option<&'a CellSample>,
    /// How much is expected.
    pub load: Load,
}

/// What one kind of query, or of write, says about the fields of the key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryShape {
    /// Its name in reports.
    pub name: String,
    /// What is done.
    pub action: Action,
    /// What it asks of fields.
    pub conditions: Vec<(FieldId, Asks)>,
    /// The order it wants its rows in.
    pub order: Vec<(FieldId, Order)>,
    /// Whether it wants them by columns outside the key.
    pub orders_by_values: bool,
    /// How many rows it wants at most.
    pub limit: Option<u64>,
    /// Whether it pages by skipping rows.
    pub has_offset: bool,
    /// Whether it asks for values of columns outside the key.
    pub filters_values: bool,
    /// How often it happens to the busiest of its rows, each second.
    pub rate: Option<f64>,
}

/// What a query asks of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// One value.
    Equals,
    /// One of a few values.
    In,
    /// Values between bounds.
    Range,
    /// Text that begins with something.
    Prefix,
}

/// Keys of a table.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The keys.
    pub keys: Vec<Bytes>,
    /// Whether they stand in the order in which they were written.
    pub is_in_arrival_order: bool,
}

/// What is expected of a table; what is not known is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Rows, once it is full.
    pub rows: Option<u64>,
    /// Rows written each second, at the busiest time.
    pub writes_per_second: Option<f64>,
    /// Region servers.
    pub servers: Option<u32>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How bad it is here; at most what the rule says.
    pub severity: Severity,
    /// The segment of the key, counted from 0.
    pub segment: Option<usize>,
    /// What is wrong, in a sentence or two.
    pub message: String,
    /// What it was seen by.
    pub evidence: Option<String>,
    /// What to declare instead, or what to do.
    pub fix: Option<String>,
}

/// What rules have found so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding of the rule with this id; what else is known of it is filled in by the caller.
    fn add(&mut self, id: &str, segment: impl Into<Option<usize>>, message: impl Into<String>) -> &mut Finding {
        let rule = find_rule(id).expect("a rule reports under an id of the table");
        self.0.push(Finding { rule, severity: rule.severity, segment: segment.into(), message: message.into(), evidence: None, fix: None });
        self.0.last_mut().expect("it was pushed just now")
    }
}

impl Finding {
    fn evidence(&mut self, evidence: impl Into<String>) -> &mut Self {
        self.evidence = Some(evidence.into());
        self
    }

    fn fix(&mut self, fix: impl Into<String>) -> &mut Self {
        self.fix = Some(fix.into());
        self
    }

    fn no_worse_than(&mut self, severity: Severity) -> &mut Self {
        self.severity = self.severity.min(severity);
        self
    }
}

/// Everything that is wrong with `subject`, the worst first, within one severity in the order of [`RULES`].
pub fn lint(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Findings::default();
    if let Some(key) = subject.key {
        keys::check(key, subject, &mut findings);
        text::check(key, &mut findings);
        queries::check(key, subject.queries, &mut findings);
    }
    scans::check(subject.key, subject.queries, &mut findings);
    writes::check(subject, &mut findings);
    let mut seen = Findings::default();
    subject.sample.into_iter().for_each(|sample| samples::check(sample, subject, &mut seen));
    subject.cells.into_iter().for_each(|cells| seen::check(cells, subject, &mut seen));
    // What the declaration told already is not told again.
    let is_new = |finding: &Finding| !findings.0.iter().any(|other| (other.rule, other.segment) == (finding.rule, finding.segment));
    let new: Vec<_> = seen.0.into_iter().filter(is_new).collect();
    findings.0.extend(new);
    if let Some(keys) = subject.splits {
        splits::check(keys, subject, &mut findings);
    }
    splits::refused(subject, &mut findings);
    splits::rolling(subject, &mut findings);
    if let Some(table) = subject.table {
        families::check(table, subject, &mut findings);
    }
    let place = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.rule.id);
    findings.0.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), place(finding), finding.segment));
    findings.0
}

#[cfg(test)]
mod tests;
