//! `alter`, `alter_async` and `alter_status`: families and attributes of an existing table.

use halite_types::{FamilyDescriptor, TableDescriptor, TableName};

use super::create::{family_attributes, table_attributes};
use super::error_hints::ErrorContext;
use super::options::Options;
use super::row_key;
use super::setting_names;
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;
use halite_types::suggest::{closest_match, did_you_mean};

const OPTIONS: &[&str] = &[
    "NAME",
    "METHOD",
    "VERSIONS",
    "TTL",
    "COMPRESSION",
    "BLOOMFILTER",
    "BLOCKSIZE",
    "BLOCKCACHE",
    "DATA_BLOCK_ENCODING",
    "IN_MEMORY",
    "MIN_VERSIONS",
    "KEEP_DELETED_CELLS",
    "MAX_FILESIZE",
    "MEMSTORE_FLUSHSIZE",
    "DURABILITY",
    "READONLY",
    "ROW_KEY",
    "ROW_KEY_STRICT",
    "METADATA",
    "CONFIGURATION",
];
const SYNOPSIS_TAIL: &str = "'table', 'family' or {NAME => 'family', ATTRIBUTE => value} or \
                             {TABLE_ATTRIBUTE => value} or 'delete' => 'family', ...";

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "alter",
        aliases: &[],
        group: Group::Ddl,
        count: (1, None),
        takes_table: true,
        options: OPTIONS,
        synopsis: "alter 'table', 'family' or {NAME => 'family', ATTRIBUTE => value} or \
                   {TABLE_ATTRIBUTE => value} or 'delete' => 'family', ...",
        about: "Changes a table, all of its changes at once. A family that exists is changed in \
                the attributes given, one that does not is added. 'delete' takes a family and its \
                data away. METHOD => 'table_att_unset' or 'table_conf_unset' takes attributes or \
                settings of the table away.",
        examples: &[
            "alter 't1', NAME => 'f1', VERSIONS => 5",
            "alter 't1', 'f2', {NAME => 'f3', TTL => 86400}",
            "alter 't1', 'delete' => 'f2'",
            "alter 't1', MAX_FILESIZE => '134217728'",
            "alter 't1', CONFIGURATION => {'hbase.hregion.max.filesize' => '134217728'}",
            "alter 't1', METHOD => 'table_att_unset', NAME => 'MAX_FILESIZE'",
            "alter 't1', METHOD => 'table_conf_unset', NAME => ['hbase.hregion.max.filesize']",
        ],
        run: |session, arguments| {
            if let Some(table) = change(session, arguments)? {
                session.print_line("Updating all regions with the new schema...")?;
                status(session, &table)?;
            }
            Ok(Value::Nil)
        },
    },
    ShellCommand {
        name: "alter_async",
        aliases: &[],
        group: Group::Ddl,
        count: (1, None),
        takes_table: true,
        options: OPTIONS,
        synopsis: "alter_async 'table', ... as alter takes it",
        about: "Changes a table as alter does and does not say how far the regions are; see \
                alter_status.",
        examples: &["alter_async 't1', NAME => 'f1', VERSIONS => 5"],
        run: |session, arguments| change(session, arguments).map(|_| Value::Nil),
    },
    ShellCommand {
        name: "alter_status",
        aliases: &[],
        group: Group::Ddl,
        count: (1, Some(1)),
        takes_table: true,
        options: &[],
        synopsis: "alter_status 'table'",
        about: "Says how many regions of a table have taken the last change.",
        examples: &["alter_status 't1'"],
        run: |session, arguments| {
            let table = arguments.table()?;
            status(session, &table).map(|()| Value::Nil)
        },
    },
];

fn status(session: &mut Session<'_>, table: &TableName) -> EvalResult<()> {
    let regions = session.cluster().regions(table).with_hint(session, table)?.len();
    session.print_line(format!("{regions}/{regions} regions updated."))?;
    session.print_line("Done.")
}

/// Applies the change. Returns the table if there was a change.
fn change(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult<Option<TableName>> {
    let table = arguments.table()?;
    let current = session.cluster().descriptor(&table).with_hint(session, &table)?;
    let changes = arguments.flattened(1);
    if changes.is_empty() {
        return Err(Interrupt::Problem(format!(
            "There should be at least one argument but the table name: alter {SYNOPSIS_TAIL}"
        )));
    }
    let mut descriptor = (*current).clone();
    for argument in changes {
        match argument {
            Value::Text(_) | Value::Symbol(_) => {
                let name = argument.to_bytes();
                if descriptor.find_family(&name).is_none() {
                    descriptor.set_family(FamilyDescriptor::new(name));
                }
            }
            Value::Hash(pairs) => change_by_hash(&mut descriptor, Options::new("alter", pairs))?,
            other => {
                return Err(Interrupt::Problem(format!(
                    "{} is {}; give a family as a string, or a hash",
                    other.inspect(),
                    other.kind()
                )));
            }
        }
    }
    descriptor.check()?;
    row_key::check(session, Some(&current), &mut descriptor)?;
    session.cluster().alter_table(descriptor.clone()).with_hint(session, &table)?;
    setting_names::warn(session, &descriptor, Some(&current))?;
    Ok(Some(table))
}

fn change_by_hash(descriptor: &mut TableDescriptor, mut options: Options) -> EvalResult<()> {
    if let Some(family) = options.bytes("delete")? {
        delete_family(descriptor, &family)?;
        return options.finish();
    }
    match options.text("METHOD")?.as_deref() {
        None => match options.bytes("NAME")? {
            Some(name) => {
                let family = descriptor
                    .find_family(&name)
                    .cloned()
                    .unwrap_or_else(|| FamilyDescriptor::new(name));
                descriptor.set_family(family_attributes(family, options)?);
                Ok(())
            }
            None => table_attributes(descriptor, options),
        },
        Some("table_att") => table_attributes(descriptor, options),
        Some("delete") => {
            let missing = || {
                Interrupt::problem(
                    "NAME parameter missing for delete method: METHOD => 'delete', NAME => \
                     'family'",
                )
            };
            delete_family(descriptor, &options.bytes("NAME")?.ok_or_else(missing)?)?;
            options.finish()
        }
        Some(method @ ("table_att_unset" | "table_conf_unset")) => {
            unset(descriptor, method == "table_att_unset", options)
        }
        Some(method) => {
            let known = ["delete", "table_att", "table_att_unset", "table_conf_unset"];
            let suggestion = did_you_mean(closest_match(method, known.into_iter()));
            Err(Interrupt::Problem(format!(
                "Unknown method: {method}{suggestion}; there are {}",
                known.join(", ")
            )))
        }
    }
}

fn delete_family(descriptor: &mut TableDescriptor, name: &[u8]) -> EvalResult<()> {
    if descriptor.remove_family(name).is_some() {
        return Ok(());
    }
    let known: Vec<_> = descriptor
        .families()
        .map(|family| String::from_utf8_lossy(family.name()).into_owned())
        .collect();
    Err(Interrupt::Problem(format!(
        "table {} has no family {}; it has {}",
        descriptor.name(),
        String::from_utf8_lossy(name),
        known.join(", ")
    )))
}

fn unset(
    descriptor: &mut TableDescriptor,
    attribute: bool,
    mut options: Options,
) -> EvalResult<()> {
    let (map, kind, method) = if attribute {
        (&mut descriptor.attributes, "attribute", "table_att_unset")
    } else {
        (&mut descriptor.configuration, "configuration", "table_conf_unset")
    };
    let Some(names) = options.list("NAME")? else {
        return Err(Interrupt::Problem(format!(
            "NAME parameter missing for {method} method: METHOD => '{method}', NAME => 'name'"
        )));
    };
    for name in names {
        let name = String::from_utf8_lossy(&name).into_owned();
        if map.remove(&name).is_none() {
            let known = map.keys().cloned().collect::<Vec<_>>();
            let known = if known.is_empty() {
                "none is set".to_owned()
            } else {
                format!("set are {}", known.join(", "))
            };
            return Err(Interrupt::Problem(format!("Could not find {kind}: {name}; {known}")));
        }
    }
    options.finish()
}
