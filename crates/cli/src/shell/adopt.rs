//! Declaration of a row key for existing rows: checks it against a sample of the rows, and
//! determines if it may replace an existing key.

use halite::rowkey::KeySchema;
use halite_rowkey_tools::KeyFit;
use halite_rowkey_tools::fit::MIN_FIT_SHARE;
use halite_types::key::to_string_binary;
use halite_types::{Bytes, TableDescriptor, TableName};

use super::commands::ErrorContext;
use super::session::{EvalResult, Interrupt, Session};
use crate::key::sample_table;

/// Rows sampled, summed over all regions.
const SAMPLED_ROWS: usize = 10_000;

/// Sample of a table's rows.
struct Sample {
    keys: Vec<Bytes>,
    regions: usize,
}

impl Sample {
    /// Samples keys at many positions of each region.
    fn from_table(session: &Session<'_>, table: &TableName) -> EvalResult<Self> {
        let (sampled, regions) = sample_table(&session.async_cluster().table(table), SAMPLED_ROWS)
            .with_hint(session, table)?;
        Ok(Self { keys: sampled.keys, regions: regions.len() })
    }

    /// Formats the number of rows that a key fits.
    fn count(&self, fit: &KeyFit) -> String {
        format!(
            "{} of {} sampled row(s) of {} region(s), {:.1} %",
            fit.fitting,
            fit.keys,
            self.regions,
            fit.share() * 100.0
        )
    }
}

/// Declares a key for a table with existing rows.
pub(super) fn adopt(
    session: &mut Session<'_>,
    table: &TableName,
    key: &KeySchema,
    forced: bool,
) -> EvalResult<()> {
    let current = session.cluster().descriptor(table).with_hint(session, table)?;
    let sample = Sample::from_table(session, table)?;
    let fit = KeyFit::from_sample(key, &sample.keys);
    if !forced {
        must_be_right(session, &current, key, &sample, &fit)?;
    }
    let redeclared = key.adopted_in(&current)?;
    session.cluster().alter_table(redeclared.descriptor).with_hint(session, table)?;
    session.print_line(format!("Table {table} has the {key}"))?;
    for dropped in &redeclared.dropped {
        session.print_line(format!("no longer declared: {dropped}"))?;
    }
    if fit.keys == 0 {
        return session.print_line("the table has no rows to compare it with");
    }
    session.print_line(format!("it fits {}", sample.count(&fit)))?;
    examples(&fit).iter().try_for_each(|line| session.print_line(line))
}

/// Checks a key that `alter` sets on a table with rows, as [`adopt`] does, and renames the fields
/// in the rest of the declaration.
pub(in crate::shell) fn set_by_alter(
    session: &mut Session<'_>,
    before: &TableDescriptor,
    key: &KeySchema,
) -> EvalResult<TableDescriptor> {
    let sample = Sample::from_table(session, before.name())?;
    let fit = KeyFit::from_sample(key, &sample.keys);
    must_be_right(session, before, key, &sample, &fit)?;
    let redeclared = key.adopted_in(before)?;
    for dropped in &redeclared.dropped {
        session.print_line(format!("no longer declared: {dropped}"))?;
    }
    Ok(redeclared.descriptor)
}

/// If the rows contradict a key, asks for confirmation, or fails in a script.
fn must_be_right(
    session: &mut Session<'_>,
    current: &TableDescriptor,
    key: &KeySchema,
    sample: &Sample,
    fit: &KeyFit,
) -> EvalResult<()> {
    let Some(objection) = objection(current, key, sample, fit) else { return Ok(()) };
    let table = current.name();
    if session.interactive {
        session.print_line(&objection)?;
        if session.confirm("Declare it nevertheless (y/n)?")? {
            return Ok(());
        }
        return Err(Interrupt::Problem(format!("table {table} keeps what it declares")));
    }
    Err(Interrupt::Problem(format!(
        "table {table}: {objection}\nNothing is changed. To declare it nevertheless: ALTER TABLE \
         {table} ADOPT ROW KEY .. FORCE;"
    )))
}

/// Returns the objection of the rows to the key, if any.
fn objection(
    current: &TableDescriptor,
    key: &KeySchema,
    sample: &Sample,
    fit: &KeyFit,
) -> Option<String> {
    let before = KeySchema::from_descriptor(current).and_then(Result::ok);
    // The key has other names for the same bytes: the rows fit it no worse than the previous key.
    if before.as_ref().is_some_and(|before| {
        before.check_change(key).is_ok()
            && KeyFit::from_sample(before, &sample.keys).fitting <= fit.fitting
    }) {
        return None;
    }
    if !fit.is_enough() {
        let lines = [format!(
            "the key fits {}; at least {:.0} % must fit",
            sample.count(fit),
            MIN_FIT_SHARE * 100.0
        )];
        return Some(lines.into_iter().chain(examples(fit)).collect::<Vec<_>>().join("\n"));
    }
    // Without rows, or with rows that the old key does not fit, a new key loses nothing.
    let before = before.filter(|_| !sample.keys.is_empty())?;
    let change = before.check_change(key).err()?;
    let old = KeyFit::from_sample(&before, &sample.keys);
    if !old.is_enough() {
        return None;
    }
    let mut text = format!(
        "it declares {before} already, which fits {}, and the new key fits {}",
        sample.count(&old),
        sample.count(fit)
    );
    if let Some(row) =
        sample.keys.iter().find(|row| before.check_key(row).is_ok() && key.check_key(row).is_ok())
    {
        let read = |key: &KeySchema| {
            key.decode(row).map_or_else(
                |_| "what a dictionary says".to_owned(),
                |decoded| key.format_values(&decoded),
            )
        };
        text = format!(
            "{text}, so the rows do not tell which is right:\n  row {}\n  declared: {}\n  new: {}",
            to_string_binary(row),
            read(&before),
            read(key)
        );
    }
    Some(format!("{text}\n{change}"))
}

fn examples(fit: &KeyFit) -> Vec<String> {
    fit.examples
        .iter()
        .map(|(row, error)| format!("  {}: {error}", to_string_binary(row)))
        .collect()
}
