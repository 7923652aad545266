//! Synchronous calls to a cluster.

use std::sync::Arc;

use halite_types::{
    Admin, Attributes, BoxFuture, BulkLoad, Bytes, Cluster, ClusterStatus, CompactionKind,
    ErrorKind, FrequentRow, RegionInfo, Result, SnapshotDescriptor, TableDescriptor, block_on,
};

use super::into_table_name::IntoTableName;
use super::table::BlockingTable;

/// Cluster with synchronous calls: all calls of [`Cluster`] and [`Admin`]. An embedded
/// [`Store`](crate::Store) dereferences to one. Cheap to clone.
///
/// The calls block their thread, so they must not be used on threads that run tasks of a runtime;
/// such tasks use [`Self::cluster`].
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
    admin: Arc<dyn Admin>,
}

impl BlockingCluster {
    /// Creates synchronous calls to this cluster.
    pub fn new(cluster: Arc<dyn Cluster>) -> Self {
        let admin = cluster.blocking_admin();
        Self { cluster, admin }
    }

    /// Connects to the HBase cluster at `zk://host:port[,host:port...][/znode]` or
    /// `rpc://host:port[,host:port...]`, or to the one in the `hbase-site.xml` at `site:PATH`.
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

    /// Returns the underlying cluster, for tasks of a runtime.
    pub fn cluster(&self) -> &Arc<dyn Cluster> {
        &self.cluster
    }

    /// Returns the administrative API for callers that block; its calls are also methods of this
    /// type.
    pub fn admin(&self) -> &Arc<dyn Admin> {
        &self.admin
    }

    fn call<T>(&self, call: impl FnOnce(&dyn Admin) -> BoxFuture<'_, Result<T>>) -> Result<T> {
        block_on(call(&*self.admin))
    }

    /// Returns a table.
    ///
    /// # Errors
    /// `InvalidRequest` for a bad name. A table that does not exist or is disabled is reported
    /// here by an embedded store (`NoSuchTable`, `TableDisabled`), and by the first call of the
    /// table by a remote cluster.
    pub fn table(&self, name: impl IntoTableName) -> Result<BlockingTable> {
        self.cluster.blocking_table(&name.into_table_name()?).map(BlockingTable::new)
    }

    /// Returns the current descriptor of a table, which may be disabled.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn descriptor(&self, table: impl IntoTableName) -> Result<Arc<TableDescriptor>> {
        block_on(self.cluster.table(&table.into_table_name()?).descriptor())
    }

    /// Returns the regions of a table, which may be disabled, in key order.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn regions(&self, table: impl IntoTableName) -> Result<Vec<RegionInfo>> {
        block_on(self.cluster.table(&table.into_table_name()?).regions())
    }

    /// Returns `true` if a table exists.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn table_exists(&self, table: impl IntoTableName) -> Result<bool> {
        match self.descriptor(table) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NoSuchTable => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the descriptors of all tables, by name.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn list_tables(&self) -> Result<Vec<Arc<TableDescriptor>>> {
        self.call(|admin| admin.list_tables())
    }

    /// Creates a table whose regions begin at the empty key and at each of the split keys.
    ///
    /// # Errors
    /// `TableExists`, `NoSuchNamespace`, `InvalidRequest` (descriptor, empty or repeated split
    /// key).
    pub fn create_table(&self, table: TableDescriptor, splits: &[&[u8]]) -> Result<()> {
        let splits = splits.iter().map(|split| Bytes::copy_from_slice(split)).collect();
        self.call(|admin| admin.create_table(table, splits))
    }

    /// Replaces a table's descriptor. Data of removed families is deleted.
    ///
    /// # Errors
    /// `NoSuchTable`, `InvalidRequest`.
    pub fn alter_table(&self, table: TableDescriptor) -> Result<()> {
        self.call(|admin| admin.alter_table(table))
    }

    /// Deletes a disabled table and its data.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn drop_table(&self, table: impl IntoTableName) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.drop_table(&table))
    }

    /// Deletes all rows of a disabled table and enables it.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn truncate_table(&self, table: impl IntoTableName, keep_splits: bool) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.truncate_table(&table, keep_splits))
    }

    /// Enables a table for reads and writes.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableEnabled`.
    pub fn enable_table(&self, table: impl IntoTableName) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.enable_table(&table))
    }

    /// Disables a table.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`.
    pub fn disable_table(&self, table: impl IntoTableName) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.disable_table(&table))
    }

    /// Returns whether a table is enabled.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn is_enabled(&self, table: impl IntoTableName) -> Result<bool> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.is_enabled(&table))
    }

    /// Returns all namespaces with their settings, by name.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn list_namespaces(&self) -> Result<Vec<(String, Attributes)>> {
        self.call(|admin| admin.list_namespaces())
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// `NamespaceExists`, `InvalidRequest`.
    pub fn create_namespace(&self, name: &str, settings: Attributes) -> Result<()> {
        self.call(|admin| admin.create_namespace(name, settings))
    }

    /// Replaces a namespace's settings.
    ///
    /// # Errors
    /// `NoSuchNamespace`.
    pub fn alter_namespace(&self, name: &str, settings: Attributes) -> Result<()> {
        self.call(|admin| admin.alter_namespace(name, settings))
    }

    /// Deletes an empty namespace.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `NamespaceNotEmpty`.
    pub fn drop_namespace(&self, name: &str) -> Result<()> {
        self.call(|admin| admin.drop_namespace(name))
    }

    /// Writes the memstores of a table to store files.
    ///
    /// # Errors
    /// `NoSuchTable`, a full disk or failed write.
    pub fn flush(&self, table: impl IntoTableName) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.flush(&table))
    }

    /// Writes the memstores of one family to store files, and leaves the others in memory.
    ///
    /// # Errors
    /// As [`BlockingCluster::flush`]; `NoSuchFamily`.
    pub fn flush_family(&self, table: impl IntoTableName, family: impl Into<Bytes>) -> Result<()> {
        let table = table.into_table_name()?;
        let family = family.into();
        self.call(|admin| admin.flush_family(&table, family))
    }

    /// Compacts a table's stores, or those of one family, and returns when that is done.
    ///
    /// # Errors
    /// `NoSuchTable`, `NoSuchFamily`, a full disk or failed write.
    pub fn compact(
        &self,
        table: impl IntoTableName,
        family: Option<Bytes>,
        kind: CompactionKind,
    ) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.compact(&table, family, kind))
    }

    /// Adds store files to a table, each to the regions that its rows belong to. A file that spans
    /// several regions is split at their boundaries. The files of one region become visible
    /// atomically. Regions are loaded one after another, after all files have been checked. If one
    /// fails, the earlier ones stay loaded. HBase's own files can be loaded.
    ///
    /// # Errors
    /// `NoSuchTable`, `TableDisabled`, `NoSuchFamily`; `InvalidRequest` for a file without cells or
    /// of another family; `Unsupported` for an unreadable codec or encoding; `Corrupt`; a full disk
    /// or failed write.
    pub fn bulk_load(&self, table: impl IntoTableName, load: BulkLoad) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.bulk_load(&table, load))
    }

    /// Creates a staging directory for the files of a bulk load that the servers can read, and
    /// returns its URI or absolute path.
    ///
    /// # Errors
    /// `NoSuchTable`.
    pub fn prepare_bulk_load(&self, table: impl IntoTableName) -> Result<String> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.prepare_bulk_load(&table))
    }

    /// Adds store files to one region, all or none, by their paths or URIs on the servers. Returns
    /// `false` and adds none if a row lies outside of the region, or the region was split or merged.
    ///
    /// # Errors
    /// As [`Self::bulk_load`].
    pub fn bulk_load_region(
        &self,
        region: &RegionInfo,
        staging: &str,
        load: BulkLoad,
    ) -> Result<bool> {
        self.call(|admin| admin.bulk_load_region(region, staging, load))
    }

    /// Removes a staging directory with its contents.
    ///
    /// # Errors
    /// `InvalidRequest` if `staging` is none.
    pub fn clean_up_bulk_load(&self, table: impl IntoTableName, staging: &str) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.clean_up_bulk_load(&table, staging))
    }

    /// Splits the region with that encoded name at `at`, or at its middle.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest` (key outside the region or at its start, nothing to split,
    /// splits disabled for the table or by its split policy).
    pub fn split_region(&self, encoded_name: &str, at: Option<Bytes>) -> Result<()> {
        self.call(|admin| admin.split_region(encoded_name, at))
    }

    /// Merges two regions of a table, by their encoded names; they must be adjacent unless
    /// `forcible` is set.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest` (also if merges are disabled for the table).
    pub fn merge_regions(&self, first: &str, second: &str, forcible: bool) -> Result<()> {
        self.call(|admin| admin.merge_regions(first, second, forcible))
    }

    /// Takes a snapshot of a table. It contains every write acknowledged before, unless it skips
    /// the flush. The store sets its time and whether the table was disabled.
    ///
    /// # Errors
    /// `SnapshotExists`, `NoSuchTable`, `InvalidRequest`, a full disk or failed write.
    pub fn create_snapshot(&self, snapshot: SnapshotDescriptor) -> Result<()> {
        self.call(|admin| admin.create_snapshot(snapshot))
    }

    /// Returns all snapshots of all tables, by name.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn list_snapshots(&self) -> Result<Vec<SnapshotDescriptor>> {
        self.call(|admin| admin.list_snapshots())
    }

    /// Creates an enabled table from a snapshot, without copying cells.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableExists`, `NoSuchNamespace`, damage to its files.
    pub fn clone_snapshot(&self, name: &str, table: impl IntoTableName) -> Result<()> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.clone_snapshot(name, &table))
    }

    /// Restores a disabled table to its state in the snapshot; it stays disabled. A table that no
    /// longer exists is created again, enabled.
    ///
    /// # Errors
    /// `NoSuchSnapshot`, `SnapshotExpired`, `TableEnabled`, damage to its files.
    pub fn restore_snapshot(&self, name: &str) -> Result<()> {
        self.call(|admin| admin.restore_snapshot(name))
    }

    /// Deletes a snapshot, and its files without other references; tables cloned from it are kept.
    ///
    /// # Errors
    /// `NoSuchSnapshot`.
    pub fn delete_snapshot(&self, name: &str) -> Result<()> {
        self.call(|admin| admin.delete_snapshot(name))
    }

    /// Returns `true` if families with the attribute `MERGE` merge their cells, as on all clusters
    /// but those of HBase.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn merges_cells(&self) -> Result<bool> {
        self.call(|admin| admin.merges_cells())
    }

    /// Returns the cluster status with metrics of all regions, as far as the cluster reports them.
    ///
    /// # Errors
    /// If the cluster cannot answer.
    pub fn cluster_status(&self) -> Result<ClusterStatus> {
        self.call(|admin| admin.cluster_status())
    }

    /// Returns the rows of a table with the most operations in a span of time of the last ten
    /// minutes, in milliseconds since 1970, in falling order; `None` where they are not recorded.
    ///
    /// # Errors
    /// `NoSuchTable`; if the cluster cannot answer.
    pub fn frequent_rows(
        &self,
        table: impl IntoTableName,
        span_ms: (i64, i64),
        limit: usize,
    ) -> Result<Option<Vec<FrequentRow>>> {
        let table = table.into_table_name()?;
        self.call(|admin| admin.frequent_rows(&table, span_ms, limit))
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{Delete, FamilyDescriptor, Get, Increment, Put, Scan, TableName};

    use super::*;

    #[test]
    fn blocking_and_async_calls_return_same_results() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::open(folder.path()).unwrap();
        let cluster = BlockingCluster::new(Arc::clone(store.cluster()));
        let name: TableName = "t".parse().unwrap();
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        assert!(!cluster.table_exists("t").unwrap());
        cluster.create_table(table, &[b"m"]).unwrap();
        assert!(cluster.table_exists(&name).unwrap());

        let (table, async_table) = (cluster.table("t").unwrap(), store.cluster().table(&name));
        let assert_same_rows = || {
            let rows = table.scan(Scan::all()).collect::<Result<Vec<_>>>().unwrap();
            let mut stream = async_table.scan(Scan::all());
            let mut async_rows = Vec::new();
            loop {
                match block_on(stream.next_rows()).unwrap() {
                    batch if batch.is_empty() => break,
                    batch => async_rows.extend(batch),
                }
            }
            assert_eq!(rows, async_rows);
            rows.len()
        };
        assert_eq!(table.regions().unwrap(), block_on(async_table.regions()).unwrap());
        assert_eq!(table.descriptor().unwrap(), block_on(async_table.descriptor()).unwrap());
        assert_eq!(table.regions().unwrap().len(), 2);
        table.put(Put::new("a").add("f", "q", "1")).unwrap();
        block_on(async_table.batch(vec![Put::new("z").add("f", "q", "2").into()])).unwrap();
        assert_eq!(assert_same_rows(), 2);
        table.delete(Delete::new("a")).unwrap();
        assert!(!table.exists(Get::new("a")).unwrap());
        assert_eq!(
            table.increment(Increment::new("c").add("f", "n", 3)).unwrap().value("f", "n"),
            Some(&3_i64.to_be_bytes()[..])
        );
        assert_eq!(assert_same_rows(), 2);
        let gets = || vec![Get::new("a"), Get::new("c"), Get::new("z")];
        let rows = table.get_all(gets()).unwrap();
        assert_eq!(rows, block_on(async_table.get_all(gets())).unwrap());

        cluster.flush(&name).unwrap();
        assert_eq!(assert_same_rows(), 2);
        assert_eq!(cluster.cluster_status().unwrap().regions.len(), 2);
        let missing = cluster.table("none").err().unwrap();
        assert_eq!(missing.kind(), ErrorKind::NoSuchTable);
        let invalid = cluster.flush("no name").err().unwrap();
        assert_eq!(invalid.kind(), ErrorKind::InvalidRequest);
    }
}
