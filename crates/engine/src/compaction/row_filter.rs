//! Buffer for rows of a compaction, which are held until they are complete, so that a filter can
//! rewrite them.

use halite_types::cell::compare_cells;
use halite_types::{CellRef, Cells, CellsBuilder, CompactionFilter, Result};

/// Maximum buffered bytes of one row; a larger row is passed through unchanged.
const MAX_BUFFERED_ROW_BYTES: usize = 16 << 20;

/// Row buffer that receives the cells of a compaction in order and passes them on row by row.
pub(super) struct RowBuffer {
    filter: Box<dyn CompactionFilter>,
    row: Vec<u8>,
    /// Cells of the row so far, and their sequence ids.
    held: CellsBuilder,
    sequences: Vec<u64>,
    /// True if the row is too large: its cells are passed on as they arrive.
    is_open: bool,
}

impl RowBuffer {
    pub(super) fn new(filter: Box<dyn CompactionFilter>) -> Self {
        Self {
            filter,
            row: Vec::new(),
            held: CellsBuilder::default(),
            sequences: Vec::new(),
            is_open: false,
        }
    }

    /// Takes the next cell.
    ///
    /// # Errors
    /// The error of `each`.
    pub(super) fn take(
        &mut self,
        cell: CellRef<'_>,
        each: &mut dyn FnMut(CellRef<'_>) -> Result<()>,
    ) -> Result<()> {
        if cell.row() != self.row {
            self.finish(each)?;
            self.row.clear();
            self.row.extend_from_slice(cell.row());
            self.is_open = false;
        }
        if self.is_open {
            return each(cell);
        }
        self.held.push(cell);
        self.sequences.push(cell.sequence_id());
        if self.held.bytes().len() > MAX_BUFFERED_ROW_BYTES {
            self.is_open = true;
            let (cells, sequences) = self.take_held();
            return hand_on(&cells, &sequences, each);
        }
        Ok(())
    }

    /// Passes on the last row.
    ///
    /// # Errors
    /// The error of `each`.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let (cells, sequences) = self.take_held();
        match self.filter.filter_row(&cells).filter(|new| self.fits(new, &cells)) {
            Some(new) => {
                // No cell of the row is newer than its rewritten form.
                let newest = sequences.iter().copied().max().unwrap_or(0);
                new.iter().try_for_each(|cell| each(cell.with_sequence_id(newest)))
            }
            None => hand_on(&cells, &sequences, each),
        }
    }

    fn take_held(&mut self) -> (Cells, Vec<u64>) {
        (std::mem::take(&mut self.held).finish(), std::mem::take(&mut self.sequences))
    }

    /// Returns `true` if cells may replace `old`: they have the same row and family, and are in
    /// strictly ascending order.
    fn fits(&self, new: &Cells, old: &Cells) -> bool {
        let family = old.first().map(|cell| cell.family());
        let in_order =
            || new.iter().zip(new.iter().skip(1)).all(|(a, b)| compare_cells(&a, &b).is_lt());
        new.iter().all(|cell| cell.row() == self.row && Some(cell.family()) == family) && in_order()
    }
}

fn hand_on(
    cells: &Cells,
    sequences: &[u64],
    each: &mut dyn FnMut(CellRef<'_>) -> Result<()>,
) -> Result<()> {
    assert_eq!(cells.len(), sequences.len(), "each cell has its sequence id");
    cells
        .iter()
        .zip(sequences)
        .try_for_each(|(cell, &sequence)| each(cell.with_sequence_id(sequence)))
}

#[cfg(test)]
mod tests {
    use halite_types::cell::{CellParts, CellType};

    use super::*;

    fn cells(of: &[(&str, &str, i64)]) -> Cells {
        let mut out = CellsBuilder::default();
        for &(row, qualifier, timestamp) in of {
            let (row, qualifier) = (row.as_bytes(), qualifier.as_bytes());
            out.push_parts(CellParts {
                row,
                family: b"f",
                qualifier,
                timestamp,
                cell_type: CellType::Put,
                value: b"v",
                tags: b"",
            });
        }
        out.finish()
    }

    /// Returns the same result for every row.
    struct ConstantFilter(Option<Cells>);

    impl CompactionFilter for ConstantFilter {
        fn filter_row(&mut self, _: &Cells) -> Option<Cells> {
            self.0.clone()
        }
    }

    fn filter_cells(says: Option<Cells>, given: &Cells) -> Vec<(Vec<u8>, Vec<u8>, u64)> {
        let mut out = Vec::new();
        let mut each = |cell: CellRef<'_>| {
            out.push((cell.row().to_vec(), cell.qualifier().to_vec(), cell.sequence_id()));
            Ok(())
        };
        let mut gate = RowBuffer::new(Box::new(ConstantFilter(says)));
        for (at, cell) in given.iter().enumerate() {
            gate.take(cell.with_sequence_id(at as u64 + 1), &mut each).unwrap();
        }
        gate.finish(&mut each).unwrap();
        out
    }

    #[test]
    fn replacement_row_takes_the_newest_sequence_id() {
        let given = cells(&[("a", "p", 3), ("a", "q", 3), ("a", "r", 3)]);
        assert_eq!(
            filter_cells(Some(cells(&[("a", "z", 1)])), &given),
            [(b"a".to_vec(), b"z".to_vec(), 3)]
        );
    }

    #[test]
    fn unreplaced_and_invalidly_replaced_rows_are_unchanged() {
        let given = cells(&[("a", "p", 3), ("a", "q", 3), ("b", "p", 3)]);
        let same: Vec<_> = [("a", "p", 1), ("a", "q", 2), ("b", "p", 3)]
            .map(|(row, of, at)| (row.as_bytes().to_vec(), of.as_bytes().to_vec(), at))
            .into();
        assert_eq!(filter_cells(None, &given), same);
        // Another row, and cells out of order.
        assert_eq!(filter_cells(Some(cells(&[("c", "z", 1)])), &given), same);
        assert_eq!(
            filter_cells(Some(cells(&[("a", "z", 1), ("a", "y", 1)])), &given)[..2],
            same[..2]
        );
    }
}
