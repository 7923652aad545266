//! Adapter of fjall 3 to the common interface.

use std::path::Path;

use fjall::config::CompressionPolicy;
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Compression, Durability, Engine, Settings, failed};
use crate::Result;

pub(super) struct Fjall {
    database: Database,
    rows: Keyspace,
    durability: Durability,
}

impl Fjall {
    pub(super) fn open(folder: &Path, settings: Settings) -> Result<Self> {
        let codec = match settings.compression {
            Compression::None => CompressionType::None,
            Compression::Lz4 => CompressionType::Lz4,
            Compression::Zstd => return Err("fjall has no zstd".to_string()),
        };
        // The logs of the other stores are not compressed either.
        let database = Database::builder(folder)
            .cache_size(settings.cache_bytes)
            .journal_compression(CompressionType::None)
            .open()
            .map_err(failed("fjall open"))?;
        let options = || {
            KeyspaceCreateOptions::default()
                .data_block_compression_policy(CompressionPolicy::all(codec))
        };
        let rows = database.keyspace("rows", options).map_err(failed("fjall keyspace"))?;
        Ok(Self { database, rows, durability: settings.durability })
    }

    fn mode(&self) -> PersistMode {
        match self.durability {
            Durability::Flush => PersistMode::Buffer,
            Durability::Fsync => PersistMode::SyncData,
        }
    }

    /// Completes the durability of a single write, whose journal entry is with the operating system
    /// when the call that wrote it returns.
    fn acknowledge(&self) -> Result<()> {
        match self.durability {
            Durability::Flush => Ok(()),
            Durability::Fsync => {
                self.database.persist(PersistMode::SyncData).map_err(failed("fjall persist"))
            }
        }
    }
}

impl Engine for Fjall {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.rows.insert(key, value).map_err(failed("fjall insert"))?;
        self.acknowledge()
    }

    fn put_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(self.mode()));
        for (key, value) in rows {
            batch.insert(&self.rows, *key, *value);
        }
        batch.commit().map_err(failed("fjall batch"))
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.rows.remove(key).map_err(failed("fjall remove"))?;
        self.acknowledge()
    }

    fn get(&self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.rows.get(key).map_err(failed("fjall get"))?;
        Ok(value.map(|value| see(&value)).is_some())
    }

    fn scan(&self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        for row in self.rows.iter() {
            let (key, value) = row.into_inner().map_err(failed("fjall scan"))?;
            see(&key, &value);
        }
        Ok(())
    }

    fn scan_from(
        &self,
        start: &[u8],
        limit: usize,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        for row in self.rows.range(start..).take(limit) {
            let (key, value) = row.into_inner().map_err(failed("fjall scan"))?;
            see(&key, &value);
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.rows.rotate_memtable_and_wait().map_err(failed("fjall flush"))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.persist(PersistMode::SyncAll).map_err(failed("fjall persist"))
    }
}
