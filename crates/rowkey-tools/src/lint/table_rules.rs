//! The rules behind the trait of `halite-rowkey`, for crates that show findings only.

use halite_rowkey::table_lint::{LintMessage, LintSubject, TableLint};

use super::declared::lint_declaration;
use super::finding::Finding;
use super::input::{KeySample, LintInput};
use super::lint;

/// All rules, without the suppressed ones of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableRules;

impl TableLint for TableRules {
    fn check(&self, subject: &LintSubject<'_>) -> Vec<LintMessage> {
        let sample = KeySample { keys: subject.keys.to_vec(), is_in_arrival_order: false };
        let known = LintInput {
            sample: (!sample.keys.is_empty()).then_some(&sample),
            splits: Some(subject.splits),
            ..LintInput::default()
        };
        let findings = match subject.declaration {
            Some(declaration) => lint_declaration(declaration, &known),
            None => lint(&LintInput { table: Some(subject.table), ..known }),
        };
        findings.into_iter().map(message).collect()
    }
}

fn message(finding: Finding) -> LintMessage {
    LintMessage {
        rule: finding.rule.id,
        severity: finding.severity.name(),
        what: finding.message,
        evidence: finding.evidence,
        fix: finding.fix,
    }
}

#[cfg(test)]
mod tests {
    use halite_rowkey::language::TableDeclaration;
    use halite_types::TableDescriptor;

    use super::*;

    #[test]
    fn rules_say_the_same_as_text() {
        let table = TableDescriptor::new("t".parse().unwrap());
        let table = table.set("ROW_KEY", "(ts TIMESTAMP, id STRING)");
        let declaration = TableDeclaration::from_descriptor(&table).unwrap().unwrap();
        let subject =
            LintSubject { table: &table, declaration: Some(&declaration), splits: &[], keys: &[] };
        let found = TableRules.check(&subject);
        let worst = found[0].to_string();
        assert!(worst.starts_with("error[K-MONO]: "), "{worst}");
        assert!(worst.ends_with("Instead: ROW KEY (SALT(16 BY id), id STRING, ts TIMESTAMP)"));
    }
}
