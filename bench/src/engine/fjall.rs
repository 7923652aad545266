//! Adapter of fjall 3 to the common interface.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{CACHE_BYTES, Durability, Engine, failed};
use crate::Result;

pub(super) struct Fjall {
    database: Database,
    rows: Keyspace,
    durability: Durability,
}

impl Fjall {
    pub(super) fn open(folder: &Path, durability: Durability) -> Result<Self> {
        let database = Database::builder(folder)
            .cache_size(CACHE_BYTES)
            .open()
            .map_err(failed("fjall open"))?;
        let rows = database
            .keyspace("rows", KeyspaceCreateOptions::default)
            .map_err(failed("fjall keyspace"))?;
        Ok(Self { database, rows, durability })
    }

    fn mode(&self) -> PersistMode {
        match self.durability {
            Durability::Flush => PersistMode::Buffer,
            Durability::Fsync => PersistMode::SyncData,
        }
    }
}

impl Engine for Fjall {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        // An insert writes its journal entry to the operating system automatically.
        self.rows.insert(key, value).map_err(failed("fjall insert"))?;
        match self.durability {
            Durability::Flush => Ok(()),
            Durability::Fsync => {
                self.database.persist(PersistMode::SyncData).map_err(failed("fjall persist"))
            }
        }
    }

    fn put_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(self.mode()));
        for (key, value) in rows {
            batch.insert(&self.rows, *key, *value);
        }
        batch.commit().map_err(failed("fjall batch"))
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

    fn flush(&self) -> Result<()> {
        self.rows.rotate_memtable_and_wait().map_err(failed("fjall flush"))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.persist(PersistMode::SyncAll).map_err(failed("fjall persist"))
    }
}
