//! Handlers for the server: its name, its shutdown.

use halite_wire::proto as pb;

use super::state::RequestContext;
use crate::base::call::CallError;

/// Handles `GetServerInfo`.
pub(super) fn info(
    request_context: &RequestContext<'_>,
    _: &pb::GetServerInfoRequest,
) -> Result<pb::GetServerInfoResponse, CallError> {
    let webui_port = request_context.context.addresses.http.map(|web| u32::from(web.port()));
    Ok(pb::GetServerInfoResponse {
        server_info: pb::ServerInfo {
            server_name: request_context.peer.identity.region_server(),
            webui_port,
        },
    })
}

/// Handles `StopServer`: stops the process after the calls in progress.
pub(super) fn stop(
    request_context: &RequestContext<'_>,
    request: &pb::StopServerRequest,
) -> Result<pb::StopServerResponse, CallError> {
    request_context.context.stop.request(&format!(
        "{} asked the server to stop: {}",
        request_context.peer.user, request.reason
    ));
    Ok(pb::StopServerResponse {})
}

/// Handles `UpdateConfiguration`. Settings are read only at the start, so it fails: the caller has
/// changed a setting and relies on its effect.
pub(super) fn update_configuration(
    _: &RequestContext<'_>,
    _: &pb::UpdateConfigurationRequest,
) -> Result<pb::UpdateConfigurationResponse, CallError> {
    Err(CallError::do_not_retry(
        "the configuration is read at the start of the server only; start it again for changes to \
         hold",
    ))
}

/// Handles `GetCachedFilesList`. The cache holds blocks, and has no list of completely cached
/// files.
pub(super) fn cached_files(
    _: &RequestContext<'_>,
    _: &pb::GetCachedFilesListRequest,
) -> Result<pb::GetCachedFilesListResponse, CallError> {
    Ok(pb::GetCachedFilesListResponse { cached_files: Vec::new() })
}
