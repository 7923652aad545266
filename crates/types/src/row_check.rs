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
