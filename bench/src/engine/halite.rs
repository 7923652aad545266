//! Adapter of Halite to the common interface: one table with one family, one column per row.

use std::path::Path;

use halite::{
    BlockingTable, Bytes, Delete, FamilyDescriptor, Get, Options, Put, Scan, Store,
    TableDescriptor, TableName, WalSync,
};

use super::{CompactionPolicy, Durability, Engine, Settings, failed};
use crate::Result;

const FAMILY: &str = "f";
const COLUMN: &str = "c";
const TABLE: &str = "rows";
/// Package of HBase's store engines, which name the compaction policies.
const REGION_SERVER: &str = "org.apache.hadoop.hbase.regionserver";

pub(super) struct Halite {
    store: Store,
    table: BlockingTable,
    name: TableName,
}

impl Halite {
    pub(super) fn open(folder: &Path, settings: Settings) -> Result<Self> {
        let mut options = Options::default();
        options.block_cache_bytes = settings.cache_bytes;
        options.wal_sync = match settings.durability {
            Durability::Flush => WalSync::Flush,
            Durability::Fsync => WalSync::Fsync,
        };
        let store =
            halite::Builder::new().options(options).open(folder).map_err(failed("halite open"))?;
        let name: TableName = TABLE.parse().map_err(failed("halite table name"))?;
        if !store.table_exists(&name).map_err(failed("halite table"))? {
            let engine = match settings.compaction_policy {
                CompactionPolicy::Exploring => "DefaultStoreEngine",
                CompactionPolicy::DateTiered => "DateTieredStoreEngine",
                CompactionPolicy::Stripe => "StripeStoreEngine",
            };
            let family = FamilyDescriptor::new(FAMILY)
                .set("COMPRESSION", settings.compression.name().to_uppercase())
                .set("hbase.hstore.engine.class", format!("{REGION_SERVER}.{engine}"));
            let table = TableDescriptor::new(name.clone()).family(family);
            store.create_table(table, &[]).map_err(failed("halite create table"))?;
        }
        let table = store.table(TABLE).map_err(failed("halite table"))?;
        Ok(Self { store, table, name })
    }

    fn read(&self, scan: Scan, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        for row in self.table.scan(scan) {
            let row = row.map_err(failed("halite scan"))?;
            if let Some(value) = row.value(FAMILY, COLUMN) {
                see(row.key(), value);
            }
        }
        Ok(())
    }
}

fn put(key: &[u8], value: &[u8]) -> Put {
    Put::new(Bytes::copy_from_slice(key)).add(FAMILY, COLUMN, value)
}

impl Engine for Halite {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.table.put(put(key, value)).map_err(failed("halite put"))
    }

    fn put_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<()> {
        let puts = rows.iter().map(|(key, value)| put(key, value).into()).collect();
        for result in self.table.batch(puts).map_err(failed("halite batch"))? {
            result.map_err(failed("halite batch"))?;
        }
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        let delete = Delete::new(Bytes::copy_from_slice(key));
        self.table.delete(delete).map_err(failed("halite delete"))
    }

    fn get(&self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<bool> {
        // One value of one key, which is what the other stores' gets return.
        let get = Get::new(Bytes::copy_from_slice(key)).column(FAMILY, COLUMN);
        let row = self.table.get(get).map_err(failed("halite get"))?;
        Ok(row.value(FAMILY, COLUMN).map(see).is_some())
    }

    fn scan(&self, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        self.read(Scan::all(), see)
    }

    fn scan_from(
        &self,
        start: &[u8],
        limit: usize,
        see: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        self.read(Scan::all().start(Bytes::copy_from_slice(start)).limit(limit), see)
    }

    fn flush(&self) -> Result<()> {
        self.store.flush(&self.name).map_err(failed("halite flush"))
    }

    fn close(self: Box<Self>) -> Result<()> {
        let Self { store, table, .. } = *self;
        drop(table);
        store.close().map_err(failed("halite close"))
    }
}
