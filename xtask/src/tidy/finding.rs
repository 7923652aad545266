//! Violation that a check found: where, and what to do.

use std::fmt;

/// Violation to fix.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    path: String,
    line: usize,
    fix: String,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, fix: impl Into<String>) -> Self {
        Self { path: path.to_string(), line, fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.fix)
    }
}

/// Formats the locations and fixes of findings, one line each, for tests.
#[cfg(test)]
pub(super) fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
