//! `scan` and `count`.

use std::ops::Bound;

use halite_types::key::to_string_binary;
use halite_types::{Bytes, Filter, RowRange, Scan, TableName};

use super::error_hints::ErrorContext;
use super::options::Options;
use super::read::{Format, WITHOUT_EFFECT, take_columns, take_versions};
use super::{Arguments, Group, ShellCommand, row_key};
use crate::shell::column::Column;
use crate::shell::filter_string;
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "scan",
        aliases: &[],
        group: Group::Dml,
        count: (1, Some(2)),
        takes_table: true,
        options: &[
            "STARTROW",
            "STOPROW",
            "INCLUDE_STOPROW",
            "ROWPREFIXFILTER",
            "LIMIT",
            "COLUMNS",
            "COLUMN",
            "VERSIONS",
            "FILTER",
            "TIMERANGE",
            "TIMESTAMP",
            "REVERSED",
            "RAW",
            "MAXLENGTH",
            "FORMATTER",
            "FORMATTER_CLASS",
            "DECODED",
            "BATCH",
            "CACHE",
            "CACHE_BLOCKS",
            "MAX_RESULT_SIZE",
            "ATTRIBUTES",
            "CONSISTENCY",
            "REGION_REPLICA_ID",
            "ISOLATION_LEVEL",
            "READ_TYPE",
            "ALLOW_PARTIAL_RESULTS",
        ],
        synopsis: "scan 'table' [, {STARTROW => '...', STOPROW => '...', LIMIT => n, COLUMNS => \
                   [...], FILTER => \"...\", ...}]",
        about: "Shows rows in the order of their keys. STOPROW is not in the range unless \
                INCLUDE_STOPROW is true. ROWPREFIXFILTER takes the rows that begin with it and \
                replaces STARTROW and STOPROW. REVERSED goes from the last row to the first, and \
                STARTROW is then the upper end. RAW shows delete markers too. DECODED shows the \
                keys and cells of a table that declares its key by the names and types of their \
                fields and columns. Write \\x00 and other bytes in double quotes.",
        examples: &[
            "scan 't1'",
            "scan 't1', {LIMIT => 10, STARTROW => 'r100'}",
            "scan 't1', {ROWPREFIXFILTER => 'user_12345_', COLUMNS => ['f:a', 'g']}",
            "scan 't1', {REVERSED => true, LIMIT => 1}",
            "scan 't1', {TIMERANGE => [1710460800000, 1710547200000], VERSIONS => 3}",
            "scan 't1', {FILTER => \"PrefixFilter('r1') AND QualifierFilter(>=, 'binary:b')\"}",
            "scan 't1', {COLUMNS => 'f:count:toLong'}",
            "scan 't1', {RAW => true, VERSIONS => 10}",
            "scan 'sensor_data', {DECODED => true, LIMIT => 10}",
        ],
        run: scan,
    },
    ShellCommand {
        name: "count",
        aliases: &[],
        group: Group::Dml,
        count: (1, Some(2)),
        takes_table: true,
        options: &[
            "INTERVAL",
            "CACHE",
            "CACHE_BLOCKS",
            "STARTROW",
            "STOPROW",
            "INCLUDE_STOPROW",
            "ROWPREFIXFILTER",
            "LIMIT",
            "COLUMNS",
            "FILTER",
            "TIMERANGE",
        ],
        synopsis: "count 'table' [, INTERVAL => n] [, {STARTROW => '...', STOPROW => '...', FILTER \
                   => \"...\"}]",
        about: "Counts rows by reading them, of the whole table or of a range; says how far it is \
                at every INTERVAL rows, 1000 if not given.",
        examples: &[
            "count 't1'",
            "count 't1', INTERVAL => 100000",
            "count 't1', {ROWPREFIXFILTER => 'user_12345_'}",
        ],
        run: count,
    },
];

/// Returns the scan that `options` specify.
fn read_options(options: &mut Options, format: &mut Format) -> EvalResult<Scan> {
    let mut scan = Scan::all();
    for text in take_columns(options)? {
        let column = Column::read(&text)?.check(&text)?;
        format.record_converter(&column);
        scan = match column.qualifier {
            Some(qualifier) => scan.column(column.family, qualifier),
            None => scan.family(column.family),
        };
    }
    scan.reverse = options.flag("REVERSED")?.unwrap_or(false);
    scan.raw = options.flag("RAW")?.unwrap_or(false);
    scan.range = take_range(options, scan.reverse)?;
    scan.limit = options.limit("LIMIT")?;
    scan.batch = options.limit("BATCH")?;
    scan.selection.cache_blocks = options.flag("CACHE_BLOCKS")?.unwrap_or(true);
    if let Some(bytes) = options.limit("MAX_RESULT_SIZE")? {
        scan.max_result_bytes = bytes;
    }
    if let Some(versions) = take_versions(options)? {
        scan.selection.max_versions = versions;
    }
    if let Some(range) = options.time_range()? {
        scan.selection.time_range = range;
    }
    if let Some(filter) = options.bytes("FILTER")? {
        scan.selection.filter = Some(filter_string::parse(&filter)?);
    }
    options.ignore(&WITHOUT_EFFECT);
    options.ignore(&["CACHE", "ISOLATION_LEVEL", "READ_TYPE", "ALLOW_PARTIAL_RESULTS"]);
    Ok(scan)
}

/// Takes the range, lower bound first: a reverse scan specifies its upper bound as STARTROW.
fn take_range(options: &mut Options, reverse: bool) -> EvalResult<RowRange> {
    let row = |bytes: Option<Vec<u8>>| bytes.filter(|bytes| !bytes.is_empty()).map(Bytes::from);
    let (start, stop) = (row(options.bytes("STARTROW")?), row(options.bytes("STOPROW")?));
    let include_stop = options.flag("INCLUDE_STOPROW")?.unwrap_or(false);
    if let Some(prefix) = options.bytes("ROWPREFIXFILTER")? {
        return Ok(RowRange::prefix(prefix));
    }
    let start = start.map_or(Bound::Unbounded, Bound::Included);
    let stop = stop.map_or(Bound::Unbounded, |row| {
        if include_stop { Bound::Included(row) } else { Bound::Excluded(row) }
    });
    Ok(if reverse { RowRange { start: stop, end: start } } else { RowRange { start, end: stop } })
}

/// Explains why the range contains no row, if it is empty.
fn why_empty(scan: &Scan) -> Option<String> {
    if !scan.range.is_empty() {
        return None;
    }
    let show = |bound: &Bound<Bytes>| match bound {
        Bound::Unbounded => "the end of the table".to_owned(),
        Bound::Included(row) | Bound::Excluded(row) => format!("'{}'", to_string_binary(row)),
    };
    let (low, high) = (show(&scan.range.start), show(&scan.range.end));
    let (start, stop) = if scan.reverse { (high, low) } else { (low, high) };
    Some(if start == stop {
        format!(
            "No row can lie in this range: it begins and ends at {start}, and STOPROW is not part \
             of it. Add INCLUDE_STOPROW => true, or get the row"
        )
    } else if scan.reverse {
        format!(
            "No row can lie in this range: a REVERSED scan runs downwards, and STARTROW {start} \
             sorts before STOPROW {stop}. Swap them, or leave REVERSED out"
        )
    } else {
        format!(
            "No row can lie in this range: STARTROW {start} sorts after STOPROW {stop} (keys sort \
             byte by byte: '10' before '9'). Swap them, or add REVERSED => true to run downwards"
        )
    })
}

fn scan(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    session.header(&["ROW", "COLUMN+CELL"])?;
    check_is_hash(arguments)?;
    let mut options = arguments.options(1);
    let mut format = Format::default();
    let scan = read_options(&mut options, &mut format)?;
    format.take(&mut options, session, &table)?;
    options.finish()?;
    let empty =
        why_empty(&scan).map(|text| row_key::why_inverted(session, &table, &scan).unwrap_or(text));
    let mut rows = session.table(&table).with_hint(session, &table)?.scan(scan);
    let mut count = 0;
    let mut continued = false;
    while let Some(row) = rows.next().transpose().with_hint(session, &table)? {
        let key = format.row(row.key());
        for cell in &row {
            let (column, text) = format.cell(session, &cell)?;
            session.row_pair(&key, &format!("column={column}, {text}"))?;
        }
        count += u64::from(!continued);
        continued = row.is_partial();
    }
    session.footer(count)?;
    empty.map_or(Ok(()), |text| session.print_line(text))?;
    Ok(Value::Nil)
}

fn check_is_hash(arguments: &Arguments) -> EvalResult<()> {
    match arguments.get(1) {
        None | Some(Value::Hash(_)) => Ok(()),
        Some(other) => Err(Interrupt::Problem(format!(
            "{} is {}; give a hash: scan 'table', {{STARTROW => '...'}}, or {{COLUMNS => \
             ['family:qualifier']}} for columns",
            other.inspect(),
            other.kind()
        ))),
    }
}

fn count(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let mut options = if let Some(interval @ Value::Integer(_)) = arguments.get(1) {
        Options::new("count", &[(Value::text("INTERVAL"), interval.clone())])
    } else {
        check_is_hash(arguments)?;
        arguments.options(1)
    };
    let interval = options.limit("INTERVAL")?.unwrap_or(1000) as u64;
    let caches = options.flag("CACHE_BLOCKS")?.unwrap_or(false);
    let mut scan = read_options(&mut options, &mut Format::default())?;
    options.finish()?;
    scan.selection.cache_blocks = caches;
    scan.selection.filter = Some(match scan.selection.filter.take() {
        Some(filter) => Filter::All(vec![filter, Filter::FirstKeyOnly]),
        None => Filter::FirstKeyOnly,
    });
    let empty = why_empty(&scan);
    let rows = count_rows(session, &table, scan, interval)?;
    session.footer(rows)?;
    empty.map_or(Ok(()), |text| session.print_line(text))?;
    Ok(Value::Integer(i64::try_from(rows).unwrap_or(i64::MAX)))
}

fn count_rows(
    session: &mut Session<'_>,
    table: &TableName,
    scan: Scan,
    interval: u64,
) -> EvalResult<u64> {
    let mut stream = session.table(table).with_hint(session, table)?.scan(scan);
    let mut rows = 0;
    while let Some(row) = stream.next().transpose().with_hint(session, table)? {
        if row.is_partial() {
            continue;
        }
        rows += 1;
        if rows % interval == 0 {
            session.row(&format!("Current count: {rows}, row: {}", to_string_binary(row.key())))?;
            session.flush()?;
        }
    }
    Ok(rows)
}
