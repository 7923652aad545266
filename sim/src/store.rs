//! Engine wrapper of the simulation: one table, every call in one thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use halite_engine::env::Env;
use halite_engine::{CommitTicket, Engine, Nonce, Options};
use halite_types::{
    BulkLoad, CompactionKind, Error, ErrorKind, Get, OpResult, ReadTier, RegionInfo, Result, Row,
    RowOp, Scan, SnapshotDescriptor, TableDescriptor, TableName,
};

/// Open engine.
pub struct Store {
    engine: Arc<Engine>,
    table: TableName,
}

impl Store {
    /// Opens the disk, and creates the table if it does not exist.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn open(env: Env, options: Options, table: &TableDescriptor) -> Result<Self> {
        let engine = Engine::open(env, options)?;
        match engine.descriptor(table.name()) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NoSuchTable => {
                engine.create_table(table.clone(), Vec::new())?;
            }
            Err(error) => return Err(error),
        }
        Ok(Self { engine, table: table.name().clone() })
    }

    /// Returns the same engine with another table.
    #[must_use]
    pub fn with_table(&self, table: &TableName) -> Self {
        Self { engine: Arc::clone(&self.engine), table: table.clone() }
    }

    /// Returns the names of all snapshots.
    pub fn snapshots(&self) -> Vec<String> {
        self.engine.snapshots().into_iter().map(|snapshot| snapshot.name).collect()
    }

    /// Returns all settings.
    pub fn properties(&self) -> Vec<(String, Bytes)> {
        self.engine.properties("")
    }

    /// Stores or deletes a setting.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn update_property(&self, name: &str, value: Option<Bytes>) -> Result<()> {
        self.engine.update_properties(|settings| {
            match value {
                Some(value) => drop(settings.insert(name.to_owned(), value)),
                None => drop(settings.remove(name)),
            }
            Ok(())
        })
    }

    /// Takes a snapshot of the table.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn create_snapshot(&self, name: &str) -> Result<()> {
        self.engine.create_snapshot(&SnapshotDescriptor::new(name, self.table.clone()))
    }

    /// Deletes a snapshot.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.engine.delete_snapshot(name)
    }

    /// Creates the table from a snapshot.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn clone_snapshot(&self, name: &str) -> Result<()> {
        self.engine.clone_snapshot(name, &self.table)
    }

    /// Restores the table from a snapshot.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn restore_snapshot(&self, name: &str) -> Result<()> {
        self.engine.disable_table(&self.table)?;
        self.engine.restore_snapshot(name)?;
        self.engine.enable_table(&self.table)
    }

    /// Returns `true` if the table is enabled.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn is_enabled(&self) -> Result<bool> {
        self.engine.is_enabled(&self.table)
    }

    /// Drops the table, if it exists.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn drop_table(&self) -> Result<()> {
        match self.is_enabled() {
            Ok(true) => self.engine.disable_table(&self.table)?,
            Ok(false) => {}
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return Ok(()),
            Err(error) => return Err(error),
        }
        self.engine.drop_table(&self.table)
    }

    /// Returns all tables.
    pub fn tables(&self) -> Vec<TableName> {
        self.engine.descriptors().iter().map(|table| table.name().clone()).collect()
    }

    /// Enables the tables that an interrupted process left disabled.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn enable_all(&self) -> Result<()> {
        for table in self.tables() {
            if !self.engine.is_enabled(&table)? {
                self.engine.enable_table(&table)?;
            }
        }
        Ok(())
    }

    /// Returns the number of store files, links and references of all open regions.
    pub fn file_count(&self) -> u64 {
        self.engine.status().regions.iter().map(|region| region.store_files).sum()
    }

    /// Returns the number of leftover files that were removed at opening.
    pub fn removed_files(&self) -> u64 {
        self.engine.open_report().removed_files + self.engine.open_report().quarantined_files
    }

    /// Returns the number of writes replayed from the log at opening.
    pub fn replayed_writes(&self) -> u64 {
        self.engine.open_report().replayed_writes
    }

    /// Applies operations, and returns their results and the ticket to wait for.
    pub fn submit(&self, ops: Vec<RowOp>) -> (Vec<Result<OpResult>>, CommitTicket) {
        let count = ops.len();
        match self.engine.table(&self.table) {
            Ok(table) => {
                let applied = table.submit(ops);
                (applied.results, applied.ticket)
            }
            Err(error) => (vec![Err(error); count], CommitTicket::ready()),
        }
    }

    /// As [`Store::submit`], for one operation with a unique nonce.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn submit_once(
        &self,
        op: RowOp,
        nonce: u64,
    ) -> Result<(Vec<Result<OpResult>>, CommitTicket)> {
        let region = self.engine.table(&self.table)?.region_for_row(op.row())?;
        let applied = region.apply_with_nonce(op, Some(Nonce { group: 1, number: nonce }));
        Ok((applied.results, applied.ticket))
    }

    /// Returns the nonces of the writes in the log at opening.
    pub fn replayed_nonces(&self) -> BTreeSet<u64> {
        self.engine.take_replayed_nonces().iter().map(|nonce| nonce.number).collect()
    }

    /// Applies operations and waits until they are durable.
    pub fn apply(&self, ops: Vec<RowOp>) -> Vec<Result<OpResult>> {
        let count = ops.len();
        let (results, ticket) = self.submit(ops);
        match ticket.wait() {
            Ok(()) => results,
            Err(error) => vec![Err(error); count],
        }
    }

    /// Returns the name of the region that contains a row.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn region_name(&self, row: &[u8]) -> Result<String> {
        Ok(self.engine.table(&self.table)?.region_for_row(row)?.info().encoded_name.clone())
    }

    /// Reads a row.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn get(&self, get: &Get) -> Result<Row> {
        self.engine.table(&self.table)?.get(get, ReadTier::Disk)
    }

    /// Reads a range to its end.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn scan(&self, scan: &Scan) -> Result<Vec<Row>> {
        let mut scanner = self.engine.table(&self.table)?.scan(scan.clone(), ReadTier::Disk);
        let mut rows = Vec::new();
        loop {
            let more = scanner.next_rows()?;
            if more.is_empty() {
                return Ok(rows);
            }
            rows.extend(more);
        }
    }

    /// Loads files whose cells belong to the region of `row`.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn load(&self, row: &[u8], files: Vec<(Bytes, String)>) -> Result<()> {
        let region = self.engine.table(&self.table)?.region_for_row(row)?;
        region.bulk_load(&BulkLoad { files, ..BulkLoad::default() })
    }

    /// Flushes the memstores to files.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn flush(&self) -> Result<()> {
        self.engine.flush(&self.table)
    }

    /// Flushes the memstores of some families.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn flush_families(&self, families: &[Bytes]) -> Result<()> {
        self.engine.flush_families(&self.table, families)
    }

    /// Compacts every store.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn compact(&self, kind: CompactionKind) -> Result<()> {
        self.engine.compact(&self.table, None, kind)
    }

    /// Returns the regions, in key order.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn regions(&self) -> Result<Vec<RegionInfo>> {
        self.engine.regions(&self.table)
    }

    /// Splits the region of `row` at `row`.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn split(&self, row: &Bytes) -> Result<()> {
        let region = self.regions()?.into_iter().find(|region| region.contains(row));
        region.map_or(Ok(()), |region| {
            self.engine.split_region(&region.encoded_name, Some(row.clone()))
        })
    }

    /// Merges a region, counted modulo their number, with the next one.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn merge(&self, index: u64) -> Result<()> {
        let regions = self.regions()?;
        let index = usize::try_from(index % regions.len().max(1) as u64).unwrap_or(0);
        match regions.get(index..index + 2) {
            Some([first, second]) => {
                self.engine.merge_regions(&first.encoded_name, &second.encoded_name, false)
            }
            _ => Ok(()),
        }
    }

    /// Runs one background job. Returns `true` if there was one.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn run_one_job(&self) -> Result<bool> {
        self.engine.watch_regions();
        self.engine.record_heat();
        self.engine.run_one_job()
    }

    /// Returns the numbers of events in the table's regions that may have dropped cells.
    pub fn rewrites(&self) -> Rewrites {
        let loads = self.engine.status().regions;
        let own = loads.iter().filter(|load| load.region.table == self.table);
        own.fold(Rewrites::default(), |sum, region| Rewrites {
            flushes: sum.flushes + region.flushes,
            in_memory_compactions: sum.in_memory_compactions + region.in_memory_compactions,
            compactions: sum.compactions + region.compactions,
        })
    }

    /// Closes the store.
    ///
    /// # Errors
    /// Returns an error of the engine.
    pub fn close(self) -> Result<()> {
        self.engine.close()
    }
}

/// Numbers of rewrites of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrites {
    pub(crate) flushes: u64,
    pub(crate) in_memory_compactions: u64,
    pub(crate) compactions: u64,
}

/// Returns `true` for errors that a split or merge may return: nothing to split, reference files
/// still in use.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidRequest | ErrorKind::Busy)
}
