//! What the master reports of its servers beyond the metrics of regions.

use std::sync::Arc;

use halite_types::{RegionInfo, Result, ServerName};
use halite_wire::convert::server;
use halite_wire::proto as pb;
use halite_wire::service::MasterGetClusterStatus;

use super::master;
use crate::shared::ClientInner;

/// Report of a cluster's master.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterReport {
    /// Version of HBase, such as `2.6.4`; empty if the master does not say.
    pub version: String,
    /// Live region servers, those without regions too.
    pub servers: Vec<ServerReport>,
}

/// Report of a region server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerReport {
    /// Name.
    pub name: ServerName,
    /// Its regions.
    pub regions: Vec<RegionReport>,
}

/// Report of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionReport {
    /// Encoded name.
    pub encoded_name: String,
    /// Part of its bytes on the disks of its server, 0 to 1.
    pub locality: Option<f32>,
}

/// Reads the report, in one call.
pub(crate) async fn read(shared: &Arc<ClientInner>) -> Result<ClusterReport> {
    let options = vec![pb::Option::HbaseVersion.into(), pb::Option::LiveServers.into()];
    let request = pb::GetClusterStatusRequest { options };
    let status = master::call::<MasterGetClusterStatus>(shared, &request).await?.cluster_status;
    Ok(ClusterReport {
        servers: status.live_servers.iter().map(of_server).collect::<Result<_>>()?,
        version: status.hbase_version.map(|known| known.version).unwrap_or_default(),
    })
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

fn of_server(live: &pb::LiveServerInfo) -> Result<ServerReport> {
    let regions = live.server_load.region_loads.iter().filter_map(of_region).collect();
    Ok(ServerReport { name: server::from_proto(&live.server)?, regions })
}

/// Returns the report of a region, except that of `hbase:meta`, whose name has another form.
fn of_region(load: &pb::RegionLoad) -> Option<RegionReport> {
    Some(RegionReport {
        encoded_name: RegionInfo::encoded_name_in(&load.region_specifier.value)?.to_owned(),
        locality: load.data_locality.filter(|part| (0.0..=1.0).contains(part)),
    })
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
