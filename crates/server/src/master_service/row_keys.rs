//! Warnings about the declared row key of a new table, written to the log.

use std::panic::{AssertUnwindSafe, catch_unwind};

use halite_rowkey::language::TableDeclaration;
use halite_rowkey_tools::lint::{LintInput, Severity, lint_declaration};
use halite_types::{Bytes, TableDescriptor};

/// Logs the lint findings for a table that declares its key. The table is created regardless: HBase
/// stores any attribute.
pub(super) fn warn(descriptor: &TableDescriptor, splits: &[Bytes]) {
    for line in unless_it_panics(|| finding_lines(descriptor, splits)) {
        tracing::warn!(table = %descriptor.name(), "{line}");
    }
}

/// Runs `lint`. It is advisory, so a panic in it becomes a line in the log and does not prevent
/// creation of the table.
fn unless_it_panics(lint: impl FnOnce() -> Vec<String>) -> Vec<String> {
    catch_unwind(AssertUnwindSafe(lint)).unwrap_or_else(|_| {
        vec!["the lint of its declared row key failed; the table is made without it".to_owned()]
    })
}

/// Returns a line for each finding of severity `Warning` or above.
fn finding_lines(descriptor: &TableDescriptor, splits: &[Bytes]) -> Vec<String> {
    let declaration = match TableDeclaration::from_descriptor(descriptor) {
        None => return Vec::new(),
        Some(Err(error)) => return vec![format!("its declared row key cannot be read: {error}")],
        Some(Ok(declaration)) => declaration,
    };
    let mut findings =
        lint_declaration(&declaration, &LintInput { splits: Some(splits), ..LintInput::default() });
    findings.retain(|finding| finding.severity >= Severity::Warning);
    let line = |finding: &halite_rowkey_tools::lint::Finding| {
        let instead = finding.fix.as_ref().map_or(String::new(), |fix| format!(" Instead: {fix}"));
        format!("{}: {}{instead}", finding.rule.id, finding.message)
    };
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lint_panic_is_logged() {
        let lines = unless_it_panics(|| panic!("a fault of the lint"));
        assert!(lines[0].contains("the table is made without it"), "{lines:?}");
    }

    #[test]
    fn only_costly_keys_are_reported() {
        let table = |key: &str| TableDescriptor::new("t".parse().unwrap()).set("ROW_KEY", key);
        let [line, other] = &finding_lines(&table("(ts TIMESTAMP, id STRING)"), &[])[..] else {
            panic!("two lines are wanted")
        };
        assert!(other.starts_with("P-ROLL: "), "{other}");
        assert!(
            line.starts_with("K-MONO: ")
                && line.ends_with("Instead: ROW KEY (SALT(16 BY id), id STRING, ts TIMESTAMP)"),
            "{line}"
        );
        assert_eq!(
            finding_lines(
                &table("(SALT(2 BY id), id STRING, ts TIMESTAMP)"),
                &[Bytes::from_static(&[1])]
            ),
            [""; 0]
        );
        assert!(finding_lines(&table("(ts TIMESTMP)"), &[])[0].contains("cannot be read"));
        assert_eq!(finding_lines(&TableDescriptor::new("t".parse().unwrap()), &[]), [""; 0]);
    }
}
