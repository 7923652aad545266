//! Disk calls that fail: writes, syncs, renames and more return EIO or ENOSPC in a server under
//! load. Reads continue, and a restart shows everything acknowledged.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use halite::{Cluster as _, FamilyDescriptor, Put, RemoteCluster, TableDescriptor, TableExt as _};
use tokio::time::timeout;

use crate::context::Context;
use crate::kills::{
    self, Failed, end_cleanly, expect_alive, expect_no_panic, record_load, start_or_be_refused,
    unexpected,
};
use crate::load::{self, Load};
use crate::report::FindingKind;
use crate::served::{Served, ServerSetup};

const PART: &str = "faults";

/// Calls that can fail, with their bits in the plan.
const CALLS: [(u32, &str); 5] =
    [(1, "write"), (2, "sync"), (4, "rename"), (8, "open"), (16, "truncate")];
/// Files for which they can fail, by their number in the plan.
const FILES: [&str; 4] = ["any file", "the log", "the manifest", "store files"];
/// Error numbers of Linux.
const ERRORS: [(u32, &str); 2] = [(5, "EIO"), (28, "ENOSPC")];
const PLAN_NUMBERS: usize = 8;

/// Plan file shared with a server; `torture/preload` documents its layout.
struct Plan {
    file: File,
    path: PathBuf,
}

impl Plan {
    fn new(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join("plan");
        let file = File::options().create_new(true).read(true).write(true).open(&path)?;
        file.write_all_at(&[0; PLAN_NUMBERS * 4], 0)?;
        Ok(Self { file, path })
    }

    fn set(&self, numbers: &[u32], offset: u64) -> Result<(), Failed> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.file.write_all_at(&bytes, offset * 4).map_err(|error| unexpected(&error))
    }

    /// Draws the calls that fail from now on, and returns a description.
    fn arm(&self, rng: &mut fastrand::Rng) -> Result<String, Failed> {
        let (call, call_name) = CALLS[rng.usize(..CALLS.len())];
        let (errno, error_name) = ERRORS[usize::from(rng.u32(..4) == 0)];
        let files = [0, 1, 1, 1, 2, 3][rng.usize(..6)];
        let skip = rng.u32(..20);
        let times = [1, 1, 3, 20, u32::MAX][rng.usize(..5)];
        let half = u32::from(rng.u32(..3) == 0);
        self.set(&[call, errno, files, skip, times, 0, half], 1)?;
        self.set(&[1], 0)?;
        let times = if times == u32::MAX { "always".to_owned() } else { format!("{times} times") };
        Ok(format!(
            "{call_name} of {} fails with {error_name} {times} after {skip} calls",
            FILES[files as usize]
        ))
    }

    #[expect(
        clippy::host_endian_bytes,
        reason = "the files are memory-mapped, so their writes cannot be intercepted"
    )]
    /// Disables the plan. Returns the number of failed calls.
    fn disarm(&self) -> Result<u32, Failed> {
        self.set(&[0], 0)?;
        let mut failed = [0; 4];
        self.file.read_exact_at(&mut failed, 6 * 4).map_err(|error| unexpected(&error))?;
        Ok(u32::from_ne_bytes(failed))
    }
}

/// Runs rounds until the time is over.
pub(crate) fn turn(context: &Context, seed: u64, until: Instant) {
    let Some(library) = &context.preload else {
        return context
            .report
            .skip(PART, "no library to interpose; pass its path with --preload".to_owned());
    };
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = context.folder(PART);
    let data = folder.path().join("store");
    let result = Plan::new(folder.path()).map_err(|error| unexpected(&error)).and_then(|plan| {
        let mut setting = kills::setting(context, &mut rng, folder.path());
        setting.environment = vec![
            ("LD_PRELOAD".to_owned(), library.clone()),
            ("HALITE_TORTURE_PLAN".to_owned(), plan.path.clone()),
            ("HALITE_TORTURE_DATA".to_owned(), data.clone()),
        ];
        let mut faults = Faults { context, seed, plan, setting, rng, armed_fault: String::new() };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| unexpected(&error))?;
        runtime
            .block_on(faults.run(until))
            .map_err(|(fault, text)| (fault, format!("{}: {text}", faults.armed_fault)))
    });
    if let Err((fault, text)) = result {
        context.report.find(PART, fault, seed, Some(&data), text);
    }
}

struct Faults<'a> {
    context: &'a Context,
    seed: u64,
    plan: Plan,
    setting: ServerSetup,
    rng: fastrand::Rng,
    /// Description of the last armed fault.
    armed_fault: String,
}

impl Faults<'_> {
    fn count(&self, what: &str, several: u64) {
        self.context.report.count(PART, what, several);
    }

    async fn run(&mut self, until: Instant) -> Result<(), Failed> {
        let mut served = self.start()?;
        let config =
            load::impatient(&self.setting.ports.uri()).map_err(|error| unexpected(&error))?;
        let cluster = halite::connect_with(config).await.map_err(|error| unexpected(&error))?;
        load::create(&cluster, &mut self.rng).await.map_err(|error| unexpected(&error))?;
        let probe = TableDescriptor::new(
            "probe".parse().map_err(|error: halite::Error| unexpected(&error))?,
        )
        .family(FamilyDescriptor::new("f"));
        cluster
            .admin()
            .create_table(probe, Vec::new())
            .await
            .map_err(|error| unexpected(&error))?;
        let mut load = Load::new(std::slice::from_ref(&cluster), 3, 600, &mut self.rng);
        while Instant::now() < until {
            (load, served) = self.round(load, served, &cluster).await?;
        }
        end_cleanly(self.context, served, &self.setting).map_err(|text| unexpected(&text))
    }

    /// Runs one round: a fault under load, concurrent reads, and operation after it.
    async fn round(
        &mut self,
        load: Load,
        mut served: Served,
        cluster: &RemoteCluster,
    ) -> Result<(Load, Served), Failed> {
        self.armed_fault.clone_from(&self.plan.arm(&mut self.rng)?);
        let running = load.start();
        tokio::time::sleep(Duration::from_millis(self.rng.u64(20..250))).await;
        let name = load::table(cluster).name().clone();
        // It may fail, but must end.
        if timeout(Duration::from_mins(1), cluster.admin().flush(&name)).await.is_err() {
            return Err((FindingKind::Hung, "a flush did not finish".to_owned()));
        }
        let mut load = running.stop().await.map_err(|text| (FindingKind::Hung, text))?;
        record_load(self.context, PART, self.seed, &load.metrics);
        expect_alive(&mut served)?;
        // Reads continue while calls still fail, unless files cannot be opened.
        let faults = match load.compare(&load::table(cluster), false).await {
            Ok(faults) => faults,
            Err(_) if self.armed_fault.starts_with("open") => Vec::new(),
            Err(error) => return Err(unexpected(&format!("reads do not continue: {error}"))),
        };
        expect_right(&faults, "while calls fail")?;
        if self.rng.u32(..4) == 0 {
            return self.restart_while_it_fails(load, served, cluster).await;
        }
        let failed = self.plan.disarm()?;
        self.count("calls that failed", failed.into());
        self.count("faults planned", 1);
        let can_write = self.can_write(cluster).await;
        self.count(
            if can_write.is_ok() {
                "writes resumed automatically"
            } else {
                "writes stopped until a restart"
            },
            1,
        );
        if let Err(why) = &can_write
            && !(why.contains("os error") && why.contains("reads continue"))
        {
            return Err(unexpected(&format!(
                "writes have stopped after {failed} failed calls without a reported reason: {why}"
            )));
        }
        let restarts = can_write.is_err() || load.is_stuck() || self.rng.u32(..4) == 0;
        if restarts {
            served = self.restart(served)?;
        }
        let faults = load
            .compare(&load::table(cluster), restarts)
            .await
            .map_err(|error| unexpected(&format!("reads do not continue: {error}")))?;
        expect_right(
            &faults,
            if restarts { "after a restart" } else { "when calls no longer fail" },
        )?;
        Ok((load, served))
    }

    /// Kills the process while calls fail; it may fail to start then, and must start without
    /// faults.
    async fn restart_while_it_fails(
        &mut self,
        mut load: Load,
        served: Served,
        cluster: &RemoteCluster,
    ) -> Result<(Load, Served), Failed> {
        expect_no_panic(&served.kill().map_err(|text| (FindingKind::Hung, text))?)?;
        let (starting, refusal) = start_or_be_refused(&self.setting, "while calls fail")?;
        self.count(
            if refusal.is_none() {
                "starts while calls fail that succeeded"
            } else {
                "starts while calls fail that were rejected"
            },
            1,
        );
        if let Some(log) = refusal.filter(|log| !log.contains("os error")) {
            return Err(unexpected(&format!(
                "a start was rejected without a reported reason: {log}"
            )));
        }
        let failed = self.plan.disarm()?;
        self.count("calls that failed", failed.into());
        self.count("faults planned", 1);
        let served = self.restart(starting)?;
        let faults = load
            .compare(&load::table(cluster), true)
            .await
            .map_err(|error| unexpected(&format!("reading after a restart: {error}")))?;
        expect_right(&faults, "after a restart")?;
        Ok((load, served))
    }

    async fn can_write(&mut self, cluster: &RemoteCluster) -> Result<(), String> {
        let table =
            cluster.table(&"probe".parse().map_err(|error: halite::Error| error.to_string())?);
        let put = Put::new(format!("{}", self.rng.u64(..))).add("f", "q", "v");
        let result = timeout(Duration::from_mins(1), table.mutate(put.into())).await;
        // The table under load may be blocked while another is not.
        let flushed = result
            .map_err(|_| "a put did not finish".to_owned())?
            .map_err(|error| error.to_string());
        flushed.map(drop)
    }

    fn restart(&self, served: Served) -> Result<Served, Failed> {
        expect_no_panic(&served.kill().map_err(|text| (FindingKind::Hung, text))?)?;
        self.count("restarts", 1);
        self.start()
    }

    fn start(&self) -> Result<Served, Failed> {
        self.setting.start(&[]).map_err(|text| (FindingKind::Died, text))
    }
}

/// Checks that a comparison found nothing.
///
/// # Errors
/// Returns the differences.
pub(crate) fn expect_right(faults: &[String], when: &str) -> Result<(), Failed> {
    match faults {
        [] => Ok(()),
        [first, ..] => {
            Err((FindingKind::Lost, format!("{} rows are wrong {when}: {first}", faults.len())))
        }
    }
}
