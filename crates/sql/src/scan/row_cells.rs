//! Cells that make up one row of the answer: the newest ones of a row, or those of one time.

use std::borrow::Cow;

use halite_types::{CellRef, Row};

use crate::catalog::shape::CellPart;

/// Cells that make up one row of the answer.
pub(super) enum RowCells<'r> {
    /// The newest cells of a row.
    Newest(&'r Row),
    /// The cells of one time; `number` is 1 for the newest time.
    Version { number: u32, cells: &'r [CellRef<'r>] },
    /// One cell.
    One(CellRef<'r>),
}

impl<'r> RowCells<'r> {
    /// Returns the cell of a column.
    pub(super) fn get(&self, family: &[u8], qualifier: &[u8]) -> Option<CellRef<'r>> {
        match self {
            Self::Newest(row) => row.cell(family, qualifier),
            Self::Version { cells, .. } => cells
                .iter()
                .find(|cell| cell.family() == family && cell.qualifier() == qualifier)
                .copied(),
            Self::One(_) => None,
        }
    }

    /// Returns the number of the version, 1 for the newest.
    pub(super) fn number(&self) -> u32 {
        match self {
            Self::Newest(_) | Self::One(_) => 1,
            Self::Version { number, .. } => *number,
        }
    }

    /// Returns the newest time among the cells that are chosen.
    pub(super) fn newest(&self, is_chosen: impl Fn(&CellRef<'_>) -> bool) -> Option<i64> {
        match self {
            Self::Newest(row) => row.iter().filter(is_chosen).map(|cell| cell.timestamp()).max(),
            Self::Version { cells, .. } => cells.first().map(CellRef::timestamp),
            Self::One(cell) => Some(cell.timestamp()),
        }
    }

    /// Returns the text of a part of the cell, if there is one.
    pub(super) fn text_of(&self, part: CellPart) -> Option<Cow<'r, str>> {
        match (self, part) {
            (Self::One(cell), CellPart::Family) => Some(String::from_utf8_lossy(cell.family())),
            (Self::One(cell), CellPart::Type) => Some(match cell.cell_type() {
                Some(kind) => format!("{kind:?}").into(),
                None => format!("{}", cell.type_code()).into(),
            }),
            _ => None,
        }
    }

    /// Returns the bytes of a part of the cell; none without one.
    pub(super) fn bytes_of(&self, part: CellPart) -> &'r [u8] {
        match (self, part) {
            (Self::One(cell), CellPart::Qualifier) => cell.qualifier(),
            (Self::One(cell), CellPart::Value) => cell.value(),
            _ => &[],
        }
    }
}

/// Calls `each` with the versions of a row, the newest first.
///
/// # Errors
/// Its first error.
pub(super) fn for_each_version<E>(
    row: &Row,
    mut each: impl FnMut(&RowCells<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut cells: Vec<CellRef<'_>> = row.iter().collect();
    cells.sort_by_key(|cell| std::cmp::Reverse(cell.timestamp()));
    for (number, cells) in
        (1..).zip(cells.chunk_by(|one, other| one.timestamp() == other.timestamp()))
    {
        each(&RowCells::Version { number, cells })?;
    }
    Ok(())
}
