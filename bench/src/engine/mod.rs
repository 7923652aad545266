//! Common interface of the stores, and the list of stores.

mod fjall;
mod halite;
#[cfg(feature = "rocksdb")]
mod rocksdb;

use std::path::Path;

use crate::Result;

/// Block cache size of each store, in bytes.
pub(crate) const CACHE_BYTES: u64 = 512 << 20;

/// Durability of an acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Operating system: it survives the process, not the machine.
    Flush,
    /// Disk.
    Fsync,
}

/// Open store with one keyspace.
pub(crate) trait Engine {
    /// Writes one row.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;
    /// Writes rows as one batch.
    fn put_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<()>;
    /// Passes the value of a row to `see`. Returns `true` if there is one.
    fn get(&self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool>;
    /// Passes every row to `see` in key order.
    fn scan(&self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;
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
pub(crate) fn open(name: &str, folder: &Path, durability: Durability) -> Result<Box<dyn Engine>> {
    match name {
        "halite" => Ok(Box::new(halite::Halite::open(folder, durability)?)),
        "fjall" => Ok(Box::new(fjall::Fjall::open(folder, durability)?)),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Ok(Box::new(rocksdb::RocksDb::open(folder, durability)?)),
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
