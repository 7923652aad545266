//! What a statement wrote whose caller left it before its end, as by a cancel.

use std::sync::{Arc, Mutex, PoisonError};

use super::context::SqlContext;
use super::statement::{RowsWritten, StatementContext};

/// Rows of the last statement of a session, if it was left.
#[derive(Debug, Default)]
pub(super) struct Left(Mutex<RowsWritten>);

impl Left {
    /// Remembers the rows of a statement.
    pub(super) fn set(&self, rows: RowsWritten) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = rows;
    }

    fn take(&self) -> RowsWritten {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SqlContext {
    /// Returns, once, what to add to the text of an error if the last statement was left: how many
    /// rows it wrote for certain, and of how many that is unknown. A statement is left where what
    /// runs it is dropped before its end, as by a cancel, so that no error of its own says so.
    /// Empty if it wrote nothing, or came to its end.
    pub fn take_rows_left(&self) -> String {
        self.left.take().text()
    }
}

/// Run of a statement that writes. Its rows are counted at its end, and where it is left.
pub(super) struct WriteRun<'s> {
    sql: &'s SqlContext,
    statement: Arc<StatementContext>,
    /// `false` while it runs.
    has_ended: bool,
}

impl<'s> WriteRun<'s> {
    pub(super) fn new(sql: &'s SqlContext, statement: &Arc<StatementContext>) -> Self {
        Self { sql, statement: Arc::clone(statement), has_ended: false }
    }

    pub(super) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for WriteRun<'_> {
    fn drop(&mut self) {
        let rows = self.statement.rows_written();
        self.sql.block.add(rows.certain);
        if !self.has_ended {
            self.sql.left.set(rows);
        }
    }
}
