//! Synchronous calls to any cluster, named as those of a [`Store`](crate::Store).

use std::sync::Arc;

use halite_types::{
    Admin, Append, BoxFuture, Bytes, CheckAndMutate, Cluster, ClusterStatus, Delete, Error,
    ErrorKind, Get, Increment, OpResult, Put, RegionInfo, Result, Row, RowMutations, RowOp,
    RowStream, Scan, Table, TableDescriptor, TableExt as _, TableName, block_on,
};

use crate::move_row::{MoveResult, move_row};
use crate::row_ops::row_calls;

/// Cluster with synchronous calls. Must not be used on threads that run tasks of a runtime: the
/// calls would block them.
///
#[cfg_attr(feature = "client", doc = "```no_run")]
#[cfg_attr(not(feature = "client"), doc = "```ignore")]
/// # fn main() -> halite::Result<()> {
/// use halite::{BlockingCluster, Get};
///
/// let cluster = BlockingCluster::connect("zk://localhost:2181/hbase")?;
/// let row = cluster.table("users")?.get(Get::new("user_12345"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct BlockingCluster {
    cluster: Arc<dyn Cluster>,
}

impl BlockingCluster {
    /// Creates synchronous calls to this cluster.
    pub fn new(cluster: Arc<dyn Cluster>) -> Self {
        Self { cluster }
    }

    /// Connects to the HBase cluster at `zk://host:port[,host:port...][/znode]` or
    /// `rpc://host:port[,host:port...]`.
    ///
    /// # Errors
    /// As [`crate::connect`].
    #[cfg(feature = "client")]
    pub fn connect(uri: &str) -> Result<Self> {
        Ok(Self::new(Arc::new(block_on(halite_client::connect(uri))?)))
    }

    /// Connects to the HBase cluster of this configuration.
    ///
    /// # Errors
    /// As [`crate::connect_with`].
    #[cfg(feature = "client")]
    pub fn connect_with(config: halite_client::Config) -> Result<Self> {
        Ok(Self::new(Arc::new(block_on(halite_client::connect_with(config))?)))
    }

    /// Returns the underlying cluster.
    pub fn cluster(&self) -> &Arc<dyn Cluster> {
        &self.cluster
    }

    fn admin<T>(&self, call: impl FnOnce(&dyn Admin) -> BoxFuture<'_, Result<T>>) -> Result<T> {
        let admin = self.cluster.admin();
        block_on(call(&*admin))
    }

    /// Returns a table. The first call reports a table that does not exist.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid name.
    pub fn table(&self, name: &str) -> Result<BlockingTable> {
        Ok(BlockingTable { table: self.cluster.table(&name.parse()?) })
    }

    /// Creates a table whose regions begin at the empty key and at each of the split keys.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest`.
    pub fn create_table(&self, table: TableDescriptor, splits: &[&[u8]]) -> Result<()> {
        let splits = splits.iter().map(|split| Bytes::copy_from_slice(split)).collect();
        self.admin(|admin| admin.create_table(table, splits))
    }

    /// Returns `true` if a table exists.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn table_exists(&self, name: &TableName) -> Result<bool> {
        match block_on(self.cluster.table(name).descriptor()) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NoSuchTable => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes the memstores of a table to store files.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn flush(&self, name: &TableName) -> Result<()> {
        self.admin(|admin| admin.flush(name))
    }

    /// Returns the cluster status with metrics of all regions, as far as the cluster reports them.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn status(&self) -> Result<ClusterStatus> {
        self.admin(|admin| admin.cluster_status())
    }
}

/// Table of a [`BlockingCluster`]. Every write returns when the cluster has acknowledged it.
#[derive(Clone)]
pub struct BlockingTable {
    table: Arc<dyn Table>,
}

impl BlockingTable {
    /// Returns its descriptor.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn descriptor(&self) -> Result<Arc<TableDescriptor>> {
        block_on(self.table.descriptor())
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
    /// As [`Table::get`].
    pub fn get(&self, get: Get) -> Result<Row> {
        Ok(block_on(self.table.get_one(get))?.unwrap_or_default())
    }

    row_calls!();

    /// Applies operations and returns one result for each, in order. Rows are not atomic together.
    ///
    /// # Errors
    /// As [`Table::apply`].
    pub fn batch(&self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        block_on(self.table.apply(ops))
    }

    /// Moves a row to another key, with all families and versions.
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

    /// Reads a range of rows, in key order.
    pub fn scan(&self, scan: Scan) -> BlockingRows {
        BlockingRows { stream: self.table.scan(scan) }
    }
}

/// Rows of a scan. They end after an error.
pub struct BlockingRows {
    stream: RowStream,
}

impl Iterator for BlockingRows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        block_on(self.stream.next()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, TableDescriptor};

    use super::*;

    #[test]
    fn a_store_behind_the_seam_answers_as_the_store_itself() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::open(folder.path()).unwrap();
        let cluster = BlockingCluster::new(Arc::new(store.clone()));
        let name: TableName = "t".parse().unwrap();
        assert!(!cluster.table_exists(&name).unwrap());
        cluster
            .create_table(
                TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")),
                &[b"m"],
            )
            .unwrap();
        assert!(cluster.table_exists(&name).unwrap());
        let table = cluster.table("t").unwrap();
        assert_eq!(table.regions().unwrap().len(), 2);
        table.put(Put::new("a").add("f", "q", "1")).unwrap();
        table.put(Put::new("z").add("f", "q", "2")).unwrap();
        let rows = table.scan(Scan::all()).collect::<Result<Vec<_>>>().unwrap();
        let direct =
            store.table("t").unwrap().scan(Scan::all()).collect::<Result<Vec<_>>>().unwrap();
        assert_eq!(rows, direct);
        assert_eq!(rows.len(), 2);
        table.delete(Delete::new("a")).unwrap();
        assert!(!table.exists(Get::new("a")).unwrap());
        assert_eq!(
            table.increment(Increment::new("c").add("f", "n", 3)).unwrap().value("f", "n"),
            Some(&3_i64.to_be_bytes()[..])
        );
        cluster.flush(&name).unwrap();
        assert_eq!(cluster.status().unwrap().regions.len(), 2);
        let missing = cluster.table("none").unwrap().get(Get::new("a")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NoSuchTable);
    }
}
