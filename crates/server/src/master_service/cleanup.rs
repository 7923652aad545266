//! Periodic cleanup of expired snapshots and of the catalog.

use super::state::Master;

/// Deletes snapshots whose time to live has expired, if the cleanup switch is on. Returns their
/// names.
pub(crate) fn delete_expired_snapshots(master: &Master) -> Vec<String> {
    if !master.switches.snapshot_cleanup.get() {
        return Vec::new();
    }
    match master.context.engine.delete_expired_snapshots() {
        Ok(names) => {
            names.iter().for_each(|name| {
                tracing::info!("snapshot {name} is deleted: its time to live is over");
            });
            names
        }
        Err(error) => {
            tracing::warn!("deleting snapshots whose time to live is over: {error}");
            Vec::new()
        }
    }
}

/// Runs the work of HBase's catalog janitor, if its switch is on.
pub(crate) fn clean_catalog(master: &Master) {
    if !master.switches.catalog_janitor.get() {
        return;
    }
    match master.context.engine.clear_merge_parents() {
        Ok(0) => {}
        Ok(cleaned) => {
            tracing::debug!("{cleaned} merged regions have let go of those they were merged from");
        }
        Err(error) => tracing::warn!(
            "merged regions could not let go of those they were merged from: {error}"
        ),
    }
}
