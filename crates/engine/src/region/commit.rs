//! Commit of writes in one short step: sequence id, log, memstore.
//!
//! The region's commit lock makes this the only writer of its memstores and keeps the order of
//! sequence ids the order of the log. No step here waits for the disk; the returned ticket does.

use std::sync::atomic::Ordering;

use halite_types::{Durability, Error, ErrorKind, Result};

use super::Region;
use super::prepared_write::{PreparedWrite, cells_of};
use super::snapshot::RegionSnapshot;
use crate::commit::CommitTicket;
use crate::memstore::Writer;
use crate::wal::{LogWrite, SyncLevel};

/// Minimum number of operations in a batch for which the positions of its cells in the memstores
/// are searched together.
const MIN_GROUP_REQUESTS: usize = 8;

/// State that the commit lock protects in addition to the order of commits.
#[derive(Debug, Default)]
pub(crate) struct CommitState {
    /// `true` if writes are rejected.
    pub(crate) closed: bool,
    /// `true` while a change is in progress. If it is set when the lock is acquired, a panic
    /// interrupted a change: its sequence id may be in the log, and some of its cells in the
    /// memstores. No reader sees those cells, since `applied` stays before the id. No flush writes
    /// them, for the same reason. No later write may have the id. The region therefore rejects
    /// writes, and the next open reads the change from the log, whole or not at all.
    pub(crate) changing: bool,
}

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
        let mut commit = self.lock_commit();
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
        commit.changing = true;
        let told = PanicReporter { region: self, wal_panics: self.shared.wal.panics() };
        let ticket = self.log_and_apply(&snapshot, write);
        drop(told);
        commit.changing = false;
        drop(commit);
        ticket
    }

    /// Returns the error for changes after a panic interrupted one.
    fn half_changed(&self) -> Error {
        let text = format!(
            "region {}: a panic ended a write half-way; reads go on, writes of the region are refused; close the store and open it again",
            self.info.display_name()
        );
        Error::new(ErrorKind::Stopped, text)
    }

    /// Rejects a change if the region is closed or a panic interrupted a change.
    pub(super) fn check_committing(&self, commit: &CommitState) -> Result<()> {
        if commit.closed {
            return Err(self.not_serving_error());
        }
        if commit.changing { Err(self.half_changed()) } else { Ok(()) }
    }

    /// Performs the change. The caller holds the commit lock.
    fn log_and_apply(
        &self,
        snapshot: &RegionSnapshot,
        write: &PreparedWrite<'_>,
    ) -> Result<CommitTicket> {
        let (wal, level) = (&self.shared.wal, write.level);
        let settled = self.mvcc.is_caught_up();
        let sequence = self.mvcc.next();
        let record = LogWrite {
            region: self.number,
            sequence,
            nonce: write.nonce,
            bytes: write.bytes,
            cells: write.runs().map(|run| run.cells),
        };
        let position = match level {
            Some(level) => Some(wal.append(&self.mvcc, level, record)?),
            None => None,
        };
        insert(snapshot, write, sequence);
        self.mvcc.apply(sequence);
        self.counters.add_writes(write.requests as u64, write.bytes as u64);
        let ticket = match (position, level) {
            // Does not wait for the log, and neither does an earlier write: visible at once.
            (_, None | Some(SyncLevel::Async)) if settled => {
                self.mvcc.advance(sequence);
                CommitTicket::ready()
            }
            // Does not wait for the log itself, but for earlier writes.
            (position, None | Some(SyncLevel::Async)) => {
                let position = position
                    .unwrap_or_else(|| wal.enqueue_completion(self.number, &self.mvcc, sequence));
                CommitTicket::new(wal, position, false)
            }
            (position, Some(level)) => CommitTicket::new(
                wal,
                position.expect("logged writes have a position"),
                level == SyncLevel::Fsync,
            ),
        };
        Ok(ticket)
    }

    /// Returns a ticket for everything applied to the region so far. A result based on the newest
    /// applied state must not be returned before that state is durable.
    pub fn applied_ticket(&self) -> CommitTicket {
        if self.mvcc.is_caught_up() {
            return CommitTicket::ready();
        }
        let fsync = self.shared.wal.default_sync_level() == SyncLevel::Fsync;
        CommitTicket::new(&self.shared.wal, self.shared.wal.end(), fsync)
    }

    /// Restores a write of the log into the memstores, at open, if it is in no store file yet.
    /// Dropped families are skipped.
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
            if let Some(index) = snapshot.index_of(cell.family()) {
                snapshot.stores[index].active.insert(cell);
            }
            rest = behind;
        }
        self.mvcc.recover(sequence);
        Ok(())
    }
}

/// Inserts the cells of a write into the memstores of their families. The caller holds the commit
/// lock.
fn insert(snapshot: &RegionSnapshot, write: &PreparedWrite<'_>, sequence: u64) {
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
