//! Key ranges with constant derived bytes, and the part of a key that is compared without those.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use halite_types::key::{successor_of_prefix, successor_of_row};
use halite_types::{Bytes, RowRange};

use super::walk::{KeyPrefix, Tail};
use crate::value::Value;

/// Contiguous range of keys, which are equal up to their last salt or hash.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRange {
    /// Rows of the range.
    pub range: RowRange,
    /// Number of bytes common to all keys, up to the end of the last salt or hash.
    fixed: usize,
    /// Those bytes without salts and hashes.
    logical: Bytes,
    /// For human-readable output: the known value of every segment; for a merged range, of its
    /// first keys.
    pub(super) fixed_segments: Vec<FixedSegment>,
    /// For a merged range, the known values of its last keys.
    pub(super) last_fixed_segments: Option<Vec<FixedSegment>>,
    /// Keys of which the rows are read, in order; `None` if these are all of the range.
    pub(super) points: Option<Arc<[Bytes]>>,
}

/// Segment that is equal in all keys of a range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FixedSegment {
    pub(super) segment: usize,
    pub(super) value: FixedValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum FixedValue {
    Value(Value<'static>),
    Salt(u32),
    Derived(Vec<u8>),
}

impl KeyRange {
    /// Returns the whole table as one range, for keys of any schema.
    pub fn all() -> Self {
        Self {
            range: RowRange::all(),
            fixed: 0,
            logical: Bytes::new(),
            fixed_segments: Vec::new(),
            last_fixed_segments: None,
            points: None,
        }
    }

    /// Returns the keys with one prefix; `None` if there are none.
    pub(super) fn from_prefix(start: KeyPrefix<'_>, tail: &Tail) -> Option<Self> {
        let with = |more: &[u8]| [&start.bytes[..], more].concat();
        let behind = |end: Option<Vec<u8>>| {
            end.map_or(Bound::Unbounded, |end| Bound::Excluded(Bytes::from(end)))
        };
        let from = |low: Vec<u8>| {
            if low.is_empty() { Bound::Unbounded } else { Bound::Included(Bytes::from(low)) }
        };
        let range = match tail {
            // HBase has no empty row key, so there is nothing to get.
            Tail::Complete if start.bytes.is_empty() => return None,
            Tail::Complete => {
                let key = Bytes::copy_from_slice(&start.bytes);
                RowRange { start: Bound::Included(key.clone()), end: Bound::Included(key) }
            }
            Tail::Open => {
                RowRange { start: from(with(&[])), end: behind(successor_of_prefix(&start.bytes)) }
            }
            Tail::Span { low, high } => {
                let end = high
                    .as_ref()
                    .map_or_else(|| successor_of_prefix(&start.bytes), |high| Some(with(high)));
                RowRange { start: from(with(low)), end: behind(end) }
            }
        };
        let logical = Bytes::copy_from_slice(&start.plain[..start.fixed_plain]);
        (!range.is_empty()).then_some(Self {
            range,
            fixed: start.fixed,
            logical,
            fixed_segments: start.fixed_segments.unwrap_or_default(),
            last_fixed_segments: None,
            points: None,
        })
    }

    /// Returns the number of bytes of a key up to the end of its last salt or hash.
    pub fn fixed(&self) -> usize {
        self.fixed
    }

    /// Returns the key if the range contains exactly one.
    pub fn point(&self) -> Option<&Bytes> {
        match (&self.range.start, &self.range.end) {
            (Bound::Included(start), Bound::Included(end)) if start == end => Some(start),
            _ => None,
        }
    }

    /// Returns the sort key for merging several ranges: the key without salts and hashes, in two
    /// parts. Within one range its order is the key order.
    pub fn merge_key<'k>(&'k self, key: &'k [u8]) -> (&'k [u8], &'k [u8]) {
        (&self.logical, key.get(self.fixed..).unwrap_or_default())
    }

    /// Returns the least merge key a row of the range can have.
    pub fn low_merge_key(&self) -> Vec<u8> {
        let (Bound::Included(start) | Bound::Excluded(start)) = &self.range.start else {
            return self.logical.to_vec();
        };
        let (first, second) = self.merge_key(start);
        [first, second].concat()
    }

    /// Returns an upper bound of the merge keys of the range, for reverse scans; `None` if there is
    /// none.
    pub fn high_merge_key(&self) -> Option<Vec<u8>> {
        let (Bound::Included(end) | Bound::Excluded(end)) = &self.range.end else { return None };
        // A bound that is shorter than the common bytes is after every key that begins with it.
        if end.len() < self.fixed || !self.begins_with_fixed(end) {
            return successor_of_prefix(&self.logical);
        }
        Some([&self.logical, &end[self.fixed..]].concat())
    }

    fn begins_with_fixed(&self, end: &[u8]) -> bool {
        let (Bound::Included(start) | Bound::Excluded(start)) = &self.range.start else {
            return self.fixed == 0;
        };
        start.get(..self.fixed) == end.get(..self.fixed)
    }

    /// Restricts the range to keys strictly after `merge_key` (strictly before it in a reverse
    /// scan); returns `None` if it is empty. With `and_equal` a row with exactly that merge key is
    /// included.
    #[must_use]
    pub fn after(&self, merge_key: &[u8], reverse: bool, and_equal: bool) -> Option<Self> {
        let head = &merge_key[..merge_key.len().min(self.logical.len())];
        let cut = match head.cmp(&self.logical) {
            Ordering::Equal => self.key_with(&merge_key[self.logical.len()..]),
            // The token is entirely on one side: a shorter one sorts before all keys of the range.
            order => {
                return (order == if reverse { Ordering::Greater } else { Ordering::Less })
                    .then(|| self.clone());
            }
        };
        let mut left = self.clone();
        let side = if and_equal {
            Bound::Included(Bytes::from(cut))
        } else {
            Bound::Excluded(Bytes::from(cut))
        };
        if reverse {
            left.range.end = lesser_end(&self.range.end, side);
        } else {
            left.range.start = greater_start(&self.range.start, side);
        }
        (!left.range.is_empty()).then_some(left)
    }

    /// Returns the intersection with another range.
    pub(super) fn within(mut self, other: &RowRange) -> Option<Self> {
        self.range.start = greater_start(&self.range.start, other.start.clone());
        self.range.end = lesser_end(&self.range.end, other.end.clone());
        (!self.range.is_empty()).then_some(self)
    }

    /// Returns the bytes common to all keys, up to the end of the last salt or hash.
    pub fn fixed_bytes(&self) -> &[u8] {
        match &self.range.start {
            Bound::Included(start) | Bound::Excluded(start) => {
                &start[..self.fixed.min(start.len())]
            }
            Bound::Unbounded => &[],
        }
    }

    fn key_with(&self, tail: &[u8]) -> Vec<u8> {
        [self.fixed_bytes(), tail].concat()
    }

    /// Merges the next range if there is no gap between them and their rows have the same sort key.
    pub(super) fn absorb(&mut self, next: &Self) -> bool {
        let touches = match (&self.range.end, &next.range.start) {
            (Bound::Excluded(end), Bound::Included(start)) => end >= start,
            _ => false,
        };
        if !touches
            || (self.fixed, &self.logical) != (next.fixed, &next.logical)
            || self.key_with(&[]) != next.key_with(&[])
        {
            return false;
        }
        self.range.end = next.range.end.clone();
        self.last_fixed_segments =
            Some(next.last_fixed_segments.clone().unwrap_or_else(|| next.fixed_segments.clone()));
        true
    }

    /// Returns the same range with rows sorted by their whole keys.
    pub(super) fn by_whole_key(&self) -> Self {
        Self { fixed: 0, logical: Bytes::new(), ..self.clone() }
    }

    /// Returns `true` if this range and one that begins later, or at the same key, have keys in
    /// common.
    pub(super) fn overlaps(&self, next: &Self) -> bool {
        self.meets(next, false)
    }

    /// Returns `true` if no gap, or no key if `touching` is unset, is between the ranges.
    fn meets(&self, next: &Self, touching: bool) -> bool {
        match (&self.range.end, &next.range.start) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
            (Bound::Excluded(end), Bound::Included(start)) if touching => end >= start,
            (Bound::Included(end), Bound::Included(start)) => end >= start,
            (Bound::Excluded(end), Bound::Included(start))
            | (Bound::Included(end) | Bound::Excluded(end), Bound::Excluded(start)) => end > start,
        }
    }

    /// Extends the range by one that begins later, or at the same key, if no gap is between them
    /// and their rows have the same sort key.
    pub(super) fn join(&mut self, next: &Self) -> bool {
        let joins = self.is_like(next) && self.meets(next, true);
        if joins {
            self.cover(next);
        }
        joins
    }

    /// Returns `true` if the rows of the ranges have the same sort key.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.fixed, &self.logical) == (other.fixed, &other.logical)
            && self.fixed_bytes() == other.fixed_bytes()
    }

    /// Extends the range to the end of one that begins later. Returns `true` if there was a gap.
    pub(super) fn cover(&mut self, next: &Self) -> bool {
        let has_gap = !self.meets(next, true);
        self.range.end = match (&self.range.end, &next.range.end) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => Bound::Unbounded,
            (Bound::Included(old), Bound::Included(new) | Bound::Excluded(new)) if old >= new => {
                self.range.end.clone()
            }
            (Bound::Excluded(old), Bound::Included(new)) if old > new => self.range.end.clone(),
            (Bound::Excluded(old), Bound::Excluded(new)) if old >= new => self.range.end.clone(),
            _ => next.range.end.clone(),
        };
        has_gap
    }

    /// Returns `true` if a region from `start` to `end` (empty for none) contains a part of the
    /// range.
    pub fn touches(&self, start: &[u8], end: &[u8]) -> bool {
        let begins_before_end = end.is_empty()
            || match &self.range.start {
                Bound::Unbounded => true,
                Bound::Included(first) => &first[..] < end,
                Bound::Excluded(first) => successor_of_row(first).as_slice() < end,
            };
        begins_before_end && !self.range.is_past_end(start)
    }
}

fn greater_start(old: &Bound<Bytes>, new: Bound<Bytes>) -> Bound<Bytes> {
    let old_is_greater = match (old, &new) {
        (_, Bound::Unbounded) => true,
        (Bound::Included(old), Bound::Included(new) | Bound::Excluded(new)) => old > new,
        (Bound::Excluded(old), Bound::Included(new) | Bound::Excluded(new)) => old >= new,
        _ => false,
    };
    if old_is_greater { old.clone() } else { new }
}

fn lesser_end(old: &Bound<Bytes>, new: Bound<Bytes>) -> Bound<Bytes> {
    let old_is_lesser = match (old, &new) {
        (_, Bound::Unbounded) => true,
        (Bound::Included(old), Bound::Included(new) | Bound::Excluded(new)) => old < new,
        (Bound::Excluded(old), Bound::Included(new) | Bound::Excluded(new)) => old <= new,
        _ => false,
    };
    if old_is_lesser { old.clone() } else { new }
}
