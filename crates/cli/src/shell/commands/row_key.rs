//! Validation of a declared row key in a table's attributes, before the store saves it.

use halite::rowkey::KeySchema;
use halite::rowkey::language::{ROW_KEY, ROW_SCHEMA, TableDeclaration};
use halite_rowkey_tools::lint::{LintInput, Severity, lint_declaration, lint_scan, report};
use halite_types::{Bytes, Scan, TableDescriptor, TableName};

use crate::shell::adopt::set_by_alter;
use crate::shell::session::{EvalResult, Interrupt, Session};

/// Converts the text of a declared key to its canonical form. Returns the declaration of the table,
/// if it declares a key.
///
/// # Errors
/// Returns an error for invalid text (with the position), or for a key that the rows of `before` do
/// not fit.
pub(super) fn check(
    session: &mut Session<'_>,
    before: Option<&TableDescriptor>,
    descriptor: &mut TableDescriptor,
) -> EvalResult<Option<TableDeclaration>> {
    let name = descriptor.name().clone();
    let shown = |attribute: &str, error: &halite::rowkey::LanguageError, text: &str| {
        let lines = error.render(text);
        Interrupt::Problem(format!(
            "table {name}: {attribute}: {}",
            lines.trim_start_matches("error: ")
        ))
    };
    let Some(text) = descriptor.attributes.get(ROW_KEY).cloned() else {
        return match descriptor.attributes.get(ROW_SCHEMA) {
            Some(_) => Err(Interrupt::Problem(format!(
                "table {name}: {ROW_SCHEMA} belongs to a {ROW_KEY}, which is missing"
            ))),
            None => Ok(None),
        };
    };
    let key: KeySchema = text.parse().map_err(|error| shown(ROW_KEY, &error, &text))?;
    if let Some(before) = before.filter(|before| {
        before.attributes.get(ROW_KEY) != Some(&text)
            && before.attributes.get(ROW_KEY) != Some(&key.to_text())
    }) {
        let declared = set_by_alter(session, before, &key)?;
        // A schema set by the same command is not changed.
        if before.attributes.get(ROW_SCHEMA) == descriptor.attributes.get(ROW_SCHEMA) {
            match declared.attributes.get(ROW_SCHEMA) {
                Some(schema) => {
                    drop(descriptor.attributes.insert(ROW_SCHEMA.to_owned(), schema.clone()));
                }
                None => drop(descriptor.attributes.remove(ROW_SCHEMA)),
            }
        }
    }
    descriptor.attributes.insert(ROW_KEY.to_owned(), key.to_text());
    let wrong = |error| {
        shown(ROW_SCHEMA, &error, descriptor.attributes.get(ROW_SCHEMA).map_or("", String::as_str))
    };
    TableDeclaration::from_descriptor(descriptor).transpose().map_err(wrong)
}

/// Prints the lint warnings and errors of a declared table; `halite key lint` prints all.
pub(in crate::shell) fn warn(
    session: &mut Session<'_>,
    declaration: &TableDeclaration,
    splits: &[Bytes],
) -> EvalResult<()> {
    let mut findings =
        lint_declaration(declaration, &LintInput { splits: Some(splits), ..LintInput::default() });
    findings.retain(|finding| finding.severity >= Severity::Warning);
    if findings.is_empty() {
        return Ok(());
    }
    session.print_line(report(&findings, &declaration.descriptor.name().to_string()).trim_end())
}

/// Explains an empty scan of a table with a declared key if its bounds are swapped. The scan
/// reports other errors itself.
pub(super) fn why_inverted(
    session: &Session<'_>,
    table: &TableName,
    scan: &Scan,
) -> Option<String> {
    let descriptor = session.cluster().descriptor(table).ok()?;
    let key = KeySchema::from_descriptor(&descriptor)?.ok()?;
    let finding =
        lint_scan(Some(&key), scan).into_iter().find(|finding| finding.rule.id == "Q-INV")?;
    Some(format!(
        "{}: {} Instead: {}",
        finding.rule.id,
        finding.message,
        finding.fix.unwrap_or_default()
    ))
}
