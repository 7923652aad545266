//! Runs a workload on its threads and measures it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use halite::{Result, RowOp, Store};
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::time::{ClockId, clock_gettime};

use super::evaluation::{self, Evaluation};
use super::ycsb::{self, Ycsb};
use super::{Settings, Workload};
use crate::place::Place;

/// Rows put together while loading.
const LOAD_ROWS: u64 = 1000;
/// Rows looked at to see whether all are there.
const LOOKED_AT: u64 = 100;
/// Operations between two steps of the progress bar.
const PROGRESS_STEP: u64 = 256;
/// Digits of a latency that the histogram keeps.
const DIGITS: u8 = 3;

/// A workload on its table, shared by all threads.
pub(crate) trait Operations: Sync {
    /// What puts a row that the workload needs to be there.
    fn load(&self, row: u64) -> RowOp;
    /// Whether the row of that number is there.
    ///
    /// # Errors
    /// The store's.
    fn is_there(&self, row: u64) -> Result<bool>;
    /// Bytes of one row as the user counts them: key and values.
    fn row_bytes(&self) -> u64;
    /// One thread's part, for the operations from `first` to before `end`.
    fn worker(&self, first: u64, end: u64, seed: u64) -> Box<dyn Worker + '_>;
}

/// One thread's part of a workload.
pub(crate) trait Worker {
    /// Does the operation of that number; answers the bytes put, key and value, 0 for reads.
    ///
    /// # Errors
    /// The store's.
    fn operate(&mut self, turn: u64) -> Result<u64>;
}

/// What was measured of one workload.
pub(crate) struct Measured {
    pub(crate) workload: Workload,
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    /// Nanoseconds of each operation.
    pub(crate) latencies: Histogram<u64>,
    /// Processor time of the whole process, the engine's own threads included, until their work was done.
    pub(crate) cpu_us_per_operation: f64,
    /// Bytes written to log and files for each byte put; `None` if nothing was put, or on a cluster, which does not say.
    pub(crate) written_per_byte_put: Option<f64>,
}

/// Where workloads are run.
pub(crate) struct Bench<'a> {
    pub(crate) place: &'a Place,
    pub(crate) settings: &'a Settings,
}

impl Bench<'_> {
    /// Runs one workload; loads the rows it needs before, unmeasured.
    ///
    /// # Errors
    /// The store's, and with what was being done.
    pub(crate) fn run(&self, workload: Workload) -> anyhow::Result<Measured> {
        let descriptor = if workload.is_ycsb() { ycsb::descriptor(self.settings)? } else { evaluation::descriptor(self.settings)? };
        let name = descriptor.name().clone();
        if !self.place.has_table(&name)? {
            self.place.create_table(descriptor, &[])?;
        }
        let table = self.place.table(&name.to_string())?;
        let operations: Box<dyn Operations> = if workload.is_ycsb() {
            Box::new(Ycsb::new(workload, table, self.settings))
        } else {
            Box::new(Evaluation::new(workload, table, self.settings))
        };
        if workload.needs_rows() && !self.is_loaded(&*operations)? {
            self.load(&name.to_string(), &*operations).with_context(|| format!("loading rows for {}", workload.name()))?;
            self.place.flush(&name)?;
            settle()?;
        }
        let usage = Usage::now(self.place)?;
        let (latencies, seconds, bytes_put) = self.measure(workload, &*operations).with_context(|| workload.name())?;
        if bytes_put > 0 {
            self.place.flush(&name)?;
            settle()?;
        }
        let spent = Usage::now(self.place)?;
        let count = latencies.len();
        Ok(Measured {
            workload,
            operations: count,
            seconds,
            latencies,
            cpu_us_per_operation: spent.cpu.saturating_sub(usage.cpu).as_secs_f64() * 1e6 / count.max(1) as f64,
            written_per_byte_put: spent.written_since(&usage).filter(|_| bytes_put > 0).map(|written| written as f64 / bytes_put as f64),
        })
    }

    /// Whether every row is there, as far as a look at some of them tells. Random writes leave a third of the rows out.
    fn is_loaded(&self, operations: &dyn Operations) -> Result<bool> {
        let step = (self.settings.rows / LOOKED_AT).max(1) as usize;
        for row in (0..self.settings.rows).rev().step_by(step) {
            if !operations.is_there(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn load(&self, table: &str, operations: &dyn Operations) -> anyhow::Result<()> {
        let table = self.place.table(table)?;
        let bar = progress("loading rows", self.settings.rows);
        for first in (0..self.settings.rows).step_by(LOAD_ROWS as usize) {
            let end = (first + LOAD_ROWS).min(self.settings.rows);
            let puts = (first..end).map(|row| operations.load(row)).collect();
            table.batch(puts)?.into_iter().try_for_each(|result| result.map(drop))?;
            bar.inc(end - first);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// The latencies, the seconds from the first operation to the last, and the bytes put.
    fn measure(&self, workload: Workload, operations: &dyn Operations) -> anyhow::Result<(Histogram<u64>, f64, u64)> {
        let count = workload.operations(self.settings.rows, self.settings.operations);
        let threads = self.settings.threads.min(count);
        let bar = progress(&workload.name(), count);
        let stop = AtomicBool::new(false);
        let start = Instant::now();
        let parts: Vec<anyhow::Result<Part>> = std::thread::scope(|scope| {
            let part = |thread: u64| {
                let (first, end) = (count * thread / threads, count * (thread + 1) / threads);
                let (bar, stop) = (&bar, &stop);
                let seed = self.settings.seed.wrapping_mul(1_000_003).wrapping_add(thread);
                scope.spawn(move || run_part(operations, first, end, seed, bar, stop))
            };
            let handles: Vec<_> = (0..threads).map(part).collect();
            let ended = |handle: std::thread::ScopedJoinHandle<'_, anyhow::Result<Part>>| {
                handle.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread of the benchmark panicked")))
            };
            handles.into_iter().map(ended).collect()
        });
        let seconds = start.elapsed().as_secs_f64();
        bar.finish_and_clear();
        let mut latencies = Histogram::new(DIGITS)?;
        let mut bytes_put = 0;
        for part in parts {
            let part = part?;
            latencies.add(&part.latencies)?;
            bytes_put += part.bytes_put;
        }
        Ok((latencies, seconds, bytes_put))
    }
}

/// What one thread measured.
struct Part {
    latencies: Histogram<u64>,
    bytes_put: u64,
}

fn run_part(operations: &dyn Operations, first: u64, end: u64, seed: u64, bar: &ProgressBar, stop: &AtomicBool) -> anyhow::Result<Part> {
    let mut worker = operations.worker(first, end, seed);
    let mut part = Part { latencies: Histogram::new(DIGITS)?, bytes_put: 0 };
    for turn in first..end {
        let start = Instant::now();
        let done = worker.operate(turn);
        part.latencies.record(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))?;
        part.bytes_put += done.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        if turn % PROGRESS_STEP == 0 {
            bar.inc(PROGRESS_STEP);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(part)
}

/// A bar on standard error; it draws nothing if that is not a terminal.
fn progress(what: &str, count: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:>16} {wide_bar} {pos}/{len} {per_sec} {eta}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(count).with_style(style).with_message(what.to_owned())
}

/// What the process and the store have used so far.
struct Usage {
    cpu: Duration,
    /// `None` on a cluster elsewhere.
    written_bytes: Option<u64>,
}

impl Usage {
    fn now(place: &Place) -> anyhow::Result<Self> {
        let status = place.store().map(Store::status);
        Ok(Self { cpu: cpu()?, written_bytes: status.map(|status| status.wal_bytes + status.flushed_bytes + status.compacted_bytes) })
    }

    fn written_since(&self, before: &Self) -> Option<u64> {
        Some(self.written_bytes? - before.written_bytes?)
    }
}

/// Processor time of all threads of this process.
fn cpu() -> anyhow::Result<Duration> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Duration::new(u64::try_from(time.tv_sec)?, u32::try_from(time.tv_nsec)?))
}

/// Waits until the engine's own threads have done what the workload left them to do: until the process is idle.
fn settle() -> anyhow::Result<()> {
    const LOOK: Duration = Duration::from_millis(20);
    const IDLE_LOOKS: u32 = 5;
    const IDLE_CPU_MAX: Duration = Duration::from_millis(1);
    let mut idle = 0;
    while idle < IDLE_LOOKS {
        let before = cpu()?;
        std::thread::sleep(LOOK);
        idle = if cpu()?.saturating_sub(before) < IDLE_CPU_MAX { idle + 1 } else { 0 };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Reached;
    use clap::ValueEnum as _;

    fn settings(durability: Reached) -> Settings {
        Settings { rows: 300, value_bytes: 50, families: 2, threads: 3, operations: 200, distribution: None, durability, seed: 1 }
    }

    fn run(workloads: &[Workload], settings: &Settings) -> Vec<Measured> {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::Here(halite::open(folder.path()).unwrap());
        let bench = Bench { place: &place, settings };
        let measured = workloads.iter().map(|workload| bench.run(*workload).unwrap()).collect();
        place.close().unwrap();
        measured
    }

    #[test]
    fn every_workload_does_all_its_operations_and_only_writers_write() {
        let settings = settings(Reached::Flush);
        for measured in run(Workload::value_variants(), &settings) {
            let name = measured.workload.name();
            assert_eq!(measured.operations, measured.workload.operations(settings.rows, settings.operations), "{name}");
            let reads = name.contains("Read") || name.starts_with("scan") || name == "ycsb-c";
            assert_eq!(measured.written_per_byte_put.is_none(), reads, "{name}");
            assert!(measured.written_per_byte_put.is_none_or(|written| written > 1.0), "{name}: {:?}", measured.written_per_byte_put);
        }
    }

    #[test]
    fn a_read_after_random_writes_loads_what_they_left_out() {
        let measured = run(&[Workload::RandomWrite, Workload::SequentialRead], &settings(Reached::Flush));
        assert_eq!(measured[1].operations, 300);
    }

    #[test]
    fn writes_that_skip_the_log_write_less() {
        let written = |durability| run(&[Workload::SequentialWrite], &settings(durability))[0].written_per_byte_put.unwrap();
        assert!(written(Reached::Skip) + 0.9 < written(Reached::Flush));
    }
}
