//! Lint: reports the cost of a declaration before it occurs.
//!
//! A rule examines a [`LintInput`]: a key, a table, its splits, the expected queries, a sample of
//! keys, and the expected load. It uses the parts that it requires: without a sample, rules about
//! samples report nothing. A [`Finding`] contains the rule, the problem, the evidence, and if
//! possible the declaration that fixes it.

mod cells;
mod declared;
mod families;
mod finding;
mod hbase_struct;
mod input;
mod key_cost;
mod keys;
mod observed;
mod planned_query;
mod queries;
mod report;
mod rules;
mod samples;
mod scans;
mod splits;
mod table_rules;
mod text;
mod writes;

pub use cells::CellSample;
pub use declared::lint_declaration;
pub use finding::Finding;
pub use hbase_struct::{lint_struct, lint_structs, unfinished_struct};
pub use input::{ConditionShape, KeySample, LintInput, LoadEstimate, QueryShape};
pub use report::report;
pub use rules::{RULES, Rule, Severity, find_rule};
pub use scans::lint_scan;
pub use table_rules::TableRules;

use finding::Findings;

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
