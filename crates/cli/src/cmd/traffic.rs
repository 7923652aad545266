//! `halite traffic`: traffic of a known shape.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use halite::TableName;

use crate::backend::{Backend, BackendArgs};
use crate::text_table::TextTable;
use crate::traffic::{
    Shape, StopRequest, TrafficConfig, TrafficReport, TrafficRun, TrafficTable, drop_table,
};
use crate::units::parse_duration;

/// Make traffic of a known shape on a store or a cluster
///
/// Creates a table, loads it, and sends operations at a fixed rate: something to look at in a heat
/// map, and a test of its diagnosis. A table of an earlier run is used again and is not dropped at
/// the end. Late operations are caught up; if the store is slower than the rate, the lines say so.
/// Ctrl-C ends the run. `halite traffic --list` explains the shapes.
#[derive(clap::Args)]
pub(crate) struct TrafficArgs {
    /// Shape of the traffic
    #[arg(value_enum, value_name = "SHAPE", required_unless_present = "list")]
    shape: Option<Shape>,
    /// Print the shapes: what they do, what a diagnosis says, and whether splitting helps
    #[arg(long)]
    list: bool,
    /// Table, created with a declared row key if it does not exist [default: `traffic_SHAPE`]
    #[arg(long, value_name = "NAME")]
    table: Option<TableName>,
    /// Operations per second; rows per second for sweep
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rate: u64,
    /// Duration of the traffic, as in 90s, 10m or 2h, or forever
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_run_time)]
    duration: RunTime,
    /// Random seed; equal seeds give equal operations on equal tables
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Operations in progress at the same time
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Regions of a new table; salts of salt-imbalance, at least 4
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    regions: u64,
    /// Rows that are loaded before [default: 4000; for sweep as many as it reads in 30 s]
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    rows: Option<u64>,
    /// Interval of the batch jobs of periodic, which take a third of it
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    period: u64,
    /// Drop the table at the end
    #[arg(long)]
    drop_at_end: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Duration of a run; `None` is forever.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RunTime(Option<Duration>);

impl TrafficArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let shape = match self.shape {
            Some(shape) if !self.list => shape,
            _ => return list().map(|()| ExitCode::SUCCESS),
        };
        let table = match &self.table {
            Some(table) => table.clone(),
            None => format!("traffic_{}", shape.name().replace('-', "_")).parse()?,
        };
        let config = TrafficConfig {
            shape,
            table,
            rate: self.rate,
            duration: self.duration.0,
            seed: self.seed,
            threads: self.threads,
            regions: self.regions,
            rows: self.rows.unwrap_or_else(|| shape.default_rows(self.rate)),
            period: Duration::from_millis(self.period),
            report_interval: Duration::from_secs(10),
        };
        let stop = StopRequest::on_signals()?;
        let backend = self.backend.open()?;
        let succeeded = self.send(&config, &backend, &stop);
        let closed =
            backend.close().with_context(|| format!("closing the store {}", self.backend.name()));
        let succeeded = succeeded?;
        closed?;
        Ok(if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn send(
        &self,
        config: &TrafficConfig,
        backend: &Backend,
        stop: &StopRequest,
    ) -> anyhow::Result<bool> {
        let mut report = TrafficReport::new(std::io::stdout());
        let table = TrafficTable::open(backend, config)?;
        report.begin(config, &self.backend.name(), &table)?;
        let sent = table
            .load(backend, stop)
            .with_context(|| format!("loading table {}", config.table))
            .and_then(|()| {
                report.headings()?;
                TrafficRun::start(config, table, stop)?.finish(&mut report)
            });
        let dropped = if self.drop_at_end {
            drop_table(backend, &config.table)
                .with_context(|| format!("dropping table {}", config.table))
        } else {
            Ok(())
        };
        sent.and_then(|succeeded| dropped.map(|()| succeeded))
    }
}

fn list() -> anyhow::Result<()> {
    let mut table = TextTable::new(&["shape", "what it does", "diagnosis", "splitting"]);
    for shape in Shape::ALL {
        table.row([shape.name(), shape.what(), shape.diagnosis(), shape.splitting()]);
    }
    let mut out = std::io::stdout().lock();
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Parses a duration with a unit, or `forever`. `m` is short for minutes.
fn parse_run_time(text: &str) -> Result<RunTime, String> {
    if text.trim().eq_ignore_ascii_case("forever") {
        return Ok(RunTime(None));
    }
    let minutes = text.trim().strip_suffix('m').map(|number| format!("{number}min"));
    let parsed = parse_duration(minutes.as_deref().unwrap_or(text));
    parsed
        .map(|ms| RunTime(Some(Duration::from_millis(ms))))
        .map_err(|_| "a time with its unit: s, m, h or d, as in 10m, or forever".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_time_is_duration_or_forever() {
        let seconds = |seconds| Ok(RunTime(Some(Duration::from_secs(seconds))));
        assert_eq!(parse_run_time("10m"), seconds(600));
        assert_eq!(parse_run_time("10min"), seconds(600));
        assert_eq!(parse_run_time("90s"), seconds(90));
        assert_eq!(parse_run_time("forever"), Ok(RunTime(None)));
        for text in ["", "m", "10", "0s", "never"] {
            assert!(parse_run_time(text).is_err(), "{text}");
        }
    }
}
