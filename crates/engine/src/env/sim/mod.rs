//! A simulated outside: disk, clock and chance that one seed determines, with power losses and failures on demand.
//!
//! [`SimEnv::env`] gives the [`Env`] of one process life. After [`SimFs::crash`], [`SimFs::lose_unsynced`] or
//! [`SimFs::kill`] everything that holds the old one gets errors, and the next [`SimEnv::env`] sees what is left:
//! - a file's synced bytes; what was appended or cut since may be there, or not, or in some 512-byte sectors only;
//! - the names that a synced directory had; what changed since may be there or not (the models stand in `disk.rs`).
//!
//! What a process calls `/some/file`, outside of its root, lies in `outside/some/file`.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::chance::SeededRng;
use super::{Clock, Env, JoinHandle, Threads};

mod disk;
mod fault;
mod file;
mod process;
#[cfg(test)]
mod tests;

pub use fault::{Call, Fault};

use disk::{Disk, locked};

/// The simulated outside and the test's hands on it.
#[derive(Clone, Debug)]
pub struct SimEnv {
    /// The disk.
    pub fs: SimFs,
    /// The time.
    pub clock: SimClock,
    rng: Arc<SeededRng>,
}

impl SimEnv {
    /// An empty disk; the clock stands at 1,000,000,000,000 ms (September 2001).
    pub fn new(seed: u64) -> Self {
        let rng = SeededRng::new(seed);
        let disk = Disk::new(seed ^ 0xd15c);
        Self { fs: SimFs { disk: Arc::new(Mutex::new(disk)) }, clock: SimClock::default(), rng: Arc::new(rng) }
    }

    /// What one process sees: its files are dead after the next crash or kill.
    pub fn env(&self) -> Env {
        Env {
            fs: Arc::new(process::ProcessFs::new(Arc::clone(&self.fs.disk))),
            clock: Arc::new(self.clock.clone()),
            rng: Arc::clone(&self.rng) as _,
            threads: Arc::new(NoThreads),
        }
    }
}

/// The simulated disk. Nothing that is done here counts as a call of the process.
#[derive(Clone, Debug)]
pub struct SimFs {
    disk: Arc<Mutex<Disk>>,
}

impl SimFs {
    /// Cuts the power: the process is gone, and what was not synced is there or not, as the seed says.
    pub fn crash(&self, seed: u64) {
        locked(&self.disk).lose_power(seed);
    }

    /// Cuts the power: the process is gone, and so is everything that was not synced.
    pub fn lose_unsynced(&self) {
        locked(&self.disk).lose_all();
    }

    /// Ends the process, not the machine: all that was written stays, synced or not.
    pub fn kill(&self) {
        locked(&self.disk).kill();
    }

    /// Calls of processes so far.
    pub fn calls(&self) -> u64 {
        locked(&self.disk).calls
    }

    /// The last call and its path, to say where a crash fell.
    pub fn last_call(&self) -> Option<(Call, String)> {
        locked(&self.disk).last_call.clone()
    }

    /// Lets the process die in the call that follows `calls` calls in all: that one and all later ones fail. A write
    /// that is hit appends a part of its bytes. [`SimFs::crash`] or [`SimFs::kill`] is still to be called.
    pub fn crash_at_call(&self, calls: u64) {
        locked(&self.disk).die_at = Some(calls);
    }

    /// The call at which the process will die, if it is still to come.
    pub fn planned_crash(&self) -> Option<u64> {
        locked(&self.disk).die_at
    }

    /// Whether the process has died by [`SimFs::crash_at_call`].
    pub fn is_gone(&self) -> bool {
        locked(&self.disk).gone
    }

    /// Adds calls that fail, also in the next process.
    pub fn inject(&self, fault: Fault) {
        locked(&self.disk).faults.push(fault);
    }

    /// How many calls have failed because that was injected.
    pub fn failures(&self) -> u64 {
        locked(&self.disk).failures
    }

    /// No injected failures any more.
    pub fn clear_faults(&self) {
        locked(&self.disk).faults.clear();
    }

    /// How many bytes fit on the disk in all; `None` means no limit. A write that does not fit is done in part.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        locked(&self.disk).capacity = bytes;
    }

    /// Bytes of all files.
    pub fn used_bytes(&self) -> u64 {
        locked(&self.disk).files().values().map(|file| locked(file).bytes().len() as u64).sum()
    }

    /// Whether everything that changes the disk is refused.
    pub fn set_read_only(&self, read_only: bool) {
        locked(&self.disk).read_only = read_only;
    }

    /// Takes away all locks, as if another process held them.
    pub fn lose_lock(&self) {
        locked(&self.disk).locks.clear();
    }

    /// Gives the lock of a path back, as if the other process had ended.
    pub fn regain_lock(&self, path: &str) {
        locked(&self.disk).locks.insert(path.into());
    }

    /// Every file with its bytes as a process sees them, by path.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        locked(&self.disk).files().into_iter().map(|(path, file)| (path, locked(&file).bytes().to_vec())).collect()
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = locked(&self.disk).file(path)?;
        Ok(locked(&file).bytes().to_vec())
    }

    /// Puts a file there, durable with all names so far; open readers keep the old one.
    ///
    /// # Errors
    /// If a file stands where a directory is needed.
    pub fn write(&self, path: &str, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
        locked(&self.disk).put_file(path, bytes.into(), false)
    }

    /// Puts a file there that was never there before, durable as if it had been there all the time.
    ///
    /// # Errors
    /// If a file stands where a directory is needed.
    pub fn add(&self, path: &str, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
        locked(&self.disk).put_file(path, bytes.into(), true)
    }

    /// Flips bits on the disk: the byte at `offset` is combined with `mask` by exclusive or, for open readers too.
    ///
    /// # Errors
    /// If there is no such file or byte.
    pub fn corrupt(&self, path: &str, offset: usize, mask: u8) -> io::Result<()> {
        let file = locked(&self.disk).file(path)?;
        let mut data = locked(&file);
        let mut bytes = data.bytes().to_vec();
        *bytes.get_mut(offset).ok_or(io::ErrorKind::UnexpectedEof)? ^= mask;
        *data = file::FileData::durable(bytes);
        Ok(())
    }

    /// Cuts a file to `bytes` bytes, durably, for open readers too.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn cut(&self, path: &str, bytes: usize) -> io::Result<()> {
        let file = locked(&self.disk).file(path)?;
        let mut data = locked(&file);
        data.truncate(bytes);
        data.sync();
        Ok(())
    }
}

/// A clock that goes only when it is told to.
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
    /// Time passes.
    pub fn advance_ms(&self, milliseconds: u32) {
        self.jump_ms(i64::from(milliseconds));
        self.monotonic_ns.fetch_add(u64::from(milliseconds) * 1_000_000, Ordering::Relaxed);
    }

    /// Somebody sets the clock, forward or back; no time passes.
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
    fn spawn(&self, _name: &str, _work: Box<dyn FnOnce() + Send>) -> io::Result<Option<Box<dyn JoinHandle>>> {
        Ok(None)
    }
}
