//! Findings of the rules.

use super::rules::{Rule, Severity, find_rule};

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
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    /// Adds a finding of the rule with this id; the caller fills in the other fields.
    pub(super) fn add(
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
    pub(super) fn evidence(&mut self, evidence: impl Into<String>) -> &mut Self {
        self.evidence = Some(evidence.into());
        self
    }

    pub(super) fn fix(&mut self, fix: impl Into<String>) -> &mut Self {
        self.fix = Some(fix.into());
        self
    }

    pub(super) fn cap_severity(&mut self, severity: Severity) -> &mut Self {
        self.severity = self.severity.min(severity);
        self
    }
}
