//! Handlers for the server: its name, its shutdown, and its slow calls, which are not recorded.

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

/// Handles `GetSlowLogResponses` and `GetLargeLogResponses`. No call is recorded, as in HBase by
/// default.
pub(super) fn slow_calls(
    _: &RequestContext<'_>,
    _: &pb::SlowLogResponseRequest,
) -> Result<pb::SlowLogResponses, CallError> {
    Ok(pb::SlowLogResponses { slow_log_payloads: Vec::new() })
}

/// Handles `ClearSlowLogsResponses`. As in HBase without the slow log buffer
/// (`hbase.regionserver.slowlog.buffer.enabled`), nothing is cleared.
pub(super) fn clear_slow_calls(
    _: &RequestContext<'_>,
    _: &pb::ClearSlowLogResponseRequest,
) -> Result<pb::ClearSlowLogResponses, CallError> {
    Ok(pb::ClearSlowLogResponses { is_cleaned: false })
}

/// Handles `GetLogEntries`: slow calls under the names of 2.5 and later.
pub(super) fn log_entries(
    _: &RequestContext<'_>,
    request: &pb::LogRequest,
) -> Result<pb::LogEntry, CallError> {
    match request.log_class_name.strip_suffix("SlowLogResponseRequest") {
        Some(package) => Ok(pb::LogEntry {
            log_class_name: format!("{package}SlowLogResponses"),
            log_message: bytes::Bytes::new(),
        }),
        None => Err(CallError::do_not_retry("Invalid request params")),
    }
}

/// Handles `GetCachedFilesList`. The cache holds blocks, and has no list of completely cached
/// files.
pub(super) fn cached_files(
    _: &RequestContext<'_>,
    _: &pb::GetCachedFilesListRequest,
) -> Result<pb::GetCachedFilesListResponse, CallError> {
    Ok(pb::GetCachedFilesListResponse { cached_files: Vec::new() })
}
