//! Guard of the rows that a statement examines.

use std::sync::atomic::Ordering;

use super::spec::ScanSpec;
use crate::error::{Result, SqlError, SqlState};
use crate::explain::Sorted;
use crate::session::statement::StatementContext;

impl StatementContext {
    /// Counts rows that were examined for a scan, and ends the statement at its guard.
    ///
    /// # Errors
    /// `LimitExceeded`, with what would narrow the scan.
    pub(super) fn count(&self, rows: u64, spec: &ScanSpec) -> Result<()> {
        self.count_examined(rows, || narrower(spec))
    }

    /// Counts rows that were examined, and ends the statement at its guard. `narrower` tells what
    /// would have it examine fewer.
    ///
    /// # Errors
    /// `LimitExceeded`.
    pub(crate) fn count_examined(
        &self,
        rows: u64,
        narrower: impl FnOnce() -> String,
    ) -> Result<()> {
        let sum = self.examined.fetch_add(rows, Ordering::Relaxed) + rows;
        let most = match self.settings.max_rows_examined {
            0 => return Ok(()),
            most => most,
        };
        let sum = sum.max(self.meter.examined());
        if sum <= most {
            return Ok(());
        }
        let returned = self.returned.load(Ordering::Relaxed);
        Err(SqlError::new(
            SqlState::LimitExceeded,
            format!(
                "stopped after {sum} rows were examined, {returned} returned, and \
                 halite.max_rows_examined is {most}: {}; SET halite.max_rows_examined = 0 permits \
                 all",
                narrower()
            ),
        ))
    }
}

/// Returns why a scan reads many rows, and what would have it read fewer.
fn narrower(spec: &ScanSpec) -> String {
    let table = spec.target.table.name();
    if !spec.plan.is_full_scan() {
        return format!("EXPLAIN shows which condition would narrow the key of table {table}");
    }
    let what = format!("nothing in front of the key of table {table} is known (Q-FULL)");
    match spec.serving_key(&Sorted::default()) {
        Some(key) => format!("{what}, and {key} would serve the statement"),
        None => format!("{what}; a condition on its first field would narrow it"),
    }
}
