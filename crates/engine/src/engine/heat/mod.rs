//! Heat map of the tables: every 10 seconds the load of all regions becomes a column of their
//! table's history.
//!
//! Histories are in memory, and the columns of tables with load in the hidden table `hbase:halite_heat`
//! (`store.rs`), from which they return at the next open. Sampled operations are written to the log
//! with them (`operations.rs`). Regions that are closed leave their load to the next column, and
//! dropped tables their names (`leaving.rs`).

mod leaving;
mod operations;
pub(super) mod state;
mod store;
mod stored_events;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use halite_heat::{
    ActivityColumn, BASE_MS, Column, ColumnEnd, ColumnLimits, ColumnTime, Finding, HeatMap,
    HeatQuery, History, HotRow, PrefixLevel, RegionActivity, Salt, TablePart, WeightedKey,
    add_closed, diagnose,
};
use halite_types::{Error, ErrorKind, KeyParts, Result, TableDescriptor, TableName};

use self::state::{ClosedColumns, Recorded, TableHeat, TableKeyParts};
use super::{Engine, Table};
use crate::catalog::layout;
use crate::options::HeatLevel;

/// Time between two writes of a log of all operations.
const LOG_PERIOD_MS: u64 = 500;

/// Column of a table, with what the table did in its time.
struct TableColumn {
    name: TableName,
    /// Table that had the load: another one may have its name by now.
    table: Arc<Table>,
    column: Column,
    activity: ActivityColumn,
}

impl Engine {
    /// Closes the current column of all tables if it is time. The engine's own thread calls it; for
    /// environments without threads. Returns the milliseconds until it is to
    /// be called again, at the latest when the next column ends.
    pub fn record_heat(&self) -> u64 {
        if self.shared.options.heat_level == HeatLevel::Off {
            return u64::try_from(BASE_MS).unwrap_or(u64::MAX);
        }
        if !self.heat.recorded.lock().is_restored {
            self.restore_heat();
            self.restore_events();
        }
        let closed = self.close_columns(self.shared.env.clock.now_ms());
        if !closed.columns.is_empty() {
            self.store_closed(closed);
        }
        self.store_new_events();
        self.write_operations();
        let now = self.shared.env.clock.now_ms();
        let left = u64::try_from(BASE_MS - now.rem_euclid(BASE_MS)).unwrap_or(1).max(1);
        // The buffer of a log of all operations has room for a second of them, not for ten.
        if self.shared.operation_log.is_busy() { left.min(LOG_PERIOD_MS) } else { left }
    }

    /// Stores the columns that are not complete yet, before the store is closed. A failure, and a
    /// close before the hidden table exists, lose them and those that wait from the next process's
    /// picture, and nothing else.
    pub(super) fn store_open_heat(&self) {
        if self.shared.options.heat_level == HeatLevel::Off {
            return;
        }
        self.write_operations();
        let mut recorded = self.heat.recorded.lock();
        if !recorded.is_restored {
            return;
        }
        let dropped = std::mem::take(&mut recorded.dropped);
        let times = (store::times_name(), recorded.times.open_columns());
        let tables = recorded.tables.iter();
        let tables = tables.map(|(name, heat)| (name.clone(), heat.history.open_columns()));
        let columns = std::iter::once(times).chain(tables).collect();
        drop(recorded);
        self.store_closed(ClosedColumns { columns, dropped });
        self.store_new_events();
    }

    /// Stores columns after those that wait, and notes a failure, after which they wait for the
    /// next ones.
    fn store_closed(&self, closed: ClosedColumns) {
        let mut waiting = std::mem::take(&mut self.heat.recorded.lock().unstored);
        waiting.push_back(closed);
        let now = self.shared.env.clock.now_ms();
        let stored = self.heat_table().and_then(|table| {
            while let (Some(table), Some(closed)) = (&table, waiting.front()) {
                store::store_columns(table, closed, now)?;
                waiting.pop_front();
            }
            Ok(())
        });
        let mut recorded = self.heat.recorded.lock();
        recorded.keep_unstored(waiting);
        recorded.failures.1 = stored.err();
    }

    fn close_columns(&self, now: i64) -> ClosedColumns {
        let ColumnEnd::Closed(time) = self.heat.recorded.lock().clock.close(now) else {
            return ClosedColumns::default();
        };
        let mut loaded = Vec::new();
        let tables = self.tables.load();
        for (name, table) in tables.iter().filter(|(name, _)| !layout::is_hidden(name)) {
            let regions = table.regions();
            let key_parts = self.key_parts(name, &table.descriptor());
            let part = TablePart { regions: regions.len(), key_parts: key_parts.as_ref() };
            let mut regions: Vec<RegionActivity> = regions
                .iter()
                .map(|region| {
                    let (load, column) = region.take_heat(part);
                    RegionActivity { start: region.info().start.as_ref().into(), load, column }
                })
                .collect();
            add_closed(&mut regions, self.take_closed(name));
            if regions.iter().any(|region| !region.load.is_zero()) {
                loaded.push((name, table, regions));
            }
        }
        let limits = ColumnLimits::of_tables(loaded.len());
        let columns: Vec<TableColumn> = loaded
            .into_iter()
            .map(|(name, table, mut regions)| {
                let activity = ActivityColumn::new(time, &regions, limits);
                let regions: Vec<halite_heat::Region> =
                    regions.iter_mut().map(RegionActivity::take_region).collect();
                let column = Column::of_regions(time, &regions);
                TableColumn { name: name.clone(), table: Arc::clone(table), column, activity }
            })
            .collect();
        self.add_columns(time, columns)
    }

    /// Returns the declared parts of the keys of a table, read again only after a change of the
    /// table. A table without load yet has none.
    fn key_parts(
        &self,
        name: &TableName,
        descriptor: &Arc<TableDescriptor>,
    ) -> Option<Arc<dyn KeyParts>> {
        let checks = self.shared.options.row_checks.as_ref()?;
        let known = self.with_heat(name, |heat| Some(heat.key_parts.clone()))?;
        if let Some(known) = known.filter(|known| known.is_of(descriptor)) {
            return known.parts;
        }
        let parts = checks.key_parts(descriptor);
        if let Some(heat) = self.heat.recorded.lock().tables.get_mut(name) {
            heat.key_parts = Some(TableKeyParts::new(descriptor, parts.clone()));
        }
        parts
    }

    /// Adds the columns of one time to the histories. Open columns of long layers are stored when a
    /// minute ends, so that a process that is killed loses no more than that.
    fn add_columns(&self, time: ColumnTime, columns: Vec<TableColumn>) -> ClosedColumns {
        let mut recorded = self.heat.recorded.lock();
        let tables = self.tables.load();
        let dropped = std::mem::take(&mut recorded.dropped);
        let with_open = |mut closed: Vec<_>, history: &History| {
            let is_minute = closed.len() > 1;
            closed
                .extend(history.open_columns().into_iter().filter(|(at, _)| is_minute || *at == 1));
            closed
        };
        let closed = recorded.times.push(&Column::of_time(time));
        let mut all = vec![(store::times_name(), with_open(closed, &recorded.times))];
        for TableColumn { name, table, column, activity } in columns {
            // The lock of what is recorded orders this before or after a drop of the table.
            if !tables.get(&name).is_some_and(|current| Arc::ptr_eq(current, &table)) {
                continue;
            }
            let heat = recorded.tables.entry(name.clone()).or_default();
            heat.activity.push(activity);
            let closed = heat.history.push(&column);
            all.push((name, with_open(closed, &heat.history)));
        }
        recorded.limit_memory();
        ClosedColumns { columns: all, dropped }
    }

    /// Draws the load of a table.
    ///
    /// # Errors
    /// `NoSuchTable`; `Unsupported` if nothing is recorded.
    pub fn heat_map(&self, table: &TableName, query: &HeatQuery) -> Result<HeatMap> {
        let maps = self.heat_maps(table, std::slice::from_ref(query))?;
        Ok(maps.into_iter().next().unwrap_or_default())
    }

    /// Draws several parts of the load of a table as of one moment: parts of equal times have equal
    /// columns.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn heat_maps(&self, table: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        self.check_heat(table)?;
        // Copies share the packed columns, so that the recorder does not wait for the drawing.
        let (history, times) = {
            let recorded = self.heat.recorded.lock();
            let history = recorded.tables.get(table).map(|heat| heat.history.clone());
            (history.unwrap_or_default(), recorded.times.clone())
        };
        Ok(queries.iter().map(|query| HeatMap::new(&history, &times, query)).collect())
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
        let activity = self.with_heat(table, |heat| heat.activity.clone());
        Ok(activity.hot_rows(from_ms, to_ms, limit))
    }

    /// As [`Engine::hot_rows`], for prefixes of rows of one length.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn hot_prefixes(
        &self,
        table: &TableName,
        level: PrefixLevel,
        span_ms: (i64, i64),
        limit: usize,
    ) -> Result<(Vec<HotRow>, u64)> {
        self.check_heat(table)?;
        let activity = self.with_heat(table, |heat| heat.activity.clone());
        Ok(activity.hot_prefixes(level, span_ms, limit))
    }

    /// Returns the lengths of the prefixes that were counted in a span of time of the last ten
    /// minutes, in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn prefix_levels(
        &self,
        table: &TableName,
        (from_ms, to_ms): (i64, i64),
    ) -> Result<Vec<PrefixLevel>> {
        self.check_heat(table)?;
        Ok(self.with_heat(table, |heat| heat.activity.prefix_levels(from_ms, to_ms)))
    }

    /// Returns the sampled operations of a table in a span of time of the last ten minutes, in
    /// milliseconds since 1970: at most about 500 for each ten seconds.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn sampled_keys(
        &self,
        table: &TableName,
        (from_ms, to_ms): (i64, i64),
    ) -> Result<Vec<WeightedKey>> {
        self.check_heat(table)?;
        let activity = self.with_heat(table, |heat| heat.activity.clone());
        let columns = activity.columns(from_ms, to_ms);
        Ok(columns.flat_map(|column| column.keys.iter().cloned()).collect())
    }

    /// Returns the skew of the requests over regions in windows of ten seconds, at the 99th
    /// percentile of the windows of a span of time of the last ten minutes; `None` if none of them
    /// has enough requests.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn window_skew(
        &self,
        table: &TableName,
        (from_ms, to_ms): (i64, i64),
    ) -> Result<Option<f64>> {
        self.check_heat(table)?;
        Ok(self.with_heat(table, |heat| heat.activity.window_skew(from_ms, to_ms)))
    }

    /// Names the shape of the load of a table in a span of time of the last ten minutes, in
    /// milliseconds since 1970. `salt` is the declared salt of the rows.
    ///
    /// # Errors
    /// As [`Engine::heat_map`].
    pub fn diagnose_load(
        &self,
        table: &TableName,
        (from_ms, to_ms): (i64, i64),
        salt: Option<Salt<'_>>,
    ) -> Result<Finding> {
        self.check_heat(table)?;
        let (activity, columns) = self.with_heat(table, |heat| {
            (heat.activity.clone(), heat.history.columns(0, from_ms, to_ms))
        });
        Ok(diagnose(&activity, &columns, (from_ms, to_ms), salt))
    }

    /// Returns a part of the recorded load of a table. Copies share what is recorded, so that the
    /// recorder does not wait for those who examine it.
    fn with_heat<T: Default>(&self, table: &TableName, part: impl FnOnce(&TableHeat) -> T) -> T {
        self.heat.recorded.lock().tables.get(table).map(part).unwrap_or_default()
    }

    fn check_heat(&self, table: &TableName) -> Result<()> {
        self.descriptor(table)?;
        if self.shared.options.heat_level == HeatLevel::Off {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the load is not recorded; open the store with heat_level Region or Sub",
            ));
        }
        Ok(())
    }

    /// Returns the last failure to store columns in `hbase:halite_heat` or to read them, or to write
    /// the log of operations; the picture of the running process does not depend on it.
    pub fn heat_failure(&self) -> Option<Error> {
        let recorded = self.heat.recorded.lock();
        let (restored, stored, logged) = &recorded.failures;
        restored.clone().or_else(|| stored.clone()).or_else(|| logged.clone())
    }

    /// Brings back the histories of earlier processes.
    fn restore_heat(&self) {
        let tables = self.tables.load();
        let mut recorded = Recorded { is_restored: true, ..Recorded::default() };
        // The store is in use meanwhile, and the first column has that load.
        recorded.clock.close(self.shared.env.clock.now_ms());
        let mut unknown = BTreeSet::new();
        let restored = self.stored_columns(|name, layer, column| {
            if *name == store::times_name() {
                recorded.times.restore(layer, column);
            } else if tables.contains_key(name) {
                recorded.tables.entry(name.clone()).or_default().history.restore(layer, column);
            } else if !unknown.contains(name) {
                // Dropped shortly before the end of its process.
                unknown.insert(name.clone());
            }
        });
        // The history is not worth a store that does not work.
        recorded.failures.0 = restored.err();
        recorded.times.finish_restore();
        recorded.tables.values_mut().for_each(|heat| heat.history.finish_restore());
        let mut before = self.heat.recorded.lock();
        recorded.closed = std::mem::take(&mut before.closed);
        recorded.dropped = std::mem::take(&mut before.dropped);
        recorded.dropped.iter().for_each(|name| drop(recorded.tables.remove(name)));
        // A table that was created meanwhile has no stored columns yet.
        recorded.dropped.append(&mut unknown);
        *before = recorded;
    }
}
