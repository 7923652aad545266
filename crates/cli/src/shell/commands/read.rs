//! `get` and `get_counter`.

use std::collections::BTreeMap;

use halite_types::{Bytes, CellRef, Get, TableName};

use super::decoded::RowDecoder;
use super::error_hints::ErrorContext;
use super::options::Options;
use super::{Arguments, Group, ShellCommand};
use crate::shell::column::Column;
use crate::shell::convert::Converter;
use crate::shell::filter_string;
use crate::shell::print;
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "get",
        aliases: &[],
        group: Group::Dml,
        count: (2, None),
        takes_table: true,
        options: &[
            "COLUMN",
            "COLUMNS",
            "TIMERANGE",
            "TIMESTAMP",
            "VERSIONS",
            "FILTER",
            "MAXLENGTH",
            "FORMATTER",
            "FORMATTER_CLASS",
            "DECODED",
            "ATTRIBUTES",
            "CONSISTENCY",
            "REGION_REPLICA_ID",
        ],
        synopsis: "get 'table', 'row' [, 'family:qualifier', ...] [, {COLUMN => [...], VERSIONS => \
                   n, TIMERANGE => [from, to], FILTER => \"...\"}]",
        about: "Shows the cells of one row. A converter after a column shows its values as numbers \
                or text: 'f:a:toInt'. FORMATTER does so for all columns. DECODED shows the cells of \
                a table that declares its key by the names and types of their columns.",
        examples: &[
            "get 't1', 'r1'",
            "get 't1', 'r1', 'f:a', 'f:b'",
            "get 't1', 'r1', {COLUMN => 'f:a', VERSIONS => 4}",
            "get 't1', 'r1', {COLUMN => ['f:a', 'f:b'], TIMERANGE => [1710460800000, \
             1710547200000]}",
            "get 't1', 'r1', {FILTER => \"ValueFilter(=, 'binary:abc')\"}",
            "get 't1', 'r1', 'f:count:toLong'",
            "get 'sensor_data', 'r1', {DECODED => true}",
        ],
        run: get,
    },
    ShellCommand {
        name: "get_counter",
        aliases: &[],
        group: Group::Dml,
        count: (3, Some(3)),
        takes_table: true,
        options: &[],
        synopsis: "get_counter 'table', 'row', 'family:qualifier'",
        about: "Shows the value of a counter, a cell of 8 bytes that incr has made.",
        examples: &["get_counter 't1', 'r1', 'f:count'"],
        run: get_counter,
    },
];

/// HBase options without effect here.
pub(super) const WITHOUT_EFFECT: [&str; 4] =
    ["ATTRIBUTES", "CONSISTENCY", "REGION_REPLICA_ID", "FORMATTER_CLASS"];

/// Cell format: a default converter, converters of single columns, and a maximum length; or the
/// declaration of the table.
#[derive(Default)]
pub(super) struct Format {
    decoder: Option<RowDecoder>,
    all: Converter,
    by_column: BTreeMap<(Bytes, Bytes), Converter>,
    max_length: Option<usize>,
}

impl Format {
    /// Takes MAXLENGTH, FORMATTER and DECODED.
    pub(super) fn take(
        &mut self,
        options: &mut Options,
        session: &Session<'_>,
        table: &TableName,
    ) -> EvalResult<()> {
        self.max_length = options.limit("MAXLENGTH")?;
        if options.flag("DECODED")? == Some(true) {
            self.decoder = Some(RowDecoder::new(session, table)?);
        }
        if let Some(name) = options.text("FORMATTER")? {
            self.all = Converter::by_name(&name)?;
        }
        Ok(())
    }

    /// Records the converter of a column.
    pub(super) fn record_converter(&mut self, column: &Column) {
        if let Some(converter) = column.converter {
            self.by_column.insert((column.family.clone(), column.cell_qualifier()), converter);
        }
    }

    /// Formats a row key, or a family and qualifier. Text converters apply; number converters are
    /// not useful for names.
    fn name(&self, bytes: &[u8]) -> String {
        let converter = if self.all.is_text() { self.all } else { Converter::StringBinary };
        converter.format(bytes).unwrap_or_default()
    }

    pub(super) fn row(&self, row: &[u8]) -> String {
        self.decoder.as_ref().map_or_else(|| self.name(row), |decoder| decoder.row(row))
    }

    /// Returns the name of a cell's column, and its time and value.
    pub(super) fn cell(
        &self,
        session: &Session<'_>,
        cell: &CellRef<'_>,
    ) -> EvalResult<(String, String)> {
        if let Some(decoder) = &self.decoder {
            return Ok(decoder.cell(session, cell, self.max_length));
        }
        let column = format!("{}:{}", self.name(cell.family()), self.name(cell.qualifier()));
        let key = (Bytes::copy_from_slice(cell.family()), Bytes::copy_from_slice(cell.qualifier()));
        let converter = self.by_column.get(&key).copied().unwrap_or(self.all);
        Ok((column, print::cell(session, cell, converter, self.max_length)?))
    }
}

/// Takes COLUMN or COLUMNS.
pub(super) fn take_columns(options: &mut Options) -> EvalResult<Vec<Vec<u8>>> {
    let columns = options.list("COLUMN")?;
    Ok(options.list("COLUMNS")?.or(columns).unwrap_or_default())
}

/// Takes VERSIONS.
pub(super) fn take_versions(options: &mut Options) -> EvalResult<Option<u32>> {
    let Some(versions) = options.integer("VERSIONS")? else { return Ok(None) };
    let wrong = || {
        Interrupt::Problem(format!("VERSIONS is {versions}; give a number from 1 to {}", i32::MAX))
    };
    let count = u32::try_from(versions.min(i64::from(i32::MAX))).map_err(|_| wrong())?;
    if count == 0 { Err(wrong()) } else { Ok(Some(count)) }
}

fn get(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, row) = (arguments.table()?, arguments.bytes(1));
    session.header(&["COLUMN", "CELL"])?;
    let mut options = arguments.options(2);
    let mut columns = take_columns(&mut options)?;
    columns.extend(
        arguments
            .flattened(2)
            .into_iter()
            .filter(|value| !matches!(value, Value::Hash(_)))
            .map(Value::to_bytes),
    );
    let mut format = Format::default();
    format.take(&mut options, session, &table)?;
    let mut get = Get::new(row);
    for text in &columns {
        let column = Column::read(text)?.check(text)?;
        format.record_converter(&column);
        get = match column.qualifier {
            Some(qualifier) => get.column(column.family, qualifier),
            None => get.family(column.family),
        };
    }
    get = get.versions(take_versions(&mut options)?.unwrap_or(1));
    if let Some(range) = options.time_range()? {
        get = get.time_range(range);
    }
    if let Some(filter) = options.bytes("FILTER")? {
        get = get.filter(filter_string::parse(&filter)?);
    }
    options.ignore(&WITHOUT_EFFECT);
    options.finish()?;
    print_row(session, &table, get, &format)
}

fn print_row(
    session: &mut Session<'_>,
    table: &TableName,
    get: Get,
    format: &Format,
) -> EvalResult {
    halite_types::op::check_row(get.row())?;
    let row = session.table(table).and_then(|table| table.get(get)).with_hint(session, table)?;
    for cell in &row {
        let (column, text) = format.cell(session, &cell)?;
        session.row_pair(&column, &text)?;
    }
    session.footer(u64::from(!row.is_empty()))?;
    Ok(Value::Nil)
}

fn get_counter(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, row, text) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2));
    let column = Column::written(&text).check(&text)?;
    let get = Get::new(row).column(column.family.clone(), column.cell_qualifier());
    let row = session.table(&table).and_then(|table| table.get(get)).with_hint(session, &table)?;
    let Some(value) = row.value(&column.family, column.cell_qualifier()) else {
        session.print_line("No counter found at specified coordinates")?;
        return Ok(Value::Nil);
    };
    let Ok(bytes) = <[u8; 8]>::try_from(value) else {
        let shown = String::from_utf8_lossy(&text).into_owned();
        return Err(Interrupt::Problem(format!(
            "column {shown} is no counter: its value has {} bytes, expected 8; get '{table}' shows \
             it",
            value.len()
        )));
    };
    session.print_line(format!("COUNTER VALUE = {}", i64::from_be_bytes(bytes)))?;
    Ok(Value::Nil)
}
