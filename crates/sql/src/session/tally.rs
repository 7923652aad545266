//! Operations of a statement that writes, by what they do.

use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::op::RowOp;

/// Operations that a statement sent and that were answered.
#[derive(Debug, Default)]
pub(crate) struct WriteTally {
    puts: AtomicU64,
    deletes: AtomicU64,
    increments: AtomicU64,
    conditions_failed: AtomicU64,
    rows_read: AtomicU64,
    batches: AtomicU64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteCounts {
    pub(crate) puts: u64,
    pub(crate) deletes: u64,
    pub(crate) increments: u64,
    /// Operations that did nothing, because their condition did not hold.
    pub(crate) conditions_failed: u64,
    /// Rows that were got to compute what is written, or under which condition.
    pub(crate) rows_read: u64,
    /// Batches that were sent.
    pub(crate) batches: u64,
}

/// What an operation does to its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Does {
    puts: u32,
    deletes: u32,
    increments: u32,
}

impl Does {
    /// Returns what an operation does, if its condition holds.
    pub(crate) fn of(op: &RowOp) -> Self {
        match op {
            RowOp::Put(_) | RowOp::Append(_) => Self { puts: 1, ..Self::default() },
            RowOp::Delete(_) => Self { deletes: 1, ..Self::default() },
            RowOp::Increment(_) => Self { increments: 1, ..Self::default() },
            RowOp::CheckAndMutate(check) => Self::of(&check.then),
            RowOp::Mutate(group) => group.ops.iter().map(Self::of).fold(Self::default(), Self::and),
        }
    }

    /// Returns what the move of a row does: a put of it, and a delete.
    pub(crate) fn of_move() -> Self {
        Self { puts: 1, deletes: 1, increments: 0 }
    }

    fn and(self, other: Self) -> Self {
        Self {
            puts: self.puts + other.puts,
            deletes: self.deletes + other.deletes,
            increments: self.increments + other.increments,
        }
    }
}

impl WriteTally {
    /// Counts an operation that was done.
    pub(crate) fn add(&self, does: Does) {
        let count = |counter: &AtomicU64, number: u32| {
            if number > 0 {
                counter.fetch_add(number.into(), Ordering::Relaxed);
            }
        };
        count(&self.puts, does.puts);
        count(&self.deletes, does.deletes);
        count(&self.increments, does.increments);
    }

    /// Counts an operation whose condition did not hold.
    pub(crate) fn add_failed(&self) {
        self.conditions_failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts rows that were got.
    pub(crate) fn add_read(&self, rows: usize) {
        self.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Counts a batch.
    pub(crate) fn add_batch(&self) {
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns what was counted so far.
    pub(crate) fn counts(&self) -> WriteCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WriteCounts {
            puts: of(&self.puts),
            deletes: of(&self.deletes),
            increments: of(&self.increments),
            conditions_failed: of(&self.conditions_failed),
            rows_read: of(&self.rows_read),
            batches: of(&self.batches),
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_types::op::{CheckAndMutate, Delete, Put, RowMutations};

    use super::*;

    #[test]
    fn operations_are_counted_within_groups_and_conditions() {
        let put = || Put::new("r").add("f", "q", "v");
        let group = RowMutations::new("r").add(put()).add(Delete::new("r").column("f", "p"));
        let check = CheckAndMutate::if_not_exists("r", "f", "q", put());
        let tally = WriteTally::default();
        tally.add(Does::of(&group.into()));
        tally.add(Does::of(&check.into()));
        tally.add_failed();
        tally.add_batch();
        let expected = WriteCounts {
            puts: 2,
            deletes: 1,
            conditions_failed: 1,
            batches: 1,
            ..WriteCounts::default()
        };
        assert_eq!(tally.counts(), expected);
    }
}
