//! A full disk of a few megabytes: writes are rejected with a retryable error, reads continue, and
//! writes resume automatically when space is free. No acknowledged write is lost, including when
//! the process dies while the disk is full.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use halite::{
    Cluster as _, FamilyDescriptor, Get, Put, RemoteCluster, Scan, Table, TableDescriptor,
    TableExt as _,
};
use tokio::time::timeout;

use crate::context::Context;
use crate::faults::expect_right;
use crate::kills::{
    self, Failed, end_cleanly, expect_alive, expect_no_panic, record_load, start_or_be_refused,
    unexpected,
};
use crate::load::{self, Load};
use crate::report::FindingKind;
use crate::served::{Served, ServerSetup, ms_since};

const PART: &str = "full";

const DISK_MEGABYTES: u32 = 24;
const BALLAST_BYTES: usize = 8 << 20;
/// Free bytes above which a rejection is due to a lack of memory; the reserve is a quarter of such
/// a small disk.
const MIN_FREE_BYTES: u64 = 7 << 20;
/// Maximum time until writes resume after space is free.
const RECOVERY_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time until the disk is full.
const FILL_LIMIT: Duration = Duration::from_mins(2);
const CALL_LIMIT: Duration = Duration::from_mins(1);

/// In-memory file system, mounted for the lifetime of the value.
struct Disk {
    mount_point: PathBuf,
}

impl Disk {
    fn mount(at: &Path) -> Result<Self, String> {
        std::fs::create_dir(at).map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={DISK_MEGABYTES}m,mode=0700"),
                "halite-torture",
            ])
            .arg(at);
        let output = halite_patience::output(&mut mount, CALL_LIMIT)?;
        if output.status.success() {
            Ok(Self { mount_point: at.to_owned() })
        } else {
            Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A process that still has files open keeps it a little longer.
        let _ = halite_patience::output(
            Command::new("umount").arg("--lazy").arg(&self.mount_point),
            CALL_LIMIT,
        );
    }
}

/// Runs rounds until the time is over.
pub(crate) fn turn(context: &Context, seed: u64, until: Instant) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = context.folder(PART);
    let disk = match Disk::mount(&folder.path().join("disk")) {
        Ok(disk) => disk,
        Err(why) => {
            return context.report.skip(
                PART,
                format!("no separate file system of limited size can be mounted: {why}"),
            );
        }
    };
    let mut setting = kills::setting(context, &mut rng, &disk.mount_point);
    setting.flags.extend(["--wal-sync".to_owned(), ["fsync", "flush"][rng.usize(..2)].to_owned()]);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    while Instant::now() < until {
        let Ok(runtime) = &runtime else { return };
        let mut full = Full {
            context,
            seed,
            setting: &setting,
            ballast: disk.mount_point.join("ballast"),
            rng: rng.fork(),
        };
        if let Err((fault, text)) = runtime.block_on(full.run()) {
            return context.report.find(PART, fault, seed, Some(&setting.data), text);
        }
        // The next disk is empty.
        if let Err(error) = std::fs::remove_dir_all(&setting.data) {
            return context.report.find(PART, FindingKind::Wrong, seed, None, error.to_string());
        }
    }
}

/// Time of a comparison. `is_settled` is `true` if the process was restarted since the last failed
/// write.
#[derive(Clone, Copy)]
struct ComparePoint {
    is_settled: bool,
    when: &'static str,
}

struct Full<'a> {
    context: &'a Context,
    seed: u64,
    setting: &'a ServerSetup,
    ballast: PathBuf,
    rng: fastrand::Rng,
}

impl Full<'_> {
    fn count(&self, what: &str, several: u64) {
        self.context.report.count(PART, what, several);
    }

    async fn run(&mut self) -> Result<(), Failed> {
        std::fs::write(&self.ballast, vec![7; BALLAST_BYTES])
            .map_err(|error| unexpected(&error))?;
        let mut served = self.start()?;
        let config =
            load::impatient(&self.setting.ports.uri()).map_err(|error| unexpected(&error))?;
        let cluster = halite::connect_with(config).await.map_err(|error| unexpected(&error))?;
        load::create(&cluster, &mut self.rng).await.map_err(|error| unexpected(&error))?;
        let filler = TableDescriptor::new(
            "filler".parse().map_err(|error: halite::Error| unexpected(&error))?,
        )
        .family(FamilyDescriptor::new("f"));
        let name = filler.name().clone();
        cluster
            .admin()
            .create_table(filler, Vec::new())
            .await
            .map_err(|error| unexpected(&error))?;
        let filler = cluster.table(&name);
        let running = Load::new(std::slice::from_ref(&cluster), 2, 600, &mut self.rng).start();
        let (rows, refusal) = self.fill(&*filler).await?;
        self.count("disks filled", 1);
        self.expect_retryable(&refusal)?;
        let mut load = running.stop().await.map_err(|text| (FindingKind::Hung, text))?;
        record_load(self.context, PART, self.seed, &load.metrics);
        expect_alive(&mut served)?;
        self.compare(
            &mut load,
            &cluster,
            &*filler,
            rows,
            ComparePoint { is_settled: false, when: "while the disk is full" },
        )
        .await?;
        let dies = self.rng.bool();
        if dies {
            served = self.die_while_full(served)?;
        } else {
            self.free()?;
            self.await_writes(&*filler).await?;
            self.count("writes resumed automatically", 1);
        }
        self.compare(
            &mut load,
            &cluster,
            &*filler,
            rows,
            ComparePoint { is_settled: dies, when: "with room again" },
        )
        .await?;
        let running = load.start();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut load = running.stop().await.map_err(|text| (FindingKind::Hung, text))?;
        record_load(self.context, PART, self.seed, &load.metrics);
        let served = self.restart(served)?;
        self.compare(
            &mut load,
            &cluster,
            &*filler,
            rows,
            ComparePoint { is_settled: true, when: "after a restart" },
        )
        .await?;
        end_cleanly(self.context, served, self.setting).map_err(|text| unexpected(&text))
    }

    /// Writes until a write is rejected. Returns the number of acknowledged rows and the error.
    async fn fill(&mut self, table: &dyn Table) -> Result<(u64, halite::Error), Failed> {
        let begun = Instant::now();
        let mut row = 0;
        loop {
            let put = Put::new(format!("{row:06}")).add("f", "q", self.value());
            match timeout(CALL_LIMIT, table.mutate(put.into())).await.map_err(|_| {
                (FindingKind::Hung, "a put on a full disk did not finish".to_owned())
            })? {
                Ok(_) => {
                    self.count("rows written to fill the disk", 1);
                    row += 1;
                }
                // Repeats the same row: the disk should be full, not memory.
                Err(error)
                    if error.kind() == halite::ErrorKind::Busy
                        && self.free_bytes() > MIN_FREE_BYTES =>
                {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return Ok((row, error)),
            }
            if begun.elapsed() > FILL_LIMIT {
                return Err(unexpected(&format!(
                    "{row} rows did not fill a disk of {DISK_MEGABYTES} megabytes"
                )));
            }
        }
    }

    /// Returns incompressible bytes.
    fn value(&mut self) -> Vec<u8> {
        (0..20_000).map(|_| self.rng.u8(..)).collect()
    }

    /// Returns the free bytes of the disk.
    fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(&self.ballast).map_or(0, |of| of.f_bavail * of.f_bsize)
    }

    /// Checks that a client with retries retries the error if it is temporary, and otherwise gives
    /// up immediately.
    fn expect_retryable(&self, refusal: &halite::Error) -> Result<(), Failed> {
        self.count("refusals", 1);
        if refusal.message().contains("gave up after") {
            return Ok(());
        }
        Err(unexpected(&format!("a write on a full disk is rejected as not retryable: {refusal}")))
    }

    async fn compare(
        &self,
        load: &mut Load,
        cluster: &RemoteCluster,
        filler: &dyn Table,
        rows: u64,
        when: ComparePoint,
    ) -> Result<(), Failed> {
        let ComparePoint { is_settled, when } = when;
        let faults = load
            .compare(&load::table(cluster), is_settled)
            .await
            .map_err(|error| unexpected(&format!("reads do not continue {when}: {error}")))?;
        expect_right(&faults, when)?;
        let mut stream = filler.scan(Scan::all().max_result_bytes(1 << 20));
        let mut next = 0;
        while let Some(row) = stream
            .next()
            .await
            .map_err(|error| unexpected(&format!("reads do not continue {when}: {error}")))?
        {
            if next < rows && row.key() != format!("{next:06}").as_bytes() {
                return Err((
                    FindingKind::Lost,
                    format!("row {next:06} of {rows} acknowledged ones is missing {when}"),
                ));
            }
            next += 1;
        }
        if next < rows {
            return Err((
                FindingKind::Lost,
                format!("{next} of {rows} acknowledged rows exist {when}"),
            ));
        }
        let row = format!("{:06}", rows / 2);
        match timeout(CALL_LIMIT, filler.get(Get::new(row.clone()))).await {
            Ok(Ok(row)) if !row.is_empty() => Ok(()),
            Ok(other) => Err((
                FindingKind::Lost,
                format!("a get of the acknowledged row {row} {when} returned: {other:?}"),
            )),
            Err(_) => Err((FindingKind::Hung, format!("a get did not finish {when}"))),
        }
    }

    /// Kills the process while the disk is full. It may start then, and must start when space is
    /// free.
    fn die_while_full(&mut self, served: Served) -> Result<Served, Failed> {
        expect_no_panic(&served.kill().map_err(|text| (FindingKind::Hung, text))?)?;
        self.count("kills while the disk is full", 1);
        let (starting, refusal) = start_or_be_refused(self.setting, "on a full disk")?;
        self.count(
            if refusal.is_none() {
                "starts on a full disk that succeeded"
            } else {
                "starts on a full disk that were rejected"
            },
            1,
        );
        if let Some(log) = refusal.filter(|log| !log.contains("make room")) {
            return Err(unexpected(&format!("a start on a full disk does not state a fix: {log}")));
        }
        self.free()?;
        self.restart(starting)
    }

    fn free(&self) -> Result<(), Failed> {
        std::fs::remove_file(&self.ballast).map_err(|error| unexpected(&error))
    }

    async fn await_writes(&mut self, table: &dyn Table) -> Result<(), Failed> {
        let begun = Instant::now();
        loop {
            let put = Put::new(format!("again-{}", self.rng.u32(..))).add("f", "q", "v");
            let result = timeout(CALL_LIMIT, table.mutate(put.into()))
                .await
                .map_err(|_| (FindingKind::Hung, "a put did not finish".to_owned()))?;
            match result {
                Ok(_) => {
                    self.context.report.largest(
                        PART,
                        "longest time until writes resumed, ms",
                        ms_since(begun),
                    );
                    return Ok(());
                }
                Err(error) if begun.elapsed() > RECOVERY_LIMIT => {
                    return Err(unexpected(&format!(
                        "writes did not resume within {} s after space was freed: {error}",
                        RECOVERY_LIMIT.as_secs()
                    )));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn restart(&self, served: Served) -> Result<Served, Failed> {
        expect_no_panic(&served.kill().map_err(|text| (FindingKind::Hung, text))?)?;
        self.start()
    }

    fn start(&self) -> Result<Served, Failed> {
        self.setting.start(&[]).map_err(|text| (FindingKind::Died, text))
    }
}
