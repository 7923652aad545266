//! Adapter of RocksDB, from the system's library, to the common interface.

use std::path::Path;

use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, Options, WriteBatch, WriteOptions};

use super::{Compression, Durability, Engine, Settings, failed};
use crate::Result;

/// Bloom filter bits per key: the recommendation of RocksDB's guide, equal to fjall and HBase.
const BLOOM_BITS: f64 = 10.0;

pub(super) struct RocksDb {
    database: DB,
    write: WriteOptions,
}

impl RocksDb {
    pub(super) fn open(folder: &Path, settings: Settings) -> Result<Self> {
        let cache =
            Cache::new_lru_cache(usize::try_from(settings.cache_bytes).unwrap_or(usize::MAX))
                .map_err(failed("RocksDB cache"))?;
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&cache);
        blocks.set_bloom_filter(BLOOM_BITS, false);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(match settings.compression {
            Compression::None => DBCompressionType::None,
            Compression::Lz4 => DBCompressionType::Lz4,
            Compression::Zstd => DBCompressionType::Zstd,
        });
        options.increase_parallelism(
            std::thread::available_parallelism()
                .map_or(2, |cores| i32::try_from(cores.get()).unwrap_or(i32::MAX)),
        );
        let database = DB::open(&options, folder).map_err(failed("RocksDB open"))?;
        let mut write = WriteOptions::default();
        write.set_sync(settings.durability == Durability::Fsync);
        Ok(Self { database, write })
    }
}

impl Engine for RocksDb {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.database.put_opt(key, value, &self.write).map_err(failed("RocksDB put"))
    }

    fn put_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (key, value) in rows {
            batch.put(key, value);
        }
        self.database.write_opt(batch, &self.write).map_err(failed("RocksDB batch"))
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.database.delete_opt(key, &self.write).map_err(failed("RocksDB delete"))
    }

    fn get(&self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.database.get_pinned(key).map_err(failed("RocksDB get"))?;
        Ok(value.map(|value| see(&value)).is_some())
    }

    fn scan(&self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        self.scan_from(&[], usize::MAX, see)
    }

    fn scan_from(
        &self,
        start: &[u8],
        limit: usize,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let mut rows = self.database.raw_iterator();
        rows.seek(start);
        let mut left = limit;
        while left > 0
            && let Some((key, value)) = rows.item()
        {
            see(key, value);
            left -= 1;
            if left > 0 {
                rows.next();
            }
        }
        rows.status().map_err(failed("RocksDB scan"))
    }

    fn flush(&self) -> Result<()> {
        self.database.flush().map_err(failed("RocksDB flush"))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.flush_wal(true).map_err(failed("RocksDB log"))?;
        self.database.cancel_all_background_work(true);
        Ok(())
    }
}
