//! Removal of the segments whose cells are all in store files, and of nonces that have expired.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;

use halite_types::{Error, Result};

use super::Wal;
use super::names::{self, segment_path};
use super::nonces::{self, MAX_NONCES, StoredNonces};
use super::open_segment::SegmentWriter;
use crate::heal::Healed;

impl Wal {
    /// Records that all cells of `region` up to `sequence` are in store files, and removes the
    /// segments that are no longer needed.
    pub(crate) fn mark_flushed(&self, region: u64, sequence: u64) {
        self.mark_all_flushed(std::iter::once((region, sequence)));
    }

    /// As [`Wal::mark_flushed`] for several regions.
    pub(crate) fn mark_all_flushed(&self, regions: impl Iterator<Item = (u64, u64)>) {
        let mut io = self.segment_writer();
        for (region, sequence) in regions {
            let flushed = io.flushed.entry(region).or_default();
            *flushed = sequence.max(*flushed);
        }
        drop(io);
        // A segment that cannot be removed now is removed with the next one.
        self.try_to_remove_flushed();
    }

    pub(super) fn try_to_remove_flushed(&self) {
        *self.removal_failure.lock().healed() = self.remove_flushed().unwrap_or_else(Some);
    }

    /// Returns the reason that unneeded segments are not removed, if any.
    pub(crate) fn removal_failure(&self) -> Option<Error> {
        self.removal_failure.lock().healed().clone()
    }

    /// Removes the closed segments that no region needs, oldest first. The nonces of each are
    /// stored before. Each removal is durable before the next one, so a missing number between two
    /// others always means damage.
    ///
    /// Returns the reason that a segment cannot be removed. That segment stays, with those after
    /// it, and the next open reads it again.
    ///
    /// # Errors
    /// Nonces that could not be stored. Their segment also stays.
    pub(super) fn remove_flushed(&self) -> Result<Option<Error>> {
        self.lock.check()?;
        let mut stored = self.stored_nonces();
        loop {
            let io = self.segment_writer();
            let Some(oldest) = io.closed.front().filter(|oldest| !io.needs(oldest)) else {
                return Ok(None);
            };
            let (number, nonces, closed_ms) = (oldest.number, oldest.nonces, oldest.closed_ms);
            let (removals, durable) = (io.removals, io.durable_removals);
            drop(io);
            if removals > durable {
                if let Err(error) = names::sync_names(&self.env) {
                    return Ok(Some(error));
                }
                let mut io = self.segment_writer();
                io.durable_removals = io.durable_removals.max(removals);
                continue;
            }
            if nonces > 0 && self.options.nonce_grace_period_ms > 0 {
                // The nonce file of a segment that an earlier process could not remove already
                // exists.
                stored.retain(|file| file.number != number);
                stored.push_back(nonces::store(&self.env, self.store_id, number, closed_ms)?);
                self.limit_nonces(&mut stored);
            }
            let mut io = self.segment_writer();
            if io.closed.front().is_some_and(|oldest| oldest.number == number)
                && io.removals == io.durable_removals
                && let Err(error) = self.remove_oldest(&mut io)
            {
                return Ok(Some(error));
            }
        }
    }

    pub(super) fn remove_oldest(&self, io: &mut SegmentWriter) -> Result<()> {
        let Some(oldest) = io.closed.front() else { return Ok(()) };
        assert!(!io.needs(oldest), "a segment with cells that are in no store file is needed");
        assert_eq!(io.removals, io.durable_removals, "one removal is durable before the next");
        assert!(
            io.segment.as_ref().is_none_or(|open| open.segment.number > oldest.number),
            "the segment that is written is never removed"
        );
        self.lock.check()?;
        let path = segment_path(oldest.number);
        match self.env.fs.remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(
                    format!("removing log segment {}/{path}", self.env.fs.root()),
                    error,
                ));
            }
            _ => {}
        }
        let removed = io.closed.pop_front().map_or(0, |segment| segment.bytes);
        let before = self.closed_bytes.fetch_sub(removed, Ordering::Relaxed);
        debug_assert!(before >= removed, "the bytes of closed segments are counted once");
        io.removals += 1;
        Ok(())
    }

    /// Removes the nonce files that are expired, and the oldest beyond `MAX_NONCES`.
    pub(super) fn limit_nonces(&self, stored: &mut VecDeque<StoredNonces>) {
        let now = self.env.clock.now_ms();
        let mut count: usize = stored.iter().map(|file| file.count).sum();
        while let Some(oldest) = stored.front().copied().filter(|file| {
            let newer = count.saturating_sub(file.count);
            file.is_expired(now, self.options.nonce_grace_period_ms) || newer >= MAX_NONCES
        }) {
            let _ = self.env.fs.remove_file(&names::nonces_path(oldest.number));
            debug_assert!(count >= oldest.count, "the count is a sum over the files");
            count -= oldest.count;
            stored.pop_front();
        }
    }

    /// Returns the regions whose cells keep the oldest closed segment alive, each with the sequence
    /// id up to which they must be in store files to release it. Returns none unless there are more
    /// than `segments` closed segments of full size, or more than `bytes` in them.
    /// If `waits` is `false` and the log is being written, also returns none; the caller retries.
    pub(crate) fn regions_to_flush(
        &self,
        segments: usize,
        bytes: u64,
        waits: bool,
    ) -> HashMap<u64, u64> {
        // On a small disk several segments count as one of full size.
        let segments = segments.saturating_mul(
            usize::try_from(self.options.segment_bytes.div_ceil(self.segment_bytes())).unwrap_or(1),
        );
        let io = if waits { Some(self.segment_writer()) } else { self.segment_writer.try_lock() };
        let Some(io) = io else { return HashMap::new() };
        if io.closed.len() <= segments && self.closed_bytes() <= bytes {
            return HashMap::new();
        }
        let Some(oldest) = io.closed.front() else { return HashMap::new() };
        let needed = |(region, sequence): (&u64, &u64)| {
            let is_needed = io.flushed.get(region).is_none_or(|flushed| flushed < sequence);
            is_needed.then_some((*region, *sequence))
        };
        oldest.regions.iter().filter_map(needed).collect()
    }

    /// Returns the total bytes of the closed segments that still exist.
    pub(crate) fn closed_bytes(&self) -> u64 {
        self.closed_bytes.load(Ordering::Relaxed)
    }
}
