//! Synchronous calls to a table.

use std::sync::Arc;

use halite_rowkey::move_row::{MoveResult, move_row};
use halite_rowkey::{Page, PageToken, Plan, Scatter, ScatterOptions};
use halite_types::table::only_result;
use halite_types::{
    Aggregates, Aggregation, Append, Bytes, CheckAndMutate, Delete, Get, Increment, MergeOperator,
    MergedColumn, OpResult, Put, RegionInfo, Result, Row, RowMutations, RowOp, RowStream, Scan,
    ShardedCounters, Table, TableDescriptor, TableName, block_on,
};

/// Table with synchronous calls, of an embedded store or a remote cluster. Cheap to clone. Every
/// write returns when it has reached the requested durability.
#[derive(Clone)]
pub struct BlockingTable {
    table: Arc<dyn Table>,
}

impl BlockingTable {
    /// Creates synchronous calls to this table. [`Cluster::blocking_table`] returns the one that
    /// does its work on the calling thread.
    ///
    /// [`Cluster::blocking_table`]: crate::Cluster::blocking_table
    pub fn new(table: Arc<dyn Table>) -> Self {
        Self { table }
    }

    /// Returns the underlying table. That of an embedded store does its work on the calling thread,
    /// one call after the other: queries of row keys that read several ranges at once take
    /// `cluster().table(name)` instead.
    pub fn inner(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// Returns its name.
    pub fn name(&self) -> &TableName {
        self.table.name()
    }

    /// Returns its current descriptor.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn descriptor(&self) -> Result<Arc<TableDescriptor>> {
        block_on(self.table.descriptor())
    }

    /// Adds up the rows of a scan where they lie, without returning them; `None` if the store
    /// cannot.
    ///
    /// # Errors
    /// As [`Table::aggregate`].
    pub fn aggregate(&self, aggregation: Aggregation) -> Result<Option<Aggregates>> {
        block_on(self.table.aggregate(aggregation))
    }

    /// Returns its regions in key order.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn regions(&self) -> Result<Vec<RegionInfo>> {
        block_on(self.table.regions())
    }

    /// Reads a row; empty if it does not exist.
    ///
    /// # Errors
    /// `InvalidRequest`, `NoSuchTable`, `NoSuchFamily`, `TableDisabled`, damage, or an error that
    /// prevents a cluster from replying.
    pub fn get(&self, get: Get) -> Result<Row> {
        self.table.blocking_get(get)
    }

    /// Reads rows; returns one row per get, in order, empty if the row does not exist.
    ///
    /// # Errors
    /// The first error of any get, as [`Self::get`].
    pub fn get_all(&self, gets: Vec<Get>) -> Result<Vec<Row>> {
        block_on(self.table.get_all(gets))
    }

    /// Returns `true` if a row has any cell that the get selects.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn exists(&self, get: Get) -> Result<bool> {
        Ok(!self.get(get)?.is_empty())
    }

    /// Reads a range of rows, in key order.
    pub fn scan(&self, scan: Scan) -> BlockingRows {
        BlockingRows { stream: self.table.scan(scan), rows: Vec::new().into_iter() }
    }

    /// Reads the rows of a query on a declared key, in its order. Columns, versions, times and
    /// filter are those of `template`.
    ///
    /// # Errors
    /// As [`Scatter::new`].
    pub fn query(&self, plan: Plan, template: Scan) -> Result<QueryRows> {
        let (table, options) = (Arc::clone(&self.table), ScatterOptions::default());
        let scatter = Scatter::new(table, Arc::new(plan), template, &options, None)?;
        Ok(QueryRows { scatter })
    }

    /// Reads a page of a query on a declared key, after the page that ended at `after`. The limit
    /// of the query is its maximum number of rows.
    ///
    /// ```
    /// # #[cfg(feature = "derive")]
    /// # fn main() -> halite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use halite::rowkey::PageToken;
    /// use halite::{FamilyDescriptor, Put, RowKey, TableDescriptor};
    ///
    /// #[derive(RowKey)]
    /// struct VisitKey<'a> {
    ///     page: &'a str,
    ///     visitor: u64,
    /// }
    ///
    /// let store = halite::open(directory.path())?;
    /// store.create_table(TableDescriptor::new("visits".parse()?).family(FamilyDescriptor::new("v")), &[])?;
    /// let visits = store.table("visits")?;
    /// for visitor in 0..3 {
    ///     visits.put(Put::new(VisitKey { page: "home", visitor }.encode()?).add("v", "n", "1"))?;
    /// }
    /// let home = VisitKey::scan().page("home").limit(2);
    /// let first = visits.page(home.plan()?, None)?;
    /// assert_eq!((first.items.len(), first.examined), (2, 2));
    ///
    /// // The token goes to a browser as text, and comes back.
    /// let text = first.next.expect("the page is full").to_string();
    /// let last = visits.page(home.plan()?, Some(&text.parse()?))?;
    /// assert_eq!((last.items.len(), last.next), (1, None));
    ///
    /// // It continues its own query only, and damage is noticed.
    /// let other = VisitKey::scan().page("contact").limit(2);
    /// assert!(visits.page(other.plan()?, Some(&text.parse()?)).is_err());
    /// assert!(text[2..].parse::<PageToken>().is_err());
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "derive"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// As [`Page::read`].
    pub fn page(&self, plan: Plan, after: Option<&PageToken>) -> Result<Page> {
        let (table, options) = (Arc::clone(&self.table), ScatterOptions::default());
        block_on(Page::read(table, Arc::new(plan), Scan::all(), &options, after))
    }

    /// Applies operations and returns one result for each, in order. Operations on one row keep
    /// their order; rows are not atomic together.
    ///
    /// # Errors
    /// If no operation was tried, or a failure of the log. Errors of single operations are in their
    /// results.
    pub fn batch(&self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        block_on(self.table.batch(ops))
    }

    /// Applies operations as [`Self::batch`], of which none may fail; does nothing without any.
    ///
    /// # Errors
    /// The first error of an operation; others are applied.
    pub fn apply_all(&self, ops: Vec<RowOp>) -> Result<Vec<OpResult>> {
        if ops.is_empty() {
            return Ok(Vec::new());
        }
        self.batch(ops)?.into_iter().collect()
    }

    /// Applies one operation of any kind.
    ///
    /// # Errors
    /// `InvalidRequest`, `NoSuchTable`, `NoSuchFamily`, `ReadOnly`, `Busy`, `TableDisabled`, a
    /// failure of the log, or an error that prevents a cluster from replying.
    pub fn mutate(&self, op: RowOp) -> Result<OpResult> {
        only_result(self.batch(vec![op])?)
    }

    /// Writes values.
    ///
    /// # Errors
    /// As [`Self::mutate`].
    pub fn put(&self, put: Put) -> Result<()> {
        self.mutate(put.into()).map(drop)
    }

    /// Writes delete markers.
    ///
    /// # Errors
    /// As [`Self::mutate`].
    pub fn delete(&self, delete: Delete) -> Result<()> {
        self.mutate(delete.into()).map(drop)
    }

    /// Adds to counters and returns their new values.
    ///
    /// # Errors
    /// As [`Self::mutate`]; `InvalidRequest` if a cell is not 8 bytes.
    pub fn increment(&self, increment: Increment) -> Result<Row> {
        self.mutate(increment.into()).map(|result| result.row)
    }

    /// Appends to values and returns the new ones.
    ///
    /// # Errors
    /// As [`Self::mutate`].
    pub fn append(&self, append: Append) -> Result<Row> {
        self.mutate(append.into()).map(|result| result.row)
    }

    /// Changes a row if a condition holds. Returns `true` if it did.
    ///
    /// # Errors
    /// As [`Self::mutate`].
    pub fn check_and_mutate(&self, check: CheckAndMutate) -> Result<bool> {
        self.mutate(check.into()).map(|result| result.processed)
    }

    /// Applies several mutations of a row atomically.
    ///
    /// # Errors
    /// As [`Self::mutate`]; nothing is applied then.
    pub fn mutate_row(&self, mutations: RowMutations) -> Result<Row> {
        self.mutate(mutations.into()).map(|result| result.row)
    }

    /// Moves a row to another key, with all families and versions.
    ///
    /// ```
    /// # fn main() -> halite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use halite::{FamilyDescriptor, Get, Put, TableDescriptor};
    ///
    /// let store = halite::open(directory.path())?;
    /// store.create_table(TableDescriptor::new("users".parse()?).family(FamilyDescriptor::new("u")), &[])?;
    /// let users = store.table("users")?;
    /// users.put(Put::new("ada").add("u", "born", "1815"))?;
    /// let moved = users.move_row("ada", "lovelace", false)?;
    /// assert_eq!((moved.cells, moved.remaining), (1, 0));
    /// assert_eq!(users.get(Get::new("lovelace"))?.value("u", "born"), Some(&b"1815"[..]));
    /// assert!(users.get(Get::new("ada"))?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`crate::move_row`].
    pub fn move_row(
        &self,
        from: impl Into<Bytes>,
        to: impl Into<Bytes>,
        overwrite: bool,
    ) -> Result<MoveResult> {
        block_on(move_row(&*self.table, from, to, overwrite))
    }

    /// Adds a contribution to a merged column.
    ///
    /// # Errors
    /// As [`MergedColumn::contribute`].
    pub fn contribute(
        &self,
        column: &MergedColumn,
        operator: MergeOperator,
        value: &[u8],
    ) -> Result<()> {
        block_on(column.contribute(&*self.table, operator, value))
    }

    /// Returns the value of a sharded counter.
    ///
    /// # Errors
    /// As [`ShardedCounters::sum`].
    pub fn counter(&self, counters: &ShardedCounters, name: &[u8]) -> Result<i64> {
        block_on(counters.sum(&*self.table, name))
    }
}

/// Rows of a query on a declared key. They end after an error.
pub struct QueryRows {
    scatter: Scatter,
}

impl QueryRows {
    /// Returns the number of rows that the table has returned so far.
    pub fn examined(&self) -> u64 {
        self.scatter.examined()
    }
}

impl Iterator for QueryRows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        block_on(self.scatter.next()).transpose()
    }
}

/// Rows of a scan. They end after an error.
pub struct BlockingRows {
    stream: RowStream,
    rows: std::vec::IntoIter<Row>,
}

impl Iterator for BlockingRows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        if let Some(row) = self.rows.next() {
            return Some(Ok(row));
        }
        match block_on(self.stream.next_rows()) {
            Ok(rows) => {
                self.rows = rows.into_iter();
                self.rows.next().map(Ok)
            }
            Err(error) => Some(Err(error)),
        }
    }
}
