//! Recent timestamps of rows: a timestamp that the clock assigns is later than that of a delete
//! before it, and not earlier than that of a value that was computed before it.
//!
//! A marker hides any put with its own timestamp, whenever that arrives. A put after a delete of
//! its column therefore has to wait for the next millisecond; HBase loses it. The new value of a
//! counter is a millisecond later than the one it was computed from. The second one within a
//! millisecond is therefore ahead of the clock. Until the clock reaches that time, a put would not
//! be seen and a delete would leave the value, as in HBase. Both wait with the row locked
//! (`commit_timestamp.rs`).
//!
//! Two sets of slots, shared by all regions, record the deletes and the values. A slot has the
//! timestamp of one row or column while it is relevant; one that several share counts for any row.
//! No operation waits longer than [`MAX_CLOCK_WAIT_MS`]: values are further ahead only if a caller
//! chose the timestamp of the first, or after a series of changes in one millisecond
//! (`new_value.rs: time_after`).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bytes::Bytes;
use halite_types::{CellRef, CellType, CellsBuilder, LATEST_TIMESTAMP, RowOp, TableName};

use crate::env::{Clock, MAX_CLOCK_WAIT_MS};

const SLOTS: usize = 4096;
/// Bits of a slot that distinguish its row from others. The rest are the millisecond, enough for
/// 500 years from 1970.
const TAG_BITS: u32 = 20;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// Tag of a slot with several rows: any row may be one of them.
const ANY: u64 = 0;
const EMPTY: u64 = 0;
/// Time in milliseconds that a slot keeps its row after its millisecond, for threads that have read
/// the clock slightly earlier.
const SLOT_RETENTION_MS: i64 = 1;

/// Rows and their newest timestamps from the clock, or from a value that is ahead of it.
#[derive(Default)]
pub(crate) struct RecentStamps {
    /// Timestamps of columns deleted in the current millisecond, and of rows with larger deletes.
    deleted: Slots,
    /// Timestamps of values that are ahead of the clock, by column, and by row for markers that
    /// hide more than one.
    made: Slots,
}

/// Slots by the digest of a row or column. Tables are distinguished, regions are not: they split
/// and merge.
struct Slots {
    /// Newest timestamp of all slots.
    newest_ms: AtomicI64,
    slots: Box<[AtomicU64]>,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            newest_ms: AtomicI64::new(i64::MIN),
            slots: (0..SLOTS).map(|_| AtomicU64::new(EMPTY)).collect(),
        }
    }
}

impl Slots {
    /// Records a timestamp of a row or column; `now` is the current time of the clock.
    fn record(&self, digest: u64, stamp: i64, now: i64) {
        if !(0..1 << (u64::BITS - TAG_BITS)).contains(&stamp) {
            return;
        }
        let (slot, tag) = self.slot_and_tag(digest);
        let next = |old: u64| {
            let (old_ms, old_tag) = unpack(old);
            // A time far ahead is from before the clock was set back.
            let is_of_use =
                (now - SLOT_RETENTION_MS..=now.saturating_add(MAX_CLOCK_WAIT_MS)).contains(&old_ms);
            let new = match (is_of_use, old_tag == tag) {
                (false, _) => pack(stamp, tag),
                (true, true) => pack(stamp.max(old_ms), tag),
                (true, false) => pack(stamp.max(old_ms), ANY),
            };
            (new != old).then_some(new)
        };
        // `fetch_update` fails if the timestamp is already recorded.
        let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if self.newest_ms.load(Ordering::Acquire) < stamp {
            self.newest_ms.fetch_max(stamp, Ordering::AcqRel);
        }
    }

    /// Returns `true` if any slot has a timestamp at or after this one.
    #[inline]
    fn is_any_since(&self, stamp: i64) -> bool {
        self.newest_ms.load(Ordering::Acquire) >= stamp
    }

    /// Returns the newest timestamp that a row or column may have. A recorded one is found while it
    /// is relevant; that of another row is rarely returned.
    fn find(&self, digest: u64) -> Option<i64> {
        let (slot, tag) = self.slot_and_tag(digest);
        match slot.load(Ordering::Acquire) {
            EMPTY => None,
            slot => Some(unpack(slot))
                .filter(|(_, found)| *found == ANY || *found == tag)
                .map(|(stamp, _)| stamp),
        }
    }

    /// Returns the slot and the tag of a digest.
    fn slot_and_tag(&self, digest: u64) -> (&AtomicU64, u64) {
        let slot = usize::try_from(digest >> 32).expect("32 bits") % SLOTS;
        (&self.slots[slot], (digest & TAG_MASK).max(1))
    }
}

/// Digests of a table's rows and columns.
#[derive(Clone, Copy)]
struct Digests(u64);

impl Digests {
    fn for_table(table: &TableName) -> Self {
        Self(digest(digest(0, table.namespace().as_bytes()), table.qualifier().as_bytes()))
    }

    fn row(self, row: &[u8]) -> u64 {
        digest(self.0, row)
    }

    fn column(self, cell: CellRef<'_>) -> u64 {
        digest(digest(self.row(cell.row()), cell.family()), cell.qualifier())
    }
}

fn digest(seed: u64, bytes: &[u8]) -> u64 {
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = bytes.chunks(8).fold(mix(seed, bytes.len() as u64), |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash, u64::from_le_bytes(word))
    });
    mix(hash, hash >> 32)
}

fn pack(stamp: i64, tag: u64) -> u64 {
    debug_assert!(
        stamp >= 0 && stamp.leading_zeros() >= TAG_BITS && tag <= TAG_MASK,
        "a timestamp and a tag fit into a slot"
    );
    stamp.cast_unsigned() << TAG_BITS | tag
}

fn unpack(slot: u64) -> (i64, u64) {
    ((slot >> TAG_BITS).cast_signed(), slot & TAG_MASK)
}

impl RecentStamps {
    /// Returns `true` if any slot may prevent stamping with `now`. Most writes need only this
    /// check.
    #[inline]
    pub(super) fn is_any(&self, now: i64) -> bool {
        self.deleted.is_any_since(now) || self.made.is_any_since(now + 1)
    }

    /// Returns the earliest time that may stamp all these operations: `now` or later.
    pub(super) fn earliest_for_all<'o>(
        &self,
        table: &TableName,
        ops: impl Iterator<Item = &'o RowOp>,
        now: i64,
    ) -> i64 {
        let digests = Digests::for_table(table);
        ops.map(|op| self.earliest(digests, op, now)).fold(now, i64::max)
    }

    /// Records deletes with the timestamp `now`, and values that are slightly ahead of it.
    pub(super) fn record<'c>(
        &self,
        table: &TableName,
        cells: impl Iterator<Item = CellRef<'c>>,
        now: i64,
        clock: &dyn Clock,
    ) {
        let digests = Digests::for_table(table);
        let mut clock_time = None;
        let mut deleted: &[u8] = b"";
        for cell in cells.filter(|cell| cell.timestamp() >= now) {
            let stamp = cell.timestamp();
            // This thread may have been delayed since `now` was read.
            let mut clock_now = || *clock_time.get_or_insert_with(|| clock.now_ms());
            if cell.is_delete() {
                let is_noted = cell.row() == deleted;
                if stamp == now && hides_family(cell) && !is_noted {
                    self.deleted.record(digests.row(cell.row()), stamp, clock_now());
                    deleted = cell.row();
                } else if stamp == now && !is_noted {
                    self.deleted.record(digests.column(cell), stamp, clock_now());
                }
            } else if stamp > now && stamp <= now.saturating_add(MAX_CLOCK_WAIT_MS) {
                self.made.record(digests.row(cell.row()), stamp, clock_now());
                self.made.record(digests.column(cell), stamp, clock_now());
            }
        }
    }

    /// Returns the first timestamp, from `now` on, that the clock may assign to an operation.
    fn earliest(&self, digests: Digests, op: &RowOp, now: i64) -> i64 {
        // A time further ahead is from before the clock was set back.
        let limit = now.saturating_add(MAX_CLOCK_WAIT_MS);
        let later = |stamp: Option<i64>| {
            stamp.filter(|stamp| *stamp <= limit).map_or(now, |stamp| stamp.max(now))
        };
        let after_delete = |digest: u64| later(self.deleted.find(digest).map(|stamp| stamp + 1));
        let after_deletes = |cells: &CellsBuilder| {
            let of_columns =
                || cells.iter().map(|cell| after_delete(digests.column(cell))).fold(now, i64::max);
            if self.deleted.is_any_since(now) {
                after_delete(digests.row(op.row())).max(of_columns())
            } else {
                now
            }
        };
        let is_stamped = |cell: &CellRef<'_>| cell.timestamp() == LATEST_TIMESTAMP;
        let after_values = |cells: &CellsBuilder| {
            let digest = |cell: CellRef<'_>| {
                if hides_family(cell) { digests.row(cell.row()) } else { digests.column(cell) }
            };
            let of_cell = |cell: CellRef<'_>| later(self.made.find(digest(cell)));
            if self.made.is_any_since(now + 1) {
                cells.iter().filter(is_stamped).map(of_cell).fold(now, i64::max)
            } else {
                now
            }
        };
        match op {
            RowOp::Put(put) if is_stamped_put(op) => {
                after_deletes(put.mutation().cells()).max(after_values(put.mutation().cells()))
            }
            RowOp::Put(_) => now,
            RowOp::Delete(delete) if delete.mutation().cells().is_empty() => match delete.timestamp
            {
                LATEST_TIMESTAMP => later(self.made.find(digests.row(op.row()))),
                _ => now,
            },
            RowOp::Delete(delete) => after_values(delete.mutation().cells()),
            // These read the value themselves.
            RowOp::Increment(increment) => after_deletes(increment.mutation().cells()),
            RowOp::Append(append) => after_deletes(append.mutation().cells()),
            RowOp::Mutate(mutations) => {
                mutations.ops.iter().map(|op| self.earliest(digests, op, now)).fold(now, i64::max)
            }
            RowOp::CheckAndMutate(check) => self.earliest(digests, &check.then, now),
        }
    }
}

/// Returns `true` if a cell is a marker that hides more than its column.
fn hides_family(cell: CellRef<'_>) -> bool {
    [CellType::DeleteFamily.code(), CellType::DeleteFamilyVersion.code()]
        .contains(&cell.type_code())
}

/// Returns `true` if the operation is a put with a cell that the clock stamps.
fn is_stamped_put(op: &RowOp) -> bool {
    matches!(op, RowOp::Put(put) if put.mutation().cells().iter().any(|cell| cell.timestamp() == LATEST_TIMESTAMP))
}

/// Rows deleted by the operations of a group. They are read only when a put follows them.
#[derive(Default)]
pub(super) struct GroupDeletes {
    /// Index of the first operation of the group.
    first: usize,
    any: bool,
    rows: BTreeSet<Bytes>,
    /// Number of operations of the group whose rows are in `rows` if they are deletes.
    seen: usize,
}

impl GroupDeletes {
    /// Returns `true` if the last operation of the group that begins at `first` puts a cell that a
    /// delete before it would hide. Must be called for each operation that joins the group.
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
                let deletes =
                    earlier[self.seen..].iter().filter(|op| matches!(op, RowOp::Delete(_)));
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

    fn row(table: &str, row: &str) -> u64 {
        Digests::for_table(&table.parse().unwrap()).row(row.as_bytes())
    }

    #[test]
    fn row_is_found_in_its_table_with_newest_timestamp() {
        let slots = Slots::default();
        assert!(!slots.is_any_since(1000));
        slots.record(row("t", "row"), 1000, 1000);
        assert!(slots.is_any_since(1000) && !slots.is_any_since(1001));
        let found = [("t", "row"), ("u", "row"), ("t", "row2"), ("t", "")]
            .map(|(table, name)| slots.find(row(table, name)));
        assert_eq!(found, [Some(1000), None, None, None]);
        slots.record(row("t", "row"), 1005, 1001);
        slots.record(row("t", "row"), 1002, 1002);
        assert_eq!(slots.find(row("t", "row")), Some(1005));
    }

    #[test]
    fn recorded_rows_are_found_and_false_positives_are_rare() {
        let slots = Slots::default();
        let row = |number: u32| row("t", &format!("user{number:06}"));
        // A hundred in a millisecond are a hundred thousand per second.
        (0..100).for_each(|number| slots.record(row(number), 5, 5));
        assert!((0..100).all(|number| slots.find(row(number)) == Some(5)));
        let mistaken = (100..100_100).filter(|&number| slots.find(row(number)) == Some(5)).count();
        assert!(mistaken < 200, "{mistaken} of 100000");
        // Regardless of their number.
        (0..20_000).for_each(|number| slots.record(row(number), 6, 6));
        assert!((0..20_000).all(|number| slots.find(row(number)) == Some(6)));
    }

    #[test]
    fn slots_are_reused_after_clock_is_set_back() {
        let slots = Slots::default();
        (0..20_000)
            .for_each(|number| slots.record(row("t", &number.to_string()), 1_000_000, 1_000_000));
        slots.record(row("t", "row"), 5000, 5000);
        assert_eq!(slots.find(row("t", "row")), Some(5000));
    }
}
