//! Merge of several sources into one sorted stream of cells.
//!
//! The sources are kept in the order of their next cells. A healthy store has a handful of files
//! and long runs from each. After a step the first source is therefore usually still the first: one
//! comparison, no heap.
//!
//! A seek in a store file may be deferred until its cells could be next. A read of some columns of
//! a row often finds all of them in newer sources.

use std::cmp::Ordering;

use halite_types::cell::{compare_cells, compare_keys};
use halite_types::{CellRef, Error, Result};

use super::source::CellSource;

/// Merged sources; of equal cells the one of the earlier source is first.
pub(crate) struct MergingIterator {
    /// Sources that have a next cell, sorted by that cell; the others are in `ended`.
    active: Vec<CellSource>,
    ended: Vec<CellSource>,
    /// Files with deferred seeks. All their bounds are after the next cell.
    lazy: Vec<LazySource>,
    /// Number of files whose deferred seek was performed.
    enforced: usize,
    /// Number of sources in the three lists.
    count: usize,
}

/// File whose requested cells are at or after the key `bound`.
struct LazySource {
    source: CellSource,
    bound: Vec<u8>,
}

/// Returns the order of two sources.
#[inline]
fn order(a: &CellSource, b: &CellSource) -> Ordering {
    match (a.peek(), b.peek()) {
        (Some(one), Some(other)) => {
            compare_cells(&one, &other).then_with(|| a.rank().cmp(&b.rank()))
        }
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}

impl MergingIterator {
    /// Returns a merge of sources that [`MergingIterator::seek`] still has to position.
    pub(crate) fn new(mut sources: Vec<CellSource>) -> Self {
        sources.iter_mut().enumerate().for_each(|(rank, source)| source.set_rank(rank));
        Self {
            active: Vec::with_capacity(sources.len()),
            count: sources.len(),
            ended: sources,
            lazy: Vec::new(),
            enforced: 0,
        }
    }

    /// Returns the next cell.
    #[inline]
    pub(crate) fn peek(&self) -> Option<CellRef<'_>> {
        self.active.first().and_then(CellSource::peek)
    }

    /// Returns the error of a read that received the next cell out of order.
    pub(crate) fn out_of_order(&self) -> Error {
        self.active
            .first()
            .map_or_else(|| Error::corrupt("cells are not in order"), CellSource::out_of_order)
    }

    /// Moves to the next cell.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        let Some(first) = self.active.first_mut() else { return Ok(()) };
        first.next()?;
        self.reorder_first();
        debug_assert!(
            self.active.get(1).is_none_or(|second| order(&self.active[0], second).is_le()),
            "the first source has the next cell"
        );
        self.enforce_seeks()
    }

    /// Moves the first source to the position of its next cell.
    #[inline]
    fn reorder_first(&mut self) {
        let Some(cell) = self.active[0].peek() else {
            self.ended.push(self.active.remove(0));
            return;
        };
        let rank = self.active[0].rank();
        // Of equal cells that of the earlier source is next, as after a seek.
        let is_before = |other: &CellSource| {
            other.peek().is_some_and(|next| {
                compare_cells(&next, &cell).then_with(|| other.rank().cmp(&rank)).is_lt()
            })
        };
        let behind = self.active[1..].iter().take_while(|other| is_before(other)).count();
        if behind > 0 {
            self.active[..=behind].rotate_left(1);
        }
    }

    /// Positions every source at its first cell at or after `key`, in any direction, except files
    /// whose seek can be deferred.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.gather();
        let mut at = 0;
        while let Some(source) = self.active.get_mut(at) {
            if let Some(bound) = source.bound(key) {
                let source = self.active.remove(at);
                self.lazy.push(LazySource { source, bound });
            } else {
                source.seek(key)?;
                at += 1;
            }
        }
        self.sort();
        self.enforce_seeks()
    }

    /// Moves the sources whose next cell is before `key` to their first cell at or after it.
    pub(crate) fn seek_forward(&mut self, key: &[u8]) -> Result<()> {
        for waiting in &mut self.lazy {
            if compare_keys(&waiting.bound, key).is_lt() {
                waiting.bound = waiting.source.bound(key).expect("a file that waited can wait");
            }
        }
        let mut moved = false;
        for source in &mut self.active {
            // The sources are in order: the first that is at or after the key ends the loop.
            if source.peek().is_some_and(|cell| compare_keys(cell.key(), key).is_ge()) {
                break;
            }
            source.seek(key)?;
            moved = true;
        }
        if moved {
            self.sort();
        }
        self.enforce_seeks()
    }

    /// Performs the deferred seeks in the files that could have the next cell.
    #[inline]
    fn enforce_seeks(&mut self) -> Result<()> {
        if self.lazy.is_empty() { Ok(()) } else { self.enforce_next_seeks() }
    }

    #[cold]
    fn enforce_next_seeks(&mut self) -> Result<()> {
        while let Some((at, next)) = self
            .lazy
            .iter_mut()
            .enumerate()
            .min_by(|(_, a), (_, b)| compare_keys(&a.bound, &b.bound))
        {
            if self
                .active
                .first()
                .and_then(CellSource::peek)
                .is_some_and(|cell| compare_keys(cell.key(), &next.bound).is_lt())
            {
                break;
            }
            next.source.seek(&next.bound)?;
            let source = self.lazy.remove(at).source;
            self.enforced += 1;
            if source.peek().is_some() {
                let place = self.active.partition_point(|other| order(other, &source).is_lt());
                self.active.insert(place, source);
            } else {
                self.ended.push(source);
            }
        }
        Ok(())
    }

    /// Returns the bytes of memory held for the sources.
    pub(crate) fn held_bytes(&self) -> usize {
        let waiting = self.lazy.iter().map(|waiting| &waiting.source);
        self.active.iter().chain(&self.ended).chain(waiting).map(CellSource::held_bytes).sum()
    }

    /// Returns the number of files whose deferred seek was performed, and of those whose seek is
    /// still deferred.
    pub(crate) fn lazy_seek_counts(&self) -> (usize, usize) {
        (self.enforced, self.lazy.len())
    }

    /// Returns `true` if a seek is deferred. A seek is then better than steps, which may trigger
    /// the deferred one.
    #[inline]
    pub(crate) fn has_lazy(&self) -> bool {
        !self.lazy.is_empty()
    }

    /// Makes all sources active, to be positioned again.
    fn gather(&mut self) {
        self.active.append(&mut self.ended);
        self.active.extend(self.lazy.drain(..).map(|waiting| waiting.source));
        assert_eq!(self.active.len(), self.count, "no source is lost, nor are its cells");
    }

    fn sort(&mut self) {
        let mut at = 0;
        while at < self.active.len() {
            if self.active[at].peek().is_none() {
                self.ended.push(self.active.remove(at));
            } else {
                at += 1;
            }
        }
        self.active.sort_by(order);
    }

    /// Returns the bytes of the cells passed in memstores.
    pub(crate) fn memstore_bytes(&self) -> u64 {
        self.active.iter().chain(&self.ended).map(CellSource::memstore_bytes).sum()
    }

    /// Returns the largest row before `row` (or of all, without one) in any source. The sources
    /// must be positioned again.
    pub(crate) fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        self.gather();
        let mut best: Option<Vec<u8>> = None;
        for source in &mut self.active {
            if let Some(found) = source.row_before(row)?
                && best.as_ref().is_none_or(|best| *best < found)
            {
                best = Some(found);
            }
        }
        Ok(best)
    }
}
