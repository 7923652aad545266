//! Metrics of all regions, which the master collects from the servers.

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
    let request = pb::GetClusterStatusRequest { options: vec![pb::Option::LiveServers.into()] };
    let response = master::call::<MasterGetClusterStatus>(shared, &request).await?;
    let rows = region_rows(shared, meta::all_regions()).await?;
    let mut by_name: HashMap<Vec<u8>, _> =
        rows.into_iter().map(|row| (row.region.full_name(), row)).collect();
    let mut sequences = HashMap::new();
    let mut status = status::cluster_status_from_proto(&response.cluster_status, |name| {
        let row = by_name.remove(name)?;
        sequences.insert(row.region.encoded_name.clone(), row.open_sequence);
        Some(row.region)
    });
    for load in &mut status.regions {
        load.open_sequence = sequences.get(&load.region.encoded_name).copied().unwrap_or(0);
    }
    Ok(status)
}
