//! A walk over the cells of one memstore, in order and by search.

use std::sync::Arc;

use halite_types::CellRef;
use halite_types::cell::{LATEST_TIMESTAMP, TYPE_MAXIMUM, key_row, searched_row, write_key};

use super::skiplist::{Position, SkipList};

/// A place among the cells of one memstore, which it keeps in memory.
///
/// A cursor never waits for the writer. It meets every cell whose insertion happened before it came to the place, and
/// may or may not meet those inserted meanwhile; the reader drops what its read point does not cover.
pub struct Cursor {
    position: Position,
    /// Room for search keys, kept to spare an allocation per search.
    search_key: Vec<u8>,
}

impl Cursor {
    /// A cursor that stands at no cell.
    pub(super) fn new(list: Arc<SkipList>) -> Self {
        Self { position: Position::new(list), search_key: Vec::new() }
    }

    /// Memory that would go if this cursor did: of a memstore that is in use none, of one that has gone its share among the cursors.
    pub(crate) fn held_bytes(&self) -> usize {
        self.position.held_bytes()
    }

    /// The cell at the cursor; `None` behind the last one, after a search that found nothing, and before the first search.
    #[inline]
    pub fn peek(&self) -> Option<CellRef<'_>> {
        self.position.cell()
    }

    /// Goes to the next cell. A cursor that stands at no cell stays there.
    #[inline]
    pub fn next(&mut self) {
        self.position.step();
    }

    /// Goes to the first cell of all.
    pub fn seek_to_first(&mut self) {
        self.position.seek_to_first();
    }

    /// Goes to the first cell whose flat key is not before `key`, which of equal keys is the newest. The target may be
    /// before or behind the cursor; one a little behind it is cheap to reach.
    pub fn seek(&mut self, key: &[u8]) {
        self.position.seek(key);
    }

    /// Goes to the last cell whose flat key is before `key`, or to no cell if there is none.
    pub fn seek_before(&mut self, key: &[u8]) {
        self.position.seek_last_before(key);
    }

    /// Goes to the first cell of the last row before `row`, or to no cell if there is none.
    pub fn seek_before_row(&mut self, row: &[u8]) {
        write_first_on_row(&mut self.search_key, row);
        self.position.seek_last_before(&self.search_key);
        let Some(cell) = self.position.cell() else { return };
        write_first_on_row(&mut self.search_key, key_row(cell.key()));
        self.position.seek(&self.search_key);
    }
}

/// Replaces `key` by the search key before every cell of `row`.
fn write_first_on_row(key: &mut Vec<u8>, row: &[u8]) {
    key.clear();
    write_key(key, searched_row(row), b"", b"", LATEST_TIMESTAMP, TYPE_MAXIMUM);
}
