//! Reads of the changed rows by fresh processes.

use std::time::Instant;

use super::load::print_resident;
use super::phase::Phase;
use super::reader::{Reader, SCAN_ROWS};
use super::rows::{Fate, Stage};
use crate::Result;
use crate::data::pick;
use crate::output::figure;
use crate::usage::Usage;

/// Cold gets and scans, at most: so few that most of them find their blocks on the disk.
const MAX_COLD_GETS: u64 = 20_000;
const MAX_COLD_SCANS: u64 = 5_000;
/// Warm gets and scans, at most.
const MAX_WARM_GETS: u64 = 1_000_000;
const MAX_WARM_SCANS: u64 = 50_000;
/// Number of the first turn of the gets whose time is not measured, so that they read other rows.
const WARM_UP_TURN: u64 = 1 << 40;

/// Gets rows in random order after the page cache was dropped.
pub(super) fn cold_gets(phase: &Phase) -> Result<()> {
    let count = (phase.rows.count() / 20).clamp(1, MAX_COLD_GETS);
    measure(phase, "large get, cold", count, Reader::get)
}

/// Scans short ranges in random order after the page cache was dropped.
pub(super) fn cold_scans(phase: &Phase) -> Result<()> {
    let count = (phase.rows.count() / 100).clamp(1, MAX_COLD_SCANS);
    measure(phase, "large scan of 100, cold", count, Reader::scan)
}

/// Scans everything, which fills the page cache, then gets rows and scans short ranges.
pub(super) fn warm(phase: &Phase) -> Result<()> {
    full_scan(phase)?;
    let gets = phase.rows.count().min(MAX_WARM_GETS);
    let mut reader = Reader::new(phase, Stage::Changed)?;
    for turn in 0..gets {
        reader.get(pick(turn + WARM_UP_TURN, phase.rows.unflushed().end))?;
    }
    measure(phase, "large get, warm", gets, Reader::get)?;
    let scans = (phase.rows.count() / 20).clamp(1, MAX_WARM_SCANS);
    measure(phase, "large scan of 100, warm", scans, Reader::scan)
}

/// Measures `count` calls of `read` with random rows.
fn measure<'a>(
    phase: &'a Phase,
    name: &str,
    count: u64,
    read: impl Fn(&mut Reader<'a>, u64) -> Result<Instant>,
) -> Result<()> {
    let mut reader = Reader::new(phase, Stage::Changed)?;
    let mut progress = phase.progress(name, count);
    let start = Usage::now()?;
    for turn in 0..count {
        let row = pick(turn, phase.rows.unflushed().end);
        progress.tick(turn, read(&mut reader, row)?);
    }
    let spent = start.until(&Usage::now()?);
    reader.into_latencies().print(name, spent.seconds);
    figure(name, "cpu us/op", spent.cpu_us / count as f64);
    print_resident(name, "MB resident")
}

/// Scans all rows. Their order and number, and the sum of their numbers, must be right; the values
/// are verified by the other reads.
fn full_scan(phase: &Phase) -> Result<()> {
    let rows = phase.rows;
    let expected = (0..rows.unflushed().end)
        .filter(|row| rows.fate(*row) != Fate::Deleted)
        .fold((0, 0), |(count, sum): (u64, u64), row| (count + 1, sum.wrapping_add(row)));
    let mut progress = phase.progress("full scan", expected.0);
    let (mut count, mut sum, mut bytes, mut misplaced) = (0u64, 0u64, 0u64, 0u64);
    let mut last = None;
    let start = Usage::now()?;
    phase.store.scan(&mut |key, value| {
        let halves = key.split_first_chunk::<8>().and_then(|(left, right)| {
            Some((u64::from_be_bytes(*left), u64::from_be_bytes(right.try_into().ok()?)))
        });
        let place = halves.map(|(left, _)| left);
        misplaced += u64::from(place <= last);
        last = place;
        count += 1;
        sum = sum.wrapping_add(halves.map_or(0, |(_, row)| row));
        bytes += (key.len() + value.len()) as u64;
        if count % 65_536 == 0 {
            progress.tick(count, Instant::now());
        }
    })?;
    let spent = start.until(&Usage::now()?);
    if (count, sum) != expected || bytes != count * rows.row_bytes() || misplaced > 0 {
        return Err(format!(
            "the full scan returned {count} rows of {bytes} bytes, {misplaced} out of order; {} \
             rows of {} bytes are in the store",
            expected.0,
            rows.row_bytes()
        ));
    }
    figure("large full scan", "rows/s", count as f64 / spent.seconds);
    figure("large full scan", "cpu us/op", spent.cpu_us / count as f64);
    print_resident("large full scan", "MB resident")
}

const _: () = assert!(SCAN_ROWS == 100, "the names of the measurements state it");
