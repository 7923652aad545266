//! The servers of the cluster, of which there is one: its state, its end, lists of others.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use pb::security_capabilities_response::Capability;

use super::asked::Asked;
use super::names::server_text;
use crate::call::Fault;

/// What is known of servers.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// `host,port,startcode` of those that shall take no more regions.
    decommissioned: Mutex<BTreeSet<(String, u32, u64)>>,
}

impl Servers {
    fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<(String, u32, u64)>) -> T) -> T {
        change(&mut self.decommissioned.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those that shall take no more regions.
    pub(crate) fn decommissioned(&self) -> Vec<pb::ServerName> {
        let message =
            |(host, port, code): &(String, u32, u64)| pb::ServerName { host_name: host.clone(), port: Some(*port), start_code: Some(*code) };
        self.change(|servers| servers.iter().map(message).collect())
    }
}

fn key(server: &pb::ServerName) -> (String, u32, u64) {
    (server.host_name.clone(), server.port(), server.start_code())
}

/// `IsMasterRunning`, which clients of before 3.0 ask before every call of theirs.
pub(super) fn is_running(_: &Asked<'_>, _: &pb::IsMasterRunningRequest) -> Result<pb::IsMasterRunningResponse, Fault> {
    Ok(pb::IsMasterRunningResponse { is_master_running: true })
}

/// `IsMasterInMaintenanceMode`: there is no such mode.
pub(super) fn is_in_maintenance(_: &Asked<'_>, _: &pb::IsInMaintenanceModeRequest) -> Result<pb::IsInMaintenanceModeResponse, Fault> {
    Ok(pb::IsInMaintenanceModeResponse { in_maintenance_mode: false })
}

/// `getSecurityCapabilities`: clients are who they say they are.
pub(super) fn capabilities(_: &Asked<'_>, _: &pb::SecurityCapabilitiesRequest) -> Result<pb::SecurityCapabilitiesResponse, Fault> {
    Ok(pb::SecurityCapabilitiesResponse { capabilities: vec![Capability::SimpleAuthentication.into()] })
}

/// `Shutdown`: ends the process after the calls at hand.
pub(super) fn shutdown(asked: &Asked<'_>, _: &pb::ShutdownRequest) -> Result<pb::ShutdownResponse, Fault> {
    asked.context.master.request_stop(&format!("{} asked the cluster to shut down", asked.peer.user));
    Ok(pb::ShutdownResponse {})
}

/// `StopMaster`: the master is the whole process here.
pub(super) fn stop(asked: &Asked<'_>, _: &pb::StopMasterRequest) -> Result<pb::StopMasterResponse, Fault> {
    asked.context.master.request_stop(&format!("{} asked the master to stop", asked.peer.user));
    Ok(pb::StopMasterResponse {})
}

/// `ListDecommissionedRegionServers`.
pub(super) fn decommissioned(
    asked: &Asked<'_>,
    _: &pb::ListDecommissionedRegionServersRequest,
) -> Result<pb::ListDecommissionedRegionServersResponse, Fault> {
    Ok(pb::ListDecommissionedRegionServersResponse { server_name: asked.context.master.servers.decommissioned() })
}

/// `DecommissionRegionServers`: the server is listed. Its regions stay, since there is no other.
pub(super) fn decommission(
    asked: &Asked<'_>,
    request: &pb::DecommissionRegionServersRequest,
) -> Result<pb::DecommissionRegionServersResponse, Fault> {
    let own = key(&asked.peer.identity.region_server());
    let known = request.server_name.iter().map(key).filter(|server| *server == own);
    asked.context.master.servers.change(|servers| servers.extend(known));
    let has_regions = asked.engine().descriptors().iter().any(|table| asked.engine().is_enabled(table.name()).unwrap_or(false));
    if request.offload && has_regions && request.server_name.iter().any(|server| key(server) == own) {
        return Err(Fault::do_not_retry("Unable to determine a plan to move the regions of the only server; decommission it without offload"));
    }
    Ok(pb::DecommissionRegionServersResponse {})
}

/// `RecommissionRegionServer`.
pub(super) fn recommission(asked: &Asked<'_>, request: &pb::RecommissionRegionServerRequest) -> Result<pb::RecommissionRegionServerResponse, Fault> {
    asked.context.master.servers.change(|servers| servers.remove(&key(&request.server_name)));
    Ok(pb::RecommissionRegionServerResponse {})
}

/// `ClearDeadServers`: gives back those that were not on the list of dead servers, which is empty.
pub(super) fn clear_dead(_: &Asked<'_>, request: &pb::ClearDeadServersRequest) -> Result<pb::ClearDeadServersResponse, Fault> {
    Ok(pb::ClearDeadServersResponse { server_name: request.server_name.clone() })
}

/// `FlushMasterStore`: the catalog is on the disk with every change.
pub(super) fn flush_store(_: &Asked<'_>, _: &pb::FlushMasterStoreRequest) -> Result<pb::FlushMasterStoreResponse, Fault> {
    Ok(pb::FlushMasterStoreResponse {})
}

/// `ExecMasterService`: the master has no endpoints.
pub(super) fn endpoint(_: &Asked<'_>, request: &pb::CoprocessorServiceRequest) -> Result<pb::CoprocessorServiceResponse, Fault> {
    let name = &request.call.service_name;
    let text = format!("No registered Master Coprocessor Endpoint found for {name}. Has it been enabled?");
    Err(Fault::new(ExceptionKind::UnknownProtocol, text))
}

/// `GetLogEntries`: decisions of the balancer, which takes none.
pub(super) fn log_entries(_: &Asked<'_>, request: &pb::LogRequest) -> Result<pb::LogEntry, Fault> {
    let known = ["BalancerDecisionsRequest", "BalancerRejectionsRequest"];
    match known.into_iter().find(|name| request.log_class_name.ends_with(name)) {
        Some(name) => {
            let answer = request.log_class_name.strip_suffix("Request").unwrap_or(name);
            Ok(pb::LogEntry { log_class_name: format!("{answer}Response"), log_message: bytes::Bytes::new() })
        }
        None => Err(Fault::do_not_retry("Invalid request params")),
    }
}

/// Checks that a region may go to a server: to this one, or to wherever it likes.
///
/// # Errors
/// `DoNotRetryIOException` for a server that is not here.
pub(super) fn check_destination(asked: &Asked<'_>, destination: Option<&pb::ServerName>) -> Result<(), Fault> {
    let own = asked.peer.identity.region_server();
    match destination {
        Some(server) if key(server) != key(&own) => {
            let text = format!("there is no server {}; all regions are on {}", server_text(server), server_text(&own));
            Err(Fault::do_not_retry(text))
        }
        _ => Ok(()),
    }
}
