//! What a store may be told to write in another form when all cells of a row come together.

use std::fmt;

use crate::cell::Cells;
use crate::schema::{FamilyDescriptor, TableDescriptor};

/// Knows the families whose rows a major compaction writes in another form.
pub trait Rewrite: fmt::Debug + Send + Sync {
    /// What rewrites the rows of a family; `None` if they stay as they are.
    fn of_family(&self, table: &TableDescriptor, family: &FamilyDescriptor) -> Option<Box<dyn RewriteRow>>;
}

/// Rewrites rows of one family.
pub trait RewriteRow: Send {
    /// The cells that stand in the place of `cells`, which are all cells of one row in the family that survive the compaction, in their
    /// order; `None` if they stay. The new ones are of the same row and family and in the order of cells, or they are not taken.
    ///
    /// Readers see either the old cells or the new ones. Cells that are written meanwhile lie in front of both.
    fn rewrite(&mut self, cells: &Cells) -> Option<Cells>;
}
