//! Timestamp of a group of writes: the clock's, once it is later than the recent timestamps of the
//! rows.

use halite_types::{CellRef, RowOp};

use super::Region;

impl Region {
    /// Returns the time to stamp operations with: that of the clock, once it is later than the
    /// timestamps of their rows. Waits for that, a few milliseconds at most. The caller must hold
    /// the row locks; otherwise the result has no meaning.
    pub(super) fn commit_timestamp<'o, O: Iterator<Item = &'o RowOp>>(
        &self,
        ops: impl Fn() -> O,
    ) -> i64 {
        let clock = &self.shared.env.clock;
        let now = clock.now_ms();
        if !self.shared.stamps.is_any(now) {
            return now;
        }
        let earliest = self.earliest_stamp(ops, now);
        if earliest > now && !clock.wait_until_after(earliest - 1) {
            return now;
        }
        // Also if there was no wait: a slot that was read late may have been reused for another row
        // since `now`.
        clock.now_ms().max(earliest)
    }

    /// Returns `true` if [`Region::commit_timestamp`] would have to wait.
    pub(super) fn must_wait_for_clock<'o, O: Iterator<Item = &'o RowOp>>(
        &self,
        ops: impl Fn() -> O,
    ) -> bool {
        let now = self.shared.env.clock.now_ms();
        self.shared.stamps.is_any(now) && self.earliest_stamp(ops, now) > now
    }

    fn earliest_stamp<'o, O: Iterator<Item = &'o RowOp>>(
        &self,
        ops: impl Fn() -> O,
        now: i64,
    ) -> i64 {
        self.shared.stamps.earliest_for_all(&self.info().table, ops(), now)
    }

    /// Records deletes with the timestamp `now`, and values that are slightly ahead of it. Must be
    /// called before the cells are visible.
    pub(super) fn record_stamps<'c>(&self, cells: impl Iterator<Item = CellRef<'c>>, now: i64) {
        self.shared.stamps.record(&self.info().table, cells, now, &*self.shared.env.clock);
    }
}
