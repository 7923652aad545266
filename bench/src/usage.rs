//! Resource usage: CPU time, bytes written and memory of this process, disk usage of a store.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Result;

/// Moment, with the resources used until then.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    at: Instant,
    cpu_ns: u64,
    written_bytes: u64,
}

/// Resources used between two moments.
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    pub(crate) cpu_us: f64,
    pub(crate) written_bytes: f64,
}

impl Usage {
    /// Returns the current usage of all threads.
    pub(crate) fn now() -> Result<Self> {
        Ok(Self {
            cpu_ns: cpu_ns()?,
            written_bytes: field("/proc/self/io", "wchar:")?,
            at: Instant::now(),
        })
    }

    /// Returns the resources used from `self` to `end`.
    pub(crate) fn until(&self, end: &Self) -> Spent {
        Spent {
            seconds: end.at.duration_since(self.at).as_secs_f64(),
            cpu_us: (end.cpu_ns - self.cpu_ns) as f64 / 1e3,
            written_bytes: (end.written_bytes - self.written_bytes) as f64,
        }
    }
}

/// Returns the resident memory of this process in bytes.
pub(crate) fn resident_bytes() -> Result<u64> {
    Ok(field("/proc/self/status", "VmRSS:")? * 1024)
}

/// Returns a warning if other processes keep this machine busy: they reduce every rate, and not
/// evenly.
pub(crate) fn busy_warning() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    let cores = std::thread::available_parallelism().ok()?.get();
    let text = format!(
        "warning: load {load:.1} on {cores} cores before the first run; compare processor times; \
         the rates are unreliable"
    );
    (load > cores as f64 / 2.0).then_some(text)
}

/// Looks at the processor time of this process while it waits for idleness.
const LOOKS_PER_SECOND: u32 = 20;

/// Waits until the engine's background threads have finished, that is, until this process is idle
/// for a while.
pub(crate) fn settle() -> Result<()> {
    const IDLE_LOOKS: u32 = 8;
    wait_for_idle(IDLE_LOOKS, &mut || ())
}

/// Waits until this process is idle for some seconds, since threads may wait for a busy disk, and
/// compactions may begin when a store has been idle for a while. Calls `tick` regularly.
pub(crate) fn settle_for(seconds: u32, tick: &mut dyn FnMut()) -> Result<()> {
    wait_for_idle(seconds * LOOKS_PER_SECOND, tick)
}

fn wait_for_idle(idle_looks: u32, tick: &mut dyn FnMut()) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(1000 / LOOKS_PER_SECOND as u64);
    let mut idle = 0;
    while idle < idle_looks {
        let before = cpu_ns()?;
        std::thread::sleep(LOOK);
        tick();
        // An idle thread that polls occasionally is still idle.
        idle = if cpu_ns()? - before < 1_000_000 { idle + 1 } else { 0 };
    }
    Ok(())
}

/// Returns the disk usage of a directory in bytes; space that is preallocated but not yet written
/// does not count.
pub(crate) fn folder_bytes(folder: &Path) -> Result<u64> {
    const BLOCK_BYTES: u64 = 512;
    let mut bytes = 0;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A file that the engine deletes concurrently no longer uses disk space.
        let Ok(about) = entry.metadata() else { continue };
        bytes += if about.is_dir() {
            folder_bytes(&entry.path())?
        } else {
            about.blocks() * BLOCK_BYTES
        };
    }
    Ok(bytes)
}

/// Returns the CPU time of all threads, ended ones included, in nanoseconds. The kernel's clock of
/// a process is more precise than the ticks in `/proc/self/stat`, and `clock_gettime` needs no
/// privileges.
fn cpu_ns() -> Result<u64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).map_err(|error| format!("processor time: {error}"))?;
    let nanoseconds =
        u64::try_from(time.tv_nsec).map_err(|error| format!("processor time: {error}"))?;
    Ok(seconds * 1_000_000_000 + nanoseconds)
}

/// Returns the memory of this machine in bytes.
pub(crate) fn machine_memory_bytes() -> Result<u64> {
    Ok(field("/proc/meminfo", "MemTotal:")? * 1024)
}

fn field(path: &str, name: &str) -> Result<u64> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next());
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| format!("{path}: no number after {name}"))
}
