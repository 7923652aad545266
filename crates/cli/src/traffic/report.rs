//! Printed lines: the table, one line per interval, and the summary.

use std::io::{self, Write};
use std::time::Duration;

use super::patterns::OperationKind;
use super::run::{Interval, Measured};
use super::{Shape, TrafficConfig, TrafficTable};
use crate::text_table::grouped;

/// Output of a run.
pub(crate) struct TrafficReport<W> {
    out: W,
    has_printed_error: bool,
}

impl<W: Write> TrafficReport<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, has_printed_error: false }
    }

    /// Prints what the traffic does, and the table.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(crate) fn begin(
        &mut self,
        config: &TrafficConfig,
        place: &str,
        table: &TrafficTable,
    ) -> io::Result<()> {
        let shape = config.shape;
        writeln!(self.out, "{}: {}", shape.name(), shape.what())?;
        writeln!(self.out, "diagnosis: {}; splitting {}", shape.diagnosis(), shape.splitting())?;
        let regions = match table.created_regions {
            Some(1) => "created with one region".to_owned(),
            Some(regions) => format!("created with {regions} regions"),
            None => "exists".to_owned(),
        };
        write!(self.out, "table {} at {place}: {regions}", config.table)?;
        match table.missing_rows() {
            0 => writeln!(self.out, ", and has its rows")?,
            rows => writeln!(self.out, "; loading {} rows", grouped(rows))?,
        }
        self.out.flush()
    }

    /// Prints the headings of the lines.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(crate) fn headings(&mut self) -> io::Result<()> {
        let headings = ["time", "operations", "ops/s", "rows/s", "errors", "p50 ms", "p99 ms"];
        writeln!(self.out, "\n{}", columns(&headings.map(str::to_owned)))?;
        self.out.flush()
    }

    /// Prints the measurements of an interval.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(super) fn line(&mut self, config: &TrafficConfig, interval: &Interval) -> io::Result<()> {
        let Measured { operations, rows, errors, latencies, .. } = &interval.measured;
        let line = columns(&[
            format!("{} s", interval.end.as_secs()),
            grouped(*operations),
            per_second(*operations, interval.length),
            per_second(*rows, interval.length),
            grouped(*errors),
            milliseconds(latencies.value_at_quantile(0.5)),
            milliseconds(latencies.value_at_quantile(0.99)),
        ]);
        let late = if interval.is_late { late_text(config) } else { String::new() };
        writeln!(self.out, "{}", format!("{line}  {late}").trim_end())?;
        self.out.flush()
    }

    /// Prints the text of the first failed operation, once.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(super) fn first_error(&mut self, error: &str) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_printed_error, true) {
            writeln!(self.out, "first error: {error}")?;
        }
        Ok(())
    }

    /// Reports threads that are still in an operation.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(super) fn unfinished(&mut self, threads: usize) -> io::Result<()> {
        writeln!(
            self.out,
            "{threads} operations are not finished; the cluster may still apply them"
        )
    }

    /// Prints the measurements of the whole run.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(super) fn summary(&mut self, config: &TrafficConfig, whole: &Interval) -> io::Result<()> {
        let measured = &whole.measured;
        let kinds: Vec<String> = OperationKind::NAMES
            .iter()
            .map(|(kind, name)| (measured.kinds[*kind as usize], name))
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{} {name}", grouped(count)))
            .collect();
        let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
        writeln!(
            self.out,
            "\n{} operations in {:.1} s, {} per second: {kinds}\n{} rows read, {} errors, p50 {} \
             ms, p99 {} ms",
            grouped(measured.operations),
            whole.length.as_secs_f64(),
            per_second(measured.operations, whole.length),
            grouped(measured.rows),
            grouped(measured.errors),
            milliseconds(measured.latencies.value_at_quantile(0.5)),
            milliseconds(measured.latencies.value_at_quantile(0.99)),
        )?;
        if whole.is_late {
            writeln!(self.out, "at the end {}", late_text(config))?;
        }
        self.out.flush()
    }
}

/// Says that the store is slower than the requested rate.
fn late_text(config: &TrafficConfig) -> String {
    let unit = if config.shape == Shape::Sweep { "rows" } else { "operations" };
    format!("the store does not keep up with {} {unit} per second", grouped(config.rate))
}

fn columns(entries: &[String; 7]) -> String {
    let [time, operations, rate, rows, errors, median, high] = entries;
    format!("{time:>8}{operations:>12}{rate:>9}{rows:>9}{errors:>8}{median:>9}{high:>9}")
}

fn per_second(count: u64, time: Duration) -> String {
    let rate = u128::from(count) * 1_000_000_000 / time.as_nanos().max(1);
    grouped(u64::try_from(rate).unwrap_or(u64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded to two decimals")]
fn milliseconds(nanoseconds: u64) -> String {
    format!("{:.2}", nanoseconds as f64 / 1e6)
}
