//! Servers and metrics of all regions, which the master collects.

use std::collections::HashMap;
use std::sync::Arc;

use halite_types::{ClusterStatus, Result};
use halite_wire::convert::{meta, status};
use halite_wire::proto as pb;
use halite_wire::service::MasterGetClusterStatus;

use super::master;
use crate::shared::ClientInner;
use crate::table::region_rows;

/// Reads the cluster status. It identifies regions only by name; `hbase:meta` contains their
/// ranges.
pub(super) async fn read(shared: &Arc<ClientInner>) -> Result<ClusterStatus> {
    let options = [
        pb::Option::HbaseVersion,
        pb::Option::LiveServers,
        pb::Option::DeadServers,
        pb::Option::Master,
        pb::Option::BackupMasters,
    ];
    let request = pb::GetClusterStatusRequest { options: options.map(i32::from).to_vec() };
    let response = master::call::<MasterGetClusterStatus>(shared, &request).await?;
    let rows = region_rows(shared, meta::all_regions()).await?;
    let mut by_name: HashMap<Vec<u8>, _> =
        rows.into_iter().map(|row| (row.region.full_name(), row)).collect();
    let mut sequences = HashMap::new();
    let mut status = status::cluster_status_from_proto(&response.cluster_status, |name| {
        let row = by_name.remove(name)?;
        sequences.insert(row.region.encoded_name.clone(), row.open_sequence);
        Some(row.region)
    })?;
    for load in &mut status.regions {
        load.open_sequence = sequences.get(&load.region.encoded_name).copied().unwrap_or(0);
    }
    Ok(status)
}

/// Returns `true` if the cluster is one of Halite, which merges cells and says so in its version.
pub(super) async fn merges_cells(shared: &Arc<ClientInner>) -> Result<bool> {
    let request = pb::GetClusterStatusRequest { options: vec![pb::Option::HbaseVersion.into()] };
    let status = master::call::<MasterGetClusterStatus>(shared, &request).await?.cluster_status;
    Ok(status.hbase_version.is_some_and(|known| is_of_halite(&known.version)))
}

fn is_of_halite(version: &str) -> bool {
    version.contains("-halite-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_hbase_merge_no_cells() {
        assert!(is_of_halite("2.6.4-halite-0.1.0"));
        for hbase in ["2.6.4", "3.0.0-beta-1", "2.5.11-hadoop3", "2.4.17-SNAPSHOT", ""] {
            assert!(!is_of_halite(hbase), "{hbase}");
        }
    }
}
