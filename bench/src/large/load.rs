//! Fill, and the measurements after a phase with writes.

use std::time::Instant;

use super::latencies::Latencies;
use super::phase::Phase;
use crate::Result;
use crate::data::Rows;
use crate::output::figure;
use crate::usage::{self, Usage};

/// Operations of a phase, and what they wrote.
pub(super) struct Work {
    pub(super) name: &'static str,
    pub(super) operations: u64,
    /// Bytes of the keys and values that were put, and of the deleted keys.
    pub(super) user_bytes: u64,
    /// Rows in the store afterwards.
    pub(super) live_rows: u64,
}

/// Puts all rows, one by one.
pub(super) fn fill(phase: &Phase) -> Result<()> {
    let count = phase.rows.count();
    let mut latencies = Latencies::new()?;
    let mut progress = phase.progress("rows", count);
    let mut value = Vec::new();
    let start = Usage::now()?;
    for row in 0..count {
        phase.rows.write_value(row, 0, &mut value);
        let key = Rows::key(row);
        let before = Instant::now();
        phase.store.put(&key, &value)?;
        let after = Instant::now();
        latencies.record(after - before);
        progress.tick(row + 1, after);
    }
    let acknowledged = start.until(&Usage::now()?);
    latencies.print("large fill", acknowledged.seconds);
    let user_bytes = count * phase.rows.row_bytes();
    let work = Work { name: "large fill", operations: count, user_bytes, live_rows: count };
    finish(phase, &start, &work)
}

/// Measures memory, waits for flushes and compactions, and measures everything that includes them.
pub(super) fn finish(phase: &Phase, start: &Usage, work: &Work) -> Result<()> {
    print_resident(work.name, "MB resident")?;
    phase.store.flush()?;
    settle(phase)?;
    let all = start.until(&Usage::now()?);
    let live_bytes = (work.live_rows * phase.rows.row_bytes()) as f64;
    figure(work.name, "cpu us/op", all.cpu_us / work.operations as f64);
    figure(work.name, "bytes written per byte put", all.written_bytes / work.user_bytes as f64);
    let disk_bytes = usage::folder_bytes(phase.folder)? as f64;
    figure(work.name, "bytes on disk per live byte", disk_bytes / live_bytes);
    print_resident(work.name, "MB resident, compacted")
}

/// Waits for flushes and compactions.
pub(super) fn settle(phase: &Phase) -> Result<()> {
    let mut progress = phase.progress("waiting for flushes and compactions", 0);
    usage::settle_for(phase.idle_seconds, &mut || progress.tick(0, Instant::now()))
}

/// Prints the resident memory of this process.
pub(super) fn print_resident(name: &str, unit: &str) -> Result<()> {
    figure(name, unit, usage::resident_bytes()? as f64 / 1e6);
    Ok(())
}
