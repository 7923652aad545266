//! Handlers for the cluster's only server: its state, its shutdown, and lists of other servers.

use halite_wire::convert::server;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use pb::security_capabilities_response::Capability;

use super::request_context::RequestContext;
use crate::base::call::CallError;

/// Handles `IsMasterRunning`, which clients before 3.0 send before each of their calls.
pub(super) fn is_running(
    _: &RequestContext<'_>,
    _: &pb::IsMasterRunningRequest,
) -> Result<pb::IsMasterRunningResponse, CallError> {
    Ok(pb::IsMasterRunningResponse { is_master_running: true })
}

/// Handles `IsMasterInMaintenanceMode`. Halite has no such mode.
pub(super) fn is_in_maintenance(
    _: &RequestContext<'_>,
    _: &pb::IsInMaintenanceModeRequest,
) -> Result<pb::IsInMaintenanceModeResponse, CallError> {
    Ok(pb::IsInMaintenanceModeResponse { in_maintenance_mode: false })
}

/// Handles `getSecurityCapabilities`. Client identities are not verified.
pub(super) fn capabilities(
    _: &RequestContext<'_>,
    _: &pb::SecurityCapabilitiesRequest,
) -> Result<pb::SecurityCapabilitiesResponse, CallError> {
    Ok(pb::SecurityCapabilitiesResponse {
        capabilities: vec![Capability::SimpleAuthentication.into()],
    })
}

/// Handles `Shutdown`: stops the process after the calls in progress.
pub(super) fn shutdown(
    request_context: &RequestContext<'_>,
    _: &pb::ShutdownRequest,
) -> Result<pb::ShutdownResponse, CallError> {
    request_context
        .context
        .stop
        .request(&format!("{} asked the cluster to shut down", request_context.peer.user));
    Ok(pb::ShutdownResponse {})
}

/// Handles `StopMaster`. The master is the whole process.
pub(super) fn stop(
    request_context: &RequestContext<'_>,
    _: &pb::StopMasterRequest,
) -> Result<pb::StopMasterResponse, CallError> {
    request_context
        .context
        .stop
        .request(&format!("{} asked the master to stop", request_context.peer.user));
    Ok(pb::StopMasterResponse {})
}

/// Handles `ListDecommissionedRegionServers`.
pub(super) fn decommissioned(
    request_context: &RequestContext<'_>,
    _: &pb::ListDecommissionedRegionServersRequest,
) -> Result<pb::ListDecommissionedRegionServersResponse, CallError> {
    Ok(pb::ListDecommissionedRegionServersResponse {
        server_name: request_context.state.decommissioned_servers.names(),
    })
}

/// Handles `DecommissionRegionServers`: lists the server. Its regions stay, since no other exists.
pub(super) fn decommission(
    request_context: &RequestContext<'_>,
    request: &pb::DecommissionRegionServersRequest,
) -> Result<pb::DecommissionRegionServersResponse, CallError> {
    let own = request_context.peer.identity.region_server_name();
    let mut is_own_listed = false;
    for server in &request.server_name {
        is_own_listed |= server::from_proto(server)? == own;
    }
    if is_own_listed {
        request_context.state.decommissioned_servers.change(|servers| servers.insert(own));
    }
    let has_regions = request_context
        .engine()
        .descriptors()
        .iter()
        .any(|table| request_context.engine().is_enabled(table.name()).unwrap_or(false));
    if request.offload && has_regions && is_own_listed {
        return Err(CallError::do_not_retry(
            "Unable to determine a plan to move the regions of the only server; decommission it \
             without offload",
        ));
    }
    Ok(pb::DecommissionRegionServersResponse {})
}

/// Handles `RecommissionRegionServer`.
pub(super) fn recommission(
    request_context: &RequestContext<'_>,
    request: &pb::RecommissionRegionServerRequest,
) -> Result<pb::RecommissionRegionServerResponse, CallError> {
    let server = server::from_proto(&request.server_name)?;
    request_context.state.decommissioned_servers.change(|servers| servers.remove(&server));
    Ok(pb::RecommissionRegionServerResponse {})
}

/// Handles `ClearDeadServers`: returns the servers that were not on the list of dead servers, which
/// is empty.
pub(super) fn clear_dead(
    _: &RequestContext<'_>,
    request: &pb::ClearDeadServersRequest,
) -> Result<pb::ClearDeadServersResponse, CallError> {
    Ok(pb::ClearDeadServersResponse { server_name: request.server_name.clone() })
}

/// Handles `FlushMasterStore`. Every change of the catalog is written to disk.
pub(super) fn flush_store(
    _: &RequestContext<'_>,
    _: &pb::FlushMasterStoreRequest,
) -> Result<pb::FlushMasterStoreResponse, CallError> {
    Ok(pb::FlushMasterStoreResponse {})
}

/// Handles `ExecMasterService`. The master has no endpoints.
pub(super) fn endpoint(
    _: &RequestContext<'_>,
    request: &pb::CoprocessorServiceRequest,
) -> Result<pb::CoprocessorServiceResponse, CallError> {
    let name = &request.call.service_name;
    let text =
        format!("No registered Master Coprocessor Endpoint found for {name}. Has it been enabled?");
    Err(CallError::new(ExceptionKind::UnknownProtocol, text))
}

/// Handles `GetLogEntries`: returns the balancer's decisions, of which there are none.
pub(super) fn log_entries(
    _: &RequestContext<'_>,
    request: &pb::LogRequest,
) -> Result<pb::LogEntry, CallError> {
    let known = ["BalancerDecisionsRequest", "BalancerRejectionsRequest"];
    match known.into_iter().find(|name| request.log_class_name.ends_with(name)) {
        Some(name) => {
            let answer = request.log_class_name.strip_suffix("Request").unwrap_or(name);
            Ok(pb::LogEntry {
                log_class_name: format!("{answer}Response"),
                log_message: bytes::Bytes::new(),
            })
        }
        None => Err(CallError::do_not_retry("Invalid request params")),
    }
}

/// Checks that a region may move to a server: to this one, or to an unspecified one.
///
/// # Errors
/// `DoNotRetryIOException` for another server.
pub(super) fn check_destination(
    request_context: &RequestContext<'_>,
    destination: Option<&pb::ServerName>,
) -> Result<(), CallError> {
    let Some(destination) = destination else { return Ok(()) };
    let (destination, own) =
        (server::from_proto(destination)?, request_context.peer.identity.region_server_name());
    if destination == own {
        return Ok(());
    }
    let text = format!("there is no server {destination}; all regions are on {own}");
    Err(CallError::do_not_retry(text))
}
