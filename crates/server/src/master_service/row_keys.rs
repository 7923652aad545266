//! What a table's declared row key will cost, said in the log when the table is made.

use std::panic::{AssertUnwindSafe, catch_unwind};

use halite_rowkey::language::TableDeclaration;
use halite_rowkey::lint::{Severity, Subject, lint_declaration};
use halite_types::{Bytes, TableDescriptor};

/// Logs what lint has to say of a table that declares its key. The table is made all the same: HBase keeps any attribute.
pub(super) fn warn(descriptor: &TableDescriptor, splits: &[Bytes]) {
    for line in unless_it_panics(|| said(descriptor, splits)) {
        tracing::warn!(table = %descriptor.name(), "{line}");
    }
}

/// What `lint` says. It only advises, so that a fault in it is a line of the log and no reason to refuse a table.
fn unless_it_panics(lint: impl FnOnce() -> Vec<String>) -> Vec<String> {
    catch_unwind(AssertUnwindSafe(lint)).unwrap_or_else(|_| vec!["the lint of its declared row key failed; the table is made without it".to_owned()])
}

/// A line for each finding that is more than worth knowing.
fn said(descriptor: &TableDescriptor, splits: &[Bytes]) -> Vec<String> {
    let declaration = match TableDeclaration::of_table(descriptor) {
        None => return Vec::new(),
        Some(Err(error)) => return vec![format!("its declared row key cannot be read: {error}")],
        Some(Ok(declaration)) => declaration,
    };
    let mut findings = lint_declaration(&declaration, &Subject { splits: Some(splits), ..Subject::default() });
    findings.retain(|finding| finding.severity >= Severity::Warning);
    let line = |finding: &halite_rowkey::lint::Finding| {
        let instead = finding.fix.as_ref().map_or(String::new(), |fix| format!(" Instead: {fix}"));
        format!("{}: {}{instead}", finding.rule.id, finding.message)
    };
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_the_lint_is_a_line_of_the_log() {
        let lines = unless_it_panics(|| panic!("a fault of the lint"));
        assert!(lines[0].contains("the table is made without it"), "{lines:?}");
    }

    #[test]
    fn a_key_that_will_cost_is_told_and_others_are_not() {
        let table = |key: &str| TableDescriptor::new("t".parse().unwrap()).set("ROW_KEY", key);
        let [line, other] = &said(&table("(ts TIMESTAMP, id STRING)"), &[])[..] else { panic!("two lines are wanted") };
        assert!(other.starts_with("P-ROLL: "), "{other}");
        assert!(line.starts_with("K-MONO: ") && line.ends_with("Instead: ROW KEY (SALT(16 BY id), id STRING, ts TIMESTAMP)"), "{line}");
        assert_eq!(said(&table("(SALT(2 BY id), id STRING, ts TIMESTAMP)"), &[Bytes::from_static(&[1])]), [""; 0]);
        assert!(said(&table("(ts TIMESTMP)"), &[])[0].contains("cannot be read"));
        assert_eq!(said(&TableDescriptor::new("t".parse().unwrap()), &[]), [""; 0]);
    }
}
