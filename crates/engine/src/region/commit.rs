//! The one short step in which writes take effect: sequence id, log, memstore.
//!
//! The region's commit lock makes this the only writer of its memstores and keeps the order of sequence ids the order
//! of the log. Nothing here waits for the disk: that is what the returned ticket is for.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use halite_types::{CellRef, CellsBuilder, Durability, Error, ErrorKind, Result};

use super::Region;
use super::snapshot::RegionSnapshot;
use crate::commit::CommitTicket;
use crate::memstore::Writer;
use crate::wal::{Level, Nonce};

/// The cells of a batch of this many operations have their places in the memstores looked up together.
const GROUP_REQUESTS_MIN: usize = 8;

/// What the commit lock protects beside the order of commits.
#[derive(Debug, Default)]
pub(crate) struct CommitState {
    /// Writes are refused.
    pub(crate) closed: bool,
    /// Set while a change is carried out. Where it is set when the lock is taken, a panic ended one half-way: its sequence id
    /// may be in the log, and a part of its cells in the memstores. No reader sees that part, since `applied` stays before the
    /// id; no flush writes it, for the same reason; and no later write may have the id. So the region refuses writes, and the
    /// next opening reads the change from the log, whole or not at all.
    pub(crate) changing: bool,
}

/// Tells whoever watches the store that a change of a region has ended in a panic. One of the log is counted there.
struct TellPanic<'a> {
    region: &'a Region,
    of_log: u64,
}

impl Drop for TellPanic<'_> {
    fn drop(&mut self) {
        let shared = &self.region.shared;
        if std::thread::panicking() {
            shared.background.note_panic(self.region.half_changed(), shared.wal.panics() == self.of_log);
        }
    }
}

impl Region {
    /// How far the log must be for a write of this durability; `None` means that it is not logged at all.
    pub(super) fn level(&self, snapshot: &RegionSnapshot, durability: Durability) -> Option<Level> {
        let durability = match durability {
            Durability::UseDefault => snapshot.settings.durability,
            durability => durability,
        };
        match durability {
            Durability::SkipWal => None,
            Durability::AsyncWal => Some(Level::Async),
            Durability::FsyncWal => Some(Level::Fsync),
            Durability::UseDefault | Durability::SyncWal => Some(self.shared.wal.default_level()),
        }
    }

    /// Applies the stamped cells of `requests` operations as one: a reader sees all of them or none.
    ///
    /// # Errors
    /// `NoSuchRegion` if the region was closed meanwhile, `NoSuchFamily` if a family was dropped meanwhile, or the
    /// log's failure. Nothing has been applied then.
    pub(super) fn commit<'a>(
        &self,
        writes: impl Iterator<Item = &'a CellsBuilder> + Clone,
        requests: usize,
        level: Option<Level>,
        nonce: Option<Nonce>,
    ) -> Result<CommitTicket> {
        let mut commit = self.lock_commit();
        self.check_committing(&commit)?;
        let snapshot = self.state.load();
        let mut has_tags = false;
        for cell in writes.clone().flatten() {
            snapshot.family_index(cell.family())?;
            has_tags |= !cell.tags().is_empty();
        }
        // Only a time to live of its own makes an overwritten cell show again.
        if has_tags && let Some(rest) = without_overwritten(&writes) {
            drop(commit);
            return self.commit(std::iter::once(&rest), requests, level, nonce);
        }
        self.shared.wal.check()?;
        // The region may have been split in the manifest that the next opening finds.
        self.shared.manifest.fate().check()?;
        commit.changing = true;
        let told = TellPanic { region: self, of_log: self.shared.wal.panics() };
        let ticket = self.log_and_apply(&snapshot, writes, requests, level, nonce);
        drop(told);
        commit.changing = false;
        drop(commit);
        ticket
    }

    /// Why the region takes no change after a panic in the middle of one.
    fn half_changed(&self) -> Error {
        let text = format!(
            "region {}: a panic ended a write half-way; reads go on, writes of the region are refused; close the store and open it again",
            self.info.display_name()
        );
        Error::new(ErrorKind::Stopped, text)
    }

    /// Refuses a change where the region takes none any more.
    pub(super) fn check_committing(&self, commit: &CommitState) -> Result<()> {
        if commit.closed {
            return Err(self.gone());
        }
        if commit.changing { Err(self.half_changed()) } else { Ok(()) }
    }

    /// The change itself. The caller holds the commit lock.
    fn log_and_apply<'a>(
        &self,
        snapshot: &RegionSnapshot,
        writes: impl Iterator<Item = &'a CellsBuilder> + Clone,
        requests: usize,
        level: Option<Level>,
        nonce: Option<Nonce>,
    ) -> Result<CommitTicket> {
        let wal = &self.shared.wal;
        let settled = self.mvcc.is_settled();
        let sequence = self.mvcc.next();
        let position = match level {
            Some(level) => Some(wal.append(self.number, &self.mvcc, level, nonce, writes.clone().map(CellsBuilder::bytes))?),
            None => None,
        };
        let cells = writes.flatten().map(|cell| cell.with_sequence(sequence));
        let bytes = if requests < GROUP_REQUESTS_MIN { insert_each(snapshot, cells)? } else { insert_together(snapshot, &cells) };
        self.mvcc.apply(sequence);
        self.counters.add_writes(requests as u64, bytes);
        let ticket = match (position, level) {
            // Not waiting for the log, and nobody before it is: it is visible at once.
            (_, None | Some(Level::Async)) if settled => {
                self.mvcc.complete(sequence);
                CommitTicket::ready()
            }
            // Not waiting for the log itself, but for those before it.
            (position, None | Some(Level::Async)) => {
                let position = position.unwrap_or_else(|| wal.follow(self.number, &self.mvcc, sequence));
                CommitTicket::new(wal, position, false)
            }
            (position, Some(level)) => CommitTicket::new(wal, position.expect("logged writes have a position"), level == Level::Fsync),
        };
        Ok(ticket)
    }

    /// A ticket for everything applied to the region so far: an answer that rests on what was read at the newest
    /// applied state must not be given before that state is durable.
    pub fn applied_ticket(&self) -> CommitTicket {
        if self.mvcc.is_settled() {
            return CommitTicket::ready();
        }
        let fsync = self.shared.wal.default_level() == Level::Fsync;
        CommitTicket::new(&self.shared.wal, self.shared.wal.end(), fsync)
    }

    /// Puts a write of the log back into the memstores, at opening, if it is in no store file yet. Families that are gone are left
    /// out.
    pub(crate) fn replay(&self, sequence: u64, cells: &[u8]) -> Result<()> {
        // Not the newest id of a file: a repaired region may have a file of one family, and the log the write of another.
        if sequence <= self.flushed.load(Ordering::Acquire) {
            return Ok(());
        }
        let snapshot = self.state.load();
        let mut rest = cells;
        while !rest.is_empty() {
            let (cell, behind) = halite_types::cell::read_cell(rest, sequence).map_err(|why| Error::new(ErrorKind::Corrupt, why.to_string()))?;
            if let Some(index) = snapshot.index_of(cell.family()) {
                snapshot.stores[index].active.insert(cell);
            }
            rest = behind;
        }
        self.mvcc.recover(sequence);
        Ok(())
    }
}

/// The cells but those that a later one of the same key replaces, as in HBase's memstore; `None` if there is none such.
fn without_overwritten<'a>(writes: &(impl Iterator<Item = &'a CellsBuilder> + Clone)) -> Option<CellsBuilder> {
    let cells = || writes.clone().flatten().enumerate();
    let last: HashMap<&[u8], usize> = cells().map(|(at, cell)| (cell.key(), at)).collect();
    if last.len() == cells().count() {
        return None;
    }
    let mut rest = CellsBuilder::default();
    cells().filter(|(at, cell)| last.get(cell.key()) == Some(at)).for_each(|(_, cell)| rest.push(cell));
    Some(rest)
}

/// Puts cells into the memstores of their families; returns the bytes they take encoded. The caller holds the commit lock.
fn insert_each<'a>(snapshot: &RegionSnapshot, cells: impl Iterator<Item = CellRef<'a>>) -> Result<u64> {
    let mut bytes = 0;
    let mut last: Option<(usize, Writer<'_>)> = None;
    for cell in cells {
        let same = last.take().filter(|(index, _)| snapshot.families[*index].name == cell.family());
        let (index, mut writer) = if let Some(same) = same {
            same
        } else {
            let index = snapshot.family_index(cell.family())?;
            (index, snapshot.stores[index].active.writer())
        };
        writer.insert(cell);
        bytes += cell.encoded_len() as u64;
        last = Some((index, writer));
    }
    Ok(bytes)
}

/// As [`insert_each`], family by family, which is quicker for many cells.
fn insert_together<'a>(snapshot: &RegionSnapshot, cells: &(impl Iterator<Item = CellRef<'a>> + Clone)) -> u64 {
    let mut bytes = 0;
    for (family, store) in snapshot.families.iter().zip(&snapshot.stores) {
        let mut cells = cells.clone().filter(|cell| family.name == cell.family()).peekable();
        if cells.peek().is_some() {
            store.active.writer().insert_all(cells.inspect(|cell| bytes += cell.encoded_len() as u64));
        }
    }
    bytes
}
