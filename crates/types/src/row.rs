//! A row as it is read: its cells in comparator order.

use crate::cell::{CellIter, CellRef, Cells};

/// The cells of one row, newest version of a column first; empty if the row does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    cells: Cells,
    partial: bool,
}

impl Row {
    /// A row of cells that are in comparator order.
    pub fn new(cells: Cells) -> Self {
        Self { cells, partial: false }
    }

    /// A piece of a row whose next cells come in the next piece.
    pub fn piece(cells: Cells) -> Self {
        Self { cells, partial: true }
    }

    /// The row key; empty for an empty row.
    pub fn key(&self) -> &[u8] {
        self.cells.first().map_or(&[], |cell| cell.row())
    }

    /// Whether more of this row may follow in the next piece (only in scans with a batch limit).
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The cells.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Its cells, without the row around them.
    pub fn into_cells(self) -> Cells {
        self.cells
    }

    /// The cells in order.
    pub fn iter(&self) -> CellIter<'_> {
        self.cells.iter()
    }

    /// The newest returned cell of a column.
    pub fn cell(&self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Option<CellRef<'_>> {
        let (family, qualifier) = (family.as_ref(), qualifier.as_ref());
        self.iter().find(|cell| cell.family() == family && cell.qualifier() == qualifier)
    }

    /// The newest returned value of a column.
    pub fn value(&self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.cell(family, qualifier).map(|cell| cell.value())
    }
}

impl<'a> IntoIterator for &'a Row {
    type Item = CellRef<'a>;
    type IntoIter = CellIter<'a>;

    fn into_iter(self) -> CellIter<'a> {
        self.iter()
    }
}
