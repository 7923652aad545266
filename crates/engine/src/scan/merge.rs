//! One sorted stream of cells out of several.
//!
//! The sources are kept in the order of their next cells. A healthy store has a handful of files and long runs from
//! each, so after a step the first source is usually still the first: one comparison, no heap.

use halite_types::cell::{compare_cells, compare_keys};
use halite_types::{CellRef, Result};

use super::source::Source;

/// Sources merged; at equal cells the one given first wins.
pub(crate) struct Merge {
    /// Those that have a next cell, by that cell; the rest wait in `ended`.
    active: Vec<Source>,
    ended: Vec<Source>,
}

impl Merge {
    /// A merge of sources that still have to be positioned by [`Merge::seek`].
    pub(crate) fn new(sources: Vec<Source>) -> Self {
        Self { active: Vec::with_capacity(sources.len()), ended: sources }
    }

    /// The next cell.
    #[inline]
    pub(crate) fn peek(&self) -> Option<CellRef<'_>> {
        self.active.first().and_then(Source::peek)
    }

    /// On to the next cell.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        let Some(first) = self.active.first_mut() else { return Ok(()) };
        first.next()?;
        self.settle_first();
        Ok(())
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

    /// Positions every source at its first cell at or behind `key`, wherever it was.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.active.append(&mut self.ended);
        for source in &mut self.active {
            source.seek(key)?;
        }
        self.sort();
        Ok(())
    }

    /// Moves the sources whose next cell lies before `key` on to their first cell at or behind it.
    pub(crate) fn seek_forward(&mut self, key: &[u8]) -> Result<()> {
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
        Ok(())
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
        self.active.sort_by(|a, b| match (a.peek(), b.peek()) {
            (Some(a), Some(b)) => compare_cells(&a, &b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
    }

    pub(crate) fn count_memstore_bytes(&mut self) {
        self.active.iter_mut().chain(&mut self.ended).for_each(Source::count_memstore_bytes);
    }

    /// Bytes of the cells that were passed in memstores since they are counted.
    pub(crate) fn memstore_bytes(&self) -> u64 {
        self.active.iter().chain(&self.ended).map(Source::memstore_bytes).sum()
    }

    /// The largest row before `row` (or of all, without one) in any source. The sources must be positioned again.
    pub(crate) fn row_before(&mut self, row: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        self.active.append(&mut self.ended);
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
