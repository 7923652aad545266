//! One sorted stream of cells out of several.
//!
//! The sources are kept in the order of their next cells. A healthy store has a handful of files and long runs from
//! each, so after a step the first source is usually still the first: one comparison, no heap.
//!
//! A store file may be left alone until its cells could be next: a read of some columns of a row often has all it wants from
//! what is newer.

use std::cmp::Ordering;

use halite_types::cell::{compare_cells, compare_keys};
use halite_types::{CellRef, Error, Result};

use super::source::Source;

/// Sources merged; at equal cells the one given first wins.
pub(crate) struct Merge {
    /// Those that have a next cell, by that cell; the rest wait in `ended`.
    active: Vec<Source>,
    ended: Vec<Source>,
    /// Files that are not sought yet. All their bounds are behind the next cell.
    waiting: Vec<Waiting>,
    /// Files that did not have to wait any longer.
    woken: usize,
}

/// A file whose cells that are wanted are at or behind the key `bound`.
struct Waiting {
    source: Source,
    bound: Vec<u8>,
}

/// Which of two sources comes first.
#[inline]
fn order(a: &Source, b: &Source) -> Ordering {
    match (a.peek(), b.peek()) {
        (Some(one), Some(other)) => compare_cells(&one, &other).then_with(|| a.rank().cmp(&b.rank())),
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}

impl Merge {
    /// A merge of sources that still have to be positioned by [`Merge::seek`].
    pub(crate) fn new(mut sources: Vec<Source>) -> Self {
        sources.iter_mut().enumerate().for_each(|(rank, source)| source.set_rank(rank));
        Self { active: Vec::with_capacity(sources.len()), ended: sources, waiting: Vec::new(), woken: 0 }
    }

    /// The next cell.
    #[inline]
    pub(crate) fn peek(&self) -> Option<CellRef<'_>> {
        self.active.first().and_then(Source::peek)
    }

    /// The error of a read to which the next cell came too late.
    pub(crate) fn out_of_order(&self) -> Error {
        self.active.first().map_or_else(|| Error::corrupt("cells are not in order"), Source::out_of_order)
    }

    /// On to the next cell.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        let Some(first) = self.active.first_mut() else { return Ok(()) };
        first.next()?;
        self.settle_first();
        self.wake()
    }

    /// Puts the first source where its next cell belongs.
    #[inline]
    fn settle_first(&mut self) {
        let Some(cell) = self.active[0].peek() else {
            self.ended.push(self.active.remove(0));
            return;
        };
        let behind = self.active[1..].iter().take_while(|other| other.peek().is_some_and(|next| compare_cells(&next, &cell).is_lt())).count();
        if behind > 0 {
            self.active[..=behind].rotate_left(1);
        }
    }

    /// Positions every source at its first cell at or behind `key`, wherever it was, but for files that can wait.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.gather();
        let mut at = 0;
        while let Some(source) = self.active.get_mut(at) {
            if let Some(bound) = source.bound(key) {
                let source = self.active.remove(at);
                self.waiting.push(Waiting { source, bound });
            } else {
                source.seek(key)?;
                at += 1;
            }
        }
        self.sort();
        self.wake()
    }

    /// Moves the sources whose next cell lies before `key` on to their first cell at or behind it.
    pub(crate) fn seek_forward(&mut self, key: &[u8]) -> Result<()> {
        for waiting in &mut self.waiting {
            if compare_keys(&waiting.bound, key).is_lt() {
                waiting.bound = waiting.source.bound(key).expect("a file that waited can wait");
            }
        }
        let mut moved = false;
        for source in &mut self.active {
            // They are in order: the first that lies at or behind the key ends the work.
            if source.peek().is_some_and(|cell| compare_keys(cell.key(), key).is_ge()) {
                break;
            }
            source.seek(key)?;
            moved = true;
        }
        if moved {
            self.sort();
        }
        self.wake()
    }

    /// Seeks in the files that could have the next cell.
    #[inline]
    fn wake(&mut self) -> Result<()> {
        if self.waiting.is_empty() { Ok(()) } else { self.wake_next() }
    }

    #[cold]
    fn wake_next(&mut self) -> Result<()> {
        while let Some((at, next)) = self.waiting.iter_mut().enumerate().min_by(|(_, a), (_, b)| compare_keys(&a.bound, &b.bound)) {
            if self.active.first().and_then(Source::peek).is_some_and(|cell| compare_keys(cell.key(), &next.bound).is_lt()) {
                break;
            }
            next.source.seek(&next.bound)?;
            let source = self.waiting.remove(at).source;
            self.woken += 1;
            if source.peek().is_some() {
                let place = self.active.partition_point(|other| order(other, &source).is_lt());
                self.active.insert(place, source);
            } else {
                self.ended.push(source);
            }
        }
        Ok(())
    }

    /// Memory that is kept for the sources.
    pub(crate) fn held_bytes(&self) -> usize {
        let waiting = self.waiting.iter().map(|waiting| &waiting.source);
        self.active.iter().chain(&self.ended).chain(waiting).map(Source::held_bytes).sum()
    }

    /// How many files have had to be looked at though they could wait, and how many have not.
    pub(crate) fn files_woken_and_waiting(&self) -> (usize, usize) {
        (self.woken, self.waiting.len())
    }

    /// Whether a file waits: then it is better to seek what is wanted than to step there, which may wake it.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Makes all sources active, to be positioned again.
    fn gather(&mut self) {
        self.active.append(&mut self.ended);
        self.active.extend(self.waiting.drain(..).map(|waiting| waiting.source));
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

    /// Bytes of the cells that were passed in memstores.
    pub(crate) fn memstore_bytes(&self) -> u64 {
        self.active.iter().chain(&self.ended).map(Source::memstore_bytes).sum()
    }

    /// The largest row before `row` (or of all, without one) in any source. The sources must be positioned again.
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
