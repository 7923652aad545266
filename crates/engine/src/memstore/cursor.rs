//! Traversal of the cells of one memstore, in order and by search.

use std::sync::Arc;

use halite_types::CellRef;
use halite_types::cell::{LATEST_TIMESTAMP, TYPE_MAXIMUM, key_row, searched_row, write_key};

use super::skiplist::{SkipList, SkipListCursor};

/// Position among the cells of one memstore, which it keeps in memory.
///
/// A cursor never waits for the writer. It returns every cell whose insertion happened before it
/// reached the position, and may or may not return concurrent insertions. The reader drops cells
/// beyond its read point.
pub struct Cursor {
    list_cursor: SkipListCursor,
    /// Buffer for search keys, which saves an allocation per search.
    search_key: Vec<u8>,
}

impl Cursor {
    /// Returns a cursor that is at no cell.
    pub(super) fn new(list: Arc<SkipList>) -> Self {
        Self { list_cursor: SkipListCursor::new(list), search_key: Vec::new() }
    }

    /// Returns the memory that would be freed with this cursor: nothing for a memstore in use, else
    /// its share of the memory that only cursors hold.
    pub(crate) fn held_bytes(&self) -> usize {
        self.list_cursor.held_bytes()
    }

    /// Returns the cell at the cursor; `None` past the last one, after a search that found nothing,
    /// and before the first search.
    #[inline]
    pub fn peek(&self) -> Option<CellRef<'_>> {
        self.list_cursor.cell()
    }

    /// Moves to the next cell. A cursor that is at no cell stays there.
    #[inline]
    pub fn next(&mut self) {
        self.list_cursor.step();
    }

    /// Moves to the first cell of all.
    pub fn seek_to_first(&mut self) {
        self.list_cursor.seek_to_first();
    }

    /// Moves to the first cell whose flat key is not before `key`, which of equal keys is the
    /// newest. The target may be before or after the cursor; one shortly after it is cheap to
    /// reach.
    pub fn seek(&mut self, key: &[u8]) {
        self.list_cursor.seek(key);
    }

    /// Moves to the last cell whose flat key is before `key`, or to no cell if there is none.
    pub fn seek_before(&mut self, key: &[u8]) {
        self.list_cursor.seek_last_before(key);
    }

    /// Moves to the first cell of the last row before `row`, or to no cell if there is none.
    pub fn seek_before_row(&mut self, row: &[u8]) {
        write_first_on_row(&mut self.search_key, row);
        self.list_cursor.seek_last_before(&self.search_key);
        let Some(cell) = self.list_cursor.cell() else { return };
        write_first_on_row(&mut self.search_key, key_row(cell.key()));
        self.list_cursor.seek(&self.search_key);
    }
}

/// Replaces `key` by the search key before every cell of `row`.
fn write_first_on_row(key: &mut Vec<u8>, row: &[u8]) {
    key.clear();
    write_key(key, searched_row(row), b"", b"", LATEST_TIMESTAMP, TYPE_MAXIMUM);
}
