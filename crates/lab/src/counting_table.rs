//! Table that counts the reads through it: scans and the rows that they return.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use halite::rowkey::KeySchema;
use halite::{
    BoxFuture, Get, OpResult, RegionInfo, Result, Row, RowOp, RowSource, RowStream, Scan, Table,
    TableDescriptor, TableName,
};

use crate::{LabTable, PageWriter};

/// Counters of the reads through a [`CountingTable`].
#[derive(Debug, Default)]
pub(crate) struct ReadCounts {
    scans: AtomicUsize,
    gets: AtomicUsize,
    rows: AtomicUsize,
    max_rows_per_scan: AtomicUsize,
}

impl ReadCounts {
    /// Returns the number of scans that returned rows or found none.
    pub(crate) fn scans(&self) -> usize {
        self.scans.load(Ordering::Relaxed)
    }

    /// Returns the number of rows requested by key.
    pub(crate) fn gets(&self) -> usize {
        self.gets.load(Ordering::Relaxed)
    }

    /// Returns the number of rows that the table returned, including rows discarded later.
    pub(crate) fn rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of rows of one scan.
    pub(crate) fn max_rows_per_scan(&self) -> usize {
        self.max_rows_per_scan.load(Ordering::Relaxed)
    }
}

/// Table that counts its reads.
pub(crate) struct CountingTable {
    table: Arc<dyn Table>,
    reads: Arc<ReadCounts>,
}

impl CountingTable {
    /// Wraps a table, and returns it with the counters of its reads.
    pub(crate) fn wrap(table: Arc<dyn Table>) -> (Arc<dyn Table>, Arc<ReadCounts>) {
        let reads = Arc::new(ReadCounts::default());
        (Arc::new(Self { table, reads: Arc::clone(&reads) }), reads)
    }
}

impl Table for CountingTable {
    fn name(&self) -> &TableName {
        self.table.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.table.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.table.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.reads.gets.fetch_add(gets.len(), Ordering::Relaxed);
        self.table.get_all(gets)
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        self.table.batch(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.reads.scans.fetch_add(1, Ordering::Relaxed);
        RowStream::new(CountingRows {
            rows: self.table.scan(scan),
            returned: 0,
            reads: Arc::clone(&self.reads),
        })
    }
}

struct CountingRows {
    rows: RowStream,
    returned: usize,
    reads: Arc<ReadCounts>,
}

impl RowSource for CountingRows {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(async move {
            let rows = self.rows.next_rows().await?;
            self.returned += rows.len();
            self.reads.rows.fetch_add(rows.len(), Ordering::Relaxed);
            self.reads.max_rows_per_scan.fetch_max(self.returned, Ordering::Relaxed);
            Ok(rows)
        })
    }
}

impl PageWriter {
    /// Returns the rows of a query, and the number of rows that the table returned for it. Appends
    /// nothing to the page.
    ///
    /// # Errors
    /// Returns the errors of [`PageWriter::query`].
    pub(crate) fn query_counted(
        &self,
        table: &LabTable,
        key: &KeySchema,
        conditions: &[&str],
        limit: Option<usize>,
    ) -> anyhow::Result<(Vec<Row>, usize)> {
        let (counted, reads) = CountingTable::wrap(self.dyn_table(table)?);
        let rows = self.execute_plan(counted, &self.plan(key, conditions, limit)?)?;
        Ok((rows, reads.rows()))
    }
}
