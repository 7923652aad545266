//! Measurements as text.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;

use super::BenchConfig;
use super::measured::Measured;
use super::silence::Silence;

/// Measurements of one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationReport {
    /// Name of the operation.
    pub name: &'static str,
    /// Operations that succeeded.
    pub count: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Operations per second.
    pub per_second: f64,
    /// Median of the latencies in milliseconds, since each operation was due.
    pub p50_ms: f64,
    /// 99th percentile in milliseconds.
    pub p99_ms: f64,
    /// 99.9th percentile in milliseconds.
    pub p999_ms: f64,
    /// Mean number of rows of an answer.
    pub rows: f64,
    /// Rows that the tables returned for each row of an answer; `None` without any.
    pub examined: Option<f64>,
    /// Mean number of gets, each of a batch, and of scanned ranges; `None` without any.
    pub fan_out: Option<f64>,
}

/// Measurements of a load.
#[derive(Debug)]
pub struct BenchReport {
    pub(super) operations: &'static [&'static str],
    pub(super) measured: Vec<Measured>,
    pub(super) config: BenchConfig,
    pub(super) took: Duration,
    pub(super) is_stopped: bool,
    pub(super) silence: Option<Silence>,
    pub(super) first_error: Option<String>,
}

impl BenchReport {
    /// Returns the number of operations that succeeded.
    pub fn succeeded(&self) -> u64 {
        self.measured.iter().map(|one| one.latencies.len()).sum()
    }

    /// Returns the number of operations that failed.
    pub fn errors(&self) -> u64 {
        self.measured.iter().map(|one| one.errors).sum()
    }

    /// Returns `true` if the load was stopped, because operations failed one after the other or
    /// did not end.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns the silence that stopped the load. Operations in progress then are neither
    /// successes nor errors.
    pub fn silence(&self) -> Option<Silence> {
        self.silence
    }

    /// Returns the rate that was reached, in operations per second.
    pub fn reached_per_second(&self) -> f64 {
        per_second(self.succeeded(), self.took)
    }

    /// Returns the message of the first operation that failed.
    pub fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// Returns the measurements of the kinds of operations that occurred.
    pub fn operations(&self) -> Vec<OperationReport> {
        let occurred = self.operations.iter().zip(&self.measured);
        let occurred = occurred.filter(|(_, one)| !one.latencies.is_empty() || one.errors > 0);
        occurred.map(|(name, one)| self.operation(name, one)).collect()
    }

    fn operation(&self, name: &'static str, one: &Measured) -> OperationReport {
        let count = one.latencies.len();
        OperationReport {
            name,
            count,
            errors: one.errors,
            per_second: per_second(count, self.took),
            p50_ms: one.milliseconds(0.5),
            p99_ms: one.milliseconds(0.99),
            p999_ms: one.milliseconds(0.999),
            rows: mean(one.returned, count),
            examined: (one.reads.rows > 0 && one.returned > 0)
                .then(|| mean(one.reads.rows, one.returned)),
            fan_out: (one.reads.requests > 0).then(|| mean(one.reads.requests, count)),
        }
    }

    /// Prints a line for each kind of operation, and the rate.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        let has_errors = self.errors() > 0;
        writeln!(
            out,
            "{:<14}{:>9}{:>9}{:>9}{:>9}{:>10}{:>9}{:>10}{:>9}{}",
            "operation",
            "count",
            "per s",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "rows",
            "examined",
            "fan-out",
            if has_errors { "   errors" } else { "" }
        )?;
        for operation in self.operations() {
            operation.write(has_errors, out)?;
        }
        writeln!(
            out,
            "{} operations at {} per second, of {} requested; {} errors",
            self.succeeded(),
            self.reached_per_second().round(),
            self.config.rate,
            self.errors()
        )?;
        if let Some(error) = &self.first_error {
            writeln!(out, "first error: {error}")?;
        }
        if self.is_stopped {
            write!(out, "the load was stopped after {:.1} s: ", self.took.as_secs_f64())?;
            match self.silence {
                Some(Silence { lasts, waiting, .. }) => writeln!(
                    out,
                    "no operation succeeded for {:.1} s, and {waiting} were in progress",
                    lasts.as_secs_f64()
                )?,
                None => writeln!(out, "operations failed one after the other")?,
            }
            return Ok(());
        }
        if self.took > self.config.duration + self.config.duration / 20 {
            writeln!(
                out,
                "the store did not keep up: the load of {:.1} s took {:.1} s, and latencies are \
                 those of a growing queue",
                self.config.duration.as_secs_f64(),
                self.took.as_secs_f64()
            )?;
        }
        Ok(())
    }
}

impl OperationReport {
    /// Prints a line.
    fn write(&self, has_errors: bool, out: &mut dyn Write) -> Result<()> {
        let Self { name, count, per_second, .. } = self;
        let decimals = |number: Option<f64>| {
            number.map_or_else(|| "-".to_owned(), |number| format!("{number:.2}"))
        };
        // Of operations that all failed, nothing else is known.
        let known = |number: f64| decimals((*count > 0).then_some(number));
        let [p50, p99, p999, rows] = [self.p50_ms, self.p99_ms, self.p999_ms, self.rows].map(known);
        let (examined, fan_out) = (decimals(self.examined), decimals(self.fan_out));
        let errors = if has_errors { format!("{:>9}", self.errors) } else { String::new() };
        writeln!(
            out,
            "{name:<14}{count:>9}{per_second:>9.0}{p50:>9}{p99:>9}{p999:>10}{rows:>9}\
             {examined:>10}{fan_out:>9}{errors}"
        )?;
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded")]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded")]
fn mean(sum: u64, count: u64) -> f64 {
    sum as f64 / count.max(1) as f64
}
