//! Threads that execute operations at the times when they are due.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::BenchConfig;
use super::measured::Measured;
use super::metered_cluster::take_reads;
use super::part::Part;
use super::report::BenchReport;
use super::silence::{Alarm, Observed, Silence, SilenceWatch};
use crate::recipe::{About, Application, Outcome, Recipe};

/// Operations that are due within this time are executed at once.
const SLACK: Duration = Duration::from_micros(200);
/// Failures in succession, for each thread, after which the load is stopped.
const MAX_FAILURES: u64 = 2;
/// Interval in which silences are looked for.
const TICK: Duration = Duration::from_millis(50);

/// State that the threads share.
struct OpenLoop {
    application: Arc<dyn Application>,
    config: BenchConfig,
    start: Instant,
    next: AtomicU64,
    /// Operations in progress.
    waiting: AtomicU64,
    succeeded: AtomicU64,
    /// Failures since the last success.
    failures: AtomicU64,
    is_stopped: AtomicBool,
    first_error: OnceLock<String>,
    /// Measurements of each thread, by kind of operation.
    measured: Vec<Mutex<Vec<Measured>>>,
}

/// Sends the operations of a recipe at a rate, and returns the measurements.
///
/// All operations that are due within the duration are executed, late ones after its end; their
/// latencies count from when they were due. A load whose operations all fail from some time on, or
/// do not end, as without a server, is stopped: each of them may wait for minutes. `on_silence` is
/// called before that. Threads that are in a call then are left to it; they end after it.
///
/// What operations read is counted if the application was opened on [`Site::metered`].
///
/// [`Site::metered`]: crate::Site::metered
///
/// # Errors
/// A thread could not be started, or as [`Application::begin_operations`]. Operations that fail are
/// in the report.
pub fn run_bench(
    recipe: &dyn Recipe,
    application: &Arc<dyn Application>,
    config: BenchConfig,
    on_silence: &mut dyn FnMut(Silence),
) -> Result<BenchReport> {
    let about = recipe.about();
    application.begin_operations()?;
    let bench = Arc::new(OpenLoop::new(about, Arc::clone(application), config)?);
    let silence = bench.execute(on_silence)?;
    let took = bench.start.elapsed();
    let measured = bench.total(about)?;
    Ok(BenchReport {
        operations: about.operations,
        measured,
        config,
        took,
        is_stopped: bench.is_stopped(),
        silence,
        first_error: bench.first_error.get().cloned(),
    })
}

fn new_measurements(about: &About) -> Result<Vec<Measured>> {
    about.operations.iter().map(|_| Measured::new()).collect()
}

impl OpenLoop {
    fn new(about: &About, application: Arc<dyn Application>, config: BenchConfig) -> Result<Self> {
        let of_thread = |_| Ok(Mutex::new(new_measurements(about)?));
        Ok(Self {
            application,
            config,
            start: Instant::now(),
            next: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            succeeded: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            first_error: OnceLock::new(),
            measured: (0..config.threads.max(1)).map(of_thread).collect::<Result<_>>()?,
        })
    }

    /// Runs the threads until all have ended, or the load is stopped. Returns the silence that
    /// stopped it.
    fn execute(self: &Arc<Self>, on_silence: &mut dyn FnMut(Silence)) -> Result<Option<Silence>> {
        // Nothing is sent: the receiver is disconnected when all threads have ended.
        let (is_alive, ended) = channel::<()>();
        let mut threads = Vec::with_capacity(self.measured.len());
        for index in 0..self.measured.len() {
            let (bench, is_alive) = (Arc::clone(self), is_alive.clone());
            let work = move || {
                let _is_alive = is_alive;
                bench.work(index)
            };
            let thread = std::thread::Builder::new().name("halite-bench".to_owned()).spawn(work);
            let thread = thread.inspect_err(|_| self.is_stopped.store(true, Ordering::Relaxed));
            threads.push(thread.context("starting a thread of the load; use fewer --threads")?);
        }
        drop(is_alive);
        let silence = self.watch(&ended, on_silence);
        // Those of a stopped load may be in a call, which nothing can interrupt, or sleep.
        let is_stopped = self.is_stopped();
        for thread in threads.into_iter().filter(|thread| !is_stopped || thread.is_finished()) {
            thread.join().unwrap_or_else(|_| bail!("a thread of the load panicked"))?;
        }
        Ok(silence)
    }

    /// Waits until all threads have ended, or until a load that was stopped has no operation in
    /// progress. Returns the silence that stopped it.
    fn watch(&self, ended: &Receiver<()>, on_silence: &mut dyn FnMut(Silence)) -> Option<Silence> {
        let mut watch = SilenceWatch::new(self.config.max_silence);
        // Time in which this thread ran: a machine that is stopped for seconds is no silence.
        let (mut watched, mut looked) = (Duration::ZERO, self.start.elapsed());
        loop {
            let is_ended = ended.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected);
            let now = self.start.elapsed();
            watched += now.saturating_sub(looked).min(4 * TICK);
            looked = now;
            let observed = Observed {
                succeeded: self.succeeded.load(Ordering::Relaxed),
                waiting: self.waiting.load(Ordering::Relaxed),
                failed: self.failures.load(Ordering::Relaxed),
            };
            if is_ended || (self.is_stopped() && observed.waiting == 0) {
                return None;
            }
            match watch.observe(watched, observed) {
                Some(Alarm::Report(silence)) => on_silence(silence),
                Some(Alarm::Stop(silence)) => {
                    self.is_stopped.store(true, Ordering::Relaxed);
                    return Some(silence);
                }
                None => {}
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Returns when an operation is due after the start.
    fn due(&self, number: u64) -> Duration {
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(self.config.rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Executes operations until the end of the load.
    fn work(&self, thread: usize) -> Result<()> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let due = self.due(number);
            if due >= self.config.duration {
                return Ok(());
            }
            let wait = due.saturating_sub(self.start.elapsed());
            if wait > SLACK {
                std::thread::sleep(wait);
            }
            if self.is_stopped() {
                return Ok(());
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            let operated = self.operate(thread, number, due);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            operated?;
        }
    }

    /// Executes one operation and records its measurements.
    fn operate(&self, thread: usize, number: u64, due: Duration) -> Result<()> {
        let (part, mut outcome) = (Part::of(number, self.config.writes), Outcome::default());
        take_reads();
        let result = self.application.operate(number, part, &mut outcome);
        let since_due = self.start.elapsed().saturating_sub(due);
        match &result {
            Ok(()) => {
                self.failures.store(0, Ordering::Relaxed);
                self.succeeded.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => self.record_failure(error),
        }
        let measured = self.measured.get(thread).context("a thread has no number")?;
        let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = outcome.operation.and_then(|operation| measured.get_mut(operation));
        let Some(of_kind) = of_kind else {
            return result.and_then(|()| bail!("an operation has no name"));
        };
        match result {
            Ok(()) => of_kind.record(outcome.returned, take_reads(), since_due),
            Err(_) => of_kind.errors += 1,
        }
        Ok(())
    }

    /// Counts a failed operation. Many in a row, as of a server that is gone, stop the load.
    fn record_failure(&self, error: &anyhow::Error) {
        self.first_error.get_or_init(|| format!("{error:#}"));
        let failures = 1 + self.failures.fetch_add(1, Ordering::Relaxed);
        if failures >= MAX_FAILURES * self.measured.len() as u64 {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the sum of the measurements of all threads.
    fn total(&self, about: &About) -> Result<Vec<Measured>> {
        let mut total = new_measurements(about)?;
        for thread in &self.measured {
            let measured = thread.lock().unwrap_or_else(PoisonError::into_inner);
            total.iter_mut().zip(&*measured).try_for_each(|(sum, part)| sum.add(part))?;
        }
        Ok(total)
    }
}
