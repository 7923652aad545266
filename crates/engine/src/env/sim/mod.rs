//! Simulated environment: disk, clock and randomness determined by one seed, with power losses and
//! failures on demand.
//!
//! [`SimEnv::env`] returns the [`Env`] of one process lifetime. After [`SimFs::crash`],
//! [`SimFs::drop_unsynced`] or [`SimFs::kill`] all users of the old one get errors, and the next
//! [`SimEnv::env`] sees the remaining state:
//! - A file's synced bytes. Bytes appended or truncated since may be present, absent, or present in
//!   some 512-byte sectors only.
//! - The names that a synced directory had. Later changes may be present or absent (`disk.rs`
//!   contains the models).
//!
//! A process path `/some/file`, outside of its root, is `outside/some/file` on the simulated disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::rng::SeededRng;
use super::{Clock, Env, JoinHandle, Threads};

mod disk;
mod fault;
mod file;
mod process;
#[cfg(test)]
mod tests;

pub use fault::{FsCall, InjectedFault};

use disk::{Disk, locked};

/// Simulated environment, with the controls of a test.
#[derive(Clone, Debug)]
pub struct SimEnv {
    /// Disk.
    pub fs: SimFs,
    /// Clock.
    pub clock: SimClock,
    rng: Arc<SeededRng>,
}

impl SimEnv {
    /// Creates an empty disk; the clock starts at 1,000,000,000,000 ms (September 2001).
    pub fn new(seed: u64) -> Self {
        let rng = SeededRng::new(seed);
        let disk = Disk::new(seed ^ 0xd15c);
        Self {
            fs: SimFs { disk: Arc::new(Mutex::new(disk)) },
            clock: SimClock::default(),
            rng: Arc::new(rng),
        }
    }

    /// Returns the environment of one process: its files fail after the next crash or kill.
    pub fn env(&self) -> Env {
        Env {
            fs: Arc::new(process::ProcessFs::new(Arc::clone(&self.fs.disk))),
            clock: Arc::new(self.clock.clone()),
            rng: Arc::clone(&self.rng) as _,
            threads: Arc::new(NoThreads),
        }
    }
}

/// Simulated disk. Calls of these methods are not counted as calls of the process.
#[derive(Clone, Debug)]
pub struct SimFs {
    disk: Arc<Mutex<Disk>>,
}

impl SimFs {
    /// Simulates a power loss: the process ends, and the seed determines which unsynced changes
    /// remain.
    pub fn crash(&self, seed: u64) {
        locked(&self.disk).lose_power(seed);
    }

    /// Simulates a power loss: the process ends, and everything unsynced is lost.
    pub fn drop_unsynced(&self) {
        locked(&self.disk).drop_unsynced();
    }

    /// Ends the process, not the machine: all writes remain, synced or not.
    pub fn kill(&self) {
        locked(&self.disk).kill();
    }

    /// Returns the number of calls of processes so far.
    pub fn calls(&self) -> u64 {
        locked(&self.disk).calls
    }

    /// Returns the last call and its path, to locate a crash.
    pub fn last_call(&self) -> Option<(FsCall, String)> {
        locked(&self.disk).last_call.clone()
    }

    /// Makes the process end in the call after `calls` calls in total: that call and all later ones
    /// fail. An affected write appends a part of its bytes. The test must still call
    /// [`SimFs::crash`] or [`SimFs::kill`].
    pub fn crash_at_call(&self, calls: u64) {
        locked(&self.disk).die_at = Some(calls);
    }

    /// Returns the call at which the process will end, if it is still pending.
    pub fn planned_crash(&self) -> Option<u64> {
        locked(&self.disk).die_at
    }

    /// Returns `true` if the process has ended because of [`SimFs::crash_at_call`].
    pub fn is_gone(&self) -> bool {
        locked(&self.disk).gone
    }

    /// Adds a fault; it also applies to the next process.
    pub fn inject(&self, fault: InjectedFault) {
        locked(&self.disk).faults.push(fault);
    }

    /// Returns the number of calls that failed because of injected faults.
    pub fn failures(&self) -> u64 {
        locked(&self.disk).failures
    }

    /// Removes all injected faults.
    pub fn clear_faults(&self) {
        locked(&self.disk).faults.clear();
    }

    /// Sets the capacity of the disk in bytes; `None` means no limit. A write that does not fit is
    /// partially done.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        locked(&self.disk).capacity = bytes;
    }

    /// Returns the bytes of all files.
    pub fn used_bytes(&self) -> u64 {
        locked(&self.disk).files().values().map(|file| locked(file).bytes().len() as u64).sum()
    }

    /// Makes all calls that change the disk fail, or succeed again.
    pub fn set_read_only(&self, read_only: bool) {
        locked(&self.disk).read_only = read_only;
    }

    /// Releases all locks, as if another process held them.
    pub fn lose_lock(&self) {
        locked(&self.disk).locks.clear();
    }

    /// Restores the lock of a path, as if the other process had ended.
    pub fn regain_lock(&self, path: &str) {
        locked(&self.disk).locks.insert(path.into());
    }

    /// Returns every file with its bytes as seen by a process, by path.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        locked(&self.disk)
            .files()
            .into_iter()
            .map(|(path, file)| (path, locked(&file).bytes().to_vec()))
            .collect()
    }

    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// If the file does not exist.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = locked(&self.disk).file(path)?;
        Ok(locked(&file).bytes().to_vec())
    }

    /// Writes a file, durable with all current names; open readers keep the old one.
    ///
    /// # Errors
    /// If a file exists where a directory is needed.
    pub fn write(&self, path: &str, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
        locked(&self.disk).put_file(path, bytes.into(), false)
    }

    /// Adds a file that never existed before, durable as if it had always existed.
    ///
    /// # Errors
    /// If a file exists where a directory is needed.
    pub fn add(&self, path: &str, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
        locked(&self.disk).put_file(path, bytes.into(), true)
    }

    /// Flips bits on the disk: the byte at `offset` is combined with `mask` by exclusive or, also
    /// for open readers.
    ///
    /// # Errors
    /// If the file or the byte does not exist.
    pub fn corrupt(&self, path: &str, offset: usize, mask: u8) -> io::Result<()> {
        let file = locked(&self.disk).file(path)?;
        let mut data = locked(&file);
        let mut bytes = data.bytes().to_vec();
        *bytes.get_mut(offset).ok_or(io::ErrorKind::UnexpectedEof)? ^= mask;
        *data = file::FileData::durable(bytes);
        Ok(())
    }

    /// Truncates a file to `bytes` bytes, durably, also for open readers.
    ///
    /// # Errors
    /// If the file does not exist.
    pub fn cut(&self, path: &str, bytes: usize) -> io::Result<()> {
        let file = locked(&self.disk).file(path)?;
        let mut data = locked(&file);
        data.truncate(bytes);
        data.sync();
        Ok(())
    }
}

/// Clock that advances only on request.
#[derive(Clone, Debug)]
pub struct SimClock {
    now_ms: Arc<AtomicI64>,
    monotonic_ns: Arc<AtomicU64>,
}

impl Default for SimClock {
    fn default() -> Self {
        Self { now_ms: Arc::new(AtomicI64::new(1_000_000_000_000)), monotonic_ns: Arc::default() }
    }
}

impl SimClock {
    /// Advances both clocks.
    pub fn advance_ms(&self, milliseconds: u32) {
        self.jump_ms(i64::from(milliseconds));
        self.monotonic_ns.fetch_add(u64::from(milliseconds) * 1_000_000, Ordering::Relaxed);
    }

    /// Sets the wall clock forward or back; the monotonic clock does not advance.
    pub fn jump_ms(&self, milliseconds: i64) {
        self.now_ms.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn monotonic_ns(&self) -> u64 {
        self.monotonic_ns.load(Ordering::Relaxed)
    }
}

struct NoThreads;

impl Threads for NoThreads {
    fn spawn(
        &self,
        _name: &str,
        _work: Box<dyn FnOnce() + Send>,
    ) -> io::Result<Option<Box<dyn JoinHandle>>> {
        Ok(None)
    }
}
