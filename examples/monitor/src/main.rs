//! Measurements of three hosts: `cargo run -p halite-example-monitor [DIR]`.

use std::io::Write as _;

use monitor::{Found, Monitor, Sample};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const MINUTE_MS: i64 = 60_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-monitor-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let monitor = Monitor::open(&store, "monitor")?;

    let sample = |host: &str, metric: &str, minute: i64, value: f64| Sample {
        host: host.to_owned(),
        metric: metric.to_owned(),
        at_ms: T0 + minute * MINUTE_MS,
        value,
    };
    for minute in 0..60 {
        let load = f64::from(i32::try_from(minute % 10)?) / 10.0;
        monitor.write(&[
            sample("web-1", "cpu", minute, 20.0 + load),
            sample("web-1", "mem", minute, 70.0),
            sample("web-10", "cpu", minute, 30.0 + load),
            sample("web-2", "cpu", minute, 40.0 + load),
        ])?;
    }
    let end = T0 + 60 * MINUTE_MS;
    let last = || end - 2 * MINUTE_MS..end;
    print("web-1, two minutes", &monitor.host("web-1", last())?)?;
    print("cpu of web-1, the hour", &monitor.host_metric("web-1", "cpu", T0..end)?)?;
    print("cpu of all hosts, two minutes", &monitor.metric("cpu", last())?)?;
    print("the same without by_metric", &monitor.metric_by_host("cpu", last())?)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} samples were missing in by_metric", monitor.repair(T0..end)?)?;
    Ok(store.close()?)
}

fn print(title: &str, found: &Found) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let Found { samples, examined } = found;
    writeln!(out, "{title}: {} samples, {examined} rows examined", samples.len())?;
    for Sample { host, metric, at_ms, value } in samples.iter().take(4) {
        writeln!(out, "  {host:<7} {metric} minute {:>2}: {value}", (at_ms - T0) / MINUTE_MS)?;
    }
    Ok(())
}
