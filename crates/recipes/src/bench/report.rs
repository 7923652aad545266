//! Measurements as text.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;

use super::BenchConfig;
use super::measured::Measured;

/// Measurements of a load.
#[derive(Debug)]
pub struct BenchReport {
    pub(super) operations: &'static [&'static str],
    pub(super) measured: Vec<Measured>,
    pub(super) config: BenchConfig,
    pub(super) took: Duration,
    pub(super) errors: u64,
    pub(super) first_error: Option<String>,
    /// Ranges that each query reads.
    pub(super) fan_outs: Vec<(&'static str, usize)>,
}

impl BenchReport {
    /// Returns the number of operations that succeeded.
    pub fn succeeded(&self) -> u64 {
        self.measured.iter().map(|one| one.latencies.len()).sum()
    }

    /// Returns the number of operations that failed.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Prints a line for each kind of operation, and the rate.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(
            out,
            "{:<14}{:>9}{:>9}{:>9}{:>9}{:>10}{:>9}{:>10}{:>9}",
            "operation",
            "count",
            "per s",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "rows",
            "examined",
            "fan-out"
        )?;
        for (name, one) in self.operations.iter().zip(&self.measured) {
            if !one.latencies.is_empty() {
                self.line(out, name, one)?;
            }
        }
        let reached = per_second(self.succeeded(), self.took);
        writeln!(
            out,
            "{} operations at {} per second, of {} requested; {} errors",
            self.succeeded(),
            reached.round(),
            self.config.rate,
            self.errors
        )?;
        if let Some(error) = &self.first_error {
            writeln!(out, "first error: {error}")?;
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

    fn line(&self, out: &mut dyn Write, name: &str, one: &Measured) -> Result<()> {
        let count = one.latencies.len();
        let fan_out = self.fan_outs.iter().find(|(query, _)| *query == name);
        let fan_out = fan_out.map_or_else(|| "-".to_owned(), |(_, ranges)| ranges.to_string());
        let examined = if one.examined == 0 { 0 } else { one.returned };
        let examined = per_row(one.examined, examined);
        writeln!(
            out,
            "{name:<14}{count:>9}{:>9.0}{:>9.2}{:>9.2}{:>10.2}{:>9}{examined:>10}{fan_out:>9}",
            per_second(count, self.took),
            one.milliseconds(0.5),
            one.milliseconds(0.99),
            one.milliseconds(0.999),
            per_row(one.returned, count),
        )?;
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded")]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Returns a mean with two decimals; `-` without a divisor.
#[expect(clippy::cast_precision_loss, reason = "it is rounded")]
fn per_row(sum: u64, count: u64) -> String {
    if count == 0 { "-".to_owned() } else { format!("{:.2}", sum as f64 / count as f64) }
}
