//! Enabling, disabling, dropping and emptying tables, one or all that match a pattern.

use halite_types::TableName;

use super::describe::{matching, must_exist};
use super::explain::About;
use super::{Arguments, Group, Word};
use crate::shell::session::{Outcome, Session, Stop};
use crate::shell::value::Value;

const fn word(name: &'static str, synopsis: &'static str, about: &'static str, examples: &'static [&'static str], run: Run) -> Word {
    Word { name, aliases: &[], group: Group::Ddl, count: (1, Some(1)), takes_table: true, options: &[], synopsis, about, examples, run }
}

const fn for_all(name: &'static str, synopsis: &'static str, about: &'static str, examples: &'static [&'static str], run: Run) -> Word {
    Word { takes_table: false, ..word(name, synopsis, about, examples, run) }
}

type Run = fn(&mut Session<'_>, &Arguments) -> Outcome;

pub(super) const WORDS: &[Word] = &[
    word("enable", "enable 'table'", "Lets a table be read and written again.", &["enable 't1'"], |session, arguments| {
        let table = arguments.table()?;
        enable(session, &table).map(|()| Value::Nil)
    }),
    word("disable", "disable 'table'", "Takes a table out of service; its data stays.", &["disable 't1'"], |session, arguments| {
        let table = arguments.table()?;
        disable(session, &table).map(|()| Value::Nil)
    }),
    word("is_enabled", "is_enabled 'table'", "Says whether a table is enabled.", &["is_enabled 't1'"], |session, arguments| {
        say_state(session, arguments, true)
    }),
    word("is_disabled", "is_disabled 'table'", "Says whether a table is disabled.", &["is_disabled 't1'"], |session, arguments| {
        say_state(session, arguments, false)
    }),
    word("drop", "drop 'table'", "Takes a disabled table and its data away.", &["disable 't1'", "drop 't1'"], |session, arguments| {
        let table = arguments.table()?;
        drop_table(session, &table).map(|()| Value::Nil)
    }),
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
    Word {
        group: Group::Dml,
        ..word(
            "truncate",
            "truncate 'table'",
            "Disables a table, takes all its rows and its split keys away, and enables it.",
            &["truncate 't1'"],
            |session, arguments| truncate(session, arguments, false),
        )
    },
    Word {
        group: Group::Dml,
        ..word(
            "truncate_preserve",
            "truncate_preserve 'table'",
            "Disables a table, takes all its rows away, and enables it with the same regions.",
            &["truncate_preserve 't1'"],
            |session, arguments| truncate(session, arguments, true),
        )
    },
];

fn is_enabled(session: &Session<'_>, table: &TableName) -> Outcome<bool> {
    session.ask(|admin| admin.is_enabled(table)).about(session, table)
}

/// Enabling a table twice is no error, as in HBase's shell.
fn enable(session: &mut Session<'_>, table: &TableName) -> Outcome<()> {
    if is_enabled(session, table)? {
        return Ok(());
    }
    session.ask(|admin| admin.enable_table(table)).about(session, table)
}

fn disable(session: &mut Session<'_>, table: &TableName) -> Outcome<()> {
    if !is_enabled(session, table)? {
        return Ok(());
    }
    session.ask(|admin| admin.disable_table(table)).about(session, table)
}

fn drop_table(session: &mut Session<'_>, table: &TableName) -> Outcome<()> {
    if is_enabled(session, table)? {
        return Err(Stop::Problem(format!("Table {table} is enabled. Disable it first: disable '{table}'")));
    }
    session.ask(|admin| admin.drop_table(table)).about(session, table)
}

fn say_state(session: &mut Session<'_>, arguments: &Arguments, wanted: bool) -> Outcome {
    let table = arguments.table()?;
    let answer = is_enabled(session, &table)? == wanted;
    session.row(&answer.to_string())?;
    Ok(Value::Bool(answer))
}

fn truncate(session: &mut Session<'_>, arguments: &Arguments, keep_splits: bool) -> Outcome {
    let table = arguments.table()?;
    session.say(format!("Truncating '{table}' table (it may take a while):"))?;
    must_exist(session, &table)?;
    if is_enabled(session, &table)? {
        session.say("Disabling table...")?;
        disable(session, &table)?;
    }
    session.say("Truncating table...")?;
    session.ask(|admin| admin.truncate_table(&table, keep_splits)).about(session, &table)?;
    Ok(Value::Nil)
}

/// Does `action` to every table that matches, once the person has said yes; one failure does not stop the others.
fn all(session: &mut Session<'_>, arguments: &Arguments, verb: &str, done: &str, action: fn(&mut Session<'_>, &TableName) -> Outcome<()>) -> Outcome {
    let tables = matching(session, arguments)?;
    if tables.is_empty() {
        let pattern = arguments.get(0).map(Value::to_text).unwrap_or_default();
        session.say(format!("No tables matched the regex {pattern}"))?;
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
            Err(Stop::Problem(text)) => {
                session.say(format!("table:{table}, error:{text}"))?;
                failed.push(table.to_string());
            }
            other => other?,
        }
    }
    session.say(format!("{} tables successfully {done}", tables.len() - failed.len()))?;
    if !failed.is_empty() {
        session.say(format!("{} tables not {done} due to an exception: {}", failed.len(), failed.join(",")))?;
    }
    Ok(Value::Nil)
}
