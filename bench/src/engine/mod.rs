//! Common interface of the stores, and the list of stores.

mod fjall;
mod halite;
mod probe;
#[cfg(feature = "rocksdb")]
mod rocksdb;

use std::path::Path;

use crate::Result;
pub(crate) use probe::why_not_compressed;

/// Block cache size of each store in bytes, unless a workload chooses another.
const CACHE_BYTES: u64 = 512 << 20;

/// Durability of an acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Operating system: it survives the process, not the machine.
    Flush,
    /// Disk.
    Fsync,
}

/// Compression of a store's sorted files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Lz4,
    Zstd,
}

impl Compression {
    const ALL: [Self; 3] = [Self::None, Self::Lz4, Self::Zstd];

    /// Returns the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Returns the compression with that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compression| compression.name() == name)
    }
}

/// Compaction policy of Halite's table; the other stores have one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactionPolicy {
    Exploring,
    DateTiered,
    Stripe,
}

impl CompactionPolicy {
    const ALL: [Self; 3] = [Self::Exploring, Self::DateTiered, Self::Stripe];

    /// Returns the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exploring => "exploring",
            Self::DateTiered => "date-tiered",
            Self::Stripe => "stripe",
        }
    }

    /// Returns the policy with that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// Settings of a store that are not its defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) durability: Durability,
    pub(crate) cache_bytes: u64,
    pub(crate) compression: Compression,
    pub(crate) compaction_policy: CompactionPolicy,
}

impl Settings {
    /// Returns the settings of a workload that needs nothing but its durability.
    pub(crate) fn new(durability: Durability) -> Self {
        Self {
            durability,
            cache_bytes: CACHE_BYTES,
            compression: Compression::None,
            compaction_policy: CompactionPolicy::Exploring,
        }
    }
}

/// Open store with one keyspace, used by several threads.
pub(crate) trait Engine: Send + Sync {
    /// Writes one row.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;
    /// Writes rows as one batch.
    fn put_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<()>;
    /// Deletes one row.
    fn delete(&self, key: &[u8]) -> Result<()>;
    /// Passes the value of a row to `see`. Returns `true` if there is one.
    fn get(&self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool>;
    /// Passes every row to `see` in key order.
    fn scan(&self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;
    /// Passes at most `limit` rows to `see` in key order, from `start` on, inclusive.
    fn scan_from(
        &self,
        start: &[u8],
        limit: usize,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()>;
    /// Flushes memory to sorted files.
    fn flush(&self) -> Result<()>;
    /// Closes the store cleanly.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Returns the names of the stores in this build.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names = vec!["halite", "fjall"];
    if cfg!(feature = "rocksdb") {
        names.push("rocksdb");
    }
    names
}

/// Opens a store in `folder`, with its existing contents.
pub(crate) fn open(name: &str, folder: &Path, settings: Settings) -> Result<Box<dyn Engine>> {
    match name {
        "halite" => Ok(Box::new(halite::Halite::open(folder, settings)?)),
        "fjall" => Ok(Box::new(fjall::Fjall::open(folder, settings)?)),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Ok(Box::new(rocksdb::RocksDb::open(folder, settings)?)),
        #[cfg(not(feature = "rocksdb"))]
        "rocksdb" => Err(
            "RocksDB is not in this build: install librocksdb-dev and clang and build with the \
             feature `rocksdb`, or run `cargo xtask bench stores`"
                .to_string(),
        ),
        _ => Err(format!("unknown engine {name:?}; expected one of {}", names().join(", "))),
    }
}

/// Formats a store's error with the name of the store and the call.
fn failed<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}
