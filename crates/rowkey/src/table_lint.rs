//! What lint says of a table, for crates that show it without knowing its rules: those are in
//! `halite-rowkey-tools`.

use std::fmt;

use bytes::Bytes;
use halite_types::TableDescriptor;

use crate::language::TableDeclaration;

/// Table that is examined.
#[derive(Clone, Copy, Debug)]
pub struct LintSubject<'a> {
    /// Families and attributes.
    pub table: &'a TableDescriptor,
    /// What it declares; `None` for a table without a declared key.
    pub declaration: Option<&'a TableDeclaration>,
    /// Start keys of its regions, without the empty one.
    pub splits: &'a [Bytes],
    /// Some of its keys; empty if none are known.
    pub keys: &'a [Bytes],
}

/// Finding of a rule, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintMessage {
    /// Id of the rule.
    pub rule: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// What is found.
    pub what: String,
    /// By what it is seen.
    pub evidence: Option<String>,
    /// What to declare or do instead.
    pub fix: Option<String>,
}

impl LintMessage {
    /// Returns `true` if it is more than information.
    pub fn is_warning(&self) -> bool {
        self.severity != "note"
    }
}

impl fmt::Display for LintMessage {
    /// Formats it in one line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}[{}]: {}", self.severity, self.rule, self.what)?;
        match &self.fix {
            Some(fix) => write!(out, " Instead: {fix}"),
            None => Ok(()),
        }
    }
}

/// Rules that examine tables.
pub trait TableLint: fmt::Debug + Send + Sync {
    /// Returns what the rules find, the worst first.
    fn check(&self, subject: &LintSubject<'_>) -> Vec<LintMessage>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_one_line() {
        let mut message = LintMessage {
            rule: "K-MONO",
            severity: "error",
            what: "It grows.".to_owned(),
            evidence: None,
            fix: Some("a salt".to_owned()),
        };
        assert_eq!(message.to_string(), "error[K-MONO]: It grows. Instead: a salt");
        assert!(message.is_warning());
        (message.severity, message.fix) = ("note", None);
        assert_eq!(message.to_string(), "note[K-MONO]: It grows.");
        assert!(!message.is_warning());
    }
}
