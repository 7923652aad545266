//! What a store in this process can tell and do for the page.

use std::sync::OnceLock;

use halite::heat::{Finding, HeatMap, HeatQuery, HotRow, LoggedCalls};
use halite::{Bytes, CompactionKind, RegionInfo, Result, Store, TableName};
use halite_web::{About, Extension, Mode};

/// Frequent rows of an answer.
const MAX_HOT_ROWS: usize = 1000;

/// Facts of a store in this process.
pub(crate) struct StoreExtension {
    store: Store,
    /// Name of the region server, once it serves.
    server: OnceLock<String>,
}

impl StoreExtension {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, server: OnceLock::new() }
    }

    /// Sets the name of the region server of this process.
    pub(crate) fn set_server(&self, name: String) {
        // A process has one server, so the name is set once.
        let _ = self.server.set(name);
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

    fn server_of(&self, _region: &RegionInfo) -> Option<String> {
        self.server.get().cloned()
    }

    /// All files are on the disk of this machine.
    fn locality_of(&self, _region: &RegionInfo) -> Option<f64> {
        Some(1.0)
    }

    fn memstore_limit_bytes(&self) -> Option<u64> {
        Some(self.store.engine().options().global_memstore_bytes)
    }

    fn heat_maps(&self, table: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        self.store.heat().maps(table, queries)
    }

    fn hot_rows(&self, table: &TableName, span_ms: (i64, i64)) -> Result<(Vec<HotRow>, u64)> {
        self.store.heat().hot_rows(table, span_ms, MAX_HOT_ROWS)
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

    fn flush_region(&self, encoded_name: &str) -> Result<()> {
        self.store.engine().region(encoded_name)?.flush().map(drop)
    }

    fn compact_region(&self, encoded_name: &str, is_major: bool) -> Result<()> {
        let kind = if is_major { CompactionKind::Major } else { CompactionKind::Minor };
        self.store.engine().region(encoded_name)?.compact(None, kind)
    }
}
