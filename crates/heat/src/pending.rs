//! Sampled operations of a busy region that are not counted yet.
//!
//! Counting one touches the sub-ranges, the frequent rows, the prefixes and the sample. Between
//! two sampled operations of a region the processor's caches lose all of these, so that one takes
//! half a microsecond; a batch of them brings each to the cache once. Until then an operation costs
//! the copy of its row.

use crate::recorder::OperationKind;

/// Operations that are counted together.
const BATCH: usize = 64;
/// Bytes of their rows, at most: a longer row is counted at once.
const BATCH_BYTES: usize = 4096;

/// Sampled operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sampled<'a> {
    pub(crate) kind: OperationKind,
    pub(crate) row: &'a [u8],
    /// Bytes of its cells.
    pub(crate) bytes: u64,
    /// Binary logarithm of the operations that it represents.
    pub(crate) shift: u32,
    /// `true` if it is also in the sample of the rows, which is half of that of the sub-ranges.
    pub(crate) has_row: bool,
}

/// Sampled operations in their order of arrival.
#[derive(Debug, Default)]
pub(crate) struct PendingOperations {
    rows: Vec<u8>,
    /// Operations without their rows, and the ends of these.
    operations: Vec<(Sampled<'static>, usize)>,
}

impl PendingOperations {
    /// Adds an operation; returns `false`, and adds nothing, if there is no room.
    pub(crate) fn push(&mut self, sampled: &Sampled<'_>) -> bool {
        let end = self.rows.len() + sampled.row.len();
        if self.operations.len() == BATCH || end > BATCH_BYTES {
            return false;
        }
        self.rows.extend_from_slice(sampled.row);
        self.operations.push((Sampled { row: &[], ..*sampled }, end));
        true
    }

    /// Passes all operations on and forgets them.
    pub(crate) fn drain(&mut self, mut count: impl FnMut(&Sampled<'_>)) {
        let mut start = 0;
        for (sampled, end) in self.operations.drain(..) {
            count(&Sampled { row: &self.rows[start..end], ..sampled });
            start = end;
        }
        self.rows.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(row: &[u8]) -> Sampled<'_> {
        Sampled { kind: OperationKind::Get, row, bytes: 7, shift: 3, has_row: true }
    }

    #[test]
    fn operations_come_back_in_order_with_their_rows() {
        let mut pending = PendingOperations::default();
        for round in 0..2 {
            let rows: Vec<String> = (0..BATCH).map(|at| format!("{round}{}", at / 3)).collect();
            for row in &rows {
                assert!(pending.push(&sampled(row.as_bytes())), "{row}");
            }
            assert!(!pending.push(&sampled(b"")), "a batch of {BATCH} is full");
            let mut drained = Vec::new();
            pending.drain(|one| {
                assert_eq!(*one, sampled(one.row));
                drained.push(String::from_utf8(one.row.to_vec()).unwrap());
            });
            assert_eq!(drained, rows);
        }
    }

    #[test]
    fn long_rows_have_no_room() {
        let mut pending = PendingOperations::default();
        assert!(pending.push(&sampled(&[1; BATCH_BYTES - 1])));
        assert!(!pending.push(&sampled(&[2; 2])));
        assert!(pending.push(&sampled(&[2; 1])));
        pending.drain(|_| {});
        assert!(!pending.push(&sampled(&[3; BATCH_BYTES + 1])));
    }
}
