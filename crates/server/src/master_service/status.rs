//! `GetClusterStatus`: the state of the cluster, or the requested parts of it.

use std::collections::{BTreeMap, BTreeSet};

use halite_types::TableName;
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::proto as pb;
use pb::Option as Part;

use super::request_context::RequestContext;
use super::server_load::server_load;
use crate::base::call::CallError;
use crate::base::names::meta_table;

/// Version that clients receive. It begins with the version of HBase whose behavior this server
/// has.
const VERSION: &str = concat!("2.6.4-halite-", env!("CARGO_PKG_VERSION"));
/// `UNKNOWN_SERVERS` of 2.6, which is `DECOMMISSIONED_SERVERS` in 3.0, both in the options and in
/// the reply.
const PART_13: i32 = Part::UnknownServers as i32;

/// Handles `GetClusterStatus`. No option means all of them (HBase:
/// `HMaster.getClusterMetricsWithoutCoprocessor`).
pub(super) fn cluster_status(
    request_context: &RequestContext<'_>,
    request: &pb::GetClusterStatusRequest,
) -> Result<pb::GetClusterStatusResponse, CallError> {
    let wanted: BTreeSet<i32> = request.options.iter().copied().collect();
    let wants = |part: Part| wanted.is_empty() || wanted.contains(&(part as i32));
    let context = request_context.context;
    let (master, server) =
        (request_context.peer.identity.master(), request_context.peer.identity.region_server());
    let mut status = pb::ClusterStatus::default();
    if wants(Part::HbaseVersion) {
        status.hbase_version = Some(pb::HBaseVersionFileContent { version: VERSION.to_owned() });
    }
    if wants(Part::ClusterId) {
        status.cluster_id = Some(pb::ClusterId { cluster_id: context.cluster_id.clone() });
    }
    if wants(Part::LiveServers) {
        status.live_servers = vec![pb::LiveServerInfo {
            server: server.clone(),
            server_load: server_load(request_context.state),
        }];
    }
    if wants(Part::Master) {
        status.master = Some(master);
    }
    if wants(Part::BalancerOn) {
        status.balancer_on = Some(request_context.state.switches.balancer.get());
    }
    if wants(Part::MasterInfoPort) {
        status.master_info_port = context.addresses.http.map(|web| i32::from(web.port()));
    }
    if wants(Part::ServersName) {
        status.servers_name = vec![server];
    }
    if wants(Part::TableToRegionsCount) {
        status.table_region_states_count = region_counts(request_context);
    }
    if wants(Part::Tasks) {
        status.master_tasks = tasks(request_context);
    }
    let is_newer = request_context.peer.version.is_some_and(|(major, _)| major >= 3);
    if is_newer && (wanted.is_empty() || wanted.contains(&PART_13)) {
        // 3.0 reads decommissioned servers from this field.
        status.unknown_servers = request_context.state.decommissioned_servers.names();
    }
    Ok(pb::GetClusterStatusResponse { cluster_status: status })
}

/// Returns the number of regions per table and state. Those of a disabled table are closed.
fn region_counts(request_context: &RequestContext<'_>) -> Vec<pb::TableRegionStatesCount> {
    let mut counts: BTreeMap<TableName, (usize, bool)> =
        BTreeMap::from([(meta_table(), (1, true))]);
    for table in request_context.engine().descriptors() {
        let name = table.name();
        if let (Ok(regions), Ok(enabled)) =
            (request_context.engine().regions(name), request_context.engine().is_enabled(name))
        {
            counts.insert(name.clone(), (regions.len(), enabled));
        }
    }
    let message = |(name, (regions, enabled)): (TableName, (usize, bool))| {
        let total_regions = u32::try_from(regions).unwrap_or(u32::MAX);
        let (open_regions, closed_regions) =
            if enabled { (total_regions, 0) } else { (0, total_regions) };
        let states = pb::RegionStatesCount {
            open_regions,
            split_regions: 0,
            closed_regions,
            regions_in_transition: 0,
            total_regions,
        };
        pb::TableRegionStatesCount {
            table_name: table_name_to_proto(&name),
            region_states_count: states,
        }
    };
    counts.into_iter().map(message).collect()
}

/// Returns the procedures that wait or run.
fn tasks(request_context: &RequestContext<'_>) -> Vec<pb::ServerTask> {
    let all = request_context.state.procedures.all();
    let running = all.into_iter().filter(|(_, procedure)| procedure.outcome.is_none());
    running
        .map(|(id, procedure)| pb::ServerTask {
            description: format!("pid={id}, {}", procedure.name),
            status: format!("requested by {}", procedure.owner),
            state: pb::server_task::State::Running.into(),
            start_time: Some(procedure.submitted_ms),
            completion_time: None,
        })
        .collect()
}
