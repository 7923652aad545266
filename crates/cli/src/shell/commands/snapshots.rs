//! Snapshot commands: create, list, clone, restore, delete.

use halite_types::{Error, ErrorKind, SnapshotDescriptor, SnapshotType};

use super::error_hints::{ErrorContext, unknown_namespace};
use super::{Arguments, Group, ShellCommand};
use crate::shell::print;
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;
use halite_types::suggest::closest_match;

const BASE: ShellCommand = ShellCommand {
    name: "",
    aliases: &[],
    group: Group::Snapshots,
    count: (1, Some(1)),
    takes_table: false,
    options: &[],
    synopsis: "",
    about: "",
    examples: &[],
    run: |_, _| Ok(Value::Nil),
};

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "snapshot",
        count: (2, None),
        takes_table: true,
        options: &["SKIP_FLUSH", "TTL", "MAX_FILESIZE"],
        synopsis: "snapshot 'table', 'snapshot' [, {SKIP_FLUSH => true, TTL => seconds, \
                   MAX_FILESIZE => bytes}]",
        about: "Keeps a table as it is now under a name. No data is copied. With SKIP_FLUSH what \
                is only in memory is left out, after TTL seconds the snapshot goes, and \
                MAX_FILESIZE is what tables made of it get.",
        examples: &[
            "snapshot 't1', 'before'",
            "snapshot 'ns1:t1', 'daily', {TTL => 86400}",
            "snapshot 't1', 'files', SKIP_FLUSH => true",
        ],
        run: take,
        ..BASE
    },
    ShellCommand {
        name: "list_snapshots",
        count: (0, Some(1)),
        synopsis: "list_snapshots ['pattern']",
        about: "Lists the snapshots, or those whose whole name matches a regular expression.",
        examples: &["list_snapshots", "list_snapshots 'abc.*'"],
        run: |session, arguments| {
            let pattern = arguments.pattern(0)?;
            list(session, |snapshot| pattern.is_match(&snapshot.name))
        },
        ..BASE
    },
    ShellCommand {
        name: "list_table_snapshots",
        count: (1, Some(2)),
        synopsis: "list_table_snapshots 'table pattern' [, 'pattern']",
        about: "Lists the snapshots of the tables whose whole name matches a regular expression.",
        examples: &["list_table_snapshots 't1'", "list_table_snapshots 'ns1:.*', 'daily.*'"],
        run: |session, arguments| {
            let (tables, names) = (arguments.pattern(0)?, arguments.pattern(1)?);
            list(session, |snapshot| {
                tables.is_match(&snapshot.table.to_string()) && names.is_match(&snapshot.name)
            })
        },
        ..BASE
    },
    ShellCommand {
        name: "clone_snapshot",
        count: (2, Some(3)),
        options: &["RESTORE_ACL"],
        synopsis: "clone_snapshot 'snapshot', 'new table'",
        about: "Makes a table of a snapshot. No data is copied, and what happens to the table does \
                not touch the snapshot.",
        examples: &["clone_snapshot 'before', 't2'"],
        run: clone,
        ..BASE
    },
    ShellCommand {
        name: "restore_snapshot",
        count: (1, Some(2)),
        options: &["RESTORE_ACL"],
        synopsis: "restore_snapshot 'snapshot'",
        about: "Puts a disabled table back to what it was; what came later is lost, unless another \
                snapshot holds it.",
        examples: &["disable 't1'", "restore_snapshot 'before'", "enable 't1'"],
        run: restore,
        ..BASE
    },
    ShellCommand {
        name: "delete_snapshot",
        synopsis: "delete_snapshot 'snapshot'",
        about: "Deletes a snapshot. Tables made of it stay.",
        examples: &["delete_snapshot 'before'"],
        run: |session, arguments| {
            let name = arguments.name(0, "snapshot name")?;
            session
                .cluster()
                .delete_snapshot(&name)
                .map_err(|error| explain(session, &name, &error))?;
            Ok(Value::Nil)
        },
        ..BASE
    },
    ShellCommand {
        name: "delete_all_snapshot",
        synopsis: "delete_all_snapshot 'pattern'",
        about: "Deletes the snapshots whose whole name matches a regular expression, after asking.",
        examples: &["delete_all_snapshot 'daily.*'"],
        run: delete_all,
        ..BASE
    },
    ShellCommand {
        name: "delete_table_snapshots",
        count: (1, Some(2)),
        synopsis: "delete_table_snapshots 'table pattern' [, 'pattern']",
        about: "Deletes the snapshots of the tables whose whole name matches a regular expression, \
                after asking.",
        examples: &["delete_table_snapshots 't1'", "delete_table_snapshots 'ns1:.*', 'daily.*'"],
        run: delete_table_snapshots,
        ..BASE
    },
];

/// Converts the error of a call about a snapshot to the shell's message.
fn explain(session: &Session<'_>, name: &str, error: &Error) -> Interrupt {
    Interrupt::Problem(match error.kind() {
        ErrorKind::NoSuchSnapshot => {
            let known = session.cluster().list_snapshots().unwrap_or_default();
            let near = closest_match(name, known.iter().map(|snapshot| snapshot.name.as_str()));
            let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            format!("Unknown snapshot {name}!{near} 'list_snapshots' shows those there are")
        }
        ErrorKind::SnapshotExists => format!(
            "Snapshot {name} exists already! Choose another name, or: delete_snapshot '{name}'"
        ),
        _ => error.to_string(),
    })
}

fn take(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, name) = (arguments.table()?, arguments.name(1, "snapshot name")?);
    let mut options = arguments.options(2);
    let mut snapshot = SnapshotDescriptor::new(&name, table.clone());
    if options.flag("SKIP_FLUSH")? == Some(true) {
        snapshot = snapshot.kind(SnapshotType::SkipFlush);
    }
    // As in HBase, a negative number counts as 0.
    let positive =
        |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    snapshot = snapshot
        .ttl_seconds(positive(options.integer("TTL")?))
        .max_file_bytes(positive(options.integer("MAX_FILESIZE")?));
    options.finish()?;
    match session.cluster().create_snapshot(snapshot) {
        Err(error) if error.kind() == ErrorKind::SnapshotExists => {
            Err(explain(session, &name, &error))
        }
        done => done.with_hint(session, &table).map(|()| options_given(arguments)),
    }
}

/// Returns the options, as HBase's shell does, if there are any.
fn options_given(arguments: &Arguments) -> Value {
    match arguments.get(2) {
        Some(options @ Value::Hash(_)) => Value::Array(vec![options.clone()]),
        _ => Value::Nil,
    }
}

/// Returns the selected snapshots by name.
fn find(
    session: &Session<'_>,
    is_selected: impl Fn(&SnapshotDescriptor) -> bool,
) -> EvalResult<Vec<SnapshotDescriptor>> {
    let mut found = session.cluster().list_snapshots()?;
    found.retain(is_selected);
    Ok(found)
}

fn print_snapshots(session: &mut Session<'_>, snapshots: &[SnapshotDescriptor]) -> EvalResult<()> {
    session.header(&["SNAPSHOT", "TABLE + CREATION TIME"])?;
    for snapshot in snapshots {
        let time = print::zoned_time(session, snapshot.created_ms);
        session.row_pair(&snapshot.name, &format!("{} ({time})", snapshot.table))?;
    }
    Ok(())
}

fn list(
    session: &mut Session<'_>,
    is_selected: impl Fn(&SnapshotDescriptor) -> bool,
) -> EvalResult {
    let found = find(session, is_selected)?;
    print_snapshots(session, &found)?;
    session.footer(found.len() as u64)?;
    Ok(Value::Array(found.into_iter().map(|snapshot| Value::text(snapshot.name)).collect()))
}

/// Checks the options. Halite has no access control, so `RESTORE_ACL` has no effect.
fn check_options(arguments: &Arguments, at: usize) -> EvalResult<()> {
    if arguments.get(at).is_some_and(|value| !matches!(value, Value::Hash(_))) {
        return Err(Interrupt::problem("the options should be a hash: {RESTORE_ACL => true}"));
    }
    let mut options = arguments.options(at);
    options.flag("RESTORE_ACL")?;
    options.finish()
}

fn clone(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (name, table) = (arguments.name(0, "snapshot name")?, arguments.table_at(1)?);
    check_options(arguments, 2)?;
    match session.cluster().clone_snapshot(&name, &table) {
        Err(error) if error.kind() == ErrorKind::NoSuchNamespace => {
            Err(Interrupt::Problem(unknown_namespace(session, table.namespace())))
        }
        Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => {
            Err(explain(session, &name, &error))
        }
        done => done.with_hint(session, &table).map(|()| Value::Nil),
    }
}

fn restore(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let name = arguments.name(0, "snapshot name")?;
    check_options(arguments, 1)?;
    let done = session.cluster().restore_snapshot(&name);
    let Err(error) = done else { return Ok(Value::Nil) };
    let of = find(session, |snapshot| snapshot.name == name)?.pop();
    Err(match (error.kind(), of) {
        (ErrorKind::TableEnabled, Some(snapshot)) => Interrupt::Problem(format!(
            "Table {} should be disabled! Type: disable '{}'",
            snapshot.table, snapshot.table
        )),
        _ => explain(session, &name, &error),
    })
}

/// Prints the items to delete and asks for confirmation. Returns `true` if the answer is yes.
fn may_delete(
    session: &mut Session<'_>,
    found: &[SnapshotDescriptor],
    nothing: &str,
) -> EvalResult<bool> {
    print_snapshots(session, found)?;
    if found.is_empty() {
        session.print_line(nothing)?;
        return Ok(false);
    }
    session.confirm(&format!("\nDelete the above {} snapshots (y/n)?", found.len()))
}

fn delete_all(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let pattern = arguments.pattern(0)?;
    let found = find(session, |snapshot| pattern.is_match(&snapshot.name))?;
    let text = arguments.get(0).map(Value::to_text).unwrap_or_default();
    if !may_delete(session, &found, &format!("No snapshots matched the regex {text}"))? {
        return Ok(Value::Nil);
    }
    let mut failed = Vec::new();
    for snapshot in &found {
        if let Err(error) = session.cluster().delete_snapshot(&snapshot.name) {
            failed.push(format!("{}: {error}", snapshot.name));
        }
    }
    if found.len() > failed.len() {
        session.print_line(format!(
            "{} snapshots successfully deleted.",
            found.len() - failed.len()
        ))?;
    }
    if !failed.is_empty() {
        session.print_line(format!("\nFailed to delete the below {} snapshots.", failed.len()))?;
        failed.iter().try_for_each(|line| session.print_line(line))?;
    }
    Ok(Value::Nil)
}

fn delete_table_snapshots(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (tables, names) = (arguments.pattern(0)?, arguments.pattern(1)?);
    let found = find(session, |snapshot| {
        tables.is_match(&snapshot.table.to_string()) && names.is_match(&snapshot.name)
    })?;
    let text = |at: usize| arguments.get(at).map_or_else(|| ".*".to_owned(), Value::to_text);
    let nothing = format!(
        "No snapshots matched the table name regular expression {} and the snapshot name regular \
         expression {}",
        text(0),
        text(1)
    );
    if !may_delete(session, &found, &nothing)? {
        return Ok(Value::Nil);
    }
    for snapshot in &found {
        match session.cluster().delete_snapshot(&snapshot.name) {
            Ok(()) => {
                session
                    .print_line(format!("Successfully deleted snapshot: {}\n", snapshot.name))?;
            }
            Err(error) => session.print_line(format!(
                "Failed to delete snapshot: {}, due to below exception,\n{error}\n",
                snapshot.name
            ))?,
        }
    }
    Ok(Value::Nil)
}
