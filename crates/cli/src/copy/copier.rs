//! Copier that runs over the ranges of a table on several threads.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use anyhow::Context as _;
use halite::{BlockingTable, Row, Scan};
use indicatif::{ProgressBar, ProgressStyle};

use super::rows;
use super::state::{CopyState, Range};

/// Maximum cells of a row in memory; a wider row is returned as several partial rows.
const MAX_PARTIAL_ROW_CELLS: usize = 1000;
/// Bytes per write batch.
const BATCH_BYTES: usize = 1 << 20;

/// Copies the remaining rows. Returns the rows and cells written.
///
/// # Errors
/// Returns the first error of any thread; the other threads then stop.
pub(super) fn copy(
    from: &BlockingTable,
    to: &BlockingTable,
    state: &CopyState,
    threads: usize,
) -> anyhow::Result<(u64, u64)> {
    let ranges = state.ranges();
    let bar = progress("copying");
    let (rows, cells) = (AtomicU64::new(0), AtomicU64::new(0));
    for_each(ranges, threads, |number, range, stop| {
        if range.is_done {
            return Ok(());
        }
        let mut batch = Batch { to, state, range: number, rows: Vec::new(), bytes: 0 };
        for row in from.scan(remaining_scan(range)) {
            let row = row.with_context(|| {
                format!(
                    "reading after row '{}'",
                    halite::to_string_binary(batch.last_row().unwrap_or(&range.start))
                )
            })?;
            cells.fetch_add(row.len() as u64, Relaxed);
            rows.fetch_add(u64::from(!row.is_partial()), Relaxed);
            bar.inc(u64::from(!row.is_partial()));
            batch.add(row)?;
            if stop.load(Relaxed) {
                return Ok(());
            }
        }
        batch.write()?;
        Ok(state.record_done(number)?)
    })?;
    bar.finish_and_clear();
    Ok((rows.into_inner(), cells.into_inner()))
}

/// Returns a scan of the rows of a range that have not arrived. It includes the last arrived row,
/// part of which may be missing.
fn remaining_scan(range: &Range) -> Scan {
    let scan =
        Scan::all().raw(true).all_versions().cache_blocks(false).batch(MAX_PARTIAL_ROW_CELLS);
    let scan = scan.start(range.arrived.clone().unwrap_or_else(|| range.start.clone()));
    if range.end.is_empty() { scan } else { scan.stop(range.end.clone()) }
}

/// Batch of rows to write.
struct Batch<'a> {
    to: &'a BlockingTable,
    state: &'a CopyState,
    range: usize,
    rows: Vec<Row>,
    bytes: usize,
}

impl Batch<'_> {
    fn last_row(&self) -> Option<&[u8]> {
        self.rows.last().map(Row::key)
    }

    fn add(&mut self, row: Row) -> anyhow::Result<()> {
        self.bytes += row.cells().bytes().len();
        self.rows.push(row);
        if self.bytes < BATCH_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let Some(last) = self.rows.last() else { return Ok(()) };
        let ops = self.rows.iter().flat_map(rows::ops).collect();
        let results = self.to.batch(ops)?;
        results.into_iter().try_for_each(|result| result.map(drop)).with_context(|| {
            format!("writing up to row '{}'", halite::to_string_binary(last.key()))
        })?;
        self.state.record_progress(self.range, last.key())?;
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Calls a function for every range, on several threads. They stop at the first error.
pub(super) fn for_each(
    ranges: &[Range],
    threads: usize,
    work: impl Fn(usize, &Range, &AtomicBool) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || -> anyhow::Result<()> {
        while !stop.load(Relaxed) {
            let number = next.fetch_add(1, Relaxed);
            let Some(range) = ranges.get(number) else { return Ok(()) };
            work(number, range, &stop).inspect_err(|_| stop.store(true, Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..threads.clamp(1, ranges.len().max(1))).map(|_| scope.spawn(run)).collect();
        let ended = |handle: std::thread::ScopedJoinHandle<'_, anyhow::Result<()>>| {
            handle.join().unwrap_or_else(|_| {
                Err(anyhow::anyhow!("a thread of the copy panicked; its message is above"))
            })
        };
        handles.into_iter().map(ended).collect::<Vec<_>>().into_iter().collect()
    })
}

/// Creates a progress display of the rows so far, on standard error. It draws nothing if that is
/// not a terminal.
pub(super) fn progress(message: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg} {spinner} {human_pos} rows, {per_sec}, {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style).with_message(message.to_owned())
}
