//! Tries of rows that change between reading and writing.

use std::time::Duration;

use super::target::WriteTarget;
use crate::error::{SqlError, SqlState};

/// Times that a row is tried to be written before the statement fails.
pub(super) const MAX_TRIES: u32 = 16;
/// Waits before a row is tried again, longer each time.
pub(super) async fn pause(attempt: u32) {
    if attempt > 0 {
        let spread = u64::from(std::process::id()) + u64::from(attempt) * 7;
        let milliseconds = u64::from(attempt) + spread % 3;
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// Returns the error of rows that changed each time.
pub(super) fn contention(target: &WriteTarget, rows: usize) -> SqlError {
    let text = format!(
        "{rows} row(s) of table {} changed between reading and writing, {MAX_TRIES} times; try \
         again, or count in a COUNTER",
        target.table.name()
    );
    SqlError::new(SqlState::Contention, text)
}
