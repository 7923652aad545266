//! Runs over the ranges of a copy on several threads.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use anyhow::Context as _;
use halite::{Row, Scan};
use indicatif::{ProgressBar, ProgressStyle};

use super::rows;
use super::state::{Range, State};
use crate::place::PlaceTable;

/// Cells of a row that are held at a time; wider rows come in pieces.
const PIECE_CELLS: usize = 1000;
/// Bytes that are written together.
const BATCH_BYTES: usize = 1 << 20;

/// Copies what has not arrived; rows and cells written.
///
/// # Errors
/// The first of any thread; the others stop then.
pub(super) fn copy(from: &PlaceTable, to: &PlaceTable, state: &State, threads: usize) -> anyhow::Result<(u64, u64)> {
    let ranges = state.ranges();
    let bar = progress("copying");
    let (rows, cells) = (AtomicU64::new(0), AtomicU64::new(0));
    for_each(ranges, threads, |number, range, stop| {
        if range.is_done {
            return Ok(());
        }
        let mut batch = Batch { to, state, range: number, rows: Vec::new(), bytes: 0 };
        for row in from.scan(left_of(range)) {
            let row = row.with_context(|| format!("reading behind row '{}'", halite::print_bytes(batch.last_row().unwrap_or(&range.start))))?;
            cells.fetch_add(row.len() as u64, Relaxed);
            rows.fetch_add(u64::from(!row.is_partial()), Relaxed);
            bar.inc(u64::from(!row.is_partial()));
            batch.add(row)?;
            if stop.load(Relaxed) {
                return Ok(());
            }
        }
        batch.write()?;
        Ok(state.done(number)?)
    })?;
    bar.finish_and_clear();
    Ok((rows.into_inner(), cells.into_inner()))
}

/// Everything of a range that has not arrived. The last row that has may have arrived in part.
fn left_of(range: &Range) -> Scan {
    let scan = Scan::all().raw(true).all_versions().cache_blocks(false).batch(PIECE_CELLS);
    let scan = scan.start(range.arrived.clone().unwrap_or_else(|| range.start.clone()));
    if range.end.is_empty() { scan } else { scan.stop(range.end.clone()) }
}

/// Rows on their way.
struct Batch<'a> {
    to: &'a PlaceTable,
    state: &'a State,
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
        results
            .into_iter()
            .try_for_each(|result| result.map(drop))
            .with_context(|| format!("writing up to row '{}'", halite::print_bytes(last.key())))?;
        self.state.note(self.range, last.key())?;
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Does something with every range, on several threads. They stop at the first error.
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
        let handles: Vec<_> = (0..threads.clamp(1, ranges.len().max(1))).map(|_| scope.spawn(run)).collect();
        let ended = |handle: std::thread::ScopedJoinHandle<'_, anyhow::Result<()>>| {
            handle.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread of the copy panicked; its message is above")))
        };
        handles.into_iter().map(ended).collect::<Vec<_>>().into_iter().collect()
    })
}

/// Rows so far, on standard error; draws nothing if that is not a terminal.
pub(super) fn progress(what: &str) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg} {spinner} {human_pos} rows, {per_sec}, {elapsed}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style).with_message(what.to_owned())
}
