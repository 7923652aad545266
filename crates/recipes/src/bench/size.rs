//! Bytes of the tables of a recipe on disk.

use anyhow::Result;

use crate::recipe::Site;

/// Flushes the tables of a namespace, and returns the bytes of their store files. A remote cluster
/// reports whole megabytes of each region, which may be some seconds old.
///
/// # Errors
/// Errors of the cluster.
pub fn stored_bytes(site: &Site) -> Result<u64> {
    for table in site.cluster.list_tables()? {
        if table.name().namespace() == site.namespace {
            site.cluster.flush(table.name())?;
        }
    }
    let status = site.cluster.cluster_status()?;
    let ours = status.regions.iter().filter(|load| load.region.table.namespace() == site.namespace);
    Ok(ours.map(|load| load.store_file_bytes).sum())
}
