//! Workloads, run in a child: each prints its measurements as `name|unit|value` lines.

use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::arguments::Arguments;
use crate::data::{Rows, pick};
use crate::engine::{self, Durability, Engine, Settings};
use crate::large::{self, Part};
use crate::output::figure;
use crate::usage::{self, Usage, folder_bytes};

/// Rows per batch.
const BATCH_ROWS: usize = 100;
/// Bytes of a value in the large store whose opening is timed.
const LARGE_VALUE_BYTES: usize = 1000;

/// Measurements that share a separate directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Single puts, then random reads twice, then a full scan.
    Single,
    /// Batched puts.
    Batch,
    /// Single puts, each synced to disk before the next.
    Fsync,
    /// Fills a store of about a gigabyte, closes it, and opens it in another process.
    Open,
    /// Second part of `Open`.
    Reopen,
    /// An empty store.
    Idle,
    /// Data larger than memory.
    Large,
    /// Part of `Large`.
    LargePart(Part),
}

/// Parts of `Large`.
static LARGE_PARTS: [Workload; Part::ALL.len()] = {
    let mut parts = [Workload::Large; Part::ALL.len()];
    let mut index = 0;
    while index < parts.len() {
        parts[index] = Workload::LargePart(Part::ALL[index]);
        index += 1;
    }
    parts
};

impl Workload {
    /// Workloads that run unless others are selected.
    pub(crate) const DEFAULT: [Self; 5] =
        [Self::Single, Self::Batch, Self::Fsync, Self::Open, Self::Idle];

    /// Returns the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Batch => "batch",
            Self::Fsync => "fsync",
            Self::Open => "open",
            Self::Reopen => "reopen",
            Self::Idle => "idle",
            Self::Large => "large",
            Self::LargePart(part) => part.name(),
        }
    }

    /// Returns the workload with that name, including parts.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let others = [Self::Reopen, Self::Large].into_iter().chain(LARGE_PARTS);
        Self::DEFAULT.into_iter().chain(others).find(|workload| workload.name() == name)
    }

    /// Returns the parts, each run in its own process, one after another in the same directory.
    pub(crate) fn parts(self) -> &'static [Self] {
        match self {
            Self::Single => &[Self::Single],
            Self::Batch => &[Self::Batch],
            Self::Fsync => &[Self::Fsync],
            Self::Open | Self::Reopen => &[Self::Open, Self::Reopen],
            Self::Idle => &[Self::Idle],
            Self::Large | Self::LargePart(_) => &LARGE_PARTS,
        }
    }

    /// Returns `true` for a part that ends by killing its process.
    pub(crate) fn is_killed(self) -> bool {
        self == Self::LargePart(Part::Crash)
    }
}

/// Runs a workload in a child.
pub(crate) fn run(
    engine: &str,
    workload: Workload,
    folder: &Path,
    arguments: &Arguments,
) -> Result<()> {
    if let Workload::LargePart(part) = workload {
        return large::run(engine, part, folder, arguments);
    }
    let durability =
        if workload == Workload::Fsync { Durability::Fsync } else { Durability::Flush };
    let start = Instant::now();
    let store = engine::open(engine, folder, Settings::new(durability))?;
    let rows = Rows::new(arguments.value_bytes);
    match workload {
        Workload::Single => {
            fill(&*store, &rows, arguments.rows, "put", folder)?;
            read(&*store, &rows, arguments, "get, first pass")?;
            read(&*store, &rows, arguments, "get, cached")?;
            scan(&*store, &rows, arguments.rows)?;
        }
        Workload::Batch => fill_batches(&*store, &rows, arguments.rows, folder)?,
        Workload::Fsync => fill(&*store, &rows, arguments.fsync_rows, "put, fsync", folder)?,
        Workload::Open => make_large(&*store, arguments.large_bytes)?,
        Workload::Reopen => first_read(&*store, start)?,
        Workload::Idle => idle()?,
        Workload::Large | Workload::LargePart(_) => {
            return Err("large runs as its parts".to_string());
        }
    }
    store.close()
}

fn fill(store: &dyn Engine, rows: &Rows, count: u64, name: &str, folder: &Path) -> Result<()> {
    let start = Usage::now()?;
    for row in 0..count {
        store.put(&Rows::key(row), rows.value(row))?;
    }
    finish_fill(store, rows, count, name, &start, folder)
}

fn fill_batches(store: &dyn Engine, rows: &Rows, count: u64, folder: &Path) -> Result<()> {
    let start = Usage::now()?;
    put_in_batches(store, rows, count)?;
    finish_fill(store, rows, count, "put in batches of 100", &start, folder)
}

/// Finishes a fill. The rate counts until the last write is acknowledged, CPU time and bytes until
/// the background work is done.
fn finish_fill(
    store: &dyn Engine,
    rows: &Rows,
    count: u64,
    name: &str,
    start: &Usage,
    folder: &Path,
) -> Result<()> {
    let acknowledged = start.until(&Usage::now()?);
    store.flush()?;
    usage::settle()?;
    let all = start.until(&Usage::now()?);
    let user_bytes = (count * rows.row_bytes()) as f64;
    figure(name, "ops/s", count as f64 / acknowledged.seconds);
    figure(name, "cpu us/op", all.cpu_us / count as f64);
    figure(name, "bytes written per byte put", all.written_bytes / user_bytes);
    figure(name, "bytes on disk per byte put", folder_bytes(folder)? as f64 / user_bytes);
    Ok(())
}

fn read(store: &dyn Engine, rows: &Rows, arguments: &Arguments, name: &str) -> Result<()> {
    let reads = arguments.rows / 2;
    let start = Usage::now()?;
    let mut wrong = 0u64;
    for turn in 0..reads {
        let row = pick(turn, arguments.rows);
        let expected = rows.value(row);
        let found =
            store.get(&Rows::key(row), &mut |value| wrong += u64::from(value != expected))?;
        wrong += u64::from(!found);
    }
    let spent = start.until(&Usage::now()?);
    if wrong > 0 {
        return Err(format!("{wrong} of {reads} reads returned a wrong value"));
    }
    figure(name, "ops/s", reads as f64 / spent.seconds);
    figure(name, "cpu us/op", spent.cpu_us / reads as f64);
    Ok(())
}

fn scan(store: &dyn Engine, rows: &Rows, expected: u64) -> Result<()> {
    let start = Usage::now()?;
    let (mut count, mut bytes) = (0u64, 0u64);
    store.scan(&mut |key, value| {
        count += 1;
        bytes += (key.len() + value.len()) as u64;
    })?;
    let spent = start.until(&Usage::now()?);
    if (count, bytes) != (expected, expected * rows.row_bytes()) {
        return Err(format!(
            "the scan returned {count} rows of {bytes} bytes, {expected} were written"
        ));
    }
    figure("scan", "ops/s", count as f64 / spent.seconds);
    figure("scan", "cpu us/op", spent.cpu_us / count as f64);
    Ok(())
}

fn make_large(store: &dyn Engine, bytes: u64) -> Result<()> {
    let rows = Rows::new(LARGE_VALUE_BYTES);
    put_in_batches(store, &rows, bytes / rows.row_bytes())?;
    store.flush()?;
    usage::settle()
}

fn put_in_batches(store: &dyn Engine, rows: &Rows, count: u64) -> Result<()> {
    for first in (0..count).step_by(BATCH_ROWS) {
        let numbers = first..(first + BATCH_ROWS as u64).min(count);
        let keys: Vec<_> = numbers.clone().map(Rows::key).collect();
        let batch: Vec<(&[u8], &[u8])> =
            keys.iter().zip(numbers).map(|(key, row)| (&key[..], rows.value(row))).collect();
        store.put_batch(&batch)?;
    }
    Ok(())
}

fn first_read(store: &dyn Engine, start: Instant) -> Result<()> {
    let found = store.get(&Rows::key(0), &mut |_| ())?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    if !found {
        return Err("the first row is missing after reopening".to_string());
    }
    figure("open after a clean close", "ms to first read", milliseconds);
    Ok(())
}

fn idle() -> Result<()> {
    usage::settle()?;
    figure("idle", "MB resident", usage::resident_bytes()? as f64 / 1e6);
    Ok(())
}
