//! What each filter implements, and its answers.

use halite_types::cell::CellRef;

/// Action for a cell and the next position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnCode {
    /// Include the cell, go to the next cell.
    Include,
    /// Include the cell, go to the next column.
    IncludeAndNextCol,
    /// Include the cell, skip the rest of the family in this row.
    IncludeAndSeekNextRow,
    /// Skip the cell, go to the next cell.
    Skip,
    /// Skip the cell, go to the next column.
    NextCol,
    /// Skip the cell and the rest of the family in this row.
    NextRow,
    /// Skip the cell, go to [`FilterState::next_cell_hint`](super::FilterState::next_cell_hint).
    SeekNextUsingHint,
}

impl ReturnCode {
    /// Returns `true` if the cell is included.
    pub fn includes(self) -> bool {
        matches!(self, Self::Include | Self::IncludeAndNextCol | Self::IncludeAndSeekNextRow)
    }
}

/// Value as a filter returns it: a filter can only remove it or replace it by its length.
#[derive(Clone, Copy)]
pub(super) enum ValueForm {
    /// As stored, with its length in bytes.
    Stored(usize),
    Empty,
    Length(u32),
}

impl ValueForm {
    pub(super) fn len(self) -> u32 {
        match self {
            Self::Stored(length) => u32::try_from(length).unwrap_or(u32::MAX),
            Self::Empty => 0,
            Self::Length(_) => 4,
        }
    }
}

/// Evaluator of one filter; the defaults are those of HBase's `FilterBase`.
pub(super) trait Evaluate: Send {
    fn set_reversed(&mut self, _reversed: bool) {}
    fn set_seed(&mut self, _seed: u64) {}
    fn reset(&mut self) {}
    fn filter_all_remaining(&self) -> bool {
        false
    }
    fn filter_row_key(&mut self, _row: &[u8]) -> bool {
        self.filter_all_remaining()
    }
    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode;
    fn next_cell_hint(&mut self, _cell: CellRef<'_>) -> Option<Vec<u8>> {
        None
    }
    /// Returns `true` if an "all" list continues to call this filter after another one excluded the
    /// cell (HBase: `HintingFilter`).
    fn is_hinting(&self) -> bool {
        false
    }
    fn transforms(&self) -> bool {
        false
    }
    fn transform(&self, value: ValueForm) -> ValueForm {
        value
    }
    fn has_filter_row(&self) -> bool {
        false
    }
    fn drops_cells(&self) -> bool {
        false
    }
    fn keep_cell(&mut self, _cell: CellRef<'_>) -> bool {
        true
    }
    fn filter_row(&mut self) -> bool {
        false
    }
    /// Returns `true` if the cells of a family decide on a row (HBase: `isFamilyEssential`).
    fn is_family_essential(&self, _family: &[u8]) -> bool {
        true
    }
}
