//! A table that counts what is read through it: how many scans are begun, and how many rows they bring.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use halite::rowkey::KeySchema;
use halite::{Fut, Get, OpResult, RegionInfo, Result, Row, RowOp, RowSource, RowStream, Scan, Table, TableDescriptor, TableName};

use crate::{Lab, LabTable};

/// What was read through a [`Counted`] table.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    scans: AtomicUsize,
    gets: AtomicUsize,
    rows: AtomicUsize,
    most_rows_of_a_scan: AtomicUsize,
}

impl Reads {
    /// Scans that brought rows or found that there are none.
    pub(crate) fn scans(&self) -> usize {
        self.scans.load(Ordering::Relaxed)
    }

    /// Rows that were asked for by their keys.
    pub(crate) fn gets(&self) -> usize {
        self.gets.load(Ordering::Relaxed)
    }

    /// Rows that the table gave, whoever threw them away later.
    pub(crate) fn rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }

    /// Rows that the scan gave which gave most.
    pub(crate) fn most_rows_of_a_scan(&self) -> usize {
        self.most_rows_of_a_scan.load(Ordering::Relaxed)
    }
}

/// A table that is read through.
pub(crate) struct Counted {
    table: Arc<dyn Table>,
    reads: Arc<Reads>,
}

impl Counted {
    /// The table, and what will have been read through it.
    pub(crate) fn around(table: Arc<dyn Table>) -> (Arc<dyn Table>, Arc<Reads>) {
        let reads = Arc::new(Reads::default());
        (Arc::new(Self { table, reads: Arc::clone(&reads) }), reads)
    }
}

impl Table for Counted {
    fn name(&self) -> &TableName {
        self.table.name()
    }

    fn descriptor(&self) -> Fut<'_, Arc<TableDescriptor>> {
        self.table.descriptor()
    }

    fn regions(&self) -> Fut<'_, Vec<RegionInfo>> {
        self.table.regions()
    }

    fn get(&self, gets: Vec<Get>) -> Fut<'_, Vec<Row>> {
        self.reads.gets.fetch_add(gets.len(), Ordering::Relaxed);
        self.table.get(gets)
    }

    fn apply(&self, ops: Vec<RowOp>) -> Fut<'_, Vec<Result<OpResult>>> {
        self.table.apply(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.reads.scans.fetch_add(1, Ordering::Relaxed);
        RowStream::new(CountedRows { rows: self.table.scan(scan), seen: 0, reads: Arc::clone(&self.reads) })
    }
}

struct CountedRows {
    rows: RowStream,
    seen: usize,
    reads: Arc<Reads>,
}

impl RowSource for CountedRows {
    fn next_rows(&mut self) -> Fut<'_, Vec<Row>> {
        Box::pin(async move {
            let rows = self.rows.next_rows().await?;
            self.seen += rows.len();
            self.reads.rows.fetch_add(rows.len(), Ordering::Relaxed);
            self.reads.most_rows_of_a_scan.fetch_max(self.seen, Ordering::Relaxed);
            Ok(rows)
        })
    }
}

impl Lab {
    /// The rows a question asks for, and how many rows the table gave for it. Shows nothing.
    ///
    /// # Errors
    /// As [`Lab::ask`].
    pub(crate) fn read_for(&self, table: &LabTable, key: &KeySchema, conditions: &[&str], limit: Option<usize>) -> anyhow::Result<(Vec<Row>, usize)> {
        let (counted, reads) = Counted::around(self.seam(table)?);
        let rows = self.carry_out(counted, &self.plan(key, conditions, limit)?)?;
        Ok((rows, reads.rows()))
    }
}
