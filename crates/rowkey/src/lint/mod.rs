//! Lint: reports the cost of a declaration before it occurs.
//!
//! A rule examines a [`LintInput`]: a key, a table, its splits, the expected queries, a sample of
//! keys, and the expected load. It uses the parts that it requires: without a sample, rules about
//! samples report nothing. A [`Finding`] contains the rule, the problem, the evidence, and if
//! possible the declaration that fixes it.

mod cells;
mod declared;
mod families;
mod hbase_struct;
mod keys;
mod observed;
mod planned_query;
mod queries;
mod report;
mod rules;
mod samples;
mod scans;
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

/// Safe estimate of the writes to one row per second: they are sequential, and each waits for the
/// log.
const HOT_ROW_PER_SECOND: f64 = 1_000.0;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information.
    Note,
    /// It has a cost, now or as the table grows.
    Warning,
    /// It loses data, returns wrong results, or directs all load to one server.
    Error,
}

impl Severity {
    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Input of lint; unknown parts are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct LintInput<'a> {
    /// Declared key.
    pub key: Option<&'a KeySchema>,
    /// Families and attributes.
    pub table: Option<&'a TableDescriptor>,
    /// Value columns.
    pub columns: &'a [Column],
    /// Start keys of the regions, without the empty one; `None` if the splits are unknown.
    pub splits: Option<&'a [Bytes]>,
    /// Declared splits, if known.
    pub split: Option<&'a SplitClause>,
    /// Expected queries and writes.
    pub queries: &'a [QueryShape],
    /// Keys of the table, in the order of their writes if that is known.
    pub sample: Option<&'a KeySample>,
    /// Statistics of its cells.
    pub cells: Option<&'a CellSample>,
    /// Expected load.
    pub load: LoadEstimate,
}

/// Conditions of one kind of query or write on the fields of the key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryShape {
    /// Name in reports.
    pub name: String,
    /// Operation.
    pub action: Action,
    /// Conditions on fields.
    pub conditions: Vec<(FieldId, ConditionShape)>,
    /// Requested order of the rows.
    pub order: Vec<(FieldId, Order)>,
    /// `true` if the order is by columns outside the key.
    pub orders_by_values: bool,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// `true` if it pages by skipping rows.
    pub has_offset: bool,
    /// `true` if it filters by values of columns outside the key.
    pub filters_values: bool,
    /// Executions per second on the busiest of its rows.
    pub rate: Option<f64>,
}

/// Condition of a query on one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionShape {
    /// One value.
    Equals,
    /// One of a few values.
    In,
    /// Values between bounds.
    Range,
    /// Text prefix.
    Prefix,
}

/// Sample of the keys of a table.
#[derive(Clone, Debug, Default)]
pub struct KeySample {
    /// Keys of the sample.
    pub keys: Vec<Bytes>,
    /// `true` if they are in the order in which they were written.
    pub is_in_arrival_order: bool,
}

/// Expected load of a table; unknown values are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadEstimate {
    /// Final number of rows.
    pub rows: Option<u64>,
    /// Peak rows written per second.
    pub writes_per_second: Option<f64>,
    /// Number of region servers.
    pub servers: Option<u32>,
}

/// Problem found by a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Rule.
    pub rule: &'static Rule,
    /// Severity in this case; at most that of the rule.
    pub severity: Severity,
    /// Index of the segment of the key.
    pub segment: Option<usize>,
    /// Description in one or two sentences.
    pub message: String,
    /// Evidence.
    pub evidence: Option<String>,
    /// Alternative declaration or other action.
    pub fix: Option<String>,
}

/// Findings so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding of the rule with this id; the caller fills in the other fields.
    fn add(
        &mut self,
        id: &str,
        segment: impl Into<Option<usize>>,
        message: impl Into<String>,
    ) -> &mut Finding {
        let rule = find_rule(id).expect("a rule reports under an id of the table");
        self.0.push(Finding {
            rule,
            severity: rule.severity,
            segment: segment.into(),
            message: message.into(),
            evidence: None,
            fix: None,
        });
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

    fn cap_severity(&mut self, severity: Severity) -> &mut Self {
        self.severity = self.severity.min(severity);
        self
    }
}

/// Returns all findings about `subject`, by descending severity, then in the order of [`RULES`].
pub fn lint(subject: &LintInput<'_>) -> Vec<Finding> {
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
    subject.cells.into_iter().for_each(|cells| observed::check(cells, subject, &mut seen));
    // Findings of the declaration are not repeated.
    let is_new = |finding: &Finding| {
        !findings
            .0
            .iter()
            .any(|other| (other.rule, other.segment) == (finding.rule, finding.segment))
    };
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
    findings.0.sort_by_key(|finding| {
        (std::cmp::Reverse(finding.severity), place(finding), finding.segment)
    });
    findings.0
}

#[cfg(test)]
mod tests;
