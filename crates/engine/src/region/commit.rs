//! The one short step in which writes take effect: sequence id, log, memstore.
//!
//! The region's commit lock makes this the only writer of its memstores and keeps the order of sequence ids the order
//! of the log. Nothing here waits for the disk: that is what the returned ticket is for.

use halite_types::{CellsBuilder, Durability, Error, ErrorKind, Result};

use super::Region;
use crate::commit::CommitTicket;
use crate::wal::Level;

/// A batch of this many writes has its places in the memstores looked up together before they are inserted.
const WARM_WRITES_MIN: usize = 8;

/// What the commit lock protects beside the order of commits.
#[derive(Debug, Default)]
pub(crate) struct CommitState {
    /// Writes are refused.
    pub(crate) closed: bool,
}

impl Region {
    /// How far the log must be for a write of this durability; `None` means that it is not logged at all.
    pub(super) fn level(&self, durability: Durability) -> Option<Level> {
        let durability = match durability {
            Durability::UseDefault => self.state.load().descriptor.durability(),
            durability => durability,
        };
        match durability {
            Durability::SkipWal => None,
            Durability::AsyncWal => Some(Level::Async),
            Durability::FsyncWal => Some(Level::Fsync),
            Durability::UseDefault | Durability::SyncWal => Some(self.shared.wal.default_level()),
        }
    }

    /// Applies stamped cells as one: a reader sees all of them or none. `requests` is how many operations they are.
    ///
    /// # Errors
    /// `NoSuchRegion` if the region was closed meanwhile, `NoSuchFamily` if a family was dropped meanwhile, or the
    /// log's failure. Nothing has been applied then.
    pub(super) fn commit(&self, writes: &[&CellsBuilder], level: Option<Level>, requests: u64) -> Result<CommitTicket> {
        let commit = self.lock_commit();
        if commit.closed {
            return Err(self.gone());
        }
        let snapshot = self.state.load();
        for cells in writes {
            for cell in *cells {
                snapshot.family_index(cell.family())?;
            }
        }
        let wal = &self.shared.wal;
        wal.check()?;
        // The region may have been split in the manifest that the next opening finds.
        self.shared.manifest.fate().check()?;
        let settled = self.mvcc.is_settled();
        let sequence = self.mvcc.next();
        let position = match level {
            Some(level) => Some(wal.append(self.number, &self.mvcc, level, writes.iter().map(|cells| cells.bytes()))?),
            None => None,
        };
        let mut bytes = 0;
        let mut warmed: Vec<usize> = Vec::new();
        let mut last: Option<(usize, crate::memstore::Writer<'_>)> = None;
        for cell in writes.iter().flat_map(|cells| cells.iter()) {
            let index = match &last {
                Some((index, _)) if snapshot.families[*index].name == cell.family() => *index,
                _ => snapshot.family_index(cell.family())?,
            };
            if last.as_ref().is_none_or(|(known, _)| *known != index) {
                drop(last.take());
                let writer = snapshot.stores[index].active.writer();
                if writes.len() >= WARM_WRITES_MIN && !warmed.contains(&index) {
                    let name = &snapshot.families[index].name;
                    writer.warm(writes.iter().flat_map(|cells| cells.iter()).filter(|cell| cell.family() == name));
                    warmed.push(index);
                }
                last = Some((index, writer));
            }
            if let Some((_, writer)) = &mut last {
                writer.insert(cell.with_sequence(sequence));
            }
            bytes += cell.encoded_len() as u64;
        }
        drop(last);
        self.mvcc.apply(sequence);
        self.counters.add_writes(requests, bytes);
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
        drop(commit);
        Ok(ticket)
    }

    /// A ticket for everything applied to the region so far: an answer that rests on what was read at the newest
    /// applied state must not be given before that state is durable.
    pub(super) fn ticket_for_applied(&self) -> CommitTicket {
        if self.mvcc.is_settled() {
            return CommitTicket::ready();
        }
        let fsync = self.shared.wal.default_level() == Level::Fsync;
        CommitTicket::new(&self.shared.wal, self.shared.wal.end(), fsync)
    }

    /// Puts a write of the log back into the memstores, at opening. Families that are gone are left out.
    pub(crate) fn replay(&self, sequence: u64, cells: &[u8]) -> Result<()> {
        if sequence <= self.mvcc.applied() {
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
