//! Regions and tables that leave between two columns.

use std::sync::Arc;

use halite_heat::{ClosedRegion, TablePart};
use halite_types::{ErrorKind, Result, TableName};

use super::store::delete_columns;
use crate::catalog::layout;
use crate::engine::Engine;
use crate::options::HeatLevel;
use crate::region::Region;

impl Engine {
    /// Keeps the load of regions that no longer serve for the next column of their table. A read
    /// that still runs in one of them is lost.
    pub(in crate::engine) fn keep_closed_heat(&self, regions: &[Arc<Region>]) {
        let is_recorded = self.shared.options.heat_level != HeatLevel::Off;
        for region in regions.iter().filter(|_| is_recorded) {
            let info = region.info();
            let part = TablePart { regions: regions.len(), key_parts: None };
            let (load, column) = region.take_last_heat(part);
            if layout::is_hidden(&info.table) || load.is_zero() {
                continue;
            }
            let (start, end) = (info.start.as_ref().into(), info.end.as_ref().into());
            let closed = ClosedRegion { start, end, load, column };
            let mut recorded = self.heat.recorded.lock();
            recorded.closed.entry(info.table.clone()).or_default().push(closed);
        }
    }

    /// Takes the load of the regions of a table that have been closed since its last column.
    pub(super) fn take_closed(&self, table: &TableName) -> Vec<ClosedRegion> {
        self.heat.recorded.lock().closed.remove(table).unwrap_or_default()
    }

    /// Deletes the stored columns of a table that is about to be dropped, before its entry leaves
    /// the manifest: a table that is created with its name after a crash has none of them. A
    /// failure leaves them for [`Engine::forget_heat`], and prevents no drop.
    pub(in crate::engine) fn delete_stored_heat(&self, table: &TableName) {
        let deleted = match self.find_table(&layout::heat_table()) {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => Ok(()),
            found => found.and_then(|stored| delete_columns(&stored, table)),
        };
        self.note_stored(deleted);
    }

    fn note_stored(&self, stored: Result<()>) {
        if let Err(error) = stored {
            self.heat.recorded.lock().failures.1 = Some(error);
        }
    }

    /// Forgets the load of a table that has been dropped. What was stored of it since
    /// [`Engine::delete_stored_heat`] is deleted with the next column.
    pub(in crate::engine) fn forget_heat(&self, table: &TableName) {
        let log = &self.shared.operation_log;
        let forgotten = log.forget(&self.shared.env, &table.to_string());
        let mut recorded = self.heat.recorded.lock();
        recorded.tables.remove(table);
        recorded.closed.remove(table);
        recorded.dropped.insert(table.clone());
        if let Err(error) = forgotten {
            recorded.failures.2 = Some(error);
        }
    }
}
