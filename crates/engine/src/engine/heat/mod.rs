//! Heat map of the tables: every 10 seconds the load of all regions becomes a column of their
//! table's history.
//!
//! Histories are in memory, and the columns of tables with load in the hidden table `hbase:halite_heat`
//! (`store.rs`), from which they return at the next open.

pub(super) mod state;
mod store;
#[cfg(test)]
mod tests;

use halite_heat::{
    ActivityColumn, BASE_MS, Column, ColumnLimits, Finding, HeatMap, HeatQuery, History, HotRow,
    RegionActivity, SaltLength, diagnose,
};
use halite_types::{Error, ErrorKind, Result, TableName};

use self::state::{ClosedColumns, Recorded, TableHeat};
use super::Engine;
use crate::catalog::layout;
use crate::options::HeatLevel;

/// Columns shorter than this are not closed: the next one takes their load.
const MIN_COLUMN_MS: i64 = BASE_MS / 2;

impl Engine {
    /// Closes the current column of all tables if it is time. The engine's own thread calls it; for
    /// environments without threads. Returns the milliseconds until the next column ends.
    pub fn record_heat(&self) -> u64 {
        if self.shared.options.heat_level == HeatLevel::Off {
            return u64::try_from(BASE_MS).unwrap_or(u64::MAX);
        }
        if !self.heat.recorded.lock().is_restored {
            self.restore_heat();
        }
        let now = self.shared.env.clock.now_ms();
        let closed = self.close_columns(now);
        if !closed.is_empty() {
            let failure = self.store_columns(&closed, now).err();
            self.heat.recorded.lock().failure = failure;
        }
        u64::try_from(BASE_MS - now.rem_euclid(BASE_MS)).unwrap_or(1).max(1)
    }

    fn close_columns(&self, now: i64) -> ClosedColumns {
        let end = now - now.rem_euclid(BASE_MS);
        let mut recorded = self.heat.recorded.lock();
        let start = recorded.last_ms;
        // Before the first column, and after the clock was set back.
        if start == 0 || now < start - MIN_COLUMN_MS {
            recorded.last_ms = end;
        }
        if end - start < MIN_COLUMN_MS || start == 0 {
            return Vec::new();
        }
        recorded.last_ms = end;
        drop(recorded);
        let mut loaded = Vec::new();
        for (name, table) in self.tables.load().iter().filter(|(name, _)| !layout::is_hidden(name))
        {
            let regions = table.regions();
            let count = regions.len();
            let regions: Vec<RegionActivity> = regions
                .iter()
                .map(|region| {
                    let (load, column) = region.take_heat(count);
                    RegionActivity { start: region.info().start.as_ref().into(), load, column }
                })
                .collect();
            if regions.iter().any(|region| !region.load.is_zero()) {
                loaded.push((name.clone(), regions));
            }
        }
        let limits = ColumnLimits::of_tables(loaded.len());
        let columns: Vec<(TableName, Column, ActivityColumn)> = loaded
            .into_iter()
            .map(|(name, mut regions)| {
                let activity = ActivityColumn::new(start, end, &regions, limits);
                let regions: Vec<halite_heat::Region> =
                    regions.iter_mut().map(RegionActivity::take_region).collect();
                (name, Column::of_regions(start, end, &regions), activity)
            })
            .collect();
        let mut recorded = self.heat.recorded.lock();
        let tables = self.tables.load();
        recorded.tables.retain(|name, _| tables.contains_key(name));
        let times = Column::of_regions(start, end, &[]);
        let mut closed = vec![(store::times_name(), recorded.times.push(&times))];
        for (name, column, activity) in columns {
            let heat = recorded.tables.entry(name.clone()).or_default();
            heat.activity.push(activity);
            closed.push((name, heat.history.push(&column)));
        }
        closed
    }

    /// Draws the load of a table.
    ///
    /// # Errors
    /// `NoSuchTable`; `InvalidRequest` if nothing is recorded.
    pub fn heat_map(&self, table: &TableName, query: &HeatQuery) -> Result<HeatMap> {
        self.check_heat(table)?;
        let recorded = self.heat.recorded.lock();
        let empty = History::default();
        let history = recorded.tables.get(table).map_or(&empty, |heat| &heat.history);
        Ok(HeatMap::new(history, &recorded.times, query))
    }

    /// Returns the most frequent rows of a table in a span of time of the last ten minutes, in
    /// falling order, and the number of its operations in that time. Times are in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn hot_rows(
        &self,
        table: &TableName,
        (from_ms, to_ms): (i64, i64),
        limit: usize,
    ) -> Result<(Vec<HotRow>, u64)> {
        self.check_heat(table)?;
        let recorded = self.heat.recorded.lock();
        let heat = recorded.tables.get(table);
        Ok(heat.map(|heat| heat.activity.hot_rows(from_ms, to_ms, limit)).unwrap_or_default())
    }

    /// Names the shape of the load of a table in a span of time of the last ten minutes, in
    /// milliseconds since 1970. `salt_length` returns the length of the declared salt of a row.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn diagnose_load(
        &self,
        table: &TableName,
        (from_ms, to_ms): (i64, i64),
        salt_length: SaltLength<'_>,
    ) -> Result<Finding> {
        self.check_heat(table)?;
        let recorded = self.heat.recorded.lock();
        let nothing = TableHeat::default();
        let heat = recorded.tables.get(table).unwrap_or(&nothing);
        let columns = heat.history.columns(0, from_ms, to_ms);
        Ok(diagnose(&heat.activity, &columns, (from_ms, to_ms), salt_length))
    }

    fn check_heat(&self, table: &TableName) -> Result<()> {
        self.descriptor(table)?;
        if self.shared.options.heat_level == HeatLevel::Off {
            return Err(Error::new(
                ErrorKind::InvalidRequest,
                "the load is not recorded; open the store with heat_level Region or Sub",
            ));
        }
        Ok(())
    }

    /// Returns the last failure to store columns in `hbase:halite_heat` or to read them; the picture of
    /// the running process does not depend on it.
    pub fn heat_failure(&self) -> Option<Error> {
        self.heat.recorded.lock().failure.clone()
    }

    /// Brings back the histories of earlier processes.
    fn restore_heat(&self) {
        let tables = self.tables.load();
        let mut recorded = Recorded { is_restored: true, ..Recorded::default() };
        let restored = self.stored_columns(|name, layer, column| {
            if *name == store::times_name() {
                recorded.times.restore(layer, column);
            } else if tables.contains_key(name) {
                recorded.tables.entry(name.clone()).or_default().history.restore(layer, column);
            }
        });
        // The history is not worth a store that does not work.
        recorded.failure = restored.err();
        recorded.times.finish_restore();
        recorded.tables.values_mut().for_each(|heat| heat.history.finish_restore());
        *self.heat.recorded.lock() = recorded;
    }
}
