//! Benchmark report: a human-readable table, or JSON lines.

use std::io::{self, Write};

use hdrhistogram::Histogram;

use super::{BenchConfig, WorkloadResult};

/// Output of a benchmark report.
pub(crate) struct Report<W> {
    out: W,
    json: bool,
}

impl<W: Write> Report<W> {
    /// Creates a report: a table, or JSON lines if `json` is set.
    pub(crate) fn new(out: W, json: bool) -> Self {
        Self { out, json }
    }

    /// Prints the settings common to all workloads.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(crate) fn begin(&mut self, settings: &BenchConfig) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let BenchConfig { rows, value_bytes, families, threads, .. } = settings;
        writeln!(
            self.out,
            "{rows} rows, {families} families with {value_bytes} bytes each, {threads} threads\n"
        )?;
        writeln!(
            self.out,
            "{:<16} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  durability",
            "workload",
            "operations",
            "ops/s",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "max us",
            "cpu us/op",
            "written"
        )
    }

    /// Prints the measurements of one workload.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(crate) fn add(
        &mut self,
        measured: &WorkloadResult,
        settings: &BenchConfig,
    ) -> io::Result<()> {
        if self.json {
            writeln!(self.out, "{}", json_line(measured, settings))?;
        } else {
            writeln!(self.out, "{}", table_line(measured, settings))?;
        }
        self.out.flush()
    }

    /// Prints the legend of the columns.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        writeln!(
            self.out,
            "\ncpu: of all threads, including flushes and compactions during the workload. \
             written: bytes to log and files per byte put."
        )
    }
}

fn rate(measured: &WorkloadResult) -> f64 {
    measured.operations as f64 / measured.seconds.max(f64::MIN_POSITIVE)
}

fn microseconds(latencies: &Histogram<u64>, quantile: f64) -> f64 {
    latencies.value_at_quantile(quantile) as f64 / 1e3
}

fn table_line(measured: &WorkloadResult, settings: &BenchConfig) -> String {
    let at = |quantile: f64| microseconds(&measured.latencies, quantile);
    let written = measured
        .written_per_byte_put
        .map_or_else(|| "-".to_owned(), |written| format!("{written:.2}"));
    format!(
        "{:<16} {:>10} {:>10.0} {:>9.1} {:>9.1} {:>9.1} {:>9.0} {:>9.2} {written:>9}  {}",
        measured.workload.name(),
        measured.operations,
        rate(measured),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        measured.cpu_us_per_operation,
        settings.durability.name()
    )
}

/// Formats one workload as one JSON line. Each value is a number or a fixed name, so nothing needs
/// escaping.
fn json_line(measured: &WorkloadResult, settings: &BenchConfig) -> String {
    let at = |quantile: f64| microseconds(&measured.latencies, quantile);
    let written = measured
        .written_per_byte_put
        .map_or_else(|| "null".to_owned(), |written| format!("{written:.3}"));
    format!(
        "{{\"workload\":\"{}\",\"durability\":\"{}\",\"rows\":{},\"value_bytes\":{},\"families\":{},\"threads\":{},\"operations\":{},\
         \"ops_per_second\":{:.1},\"p50_us\":{:.3},\"p99_us\":{:.3},\"p999_us\":{:.3},\"max_us\":{:.3},\"cpu_us_per_op\":{:.3},\
         \"written_per_byte_put\":{written}}}",
        measured.workload.name(),
        settings.durability.name(),
        settings.rows,
        settings.value_bytes,
        settings.families,
        settings.threads,
        measured.operations,
        rate(measured),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
        measured.cpu_us_per_operation,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Workload, WriteDurability};

    fn printed(json: bool, written_per_byte_put: Option<f64>) -> String {
        let mut latencies = Histogram::new(3).unwrap();
        (1..=1000_u64).for_each(|microsecond| latencies.record(microsecond * 1000).unwrap());
        let measured = WorkloadResult {
            workload: Workload::RandomRead,
            operations: 1000,
            seconds: 0.5,
            latencies,
            cpu_us_per_operation: 7.25,
            written_per_byte_put,
        };
        let settings = BenchConfig {
            rows: 10,
            value_bytes: 100,
            families: 1,
            threads: 2,
            operations: 10,
            distribution: None,
            durability: WriteDurability::Flush,
            seed: 1,
        };
        let mut out = Vec::new();
        let mut report = Report::new(&mut out, json);
        report.begin(&settings).unwrap();
        report.add(&measured, &settings).unwrap();
        report.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn table_row_names_write_durability() {
        let text = printed(false, None);
        let line = text.lines().find(|line| line.starts_with("randomRead")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1..3], ["1000", "2000"]);
        assert!(words[3].starts_with("500") && words[4].starts_with("990"), "{words:?}");
        assert_eq!(words[7..], ["7.25", "-", "flush"]);
    }

    #[test]
    fn json_prints_one_object_per_line() {
        let text = printed(true, Some(2.5));
        assert_eq!(text.lines().count(), 1);
        assert!(
            text.starts_with("{\"workload\":\"randomRead\",\"durability\":\"flush\",\"rows\":10,"),
            "{text}"
        );
        assert!(
            text.contains("\"ops_per_second\":2000.0,")
                && text.trim_end().ends_with("\"written_per_byte_put\":2.500}"),
            "{text}"
        );
    }
}
