//! Append of records to the buffer, in memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_types::{Error, Result};

use super::buffer::Buffer;
use super::format::{self, Nonce};
use super::{SyncLevel, Wal};
use crate::commit::Mvcc;

/// Write to append to the log.
pub(crate) struct LogWrite<I> {
    /// Number of the region.
    pub(crate) region: u64,
    pub(crate) sequence: u64,
    pub(crate) nonce: Option<Nonce>,
    /// Bytes of all parts of `cells`.
    pub(crate) bytes: usize,
    /// Encoded cells in parts, so that a batch is copied once.
    pub(crate) cells: I,
}

impl Wal {
    /// Appends a write and returns the position after it. The caller holds the region's commit
    /// lock, so the log has the region's writes in the order of their sequence ids.
    pub(crate) fn append<'a>(
        &self,
        mvcc: &Arc<Mvcc>,
        level: SyncLevel,
        write: LogWrite<impl Iterator<Item = &'a [u8]> + Clone>,
    ) -> Result<u64> {
        self.check()?;
        let LogWrite { region, sequence, nonce, bytes, cells } = write;
        check_body(bytes)?;
        debug_assert_eq!(sequence, mvcc.next(), "the log is in the order of the sequence ids");
        let part_bytes = cells.clone().map(<[u8]>::len).sum::<usize>();
        assert_eq!(part_bytes, bytes, "a record has all cells of its write");
        let mut buffer = self.buffer();
        buffer.check_order(region, sequence);
        let before = buffer.bytes.len();
        format::write_cells(&mut buffer.bytes, region, sequence, nonce, cells);
        buffer.end += (buffer.bytes.len() - before) as u64;
        buffer.nonces += u64::from(nonce.is_some());
        buffer.needs_fsync |= level == SyncLevel::Fsync;
        buffer.complete_later(region, mvcc, sequence);
        let end = buffer.end;
        if level == SyncLevel::Async {
            self.wake_thread(&mut buffer);
        }
        let full = buffer.bytes.len() >= self.options.max_buffer_bytes;
        drop(buffer);
        self.counters.appends.fetch_add(1, Ordering::Relaxed);
        if full {
            // The write ticket reports a failure: the record is in the buffer and its sequence id
            // is assigned.
            let _ = self.sync_to(end, false);
        }
        Ok(end)
    }

    /// Makes `sequence`, which is not in the log, visible after everything appended so far. Returns
    /// the position to wait for. The caller holds the region's commit lock.
    pub(crate) fn enqueue_completion(&self, region: u64, mvcc: &Arc<Mvcc>, sequence: u64) -> u64 {
        let mut buffer = self.buffer();
        buffer.check_order(region, sequence);
        // A group in progress completes before anything in the buffer does.
        buffer.complete_later(region, mvcc, sequence);
        // A separate position: a wait for it is a wait for the group that completes it.
        buffer.end += 1;
        self.wake_thread(&mut buffer);
        buffer.end
    }

    pub(super) fn wake_thread(&self, buffer: &mut Buffer) {
        if !buffer.has_work {
            buffer.has_work = true;
            self.work.notify_one();
        }
    }

    /// Returns the position after everything appended so far.
    pub(crate) fn end(&self) -> u64 {
        self.buffer().end
    }
}

/// Rejects a write that no record can hold, before any of it is in the buffer.
fn check_body(bytes: usize) -> Result<()> {
    if bytes <= format::MAX_BODY_BYTES - format::BODY_HEADER_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a write of {bytes} bytes is over the log's limit of {} for a record; write it in parts",
        format::MAX_BODY_BYTES
    )))
}
