//! Region commands: list, locate, split, merge, and print split keys.

use halite_types::key::{to_bytes_binary, to_string_binary};
use halite_types::{RegionInfo, RegionLoad, TableName};

use super::create::split_keys;
use super::describe::table_exists;
use super::error_hints::ErrorContext;
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

/// Columns of `list_regions`, with their minimum widths.
const COLUMNS: [(&str, usize); 7] = [
    ("SERVER_NAME", 12),
    ("REGION_NAME", 12),
    ("START_KEY", 10),
    ("END_KEY", 10),
    ("SIZE", 5),
    ("REQ", 5),
    ("LOCALITY", 10),
];

/// Server name for an embedded store, which has no server.
pub(super) const SERVER: &str = "local";

/// Returns the statistics of a region.
fn load_of<'a>(loads: &'a [RegionLoad], region: &RegionInfo) -> Option<&'a RegionLoad> {
    loads.iter().find(|load| load.region.encoded_name == region.encoded_name)
}

/// Returns the server of a region as HBase's `ServerName` prints it.
fn server_of(load: Option<&RegionLoad>) -> String {
    load.and_then(|load| load.server.as_ref())
        .map_or_else(|| SERVER.to_owned(), ToString::to_string)
}

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "list_regions",
        aliases: &[],
        group: Group::Ddl,
        count: (1, Some(3)),
        takes_table: true,
        options: &[],
        synopsis: "list_regions 'table' [, 'server' or nil [, ['START_KEY', 'END_KEY', ...]]]",
        about: "Lists the regions of a table: where each begins and ends, its size on disk in MB \
                and its requests. A third argument picks columns.",
        examples: &[
            "list_regions 't1'",
            "list_regions 't1', nil, ['REGION_NAME', 'START_KEY', 'REQ']",
        ],
        run: list_regions,
    },
    ShellCommand {
        name: "locate_region",
        aliases: &[],
        group: Group::Ddl,
        count: (2, Some(2)),
        takes_table: true,
        options: &[],
        synopsis: "locate_region 'table', 'row'",
        about: "Shows the region a row belongs to.",
        examples: &["locate_region 't1', 'r1'"],
        run: locate_region,
    },
    ShellCommand {
        name: "get_splits",
        aliases: &[],
        group: Group::Dml,
        count: (1, Some(1)),
        takes_table: true,
        options: &[],
        synopsis: "get_splits 'table'",
        about: "Shows the keys at which the regions of a table begin.",
        examples: &["get_splits 't1'"],
        run: get_splits,
    },
    ShellCommand {
        name: "split",
        aliases: &[],
        group: Group::Tools,
        count: (1, Some(2)),
        takes_table: true,
        options: &[],
        synopsis: "split 'table' or 'region' [, 'key']",
        about: "Splits the region that holds the key, there; or a region, or every region of a \
                table, in its middle.",
        examples: &[
            "split 't1'",
            "split 't1', 'm'",
            "split 'd52e977875bc8bbf333206ed23e071e5', 'm'",
        ],
        run: split,
    },
    ShellCommand {
        name: "merge_region",
        aliases: &[],
        group: Group::Tools,
        count: (1, None),
        takes_table: false,
        options: &[],
        synopsis: "merge_region 'region', 'region', ... [, true: even if they are no neighbours]",
        about: "Makes one region of two or more neighbours, given by their encoded or whole names.",
        examples: &[
            "merge_region 'd52e977875bc8bbf333206ed23e071e5', 'ee8220a22c1f920f772bd7d1593d931b'",
        ],
        run: merge,
    },
];

fn regions(session: &Session<'_>, table: &TableName) -> EvalResult<Vec<RegionInfo>> {
    session.cluster().regions(table).with_hint(session, table)
}

fn list_regions(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let columns = columns(arguments)?;
    if !session.cluster().is_enabled(&table).with_hint(session, &table)? {
        return Err(Interrupt::Problem(format!("Table {table} must be enabled: enable '{table}'")));
    }
    let server = match arguments.get(1) {
        Some(Value::Hash(_)) | None => String::new(),
        Some(server) => server.to_text(),
    };
    let loads = session.cluster().cluster_status()?.regions;
    let mut rows = Vec::new();
    for region in &regions(session, &table)? {
        let load = load_of(&loads, region);
        if server_of(load).starts_with(&server) {
            let fields = columns.iter().map(|(name, _)| region_field(name, region, load));
            rows.push(fields.collect::<Vec<_>>());
        }
    }
    print_grid(session, &columns, &rows)?;
    Ok(Value::Nil)
}

fn columns(arguments: &Arguments) -> EvalResult<Vec<(&'static str, usize)>> {
    let known = COLUMNS.map(|(name, _)| name).join(", ");
    let names = match arguments.get(2) {
        None => return Ok(COLUMNS.to_vec()),
        Some(Value::Array(names)) => names,
        Some(other) => {
            return Err(Interrupt::Problem(format!(
                "{} must be an array of strings. Possible values are {known}.",
                other.inspect()
            )));
        }
    };
    let find = |name: &Value| {
        let name = name.to_text();
        let found = COLUMNS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)).copied();
        found.ok_or_else(|| {
            Interrupt::Problem(format!(
                "{name} is not a valid column. Possible values are {known}."
            ))
        })
    };
    names.iter().map(find).collect()
}

fn region_field(column: &str, region: &RegionInfo, load: Option<&RegionLoad>) -> String {
    match column {
        "SERVER_NAME" => server_of(load),
        "REGION_NAME" => region.display_name(),
        "START_KEY" => to_string_binary(&region.start),
        "END_KEY" => to_string_binary(&region.end),
        "SIZE" => {
            load.map_or_else(String::new, |load| megabytes(load.store_file_bytes).to_string())
        }
        "REQ" => load.map_or_else(String::new, |load| {
            (load.read_requests + load.write_requests).to_string()
        }),
        _ => locality(load),
    }
}

/// Returns the part of a region's bytes on the disks of its server: all in an embedded store.
pub(super) fn locality(load: Option<&RegionLoad>) -> String {
    let reported = |load: &RegionLoad| load.server.as_ref().map(|_| load.locality.unwrap_or(0.0));
    format!("{:?}", load.and_then(reported).unwrap_or(1.0))
}

/// Converts bytes to megabytes; a size between 0 and 1 counts as 1, as in HBase.
pub(super) fn megabytes(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { (bytes >> 20).max(1) }
}

fn print_grid(
    session: &mut Session<'_>,
    columns: &[(&str, usize)],
    rows: &[Vec<String>],
) -> EvalResult<()> {
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| {
            rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).max(columns[at].1)
        })
        .collect();
    let line = |fields: Vec<String>| {
        let fields: Vec<_> = fields
            .iter()
            .zip(&widths)
            .map(|(field, &width)| format!(" {field:>width$} |"))
            .collect();
        fields.concat()
    };
    session.print_line(line(columns.iter().map(|(name, _)| (*name).to_owned()).collect()))?;
    session.print_line(line(widths.iter().map(|width| "-".repeat(*width)).collect()))?;
    for row in rows {
        session.print_line(line(row.clone()))?;
    }
    session.print_line(format!(" {} rows", rows.len()))
}

fn locate_region(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, row) =
        (arguments.table()?, to_bytes_binary(&String::from_utf8_lossy(&arguments.bytes(1))));
    let region = regions(session, &table)?.into_iter().find(|region| region.contains(&row));
    let Some(region) = region else {
        return Err(Interrupt::Problem(format!(
            "no region of {table} holds {}",
            to_string_binary(&row)
        )));
    };
    session.header(&["HOST", "REGION"])?;
    let text = format!(
        "{{ENCODED => {}, NAME => '{}', STARTKEY => '{}', ENDKEY => '{}'}}",
        region.encoded_name,
        region.display_name(),
        to_string_binary(&region.start),
        to_string_binary(&region.end)
    );
    let loads = session.cluster().cluster_status()?.regions;
    let load = load_of(&loads, &region);
    let server = load.and_then(|load| load.server.as_ref());
    session
        .row_pair(&server.map_or_else(|| SERVER.to_owned(), |server| server.address()), &text)?;
    session.footer(1)?;
    Ok(Value::Nil)
}

fn get_splits(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let keys: Vec<String> =
        split_keys(session, &table)?.iter().map(|key| to_string_binary(key)).collect();
    session.print_line(format!("Total number of splits = {}", keys.len() + 1))?;
    for key in &keys {
        session.print_line(key)?;
    }
    Ok(Value::Array(keys.into_iter().map(Value::text).collect()))
}

/// Returns the region with that encoded or full name.
fn find_region(session: &Session<'_>, name: &str) -> EvalResult<Option<RegionInfo>> {
    let trimmed = name.trim_end_matches('.');
    let encoded = trimmed.rsplit('.').next().unwrap_or(trimmed);
    for table in session.cluster().list_tables()? {
        let found = session
            .cluster()
            .regions(table.name())?
            .into_iter()
            .find(|region| region.encoded_name == encoded);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn split(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let name = arguments.get(0).map(Value::to_text).unwrap_or_default();
    let at = arguments.get(1).map(|_| arguments.bytes(1));
    if let Some(region) = find_region(session, &name)? {
        session.cluster().split_region(&region.encoded_name, at)?;
        return Ok(Value::Nil);
    }
    let table = arguments.table()?;
    if !table_exists(session, &table)? {
        return Err(Interrupt::Problem(format!(
            "{} and no region has this name; list_regions shows them",
            crate::shell::commands::error_hints::unknown_table(session, &table)
        )));
    }
    for region in regions(session, &table)? {
        match &at {
            Some(key) if key.is_empty() => {
                return Err(Interrupt::problem(
                    "the key is empty, where the first region begins anyway; give another key",
                ));
            }
            Some(key) if !region.contains(key) => {}
            _ => session
                .cluster()
                .split_region(&region.encoded_name, at.clone())
                .with_hint(session, &table)?,
        }
    }
    Ok(Value::Nil)
}

fn merge(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let mut names = arguments.flattened(0);
    let forcible =
        matches!(names.last(), Some(Value::Bool(_))) && names.pop().is_some_and(Value::is_true);
    if names.len() < 2 {
        return Err(Interrupt::problem(
            "Must pass at least 2 regions to merge; list_regions shows their names",
        ));
    }
    let mut found = Vec::new();
    for name in names {
        let name = name.to_text();
        match find_region(session, &name)? {
            Some(region) => found.push(region),
            None => {
                return Err(Interrupt::Problem(format!(
                    "Can't invoke merge on unknown region {name}; list_regions shows their names"
                )));
            }
        }
    }
    found.sort_by(|a, b| a.start.cmp(&b.start));
    let (table, first) = (found[0].table.clone(), found[0].start.clone());
    for next in &found[1..] {
        // The merged region has a new name; it is the one with the start key of the first region.
        let merged = regions(session, &table)?.into_iter().find(|region| region.start == first);
        let merged = merged.ok_or_else(|| {
            Interrupt::Problem(format!(
                "the region of {table} that begins at '{}' is gone",
                to_string_binary(&first)
            ))
        })?;
        session
            .cluster()
            .merge_regions(&merged.encoded_name, &next.encoded_name, forcible)
            .with_hint(session, &table)?;
    }
    Ok(Value::Nil)
}
