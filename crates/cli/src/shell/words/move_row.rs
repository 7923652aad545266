//! `move_row`: a row under another key.

use halite_types::block_on;

use super::explain::About;
use super::{Arguments, Group, Word};
use crate::shell::session::{Outcome, Session};
use crate::shell::value::Value;

pub(super) const WORDS: &[Word] = &[Word {
    name: "move_row",
    aliases: &[],
    group: Group::Dml,
    count: (3, Some(4)),
    takes_table: true,
    options: &["OVERWRITE"],
    synopsis: "move_row 'table', 'row', 'new row' [, {OVERWRITE => true}]",
    about: "Moves a row to another key, with all families and all versions at their times. The row is copied, the copy is read back, and then \
            the old row is deleted: a failure between leaves at least one copy, and the same command again finishes the move. A row that is at the \
            new key already is replaced only with OVERWRITE. HBase's shell has no such command.",
    examples: &["move_row 't1', 'r1', 'r2'", "move_row 't1', 'r1', 'r2', {OVERWRITE => true}"],
    run: move_row,
}];

fn move_row(session: &mut Session<'_>, arguments: &Arguments) -> Outcome {
    let (table, from, to) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2));
    let mut options = arguments.options(3);
    let overwrite = options.flag("OVERWRITE")?.unwrap_or(false);
    options.finish()?;
    let handle = session.table(&table);
    let moved = block_on(halite::move_row(&*handle, from, to, overwrite)).about(session, &table)?;
    session.say(format!("{} cell(s) moved", moved.cells))?;
    if moved.left_behind > 0 {
        session.say(format!("{} cell(s) were written under the old key meanwhile, and are there", moved.left_behind))?;
    }
    Ok(Value::Nil)
}
