//! One command of HBase's `PerformanceEvaluation` on one server, with the metrics of its output and
//! of the server process.

use std::fmt;
use std::time::Duration;

use regex::Regex;

use super::process::cpu_us;
use crate::Result;
use crate::clients::programs::{ClientEnv, configuration};
use crate::clients::{child, java};

/// Maximum duration of a command.
const LIMIT: Duration = Duration::from_mins(10);

/// Command, with the rows per client and the number of clients.
pub(super) struct Command {
    pub(super) name: &'static str,
    rows: u32,
    clients: u32,
    options: &'static [&'static str],
}

/// Commands in an order in which each finds the rows it reads. Rows have values of 100 bytes.
pub(super) const COMMANDS: [Command; 7] = [
    Command {
        name: "sequentialWrite",
        rows: 200_000,
        clients: 2,
        options: &["--autoFlush=false", "--presplit=4"],
    },
    Command { name: "randomWrite", rows: 50_000, clients: 2, options: &["--autoFlush=true"] },
    Command { name: "randomRead", rows: 50_000, clients: 2, options: &[] },
    Command { name: "scanRange100", rows: 5_000, clients: 2, options: &[] },
    Command { name: "scan", rows: 400_000, clients: 1, options: &[] },
    Command { name: "increment", rows: 20_000, clients: 2, options: &[] },
    Command { name: "checkAndPut", rows: 20_000, clients: 2, options: &[] },
];

/// Measurements of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunMetrics {
    /// Operations per second, summed over all clients.
    pub(super) rate: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// CPU time of the server per operation, in microseconds.
    pub(super) cpu_us: f64,
}

impl fmt::Display for RunMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:9.0} op/s  p50 {:7.0} us  p99 {:7.0} us  server {:7.1} us of CPU per op",
            self.rate, self.p50_us, self.p99_us, self.cpu_us
        )
    }
}

/// Runs a command against the server with process id `process`.
pub(super) fn evaluate(
    command: &Command,
    around: &ClientEnv,
    process: u32,
    scale: f64,
) -> Result<RunMetrics> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a scale is positive and at most a hundred"
    )]
    let rows = ((f64::from(command.rows) * scale) as u32).max(1);
    let path = format!(
        "{}:{}/*",
        configuration(around)?.display(),
        around.jars.join("hbase-2.6.4").display()
    );
    let mut java = java::steady(&path, "INFO");
    java.args([
        "org.apache.hadoop.hbase.PerformanceEvaluation",
        "--nomapred",
        "--valueSize=100",
        &format!("--rows={rows}"),
    ]);
    java.args(command.options).args([command.name, &command.clients.to_string()]);
    let log = around.work.join(format!("{}.log", command.name));
    let before = cpu_us(process)?;
    child::run(&mut java, &log, LIMIT).map_err(|error| format!("{} {error}", command.name))?;
    let spent = cpu_us(process)? - before;
    let (rate, [p50_us, p99_us]) = parse_output(&child::text(&log)).ok_or_else(|| {
        format!("{} printed no measurements\n{}", command.name, child::tail(&log))
    })?;
    Ok(RunMetrics { rate, p50_us, p99_us, cpu_us: spent / f64::from(rows * command.clients) })
}

/// Returns the rate of all clients, and the latencies of the client that ended last. For buffered
/// writes these are the latencies of filling the buffer.
fn parse_output(log: &str) -> Option<(f64, [f64; 2])> {
    let rate = Regex::new(r"Avg TPS/QPS\]\s+(\d+)")
        .expect("a valid expression")
        .captures_iter(log)
        .last()?[1]
        .parse()
        .ok()?;
    let line = log.lines().rfind(|line| line.contains("Latency (us) : "))?;
    let percentile =
        |name: &str| line.split(", ").find_map(|word| word.trim().strip_prefix(name))?.parse().ok();
    Some((rate, [percentile("50th=")?, percentile("99th=")?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_parsed_from_program_output() {
        let log = "\
[TestClient-0] Latency (us) : mean=461.92, min=226.00, max=17435.00, stdDev=365.00, 50th=354.00, 75th=420.00, 95th=900.00, 99th=3357.00, 99.9th=5000.00
[main] [RandomWriteTest duration ]  Min: 24000ms  Max: 24010ms  Avg: 24005ms
[main] [ Avg latency (us)]  461
[main] [ Avg TPS/QPS]  4167  row per second
";
        assert_eq!(parse_output(log), Some((4167.0, [354.0, 3357.0])));
        assert_eq!(parse_output("nothing"), None);
    }
}
