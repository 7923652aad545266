//! Commands that enable, disable, drop and truncate tables, one or all that match a pattern.

use halite_types::TableName;

use super::describe::{matching, must_exist};
use super::error_hints::ErrorContext;
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

const fn table_command(
    name: &'static str,
    synopsis: &'static str,
    about: &'static str,
    examples: &'static [&'static str],
    run: TableAction,
) -> ShellCommand {
    ShellCommand {
        name,
        aliases: &[],
        group: Group::Ddl,
        count: (1, Some(1)),
        takes_table: true,
        options: &[],
        synopsis,
        about,
        examples,
        run,
    }
}

const fn for_all(
    name: &'static str,
    synopsis: &'static str,
    about: &'static str,
    examples: &'static [&'static str],
    run: TableAction,
) -> ShellCommand {
    ShellCommand { takes_table: false, ..table_command(name, synopsis, about, examples, run) }
}

type TableAction = fn(&mut Session<'_>, &Arguments) -> EvalResult;

pub(super) const COMMANDS: &[ShellCommand] = &[
    table_command(
        "enable",
        "enable 'table'",
        "Lets a table be read and written again.",
        &["enable 't1'"],
        |session, arguments| {
            let table = arguments.table()?;
            enable(session, &table).map(|()| Value::Nil)
        },
    ),
    table_command(
        "disable",
        "disable 'table'",
        "Takes a table out of service; its data stays.",
        &["disable 't1'"],
        |session, arguments| {
            let table = arguments.table()?;
            disable(session, &table).map(|()| Value::Nil)
        },
    ),
    table_command(
        "is_enabled",
        "is_enabled 'table'",
        "Says whether a table is enabled.",
        &["is_enabled 't1'"],
        |session, arguments| print_state(session, arguments, true),
    ),
    table_command(
        "is_disabled",
        "is_disabled 'table'",
        "Says whether a table is disabled.",
        &["is_disabled 't1'"],
        |session, arguments| print_state(session, arguments, false),
    ),
    table_command(
        "drop",
        "drop 'table'",
        "Takes a disabled table and its data away.",
        &["disable 't1'", "drop 't1'"],
        |session, arguments| {
            let table = arguments.table()?;
            drop_table(session, &table).map(|()| Value::Nil)
        },
    ),
    for_all(
        "enable_all",
        "enable_all 'pattern'",
        "Enables the tables whose whole name matches, after asking.",
        &["enable_all 't.*'"],
        |session, arguments| all(session, arguments, "Enable", "enabled", enable),
    ),
    for_all(
        "disable_all",
        "disable_all 'pattern'",
        "Disables the tables whose whole name matches, after asking.",
        &["disable_all 't.*'"],
        |session, arguments| all(session, arguments, "Disable", "disabled", disable),
    ),
    for_all(
        "drop_all",
        "drop_all 'pattern'",
        "Drops the disabled tables whose whole name matches, after asking.",
        &["disable_all 't.*'", "drop_all 't.*'"],
        |session, arguments| all(session, arguments, "Drop", "dropped", drop_table),
    ),
    ShellCommand {
        group: Group::Dml,
        ..table_command(
            "truncate",
            "truncate 'table'",
            "Disables a table, takes all its rows and its split keys away, and enables it.",
            &["truncate 't1'"],
            |session, arguments| truncate(session, arguments, false),
        )
    },
    ShellCommand {
        group: Group::Dml,
        ..table_command(
            "truncate_preserve",
            "truncate_preserve 'table'",
            "Disables a table, takes all its rows away, and enables it with the same regions.",
            &["truncate_preserve 't1'"],
            |session, arguments| truncate(session, arguments, true),
        )
    },
];

fn is_enabled(session: &Session<'_>, table: &TableName) -> EvalResult<bool> {
    session.cluster().is_enabled(table).with_hint(session, table)
}

/// Enables a table. Enabling it twice is not an error, as in HBase's shell.
fn enable(session: &mut Session<'_>, table: &TableName) -> EvalResult<()> {
    if is_enabled(session, table)? {
        return Ok(());
    }
    session.cluster().enable_table(table).with_hint(session, table)
}

fn disable(session: &mut Session<'_>, table: &TableName) -> EvalResult<()> {
    if !is_enabled(session, table)? {
        return Ok(());
    }
    session.cluster().disable_table(table).with_hint(session, table)
}

fn drop_table(session: &mut Session<'_>, table: &TableName) -> EvalResult<()> {
    if is_enabled(session, table)? {
        return Err(Interrupt::Problem(format!(
            "Table {table} is enabled. Disable it first: disable '{table}'"
        )));
    }
    session.cluster().drop_table(table).with_hint(session, table)
}

fn print_state(session: &mut Session<'_>, arguments: &Arguments, expected: bool) -> EvalResult {
    let table = arguments.table()?;
    let answer = is_enabled(session, &table)? == expected;
    session.row(&answer.to_string())?;
    Ok(Value::Bool(answer))
}

fn truncate(session: &mut Session<'_>, arguments: &Arguments, keep_splits: bool) -> EvalResult {
    let table = arguments.table()?;
    session.print_line(format!("Truncating '{table}' table (it may take a while):"))?;
    must_exist(session, &table)?;
    if is_enabled(session, &table)? {
        session.print_line("Disabling table...")?;
        disable(session, &table)?;
    }
    session.print_line("Truncating table...")?;
    session.cluster().truncate_table(&table, keep_splits).with_hint(session, &table)?;
    Ok(Value::Nil)
}

/// Applies `action` to every matching table after confirmation; a failure does not stop the others.
fn all(
    session: &mut Session<'_>,
    arguments: &Arguments,
    verb: &str,
    done: &str,
    action: fn(&mut Session<'_>, &TableName) -> EvalResult<()>,
) -> EvalResult {
    let tables = matching(session, arguments)?;
    if tables.is_empty() {
        let pattern = arguments.get(0).map(Value::to_text).unwrap_or_default();
        session.print_line(format!("No tables matched the regex {pattern}"))?;
        return Ok(Value::Nil);
    }
    for table in &tables {
        session.row(&table.to_string())?;
    }
    if !session.confirm(&format!("\n{verb} the above {} tables (y/n)?", tables.len()))? {
        return Ok(Value::Nil);
    }
    let mut failed = Vec::new();
    for table in &tables {
        match action(session, table) {
            Err(Interrupt::Problem(text)) => {
                session.print_line(format!("table:{table}, error:{text}"))?;
                failed.push(table.to_string());
            }
            other => other?,
        }
    }
    session.print_line(format!("{} tables successfully {done}", tables.len() - failed.len()))?;
    if !failed.is_empty() {
        session.print_line(format!(
            "{} tables not {done} due to an exception: {}",
            failed.len(),
            failed.join(",")
        ))?;
    }
    Ok(Value::Nil)
}
