//! What a store in this process can tell and do for the page.

use std::sync::{Arc, OnceLock};

use halite::heat::{Finding, HeatMap, HeatQuery, HotRow, LoggedCalls, PrefixLevel, WeightedKey};
use halite::{Bytes, CompactionKind, Error, ErrorKind, RegionInfo, Result, Store, TableName};
use halite_server::SlowCallLog;
use halite_web::{About, Event, EventQuery, Extension, Mode, Page, SlowCall, SlowCallQuery};

use super::{events, slow_calls};

/// Frequent rows of an answer.
const MAX_HOT_ROWS: usize = 1000;

/// Facts of a store in this process.
pub(crate) struct StoreExtension {
    store: Store,
    /// Name of the region server and its slow calls, once it serves.
    server: OnceLock<(String, Arc<SlowCallLog>)>,
}

impl StoreExtension {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, server: OnceLock::new() }
    }

    /// Sets the name of the region server of this process, and its slow calls.
    pub(crate) fn set_server(&self, name: String, slow_calls: Arc<SlowCallLog>) {
        // A process has one server, so it is set once.
        let _ = self.server.set((name, slow_calls));
    }
}

impl Extension for StoreExtension {
    fn about(&self) -> About {
        About {
            mode: Mode::Standalone,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cluster_id: Some(self.store.engine().id()),
            heat_level: Some(self.store.engine().options().heat_level.name().to_owned()),
        }
    }

    fn now_ms(&self) -> u64 {
        self.store.engine().now_ms()
    }

    fn servers(&self) -> Vec<String> {
        self.server.get().map(|(name, _)| name.clone()).into_iter().collect()
    }

    fn server_of(&self, _region: &RegionInfo) -> Option<String> {
        self.server.get().map(|(name, _)| name.clone())
    }

    /// All files are on the disk of this machine.
    fn locality_of(&self, _region: &RegionInfo) -> Option<f64> {
        Some(1.0)
    }

    fn memstore_limit_bytes(&self) -> Option<u64> {
        Some(self.store.engine().options().global_memstore_bytes)
    }

    fn events(&self, query: &EventQuery) -> Result<Page<Event>> {
        events::events(&self.store, query)
    }

    fn mark_deploy(&self, table: Option<&TableName>, text: &str) -> Result<u64> {
        self.store.engine().mark_deploy(table, text)
    }

    fn slow_calls(&self, query: &SlowCallQuery) -> Result<Page<SlowCall>> {
        let log = self.server.get().map(|(_, slow_calls)| slow_calls);
        slow_calls::slow_calls(log.map(Arc::as_ref), query)
    }

    fn heat_maps(&self, table: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        self.store.heat().maps(table, queries)
    }

    fn hot_rows(&self, table: &TableName, span_ms: (i64, i64)) -> Result<(Vec<HotRow>, u64)> {
        self.store.heat().hot_rows(table, span_ms, MAX_HOT_ROWS)
    }

    fn hot_prefixes(
        &self,
        table: &TableName,
        level: PrefixLevel,
        span_ms: (i64, i64),
    ) -> Result<(Vec<HotRow>, u64)> {
        self.store.heat().hot_prefixes(table, level, span_ms, MAX_HOT_ROWS)
    }

    fn prefix_levels(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Vec<PrefixLevel>> {
        self.store.heat().prefix_levels(table, span_ms)
    }

    fn sampled_keys(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Vec<WeightedKey>> {
        self.store.heat().sampled_keys(table, span_ms)
    }

    fn window_skew(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Option<f64>> {
        self.store.heat().window_skew(table, span_ms)
    }

    fn split_point(&self, encoded_name: &str, row: &Bytes) -> Result<Option<Bytes>> {
        Ok(self.store.engine().region(encoded_name)?.split_point(row))
    }

    fn logged_calls(
        &self,
        table: &TableName,
        span_ms: (i64, i64),
        limit: usize,
    ) -> Result<LoggedCalls> {
        self.store.heat().calls(table, span_ms, limit)
    }

    fn diagnose_load(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Finding> {
        self.store.heat().diagnose(table, span_ms)
    }

    fn middle_row(&self, encoded_name: &str) -> Result<Option<Bytes>> {
        self.store.engine().region(encoded_name)?.middle_row()
    }

    fn move_region(&self, _encoded_name: &str, _server: &str) -> Result<()> {
        let text = "this store has one server, so that a region has no other place";
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    fn flush_region(&self, encoded_name: &str) -> Result<()> {
        self.store.engine().region(encoded_name)?.flush().map(drop)
    }

    fn compact_region(&self, encoded_name: &str, is_major: bool) -> Result<()> {
        let kind = if is_major { CompactionKind::Major } else { CompactionKind::Minor };
        self.store.engine().region(encoded_name)?.compact(None, kind)
    }
}
