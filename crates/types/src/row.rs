//! Row returned by a read: its cells in comparator order.

use crate::cell::{CellIter, CellRef, Cells};
use crate::error::{Error, Result};
use crate::key::to_string_binary;

/// Cells of one row, newest version of a column first; empty if the row does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    cells: Cells,
    partial: bool,
}

impl Row {
    /// Creates a row from cells in comparator order.
    pub fn new(cells: Cells) -> Self {
        Self { cells, partial: false }
    }

    /// Creates a partial row whose next cells follow in the next part.
    pub fn partial(cells: Cells) -> Self {
        Self { cells, partial: true }
    }

    /// Returns the row key; empty for an empty row.
    pub fn key(&self) -> &[u8] {
        self.cells.first().map_or(&[], |cell| cell.row())
    }

    /// Returns `true` if the next part may continue this row (only in scans with a batch limit).
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Returns `true` if there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns the cells.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Converts into the cells.
    pub fn into_cells(self) -> Cells {
        self.cells
    }

    /// Returns the cells in order.
    pub fn iter(&self) -> CellIter<'_> {
        self.cells.iter()
    }

    /// Returns the newest returned cell of a column.
    pub fn cell(
        &self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
    ) -> Option<CellRef<'_>> {
        let (family, qualifier) = (family.as_ref(), qualifier.as_ref());
        self.iter().find(|cell| cell.family() == family && cell.qualifier() == qualifier)
    }

    /// Returns the newest returned value of a column.
    pub fn value(&self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.cell(family, qualifier).map(|cell| cell.value())
    }

    /// Returns the newest returned value of a column as text, in which invalid UTF-8 is replaced.
    pub fn text(&self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Option<String> {
        let value = self.value(family, qualifier)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Returns the newest returned value of a column of `N` bytes, as numbers have.
    ///
    /// # Errors
    /// `Corrupt` for a value of another length.
    pub fn array<const N: usize>(
        &self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
    ) -> Result<Option<[u8; N]>> {
        let Some(cell) = self.cell(family, qualifier) else { return Ok(None) };
        cell.value().try_into().map(Some).map_err(|_| {
            Error::corrupt(format!(
                "row {}, column {}:{}: the value has {} bytes instead of {N}",
                to_string_binary(cell.row()),
                to_string_binary(cell.family()),
                to_string_binary(cell.qualifier()),
                cell.value().len()
            ))
        })
    }
}

impl<'a> IntoIterator for &'a Row {
    type Item = CellRef<'a>;
    type IntoIter = CellIter<'a>;

    fn into_iter(self) -> CellIter<'a> {
        self.iter()
    }
}
