//! Statements of the row-key language among the shell's commands, such as `CREATE TABLE`,
//! `ALTER TABLE` and `DROP TABLE`.
//!
//! Their first words distinguish them from commands. They may span several lines and end with a
//! semicolon.

use halite::block_on;
use halite::rowkey::language::{
    Progress, SchemaStatement, SplitClause, Statement, TableDeclaration, progress, statements,
};
use halite::rowkey::split::SplitNote;
use halite::rowkey::{KeySchema, change_schema};
use halite_types::suggest::misspelled;
use halite_types::{Bytes, TableName};

use super::adopt::adopt;
use super::commands::{ErrorContext, find, must_exist, split_keys, table_exists, warn};
use super::session::{EvalResult, Interrupt, Session};
use super::value::Value;
use crate::key::resolve_splits;

/// Words that start a statement; no command starts with them.
const BEGINNINGS: [&[&str]; 10] = [
    &["CREATE", "TABLE"],
    &["ALTER", "TABLE"],
    &["SHOW", "CREATE", "TABLE"],
    &["DROP", "TABLE"],
    &["TRUNCATE", "TABLE"],
    &["FLUSH", "TABLE"],
    &["COMPACT", "TABLE"],
    &["SPLIT", "TABLE"],
    &["CREATE", "SCHEMA"],
    &["DROP", "SCHEMA"],
];
/// Words of those that are complete on one line: without a name they are a command and its
/// variable.
const ONE_LINE: [&str; 6] = ["DROP", "TRUNCATE", "FLUSH", "COMPACT", "SPLIT", "SCHEMA"];

/// Returns `true` if the input starts a statement. `create table, 'f'` is a command, with a
/// variable.
pub(super) fn begins(text: &str) -> bool {
    BEGINNINGS.iter().any(|words| {
        let mut rest = text.trim_start();
        let begin = words.iter().all(|word| {
            let (first, behind) = rest.split_at(
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
            );
            rest = behind.trim_start();
            first.eq_ignore_ascii_case(word)
                && (behind.is_empty() || behind.starts_with(char::is_whitespace))
        });
        let is_on_one_line = words.iter().any(|word| ONE_LINE.contains(word));
        begin
            && (rest.is_empty() && !is_on_one_line
                || rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"'))
    })
}

/// Returns the beginning that the input misspells: `SHOW CREATE TABLE` for `show create tabel t;`.
pub(super) fn misspelled_beginning(text: &str) -> Option<String> {
    let meant = |words: &&&[&str]| {
        let mut rest = text.trim_start();
        let mut is_exact = true;
        for word in **words {
            let (given, behind) = rest.split_at(
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
            );
            let given = given.to_ascii_uppercase();
            is_exact &= given == *word;
            if misspelled(&given, std::iter::once(*word)).is_none() && given != *word {
                return false;
            }
            rest = behind.trim_start();
        }
        !is_exact && rest.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"')
    };
    BEGINNINGS.iter().find(meant).map(|words| words.join(" "))
}

/// Returns the reason why `line` cannot continue the statement in the lines `before`: its semicolon
/// is missing, or it is invalid and `line` is a command.
pub(super) fn left_open(before: &str, line: &str) -> Option<String> {
    let whole = format!("{before}{line}\n");
    let error = statements(&whole).err().filter(|error| error.span.start < whole.len())?;
    let starts_line = error.span.start == before.len() + (line.len() - line.trim_start().len());
    let next = line.trim();
    match progress(before) {
        Progress::Complete if starts_line || is_command(line) => {
            Some(format!("its ';' is missing: add it in front of\n  {next}"))
        }
        Progress::Open if is_command(line) => {
            Some(format!("it is not finished, and this line does not go on with it\n  {next}"))
        }
        Progress::Wrong(error) if is_command(line) => {
            Some(error.render(before).trim_start_matches("error: ").to_owned())
        }
        _ => None,
    }
}

/// Returns `true` if a line is a command of the shell or starts another statement, rather than
/// continues a statement: `count I64` declares a column, `count 't'` counts.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    let (word, rest) =
        line.split_at(line.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(line.len()));
    let rest = rest.trim();
    let method = rest.strip_prefix('.').map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
    });
    let is_known =
        |word: &str| find(word).is_some() || matches!(word, "exit" | "quit" | "help" | "puts");
    begins(line)
        || method.is_some_and(is_known)
        || is_known(word) && (rest.is_empty() || rest.starts_with(['\'', '"']))
}

/// Runs the statements of a text.
pub(super) fn run(session: &mut Session<'_>, text: &str) -> EvalResult {
    let found = statements(text).map_err(|error| {
        Interrupt::Problem(error.render(text).trim_start_matches("error: ").to_owned())
    })?;
    for statement in found {
        match statement {
            Statement::CreateTable(declaration) => create(session, &declaration)?,
            Statement::Adopt { table, key, forced } => adopt(session, &table, &key, forced)?,
            Statement::ShowCreateTable(table) => show_create_table(session, &table)?,
            Statement::Schema(statement) => change(session, &statement)?,
            Statement::AlterSalt { table, salts, .. } => {
                must_exist(session, &table)?;
                let fix =
                    format!("create a table with SALT({salts} ..) in its key and copy the rows");
                return Err(Interrupt::Problem(format!(
                    "table {table}: the number of salts of a table that exists cannot be changed \
                     yet; {fix}"
                )));
            }
        }
    }
    Ok(Value::Nil)
}

fn change(session: &mut Session<'_>, statement: &SchemaStatement) -> EvalResult<()> {
    let mut notes = Vec::new();
    let cluster = session.cluster().cluster().clone();
    let tag = block_on(change_schema(&*cluster, statement, &mut notes))?;
    for note in notes {
        session.print_line(note)?;
    }
    session.print_line(tag)
}

fn create(session: &mut Session<'_>, declaration: &TableDeclaration) -> EvalResult<()> {
    let table = declaration.descriptor.name().clone();
    if declaration.if_not_exists && table_exists(session, &table)? {
        let current = session.cluster().descriptor(&table).with_hint(session, &table)?;
        let other = match KeySchema::from_descriptor(&current) {
            Some(Ok(key)) if key == declaration.key => String::new(),
            Some(Ok(key)) => format!(", with another key: {key}"),
            _ => ", and declares no key".to_owned(),
        };
        return session.print_line(format!("Table {table} exists already{other}"));
    }
    let keys = first_keys(session, declaration)?;
    let descriptor = declaration.described();
    descriptor.check()?;
    let splits = keys.clone();
    session.create_table(descriptor, &keys).with_hint(session, &table)?;
    session.print_line(format!("Created table {table}"))?;
    warn(session, declaration, &splits)
}

/// Returns the start keys of the regions, and prints notes about them.
fn first_keys(session: &mut Session<'_>, declaration: &TableDeclaration) -> EvalResult<Vec<Bytes>> {
    let Some(clause) = &declaration.split else { return Ok(Vec::new()) };
    let like = match clause {
        SplitClause::Like(table) => split_keys(session, table)?,
        _ => Vec::new(),
    };
    let splits = resolve_splits(clause, &declaration.key, |_| Ok(like))
        .map_err(|error| Interrupt::Problem(format!("{clause}: {error:#}")))?;
    // Lint reports a mismatch of salts and regions after the table is created.
    for note in splits
        .notes
        .iter()
        .filter(|note| matches!(note, SplitNote::Assumed(_) | SplitNote::FewerRegions { .. }))
    {
        session.print_line(note.to_string())?;
    }
    Ok(splits.keys)
}

fn show_create_table(session: &mut Session<'_>, table: &TableName) -> EvalResult<()> {
    let descriptor = session.cluster().descriptor(table).with_hint(session, table)?;
    match TableDeclaration::from_descriptor(&(*descriptor).clone().without_defaults()) {
        Some(Ok(declaration)) => {
            let text = declaration.to_string();
            session.print_line(format!("{text};"))?;
            // Attributes set one by one may be inconsistent.
            match statements(&text) {
                Ok(_) => Ok(()),
                Err(error) => session.print_line(format!(
                    "-- this cannot be read again: {}; ALTER TABLE {table} ADOPT {} leaves out \
                     what does not go with the key",
                    error.message, declaration.key
                )),
            }
        }
        Some(Err(error)) => Err(Interrupt::Problem(format!(
            "table {table}: its ROW_KEY or ROW_SCHEMA cannot be read: {error}"
        ))),
        None => {
            let fix = format!("ALTER TABLE {table} ADOPT ROW KEY (..) says what its keys are");
            Err(Interrupt::Problem(format!("table {table} declares no row key; {fix}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_distinguished_from_commands() {
        for text in [
            "CREATE TABLE t (",
            "  create\ttable \"t-1\"",
            "show create table t",
            "ALTER TABLE\nt",
            "CREATE TABLE IF NOT EXISTS t",
            "drop table t",
            "TRUNCATE TABLE \"t-1\"",
            "CREATE SCHEMA s",
        ] {
            assert!(begins(text), "{text}");
        }
        for text in [
            "create 'table', 'f'",
            "create table, 'f'",
            "create table",
            "alter 't', 'f'",
            "show_filters",
            "createtable t",
            "create tables t",
            "drop table",
            "drop 'table'",
            "flush table",
            "truncate t",
        ] {
            assert_eq!(begins(text), text == "create table", "{text}");
        }
    }

    #[test]
    fn misspelled_beginnings_are_recognized() {
        for (text, meant) in [
            ("show create tabel t;", Some("SHOW CREATE TABLE")),
            ("CRAETE TABLE t (", Some("CREATE TABLE")),
            ("alter tabel \"t\" ADOPT", Some("ALTER TABLE")),
            ("create table t", None),
            ("create tabel, 'f'", None),
            ("create 'tabel', 'f'", None),
            ("scan t", None),
        ] {
            assert_eq!(misspelled_beginning(text).as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn unfinished_statement_error_names_missing_part() {
        let whole = "CREATE TABLE t (v DOUBLE FAMILY d, ROW KEY (a STRING))\n";
        for (before, line, expected) in [
            (
                whole,
                "put 't', 'a', 'd:v', '1'",
                "its ';' is missing: add it in front of\n  put 't'",
            ),
            (whole, "SHOW CREATE TABLE t;", "its ';' is missing"),
            (whole, "t.put 'a', 'd:v', '1'", "its ';' is missing"),
            (whole, "WIHT (TTL = 5);", "its ';' is missing"),
            (whole, "# what follows", "its ';' is missing"),
            (
                "CREATE TABLE t (v DOUBLE FAMILY d,\n",
                "put 't', 'a', 'd:v', '1'",
                "it is not finished",
            ),
            ("CREATE TABLE t (v DUBLE FAMILY d,\n", "exit", "there is no type DUBLE"),
        ] {
            let said = left_open(before, line).unwrap_or_default();
            assert!(said.contains(expected), "{before}{line}: {said}");
        }
        for (before, line) in [
            (whole, "WITH (TTL = 5)"),
            (whole, "WITH (TTLL = 5)"),
            (whole, ";"),
            (whole, "-- a comment"),
            (whole, ""),
            ("CREATE TABLE t (\n", "count I64 FAMILY d,"),
            ("CREATE TABLE t (v DUBLE FAMILY d,\n", "count I64 FAMILY d,"),
        ] {
            assert_eq!(left_open(before, line), None, "{before}{line}");
        }
    }
}
