//! Administrative calls: most are sent to the master, which runs procedures; some are sent to
//! region servers.
//!
//! ```text
//! master.rs    calls to the active master            regions.rs    flushes, compactions, splits and merges
//! procedure.rs long operations of the master         snapshots.rs  taking and using snapshots
//! tables.rs    descriptors, states and namespaces    status.rs     servers, metrics of all regions
//! bulk_load.rs the calls of a bulk load              region_call.rs calls to a region's server
//! single_region.rs flush, compaction, move of one
//! ```

mod bulk_load;
mod master;
mod procedure;
mod region_call;
mod regions;
pub(crate) mod single_region;
mod snapshots;
mod status;
mod tables;

use std::sync::Arc;

use halite_types::{
    Admin, Attributes, BoxFuture, BulkLoad, Bytes, ClusterStatus, CompactionKind, RegionInfo,
    Result, SnapshotDescriptor, TableDescriptor, TableName,
};

use crate::config::not_supported_yet;
use crate::shared::ClientInner;
pub(crate) use master::ActiveMaster;
pub(crate) use tables::descriptor;

/// Administration of a cluster.
pub(crate) struct RemoteAdmin {
    shared: Arc<ClientInner>,
}

impl RemoteAdmin {
    pub(crate) fn new(shared: Arc<ClientInner>) -> Self {
        Self { shared }
    }

    fn run<'a, T>(
        &'a self,
        work: impl Future<Output = Result<T>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        self.shared.runtime.run(work)
    }
}

impl Admin for RemoteAdmin {
    fn list_tables(&self) -> BoxFuture<'_, Result<Vec<Arc<TableDescriptor>>>> {
        self.run(tables::list(&self.shared))
    }

    fn create_table(
        &self,
        table: TableDescriptor,
        splits: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<()>> {
        self.run(tables::create(&self.shared, table, splits))
    }

    fn alter_table(&self, table: TableDescriptor) -> BoxFuture<'_, Result<()>> {
        self.run(tables::alter(&self.shared, table))
    }

    fn drop_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(async move { tables::drop(&self.shared, &table).await })
    }

    fn truncate_table(&self, table: &TableName, keep_splits: bool) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(async move { tables::truncate(&self.shared, &table, keep_splits).await })
    }

    fn enable_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(async move { tables::enable(&self.shared, &table).await })
    }

    fn disable_table(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(async move { tables::disable(&self.shared, &table).await })
    }

    fn is_enabled(&self, table: &TableName) -> BoxFuture<'_, Result<bool>> {
        let table = table.clone();
        self.run(async move { tables::is_enabled(&self.shared, &table).await })
    }

    fn list_namespaces(&self) -> BoxFuture<'_, Result<Vec<(String, Attributes)>>> {
        self.run(tables::list_namespaces(&self.shared))
    }

    fn create_namespace(&self, name: &str, settings: Attributes) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(async move { tables::create_namespace(&self.shared, &name, &settings).await })
    }

    fn alter_namespace(&self, name: &str, settings: Attributes) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(async move { tables::alter_namespace(&self.shared, &name, &settings).await })
    }

    fn drop_namespace(&self, name: &str) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(async move { tables::drop_namespace(&self.shared, &name).await })
    }

    fn flush(&self, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(async move { regions::flush(&self.shared, &table, None).await })
    }

    fn flush_family(&self, table: &TableName, family: Bytes) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(async move { regions::flush(&self.shared, &table, Some(family)).await })
    }

    fn compact(
        &self,
        table: &TableName,
        family: Option<Bytes>,
        kind: CompactionKind,
    ) -> BoxFuture<'_, Result<()>> {
        let table = table.clone();
        self.run(async move { regions::compact(&self.shared, &table, family, kind).await })
    }

    fn bulk_load(&self, table: &TableName, _load: BulkLoad) -> BoxFuture<'_, Result<()>> {
        let text = format!(
            "bulk loading into table {table} of a cluster elsewhere in one call; run halite \
             bulkload, or load the files of each region"
        );
        self.run(async move { Err(not_supported_yet(text)) })
    }

    fn prepare_bulk_load(&self, table: &TableName) -> BoxFuture<'_, Result<String>> {
        let table = table.clone();
        self.run(async move { bulk_load::prepare(&self.shared, &table).await })
    }

    fn bulk_load_region(
        &self,
        region: &RegionInfo,
        staging: &str,
        load: BulkLoad,
    ) -> BoxFuture<'_, Result<bool>> {
        let (region, staging) = (region.clone(), staging.to_owned());
        self.run(async move { bulk_load::load(&self.shared, &region, &staging, &load).await })
    }

    fn clean_up_bulk_load(&self, table: &TableName, staging: &str) -> BoxFuture<'_, Result<()>> {
        let (table, staging) = (table.clone(), staging.to_owned());
        self.run(async move { bulk_load::clean_up(&self.shared, &table, &staging).await })
    }

    fn split_region(&self, encoded_name: &str, at: Option<Bytes>) -> BoxFuture<'_, Result<()>> {
        let name = encoded_name.to_owned();
        self.run(async move { regions::split(&self.shared, &name, at).await })
    }

    fn merge_regions(
        &self,
        first: &str,
        second: &str,
        forcible: bool,
    ) -> BoxFuture<'_, Result<()>> {
        let names = [first.to_owned(), second.to_owned()];
        self.run(async move { regions::merge(&self.shared, &names, forcible).await })
    }

    fn create_snapshot(&self, snapshot: SnapshotDescriptor) -> BoxFuture<'_, Result<()>> {
        self.run(async move { snapshots::create(&self.shared, &snapshot).await })
    }

    fn list_snapshots(&self) -> BoxFuture<'_, Result<Vec<SnapshotDescriptor>>> {
        self.run(snapshots::list(&self.shared))
    }

    fn clone_snapshot(&self, name: &str, table: &TableName) -> BoxFuture<'_, Result<()>> {
        let (name, table) = (name.to_owned(), table.clone());
        self.run(async move { snapshots::clone(&self.shared, &name, &table).await })
    }

    fn restore_snapshot(&self, name: &str) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(async move { snapshots::restore(&self.shared, &name).await })
    }

    fn delete_snapshot(&self, name: &str) -> BoxFuture<'_, Result<()>> {
        let name = name.to_owned();
        self.run(async move { snapshots::delete(&self.shared, &name).await })
    }

    fn merges_cells(&self) -> BoxFuture<'_, Result<bool>> {
        self.run(status::merges_cells(&self.shared))
    }

    fn cluster_status(&self) -> BoxFuture<'_, Result<ClusterStatus>> {
        self.run(status::read(&self.shared))
    }
}
