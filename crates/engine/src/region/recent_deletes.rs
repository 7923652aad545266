//! Which rows were deleted in the millisecond that runs: what is put there afterwards gets a later timestamp.
//!
//! A marker hides what is put with its own timestamp, whenever that comes. So a put that the clock stamps waits for the
//! next millisecond when the clock has stamped a delete of its row in this one; HBase loses such a put. A few thousand
//! slots remember one deleted row each, of all regions, for as long as the millisecond lasts.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bytes::Bytes;
use halite_types::{CellsBuilder, LATEST_TIMESTAMP, RowOp};

use super::Region;

const SLOTS: usize = 4096;
/// Bits of a slot that tell its row from others; the rest are the millisecond, enough for 500 years from 1970.
const TAG_BITS: u32 = 20;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// Several rows of the slot were deleted in the millisecond: any may be one of them.
const ANY: u64 = 0;

/// Rows deleted by the clock.
pub(crate) struct RecentDeletes {
    /// The newest millisecond in which there was one.
    newest_ms: AtomicI64,
    slots: Box<[AtomicU64]>,
}

impl Default for RecentDeletes {
    fn default() -> Self {
        Self { newest_ms: AtomicI64::new(i64::MIN), slots: (0..SLOTS).map(|_| AtomicU64::new(u64::MAX)).collect() }
    }
}

impl RecentDeletes {
    /// A row of a region is being deleted with this timestamp, which is that of the clock.
    pub(crate) fn note(&self, region: u64, row: &[u8], now: i64) {
        let (slot, tag) = self.place(region, row);
        let now_bits = now.cast_unsigned() << TAG_BITS;
        let next = |old: u64| match (old & !TAG_MASK == now_bits, old & TAG_MASK) {
            (true, known) if known == tag || known == ANY => None,
            (true, _) => Some(now_bits | ANY),
            (false, _) => Some(now_bits | tag),
        };
        // Refused where it is known already.
        let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if self.newest_ms.load(Ordering::Acquire) < now {
            self.newest_ms.fetch_max(now, Ordering::AcqRel);
        }
    }

    /// Whether any row was deleted in this millisecond or a later one: the only question most puts ask.
    #[inline]
    pub(crate) fn is_any_since(&self, now: i64) -> bool {
        self.newest_ms.load(Ordering::Acquire) >= now
    }

    /// Whether the row may have been deleted in this millisecond. A row that was is always found; another one seldom.
    pub(crate) fn is_deleted(&self, region: u64, row: &[u8], now: i64) -> bool {
        if !self.is_any_since(now) {
            return false;
        }
        let (slot, tag) = self.place(region, row);
        let found = slot.load(Ordering::Acquire);
        found & !TAG_MASK == now.cast_unsigned() << TAG_BITS && (found & TAG_MASK == ANY || found & TAG_MASK == tag)
    }

    /// The slot of a row, and what it is called there.
    fn place(&self, region: u64, row: &[u8]) -> (&AtomicU64, u64) {
        let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = row.chunks(8).fold(mix(region, row.len() as u64), |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix(hash, u64::from_le_bytes(word))
        });
        let hash = mix(hash, hash >> 32);
        let slot = usize::try_from(hash >> 32).expect("32 bits") % SLOTS;
        (&self.slots[slot], (hash & TAG_MASK).max(1))
    }
}

impl Region {
    /// The time of the clock, once it is later than that of every delete of these rows.
    pub(super) fn time_behind_deletes<'r, R: Iterator<Item = &'r Bytes>>(&self, rows: impl Fn() -> R) -> i64 {
        let (clock, deletes) = (&self.shared.env.clock, &self.shared.deletes);
        let now = clock.now_ms();
        let waits = deletes.is_any_since(now) && rows().any(|row| deletes.is_deleted(self.number, row, now));
        if waits && clock.wait_past(now) { clock.now_ms() } else { now }
    }

    /// Remembers the rows that are being deleted with the timestamp of now.
    pub(super) fn note_deletes<'c>(&self, deletes: impl Iterator<Item = &'c CellsBuilder>, now: i64) {
        for cells in deletes {
            if let Some(marker) = cells.iter().find(|cell| cell.is_delete() && cell.timestamp() == now) {
                self.shared.deletes.note(self.number, marker.row(), now);
            }
        }
    }
}

/// Whether it is a put of which the clock stamps a cell.
pub(super) fn is_stamped_put(op: &RowOp) -> bool {
    matches!(op, RowOp::Put(put) if put.mutation().cells().iter().any(|cell| cell.timestamp() == LATEST_TIMESTAMP))
}

/// The rows deleted by the operations of a group. They are looked at only when a put follows them.
#[derive(Default)]
pub(super) struct GroupDeletes {
    /// Where the group begins.
    first: usize,
    any: bool,
    rows: BTreeSet<Bytes>,
    /// Operations of the group whose rows are in `rows` if they are deletes.
    seen: usize,
}

impl GroupDeletes {
    /// Whether the last operation of the group that begins at `first` puts what a delete before it would hide. To be asked
    /// for each operation that joins the group.
    pub(super) fn hide_last(&mut self, first: usize, group: &[RowOp]) -> bool {
        if self.first != first {
            *self = Self { first, ..Self::default() };
        }
        match group {
            [.., RowOp::Delete(_)] => {
                self.any = true;
                false
            }
            [earlier @ .., last] if self.any && is_stamped_put(last) => {
                let deletes = earlier[self.seen..].iter().filter(|op| matches!(op, RowOp::Delete(_)));
                self.rows.extend(deletes.map(|op| op.row().clone()));
                self.seen = earlier.len();
                self.rows.contains(last.row())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_row_is_found_in_its_millisecond_and_its_region_only() {
        let deletes = RecentDeletes::default();
        assert!(!deletes.is_any_since(1000));
        deletes.note(1, b"row", 1000);
        let found = |region, row: &str, now| deletes.is_deleted(region, row.as_bytes(), now);
        assert!(found(1, "row", 1000) && deletes.is_any_since(1000));
        assert!(!found(1, "row", 1001) && !found(1, "row", 999) && !found(2, "row", 1000) && !found(1, "row2", 1000) && !found(1, "", 1000));
        deletes.note(1, b"row", 1002);
        assert!(found(1, "row", 1002) && !found(1, "row", 1001));
    }

    #[test]
    fn no_deleted_row_is_forgotten_and_few_others_are_taken_for_one() {
        let deletes = RecentDeletes::default();
        let row = |number: u32| format!("user{number:06}").into_bytes();
        // A hundred in a millisecond are a hundred thousand a second.
        (0..100).for_each(|number| deletes.note(7, &row(number), 5));
        assert!((0..100).all(|number| deletes.is_deleted(7, &row(number), 5)));
        let mistaken = (100..100_100).filter(|&number| deletes.is_deleted(7, &row(number), 5)).count();
        assert!(mistaken < 200, "{mistaken} of 100000");
        // However many they are.
        (0..20_000).for_each(|number| deletes.note(7, &row(number), 6));
        assert!((0..20_000).all(|number| deletes.is_deleted(7, &row(number), 6)));
    }
}
