//! Findings as human-readable text.

use std::fmt::Write as _;

use super::finding::Finding;
use super::rules::Severity;

/// Returns the findings about `source`, the name of a file or table, for a terminal.
pub fn report(findings: &[Finding], source: &str) -> String {
    let mut out = String::new();
    for finding in findings {
        let place = finding.segment.map_or(String::new(), |at| format!(", segment {}", at + 1));
        let _ = writeln!(
            out,
            "{}[{}] {source}{place}: {}",
            finding.severity.name(),
            finding.rule.id,
            finding.rule.summary
        );
        let _ = writeln!(out, "    {}", finding.message);
        for (name, said) in [("seen by", &finding.evidence), ("instead", &finding.fix)] {
            if let Some(said) = said {
                let _ = writeln!(out, "    {name}: {said}");
            }
        }
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Note].map(count);
    let _ = match findings.len() {
        0 => writeln!(out, "{source}: nothing found"),
        _ => writeln!(out, "{source}: {errors} errors, {warnings} warnings, {notes} notes"),
    };
    out
}
