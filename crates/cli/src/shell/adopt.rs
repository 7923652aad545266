//! A row key declared for rows that exist: what a sample of the rows says of it, and when it takes the place of another one.

use halite::rowkey::fit::FIT_SHARE_MIN;
use halite::rowkey::{KeyFit, KeySchema};
use halite_types::key::print_bytes;
use halite_types::{Bytes, TableDescriptor, TableName, block_on};

use super::session::{Outcome, Session, Stop};
use super::words::About;
use crate::key::sample_of;

/// Rows that are sampled, over all regions.
const SAMPLED_ROWS: usize = 10_000;

/// A sample of a table's rows.
struct Sample {
    keys: Vec<Bytes>,
    regions: usize,
}

impl Sample {
    /// Keys from many places of each region.
    fn of(session: &Session<'_>, table: &TableName) -> Outcome<Self> {
        let (sampled, regions) = sample_of(&session.table(table), SAMPLED_ROWS).about(session, table)?;
        Ok(Self { keys: sampled.keys, regions: regions.len() })
    }

    /// How many of the rows a key fits, in words.
    fn count(&self, fit: &KeyFit) -> String {
        format!("{} of {} sampled row(s) of {} region(s), {:.1} %", fit.fitting, fit.keys, self.regions, fit.share() * 100.0)
    }
}

/// Declares the key of rows that a table has.
pub(super) fn adopt(session: &mut Session<'_>, table: &TableName, key: &KeySchema, forced: bool) -> Outcome<()> {
    let current = block_on(session.table(table).descriptor()).about(session, table)?;
    let sample = Sample::of(session, table)?;
    let fit = KeyFit::of(key, &sample.keys);
    if !forced {
        must_be_right(session, &current, key, &sample, &fit)?;
    }
    let redeclared = key.adopted_in(&current)?;
    session.ask(|admin| admin.alter_table(redeclared.descriptor)).about(session, table)?;
    session.say(format!("Table {table} has the {key}"))?;
    for dropped in &redeclared.dropped {
        session.say(format!("no longer declared: {dropped}"))?;
    }
    if fit.keys == 0 {
        return session.say("the table has no rows to compare it with");
    }
    session.say(format!("it fits {}", sample.count(&fit)))?;
    examples(&fit).iter().try_for_each(|line| session.say(line))
}

/// Checks a key that `alter` sets on a table with rows, as [`adopt`] does, and renames what the rest of the declaration calls its fields.
pub(in crate::shell) fn set_by_alter(session: &mut Session<'_>, before: &TableDescriptor, key: &KeySchema) -> Outcome<TableDescriptor> {
    let sample = Sample::of(session, before.name())?;
    let fit = KeyFit::of(key, &sample.keys);
    must_be_right(session, before, key, &sample, &fit)?;
    let redeclared = key.adopted_in(before)?;
    for dropped in &redeclared.dropped {
        session.say(format!("no longer declared: {dropped}"))?;
    }
    Ok(redeclared.descriptor)
}

/// Asks, or refuses in a script, where the rows speak against a key.
fn must_be_right(session: &mut Session<'_>, current: &TableDescriptor, key: &KeySchema, sample: &Sample, fit: &KeyFit) -> Outcome<()> {
    let Some(objection) = objection(current, key, sample, fit) else { return Ok(()) };
    let table = current.name();
    if session.interactive {
        session.say(&objection)?;
        if session.confirm("Declare it nevertheless (y/n)?")? {
            return Ok(());
        }
        return Err(Stop::Problem(format!("table {table} keeps what it declares")));
    }
    Err(Stop::Problem(format!(
        "table {table}: {objection}\nNothing is changed. To declare it nevertheless: ALTER TABLE {table} ADOPT ROW KEY .. FORCE;"
    )))
}

/// What the rows say against the key.
fn objection(current: &TableDescriptor, key: &KeySchema, sample: &Sample, fit: &KeyFit) -> Option<String> {
    let before = KeySchema::of_table(current).and_then(Result::ok);
    // Other names for the same bytes: the rows say no more than they did before.
    if before.as_ref().is_some_and(|before| before.check_change(key).is_ok() && KeyFit::of(before, &sample.keys).fitting <= fit.fitting) {
        return None;
    }
    if !fit.is_enough() {
        let lines = [format!("the key fits {}; at least {:.0} % must fit", sample.count(fit), FIT_SHARE_MIN * 100.0)];
        return Some(lines.into_iter().chain(examples(fit)).collect::<Vec<_>>().join("\n"));
    }
    // Without rows, or with rows that the old key does not fit, nothing can be lost by another one.
    let before = before.filter(|_| !sample.keys.is_empty())?;
    let change = before.check_change(key).err()?;
    let old = KeyFit::of(&before, &sample.keys);
    if !old.is_enough() {
        return None;
    }
    let mut text = format!("it declares {before} already, which fits {}, and the new key fits {}", sample.count(&old), sample.count(fit));
    if let Some(row) = sample.keys.iter().find(|row| before.check_key(row).is_ok() && key.check_key(row).is_ok()) {
        let read = |key: &KeySchema| key.decode(row).map_or_else(|_| "what a dictionary says".to_owned(), |decoded| key.show(&decoded));
        text = format!(
            "{text}, so the rows do not tell which is right:\n  row {}\n  declared: {}\n  new: {}",
            print_bytes(row),
            read(&before),
            read(key)
        );
    }
    Some(format!("{text}\n{change}"))
}

fn examples(fit: &KeyFit) -> Vec<String> {
    fit.examples.iter().map(|(row, error)| format!("  {}: {error}", print_bytes(row))).collect()
}
