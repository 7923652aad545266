//! `flush`, `compact`, `major_compact` and `processlist`.

use halite_types::{Bytes, CompactionKind, CompactionState, TableName};

use super::error_hints::ErrorContext;
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "flush",
        aliases: &[],
        group: Group::Tools,
        count: (1, Some(2)),
        takes_table: true,
        options: &[],
        synopsis: "flush 'table' [, 'family']",
        about: "Writes what a table holds in memory to store files: of all families, or of one.",
        examples: &["flush 't1'", "flush 't1', 'f1'"],
        run: flush,
    },
    ShellCommand {
        name: "compact",
        aliases: &[],
        group: Group::Tools,
        count: (1, Some(3)),
        takes_table: true,
        options: &[],
        synopsis: "compact 'table' [, 'family']",
        about: "Merges the store files that are worth merging and returns when that is done.",
        examples: &["compact 't1'", "compact 't1', 'f'"],
        run: |session, arguments| compact(session, arguments, CompactionKind::Minor),
    },
    ShellCommand {
        name: "major_compact",
        aliases: &[],
        group: Group::Tools,
        count: (1, Some(3)),
        takes_table: true,
        options: &[],
        synopsis: "major_compact 'table' [, 'family']",
        about: "Rewrites all store files of each family into one, without what was deleted or has \
                expired, and returns when that is done.",
        examples: &["major_compact 't1'", "major_compact 't1', 'f'"],
        run: |session, arguments| compact(session, arguments, CompactionKind::Major),
    },
    ShellCommand {
        name: "processlist",
        aliases: &[],
        group: Group::Tools,
        count: (0, Some(2)),
        takes_table: false,
        options: &[],
        synopsis: "processlist ['all' or 'general' or 'handler' or 'rpc' or 'operation']",
        about: "Shows the compactions that run. Calls are over before they could be shown.",
        examples: &["processlist", "processlist 'all'"],
        run: process_list,
    },
];

/// Returns the family in the second argument, which must belong to the table.
fn family(
    session: &Session<'_>,
    arguments: &Arguments,
    table: &TableName,
) -> EvalResult<Option<Bytes>> {
    if arguments.get(1).is_none() {
        return Ok(None);
    }
    let name = arguments.bytes(1);
    let descriptor = session.cluster().descriptor(table).with_hint(session, table)?;
    if descriptor.find_family(&name).is_some() {
        return Ok(Some(name));
    }
    let known: Vec<_> = descriptor
        .families()
        .map(|family| String::from_utf8_lossy(family.name()).into_owned())
        .collect();
    Err(Interrupt::Problem(format!(
        "table {table} has no family {}; it has {}",
        String::from_utf8_lossy(&name),
        known.join(", ")
    )))
}

fn process_list(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let filter = arguments
        .get(0)
        .map(Value::to_text)
        .filter(|name| ["all", "handler", "rpc", "operation"].contains(&&name[..]));
    let filter = filter.unwrap_or_else(|| "general".to_owned());
    let mut regions = session.cluster().cluster_status()?.regions;
    regions.retain(|region| {
        region.compaction_state != CompactionState::None && matches!(&filter[..], "all" | "general")
    });
    let now = jiff::Zoned::now()
        .with_time_zone(session.zone.clone())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string();
    session.print_line(format!("{} tasks as of: {now}", regions.len()))?;
    if regions.is_empty() {
        session.print_line(format!("No {filter} tasks currently running."))?;
    }
    for region in regions {
        session.print_line(format!("Compacting region {}", region.region.display_name()))?;
    }
    Ok(Value::Nil)
}

fn flush(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let flushed = match family(session, arguments, &table)? {
        Some(family) => session.cluster().flush_family(&table, family),
        None => session.cluster().flush(&table),
    };
    flushed.with_hint(session, &table)?;
    Ok(Value::Nil)
}

fn compact(session: &mut Session<'_>, arguments: &Arguments, kind: CompactionKind) -> EvalResult {
    let table = arguments.table()?;
    if let Some(name) = arguments.get(2).map(Value::to_text).filter(|name| name != "NORMAL") {
        return Err(Interrupt::Problem(format!(
            "the compaction type is {name}; only NORMAL is there"
        )));
    }
    let family = family(session, arguments, &table)?;
    session.cluster().compact(&table, family, kind).with_hint(session, &table)?;
    Ok(Value::Nil)
}
