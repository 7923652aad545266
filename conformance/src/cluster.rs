//! System under test for any cluster: one table of a given name, recreated for each case.

use std::sync::Arc;

use bytes::Bytes;
use halite_types::{
    Admin, Cluster, CompactionKind, Error, ErrorKind, FamilyDescriptor, Get, OpResult, RegionInfo,
    Result, Row, RowOp, Scan, Table, TableDescriptor, TableExt as _, TableName, block_on,
};

use crate::runner::{MergeKind, SystemUnderTest};
use crate::script::TableChange;

/// Table on a cluster whose clock cannot be moved.
pub struct ClusterSystem {
    cluster: Arc<dyn Cluster>,
    name: TableName,
    exists: bool,
}

impl ClusterSystem {
    /// Creates the system with a table of this name, which must not exist.
    pub fn new(cluster: Arc<dyn Cluster>, name: TableName) -> Self {
        Self { cluster, name, exists: false }
    }

    /// Drops the table of the last case.
    ///
    /// # Errors
    /// Returns an error of the cluster.
    pub fn drop_table(&mut self) -> Result<()> {
        if std::mem::take(&mut self.exists) {
            let admin = self.cluster.admin();
            block_on(admin.disable_table(&self.name))?;
            block_on(admin.drop_table(&self.name))?;
        }
        Ok(())
    }

    fn compact_fully(&mut self) -> Result<()> {
        self.flush()?;
        self.merge(MergeKind::Major)
    }

    fn table(&self) -> Result<Arc<dyn Table>> {
        if self.exists {
            Ok(self.cluster.table(&self.name))
        } else {
            Err(Error::new(ErrorKind::NoSuchTable, "the case creates no table"))
        }
    }
}

impl SystemUnderTest for ClusterSystem {
    fn set_clock(&mut self, _: i64) {}

    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()> {
        self.drop_table()?;
        block_on(
            self.cluster.admin().create_table(descriptor(self.name.clone(), families), splits),
        )?;
        self.exists = true;
        Ok(())
    }

    /// Compacts everything into one file per family before and after the change, so that the result
    /// does not depend on concurrent automatic flushes or compactions of the cluster: HBase flushes
    /// a region that it closes, and rewrites the files of a split region before it may be merged.
    fn change(&mut self, change: &TableChange) -> Result<()> {
        self.compact_fully()?;
        change_table(&*self.cluster, &self.name, change)?;
        self.compact_fully()
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        block_on(self.table()?.batch(ops))
    }

    fn get(&mut self, get: Get) -> Result<Row> {
        block_on(self.table()?.get(get))
    }

    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>> {
        let mut stream = self.table()?.scan(scan);
        std::iter::from_fn(|| block_on(stream.next()).transpose()).collect()
    }

    fn flush(&mut self) -> Result<()> {
        block_on(self.cluster.admin().flush(&self.name))
    }

    fn merge(&mut self, how: MergeKind) -> Result<()> {
        match how {
            MergeKind::Major => {
                block_on(self.cluster.admin().compact(&self.name, None, CompactionKind::Major))
            }
            MergeKind::Minor | MergeKind::Automatic => Err(Error::new(
                ErrorKind::Unsupported,
                "a cluster selects the files to merge itself",
            )),
        }
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        Err(Error::new(ErrorKind::Unsupported, "a cluster does not report its file names"))
    }
}

/// Returns a table of these families without automatic compactions.
pub fn descriptor(name: TableName, families: Vec<FamilyDescriptor>) -> TableDescriptor {
    families
        .into_iter()
        .map(without_compactions)
        .fold(TableDescriptor::new(name), TableDescriptor::family)
}

fn without_compactions(family: FamilyDescriptor) -> FamilyDescriptor {
    family.set("hbase.hstore.compaction.min", 1000).set("hbase.hstore.compaction.max", 1000)
}

/// Applies a change from a script to a table.
///
/// # Errors
/// Returns an error of the cluster; `InvalidRequest` if the region to be merged is the last one.
pub fn change_table(cluster: &dyn Cluster, name: &TableName, change: &TableChange) -> Result<()> {
    let admin = cluster.admin();
    match change {
        TableChange::Alter(families) => {
            let mut table = TableDescriptor::clone(&*block_on(cluster.table(name).descriptor())?);
            families
                .iter()
                .for_each(|family| table.set_family(without_compactions(family.clone())));
            block_on(admin.alter_table(table))
        }
        TableChange::Truncate => {
            block_on(admin.disable_table(name))?;
            block_on(admin.truncate_table(name, true))
        }
        TableChange::Split(row) => {
            let regions = block_on(cluster.table(name).regions())?;
            block_on(admin.split_region(
                &regions[region_index(&regions, row)?].encoded_name,
                Some(row.clone()),
            ))
        }
        TableChange::Merge(row) => merge(&*admin, &block_on(cluster.table(name).regions())?, row),
    }
}

fn merge(admin: &dyn Admin, regions: &[RegionInfo], row: &[u8]) -> Result<()> {
    let index = region_index(regions, row)?;
    let next = regions.get(index + 1).ok_or_else(|| {
        Error::invalid("the region is the last one, so it has no region to merge with")
    })?;
    block_on(admin.merge_regions(&regions[index].encoded_name, &next.encoded_name, false))
}

fn region_index(regions: &[RegionInfo], row: &[u8]) -> Result<usize> {
    regions
        .iter()
        .position(|region| region.contains(row))
        .ok_or_else(|| Error::new(ErrorKind::NoSuchRegion, "no region contains the row"))
}
