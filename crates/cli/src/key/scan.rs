//! `halite key scan`: the rows that match a query, merged across salts, with the fields of their
//! keys.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use halite::key::to_hex;
use halite::rowkey::KeyErrorKind;
use halite::rowkey::literal::read_bytes;
use halite::rowkey::plan::Plan;
use halite::rowkey::record::RecordCodec;
use halite::rowkey::scatter::{PageToken, Scatter, ScatterOptions, UndecodableRows};
use halite::{Row, Scan, Table, TableName, block_on, to_string_binary};

use super::explain::plan_with_limit;
use super::key_spec::{resolve_in, table_declaration};
use super::record_output::{RecordOutput, RowFormat};
use super::sampling::format_misfits;
use crate::backend::BackendArgs;
use crate::key::arguments::QueryArgs;

/// Prints rows, one per line.
pub(crate) fn scan(
    table: &TableName,
    place: &BackendArgs,
    question: &QueryArgs,
    columns: &[String],
    after: Option<&str>,
    format: Option<RowFormat>,
) -> anyhow::Result<ExitCode> {
    let place = place.open_existing()?;
    let found = resolve_in(&place, table)?;
    let table = place.cluster().table(table);
    let mut output = match format {
        Some(format) => Some(RecordOutput::new(record_codec(&*table)?, format)),
        None => None,
    };
    // Notes would be lines of the data.
    let is_data = matches!(format, Some(RowFormat::Csv | RowFormat::Jsonl));
    let resolver = found.resolver();
    // One additional row determines if there is another page.
    let plan = Arc::new(plan_with_limit(
        &found,
        question,
        question.limit.map(|limit| limit.saturating_add(1)),
    )?);
    let after = after.map(read_token).transpose()?;
    // An undecodable key cannot match a condition; without conditions, all rows are returned.
    let is_asked = !question.conditions.is_empty();
    let unreadable = if is_asked { UndecodableRows::Count } else { UndecodableRows::Return };
    let options = ScatterOptions { undecodable_rows: unreadable, ..ScatterOptions::default() };
    let mut rows = Scatter::new(
        Arc::clone(&table),
        Arc::clone(&plan),
        template(columns)?,
        &options,
        after.as_ref(),
    )?;
    let mut out = std::io::stdout().lock();
    if let Some(output) = &output {
        output.begin(&mut out)?;
    }
    let (mut count, mut misfits, mut last, mut more) = (0usize, 0usize, None, false);
    while let Some(row) = block_on(rows.next())? {
        more = question.limit == Some(count);
        if more {
            break;
        }
        match &mut output {
            Some(output) => output.write(&row, &*resolver, &mut out)?,
            None => writeln!(out, "{}", line(&plan, &row))?,
        }
        count += 1;
        // A value that is only missing from the dictionary does not make the row a misfit.
        misfits += usize::from(
            plan.decode(row.key()).is_err_and(|error| error.kind != KeyErrorKind::NotInDictionary),
        );
        last = Some(row);
    }
    let mut out: Box<dyn std::io::Write> =
        if is_data { Box::new(std::io::stderr().lock()) } else { Box::new(out) };
    writeln!(out, "{count} row(s), {} examined", rows.examined())?;
    if let Some(output) = output.filter(|output| output.left_out > 0) {
        let left_out = output.left_out;
        writeln!(out, "left out {left_out} cell(s) without a column; --format jsonl has them")?;
    }
    if plan.ranges().next().is_none() {
        writeln!(out, "no key meets all of these conditions")?;
    }
    if misfits > 0 {
        writeln!(
            out,
            "{misfits} of these row(s) are no keys of the declared {}, and are shown as they are",
            found.key
        )?;
    }
    if rows.left_out() > 0 {
        let left_out = rows.left_out();
        writeln!(
            out,
            "left out {left_out} row(s) that are no keys of the declared {}, of which no condition \
             can be asked",
            found.key
        )?;
    }
    if let Some(text) = format_misfits(&table, &found.key, &found.regions)? {
        writeln!(out, "{text}")?;
    }
    if let Some(row) = last.filter(|_| more) {
        writeln!(
            out,
            "more rows follow: --page-token x'{}'",
            to_hex(&rows.token_of(&row).to_bytes())
        )?;
    }
    drop(rows);
    place.close()?;
    Ok(ExitCode::SUCCESS)
}

fn record_codec(table: &dyn Table) -> anyhow::Result<RecordCodec> {
    let descriptor = block_on(table.descriptor())?;
    let declaration = table_declaration(&descriptor)?
        .ok_or_else(|| anyhow!("table {} declares no row key", table.name()))?;
    RecordCodec::new(&declaration).map_err(|error| anyhow!("table {}: {error}", table.name()))
}

fn template(columns: &[String]) -> anyhow::Result<Scan> {
    columns.iter().try_fold(Scan::all(), |scan, column| {
        Ok(match column.split_once(':') {
            Some((family, qualifier)) if !family.is_empty() => {
                scan.column(family.to_owned(), halite::to_bytes_binary(qualifier))
            }
            None if !column.is_empty() => scan.family(column.to_owned()),
            _ => bail!("{column:?}: a column is FAMILY or FAMILY:QUALIFIER"),
        })
    })
}

fn read_token(text: &str) -> anyhow::Result<PageToken> {
    let bytes = read_bytes(text).map_err(|error| anyhow!("--page-token {error}"))?;
    Ok(PageToken::from_bytes(&bytes)?)
}

/// Formats the fields of the key, or the raw key if it cannot be decoded, and the newest cell of
/// each column.
fn line(plan: &Plan, row: &Row) -> String {
    let fields = plan.decode(row.key()).map_or_else(
        |_| to_string_binary(row.key()),
        |decoded| plan.schema().format_values(&decoded),
    );
    let cells = row.iter().map(|cell| {
        format!(
            "{}:{}={}",
            to_string_binary(cell.family()),
            to_string_binary(cell.qualifier()),
            to_string_binary(cell.value())
        )
    });
    format!("{fields}  {}", cells.collect::<Vec<_>>().join("  "))
}
