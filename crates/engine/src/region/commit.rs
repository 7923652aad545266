//! Commit of writes to a region: what `commit/pipeline.rs` does with its log and memstores.

use std::sync::atomic::Ordering;

use halite_types::{Durability, Error, ErrorKind, Result};

use super::Region;
use super::prepared_write::{PreparedWrite, cells_of};
use super::snapshot::RegionSnapshot;
use crate::commit::{CommitEnv, CommitGuard, CommitTicket, Committed, Refusal};
use crate::memstore::Writer;
use crate::wal::{LogWrite, SyncLevel};

/// Minimum number of operations in a batch for which the positions of its cells in the memstores
/// are searched together.
const MIN_GROUP_REQUESTS: usize = 8;

/// Guard that reports a change of a region that ended in a panic. The log counts its own panics.
struct PanicReporter<'a> {
    region: &'a Region,
    wal_panics: u64,
}

impl Drop for PanicReporter<'_> {
    fn drop(&mut self) {
        let shared = &self.region.shared;
        if std::thread::panicking() {
            shared
                .scheduler
                .record_panic(self.region.half_changed(), shared.wal.panics() == self.wal_panics);
        }
    }
}

impl Region {
    /// Returns the progress that the log must make for a write of this durability; `None` if it is
    /// not logged.
    pub(super) fn sync_level(
        &self,
        snapshot: &RegionSnapshot,
        durability: Durability,
    ) -> Option<SyncLevel> {
        let durability = match durability {
            Durability::UseDefault => snapshot.settings.durability,
            durability => durability,
        };
        match durability {
            Durability::SkipWal => None,
            Durability::AsyncWal => Some(SyncLevel::Async),
            Durability::FsyncWal => Some(SyncLevel::Fsync),
            Durability::UseDefault | Durability::SyncWal => {
                Some(self.shared.wal.default_sync_level())
            }
        }
    }

    /// Applies the cells of a prepared write atomically: a reader sees all of them or none.
    ///
    /// # Errors
    /// `NoSuchRegion` if the region was closed in the meantime, `NoSuchFamily` if a family was
    /// dropped in the meantime, or the log's failure. Nothing has been applied in that case.
    pub(super) fn commit(&self, write: &PreparedWrite<'_>) -> Result<CommitTicket> {
        match write.without_overwritten() {
            Some(rest) => self.commit_prepared(&write.replaced_by(&rest)?),
            None => self.commit_prepared(write),
        }
    }

    fn commit_prepared(&self, write: &PreparedWrite<'_>) -> Result<CommitTicket> {
        let clock = &self.shared.env.clock;
        let started = self.heat.start_write(&self.counters, &**clock);
        let mut commit = self.commits.lock();
        self.check_committing(&commit)?;
        let snapshot = self.state.load();
        let altered;
        let write = if write.is_for(&snapshot) {
            write
        } else {
            altered = write.resolved_for(&snapshot)?;
            &altered
        };
        self.shared.wal.check()?;
        // The manifest that the next open reads may already contain the split of the region.
        self.shared.manifest.sync_state().check()?;
        let reporter = PanicReporter { region: self, wal_panics: self.shared.wal.panics() };
        let env = RegionCommit { region: self, snapshot: &snapshot, write };
        let committed = commit.commit(&env, write.level);
        drop(reporter);
        drop(commit);
        let committed = committed?;
        let number = self.counters.add_writes(write.requests as u64, write.bytes as u64);
        self.heat.record_writes(number, &self.counters, write);
        let timer = self.heat.finish_write(started, clock);
        Ok(match committed {
            Committed::Visible => CommitTicket::ready(),
            Committed::Pending { position, fsync } => {
                CommitTicket::new(&self.shared.wal, position, fsync).holding(timer)
            }
        })
    }

    /// Returns the error for changes after a panic interrupted one.
    fn half_changed(&self) -> Error {
        let text = format!(
            "region {}: a panic ended a write half-way; reads go on, writes of the region are \
             refused; close the store and open it again",
            self.info.display_name()
        );
        Error::new(ErrorKind::Stopped, text)
    }

    /// Rejects a change if the region is closed or a panic interrupted a change.
    pub(super) fn check_committing(&self, commit: &CommitGuard<'_>) -> Result<()> {
        match commit.refusal() {
            None => Ok(()),
            Some(Refusal::Closed) => Err(self.not_serving_error()),
            Some(Refusal::Interrupted) => Err(self.half_changed()),
        }
    }

    /// Makes a sequence id that is not in the log visible after everything appended so far. Returns
    /// the position to wait for. The caller holds the commit lock.
    pub(super) fn complete_after_log(&self, sequence: u64) -> u64 {
        self.shared.wal.enqueue_completion(self.number, self.commits.mvcc(), sequence)
    }

    /// Returns a ticket for everything applied to the region so far. A result based on the newest
    /// applied state must not be returned before that state is durable.
    pub fn applied_ticket(&self) -> CommitTicket {
        if self.commits.mvcc().is_caught_up() {
            return CommitTicket::ready();
        }
        let fsync = self.shared.wal.default_sync_level() == SyncLevel::Fsync;
        CommitTicket::new(&self.shared.wal, self.shared.wal.end(), fsync)
    }

    /// Restores a write of the log into the memstores, at open, except for the families whose files
    /// already contain it. Dropped families are skipped.
    pub(crate) fn replay(&self, sequence: u64, cells: &[u8]) -> Result<()> {
        // Not the newest id of a file: a repaired region may have a file of one family while the
        // log has the write of another.
        if sequence <= self.flushed.load(Ordering::Acquire) {
            return Ok(());
        }
        let snapshot = self.state.load();
        let mut rest = cells;
        while !rest.is_empty() {
            let (cell, behind) = halite_types::cell::read_cell(rest, sequence)
                .map_err(|why| Error::new(ErrorKind::Corrupt, why.to_string()))?;
            if let Some(store) = snapshot.index_of(cell.family()).map(|at| &snapshot.stores[at])
                && sequence > store.flushed_sequence
            {
                store.active.insert(cell);
            }
            rest = behind;
        }
        self.commits.mvcc().recover(sequence);
        Ok(())
    }
}

/// Log and memstores for one write to a region.
struct RegionCommit<'a> {
    region: &'a Region,
    snapshot: &'a RegionSnapshot,
    write: &'a PreparedWrite<'a>,
}

impl CommitEnv for RegionCommit<'_> {
    fn append(&self, sequence: u64, level: SyncLevel) -> Result<u64> {
        let Self { region, write, .. } = self;
        let record = LogWrite {
            region: region.number,
            sequence,
            nonce: write.nonce,
            bytes: write.bytes,
            cells: write.runs().map(|run| run.cells),
        };
        region.shared.wal.append(region.commits.mvcc(), level, record)
    }

    fn insert(&self, sequence: u64) {
        insert(self.snapshot, self.write, sequence);
    }

    fn complete_after_log(&self, sequence: u64) -> u64 {
        self.region.complete_after_log(sequence)
    }
}

/// Inserts the cells of a write into the memstores of their families. The caller holds the commit
/// lock.
fn insert(snapshot: &RegionSnapshot, write: &PreparedWrite<'_>, sequence: u64) {
    assert!(write.is_for(snapshot), "the indexes of the families are those of the snapshot");
    if write.requests < MIN_GROUP_REQUESTS {
        insert_each(snapshot, write, sequence);
    } else {
        insert_together(snapshot, write, sequence);
    }
}

fn insert_each(snapshot: &RegionSnapshot, write: &PreparedWrite<'_>, sequence: u64) {
    let mut last: Option<(usize, Writer<'_>)> = None;
    for run in write.runs() {
        // The writer of another memstore is dropped before the next one is acquired.
        let same = last.take().filter(|(family, _)| *family == run.family);
        let mut writer =
            same.map_or_else(|| snapshot.stores[run.family].active.writer(), |(_, writer)| writer);
        cells_of(run.cells, sequence).for_each(|cell| writer.insert(cell));
        last = Some((run.family, writer));
    }
}

/// As [`insert_each`], family by family, which is faster for many cells.
fn insert_together(snapshot: &RegionSnapshot, write: &PreparedWrite<'_>, sequence: u64) {
    for (family, store) in snapshot.stores.iter().enumerate() {
        let mut runs = write.runs().filter(|run| run.family == family).peekable();
        if runs.peek().is_some() {
            let cells = runs.flat_map(|run| cells_of(run.cells, sequence));
            store.active.writer().insert_all(cells);
        }
    }
}
