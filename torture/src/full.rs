//! A disk of a few megabytes that fills: writes are refused so that clients try again, reads go on, and with room writes begin again by
//! themselves. Nothing acknowledged is lost, also when the process dies while the disk is full.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use halite::{Cluster as _, FamilyDescriptor, Get, Put, RemoteCluster, Scan, Table, TableDescriptor, TableExt as _};
use tokio::time::timeout;

use crate::Context;
use crate::faults::expect_right;
use crate::kills::{self, Failed, end_well, expect_alive, expect_no_panic, start_or_be_refused, tell, wrong};
use crate::load::{self, Load};
use crate::report::Fault;
use crate::served::{Served, Setting, ms_since};

const PART: &str = "full";

const DISK_MEGABYTES: u32 = 24;
const BALLAST_BYTES: usize = 8 << 20;
/// With more free than this a refusal is for want of memory; what is kept free is a quarter of so small a disk.
const ROOM_BYTES: u64 = 7 << 20;
/// How soon writes begin again once there is room.
const AGAIN: Duration = Duration::from_secs(10);
/// How long it may take until the disk is full.
const FILLING: Duration = Duration::from_mins(2);
const CALL: Duration = Duration::from_mins(1);

/// A file system in memory that is mounted while this lives.
struct Disk {
    at: PathBuf,
}

impl Disk {
    fn mount(at: &Path) -> Result<Self, String> {
        std::fs::create_dir(at).map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={DISK_MEGABYTES}m,mode=0700"), "halite-torture"]).arg(at);
        let output = halite_patience::output(&mut mount, CALL)?;
        if output.status.success() { Ok(Self { at: at.to_owned() }) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whoever still has it open keeps it a little longer.
        let _ = halite_patience::output(Command::new("umount").arg("--lazy").arg(&self.at), CALL);
    }
}

/// Tortures until the time is over.
pub(crate) fn turn(context: &Context, seed: u64, until: Instant) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = context.folder(PART);
    let disk = match Disk::mount(&folder.path().join("disk")) {
        Ok(disk) => disk,
        Err(why) => return context.report.skip(PART, format!("no file system of its own size can be mounted here: {why}")),
    };
    let mut setting = kills::setting(context, &mut rng, &disk.at);
    setting.flags.extend(["--wal-sync".to_owned(), ["fsync", "flush"][rng.usize(..2)].to_owned()]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    while Instant::now() < until {
        let Ok(runtime) = &runtime else { return };
        let mut full = Full { context, seed, setting: &setting, ballast: disk.at.join("ballast"), rng: rng.fork() };
        if let Err((fault, text)) = runtime.block_on(full.run()) {
            return context.report.find(PART, fault, seed, Some(&setting.data), text);
        }
        // The next disk is an empty one.
        if let Err(error) = std::fs::remove_dir_all(&setting.data) {
            return context.report.find(PART, Fault::Wrong, seed, None, error.to_string());
        }
    }
}

/// When something is compared, and whether the process has been another one since the last failed write.
#[derive(Clone, Copy)]
struct When {
    is_settled: bool,
    when: &'static str,
}

struct Full<'a> {
    context: &'a Context,
    seed: u64,
    setting: &'a Setting,
    ballast: PathBuf,
    rng: fastrand::Rng,
}

impl Full<'_> {
    fn count(&self, what: &str, several: u64) {
        self.context.report.count(PART, what, several);
    }

    async fn run(&mut self) -> Result<(), Failed> {
        std::fs::write(&self.ballast, vec![7; BALLAST_BYTES]).map_err(|error| wrong(&error))?;
        let mut served = self.start()?;
        let config = load::impatient(&self.setting.ports.uri()).map_err(|error| wrong(&error))?;
        let cluster = halite::connect_with(config).await.map_err(|error| wrong(&error))?;
        load::create(&cluster, &mut self.rng).await.map_err(|error| wrong(&error))?;
        let filler = TableDescriptor::new("filler".parse().map_err(|error: halite::Error| wrong(&error))?).family(FamilyDescriptor::new("f"));
        let name = filler.name().clone();
        cluster.admin().create_table(filler, Vec::new()).await.map_err(|error| wrong(&error))?;
        let filler = cluster.table(&name);
        let running = Load::new(std::slice::from_ref(&cluster), 2, 600, &mut self.rng).start();
        let (rows, refusal) = self.fill(&*filler).await?;
        self.count("disks filled", 1);
        self.expect_retryable(&refusal)?;
        let mut load = running.stop().await.map_err(|text| (Fault::Hung, text))?;
        tell(self.context, PART, self.seed, &load.figures);
        expect_alive(&mut served)?;
        self.compare(&mut load, &cluster, &*filler, rows, When { is_settled: false, when: "while the disk is full" }).await?;
        let dies = self.rng.bool();
        if dies {
            served = self.die_while_full(served)?;
        } else {
            self.free()?;
            self.await_writes(&*filler).await?;
            self.count("writes began again by themselves", 1);
        }
        self.compare(&mut load, &cluster, &*filler, rows, When { is_settled: dies, when: "with room again" }).await?;
        let running = load.start();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut load = running.stop().await.map_err(|text| (Fault::Hung, text))?;
        tell(self.context, PART, self.seed, &load.figures);
        let served = self.restart(served)?;
        self.compare(&mut load, &cluster, &*filler, rows, When { is_settled: true, when: "after a restart" }).await?;
        end_well(self.context, served, self.setting).map_err(|text| wrong(&text))
    }

    /// Writes until a write is refused: how many rows were acknowledged, and the refusal.
    async fn fill(&mut self, table: &dyn Table) -> Result<(u64, halite::Error), Failed> {
        let begun = Instant::now();
        let mut row = 0;
        loop {
            let put = Put::new(format!("{row:06}")).add("f", "q", self.value());
            match timeout(CALL, table.apply_one(put.into())).await.map_err(|_| (Fault::Hung, "a put on a full disk did not end".to_owned()))? {
                Ok(_) => {
                    self.count("rows written to fill the disk", 1);
                    row += 1;
                }
                // The same row comes again: the disk is what is to be full, not the memory.
                Err(error) if error.kind() == halite::ErrorKind::Busy && self.free_bytes() > ROOM_BYTES => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => return Ok((row, error)),
            }
            if begun.elapsed() > FILLING {
                return Err(wrong(&format!("{row} rows did not fill a disk of {DISK_MEGABYTES} megabytes")));
            }
        }
    }

    /// Bytes that do not compress.
    fn value(&mut self) -> Vec<u8> {
        (0..20_000).map(|_| self.rng.u8(..)).collect()
    }

    /// Room on the disk.
    fn free_bytes(&self) -> u64 {
        rustix::fs::statvfs(&self.ballast).map_or(0, |of| of.f_bavail * of.f_bsize)
    }

    /// A client that tries several times does so for a refusal which may pass, and gives up at once otherwise.
    fn expect_retryable(&self, refusal: &halite::Error) -> Result<(), Failed> {
        self.count("refusals", 1);
        if refusal.message().contains("given up after") {
            return Ok(());
        }
        Err(wrong(&format!("a write that finds the disk full is refused for good: {refusal}")))
    }

    async fn compare(&self, load: &mut Load, cluster: &RemoteCluster, filler: &dyn Table, rows: u64, when: When) -> Result<(), Failed> {
        let When { is_settled, when } = when;
        let faults = load.compare(&load::table(cluster), is_settled).await.map_err(|error| wrong(&format!("reads do not go on {when}: {error}")))?;
        expect_right(&faults, when)?;
        let mut stream = filler.scan(Scan::all().max_result_bytes(1 << 20));
        let mut next = 0;
        while let Some(row) = stream.next().await.map_err(|error| wrong(&format!("reads do not go on {when}: {error}")))? {
            if next < rows && row.key() != format!("{next:06}").as_bytes() {
                return Err((Fault::Lost, format!("row {next:06} of {rows} acknowledged ones is gone {when}")));
            }
            next += 1;
        }
        if next < rows {
            return Err((Fault::Lost, format!("{next} of {rows} acknowledged rows are there {when}")));
        }
        let row = format!("{:06}", rows / 2);
        match timeout(CALL, filler.get_one(Get::new(row.clone()))).await {
            Ok(Ok(Some(_))) => Ok(()),
            Ok(other) => Err((Fault::Lost, format!("a get of the acknowledged row {row} {when}: {other:?}"))),
            Err(_) => Err((Fault::Hung, format!("a get did not end {when}"))),
        }
    }

    /// The process dies while the disk is full; whether it can start then, and that it can when there is room.
    fn die_while_full(&mut self, served: Served) -> Result<Served, Failed> {
        expect_no_panic(&served.kill().map_err(|text| (Fault::Hung, text))?)?;
        self.count("kills while the disk is full", 1);
        let (starting, refusal) = start_or_be_refused(self.setting, "on a full disk")?;
        self.count(if refusal.is_none() { "starts on a full disk that succeeded" } else { "starts on a full disk that were refused" }, 1);
        if let Some(log) = refusal.filter(|log| !log.contains("make room")) {
            return Err(wrong(&format!("a start on a full disk does not say what to do: {log}")));
        }
        self.free()?;
        self.restart(starting)
    }

    fn free(&self) -> Result<(), Failed> {
        std::fs::remove_file(&self.ballast).map_err(|error| wrong(&error))
    }

    async fn await_writes(&mut self, table: &dyn Table) -> Result<(), Failed> {
        let begun = Instant::now();
        loop {
            let put = Put::new(format!("again-{}", self.rng.u32(..))).add("f", "q", "v");
            let result = timeout(CALL, table.apply_one(put.into())).await.map_err(|_| (Fault::Hung, "a put did not end".to_owned()))?;
            match result {
                Ok(_) => {
                    self.context.report.largest(PART, "longest time until writes began again, ms", ms_since(begun));
                    return Ok(());
                }
                Err(error) if begun.elapsed() > AGAIN => {
                    return Err(wrong(&format!("there is room, and writes have not begun again within {} s: {error}", AGAIN.as_secs())));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn restart(&self, served: Served) -> Result<Served, Failed> {
        expect_no_panic(&served.kill().map_err(|text| (Fault::Hung, text))?)?;
        self.start()
    }

    fn start(&self) -> Result<Served, Failed> {
        self.setting.start(&[]).map_err(|text| (Fault::Died, text))
    }
}
