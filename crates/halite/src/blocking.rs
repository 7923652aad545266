//! Any cluster with plain synchronous calls, named as those of a [`Store`](crate::Store).

use std::sync::Arc;

use halite_types::{
    Admin, Append, Bytes, CheckAndMutate, Cluster, ClusterStatus, Delete, Error, ErrorKind, Fut, Get, Increment, OpResult, Put, RegionInfo, Result,
    Row, RowMutations, RowOp, RowStream, Scan, Table, TableDescriptor, TableExt as _, TableName, block_on,
};

use crate::calls::row_calls;
use crate::move_row::{Moved, move_row};

/// A cluster whose calls wait for their answers. Not for threads that run tasks of a runtime: those would wait with it.
///
#[cfg_attr(feature = "client", doc = "```no_run")]
#[cfg_attr(not(feature = "client"), doc = "```ignore")]
/// # fn main() -> halite::Result<()> {
/// use halite::{Blocking, Get};
///
/// let cluster = Blocking::connect("zk://localhost:2181/hbase")?;
/// let row = cluster.table("users")?.get(Get::new("user_12345"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Blocking {
    cluster: Arc<dyn Cluster>,
}

impl Blocking {
    /// With calls to this cluster.
    pub fn new(cluster: Arc<dyn Cluster>) -> Self {
        Self { cluster }
    }

    /// With calls to the HBase cluster at `zk://host:port[,host:port...][/znode]` or `rpc://host:port[,host:port...]`.
    ///
    /// # Errors
    /// As [`crate::connect`].
    #[cfg(feature = "client")]
    pub fn connect(uri: &str) -> Result<Self> {
        Ok(Self::new(Arc::new(block_on(halite_client::connect(uri))?)))
    }

    /// With calls to the HBase cluster of these settings.
    ///
    /// # Errors
    /// As [`crate::connect_with`].
    #[cfg(feature = "client")]
    pub fn connect_with(config: halite_client::Config) -> Result<Self> {
        Ok(Self::new(Arc::new(block_on(halite_client::connect_with(config))?)))
    }

    /// The cluster itself.
    pub fn cluster(&self) -> &Arc<dyn Cluster> {
        &self.cluster
    }

    fn admin<T>(&self, call: impl FnOnce(&dyn Admin) -> Fut<'_, T>) -> Result<T> {
        let admin = self.cluster.admin();
        block_on(call(&*admin))
    }

    /// A table. Whether it exists shows at the first call.
    ///
    /// # Errors
    /// `InvalidRequest` for a bad name.
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

    /// Whether a table exists.
    ///
    /// # Errors
    /// If nobody can say.
    pub fn has_table(&self, name: &TableName) -> Result<bool> {
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

    /// Figures of every region and of the whole, as far as the cluster tells them.
    ///
    /// # Errors
    /// If nobody can say.
    pub fn status(&self) -> Result<ClusterStatus> {
        self.admin(|admin| admin.cluster_status())
    }
}

/// A table of a [`Blocking`] cluster. Every write returns when the cluster has acknowledged it.
#[derive(Clone)]
pub struct BlockingTable {
    table: Arc<dyn Table>,
}

impl BlockingTable {
    /// Its descriptor.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn descriptor(&self) -> Result<Arc<TableDescriptor>> {
        block_on(self.table.descriptor())
    }

    /// Its regions in key order.
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

    /// Applies operations; one result for each, in order. Nothing is promised between rows.
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
    pub fn move_row(&self, from: impl Into<Bytes>, to: impl Into<Bytes>, overwrite: bool) -> Result<Moved> {
        block_on(move_row(&*self.table, from, to, overwrite))
    }

    /// Reads a range of rows, in key order.
    pub fn scan(&self, scan: Scan) -> BlockingRows {
        BlockingRows { stream: self.table.scan(scan) }
    }
}

/// The rows of a scan. An error ends them.
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
        let cluster = Blocking::new(Arc::new(store.clone()));
        let name: TableName = "t".parse().unwrap();
        assert!(!cluster.has_table(&name).unwrap());
        cluster.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")), &[b"m"]).unwrap();
        assert!(cluster.has_table(&name).unwrap());
        let table = cluster.table("t").unwrap();
        assert_eq!(table.regions().unwrap().len(), 2);
        table.put(Put::new("a").add("f", "q", "1")).unwrap();
        table.put(Put::new("z").add("f", "q", "2")).unwrap();
        let rows = table.scan(Scan::all()).collect::<Result<Vec<_>>>().unwrap();
        let direct = store.table("t").unwrap().scan(Scan::all()).collect::<Result<Vec<_>>>().unwrap();
        assert_eq!(rows, direct);
        assert_eq!(rows.len(), 2);
        table.delete(Delete::new("a")).unwrap();
        assert!(!table.exists(Get::new("a")).unwrap());
        assert_eq!(table.increment(Increment::new("c").add("f", "n", 3)).unwrap().value("f", "n"), Some(&3_i64.to_be_bytes()[..]));
        cluster.flush(&name).unwrap();
        assert_eq!(cluster.status().unwrap().regions.len(), 2);
        let missing = cluster.table("none").unwrap().get(Get::new("a")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NoSuchTable);
    }
}
