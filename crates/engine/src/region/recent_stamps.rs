//! What the clock stamps in a row comes after what was stamped there before.
//!
//! A marker hides what is put with its own timestamp, whenever that comes, so what is put after a delete of its row has to wait for
//! the next millisecond; HBase loses it. And the new value of a counter is a millisecond later than the one it was made from, so the second within
//! one millisecond is ahead of the clock: until the clock has come there a put would not be seen and a delete would leave the value, as in HBase.
//! Both wait here, with the row held. A few thousand slots remember one row each, of all regions, for as long as it matters.
//! Values made by the engine are never further ahead than that takes some milliseconds (`write.rs: time_after`).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bytes::Bytes;
use halite_types::{CellRef, CellType, CellsBuilder, LATEST_TIMESTAMP, RowOp, TableName};

use super::Region;
use crate::env::CLOCK_WAIT_MS_MAX;

const SLOTS: usize = 4096;
/// Bits of a slot that tell its row from others; the rest are the millisecond, enough for 500 years from 1970.
const TAG_BITS: u32 = 20;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// The slot is of several: any may be one of them.
const ANY: u64 = 0;
const EMPTY: u64 = 0;
/// How long a slot is kept for its row after its millisecond, for threads that have read the clock a little earlier.
const KEPT_MS: i64 = 1;

/// Rows and the newest timestamps that the clock, or a value that is ahead of it, has given there.
#[derive(Default)]
pub(crate) struct RecentStamps {
    /// Of columns that were deleted in the millisecond that runs, and of rows of which more was.
    deleted: Slots,
    /// Of values that are ahead of the clock, by column, and by row for markers that hide more than one.
    made: Slots,
}

/// Slots by the digest of a row or column. Tables are told apart, regions are not: they split and merge.
struct Slots {
    /// The newest timestamp of all.
    newest_ms: AtomicI64,
    slots: Box<[AtomicU64]>,
}

impl Default for Slots {
    fn default() -> Self {
        Self { newest_ms: AtomicI64::new(i64::MIN), slots: (0..SLOTS).map(|_| AtomicU64::new(EMPTY)).collect() }
    }
}

impl Slots {
    /// A row or column got this timestamp; the clock says `now` at this moment.
    fn note(&self, digest: u64, stamp: i64, now: i64) {
        if !(0..1 << (u64::BITS - TAG_BITS)).contains(&stamp) {
            return;
        }
        let (slot, tag) = self.place(digest);
        let next = |old: u64| {
            let (old_ms, old_tag) = unpack(old);
            // A time far ahead is from before the clock was set back.
            let is_of_use = (now - KEPT_MS..=now.saturating_add(CLOCK_WAIT_MS_MAX)).contains(&old_ms);
            let new = match (is_of_use, old_tag == tag) {
                (false, _) => pack(stamp, tag),
                (true, true) => pack(stamp.max(old_ms), tag),
                (true, false) => pack(stamp.max(old_ms), ANY),
            };
            (new != old).then_some(new)
        };
        // Refused where it is known already.
        let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if self.newest_ms.load(Ordering::Acquire) < stamp {
            self.newest_ms.fetch_max(stamp, Ordering::AcqRel);
        }
    }

    /// Whether anything has a timestamp at or after this one.
    #[inline]
    fn is_any_since(&self, stamp: i64) -> bool {
        self.newest_ms.load(Ordering::Acquire) >= stamp
    }

    /// The newest timestamp that a row or column may have. One that was noted is found for as long as it matters; another one's seldom.
    fn find(&self, digest: u64) -> Option<i64> {
        let (slot, tag) = self.place(digest);
        match slot.load(Ordering::Acquire) {
            EMPTY => None,
            slot => Some(unpack(slot)).filter(|(_, found)| *found == ANY || *found == tag).map(|(stamp, _)| stamp),
        }
    }

    /// The slot of a digest, and what it is called there.
    fn place(&self, digest: u64) -> (&AtomicU64, u64) {
        let slot = usize::try_from(digest >> 32).expect("32 bits") % SLOTS;
        (&self.slots[slot], (digest & TAG_MASK).max(1))
    }
}

/// Digests of a table's rows and columns.
#[derive(Clone, Copy)]
struct Digests(u64);

impl Digests {
    fn of(table: &TableName) -> Self {
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
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = bytes.chunks(8).fold(mix(seed, bytes.len() as u64), |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash, u64::from_le_bytes(word))
    });
    mix(hash, hash >> 32)
}

fn pack(stamp: i64, tag: u64) -> u64 {
    stamp.cast_unsigned() << TAG_BITS | tag
}

fn unpack(slot: u64) -> (i64, u64) {
    ((slot >> TAG_BITS).cast_signed(), slot & TAG_MASK)
}

impl RecentStamps {
    /// Whether anything may stand against stamping with `now`: the only question most writes ask.
    #[inline]
    fn is_any(&self, now: i64) -> bool {
        self.deleted.is_any_since(now) || self.made.is_any_since(now + 1)
    }

    /// The first timestamp, from `now` on, that the clock may give an operation.
    fn earliest(&self, digests: Digests, op: &RowOp, now: i64) -> i64 {
        // What is further ahead is from before the clock was set back.
        let limit = now.saturating_add(CLOCK_WAIT_MS_MAX);
        let later = |stamp: Option<i64>| stamp.filter(|stamp| *stamp <= limit).map_or(now, |stamp| stamp.max(now));
        let after_delete = |digest: u64| later(self.deleted.find(digest).map(|stamp| stamp + 1));
        let after_deletes = |cells: &CellsBuilder| {
            let of_columns = || cells.iter().map(|cell| after_delete(digests.column(cell))).fold(now, i64::max);
            if self.deleted.is_any_since(now) { after_delete(digests.row(op.row())).max(of_columns()) } else { now }
        };
        let is_stamped = |cell: &CellRef<'_>| cell.timestamp() == LATEST_TIMESTAMP;
        let after_values = |cells: &CellsBuilder| {
            let digest = |cell: CellRef<'_>| if hides_family(cell) { digests.row(cell.row()) } else { digests.column(cell) };
            let of_cell = |cell: CellRef<'_>| later(self.made.find(digest(cell)));
            if self.made.is_any_since(now + 1) { cells.iter().filter(is_stamped).map(of_cell).fold(now, i64::max) } else { now }
        };
        match op {
            RowOp::Put(put) if is_stamped_put(op) => after_deletes(put.mutation().cells()).max(after_values(put.mutation().cells())),
            RowOp::Put(_) => now,
            RowOp::Delete(delete) if delete.mutation().cells().is_empty() => match delete.timestamp {
                LATEST_TIMESTAMP => later(self.made.find(digests.row(op.row()))),
                _ => now,
            },
            RowOp::Delete(delete) => after_values(delete.mutation().cells()),
            // They look for the value themselves.
            RowOp::Increment(increment) => after_deletes(increment.mutation().cells()),
            RowOp::Append(append) => after_deletes(append.mutation().cells()),
            RowOp::Mutate(mutations) => mutations.ops.iter().map(|op| self.earliest(digests, op, now)).fold(now, i64::max),
            RowOp::CheckAndMutate(check) => self.earliest(digests, &check.then, now),
        }
    }
}

/// Whether a cell is a marker that hides more than its column.
fn hides_family(cell: CellRef<'_>) -> bool {
    [CellType::DeleteFamily.code(), CellType::DeleteFamilyVersion.code()].contains(&cell.type_code())
}

impl Region {
    /// The time to stamp operations with: that of the clock, once it is later than what their rows have. Waits for that, some
    /// milliseconds at most. The rows are held, or nothing follows from it.
    pub(super) fn stamp_time<'o, O: Iterator<Item = &'o RowOp>>(&self, ops: impl Fn() -> O) -> i64 {
        let clock = &self.shared.env.clock;
        let now = clock.now_ms();
        if !self.shared.stamps.is_any(now) {
            return now;
        }
        let earliest = self.earliest_stamp(ops, now);
        if earliest > now && !clock.wait_past(earliest - 1) {
            return now;
        }
        // Also where nothing was waited for: a slot that was looked up late may have been given to another row since `now`.
        clock.now_ms().max(earliest)
    }

    /// Whether [`Region::stamp_time`] would have to wait.
    pub(super) fn must_wait_for_clock<'o, O: Iterator<Item = &'o RowOp>>(&self, ops: impl Fn() -> O) -> bool {
        let now = self.shared.env.clock.now_ms();
        self.shared.stamps.is_any(now) && self.earliest_stamp(ops, now) > now
    }

    fn earliest_stamp<'o, O: Iterator<Item = &'o RowOp>>(&self, ops: impl Fn() -> O, now: i64) -> i64 {
        let digests = Digests::of(&self.info().table);
        ops().map(|op| self.shared.stamps.earliest(digests, op, now)).fold(now, i64::max)
    }

    /// Remembers what is being deleted with the timestamp of now, and values that are a little ahead of it. To be called before
    /// the cells are seen.
    pub(super) fn note_stamps<'c>(&self, writes: impl Iterator<Item = &'c CellsBuilder>, now: i64) {
        let (stamps, digests) = (&self.shared.stamps, Digests::of(&self.info().table));
        let mut clock = None;
        let mut deleted: &[u8] = b"";
        for cell in writes.flatten().filter(|cell| cell.timestamp() >= now) {
            let stamp = cell.timestamp();
            // It may have taken long to come here.
            let mut clock_now = || *clock.get_or_insert_with(|| self.shared.env.clock.now_ms());
            if cell.is_delete() {
                let is_noted = cell.row() == deleted;
                if stamp == now && hides_family(cell) && !is_noted {
                    stamps.deleted.note(digests.row(cell.row()), stamp, clock_now());
                    deleted = cell.row();
                } else if stamp == now && !is_noted {
                    stamps.deleted.note(digests.column(cell), stamp, clock_now());
                }
            } else if stamp > now && stamp <= now.saturating_add(CLOCK_WAIT_MS_MAX) {
                stamps.made.note(digests.row(cell.row()), stamp, clock_now());
                stamps.made.note(digests.column(cell), stamp, clock_now());
            }
        }
    }
}

/// Whether it is a put of which the clock stamps a cell.
fn is_stamped_put(op: &RowOp) -> bool {
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

    fn row(table: &str, row: &str) -> u64 {
        Digests::of(&table.parse().unwrap()).row(row.as_bytes())
    }

    #[test]
    fn a_row_is_found_in_its_table_only_with_its_newest_timestamp() {
        let slots = Slots::default();
        assert!(!slots.is_any_since(1000));
        slots.note(row("t", "row"), 1000, 1000);
        assert!(slots.is_any_since(1000) && !slots.is_any_since(1001));
        let found = [("t", "row"), ("u", "row"), ("t", "row2"), ("t", "")].map(|(table, name)| slots.find(row(table, name)));
        assert_eq!(found, [Some(1000), None, None, None]);
        slots.note(row("t", "row"), 1005, 1001);
        slots.note(row("t", "row"), 1002, 1002);
        assert_eq!(slots.find(row("t", "row")), Some(1005));
    }

    #[test]
    fn no_row_is_forgotten_and_few_others_are_taken_for_one() {
        let slots = Slots::default();
        let row = |number: u32| row("t", &format!("user{number:06}"));
        // A hundred in a millisecond are a hundred thousand a second.
        (0..100).for_each(|number| slots.note(row(number), 5, 5));
        assert!((0..100).all(|number| slots.find(row(number)) == Some(5)));
        let mistaken = (100..100_100).filter(|&number| slots.find(row(number)) == Some(5)).count();
        assert!(mistaken < 200, "{mistaken} of 100000");
        // However many they are.
        (0..20_000).for_each(|number| slots.note(row(number), 6, 6));
        assert!((0..20_000).all(|number| slots.find(row(number)) == Some(6)));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_stop_slots_from_being_used() {
        let slots = Slots::default();
        (0..20_000).for_each(|number| slots.note(row("t", &number.to_string()), 1_000_000, 1_000_000));
        slots.note(row("t", "row"), 5000, 5000);
        assert_eq!(slots.find(row("t", "row")), Some(5000));
    }
}
