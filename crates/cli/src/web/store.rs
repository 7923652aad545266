//! What a store in this process can tell and do for the page.

use std::sync::{Arc, OnceLock};

use halite::{Bytes, CompactionKind, RegionInfo, Result};
use halite_engine::Engine;
use halite_web::{About, Extension, Mode};

/// Facts of a store in this process.
pub(crate) struct StoreExtension {
    engine: Arc<Engine>,
    /// Name of the region server, once it serves.
    server: OnceLock<String>,
}

impl StoreExtension {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, server: OnceLock::new() }
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
            cluster_id: Some(self.engine.id()),
            heat_level: None,
        }
    }

    fn now_ms(&self) -> u64 {
        self.engine.now_ms()
    }

    fn server_of(&self, _region: &RegionInfo) -> Option<String> {
        self.server.get().cloned()
    }

    /// All files are on the disk of this machine.
    fn locality_of(&self, _region: &RegionInfo) -> Option<f64> {
        Some(1.0)
    }

    fn memstore_limit_bytes(&self) -> Option<u64> {
        Some(self.engine.options().global_memstore_bytes)
    }

    fn middle_row(&self, encoded_name: &str) -> Result<Option<Bytes>> {
        self.engine.region(encoded_name)?.middle_row()
    }

    fn flush_region(&self, encoded_name: &str) -> Result<()> {
        self.engine.region(encoded_name)?.flush().map(drop)
    }

    fn compact_region(&self, encoded_name: &str, is_major: bool) -> Result<()> {
        let kind = if is_major { CompactionKind::Major } else { CompactionKind::Minor };
        self.engine.region(encoded_name)?.compact(None, kind)
    }
}
