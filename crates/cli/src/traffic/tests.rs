//! Runs of each shape on an embedded store.

use std::io::Write;

use halite::{Builder, Options, WalSync};

use super::*;
use crate::backend::Backend;

fn config(shape: Shape) -> TrafficConfig {
    TrafficConfig {
        shape,
        table: "traffic".parse().unwrap(),
        rate: 2000,
        duration: Some(Duration::from_millis(300)),
        seed: 1,
        threads: 3,
        regions: 5,
        rows: 500,
        period: Duration::from_millis(60),
        report_interval: Duration::from_millis(100),
    }
}

/// Runs the traffic; the printed text and whether it succeeded.
fn run(backend: &Backend, config: &TrafficConfig) -> anyhow::Result<(String, bool)> {
    run_until(None, backend, config)
}

/// As [`run`], up to a printed text.
fn run_until(
    last: Option<&'static str>,
    backend: &Backend,
    config: &TrafficConfig,
) -> anyhow::Result<(String, bool)> {
    let (stop, mut printed) = (StopRequest::default(), Vec::new());
    let stop_at = StopAt { last, stop: stop.clone(), printed: &mut printed };
    let mut report = TrafficReport::new(stop_at);
    let table = TrafficTable::open(backend, config)?;
    report.begin(config, "here", &table)?;
    table.load(backend, &stop)?;
    report.headings()?;
    let succeeded = TrafficRun::start(config, table, &stop)?.finish(&mut report)?;
    drop(report);
    Ok((String::from_utf8(printed)?, succeeded))
}

/// Output that requests a stop once it has a text.
struct StopAt<'p> {
    last: Option<&'static str>,
    stop: StopRequest,
    printed: &'p mut Vec<u8>,
}

impl Write for StopAt<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.printed.extend_from_slice(bytes);
        let printed = String::from_utf8_lossy(self.printed);
        if self.last.is_some_and(|last| printed.contains(last)) {
            self.stop.request();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn store() -> (tempfile::TempDir, Backend) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    let store = Builder::new().options(options).open(folder.path()).unwrap();
    (folder, store.into())
}

#[test]
fn every_shape_runs_and_uses_its_table_again() {
    for shape in Shape::ALL {
        let (_folder, backend) = store();
        let config = config(shape);
        let (printed, succeeded) = run(&backend, &config).unwrap();
        let name = shape.name();
        assert!(succeeded && printed.contains(" 0 errors"), "{name}: {printed}");
        assert!(printed.contains("created with 5 regions; loading 500 rows"), "{name}: {printed}");
        assert_eq!(backend.regions(&config.table).unwrap().len(), 5, "{name}");
        let (printed, succeeded) = run(&backend, &config).unwrap();
        assert!(succeeded && printed.contains("table traffic at here: exists"), "{printed}");
        assert!(!printed.contains("loading 500 rows"), "{name}: {printed}");
        drop_table(&backend, &config.table).unwrap();
        assert!(!backend.table_exists(&config.table).unwrap());
        backend.close().unwrap();
    }
}

#[test]
fn table_of_another_shape_is_refused() {
    let (_folder, backend) = store();
    TrafficTable::open(&backend, &config(Shape::Even)).unwrap();
    let error = TrafficTable::open(&backend, &config(Shape::Frontier)).err().unwrap().to_string();
    assert!(
        error.contains("table traffic exists and is not for frontier traffic")
            && error.contains("--table"),
        "{error}"
    );
    backend.close().unwrap();
}

#[test]
fn interrupted_load_is_completed() {
    let (_folder, backend) = store();
    let stop = StopRequest::default();
    stop.request();
    let config = config(Shape::HotRange);
    TrafficTable::open(&backend, &config).unwrap().load(&backend, &stop).unwrap();
    let table = TrafficTable::open(&backend, &config).unwrap();
    assert_eq!((table.created_regions, table.missing_rows()), (None, 500));
    table.load(&backend, &StopRequest::default()).unwrap();
    assert_eq!(TrafficTable::open(&backend, &config).unwrap().missing_rows(), 0);
    backend.close().unwrap();
}

#[test]
fn failed_operations_are_counted_and_first_is_printed() {
    let (_folder, backend) = store();
    let config = TrafficConfig { duration: None, ..config(Shape::Even) };
    let stop = StopRequest::default();
    let table = TrafficTable::open(&backend, &config).unwrap();
    drop_table(&backend, &config.table).unwrap();
    let mut printed = Vec::new();
    let last = Some("first error: ");
    let mut report = TrafficReport::new(StopAt { last, stop: stop.clone(), printed: &mut printed });
    let run = TrafficRun::start(&config, table, &stop).unwrap();
    assert!(!run.finish(&mut report).unwrap());
    drop(report);
    let printed = String::from_utf8(printed).unwrap();
    assert_eq!(printed.matches("first error: ").count(), 1, "{printed}");
    assert!(!printed.contains(" 0 errors"), "{printed}");
    backend.close().unwrap();
}

#[test]
fn store_that_is_too_slow_is_reported() {
    let (_folder, backend) = store();
    let config =
        TrafficConfig { rate: 1_000_000, threads: 1, duration: None, ..config(Shape::Even) };
    let late = "the store does not keep up with 1,000,000 operations per second";
    let (printed, succeeded) = run_until(Some(late), &backend, &config).unwrap();
    // A line and the summary.
    assert!(succeeded && printed.matches(late).count() >= 2, "{printed}");
    backend.close().unwrap();
}

#[test]
fn stop_request_ends_endless_run() {
    let (_folder, backend) = store();
    let config = TrafficConfig { duration: None, ..config(Shape::Even) };
    let stop = StopRequest::default();
    let table = TrafficTable::open(&backend, &config).unwrap();
    table.load(&backend, &stop).unwrap();
    let run = TrafficRun::start(&config, table, &stop).unwrap();
    stop.request();
    let mut printed = Vec::new();
    run.finish(&mut TrafficReport::new(&mut printed)).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    assert!(printed.contains(" operations in ") && printed.contains("p99 "), "{printed}");
    backend.close().unwrap();
}
