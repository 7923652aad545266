//! Threads that execute the operations when they are due, and what they measure.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use halite::BlockingTable;
use hdrhistogram::Histogram;

use super::patterns::{Operation, OperationKind, Pattern};
use super::schedule::Schedule;
use super::{Shape, StopRequest, TrafficConfig, TrafficReport, TrafficTable};

/// Significant digits of a latency in the histogram.
const DIGITS: u8 = 3;
/// Longest sleep of a thread before it looks whether a stop is requested.
const MAX_SLEEP: Duration = Duration::from_millis(50);
/// Operations that are due within this time are executed at once.
const SLACK: Duration = Duration::from_millis(1);
/// Time that operations in progress get at the end.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Lateness from which the store does not keep up.
const LATE: Duration = Duration::from_millis(500);

/// Measurements of some operations.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) operations: u64,
    /// Operations by kind, in the order of [`OperationKind::NAMES`].
    pub(super) kinds: [u64; OperationKind::NAMES.len()],
    /// Rows that gets and scans returned.
    pub(super) rows: u64,
    pub(super) errors: u64,
    /// Latency of each operation in nanoseconds, from its start: a late operation has not waited.
    pub(super) latencies: Histogram<u64>,
}

impl Measured {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            operations: 0,
            kinds: [0; OperationKind::NAMES.len()],
            rows: 0,
            errors: 0,
            latencies: Histogram::new(DIGITS)?,
        })
    }

    fn record(&mut self, kind: OperationKind, took: Duration, rows: Option<u64>) {
        self.operations += 1;
        self.kinds[kind as usize] += 1;
        self.rows += rows.unwrap_or(0);
        self.errors += u64::from(rows.is_none());
        // Cannot fail: the histogram grows.
        let _ = self.latencies.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.operations += other.operations;
        for (sum, count) in self.kinds.iter_mut().zip(other.kinds) {
            *sum += count;
        }
        self.rows += other.rows;
        self.errors += other.errors;
        Ok(self.latencies.add(&other.latencies)?)
    }

    fn clear(&mut self) {
        self.latencies.reset();
        self.kinds.fill(0);
        (self.operations, self.rows, self.errors) = (0, 0, 0);
    }
}

/// Measurements of an interval, or of the whole run.
pub(super) struct Interval {
    /// Time since the start of the run, at the end of the interval.
    pub(super) end: Duration,
    pub(super) length: Duration,
    pub(super) measured: Measured,
    /// `true` if operations were late at the end of the interval, or left out.
    pub(super) is_late: bool,
}

/// Operations with their times.
pub(super) struct Source {
    pattern: Box<dyn Pattern>,
    schedule: Schedule,
}

impl Source {
    pub(super) fn new(config: &TrafficConfig, pattern: Box<dyn Pattern>) -> Self {
        let period = (config.shape == Shape::Periodic).then_some(config.period);
        Self { pattern, schedule: Schedule::new(config.rate, period) }
    }

    /// Returns the next operation and when it is due.
    pub(super) fn take(&mut self, now: Duration) -> (Operation, Duration) {
        let operation = self.pattern.next();
        let units = self.pattern.units(&operation);
        (operation, self.schedule.take(now, units))
    }
}

/// What the threads share.
struct Shared {
    source: Mutex<Source>,
    table: BlockingTable,
    start: Instant,
    stop: StopRequest,
    /// One for each thread.
    measured: Vec<Mutex<Measured>>,
    first_error: OnceLock<String>,
    running: AtomicUsize,
}

/// Run of the operations on their table.
pub(crate) struct TrafficRun {
    shared: Arc<Shared>,
    config: TrafficConfig,
}

impl TrafficRun {
    /// Starts the threads.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub(crate) fn start(
        config: &TrafficConfig,
        table: TrafficTable,
        stop: &StopRequest,
    ) -> anyhow::Result<Self> {
        let source = Source::new(config, table.pattern);
        let measured = (0..config.threads).map(|_| Ok(Mutex::new(Measured::new()?)));
        let shared = Arc::new(Shared {
            source: Mutex::new(source),
            table: table.table,
            start: Instant::now(),
            stop: stop.clone(),
            measured: measured.collect::<anyhow::Result<_>>()?,
            first_error: OnceLock::new(),
            running: AtomicUsize::new(0),
        });
        for thread in 0..shared.measured.len() {
            let running = RunningThread::new(&shared);
            std::thread::Builder::new()
                .name(format!("traffic-{thread}"))
                .spawn(move || running.0.work(thread))
                .context("starting a thread")?;
        }
        Ok(Self { shared, config: config.clone() })
    }

    /// Reports until the duration is over or a stop is requested, and ends the threads. Returns
    /// `true` if any operation succeeded, or none was due.
    ///
    /// # Errors
    /// Returns an error if the report cannot be written.
    pub(crate) fn finish<W: std::io::Write>(
        self,
        report: &mut TrafficReport<W>,
    ) -> anyhow::Result<bool> {
        let mut total = Measured::new()?;
        let reported = self.report_intervals(report, &mut total);
        self.shared.stop.request();
        let length = self.shared.start.elapsed();
        let is_ended = self.await_threads();
        let last = self.interval(length)?;
        total.add(&last.measured)?;
        reported?;
        self.report_error(report)?;
        if !is_ended {
            report.unfinished(self.shared.running.load(Ordering::Acquire))?;
        }
        let succeeded = total.errors < total.operations || total.operations == 0;
        let whole = Interval { end: length, length, measured: total, is_late: last.is_late };
        report.summary(&self.config, &whole)?;
        Ok(succeeded)
    }

    fn report_intervals<W: std::io::Write>(
        &self,
        report: &mut TrafficReport<W>,
        total: &mut Measured,
    ) -> anyhow::Result<()> {
        let shared = &self.shared;
        let mut last_line = Duration::ZERO;
        loop {
            let now = shared.start.elapsed();
            let left = self.config.duration.map(|duration| duration.saturating_sub(now));
            if shared.stop.is_requested() || left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            if now >= last_line + self.config.report_interval {
                let interval = self.interval(now.saturating_sub(last_line))?;
                last_line = now;
                total.add(&interval.measured)?;
                self.report_error(report)?;
                report.line(&self.config, &interval)?;
            }
            std::thread::sleep(left.map_or(MAX_SLEEP, |left| left.min(MAX_SLEEP)));
        }
    }

    fn report_error<W: std::io::Write>(&self, report: &mut TrafficReport<W>) -> anyhow::Result<()> {
        Ok(self.shared.first_error.get().map_or(Ok(()), |error| report.first_error(error))?)
    }

    /// Takes the measurements since the last call.
    fn interval(&self, length: Duration) -> anyhow::Result<Interval> {
        let end = self.shared.start.elapsed();
        let mut measured = Measured::new()?;
        for part in &self.shared.measured {
            let mut part = lock(part);
            measured.add(&part)?;
            part.clear();
        }
        let schedule = &mut lock(&self.shared.source).schedule;
        let is_late = schedule.take_left_out() > 0.0 || schedule.lateness(end) > LATE;
        Ok(Interval { end, length, measured, is_late })
    }

    /// Waits for the threads. Returns `false` if some are still in an operation, which the client
    /// of a cluster repeats for minutes.
    fn await_threads(&self) -> bool {
        let begin = Instant::now();
        while self.shared.running.load(Ordering::Acquire) > 0 {
            if begin.elapsed() > END_TIMEOUT {
                return false;
            }
            std::thread::sleep(SLACK);
        }
        true
    }
}

impl Shared {
    fn work(&self, thread: usize) {
        while !self.stop.is_requested() {
            let (operation, due) = lock(&self.source).take(self.start.elapsed());
            if !self.wait_until(due) {
                return;
            }
            let kind = operation.kind();
            let begin = Instant::now();
            let done = operation.execute(&self.table);
            let took = begin.elapsed();
            if let Err(error) = &done {
                self.first_error.get_or_init(|| error.to_string());
            }
            lock(&self.measured[thread]).record(kind, took, done.ok());
        }
    }

    /// Sleeps until a time. Returns `false` if a stop is requested before.
    fn wait_until(&self, due: Duration) -> bool {
        loop {
            let wait = due.saturating_sub(self.start.elapsed());
            if self.stop.is_requested() {
                return false;
            }
            if wait < SLACK {
                return true;
            }
            std::thread::sleep(wait.min(MAX_SLEEP));
        }
    }
}

/// Counts a thread as running until it is dropped.
struct RunningThread(Arc<Shared>);

impl RunningThread {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.running.fetch_add(1, Ordering::AcqRel);
        Self(shared.clone())
    }
}

impl Drop for RunningThread {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
