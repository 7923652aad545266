//! `create`, `clone_table_schema` and `get_table`, and the parser of family and table attributes,
//! which `alter` shares.

use std::collections::BTreeMap;

use halite_types::{Bytes, FamilyDescriptor, TableDescriptor, TableName};

use super::error_hints::ErrorContext;
use super::options::Options;
use super::{Arguments, Group, ShellCommand};
use super::{row_key, setting_names, splits};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;
use halite_types::suggest::{closest_match, did_you_mean};

/// Family attributes of HBase; those that have no effect in the store are stored unchanged.
pub(crate) const FAMILY_ATTRIBUTES: &[&str] = &[
    "VERSIONS",
    "MIN_VERSIONS",
    "TTL",
    "KEEP_DELETED_CELLS",
    "BLOCKSIZE",
    "BLOCKCACHE",
    "IN_MEMORY",
    "BLOOMFILTER",
    "COMPRESSION",
    "DATA_BLOCK_ENCODING",
    "INDEX_BLOCK_ENCODING",
    "REPLICATION_SCOPE",
    "CACHE_DATA_ON_WRITE",
    "CACHE_INDEX_ON_WRITE",
    "CACHE_BLOOMS_ON_WRITE",
    "EVICT_BLOCKS_ON_CLOSE",
    "PREFETCH_BLOCKS_ON_OPEN",
    "COMPRESS_TAGS",
    "COMPRESSION_COMPACT",
    "COMPRESSION_COMPACT_MAJOR",
    "COMPRESSION_COMPACT_MINOR",
    "IN_MEMORY_COMPACTION",
    "STORAGE_POLICY",
    "NEW_VERSION_BEHAVIOR",
    "MERGE",
    "DFS_REPLICATION",
    "IS_MOB",
    "MOB_THRESHOLD",
    "MOB_COMPACT_PARTITION_POLICY",
    "ENCRYPTION",
    "ENCRYPTION_KEY",
];

/// Table attributes of HBase.
pub(crate) const TABLE_ATTRIBUTES: &[&str] = &[
    "MAX_FILESIZE",
    "MEMSTORE_FLUSHSIZE",
    "DURABILITY",
    "READONLY",
    "COMPACTION_ENABLED",
    "SPLIT_ENABLED",
    "MERGE_ENABLED",
    "NORMALIZATION_ENABLED",
    "NORMALIZER_TARGET_REGION_COUNT",
    "NORMALIZER_TARGET_REGION_SIZE",
    "SPLIT_POLICY",
    "FLUSH_POLICY",
    "PRIORITY",
    "REGION_REPLICATION",
    "REGION_MEMSTORE_REPLICATION",
    "OWNER",
    "ROW_KEY",
    "ROW_KEY_STRICT",
    "ROW_MARKER",
    "ROW_SCHEMA",
    "ROW_STATS",
];

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "create",
        aliases: &[],
        group: Group::Ddl,
        count: (1, None),
        takes_table: false,
        options: &[
            "NAME",
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
            "SPLITS",
            "SPLITS_FILE",
            "NUMREGIONS",
            "SPLITALGO",
            "MAX_FILESIZE",
            "MEMSTORE_FLUSHSIZE",
            "DURABILITY",
            "READONLY",
            "ROW_KEY",
            "ROW_KEY_STRICT",
            "METADATA",
            "CONFIGURATION",
        ],
        synopsis: "create 'table', 'family' or {NAME => 'family', ATTRIBUTE => value, ...}, ... [, \
                   TABLE_ATTRIBUTE => value, SPLITS => [...]]",
        about: "Makes a table of one or more column families and gives back a reference to it. A \
                table in a namespace is named 'namespace:table'. TTL is in seconds, or text such \
                as '1 DAY 2 HOURS'. SPLITS gives the keys at which regions begin, with \\xNN for \
                any byte; SPLITS_FILE reads them from a file, one a line; NUMREGIONS with \
                SPLITALGO (HexStringSplit, DecimalStringSplit, UniformSplit) spreads them evenly. \
                ROW_KEY declares what the row keys are made of, and ROW_KEY_STRICT => true refuses \
                rows of other keys; CREATE TABLE says the same and more.",
        examples: &[
            "create 't1', 'f1', 'f2'",
            "create 't1', {NAME => 'f1', VERSIONS => 5, TTL => 86400, COMPRESSION => 'GZ'}, 'f2'",
            "create 'ns1:t1', 'f1', SPLITS => ['10', '20', '30', '40']",
            "create 't1', 'f1', {NUMREGIONS => 15, SPLITALGO => 'HexStringSplit'}",
            "create 't1', 'f1', MAX_FILESIZE => '134217728', DURABILITY => 'FSYNC_WAL', METADATA \
             => {'owner' => 'me'}",
            "create 't1', 'f1', ROW_KEY => '(SALT(16 BY device), device STRING, ts TIMESTAMP \
             DESC)'",
            "t1 = create 't1', 'f1'",
        ],
        run: create,
    },
    ShellCommand {
        name: "clone_table_schema",
        aliases: &[],
        group: Group::Ddl,
        count: (2, Some(3)),
        takes_table: false,
        options: &[],
        synopsis: "clone_table_schema 'table', 'new table' [, true or false: keep the split keys]",
        about: "Makes an empty table with the families, attributes and, unless told otherwise, the \
                split keys of another.",
        examples: &["clone_table_schema 't1', 't2'", "clone_table_schema 't1', 't2', false"],
        run: clone_schema,
    },
    ShellCommand {
        name: "get_table",
        aliases: &[],
        group: Group::Ddl,
        count: (1, Some(1)),
        takes_table: false,
        options: &[],
        synopsis: "get_table 'table'",
        about: "Gives a reference to a table: the commands that take a table are its methods.",
        examples: &["t = get_table 't1'", "t.put 'r1', 'f:a', 'value'", "t.scan"],
        run: |_, arguments| Ok(Value::Table(arguments.table()?)),
    },
];

fn create(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let mut descriptor = TableDescriptor::new(table.clone());
    let mut split_keys = Vec::new();
    for argument in arguments.flattened(1) {
        match argument {
            Value::Text(_) | Value::Symbol(_) => {
                add_family(session, &mut descriptor, FamilyDescriptor::new(argument.to_bytes()))?;
            }
            Value::Hash(pairs) => {
                let mut options = Options::new("create", pairs);
                if let Some(name) = options.bytes("NAME")? {
                    let family = family_attributes(FamilyDescriptor::new(name), options)?;
                    add_family(session, &mut descriptor, family)?;
                } else {
                    if let Some(keys) = splits::take(&mut options)? {
                        split_keys = keys;
                    }
                    table_attributes(&mut descriptor, options)?;
                }
            }
            other => {
                return Err(Interrupt::Problem(format!(
                    "{} is {}; give a family as a string or a hash with NAME",
                    other.inspect(),
                    other.kind()
                )));
            }
        }
    }
    if descriptor.family_count() == 0 {
        return Err(Interrupt::Problem(format!(
            "Table must have at least one column family: create '{table}', 'f'"
        )));
    }
    descriptor.check()?;
    let declared = row_key::check(session, None, &mut descriptor)?;
    let keys = split_keys.clone();
    session.create_table(descriptor.clone(), &keys).with_hint(session, &table)?;
    session.print_line(format!("Created table {table}"))?;
    setting_names::warn(session, &descriptor, None)?;
    if let Some(declared) = declared {
        row_key::warn(session, &declared, &split_keys)?;
    }
    Ok(Value::Table(table))
}

fn add_family(
    session: &mut Session<'_>,
    descriptor: &mut TableDescriptor,
    family: FamilyDescriptor,
) -> EvalResult<()> {
    if descriptor.find_family(family.name()).is_some() {
        let name = String::from_utf8_lossy(family.name()).into_owned();
        session
            .print_line(format!("Family '{name}' already exists, the old one will be replaced"))?;
    }
    descriptor.set_family(family);
    Ok(())
}

/// Sets the attributes in `options` on a family.
///
/// # Errors
/// Returns an error for an unknown attribute. HBase drops it with a note that is easily missed.
pub(super) fn family_attributes(
    mut family: FamilyDescriptor,
    mut options: Options,
) -> EvalResult<FamilyDescriptor> {
    let at = |text: String, family: &FamilyDescriptor| {
        Interrupt::Problem(format!("family {}: {text}", String::from_utf8_lossy(family.name())))
    };
    for (name, value) in options.pairs("METADATA")? {
        set_or_unset(&mut family.attributes, name, value);
    }
    for (name, value) in options.pairs("CONFIGURATION")? {
        set_or_unset(&mut family.configuration, name, value);
    }
    options.ignore(&["METHOD"]);
    for (name, value) in options.rest() {
        if !FAMILY_ATTRIBUTES.contains(&name.as_str()) {
            let suggestion = did_you_mean(closest_match(&name, FAMILY_ATTRIBUTES.iter().copied()));
            return Err(at(
                format!(
                    "there is no attribute {name}{suggestion}; your own go into METADATA => \
                     {{'{name}' => '{value}'}}"
                ),
                &family,
            ));
        }
        let value = match name.as_str() {
            "TTL" => ttl_seconds(&value).ok_or_else(|| {
                at(
                    format!(
                        "TTL is '{value}'; give seconds, 'FOREVER', or text such as '1 DAY 2 HOURS'"
                    ),
                    &family,
                )
            })?,
            "BLOOMFILTER"
            | "COMPRESSION"
            | "DATA_BLOCK_ENCODING"
            | "KEEP_DELETED_CELLS"
            | "MERGE"
            | "COMPRESSION_COMPACT"
            | "COMPRESSION_COMPACT_MAJOR"
            | "COMPRESSION_COMPACT_MINOR" => value.to_uppercase(),
            _ => value,
        };
        family = family.set(name, value);
    }
    family.check()?;
    Ok(family)
}

/// Sets the attributes in `options` on a table.
pub(super) fn table_attributes(
    descriptor: &mut TableDescriptor,
    mut options: Options,
) -> EvalResult<()> {
    if let Some(method) = options.text("METHOD")?.filter(|method| method != "table_att") {
        return Err(Interrupt::Problem(format!(
            "Unknown method: {method}; the hash of a table takes none, that of 'alter' takes \
             delete, table_att_unset and table_conf_unset"
        )));
    }
    for (name, value) in options.pairs("METADATA")? {
        set_or_unset(&mut descriptor.attributes, name, value);
    }
    for (name, value) in options.pairs("CONFIGURATION")? {
        set_or_unset(&mut descriptor.configuration, name, value);
    }
    for (name, value) in options.rest() {
        if !TABLE_ATTRIBUTES.contains(&name.as_str()) && !is_coprocessor(&name) {
            let hint = if FAMILY_ATTRIBUTES.contains(&name.as_str()) {
                format!("; it belongs to a family: {{NAME => 'family', {name} => '{value}'}}")
            } else {
                let known = TABLE_ATTRIBUTES.iter().copied().chain([
                    "SPLITS",
                    "SPLITS_FILE",
                    "NUMREGIONS",
                    "SPLITALGO",
                    "METADATA",
                    "CONFIGURATION",
                ]);
                format!(
                    "{}; your own go into METADATA => {{'{name}' => '{value}'}}",
                    did_you_mean(closest_match(&name, known))
                )
            };
            return Err(Interrupt::Problem(format!(
                "table {}: there is no attribute {name}{hint}",
                descriptor.name()
            )));
        }
        descriptor.attributes.insert(name, value);
    }
    Ok(())
}

fn is_coprocessor(name: &str) -> bool {
    name.to_lowercase().starts_with("coprocessor")
}

fn set_or_unset(map: &mut BTreeMap<String, String>, name: String, value: Option<String>) {
    match value {
        Some(value) => drop(map.insert(name, value)),
        None => drop(map.remove(&name)),
    }
}

/// Converts a TTL to seconds as text, from seconds, `FOREVER`, or
/// `1 DAY 2 HOURS 3 MINUTES 4 SECONDS`.
fn ttl_seconds(text: &str) -> Option<String> {
    let upper = text.trim().to_uppercase();
    if upper == "FOREVER" {
        return Some(i32::MAX.to_string());
    }
    if let Ok(seconds) = upper.parse::<i64>() {
        return Some(seconds.to_string());
    }
    let mut words = upper.split_whitespace();
    let mut total = 0i64;
    while let Some(number) = words.next() {
        let unit = match words.next()?.trim_end_matches('S') {
            "DAY" => 86_400,
            "HOUR" => 3600,
            "MINUTE" => 60,
            "SECOND" => 1,
            _ => return None,
        };
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
    }
    (total > 0).then(|| total.to_string())
}

fn clone_schema(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (from, to) = (arguments.table()?, arguments.table_at(1)?);
    let keep = arguments.get(2).is_none_or(Value::is_true);
    let source = session.cluster().descriptor(&from).with_hint(session, &from)?;
    let keys = if keep { split_keys(session, &from)? } else { Vec::new() };
    let descriptor = TableDescriptor::clone(&source).renamed(to.clone());
    session.create_table(descriptor, &keys).with_hint(session, &to)?;
    Ok(Value::Nil)
}

/// Returns the start keys of the regions of a table, without the empty one.
pub(crate) fn split_keys(session: &Session<'_>, table: &TableName) -> EvalResult<Vec<Bytes>> {
    let regions = session.cluster().regions(table).with_hint(session, table)?;
    Ok(regions.into_iter().map(|region| region.start).filter(|start| !start.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_parses_hbase_format() {
        let read = |text| ttl_seconds(text);
        assert_eq!(
            (read("2"), read("FOREVER"), read("1 DAY 2 HOURS")),
            (Some("2".into()), Some("2147483647".into()), Some("93600".into()))
        );
        assert_eq!(
            (read("1 minute 40 seconds"), read("1 FORTNIGHT"), read("DAY"), read("")),
            (Some("100".into()), None, None, None)
        );
    }
}
