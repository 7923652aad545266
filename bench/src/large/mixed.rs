//! Overwrites and deletes of one thread, gets of a second and short scans of a third, while the
//! store compacts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use super::latencies::Latencies;
use super::load::{Work, finish};
use super::phase::Phase;
use super::reader::Reader;
use super::rows::{Fate, Stage};
use crate::Result;
use crate::data::{KEY_BYTES, Rows, pick};
use crate::usage::Usage;

/// Changes all rows that are to be changed. The readers run until the last change is acknowledged.
pub(super) fn change(phase: &Phase) -> Result<()> {
    let (overwritten, deleted) = phase.rows.changes();
    let stop = AtomicBool::new(false);
    let start = Usage::now()?;
    let (writes, gets, scans, end) = std::thread::scope(|scope| {
        let gets = scope.spawn(|| read_until(phase, &stop, Reader::get));
        let scans = scope.spawn(|| read_until(phase, &stop, Reader::scan));
        let writes = write(phase, &stop, overwritten + deleted);
        let end = Usage::now();
        stop.store(true, Ordering::Relaxed);
        (writes, join(gets), join(scans), end)
    });
    // A failed reader stops the writer, so its error is the cause.
    let (gets, scans, writes) = (gets?, scans?, writes?);
    let seconds = start.until(&end?).seconds;
    writes.print("large mixed, put or delete", seconds);
    gets.print("large mixed, get", seconds);
    scans.print("large mixed, scan of 100", seconds);
    let work = Work {
        name: "large mixed",
        operations: writes.count() + gets.count() + scans.count(),
        user_bytes: overwritten * phase.rows.row_bytes() + deleted * KEY_BYTES as u64,
        live_rows: phase.rows.count() - deleted,
    };
    finish(phase, &start, &work)
}

fn write(phase: &Phase, stop: &AtomicBool, total: u64) -> Result<Latencies> {
    let mut latencies = Latencies::new()?;
    let mut progress = phase.progress("puts and deletes", total);
    let mut value = Vec::new();
    for row in phase.rows.shuffled() {
        let fate = phase.rows.fate(row);
        if fate == Fate::Kept {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let key = Rows::key(row);
        phase.rows.write_value(row, 1, &mut value);
        let before = Instant::now();
        if fate == Fate::Deleted {
            phase.store.delete(&key)?;
        } else {
            phase.store.put(&key, &value)?;
        }
        let after = Instant::now();
        latencies.record(after - before);
        progress.tick(latencies.count(), after);
    }
    Ok(latencies)
}

/// Calls `read` with random rows until `stop` is set, and at least once. Sets it after an error.
fn read_until<'a>(
    phase: &'a Phase,
    stop: &AtomicBool,
    read: impl Fn(&mut Reader<'a>, u64) -> Result<Instant>,
) -> Result<Latencies> {
    let mut reader = Reader::new(phase, Stage::Mixed)?;
    for turn in 0.. {
        if let Err(error) = read(&mut reader, pick(turn, phase.rows.count())) {
            stop.store(true, Ordering::Relaxed);
            return Err(error);
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(reader.into_latencies())
}

fn join<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| Err("a reading thread panicked".to_string()))
}
