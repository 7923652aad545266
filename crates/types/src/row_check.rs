//! Which rows a table takes, for a store that asks before it writes.

use std::fmt;
use std::sync::Arc;

use crate::error::Result;
use crate::schema::TableDescriptor;

/// Knows the tables that do not take every row.
pub trait RowChecks: fmt::Debug + Send + Sync {
    /// Whether a descriptor that is to be put in force says clearly which rows its table takes.
    ///
    /// # Errors
    /// `InvalidRequest`, with what is wrong.
    fn check_table(&self, table: &TableDescriptor) -> Result<()>;

    /// What looks at the rows of a table; `None` if it takes every row, so that writes to it cost nothing more.
    fn of_table(&self, table: &TableDescriptor) -> Option<Arc<dyn RowCheck>>;
}

/// Looks at rows before cells are added to them. Deletes are not asked about: what is there can always be taken away.
pub trait RowCheck: fmt::Debug + Send + Sync {
    /// Whether the table takes a row of this key.
    ///
    /// # Errors
    /// `InvalidRequest`, with the reason and what to do. It does not quote the key.
    fn check(&self, row: &[u8]) -> Result<()>;
}
