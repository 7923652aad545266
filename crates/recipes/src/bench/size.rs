//! Bytes of the tables of a recipe on disk.

use anyhow::Result;

use crate::recipe::Site;

/// Flushes the tables of a namespace, and returns the bytes of their store files. A remote cluster
/// reports whole megabytes of each region, which may be some seconds old.
///
/// # Errors
/// Errors of the cluster.
pub fn stored_bytes(site: &Site) -> Result<u64> {
    bytes_of(site, |_| true)
}

/// Returns what [`stored_bytes`] does, of one table of the namespace.
pub(crate) fn table_bytes(site: &Site, table: &str) -> Result<u64> {
    bytes_of(site, |name| name == table)
}

fn bytes_of(site: &Site, counts: impl Fn(&str) -> bool) -> Result<u64> {
    let ours =
        |name: &halite::TableName| name.namespace() == site.namespace && counts(name.qualifier());
    for table in site.cluster.list_tables()? {
        if ours(table.name()) {
            site.cluster.flush(table.name())?;
        }
    }
    let status = site.cluster.cluster_status()?;
    let loads = status.regions.iter().filter(|load| ours(&load.region.table));
    Ok(loads.map(|load| load.store_file_bytes).sum())
}
