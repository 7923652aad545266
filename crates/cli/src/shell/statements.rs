//! Statements of the row-key language among the shell's commands: `CREATE TABLE`, `ALTER TABLE`, `SHOW CREATE TABLE`.
//!
//! They are told from commands by their first words, may take several lines, and end with a semicolon.

use halite::rowkey::language::{SplitClause, Statement, TableDeclaration, statements};
use halite::rowkey::split::SplitNote;
use halite::rowkey::{Cause, KeySchema};
use halite_types::key::print_bytes;
use halite_types::{Bytes, Filter, Scan, TableName, block_on};

use super::session::{Outcome, Session, Stop};
use super::value::Value;
use super::words::{About, must_exist, split_keys, table_exists, warn};
use crate::key::splits_of;

/// Rows that are looked at when a table is given a schema for rows it has.
const ADOPTED_ROWS_MAX: usize = 10_000;
/// Rows that are shown of those that do not fit.
const ADOPTED_SHOWN_MAX: usize = 3;
/// Words that begin a statement; of commands none does.
const BEGINNINGS: [&[&str]; 3] = [&["CREATE", "TABLE"], &["ALTER", "TABLE"], &["SHOW", "CREATE", "TABLE"]];

/// Whether what was typed begins a statement. `create table, 'f'` is a command, with a variable.
pub(super) fn begins(text: &str) -> bool {
    BEGINNINGS.iter().any(|words| {
        let mut rest = text.trim_start();
        let begin = words.iter().all(|word| {
            let (first, behind) = rest.split_at(rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()));
            rest = behind.trim_start();
            first.eq_ignore_ascii_case(word) && (behind.is_empty() || behind.starts_with(char::is_whitespace))
        });
        begin && (rest.is_empty() || rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"'))
    })
}

/// Whether the statement ends with its last line.
pub(super) fn is_complete(text: &str) -> bool {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    // A comment may stand behind the semicolon, and a semicolon in a comment.
    last.split("--").next().unwrap_or_default().trim_end().ends_with(';')
}

/// Runs the statements of a text.
pub(super) fn run(session: &mut Session<'_>, text: &str) -> Outcome {
    let found = statements(text).map_err(|error| Stop::Problem(error.render(text).trim_start_matches("error: ").to_owned()))?;
    for statement in found {
        match statement {
            Statement::CreateTable(declaration) => create(session, &declaration)?,
            Statement::Adopt { table, key } => adopt(session, &table, &key)?,
            Statement::ShowCreateTable(table) => show(session, &table)?,
            Statement::AlterSalt { table, salts, .. } => {
                must_exist(session, &table)?;
                let mend = format!("create a table with SALT({salts} ..) in its key and copy the rows");
                return Err(Stop::Problem(format!("table {table}: the number of salts of a table that exists cannot be changed yet; {mend}")));
            }
        }
    }
    Ok(Value::Nil)
}

fn create(session: &mut Session<'_>, declaration: &TableDeclaration) -> Outcome<()> {
    let table = declaration.descriptor.name().clone();
    if declaration.if_not_exists && table_exists(session, &table)? {
        return session.say(format!("Table {table} exists already"));
    }
    let keys = first_keys(session, declaration)?;
    let descriptor = declaration.described();
    descriptor.check()?;
    let splits = keys.clone();
    session.ask(|admin| admin.create_table(descriptor, keys)).about(session, &table)?;
    session.say(format!("Created table {table}"))?;
    warn(session, declaration, &splits)
}

/// The keys at which regions begin; what should be known about them is said.
fn first_keys(session: &mut Session<'_>, declaration: &TableDeclaration) -> Outcome<Vec<Bytes>> {
    let Some(clause) = &declaration.split else { return Ok(Vec::new()) };
    let like = match clause {
        SplitClause::Like(table) => split_keys(session, table)?,
        _ => Vec::new(),
    };
    let splits = splits_of(clause, &declaration.key, |_| Ok(like)).map_err(|error| Stop::Problem(format!("{clause}: {error:#}")))?;
    // Of salts and regions that do not fit, lint speaks when the table is there.
    for note in splits.notes.iter().filter(|note| matches!(note, SplitNote::Assumed(_) | SplitNote::FewerRegions { .. })) {
        session.say(note.to_string())?;
    }
    Ok(splits.keys)
}

fn adopt(session: &mut Session<'_>, table: &TableName, key: &KeySchema) -> Outcome<()> {
    let current = block_on(session.table(table).descriptor()).about(session, table)?;
    if let Some(Ok(before)) = KeySchema::of_table(&current) {
        before.check_change(key)?;
    }
    let descriptor = key.declared_in((*current).clone());
    session.ask(|admin| admin.alter_table(descriptor)).about(session, table)?;
    session.say(format!("Table {table} has the {key}"))?;
    say_what_fits(session, table, key)
}

/// Looks at the first rows of a table and says which are no keys of the schema.
fn say_what_fits(session: &mut Session<'_>, table: &TableName, key: &KeySchema) -> Outcome<()> {
    let mut rows = session.table(table).scan(Scan::all().filter(Filter::FirstKeyOnly).limit(ADOPTED_ROWS_MAX).cache_blocks(false));
    let (mut seen, mut odd) = (0_usize, Vec::new());
    while seen < ADOPTED_ROWS_MAX
        && let Some(row) = block_on(rows.next()).about(session, table)?
    {
        seen += 1;
        match key.decode(row.key()) {
            // What cannot be read at all says nothing about rows.
            Err(error) if matches!(error.cause, Cause::Unsupported(_)) => return Ok(()),
            Err(error) => odd.push((print_bytes(row.key()), error)),
            Ok(_) => {}
        }
    }
    let first = if seen == ADOPTED_ROWS_MAX { "first " } else { "" };
    session.say(format!("{} of the {first}{seen} row(s) are keys of this schema", seen - odd.len()))?;
    for (row, error) in odd.iter().take(ADOPTED_SHOWN_MAX) {
        session.say(format!("  {row}: {error}"))?;
    }
    Ok(())
}

fn show(session: &mut Session<'_>, table: &TableName) -> Outcome<()> {
    let descriptor = block_on(session.table(table).descriptor()).about(session, table)?;
    match TableDeclaration::of_table(&(*descriptor).clone().without_defaults()) {
        Some(Ok(declaration)) => session.say(format!("{declaration};")),
        Some(Err(error)) => Err(Stop::Problem(format!("table {table}: its ROW_KEY or ROW_SCHEMA cannot be read: {error}"))),
        None => {
            let mend = format!("ALTER TABLE {table} ADOPT ROW KEY (..) says what its keys are");
            Err(Stop::Problem(format!("table {table} declares no row key; {mend}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_from_commands() {
        for text in ["CREATE TABLE t (", "  create\ttable \"t-1\"", "show create table t", "ALTER TABLE\nt", "CREATE TABLE IF NOT EXISTS t"] {
            assert!(begins(text), "{text}");
        }
        for text in ["create 'table', 'f'", "create table, 'f'", "create table", "alter 't', 'f'", "show_filters", "createtable t", "create tables t"]
        {
            assert_eq!(begins(text), text == "create table", "{text}");
        }
    }

    #[test]
    fn a_statement_ends_with_a_semicolon() {
        assert!(is_complete("SHOW CREATE TABLE t;\n") && is_complete("x; -- lint:allow K-MONO ids; or so"));
        assert!(!is_complete("CREATE TABLE t (\n") && !is_complete("a -- b;\n") && !is_complete(""));
    }
}
