//! The declared row key in a table's attributes: looked at before the store keeps it.

use halite::rowkey::KeySchema;
use halite::rowkey::language::{ROW_KEY, ROW_SCHEMA, TableDeclaration};
use halite::rowkey::lint::{Severity, Subject, lint_declaration, lint_scan, report};
use halite_types::{Bytes, Scan, TableDescriptor, TableName, block_on};

use crate::shell::adopt::set_by_alter;
use crate::shell::session::{Outcome, Session, Stop};

/// Puts the text of a declared key into its canonical form; what the table declares then, if it declares a key.
///
/// # Errors
/// A text that is no key, shown where it is wrong; a key that the rows of `before` do not fit.
pub(super) fn check(
    session: &mut Session<'_>,
    before: Option<&TableDescriptor>,
    descriptor: &mut TableDescriptor,
) -> Outcome<Option<TableDeclaration>> {
    let name = descriptor.name().clone();
    let shown = |attribute: &str, error: &halite::rowkey::LanguageError, text: &str| {
        let lines = error.render(text);
        Stop::Problem(format!("table {name}: {attribute}: {}", lines.trim_start_matches("error: ")))
    };
    let Some(text) = descriptor.attributes.get(ROW_KEY).cloned() else {
        return match descriptor.attributes.get(ROW_SCHEMA) {
            Some(_) => Err(Stop::Problem(format!("table {name}: {ROW_SCHEMA} says what is beside a {ROW_KEY}, and there is none"))),
            None => Ok(None),
        };
    };
    let key: KeySchema = text.parse().map_err(|error| shown(ROW_KEY, &error, &text))?;
    if let Some(before) =
        before.filter(|before| before.attributes.get(ROW_KEY) != Some(&text) && before.attributes.get(ROW_KEY) != Some(&key.to_text()))
    {
        let declared = set_by_alter(session, before, &key)?;
        // A schema that the same command sets is not touched.
        if before.attributes.get(ROW_SCHEMA) == descriptor.attributes.get(ROW_SCHEMA) {
            match declared.attributes.get(ROW_SCHEMA) {
                Some(schema) => drop(descriptor.attributes.insert(ROW_SCHEMA.to_owned(), schema.clone())),
                None => drop(descriptor.attributes.remove(ROW_SCHEMA)),
            }
        }
    }
    descriptor.attributes.insert(ROW_KEY.to_owned(), key.to_text());
    let wrong = |error| shown(ROW_SCHEMA, &error, descriptor.attributes.get(ROW_SCHEMA).map_or("", String::as_str));
    TableDeclaration::of_table(descriptor).transpose().map_err(wrong)
}

/// Says what a declared table will cost, where that is more than worth knowing; `halite key lint` says all.
pub(in crate::shell) fn warn(session: &mut Session<'_>, declaration: &TableDeclaration, splits: &[Bytes]) -> Outcome<()> {
    let mut findings = lint_declaration(declaration, &Subject { splits: Some(splits), ..Subject::default() });
    findings.retain(|finding| finding.severity >= Severity::Warning);
    if findings.is_empty() {
        return Ok(());
    }
    session.say(report(&findings, &declaration.descriptor.name().to_string()).trim_end())
}

/// Why a scan of a table that declares its key finds nothing, if it is that its bounds are exchanged. What else goes wrong
/// is for the scan to say.
pub(super) fn why_inverted(session: &Session<'_>, table: &TableName, scan: &Scan) -> Option<String> {
    let descriptor = block_on(session.table(table).descriptor()).ok()?;
    let key = KeySchema::of_table(&descriptor)?.ok()?;
    let finding = lint_scan(Some(&key), scan).into_iter().find(|finding| finding.rule.id == "Q-INV")?;
    Some(format!("{}: {} Instead: {}", finding.rule.id, finding.message, finding.fix.unwrap_or_default()))
}
