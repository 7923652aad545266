//! Comparison of two tables as readers see them: every version of every cell, row by row, range by
//! range.
//!
//! Cells hidden by delete markers are excluded: a compaction on either side may have dropped them.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context as _, bail};
use flate2::Crc;
use halite::{BlockingTable, CellRef, Result, Row, Scan};

use super::copier::{for_each, progress};
use super::state::Range;

/// Contents found equal on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ComparisonResult {
    pub(crate) rows: u64,
    pub(crate) cells: u64,
    /// Checksum of all rows: keys, timestamps, types and values, in key order within each range.
    /// The checksums of the ranges are added.
    pub(crate) checksum: u32,
}

/// Compares two tables.
///
/// # Errors
/// Returns the first difference with its row, or an error of either side.
pub(super) fn compare(
    from: &BlockingTable,
    to: &BlockingTable,
    ranges: &[Range],
    threads: usize,
) -> anyhow::Result<ComparisonResult> {
    let bar = progress("comparing");
    let all = Mutex::new(ComparisonResult::default());
    for_each(ranges, threads, |_, range, stop| {
        let scan = || {
            let scan = Scan::all().all_versions().cache_blocks(false).start(range.start.clone());
            if range.end.is_empty() { scan } else { scan.stop(range.end.clone()) }
        };
        let (mut source, mut target) = (from.scan(scan()), to.scan(scan()));
        let (mut here, mut crc) = (ComparisonResult::default(), Crc::new());
        while !stop.load(Relaxed) {
            let Some(row) =
                check(next(&mut source, "source")?, next(&mut target, "copy")?.as_ref())?
            else {
                break;
            };
            row.iter().for_each(|cell| update(&mut crc, cell));
            here.rows += 1;
            here.cells += row.len() as u64;
            bar.inc(1);
        }
        let mut all = all.lock().expect("nothing panics while it adds up");
        all.rows += here.rows;
        all.cells += here.cells;
        all.checksum = all.checksum.wrapping_add(crc.sum());
        Ok(())
    })?;
    bar.finish_and_clear();
    Ok(all.into_inner().expect("nothing panics while it adds up"))
}

fn next(rows: &mut impl Iterator<Item = Result<Row>>, side: &str) -> anyhow::Result<Option<Row>> {
    rows.next().transpose().with_context(|| format!("reading the {side} again"))
}

/// Returns the row that both sides contain, or `None` at the end of both.
fn check(source: Option<Row>, target: Option<&Row>) -> anyhow::Result<Option<Row>> {
    let name = |row: &Row| halite::to_string_binary(row.key());
    let difference = match (&source, target) {
        (None, None) => return Ok(None),
        (Some(row), None) => format!("row '{}' is not in the copy", name(row)),
        (None, Some(row)) => format!("row '{}' is in the copy and not in the source", name(row)),
        (Some(row), Some(other)) if row.key() < other.key() => {
            format!("row '{}' is not in the copy", name(row))
        }
        (Some(row), Some(other)) if row.key() > other.key() => {
            format!("row '{}' is in the copy and not in the source", name(other))
        }
        (Some(row), Some(other)) if !same(row, other) => {
            format!(
                "row '{}' has {} cells in the source and {} in the copy, and they differ",
                name(row),
                row.len(),
                other.len()
            )
        }
        _ => return Ok(source),
    };
    bail!(
        "source and copy differ: {difference}; was one of them written meanwhile, or did the \
         copy's table hold rows before or does it keep fewer versions?"
    )
}

fn same(row: &Row, other: &Row) -> bool {
    let same_cell = |(one, other): (CellRef<'_>, CellRef<'_>)| {
        one.key() == other.key() && one.value() == other.value()
    };
    row.len() == other.len() && row.iter().zip(other.iter()).all(same_cell)
}

fn update(crc: &mut Crc, cell: CellRef<'_>) {
    crc.update(cell.key());
    crc.update(cell.value());
}
