//! Benchmark runner: runs a workload on its threads and measures it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use halite::{Result, RowOp};
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::time::{ClockId, clock_gettime};

use super::performance_evaluation::{self, Evaluation};
use super::ycsb::{self, Ycsb};
use super::{BenchConfig, Workload};
use crate::backend::Backend;

/// Rows per batch while loading.
const LOAD_ROWS: u64 = 1000;
/// Rows sampled to determine whether the table is loaded.
const SAMPLED_ROWS: u64 = 100;
/// Operations between two updates of the progress bar.
const PROGRESS_STEP: u64 = 256;
/// Significant digits of a latency in the histogram.
const DIGITS: u8 = 3;

/// Workload on its table, shared by all threads.
pub(crate) trait Operations: Sync {
    /// Returns the operation that writes a row the workload requires.
    fn load(&self, row: u64) -> RowOp;
    /// Returns `true` if the row with that number exists.
    ///
    /// # Errors
    /// Returns an error if the store does.
    fn row_exists(&self, row: u64) -> Result<bool>;
    /// Returns the logical size of one row: bytes of its key and values.
    fn row_bytes(&self) -> u64;
    /// Returns the worker of one thread, for the operations from `first` (inclusive) to `end`
    /// (exclusive).
    fn worker(&self, first: u64, end: u64, seed: u64) -> Box<dyn Worker + '_>;
}

/// Worker of one thread of a workload.
pub(crate) trait Worker {
    /// Executes the operation with that number. Returns the bytes of keys and values written, 0 for
    /// reads.
    ///
    /// # Errors
    /// Returns an error if the store does.
    fn operate(&mut self, turn: u64) -> Result<u64>;
}

/// Measurements of one workload.
pub(crate) struct WorkloadResult {
    pub(crate) workload: Workload,
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    /// Latency of each operation in nanoseconds.
    pub(crate) latencies: Histogram<u64>,
    /// CPU time of the whole process, including the engine's background threads until their work is
    /// done.
    pub(crate) cpu_us_per_operation: f64,
    /// Bytes written to log and files per byte put; `None` if nothing was put, or on a cluster,
    /// which does not report it.
    pub(crate) written_per_byte_put: Option<f64>,
}

/// Benchmark of one backend.
pub(crate) struct Bench<'a> {
    pub(crate) backend: &'a Backend,
    pub(crate) config: &'a BenchConfig,
}

impl Bench<'_> {
    /// Runs one workload. Loads the rows it requires first, outside the measurement.
    ///
    /// # Errors
    /// Returns an error of the store, with the operation that failed.
    pub(crate) fn run(&self, workload: Workload) -> anyhow::Result<WorkloadResult> {
        let descriptor = if workload.is_ycsb() {
            ycsb::descriptor(self.config)?
        } else {
            performance_evaluation::descriptor(self.config)?
        };
        let name = descriptor.name().clone();
        if !self.backend.table_exists(&name)? {
            self.backend.create_table(descriptor, &[])?;
        }
        let table = self.backend.table(&name)?;
        let operations: Box<dyn Operations> = if workload.is_ycsb() {
            Box::new(Ycsb::new(workload, table, self.config))
        } else {
            Box::new(Evaluation::new(workload, table, self.config))
        };
        if workload.needs_rows() && !self.is_loaded(&*operations)? {
            self.load(&name.to_string(), &*operations)
                .with_context(|| format!("loading rows for {}", workload.name()))?;
            self.backend.flush(&name)?;
            wait_until_idle()?;
        }
        let usage = Usage::now(self.backend)?;
        let (latencies, seconds, bytes_put) =
            self.measure(workload, &*operations).with_context(|| workload.name())?;
        if bytes_put > 0 {
            self.backend.flush(&name)?;
            wait_until_idle()?;
        }
        let spent = Usage::now(self.backend)?;
        let count = latencies.len();
        Ok(WorkloadResult {
            workload,
            operations: count,
            seconds,
            latencies,
            cpu_us_per_operation: spent.cpu.saturating_sub(usage.cpu).as_secs_f64() * 1e6
                / count.max(1) as f64,
            written_per_byte_put: spent
                .written_since(&usage)
                .filter(|_| bytes_put > 0)
                .map(|written| written as f64 / bytes_put as f64),
        })
    }

    /// Returns `true` if all sampled rows exist. Random writes leave a third of the rows out.
    fn is_loaded(&self, operations: &dyn Operations) -> Result<bool> {
        let step = (self.config.rows / SAMPLED_ROWS).max(1) as usize;
        for row in (0..self.config.rows).rev().step_by(step) {
            if !operations.row_exists(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn load(&self, table: &str, operations: &dyn Operations) -> anyhow::Result<()> {
        let table = self.backend.table(table)?;
        let bar = progress("loading rows", self.config.rows);
        for first in (0..self.config.rows).step_by(LOAD_ROWS as usize) {
            let end = (first + LOAD_ROWS).min(self.config.rows);
            let puts = (first..end).map(|row| operations.load(row)).collect();
            table.batch(puts)?.into_iter().try_for_each(|result| result.map(drop))?;
            bar.inc(end - first);
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Returns the latencies, the seconds from the first operation to the last, and the bytes put.
    fn measure(
        &self,
        workload: Workload,
        operations: &dyn Operations,
    ) -> anyhow::Result<(Histogram<u64>, f64, u64)> {
        let count = workload.operations(self.config.rows, self.config.operations);
        let threads = self.config.threads.min(count);
        let bar = progress(&workload.name(), count);
        let stop = AtomicBool::new(false);
        let start = Instant::now();
        let parts: Vec<anyhow::Result<ThreadResult>> = std::thread::scope(|scope| {
            let part = |thread: u64| {
                let (first, end) = (count * thread / threads, count * (thread + 1) / threads);
                let (bar, stop) = (&bar, &stop);
                let seed = self.config.seed.wrapping_mul(1_000_003).wrapping_add(thread);
                scope.spawn(move || run_thread(operations, first, end, seed, bar, stop))
            };
            let handles: Vec<_> = (0..threads).map(part).collect();
            let ended =
                |handle: std::thread::ScopedJoinHandle<'_, anyhow::Result<ThreadResult>>| {
                    handle.join().unwrap_or_else(|_| {
                        Err(anyhow::anyhow!("a thread of the benchmark panicked"))
                    })
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

/// Measurements of one thread.
struct ThreadResult {
    latencies: Histogram<u64>,
    bytes_put: u64,
}

fn run_thread(
    operations: &dyn Operations,
    first: u64,
    end: u64,
    seed: u64,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> anyhow::Result<ThreadResult> {
    let mut worker = operations.worker(first, end, seed);
    let mut part = ThreadResult { latencies: Histogram::new(DIGITS)?, bytes_put: 0 };
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

/// Creates a progress bar on standard error. It draws nothing if that is not a terminal.
fn progress(message: &str, count: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:>16} {wide_bar} {pos}/{len} {per_sec} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(count).with_style(style).with_message(message.to_owned())
}

/// Resources used so far by the process and the store.
struct Usage {
    cpu: Duration,
    /// `None` on a remote cluster.
    written_bytes: Option<u64>,
}

impl Usage {
    fn now(place: &Backend) -> anyhow::Result<Self> {
        let status = place.store().map(|store| store.cluster_status()).transpose()?;
        Ok(Self {
            cpu: cpu()?,
            written_bytes: status
                .map(|status| status.wal_bytes + status.flushed_bytes + status.compacted_bytes),
        })
    }

    fn written_since(&self, before: &Self) -> Option<u64> {
        Some(self.written_bytes? - before.written_bytes?)
    }
}

/// Returns the CPU time of all threads of this process.
fn cpu() -> anyhow::Result<Duration> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Duration::new(u64::try_from(time.tv_sec)?, u32::try_from(time.tv_nsec)?))
}

/// Waits until the engine's background threads have finished the work that the workload caused,
/// that is, until the process is idle.
fn wait_until_idle() -> anyhow::Result<()> {
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    const MIN_IDLE_POLLS: u32 = 5;
    const MAX_IDLE_CPU: Duration = Duration::from_millis(1);
    let mut idle = 0;
    while idle < MIN_IDLE_POLLS {
        let before = cpu()?;
        std::thread::sleep(POLL_INTERVAL);
        idle = if cpu()?.saturating_sub(before) < MAX_IDLE_CPU { idle + 1 } else { 0 };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::WriteDurability;
    use clap::ValueEnum as _;

    fn config(durability: WriteDurability) -> BenchConfig {
        BenchConfig {
            rows: 300,
            value_bytes: 50,
            families: 2,
            threads: 3,
            operations: 200,
            distribution: None,
            durability,
            seed: 1,
        }
    }

    fn run(workloads: &[Workload], settings: &BenchConfig) -> Vec<WorkloadResult> {
        let folder = tempfile::tempdir().unwrap();
        let place = Backend::from(halite::open(folder.path()).unwrap());
        let bench = Bench { backend: &place, config: settings };
        let measured = workloads.iter().map(|workload| bench.run(*workload).unwrap()).collect();
        place.close().unwrap();
        measured
    }

    #[test]
    fn workload_runs_all_operations_and_only_writers_write() {
        let settings = config(WriteDurability::Flush);
        for measured in run(Workload::value_variants(), &settings) {
            let name = measured.workload.name();
            assert_eq!(
                measured.operations,
                measured.workload.operations(settings.rows, settings.operations),
                "{name}"
            );
            let reads = name.contains("Read") || name.starts_with("scan") || name == "ycsb-c";
            assert_eq!(measured.written_per_byte_put.is_none(), reads, "{name}");
            assert!(
                measured.written_per_byte_put.is_none_or(|written| written > 1.0),
                "{name}: {:?}",
                measured.written_per_byte_put
            );
        }
    }

    #[test]
    fn read_after_random_writes_loads_missing_rows() {
        let measured = run(
            &[Workload::RandomWrite, Workload::SequentialRead],
            &config(WriteDurability::Flush),
        );
        assert_eq!(measured[1].operations, 300);
    }

    #[test]
    fn writes_without_wal_write_fewer_bytes() {
        let written = |durability| {
            run(&[Workload::SequentialWrite], &config(durability))[0].written_per_byte_put.unwrap()
        };
        assert!(written(WriteDurability::Skip) + 0.9 < written(WriteDurability::Flush));
    }
}
