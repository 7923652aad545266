//! The engine as the simulation drives it: one table, every call in one thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use halite_engine::env::Env;
use halite_engine::{CommitTicket, Engine, Nonce, Options};
use halite_types::{
    BulkLoad, CompactionKind, Error, ErrorKind, Get, OpResult, RegionInfo, Result, Row, RowOp, Scan, SnapshotDescriptor, TableDescriptor, TableName,
    Tier,
};

/// An open engine.
pub struct Store {
    engine: Arc<Engine>,
    table: TableName,
}

impl Store {
    /// Opens the disk, and makes the table if it is not there.
    ///
    /// # Errors
    /// As the engine's.
    pub fn open(env: Env, options: Options, table: &TableDescriptor) -> Result<Self> {
        let engine = Engine::open(env, options)?;
        match engine.descriptor(table.name()) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NoSuchTable => engine.create_table(table.clone(), Vec::new())?,
            Err(error) => return Err(error),
        }
        Ok(Self { engine, table: table.name().clone() })
    }

    /// The same engine, at another table.
    #[must_use]
    pub fn on(&self, table: &TableName) -> Self {
        Self { engine: Arc::clone(&self.engine), table: table.clone() }
    }

    /// Names of all snapshots.
    pub fn snapshots(&self) -> Vec<String> {
        self.engine.snapshots().into_iter().map(|snapshot| snapshot.name).collect()
    }

    /// All settings.
    pub fn settings(&self) -> Vec<(String, Bytes)> {
        self.engine.settings("")
    }

    /// Keeps a setting, or takes it away.
    ///
    /// # Errors
    /// As the engine's.
    pub fn change_setting(&self, name: &str, value: Option<Bytes>) -> Result<()> {
        self.engine.change_settings(|settings| {
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
    /// As the engine's.
    pub fn take_snapshot(&self, name: &str) -> Result<()> {
        self.engine.take_snapshot(&SnapshotDescriptor::new(name, self.table.clone()))
    }

    /// Deletes a snapshot.
    ///
    /// # Errors
    /// As the engine's.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.engine.delete_snapshot(name)
    }

    /// Makes the table of a snapshot.
    ///
    /// # Errors
    /// As the engine's.
    pub fn clone_snapshot(&self, name: &str) -> Result<()> {
        self.engine.clone_snapshot(name, &self.table)
    }

    /// Puts the table back to what it was in a snapshot.
    ///
    /// # Errors
    /// As the engine's.
    pub fn restore_snapshot(&self, name: &str) -> Result<()> {
        self.engine.disable_table(&self.table)?;
        self.engine.restore_snapshot(name)?;
        self.engine.enable_table(&self.table)
    }

    /// Whether the table is in service.
    ///
    /// # Errors
    /// As the engine's.
    pub fn is_enabled(&self) -> Result<bool> {
        self.engine.is_enabled(&self.table)
    }

    /// Takes the table away, if it is there.
    ///
    /// # Errors
    /// As the engine's.
    pub fn drop_table(&self) -> Result<()> {
        match self.is_enabled() {
            Ok(true) => self.engine.disable_table(&self.table)?,
            Ok(false) => {}
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return Ok(()),
            Err(error) => return Err(error),
        }
        self.engine.drop_table(&self.table)
    }

    /// All tables.
    pub fn tables(&self) -> Vec<TableName> {
        self.engine.descriptors().iter().map(|table| table.name().clone()).collect()
    }

    /// Enables the tables that a process left disabled half-way.
    ///
    /// # Errors
    /// As the engine's.
    pub fn enable_all(&self) -> Result<()> {
        for table in self.tables() {
            if !self.engine.is_enabled(&table)? {
                self.engine.enable_table(&table)?;
            }
        }
        Ok(())
    }

    /// Store files, links and references of all open regions.
    pub fn file_count(&self) -> u64 {
        self.engine.status().regions.iter().map(|region| region.store_files).sum()
    }

    /// Leftovers that were removed when it was opened.
    pub fn removed_files(&self) -> u64 {
        self.engine.report().removed_files + self.engine.report().quarantined_files
    }

    /// Writes read back from the log when it was opened.
    pub fn replayed_writes(&self) -> u64 {
        self.engine.report().replayed_writes
    }

    /// Applies operations, and gives back what they answered and the ticket to wait for.
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

    /// The same for one operation with a number that tells it from every other.
    ///
    /// # Errors
    /// As the engine's.
    pub fn submit_once(&self, op: RowOp, nonce: u64) -> Result<(Vec<Result<OpResult>>, CommitTicket)> {
        let region = self.engine.table(&self.table)?.region_of(op.row())?;
        let applied = region.apply_once(op, Some(Nonce { group: 1, number: nonce }));
        Ok((applied.results, applied.ticket))
    }

    /// The numbers of the writes that the log knew of at opening.
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

    /// The name of the region that has a row.
    ///
    /// # Errors
    /// As the engine's.
    pub fn region_name(&self, row: &[u8]) -> Result<String> {
        Ok(self.engine.table(&self.table)?.region_of(row)?.info().encoded_name.clone())
    }

    /// Reads a row.
    ///
    /// # Errors
    /// As the engine's.
    pub fn get(&self, get: &Get) -> Result<Row> {
        self.engine.table(&self.table)?.get(get, Tier::Disk)
    }

    /// Reads a range to its end.
    ///
    /// # Errors
    /// As the engine's.
    pub fn scan(&self, scan: &Scan) -> Result<Vec<Row>> {
        let mut scanner = self.engine.table(&self.table)?.scan(scan.clone(), Tier::Disk);
        let mut rows = Vec::new();
        loop {
            let more = scanner.next_rows()?;
            if more.is_empty() {
                return Ok(rows);
            }
            rows.extend(more);
        }
    }

    /// Loads files whose cells lie in the region of `row`.
    ///
    /// # Errors
    /// As the engine's.
    pub fn load(&self, row: &[u8], files: Vec<(Bytes, String)>) -> Result<()> {
        let region = self.engine.table(&self.table)?.region_of(row)?;
        region.bulk_load(&BulkLoad { files, ..BulkLoad::default() })
    }

    /// Writes the memstores to files.
    ///
    /// # Errors
    /// As the engine's.
    pub fn flush(&self) -> Result<()> {
        self.engine.flush(&self.table)
    }

    /// Compacts every store.
    ///
    /// # Errors
    /// As the engine's.
    pub fn compact(&self, kind: CompactionKind) -> Result<()> {
        self.engine.compact(&self.table, None, kind)
    }

    /// The regions, in key order.
    ///
    /// # Errors
    /// As the engine's.
    pub fn regions(&self) -> Result<Vec<RegionInfo>> {
        self.engine.regions(&self.table)
    }

    /// Splits the region of `row` there.
    ///
    /// # Errors
    /// As the engine's.
    pub fn split(&self, row: &Bytes) -> Result<()> {
        let region = self.regions()?.into_iter().find(|region| region.contains(row));
        region.map_or(Ok(()), |region| self.engine.split_region(&region.encoded_name, Some(row.clone())))
    }

    /// Merges a region, counted modulo their number, with the next one.
    ///
    /// # Errors
    /// As the engine's.
    pub fn merge(&self, at: u64) -> Result<()> {
        let regions = self.regions()?;
        let at = usize::try_from(at % regions.len().max(1) as u64).unwrap_or(0);
        match regions.get(at..at + 2) {
            Some([first, second]) => self.engine.merge_regions(&first.encoded_name, &second.encoded_name, false),
            _ => Ok(()),
        }
    }

    /// Does one piece of background work; whether there was any.
    ///
    /// # Errors
    /// As the engine's.
    pub fn step(&self) -> Result<bool> {
        self.engine.step()
    }

    /// What the table's regions have done so far that may drop cells.
    pub fn rewrites(&self) -> Rewrites {
        let loads = self.engine.status().regions;
        let own = loads.iter().filter(|load| load.region.table == self.table);
        own.fold(Rewrites::default(), |sum, region| Rewrites {
            flushes: sum.flushes + region.flushes,
            condensations: sum.condensations + region.condensations,
            compactions: sum.compactions + region.compactions,
        })
    }

    /// Ends cleanly.
    ///
    /// # Errors
    /// As the engine's.
    pub fn close(self) -> Result<()> {
        self.engine.close()
    }
}

/// How often cells were written to other places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrites {
    pub(crate) flushes: u64,
    pub(crate) condensations: u64,
    pub(crate) compactions: u64,
}

/// Whether the engine may refuse a split or merge like this: nothing to split, half files still in use.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidRequest | ErrorKind::Busy)
}
