//! Compaction filters, which rewrite the cells of a row in a major compaction.

use std::fmt;

use crate::cell::Cells;
use crate::schema::{FamilyDescriptor, TableDescriptor};

/// Factory of filters for the families whose rows a major compaction rewrites.
pub trait CompactionFilterFactory: fmt::Debug + Send + Sync {
    /// Returns the filter for the rows of a family; `None` if they stay unchanged.
    fn for_family(
        &self,
        table: &TableDescriptor,
        family: &FamilyDescriptor,
    ) -> Option<Box<dyn CompactionFilter>>;
}

/// Filter that rewrites rows of one family.
pub trait CompactionFilter: Send {
    /// Returns the cells that replace `cells`, which are all cells of one row in the family that
    /// survive the compaction, in order; `None` if they stay unchanged. The new cells must be of
    /// the same row and family and in cell order; otherwise they are rejected.
    ///
    /// Readers see either the old cells or the new ones. Concurrent writes sort before both.
    fn filter_row(&mut self, cells: &Cells) -> Option<Cells>;
}
