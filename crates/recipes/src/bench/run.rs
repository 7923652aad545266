//! Threads that execute operations at the times when they are due.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::BenchConfig;
use super::measured::Measured;
use super::part::Part;
use super::report::BenchReport;
use crate::recipe::{About, Application, Recipe, Site};

/// Operations that are due within this time are executed at once.
const SLACK: Duration = Duration::from_micros(200);
/// Failures in succession, for each thread, after which the load is stopped.
const MAX_FAILURES: u64 = 2;

/// State that the threads share.
struct OpenLoop<'a> {
    application: &'a dyn Application,
    about: &'a About,
    config: BenchConfig,
    start: Instant,
    next: AtomicU64,
    errors: AtomicU64,
    /// Failures since the last success.
    failures: AtomicU64,
    is_stopped: AtomicBool,
    first_error: OnceLock<String>,
    total: Mutex<Vec<Measured>>,
}

/// Sends the operations of a recipe at a rate, and returns the measurements.
///
/// All operations that are due within the duration are executed, late ones after its end; their
/// latencies count from when they were due. A load whose operations all fail from some time on, as
/// without a server, is stopped: each of them may have waited for minutes.
///
/// # Errors
/// Every operation failed, or an error of the cluster before the measurement.
pub fn run_bench(
    recipe: &dyn Recipe,
    application: &dyn Application,
    site: &Site,
    config: BenchConfig,
) -> Result<BenchReport> {
    let about = recipe.about();
    let mut fan_outs = Vec::new();
    for query in application.queries() {
        fan_outs.push((query.name, query.plan(site)?.fan_out()));
    }
    let bench = OpenLoop {
        application,
        about,
        config,
        start: Instant::now(),
        next: AtomicU64::new(0),
        errors: AtomicU64::new(0),
        failures: AtomicU64::new(0),
        is_stopped: AtomicBool::new(false),
        first_error: OnceLock::new(),
        total: Mutex::new(new_measurements(about)?),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..config.threads.max(1)).map(|_| scope.spawn(|| bench.work())).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| anyhow::bail!("a thread of the load panicked"))
        })
    })?;
    let took = bench.start.elapsed();
    let measured = bench.total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let errors = bench.errors.into_inner();
    if errors > 0 && measured.iter().all(|one| one.latencies.is_empty()) {
        anyhow::bail!(
            "every operation failed: {}",
            bench.first_error.into_inner().unwrap_or_default()
        );
    }
    Ok(BenchReport {
        operations: about.operations,
        measured,
        config,
        took,
        errors,
        is_stopped: bench.is_stopped.into_inner(),
        first_error: bench.first_error.into_inner(),
        fan_outs,
    })
}

fn new_measurements(about: &About) -> Result<Vec<Measured>> {
    about.operations.iter().map(|_| Measured::new()).collect()
}

impl OpenLoop<'_> {
    /// Returns when an operation is due after the start.
    fn due(&self, number: u64) -> Duration {
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(self.config.rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn work(&self) -> Result<()> {
        let mut measured = new_measurements(self.about)?;
        while !self.is_stopped.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let due = self.due(number);
            if due >= self.config.duration {
                break;
            }
            let wait = due.saturating_sub(self.start.elapsed());
            if wait > SLACK {
                std::thread::sleep(wait);
            }
            match self.application.operate(number, Part::of(number, self.config.writes)) {
                Ok(outcome) => {
                    self.failures.store(0, Ordering::Relaxed);
                    let since_due = self.start.elapsed().saturating_sub(due);
                    measured
                        .get_mut(outcome.operation)
                        .context("an operation has no name")?
                        .record(&outcome, since_due);
                }
                Err(error) => self.record_failure(&error),
            }
        }
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.iter_mut().zip(&measured).try_for_each(|(sum, part)| sum.add(part))
    }

    /// Counts a failed operation. Many in a row, as of a server that is gone, stop the load.
    fn record_failure(&self, error: &anyhow::Error) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        self.first_error.get_or_init(|| format!("{error:#}"));
        let failures = 1 + self.failures.fetch_add(1, Ordering::Relaxed);
        if failures >= MAX_FAILURES * self.config.threads.max(1) as u64 {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
    }
}
