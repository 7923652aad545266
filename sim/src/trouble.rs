//! Calls that fail, a disk that is full for a while, flipped bits in files at rest; and the life of a process after them.
//!
//! After a failed call the process ends or goes on. If it goes on, reads do, too, and see what they saw before: what was
//! acknowledged, and nothing of what was not, until that is durable. Writes are refused or done, as the store can. A flipped bit
//! gives an error or the right answer.

use halite_engine::env::chance::SeededRng;
use halite_engine::env::sim::{Call, Fault};
use halite_types::{Error, ErrorKind, Get, RowOp};

use crate::check::{Checked, Mismatch, check_row};
use crate::generate::Step;
use crate::log::{After, Way};
use crate::store::Store;
use crate::world::{Outcome, Stop, World};

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// Calls of this kind fail: the first so many succeed, and then so many fail.
    Calls(Call, u64, u64),
    /// So many bytes can be written before the disk is full.
    FullDisk(u64),
    /// The disk has room again, and no call fails any more.
    Over,
    /// A bit of a file is flipped, which this seed says.
    Flip(u64),
}

/// Kinds of calls that fail in random runs.
pub(crate) const CALLS: [Call; 11] = [
    Call::Create,
    Call::Open,
    Call::Write,
    Call::Write,
    Call::Sync,
    Call::Sync,
    Call::SyncDir,
    Call::Rename,
    Call::Read,
    Call::Reserve,
    Call::RemoveFile,
];

/// Within this a store that is written to sees that the disk has room again.
const ROOM_SEEN_NS: u64 = 100_000_000;

/// What went wrong with the process that is alive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Health {
    /// Calls may fail from now on.
    pub(crate) troubled: bool,
    /// A call has failed since the store was opened.
    pub(crate) wounded: bool,
    /// The store may not have seen before this time that the disk has room again, in nanoseconds.
    pub(crate) room_seen_ns: u64,
}

impl World {
    pub(crate) fn trouble(&mut self, trouble: Trouble) -> Outcome {
        match trouble {
            Trouble::Calls(call, skip, times) => {
                self.health.troubled = true;
                self.sim.fs.inject(Fault { times, ..Fault::next(call, "", std::io::ErrorKind::Other).after(skip) });
                Ok(())
            }
            Trouble::FullDisk(room) => {
                self.health.troubled = true;
                self.sim.fs.set_capacity(Some(self.sim.fs.used_bytes() + room));
                Ok(())
            }
            Trouble::Over => {
                self.end_of_trouble();
                Ok(())
            }
            Trouble::Flip(seed) => self.flip(seed),
        }
    }

    fn end_of_trouble(&mut self) {
        self.health.troubled = false;
        self.health.room_seen_ns = self.sim.env().clock.monotonic_ns() + ROOM_SEEN_NS;
        self.sim.fs.clear_faults();
        self.sim.fs.set_capacity(None);
    }

    /// Whether the store may refuse things: a call may fail, or one has, or the disk was full a moment ago.
    pub(crate) fn may_refuse(&self) -> bool {
        self.health.troubled || self.health.wounded || self.sim.env().clock.monotonic_ns() < self.health.room_seen_ns
    }

    /// A step failed, and the process is alive. It ends, or goes on with what readers see.
    pub(crate) fn after_failure(&mut self, step: &Step, error: &Error) -> Result<(), Mismatch> {
        self.health.wounded = true;
        // Whether a change of several parts came about is found out by the next start.
        let is_open = self.store.is_some() && !self.copies.is_changing() && self.loading.is_empty();
        if !is_open || self.sim.fs.calls().is_multiple_of(3) {
            return self.restart();
        }
        self.tally.failures_outlived += 1;
        // A full disk stays full; a call that is to fail next is not one of these.
        self.sim.fs.clear_faults();
        self.note_rewrites(true);
        match self.find_entries(After::Failure) {
            Ok(()) => Ok(()),
            Err(Stop::Wrong(mismatch)) => Err(format!("after {step} failed ({error}): {mismatch}")),
            Err(Stop::Failed(_)) if self.sim.fs.is_gone() => self.restart(),
            Err(Stop::Failed(second)) => Err(format!("reads fail after {step} failed ({error}): {second}")),
        }
    }

    /// Before a step: writes that failed may have come about since, where the store has mended itself. What would read them is
    /// left out until that is known.
    pub(crate) fn look_again(&mut self, step: &Step) -> Result<bool, Stop> {
        if !self.health.wounded || !self.has_late_entries() {
            return Ok(true);
        }
        self.find_entries(After::Failure)?;
        let is_certain = self.entries().iter().all(|entry| entry.way != Way::Failed || entry.visible);
        let reads_first = match step {
            Step::Write(op) | Step::WriteOnce(op, _) => !matches!(op, RowOp::Put(_)),
            Step::Batch(_) | Step::Burst(..) | Step::Load(_) => true,
            _ => false,
        };
        Ok(is_certain || !reads_first)
    }

    /// Flips a bit of a file, reads everything in this process and in the next, and flips it back.
    fn flip(&mut self, seed: u64) -> Outcome {
        let rng = SeededRng::new(seed);
        let is_chosen =
            |path: &str| path == "halite/MANIFEST" || ((path.starts_with("data/") || path.starts_with("archive/")) && !path.contains("/."));
        let files: Vec<(String, usize)> = self
            .sim
            .fs
            .files()
            .into_iter()
            .filter(|(path, bytes)| is_chosen(path) && !bytes.is_empty())
            .map(|(path, bytes)| (path, bytes.len()))
            .collect();
        if files.is_empty() || self.may_refuse() {
            return Ok(());
        }
        let (path, length) = &files[rng.up_to(files.len() - 1)];
        let (offset, mask) = (rng.up_to(length - 1), 1 << rng.below(8));
        let turn = |world: &Self| drop(world.sim.fs.corrupt(path, offset, mask));
        let about = |mismatch: Mismatch| Stop::Wrong(format!("with a bit of {path} flipped, at {offset}: {mismatch}"));
        turn(self);
        self.tally.flips += 1;
        let store = self.store()?.on(self.table.name());
        self.read_damaged(&store).map_err(about)?;
        drop(store);
        if self.log.is_none() && !self.sim.fs.is_gone() {
            self.note_rewrites(true);
            self.sim.fs.kill();
            self.store = None;
            match Store::open(self.sim.env(), self.options.clone(), &self.table) {
                Ok(store) => self.read_damaged(&store).map_err(about)?,
                Err(error) if is_clear(&error) => self.tally.flips_refused += 1,
                Err(error) => return Err(about(format!("the store is not opened, and the error is not one of damage: {:?} {error}", error.kind()))),
            }
        }
        turn(self);
        self.power_loss = None;
        Ok(self.restart()?)
    }

    /// Reads every row in two ways: what comes is right, or an error that says that something is damaged.
    fn read_damaged(&mut self, store: &Store) -> Result<(), Mismatch> {
        let now = self.now();
        self.model.note_compaction(now);
        let rows: Vec<_> = self.model.rows().cloned().collect();
        for row in rows {
            let get = Get::new(row.clone()).all_versions();
            match store.get(&get) {
                Ok(found) => check_row(&self.model, &row, &get.selection, now, &found, &mut Checked::default())?,
                Err(_) if self.sim.fs.is_gone() => return Ok(()),
                Err(error) if is_clear(&error) => self.tally.flips_refused += 1,
                Err(error) => return Err(format!("the error is not one of damage: {:?} {error}", error.kind())),
            }
        }
        Ok(())
    }
}

/// Whether an error says that bytes are not what they were.
fn is_clear(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NewerFormat | ErrorKind::Unsupported)
}
