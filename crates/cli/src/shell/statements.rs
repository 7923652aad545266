//! Statements of the row-key language among the shell's commands: `CREATE TABLE`, `ALTER TABLE`, `SHOW CREATE TABLE`.
//!
//! They are told from commands by their first words, may take several lines, and end with a semicolon.

use halite::rowkey::KeySchema;
use halite::rowkey::language::{Progress, SplitClause, Statement, TableDeclaration, progress, statements};
use halite::rowkey::split::SplitNote;
use halite_types::{Bytes, TableName, block_on};

use super::adopt::adopt;
use super::session::{Outcome, Session, Stop};
use super::value::Value;
use super::words::{About, find, must_exist, split_keys, table_exists, warn};
use crate::key::splits_of;

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

/// Why the lines before `line` cannot be the beginning of a statement that `line` goes on with: their semicolon is missing, or they are
/// wrong and `line` is a command.
pub(super) fn left_open(before: &str, line: &str) -> Option<String> {
    let whole = format!("{before}{line}\n");
    let error = statements(&whole).err().filter(|error| error.span.start < whole.len())?;
    let starts_line = error.span.start == before.len() + (line.len() - line.trim_start().len());
    let next = line.trim();
    match progress(before) {
        Progress::Complete if starts_line || is_command(line) => Some(format!("its ';' is missing: add it in front of\n  {next}")),
        Progress::Open if is_command(line) => Some(format!("it is not finished, and this line does not go on with it\n  {next}")),
        Progress::Wrong(error) if is_command(line) => Some(error.render(before).trim_start_matches("error: ").to_owned()),
        _ => None,
    }
}

/// Whether a line is a command of the shell or begins another statement, rather than a part of a statement: `count I64` declares a
/// column, `count 't'` counts.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    let (word, rest) = line.split_at(line.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(line.len()));
    let rest = rest.trim();
    let method = rest.strip_prefix('.').map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
    let is_known = |word: &str| find(word).is_some() || matches!(word, "exit" | "quit" | "help" | "puts");
    begins(line) || method.is_some_and(is_known) || is_known(word) && (rest.is_empty() || rest.starts_with(['\'', '"']))
}

/// Runs the statements of a text.
pub(super) fn run(session: &mut Session<'_>, text: &str) -> Outcome {
    let found = statements(text).map_err(|error| Stop::Problem(error.render(text).trim_start_matches("error: ").to_owned()))?;
    for statement in found {
        match statement {
            Statement::CreateTable(declaration) => create(session, &declaration)?,
            Statement::Adopt { table, key, forced } => adopt(session, &table, &key, forced)?,
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
        let current = block_on(session.table(&table).descriptor()).about(session, &table)?;
        let other = match KeySchema::of_table(&current) {
            Some(Ok(key)) if key == declaration.key => String::new(),
            Some(Ok(key)) => format!(", with another key: {key}"),
            _ => ", and declares no key".to_owned(),
        };
        return session.say(format!("Table {table} exists already{other}"));
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

fn show(session: &mut Session<'_>, table: &TableName) -> Outcome<()> {
    let descriptor = block_on(session.table(table).descriptor()).about(session, table)?;
    match TableDeclaration::of_table(&(*descriptor).clone().without_defaults()) {
        Some(Ok(declaration)) => {
            let text = declaration.to_string();
            session.say(format!("{text};"))?;
            // Attributes that were set one by one need not go together.
            match statements(&text) {
                Ok(_) => Ok(()),
                Err(error) => session.say(format!(
                    "-- this cannot be read again: {}; ALTER TABLE {table} ADOPT {} leaves out what does not go with the key",
                    error.message, declaration.key
                )),
            }
        }
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
    fn a_line_that_cannot_go_on_with_a_statement_says_what_is_missing() {
        let whole = "CREATE TABLE t (v DOUBLE FAMILY d, ROW KEY (a STRING))\n";
        for (before, line, wanted) in [
            (whole, "put 't', 'a', 'd:v', '1'", "its ';' is missing: add it in front of\n  put 't'"),
            (whole, "SHOW CREATE TABLE t;", "its ';' is missing"),
            (whole, "t.put 'a', 'd:v', '1'", "its ';' is missing"),
            (whole, "WIHT (TTL = 5);", "its ';' is missing"),
            (whole, "# what follows", "its ';' is missing"),
            ("CREATE TABLE t (v DOUBLE FAMILY d,\n", "put 't', 'a', 'd:v', '1'", "it is not finished"),
            ("CREATE TABLE t (v DUBLE FAMILY d,\n", "exit", "there is no type DUBLE"),
        ] {
            let said = left_open(before, line).unwrap_or_default();
            assert!(said.contains(wanted), "{before}{line}: {said}");
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
