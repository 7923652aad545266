//! Rows of the workload. What happens to a row, and every value that it ever has, follows from its
//! number, so any process can verify what it reads.

use crate::data::{KEY_BYTES, Rows, mix};

/// Rows of the part that is killed, at most.
const MAX_UNFLUSHED_ROWS: u64 = 200_000;
/// Bytes at the start of a value that depend on the row and the version.
const STAMP_BYTES: usize = 8;

/// What the mixed phase does to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Overwritten,
    Deleted,
}

/// Progress of the mixed phase when a row is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It runs: each row is in its old or its new state.
    Mixed,
    /// It is over: each row is in its new state.
    Changed,
}

/// Generator of keys, values and fates.
pub(crate) struct LargeRows {
    noise: Rows,
    count: u64,
    value_bytes: usize,
}

impl LargeRows {
    /// Creates a generator of `count` rows with values of `value_bytes` bytes.
    pub(crate) fn new(count: u64, value_bytes: usize) -> Self {
        Self { noise: Rows::new(value_bytes), count, value_bytes }
    }

    /// Returns the number of rows of the fill.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the numbers of the rows that are written after the mixed phase by the process that
    /// is killed.
    pub(crate) fn unflushed(&self) -> std::ops::Range<u64> {
        self.count..self.count + (self.count / 10).clamp(1, MAX_UNFLUSHED_ROWS)
    }

    /// Returns the logical size of one row in bytes.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.noise.row_bytes()
    }

    /// Returns what the mixed phase does to a row: a third is overwritten, a tenth deleted. Rows
    /// written after it are kept.
    pub(crate) fn fate(&self, row: u64) -> Fate {
        if row >= self.count {
            return Fate::Kept;
        }
        match mix(row ^ 0x6c61_7267_6500_0000) % 30 {
            0..=9 => Fate::Overwritten,
            10..=12 => Fate::Deleted,
            _ => Fate::Kept,
        }
    }

    /// Returns the number of rows of the fill that the mixed phase overwrites and deletes.
    pub(crate) fn changes(&self) -> (u64, u64) {
        (0..self.count).fold((0, 0), |(overwritten, deleted), row| match self.fate(row) {
            Fate::Kept => (overwritten, deleted),
            Fate::Overwritten => (overwritten + 1, deleted),
            Fate::Deleted => (overwritten, deleted + 1),
        })
    }

    /// Returns the rows of the fill in the order of the mixed phase, which is neither that of the
    /// fill nor that of the keys.
    pub(crate) fn shuffled(&self) -> impl Iterator<Item = u64> {
        let count = self.count;
        // Multiplying by a number without a common divisor maps the rows one to one.
        let near_golden = u64::try_from(u128::from(count) * 618 / 1000).unwrap_or(count);
        let mut steps = near_golden.max(1)..=count.max(1);
        let step = steps.find(|step| greatest_common_divisor(*step, count) == 1);
        let step = u128::from(step.unwrap_or(1));
        (0..count).map(move |turn| {
            u64::try_from(u128::from(turn) * step % u128::from(count)).unwrap_or_default()
        })
    }

    /// Replaces the contents of `value` by the value of a row: version 0 is that of the fill, 1
    /// that of the mixed phase. The first half is random and the second half repeats it, so that a
    /// codec can halve the value.
    pub(crate) fn write_value(&self, row: u64, version: u64, value: &mut Vec<u8>) {
        let seed = mix(mix(row) ^ version);
        let half = self.value_bytes.div_ceil(2);
        value.clear();
        value.extend_from_slice(&seed.to_le_bytes()[..STAMP_BYTES.min(half)]);
        value.extend_from_slice(&self.noise.value(seed)[..half - value.len()]);
        value.extend_from_within(..self.value_bytes - half);
    }

    /// Returns `true` if `found` is a right answer for a row. `expected` is scratch memory.
    pub(crate) fn is_right(
        &self,
        row: u64,
        found: Option<&[u8]>,
        stage: Stage,
        expected: &mut Vec<u8>,
    ) -> bool {
        let mut is_version = |version| {
            self.write_value(row, version, expected);
            found == Some(&expected[..])
        };
        match (self.fate(row), stage) {
            (Fate::Kept, _) => is_version(0),
            (Fate::Overwritten, Stage::Changed) => is_version(1),
            (Fate::Overwritten, Stage::Mixed) => is_version(1) || is_version(0),
            (Fate::Deleted, Stage::Changed) => found.is_none(),
            (Fate::Deleted, Stage::Mixed) => found.is_none() || is_version(0),
        }
    }

    /// Returns the row with a key, or `None` for bytes that are the key of no row.
    pub(crate) fn row_of(&self, key: &[u8]) -> Option<u64> {
        let row = u64::from_be_bytes(key.get(KEY_BYTES / 2..)?.try_into().ok()?);
        (row < self.unflushed().end && key == Rows::key(row)).then_some(row)
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn third_is_overwritten_and_tenth_deleted() {
        let (overwritten, deleted) = LargeRows::new(300_000, 100).changes();
        assert!((99_000..101_000).contains(&overwritten), "{overwritten}");
        assert!((29_000..31_000).contains(&deleted), "{deleted}");
    }

    #[test]
    fn shuffled_order_contains_each_row_once() {
        for count in [1, 2, 3, 10, 1000, 1001] {
            let rows: BTreeSet<_> = LargeRows::new(count, 100).shuffled().collect();
            assert_eq!(rows.len() as u64, count);
            assert!(rows.iter().all(|row| *row < count));
        }
    }

    #[test]
    fn values_differ_by_row_and_version() {
        for bytes in [7, 15, 16, 100] {
            let rows = LargeRows::new(10, bytes);
            let mut values = BTreeSet::new();
            for (row, version) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
                let mut value = Vec::new();
                rows.write_value(row, version, &mut value);
                assert_eq!(value.len(), bytes);
                values.insert(value);
            }
            assert_eq!(values.len(), 4, "{bytes}");
        }
    }

    #[test]
    fn answer_is_right_for_fate_and_stage() {
        let rows = LargeRows::new(1000, 20);
        let value = |row, version| {
            let mut value = Vec::new();
            rows.write_value(row, version, &mut value);
            value
        };
        let right = |row, found: Option<Vec<u8>>, stage| {
            rows.is_right(row, found.as_deref(), stage, &mut Vec::new())
        };
        let row_of = |fate| (0..1000).find(|row| rows.fate(*row) == fate).unwrap();
        // Per fate and stage: is version 0 right, is version 1, is no row?
        for (fate, stage, expected) in [
            (Fate::Kept, Stage::Mixed, [true, false, false]),
            (Fate::Kept, Stage::Changed, [true, false, false]),
            (Fate::Overwritten, Stage::Mixed, [true, true, false]),
            (Fate::Overwritten, Stage::Changed, [false, true, false]),
            (Fate::Deleted, Stage::Mixed, [true, false, true]),
            (Fate::Deleted, Stage::Changed, [false, false, true]),
        ] {
            let row = row_of(fate);
            let answers = [Some(value(row, 0)), Some(value(row, 1)), None];
            assert_eq!(answers.map(|found| right(row, found, stage)), expected, "{fate:?}");
        }
    }

    #[test]
    fn row_is_found_by_key() {
        let rows = LargeRows::new(1000, 100);
        assert_eq!(rows.unflushed(), 1000..1100);
        assert_eq!(rows.row_of(&Rows::key(1099)), Some(1099));
        assert_eq!(rows.row_of(&Rows::key(1100)), None);
        assert_eq!(rows.row_of(b"0123456789abcdef"), None);
        assert_eq!(rows.row_of(b"short"), None);
    }
}
