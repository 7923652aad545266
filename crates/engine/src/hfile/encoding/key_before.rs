//! Key before a cell in a file, and what both have in common.

use std::cmp::Ordering;

use super::common_prefix::common_front;
use super::flat_key::{STAMP_BYTES, family_end, row_end};
use crate::hfile::Comparator;

/// Key before the next one of a file. They are compared once, for their order, their difference,
/// and the filter of rows.
#[derive(Clone, Copy)]
pub(in crate::hfile) struct KeyBefore<'a> {
    pub(in crate::hfile) key: &'a [u8],
    /// Bytes that both keys have in common before timestamp and type.
    pub(in crate::hfile) common: usize,
}

impl<'a> KeyBefore<'a> {
    /// Compares the next key with the one before it, which is empty for the first cell of a file.
    #[inline]
    pub(in crate::hfile) fn new(before: &'a [u8], next: &[u8]) -> Self {
        Self { key: before, common: common_front(before, next) }
    }

    /// Returns `true` if both have the same row.
    #[inline]
    pub(in crate::hfile) fn has_same_row(&self) -> bool {
        row_end(self.key).is_some_and(|end| self.common >= end)
    }

    /// Returns `true` if both have the same row and family.
    #[inline]
    pub(in crate::hfile) fn has_same_family(&self) -> bool {
        family_end(self.key).is_some_and(|end| self.common >= end)
    }

    /// Returns the order of the key before and the next one.
    #[inline]
    pub(in crate::hfile) fn compare(&self, next: &[u8], comparator: Comparator) -> Ordering {
        let known = if comparator == Comparator::Cell { self.order(next) } else { None };
        known.unwrap_or_else(|| comparator.compare(self.key, next))
    }

    /// Returns the order of the keys if the first difference determines it: in rows of one length,
    /// or in the qualifiers of one row and family.
    #[inline]
    fn order(&self, next: &[u8]) -> Option<Ordering> {
        let (row_end, family_end) = (row_end(self.key)?, family_end(self.key)?);
        let is_in_rows = (2..row_end).contains(&self.common);
        // An empty family occurs in search keys, which have an order of their own.
        let is_in_qualifiers = self.common >= family_end && family_end > row_end.wrapping_add(1);
        if !is_in_rows && !is_in_qualifiers {
            return None;
        }
        let byte = |key: &[u8]| {
            let front_bytes = key.len().saturating_sub(STAMP_BYTES);
            key.get(self.common).filter(|_| self.common < front_bytes).copied()
        };
        match (byte(self.key), byte(next)) {
            (None, None) => None,
            // The shorter qualifier is first: no byte is before any.
            (before, next) => Some(before.cmp(&next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_types::cell::{key_family, key_row, make_key};

    use super::*;

    #[test]
    fn order_equals_that_of_the_comparators() {
        let rows: [&[u8]; 6] = [b"a", b"b", b"ab", b"b,", b"b,a", &[0; 300]];
        let columns: [(&[u8], &[u8]); 7] = [
            (b"", b""),
            (b"", b"q"),
            (b"f", b""),
            (b"f", b"q"),
            (b"f", b"qq"),
            (b"f", b"r"),
            (b"ff", b"q"),
        ];
        let mut keys = Vec::new();
        for row in rows {
            for (family, qualifier) in columns {
                for (timestamp, kind) in [(1, 4), (1, 0), (2, 4), (i64::MIN, 0)] {
                    keys.push(make_key(row, family, qualifier, timestamp, kind));
                }
            }
        }
        for before in &keys {
            for next in &keys {
                let step = KeyBefore::new(before, next);
                for comparator in [Comparator::Cell, Comparator::Meta] {
                    assert_eq!(
                        step.compare(next, comparator),
                        comparator.compare(before, next),
                        "{:?} {:?}",
                        before.escape_ascii(),
                        next.escape_ascii()
                    );
                }
                let same_row = key_row(before) == key_row(next);
                assert_eq!(step.has_same_row(), same_row);
                let same_family = same_row && key_family(before) == key_family(next);
                assert_eq!(step.has_same_family(), same_family);
            }
        }
    }
}
