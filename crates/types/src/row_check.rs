//! Row checks, which a store runs before it writes.

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::schema::TableDescriptor;

/// Row checks by table.
pub trait RowChecks: fmt::Debug + Send + Sync {
    /// Checks that the attributes of a new descriptor specify valid row checks.
    ///
    /// # Errors
    /// `InvalidRequest`, with what is wrong.
    fn check_table(&self, table: &TableDescriptor) -> Result<()>;

    /// Returns the row check of a table; `None` if the table accepts every row, so that writes to
    /// it have no extra cost.
    fn for_table(&self, table: &TableDescriptor) -> Option<Arc<dyn RowCheck>>;

    /// Returns the declared parts of a table's keys; `None` if it declares no key of several fields.
    fn key_parts(&self, _table: &TableDescriptor) -> Option<Arc<dyn KeyParts>> {
        None
    }
}

/// Parts of the keys of a table, for statistics of rows that begin alike.
pub trait KeyParts: fmt::Debug + Send + Sync {
    /// Returns the number of fields after which a prefix ends, in their order; at least 1.
    fn fields(&self) -> &[usize];

    /// Writes the length of the prefix of a row up to each of [`KeyParts::fields`], as far as there
    /// is room. Returns `false` if the row is no key of the declaration.
    fn prefix_lengths(&self, row: &[u8], lengths: &mut [usize]) -> bool;
}

/// Check of rows before cells are added to them. Deletes are not checked: existing cells can always
/// be deleted.
pub trait RowCheck: fmt::Debug + Send + Sync {
    /// Checks that the table accepts a row with this key.
    ///
    /// # Errors
    /// `InvalidRequest` with the reason and the fix. The message does not contain the key.
    fn check(&self, row: &[u8]) -> Result<()>;
}
