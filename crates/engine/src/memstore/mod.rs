//! The memstore: the cells of one store that are not in a file yet, sorted, in memory.
//!
//! A [`MemTable`] only ever grows. The writer inserts under the region's commit lock, readers walk beside it without a
//! lock, and when the store has flushed it the last [`Arc`] to it frees all cells at once. Nothing is removed or
//! changed, so a reader needs no epoch and no hazard pointer: what it can reach stays.
//!
//! The one subtle rule is the order of publication. A cell is copied in full and its own links are set; only then is
//! its address stored, with Release, into the link of the cell before it, from the lowest level up. Readers load links
//! with Acquire. So whoever can see a cell sees all of its bytes and can go on from it, on every level. Visibility of a
//! *batch* is not decided here: the engine raises the read point after the last insertion, and readers pass over cells
//! with a higher sequence id.

mod arena;
mod cursor;
mod skiplist;
#[cfg(test)]
mod tests;
mod totals;

use std::sync::Arc;

use halite_types::CellRef;
use halite_types::cell::{KEY_OVERHEAD, SharedPrefix, check_key};

pub use cursor::Cursor;
use skiplist::SkipList;
use totals::Totals;

/// The smallest flat key; what the head of a list carries in place of a key, never compared with anything.
const HEAD_KEY: [u8; KEY_OVERHEAD] = [0; KEY_OVERHEAD];

/// Cells in the order of [`halite_types::cell::compare_cells`]: one writer, many readers.
///
/// Two cells with the same key and sequence id are both kept, the one inserted last first: of a batch that writes a
/// column twice at one timestamp the later write wins, as in HBase.
///
/// # Examples
/// ```
/// use halite_engine::memstore::MemTable;
/// use halite_types::CellRef;
/// use halite_types::cell::{CellType, make_key};
///
/// let table = MemTable::new(1 << 20);
/// let key = make_key(b"row", b"family", b"qualifier", 1, CellType::Put.code());
/// table.insert(CellRef::new(&key, b"old", b"", 7));
/// table.insert(CellRef::new(&key, b"new", b"", 8));
///
/// let mut cursor = table.cursor();
/// cursor.seek(&key);
/// assert_eq!(cursor.peek().map(|cell| cell.value()), Some(&b"new"[..]));
/// ```
pub struct MemTable {
    totals: Totals,
    list: Arc<SkipList>,
}

impl Drop for MemTable {
    fn drop(&mut self) {
        self.list.leave(self.totals.bytes());
    }
}

impl MemTable {
    /// An empty memstore. Its memory comes in chunks that double from 4 KiB up to `arena_chunk_bytes`; a cell too large
    /// for a chunk gets its own.
    pub fn new(arena_chunk_bytes: usize) -> Self {
        Self::expecting(arena_chunk_bytes, SharedPrefix::default())
    }

    /// An empty memstore that takes the place of this one and expects rows like its: what those begin with in common is not
    /// compared in every step of a search.
    #[must_use]
    pub fn successor(&self, arena_chunk_bytes: usize) -> Self {
        Self::expecting(arena_chunk_bytes, self.list.shared_by_rows())
    }

    fn expecting(arena_chunk_bytes: usize, shared: SharedPrefix) -> Self {
        Self { totals: Totals::default(), list: Arc::new(SkipList::new(arena_chunk_bytes, shared)) }
    }

    /// The right to insert. Writers are meant to be kept apart by the region's commit lock; a second one waits.
    pub fn writer(&self) -> Writer<'_> {
        Writer { totals: &self.totals, list: self.list.writer() }
    }

    /// Inserts a copy of one cell; see [`Writer::insert`].
    pub fn insert(&self, cell: CellRef<'_>) {
        self.writer().insert(cell);
    }

    /// A cursor that stands at no cell until its first search. It keeps the cells in memory, even longer than `self`.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(Arc::clone(&self.list))
    }

    /// Bytes of memory in use by cells and the list over them; what decides about a flush.
    pub fn bytes(&self) -> usize {
        self.totals.bytes()
    }

    /// Bytes of the keys, values and tags.
    pub fn payload_bytes(&self) -> usize {
        self.totals.payload_bytes()
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.totals.cells()
    }

    /// How many cells came to stand beside one of their own row and column.
    pub fn overwrites(&self) -> usize {
        self.totals.overwrites()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest and the largest timestamp, both inclusive; `None` without cells. A marker that deletes a column or
    /// a family counts down to 0, as in HBase's `TIMERANGE`, because it bears on all older cells.
    pub fn time_range(&self) -> Option<(i64, i64)> {
        self.totals.time_range()
    }

    /// The highest sequence id; 0 without cells.
    pub fn max_sequence(&self) -> u64 {
        self.totals.max_sequence()
    }

    /// Whether some cell has tags.
    pub fn has_tags(&self) -> bool {
        self.totals.has_tags()
    }
}

/// The right to insert into a [`MemTable`]; hold it for a batch to pay for its lock once.
pub struct Writer<'a> {
    totals: &'a Totals,
    list: skiplist::Writer<'a>,
}

impl Writer<'_> {
    /// Inserts copies of several cells in their order, as [`Writer::insert`] would; see there. Where their keys are spread
    /// over the memstore this takes far less time than one after the other.
    ///
    /// # Panics
    /// As [`Writer::insert`]; the cells before the one at fault may be in.
    pub fn insert_all<'c>(&mut self, cells: impl Iterator<Item = CellRef<'c>>) {
        let totals = self.totals;
        self.list.insert_all(cells.inspect(|cell| assert_flat(*cell)), |cell, bytes, is_beside| totals.add(cell, bytes, is_beside));
    }

    /// Inserts a copy of `cell`, before all cells with the same key and sequence id.
    ///
    /// Ascending insertions are cheap: the search starts where the last one ended.
    ///
    /// # Panics
    /// If the key is not a flat key, key or value exceed 4 GiB or the tags 64 KiB; the memstore is as before.
    pub fn insert(&mut self, cell: CellRef<'_>) {
        assert_flat(cell);
        let is_beside = self.list.insert(cell);
        self.totals.add(cell, self.list.used_bytes(), is_beside);
    }
}

fn assert_flat(cell: CellRef<'_>) {
    assert!(check_key(cell.key()), "a cell whose key is not a flat key reached the memstore");
}
