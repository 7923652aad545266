//! Any cluster behind the seam as a subject of the battery: one table of a given name, made anew for each case.

use std::sync::Arc;

use bytes::Bytes;
use halite_types::{
    Admin, Cluster, CompactionKind, Error, ErrorKind, FamilyDescriptor, Get, OpResult, RegionInfo, Result, Row, RowOp, Scan, Table, TableDescriptor,
    TableExt as _, TableName, block_on,
};

use crate::runner::{Merge, Subject};
use crate::script::Change;

/// A table on a cluster whose clock cannot be moved.
pub struct OnCluster {
    cluster: Arc<dyn Cluster>,
    name: TableName,
    exists: bool,
}

impl OnCluster {
    /// With a table of this name, which must not exist.
    pub fn new(cluster: Arc<dyn Cluster>, name: TableName) -> Self {
        Self { cluster, name, exists: false }
    }

    /// Takes the table of the last case away.
    ///
    /// # Errors
    /// As the cluster's.
    pub fn drop_table(&mut self) -> Result<()> {
        if std::mem::take(&mut self.exists) {
            let admin = self.cluster.admin();
            block_on(admin.disable_table(&self.name))?;
            block_on(admin.drop_table(&self.name))?;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        self.flush()?;
        self.merge(Merge::Major)
    }

    fn table(&self) -> Result<Arc<dyn Table>> {
        if self.exists { Ok(self.cluster.table(&self.name)) } else { Err(Error::new(ErrorKind::NoSuchTable, "the case creates no table")) }
    }
}

impl Subject for OnCluster {
    fn set_clock(&mut self, _: i64) {}

    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()> {
        self.drop_table()?;
        block_on(self.cluster.admin().create_table(descriptor(self.name.clone(), families), splits))?;
        self.exists = true;
        Ok(())
    }

    /// Before and after it everything is brought into one file of each family, so that nothing depends on whether the cluster
    /// writes or merges files by itself meanwhile: HBase flushes what it closes, and rewrites the files of a region that was split
    /// before it may be merged.
    fn change(&mut self, change: &Change) -> Result<()> {
        self.settle()?;
        change_table(&*self.cluster, &self.name, change)?;
        self.settle()
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        block_on(self.table()?.apply(ops))
    }

    fn get(&mut self, get: Get) -> Result<Row> {
        Ok(block_on(self.table()?.get_one(get))?.unwrap_or_default())
    }

    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>> {
        let mut stream = self.table()?.scan(scan);
        std::iter::from_fn(|| block_on(stream.next()).transpose()).collect()
    }

    fn flush(&mut self) -> Result<()> {
        block_on(self.cluster.admin().flush(&self.name))
    }

    fn merge(&mut self, how: Merge) -> Result<()> {
        match how {
            Merge::Major => block_on(self.cluster.admin().compact(&self.name, None, CompactionKind::Major)),
            Merge::Minor | Merge::Unasked => Err(Error::new(ErrorKind::Unsupported, "nobody tells a cluster which files to merge")),
        }
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        Err(Error::new(ErrorKind::Unsupported, "a cluster does not name its files"))
    }
}

/// A table of these families in which no files are merged unless somebody says so.
pub fn descriptor(name: TableName, families: Vec<FamilyDescriptor>) -> TableDescriptor {
    families.into_iter().map(unmerged).fold(TableDescriptor::new(name), TableDescriptor::family)
}

fn unmerged(family: FamilyDescriptor) -> FamilyDescriptor {
    family.set("hbase.hstore.compaction.min", 1000).set("hbase.hstore.compaction.max", 1000)
}

/// Does to a table what a script says.
///
/// # Errors
/// As the cluster's; `InvalidRequest` if the region to be merged is the last one.
pub fn change_table(cluster: &dyn Cluster, name: &TableName, change: &Change) -> Result<()> {
    let admin = cluster.admin();
    match change {
        Change::Alter(families) => {
            let mut table = TableDescriptor::clone(&*block_on(cluster.table(name).descriptor())?);
            families.iter().for_each(|family| table.set_family(unmerged(family.clone())));
            block_on(admin.alter_table(table))
        }
        Change::Truncate => {
            block_on(admin.disable_table(name))?;
            block_on(admin.truncate_table(name, true))
        }
        Change::Split(row) => {
            let regions = block_on(cluster.table(name).regions())?;
            block_on(admin.split_region(&regions[region_of(&regions, row)?].encoded_name, Some(row.clone())))
        }
        Change::Merge(row) => merge(&*admin, &block_on(cluster.table(name).regions())?, row),
    }
}

fn merge(admin: &dyn Admin, regions: &[RegionInfo], row: &[u8]) -> Result<()> {
    let at = region_of(regions, row)?;
    let next = regions.get(at + 1).ok_or_else(|| Error::invalid("the region is the last one; there is none to merge it with"))?;
    block_on(admin.merge_regions(&regions[at].encoded_name, &next.encoded_name, false))
}

fn region_of(regions: &[RegionInfo], row: &[u8]) -> Result<usize> {
    regions.iter().position(|region| region.contains(row)).ok_or_else(|| Error::new(ErrorKind::NoSuchRegion, "no region holds the row"))
}
