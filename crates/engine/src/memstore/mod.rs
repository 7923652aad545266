//! In-memory store: the sorted cells of one store that are not in a file yet.
//!
//! A [`MemTable`] only grows. The writer inserts under the region's commit lock and readers
//! traverse concurrently without a lock. After the flush, the last [`Arc`] frees all cells at once.
//! No cell is removed or changed, so a reader needs no epoch and no hazard pointer: every cell that
//! it can reach stays.
//!
//! The one subtle rule is the order of publication. First the cell is copied in full and its own
//! links are set. Then its address is stored, with Release, into the link of the cell before it,
//! from the lowest level up. Readers load links with Acquire. A reader that can see a cell
//! therefore sees all of its bytes and can continue from it on every level. Visibility of a *batch*
//! is decided elsewhere: the engine raises the read point after the last insertion, and readers
//! skip cells with a higher sequence id.

mod arena;
mod cursor;
mod row_sample;
mod skiplist;
mod stats;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_types::CellRef;
use halite_types::cell::{KEY_OVERHEAD, RowPrefix, check_key};

pub use cursor::Cursor;
use row_sample::RowSample;
use skiplist::SkipList;
use stats::MemTableStats;

/// Smallest flat key. The head of a list has it as its key; it is never compared.
const HEAD_KEY: [u8; KEY_OVERHEAD] = [0; KEY_OVERHEAD];

/// Cells in the order of [`halite_types::cell::compare_cells`], with one writer and many readers.
///
/// Two cells with the same key and sequence id are both retained, and the one inserted last sorts
/// first. If a batch writes a column twice at one timestamp, the later write wins, as in HBase.
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
    stats: MemTableStats,
    list: Arc<SkipList>,
    /// `true` once it is flushed or replaced. Set by the thread that may write.
    is_read_only: AtomicBool,
    rows: RowSample,
}

impl Drop for MemTable {
    fn drop(&mut self) {
        self.list.retain_for_cursors(self.stats.bytes());
    }
}

impl MemTable {
    /// Returns an empty memstore. It allocates chunks that double from 4 KiB up to
    /// `arena_chunk_bytes`; a cell too large for a chunk has its own.
    pub fn new(arena_chunk_bytes: usize) -> Self {
        Self::expecting(arena_chunk_bytes, RowPrefix::default())
    }

    /// Returns an empty memstore that replaces this one and expects similar rows. Searches do not
    /// compare the expected common prefix in every step.
    #[must_use]
    pub fn successor(&self, arena_chunk_bytes: usize) -> Self {
        Self::expecting(arena_chunk_bytes, self.list.row_prefix())
    }

    fn expecting(arena_chunk_bytes: usize, shared: RowPrefix) -> Self {
        Self {
            stats: MemTableStats::default(),
            list: Arc::new(SkipList::new(arena_chunk_bytes, shared)),
            is_read_only: AtomicBool::new(false),
            rows: RowSample::default(),
        }
    }

    /// Rejects all further writes. The region's commit lock keeps writers away during this call.
    pub(crate) fn set_read_only(&self) {
        self.is_read_only.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if writes are rejected.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// Returns the writer. The region's commit lock keeps writers apart; a second one waits.
    ///
    /// # Panics
    /// If the memstore is being flushed: a cell inserted now would be in no file.
    pub fn writer(&self) -> Writer<'_> {
        assert!(!self.is_read_only(), "a flushed memstore is read-only");
        Writer { stats: &self.stats, list: self.list.writer() }
    }

    /// Inserts a copy of one cell; see [`Writer::insert`].
    pub fn insert(&self, cell: CellRef<'_>) {
        self.writer().insert(cell);
    }

    /// Returns a cursor that is at no cell until its first search. It keeps the cells in memory,
    /// even longer than `self`.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(Arc::clone(&self.list))
    }

    /// Returns the bytes of memory used by the cells and their list, which trigger a flush.
    pub fn bytes(&self) -> usize {
        self.stats.bytes()
    }

    /// Returns the bytes of the keys, values and tags.
    pub fn payload_bytes(&self) -> usize {
        self.stats.payload_bytes()
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.stats.cells()
    }

    /// Returns the number of cells that were inserted next to a cell of their own row and column.
    pub fn overwrites(&self) -> usize {
        self.stats.overwrites()
    }

    /// Returns `true` if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of rows in a sample of the first cells, and the number of these cells; 0
    /// of both without cells. The sample may be from a time when there were half as many.
    pub(crate) fn sampled_rows(&self) -> (u64, u64) {
        self.rows.of(self)
    }

    /// Returns the smallest and the largest timestamp, both inclusive; `None` without cells. A
    /// marker that deletes a column or a family extends the range to 0, as in HBase's `TIMERANGE`,
    /// because it applies to all older cells.
    pub fn time_range(&self) -> Option<(i64, i64)> {
        self.stats.time_range()
    }

    /// Returns the highest sequence id; 0 without cells.
    pub fn max_sequence(&self) -> u64 {
        self.stats.max_sequence()
    }

    /// Returns `true` if any cell has tags.
    pub fn has_tags(&self) -> bool {
        self.stats.has_tags()
    }
}

/// Exclusive access for insertions into a [`MemTable`]. Hold it for a batch to acquire the lock
/// once.
pub struct Writer<'a> {
    stats: &'a MemTableStats,
    list: skiplist::Writer<'a>,
}

impl Writer<'_> {
    /// Inserts copies of `cells` in their order, with the same result as [`Writer::insert`] for
    /// each. If their keys are scattered over the memstore, this takes far less time than single
    /// insertions.
    ///
    /// # Panics
    /// As [`Writer::insert`]; the cells before the invalid one may be inserted.
    pub fn insert_all<'c>(&mut self, cells: impl Iterator<Item = CellRef<'c>>) {
        let totals = self.stats;
        self.list.insert_all(cells.inspect(|cell| assert_flat(*cell)), |cell, bytes, is_beside| {
            totals.add(cell, bytes, is_beside);
        });
    }

    /// Inserts a copy of `cell`, before all cells with the same key and sequence id.
    ///
    /// Ascending insertions are cheap: the search starts where the last one ended.
    ///
    /// # Panics
    /// If the key is not a flat key, or if the key or value exceeds 4 GiB or the tags 64 KiB. The
    /// memstore is unchanged.
    pub fn insert(&mut self, cell: CellRef<'_>) {
        assert_flat(cell);
        let is_beside = self.list.insert(cell);
        self.stats.add(cell, self.list.used_bytes(), is_beside);
    }
}

fn assert_flat(cell: CellRef<'_>) {
    assert!(check_key(cell.key()), "a cell whose key is not a flat key reached the memstore");
}
