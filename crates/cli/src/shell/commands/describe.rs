//! `describe`, `list`, `exists` and `show_filters`.

use halite_types::{FamilyDescriptor, TableDescriptor};

use super::error_hints::{ErrorContext, unknown_table};
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;
use halite_types::filter::FORMS;

/// Attributes that `describe` prints for every family, with their defaults, in HBase's order.
const PRINTED_FAMILY_ATTRIBUTES: [(&str, &str); 11] = [
    ("VERSIONS", "1"),
    ("KEEP_DELETED_CELLS", "FALSE"),
    ("DATA_BLOCK_ENCODING", "NONE"),
    ("TTL", "FOREVER"),
    ("MIN_VERSIONS", "0"),
    ("REPLICATION_SCOPE", "0"),
    ("BLOOMFILTER", "ROW"),
    ("IN_MEMORY", "false"),
    ("COMPRESSION", "NONE"),
    ("BLOCKCACHE", "true"),
    ("BLOCKSIZE", "65536"),
];

/// Table attributes that HBase prints separately, with the values it omits; all others are
/// METADATA.
const PRINTED_TABLE_ATTRIBUTES: [(&str, &str); 6] = [
    ("DURABILITY", "USE_DEFAULT"),
    ("MAX_FILESIZE", ""),
    ("MEMSTORE_FLUSHSIZE", ""),
    ("PRIORITY", "0"),
    ("READONLY", "false"),
    ("REGION_REPLICATION", "1"),
];

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "describe",
        aliases: &["desc"],
        group: Group::Ddl,
        count: (1, Some(1)),
        takes_table: true,
        options: &[],
        synopsis: "describe 'table'",
        about: "Shows a table's state, attributes and families.",
        examples: &["describe 't1'", "desc 'ns1:t1'"],
        run: describe,
    },
    ShellCommand {
        name: "list",
        aliases: &[],
        group: Group::Ddl,
        count: (0, Some(1)),
        takes_table: false,
        options: &[],
        synopsis: "list ['pattern']",
        about: "Lists the tables, or those whose whole name matches a regular expression.",
        examples: &["list", "list 'abc.*'", "list 'ns1:.*'"],
        run: list,
    },
    ShellCommand {
        name: "exists",
        aliases: &[],
        group: Group::Ddl,
        count: (1, Some(1)),
        takes_table: true,
        options: &[],
        synopsis: "exists 'table'",
        about: "Says whether a table exists.",
        examples: &["exists 't1'"],
        run: exists,
    },
    ShellCommand {
        name: "show_filters",
        aliases: &[],
        group: Group::Ddl,
        count: (0, Some(0)),
        takes_table: false,
        options: &[],
        synopsis: "show_filters",
        about: "Lists the filters allowed in FILTER => \"...\".",
        examples: &["show_filters"],
        run: |session, _| {
            FORMS
                .iter()
                .try_for_each(|(name, arguments)| session.row(&format!("{name}{arguments}")))
                .map(|()| Value::Nil)
        },
    },
];

fn describe(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let descriptor = session.cluster().descriptor(&table).with_hint(session, &table)?;
    let enabled = session.cluster().is_enabled(&table).with_hint(session, &table)?;
    session
        .header(&[&format!("Table {table} is {}", if enabled { "ENABLED" } else { "DISABLED" })])?;
    session.row(&format!("{table}{}", table_text(&descriptor)))?;
    session.header(&["COLUMN FAMILIES DESCRIPTION"])?;
    for family in descriptor.families() {
        session.row(&family_text(family))?;
        session.print_line("")?;
    }
    session.footer(descriptor.family_count() as u64)?;
    session.print_line("Quota is disabled")?;
    Ok(Value::Nil)
}

/// Formats `, {TABLE_ATTRIBUTES => {...}}`, or nothing if no attribute is set.
fn table_text(descriptor: &TableDescriptor) -> String {
    let shown = |name: &str| PRINTED_TABLE_ATTRIBUTES.iter().find(|(known, _)| *known == name);
    let mut parts: Vec<_> = descriptor
        .attributes
        .iter()
        .filter(|(name, value)| shown(name).is_some_and(|(_, default)| value != default))
        .map(pair)
        .collect();
    let metadata = descriptor.attributes.iter().filter(|(name, _)| shown(name).is_none());
    parts.extend(group("METADATA", metadata));
    parts.extend(group("CONFIGURATION", descriptor.configuration.iter()));
    if parts.is_empty() {
        String::new()
    } else {
        format!(", {{TABLE_ATTRIBUTES => {{{}}}}}", parts.join(", "))
    }
}

fn family_text(family: &FamilyDescriptor) -> String {
    let mut parts =
        vec![format!("NAME => '{}'", halite_types::key::to_string_binary(family.name()))];
    for (name, default) in PRINTED_FAMILY_ATTRIBUTES {
        let value = family.attributes.get(name).map_or(default, String::as_str);
        let value = match name {
            "TTL" => ttl_text(value),
            "IN_MEMORY" | "BLOCKCACHE" => value.to_lowercase(),
            _ => value.to_owned(),
        };
        parts.push(format!("{name} => '{value}'"));
    }
    parts.extend(group(
        "METADATA",
        family
            .attributes
            .iter()
            .filter(|(name, _)| PRINTED_FAMILY_ATTRIBUTES.iter().all(|(known, _)| known != name)),
    ));
    parts.extend(group("CONFIGURATION", family.configuration.iter()));
    format!("{{{}}}", parts.join(", "))
}

fn pair((name, value): (&String, &String)) -> String {
    format!("{name} => '{value}'")
}

fn group<'a>(title: &str, pairs: impl Iterator<Item = (&'a String, &'a String)>) -> Option<String> {
    let pairs: Vec<_> = pairs.map(|(name, value)| format!("'{name}' => '{value}'")).collect();
    (!pairs.is_empty()).then(|| format!("{title} => {{{}}}", pairs.join(", ")))
}

/// Formats seconds as HBase does: `FOREVER`, `2 SECONDS`, `93600 SECONDS (1 DAY 2 HOURS)`.
fn ttl_text(text: &str) -> String {
    let Ok(seconds) = text.trim().parse::<i64>() else { return text.to_owned() };
    if seconds >= i64::from(i32::MAX) {
        return "FOREVER".to_owned();
    }
    if seconds < 60 {
        return format!("{seconds} SECONDS");
    }
    let units = [
        (seconds / 86_400, "DAY"),
        (seconds / 3600 % 24, "HOUR"),
        (seconds / 60 % 60, "MINUTE"),
        (seconds % 60, "SECOND"),
    ];
    let parts: Vec<_> = units
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}{}", if *count == 1 { "" } else { "S" }))
        .collect();
    format!("{seconds} SECONDS ({})", parts.join(" "))
}

/// Returns the names of the matching tables, those of the default namespace first, in HBase's
/// order.
pub(super) fn matching(
    session: &Session<'_>,
    arguments: &Arguments,
) -> EvalResult<Vec<halite_types::TableName>> {
    let pattern = arguments.pattern(0)?;
    let tables = session.cluster().list_tables()?;
    let mut names: Vec<_> = tables
        .iter()
        .map(|table| table.name().clone())
        .filter(|name| pattern.is_match(&name.to_string()))
        .collect();
    names.sort();
    Ok(names)
}

fn list(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    session.header(&["TABLE"])?;
    let names = matching(session, arguments)?;
    for name in &names {
        session.row(&name.to_string())?;
    }
    session.footer(names.len() as u64)?;
    Ok(Value::Array(names.iter().map(|name| Value::text(name.to_string())).collect()))
}

fn exists(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let exists = table_exists(session, &table)?;
    session
        .row(&format!("Table {table} {}", if exists { "does exist" } else { "does not exist" }))?;
    Ok(Value::Bool(exists))
}

pub(crate) fn table_exists(
    session: &Session<'_>,
    table: &halite_types::TableName,
) -> EvalResult<bool> {
    match session.cluster().descriptor(table) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == halite_types::ErrorKind::NoSuchTable => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Fails unless the table exists.
pub(crate) fn must_exist(session: &Session<'_>, table: &halite_types::TableName) -> EvalResult<()> {
    if table_exists(session, table)? {
        Ok(())
    } else {
        Err(Interrupt::Problem(unknown_table(session, table)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_prints_with_time_units() {
        assert_eq!(ttl_text("2147483647"), "FOREVER");
        assert_eq!(ttl_text("2"), "2 SECONDS");
        assert_eq!(ttl_text("100"), "100 SECONDS (1 MINUTE 40 SECONDS)");
        assert_eq!(ttl_text("90061"), "90061 SECONDS (1 DAY 1 HOUR 1 MINUTE 1 SECOND)");
    }
}
