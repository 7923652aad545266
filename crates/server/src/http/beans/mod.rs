//! HBase's beans under their own names, with the attributes that Halite has values for.
//!
//! Names and order were read from `/jmx` of HBase 2.6.4. Attributes that Halite does not count are
//! omitted: a dashboard then shows a gap instead of a false 0.

pub(super) mod bean;
mod jvm;
mod master;
mod region_server;
mod regions;

use self::bean::Bean;
use super::snapshot::MetricsSnapshot;

/// Returns all beans.
pub(super) fn all(snapshot: &MetricsSnapshot<'_>) -> Vec<Bean> {
    let mut beans = vec![
        region_server::server(snapshot),
        region_server::ipc(snapshot),
        region_server::wal(snapshot),
        regions::regions(snapshot),
        regions::tables(snapshot),
        master::server(snapshot),
        master::assignment_manager(snapshot),
        master::ipc(snapshot),
    ];
    beans.extend(jvm::all(snapshot));
    beans
}
