//! `halite key scan`: the rows a question asks for, merged across salts, with the fields of their keys.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use halite::key::hexadecimal;
use halite::rowkey::Cause;
use halite::rowkey::literal::read_bytes;
use halite::rowkey::plan::Plan;
use halite::rowkey::scatter::{PageToken, Scatter, ScatterOptions, Unreadable};
use halite::{Row, Scan, TableName, block_on, print_bytes};

use super::declared::found_in;
use super::explain::plan_of_rows;
use super::keys::say_misfits;
use crate::cmd::key::Question;
use crate::place::PlaceFlags;

/// Prints rows, a line each.
pub(crate) fn scan(table: &TableName, place: &PlaceFlags, question: &Question, columns: &[String], after: Option<&str>) -> anyhow::Result<ExitCode> {
    let place = place.open_existing()?;
    let found = found_in(&place, table)?;
    let table = place.cluster().table(table);
    // One row more than is wanted tells whether there is another page.
    let plan = Arc::new(plan_of_rows(&found, question, question.limit.map(|limit| limit.saturating_add(1)))?);
    let after = after.map(read_token).transpose()?;
    // What cannot be read as a key cannot meet a condition; where there is none, all rows are wanted.
    let is_asked = !question.conditions.is_empty();
    let unreadable = if is_asked { Unreadable::Count } else { Unreadable::Return };
    let options = ScatterOptions { unreadable, ..ScatterOptions::default() };
    let mut rows = Scatter::new(Arc::clone(&table), Arc::clone(&plan), template(columns)?, &options, after.as_ref())?;
    let mut out = std::io::stdout().lock();
    let (mut count, mut misfits, mut last, mut more) = (0usize, 0usize, None, false);
    while let Some(row) = block_on(rows.next())? {
        more = question.limit == Some(count);
        if more {
            break;
        }
        writeln!(out, "{}", line(&plan, &row))?;
        count += 1;
        // What only a dictionary could tell is no reason to doubt a row.
        misfits += usize::from(plan.decode(row.key()).is_err_and(|error| error.cause != Cause::NotInDictionary));
        last = Some(row);
    }
    writeln!(out, "{count} row(s), {} examined", rows.examined())?;
    if plan.ranges().next().is_none() {
        writeln!(out, "no key meets all of these conditions")?;
    }
    if misfits > 0 {
        writeln!(out, "{misfits} of these row(s) are no keys of the declared {}, and are shown as they are", found.key)?;
    }
    if rows.left_out() > 0 {
        let left_out = rows.left_out();
        writeln!(out, "left out {left_out} row(s) that are no keys of the declared {}, of which no condition can be asked", found.key)?;
    }
    if let Some(text) = say_misfits(&table, &found.key, &found.regions)? {
        writeln!(out, "{text}")?;
    }
    if let Some(row) = last.filter(|_| more) {
        writeln!(out, "more behind these: --page-token x'{}'", hexadecimal(&rows.token_of(&row).to_bytes()))?;
    }
    drop(rows);
    place.close()?;
    Ok(ExitCode::SUCCESS)
}

fn template(columns: &[String]) -> anyhow::Result<Scan> {
    columns.iter().try_fold(Scan::all(), |scan, column| {
        Ok(match column.split_once(':') {
            Some((family, qualifier)) if !family.is_empty() => scan.column(family.to_owned(), halite::parse_bytes(qualifier)),
            None if !column.is_empty() => scan.family(column.to_owned()),
            _ => bail!("{column:?}: a column is FAMILY or FAMILY:QUALIFIER"),
        })
    })
}

fn read_token(text: &str) -> anyhow::Result<PageToken> {
    let bytes = read_bytes(text).map_err(|error| anyhow!("--page-token {error}"))?;
    Ok(PageToken::from_bytes(&bytes)?)
}

/// The fields of the key, or the key as it is where it is none of the table's; then the newest cell of each column.
fn line(plan: &Plan, row: &Row) -> String {
    let fields = plan.decode(row.key()).map_or_else(|_| print_bytes(row.key()), |decoded| plan.schema().show(&decoded));
    let cells = row.iter().map(|cell| format!("{}:{}={}", print_bytes(cell.family()), print_bytes(cell.qualifier()), print_bytes(cell.value())));
    format!("{fields}  {}", cells.collect::<Vec<_>>().join("  "))
}
