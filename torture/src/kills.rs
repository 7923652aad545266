//! Real kills: a server under load is killed at any moment, including its starts and shutdowns, and
//! everything acknowledged must exist afterwards.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use halite::{RemoteCluster, Table};
use rustix::process::Signal;

use crate::context::Context;
use crate::load::{self, Complaint, Load, LoadMetrics};
use crate::report::{FindingKind, Report};
use crate::served::{Ports, Served, ServerSetup, ms_since};

const PART: &str = "kills";

/// Runs rounds until the time is over.
pub(crate) fn turn(context: &Context, seed: u64, until: Instant) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = context.folder(PART);
    let mut kills = Kills {
        context,
        seed,
        setting: setting(context, &mut rng, folder.path()),
        rng,
        modes: ["fsync", "flush"],
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = runtime
        .map_err(|error| unexpected(&error))
        .and_then(|runtime| runtime.block_on(kills.run(until)));
    if let Err((fault, text)) = result {
        context.report.find(PART, fault, seed, Some(&kills.setting.data), text);
    }
}

/// Returns the setup of a server with memstores, segments and regions so small that flushes,
/// compactions or splits are always in progress.
pub(crate) fn setting(
    context: &Context,
    rng: &mut fastrand::Rng,
    folder: &std::path::Path,
) -> ServerSetup {
    let mut flags = Vec::new();
    let mut flag = |name: &str, value: String| flags.extend([format!("--{name}"), value]);
    flag("memstore-flush-size", (rng.u32(16..200) << 10).to_string());
    flag("memstore-block-multiplier", "8".to_owned());
    flag("wal-segment-size", (rng.u32(8..200) << 10).to_string());
    flag("max-wal-segments", rng.u32(2..8).to_string());
    flag("max-region-file-size", (rng.u32(100..2000) << 10).to_string());
    flag("min-compaction-files", rng.u32(2..4).to_string());
    flag("memstore-chunk-size", "65536".to_owned());
    flag("in-memory-compaction-size", (rng.u32(..40) << 10).to_string());
    ServerSetup {
        program: context.program.clone(),
        data: folder.join("store"),
        ports: Ports::free(rng),
        flags,
        environment: Vec::new(),
    }
}

/// Reason why a turn ended early.
pub(crate) type Failed = (FindingKind, String);

/// Converts an unexpected error without a kind of its own.
pub(crate) fn unexpected(error: &impl ToString) -> Failed {
    (FindingKind::Wrong, error.to_string())
}

struct Kills<'a> {
    context: &'a Context,
    seed: u64,
    setting: ServerSetup,
    rng: fastrand::Rng,
    modes: [&'static str; 2],
}

impl Kills<'_> {
    fn report(&self) -> &Report {
        &self.context.report
    }

    async fn run(&mut self, until: Instant) -> Result<(), Failed> {
        let mut served = self.start()?;
        let config = load::config(&self.setting.ports.uri()).map_err(|error| unexpected(&error))?;
        let mut clusters = Vec::new();
        for _ in 0..2 {
            clusters.push(
                halite::connect_with(config.clone()).await.map_err(|error| unexpected(&error))?,
            );
        }
        load::create(&clusters[0], &mut self.rng).await.map_err(|error| unexpected(&error))?;
        let table = load::table(&clusters[0]);
        let max_value_bytes = [40, 600, 3000][self.rng.usize(..3)];
        let mut load = Load::new(&clusters, 4, max_value_bytes, &mut self.rng);
        while Instant::now() < until {
            (load, served) = self.round(load, served, &clusters[0], &table).await?;
        }
        self.finish(served)
    }

    /// Runs some kills under load, and a comparison.
    async fn round(
        &mut self,
        load: Load,
        mut served: Served,
        cluster: &RemoteCluster,
        table: &Arc<dyn Table>,
    ) -> Result<(Load, Served), Failed> {
        let stop = Arc::new(AtomicBool::new(false));
        let disturbance =
            tokio::spawn(load::disturb(cluster.clone(), Arc::clone(&stop), self.rng.fork()));
        let running = load.start();
        for _ in 0..self.rng.u32(1..4) {
            tokio::time::sleep(Duration::from_millis(self.rng.u64(5..300))).await;
            served = self.kill(served).await?;
        }
        stop.store(true, Relaxed);
        let done = disturbance
            .await
            .map_err(|error| unexpected(&error))?
            .map_err(|text| (FindingKind::Hung, text))?;
        self.report().count(PART, "flushes, compactions, splits and merges requested", done);
        let mut load = running.stop().await.map_err(|text| (FindingKind::Hung, text))?;
        record_load(self.context, PART, self.seed, &load.metrics);
        self.report().count(
            PART,
            "rows whose last write had an unknown outcome",
            load.uncertain_rows() as u64,
        );
        let faults = load.compare(table, true).await.map_err(|error| {
            (FindingKind::Wrong, format!("reading after a restart failed: {error}"))
        })?;
        self.report().count(PART, "comparisons of all rows", 1);
        if !faults.is_empty() {
            return Err((
                FindingKind::Lost,
                format!(
                    "{} rows: {}",
                    faults.len(),
                    faults.iter().take(5).cloned().collect::<Vec<_>>().join("\n  ")
                ),
            ));
        }
        if self.rng.u32(..8) == 0 {
            expect_alive(&mut served)?;
            end_cleanly(self.context, served, &self.setting).map_err(|text| unexpected(&text))?;
            self.report().count(PART, "clean shutdowns with a check", 1);
            served = self.start()?;
        }
        Ok((load, served))
    }

    /// Stops a server in one of several ways, and starts the next.
    async fn kill(&mut self, mut served: Served) -> Result<Served, Failed> {
        expect_alive(&mut served)?;
        if self.rng.u32(..4) == 0 {
            served.signal(Signal::TERM);
            tokio::time::sleep(Duration::from_millis(self.rng.u64(..120))).await;
            let description = if served.has_ended() {
                "clean shutdowns under load"
            } else {
                "kills during a clean shutdown"
            };
            self.report().count(PART, description, 1);
        } else {
            self.report().count(PART, "kills under load", 1);
        }
        self.kill_and_check_log(served)?;
        if self.rng.u32(..8) == 0 {
            self.check()?;
        }
        while self.rng.u32(..3) == 0 {
            let flags = self.flags();
            let starting = self.setting.spawn(&flags).map_err(|text| unexpected(&text))?;
            tokio::time::sleep(Duration::from_millis(self.rng.u64(..60))).await;
            self.report().count(PART, "kills during a start", 1);
            self.kill_and_check_log(starting)?;
        }
        self.start()
    }

    fn kill_and_check_log(&self, served: Served) -> Result<(), Failed> {
        let log = served.kill().map_err(|text| (FindingKind::Hung, text))?;
        self.report().count(PART, "total servers ended", 1);
        expect_no_panic(&log)
    }

    fn flags(&mut self) -> [&'static str; 2] {
        ["--wal-sync", self.modes[self.rng.usize(..2)]]
    }

    fn start(&mut self) -> Result<Served, Failed> {
        let begun = Instant::now();
        let flags = self.flags();
        let served = self.setting.start(&flags).map_err(|text| (FindingKind::Died, text))?;
        self.report().largest(PART, "slowest start, ms", ms_since(begun));
        Ok(served)
    }

    /// Verifies that `halite check` reports no errors for the store of a killed server.
    fn check(&self) -> Result<(), Failed> {
        let output = self.setting.run("check").map_err(|text| (FindingKind::Hung, text))?;
        self.report().count(PART, "checks of a killed store", 1);
        expect_sound(&output, "of a killed store").map_err(|text| (FindingKind::Wrong, text))
    }

    fn finish(&mut self, mut served: Served) -> Result<(), Failed> {
        expect_alive(&mut served)?;
        end_cleanly(self.context, served, &self.setting).map_err(|text| unexpected(&text))?;
        self.report().count(PART, "clean shutdowns with a check", 1);
        Ok(())
    }
}

/// Checks that a server has not exited on its own.
///
/// # Errors
/// Returns an error if it has.
pub(crate) fn expect_alive(served: &mut Served) -> Result<(), Failed> {
    if served.has_ended() {
        Err((FindingKind::Died, served.failure_message("exited unexpectedly")))
    } else {
        Ok(())
    }
}

/// Stops a server, which must succeed, and checks the store.
///
/// # Errors
/// Returns an error if the server does not exit, fails, or leaves a damaged store.
pub(crate) fn end_cleanly(
    context: &Context,
    served: Served,
    setting: &ServerSetup,
) -> Result<(), String> {
    let output = served.end()?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!(
            "a clean shutdown exited with {}:\n{}",
            output.status,
            halite_patience::tail(&log)
        ));
    }
    expect_no_panic(&log).map_err(|(_, text)| text)?;
    let checked = crate::served::run(&context.program, "check", &setting.data)?;
    // Leftovers of crashes stay in the quarantine until the opening after this shutdown, which is
    // not an error.
    expect_sound(&checked, "after a clean shutdown")
}

/// Verifies that `halite check` found no errors.
fn expect_sound(checked: &Output, when: &str) -> Result<(), String> {
    let said = String::from_utf8_lossy(&checked.stdout);
    if said.lines().any(|line| line.starts_with("error"))
        || !matches!(checked.status.code(), Some(0 | 1))
    {
        return Err(format!(
            "halite check {when} exited with {}: {said}{}",
            checked.status,
            String::from_utf8_lossy(&checked.stderr)
        ));
    }
    Ok(())
}

/// Starts a server that may refuse to start. Returns the server, or its last output if it has
/// exited.
///
/// # Errors
/// Returns an error if it neither starts nor exits, or has panicked.
pub(crate) fn start_or_be_refused(
    setting: &ServerSetup,
    when: &str,
) -> Result<(Served, Option<String>), Failed> {
    let mut starting = setting.spawn(&[]).map_err(|text| unexpected(&text))?;
    if starting.await_ready().is_ok() {
        return Ok((starting, None));
    }
    starting.await_end();
    if !starting.has_ended() {
        return Err((
            FindingKind::Hung,
            starting.failure_message(&format!("neither starts nor exits {when}")),
        ));
    }
    let log = starting.final_log();
    expect_no_panic(&log)?;
    Ok((starting, Some(log)))
}

/// Checks that the log of a server contains no panic.
///
/// # Errors
/// Returns the panic.
pub(crate) fn expect_no_panic(log: &str) -> Result<(), Failed> {
    match log.lines().find(|line| line.contains("panicked")) {
        Some(line) => Err((
            FindingKind::Died,
            format!("a thread of the server panicked: {line}\n{}", halite_patience::tail(log)),
        )),
        None => Ok(()),
    }
}

/// Reports the calls since the last report, and the complaints of callers.
pub(crate) fn record_load(context: &Context, part: &'static str, seed: u64, metrics: &LoadMetrics) {
    let report = &context.report;
    report.count(part, "writes acknowledged", metrics.acknowledged.swap(0, Relaxed));
    report.count(part, "writes that failed", metrics.failed.swap(0, Relaxed));
    report.count(part, "reads", metrics.reads.swap(0, Relaxed));
    report.count(part, "reads that failed", metrics.failed_reads.swap(0, Relaxed));
    let complaints = std::mem::take(
        &mut *metrics.complaints.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
    );
    for complaint in complaints {
        let (fault, text) = match complaint {
            Complaint::Hung(text) => (FindingKind::Hung, text),
            Complaint::Wrong(text) => (FindingKind::Lost, text),
        };
        report.find(part, fault, seed, None, text);
    }
}
