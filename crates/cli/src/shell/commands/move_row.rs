//! `move_row`: moves a row to another key.

use super::error_hints::ErrorContext;
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Session};
use crate::shell::value::Value;

pub(super) const COMMANDS: &[ShellCommand] = &[ShellCommand {
    name: "move_row",
    aliases: &[],
    group: Group::Dml,
    count: (3, Some(4)),
    takes_table: true,
    options: &["OVERWRITE"],
    synopsis: "move_row 'table', 'row', 'new row' [, {OVERWRITE => true}]",
    about: "Moves a row to another key, with all families and all versions at their times. The row \
            is copied, the copy is read back, and then the old row is deleted: a failure between \
            leaves at least one copy, and the same command again finishes the move. A row that is \
            at the new key already is replaced only with OVERWRITE. HBase's shell has no such \
            command.",
    examples: &["move_row 't1', 'r1', 'r2'", "move_row 't1', 'r1', 'r2', {OVERWRITE => true}"],
    run: move_row,
}];

fn move_row(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, from, to) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2));
    let mut options = arguments.options(3);
    let overwrite = options.flag("OVERWRITE")?.unwrap_or(false);
    options.finish()?;
    let moved = session
        .table(&table)
        .and_then(|table| table.move_row(from, to, overwrite))
        .with_hint(session, &table)?;
    session.print_line(format!("{} cell(s) moved", moved.cells))?;
    if moved.remaining > 0 {
        session.print_line(format!(
            "{} cell(s) were written under the old key meanwhile, and are there",
            moved.remaining
        ))?;
    }
    Ok(Value::Nil)
}
