//! How many cells the rows of a memstore have, from its first ones.
//!
//! A status of very many regions asks each of their memstores every few seconds, and most have not
//! changed since: the sample is taken again only once the cells have doubled.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::MemTable;

/// Cells of a sample.
const MAX_CELLS: u64 = 64;
/// Bits of the number of rows, and of the number of cells, of a sample.
const COUNT_BITS: u32 = 8;

/// The last sample: the cells that the memstore had, and the cells and rows of the sample.
#[derive(Default)]
pub(super) struct RowSample(AtomicU64);

impl RowSample {
    /// Returns the rows and the cells of a sample.
    pub(super) fn of(&self, memstore: &MemTable) -> (u64, u64) {
        let len = memstore.len() as u64;
        if len == 0 {
            return (0, 0);
        }
        let count = |sample: u64| sample & ((1 << COUNT_BITS) - 1);
        let known = self.0.load(Relaxed);
        let (known_len, cells, rows) =
            (known >> (2 * COUNT_BITS), count(known >> COUNT_BITS), count(known));
        if cells > 0 && (len == known_len || cells == MAX_CELLS && len < 2 * known_len) {
            return (rows, cells);
        }
        let (rows, cells) = first_rows(memstore);
        self.0.store(len << (2 * COUNT_BITS) | cells << COUNT_BITS | rows, Relaxed);
        (rows, cells)
    }
}

/// Returns the rows of the first cells, and the number of these cells.
fn first_rows(memstore: &MemTable) -> (u64, u64) {
    let mut cursor = memstore.cursor();
    cursor.seek_to_first();
    let (mut rows, mut cells) = (0, 0);
    let mut last: Vec<u8> = Vec::new();
    while let Some(cell) = cursor.peek().filter(|_| cells < MAX_CELLS) {
        if rows == 0 || cell.row() != &last[..] {
            rows += 1;
            last.clear();
            last.extend_from_slice(cell.row());
        }
        cells += 1;
        cursor.next();
    }
    (rows, cells)
}

#[cfg(test)]
mod tests {
    use halite_types::CellRef;
    use halite_types::cell::{CellType, make_key};

    use super::*;

    fn insert(memstore: &MemTable, row: u64, cells: i64) {
        for cell in 0..cells {
            let key = make_key(&row.to_be_bytes(), b"f", &[0], cell, CellType::Put.code());
            memstore.insert(CellRef::new(&key, b"", b"", 1));
        }
    }

    #[test]
    fn sample_is_taken_again_when_cells_have_doubled() {
        let memstore = MemTable::new(1 << 20);
        assert_eq!(memstore.sampled_rows(), (0, 0));
        insert(&memstore, 500, 1);
        assert_eq!(memstore.sampled_rows(), (1, 1));
        insert(&memstore, 501, 1);
        assert_eq!(memstore.sampled_rows(), (2, 2), "few cells are counted each time");
        insert(&memstore, 502, 98);
        assert_eq!(memstore.sampled_rows(), (3, 64));
        (0..90).for_each(|row| insert(&memstore, row, 1));
        assert_eq!(memstore.sampled_rows(), (3, 64));
        (90..100).for_each(|row| insert(&memstore, row, 1));
        assert_eq!(memstore.sampled_rows(), (64, 64));
    }
}
