//! The five tables side by side: bytes of keys and lines, the busiest region, and rows that
//! questions read.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use halite::{Bytes, CompactionKind, TableName};
use logs::{Layout, Line, Question};

use super::design::Design;
use super::generator::Generator;
use crate::bench::table_bytes;
use crate::recipe::Site;

/// Regions that divide the rows of a table evenly.
const REGIONS: usize = 16;
/// One of this many lines is among the newest ones.
const NEWEST_PART: usize = 20;
/// Lines whose keys are compared.
const SAMPLE_LINES: u64 = 100_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// Returns the share of the newest lines that are in the busiest of sixteen regions, whose limits
/// divide all rows evenly, and the number of newest lines.
pub(super) fn busiest(
    design: &dyn Design,
    layout: Layout,
    newest_first: &[&Line],
) -> Result<(f64, usize)> {
    let row = |line: &&Line| design.row(layout, line);
    let rows = newest_first.iter().map(row).collect::<Result<Vec<Bytes>>>()?;
    let distinct: Vec<&Bytes> = rows.iter().collect::<BTreeSet<_>>().into_iter().collect();
    let newest = &rows[..rows.len() / NEWEST_PART];
    let mut regions = [0_usize; REGIONS];
    for row in newest {
        let rank = distinct.partition_point(|other| *other < row);
        regions[rank * REGIONS / distinct.len()] += 1;
    }
    let most = regions.iter().max().copied().unwrap_or(0);
    Ok((ratio(most, newest.len()), newest.len()))
}

/// Prints a line for each table, after a major compaction of it. `items` have been written.
pub(super) fn write(
    design: &dyn Design,
    generator: Generator,
    items: u64,
    site: &Site,
    out: &mut dyn Write,
) -> Result<()> {
    let lines: Vec<Line> =
        (0..items.min(SAMPLE_LINES)).map(|number| generator.item(number)).collect();
    let mut newest_first: Vec<&Line> = lines.iter().collect();
    newest_first.sort_by_key(|line| std::cmp::Reverse(line.at_ms));
    let end = generator.end_ms(items);
    let of_host = Question {
        host: Some(generator.host(0)),
        event: Some(generator.event(0)),
        at_ms: end - HOUR_MS..end,
    };
    let of_time = Question { at_ms: end - MINUTE_MS..end, ..Question::default() };
    writeln!(
        out,
        "{:<11}{:>10}{:>15}{:>16}{:>12}{:>12}",
        "table", "key bytes", "bytes per line", "busiest of 16", "host: rows", "time: rows"
    )?;
    for layout in Layout::ALL {
        let rows = lines.iter().map(|line| design.row(layout, line)).collect::<Result<Vec<_>>>()?;
        let key_bytes = ratio(rows.iter().map(Bytes::len).sum(), rows.len());
        let table: TableName = format!("{}:{}", site.namespace, layout.table()).parse()?;
        site.cluster.flush(&table)?;
        site.cluster.compact(&table, None, CompactionKind::Major)?;
        let stored = table_bytes(site, layout.table())?;
        let stored = ratio(usize::try_from(stored)?, usize::try_from(items)?);
        let (share, _) = busiest(design, layout, &newest_first)?;
        let examined = |question| design.read(layout, question).map(|found| found.examined);
        writeln!(
            out,
            "{:<11}{key_bytes:>10.1}{stored:>15.1}{:>14.1} %{:>12}{:>12}",
            layout.table(),
            share * 100.0,
            examined(&of_host)?,
            examined(&of_time)?,
        )?;
    }
    let [host, time] = [&of_host, &of_time].map(|question| design.read(Layout::Time, question));
    writeln!(
        out,
        "host: {} of {}, an hour, {} lines; time: a minute of all hosts, {} lines",
        generator.event(0),
        generator.host(0),
        host?.lines.len(),
        time?.lines.len()
    )?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
