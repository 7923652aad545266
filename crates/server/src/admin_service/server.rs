//! The server itself: who it is, its end, its slow calls, which are counted and not kept.

use halite_wire::proto as pb;

use crate::call::Fault;
use crate::master_service::asked::Asked;

/// `GetServerInfo`.
pub(super) fn info(asked: &Asked<'_>, _: &pb::GetServerInfoRequest) -> Result<pb::GetServerInfoResponse, Fault> {
    let webui_port = asked.context.addresses.web.map(|web| u32::from(web.port()));
    Ok(pb::GetServerInfoResponse { server_info: pb::ServerInfo { server_name: asked.peer.identity.region_server(), webui_port } })
}

/// `StopServer`: ends the process after the calls at hand.
pub(super) fn stop(asked: &Asked<'_>, request: &pb::StopServerRequest) -> Result<pb::StopServerResponse, Fault> {
    asked.context.master.request_stop(&format!("{} asked the server to stop: {}", asked.peer.user, request.reason));
    Ok(pb::StopServerResponse {})
}

/// `UpdateConfiguration`: settings are read at the start only. Whoever asks has changed one and waits for it to hold.
pub(super) fn update_configuration(_: &Asked<'_>, _: &pb::UpdateConfigurationRequest) -> Result<pb::UpdateConfigurationResponse, Fault> {
    Err(Fault::do_not_retry("the configuration is read at the start of the server only; start it again for changes to hold"))
}

/// `GetSlowLogResponses` and `GetLargeLogResponses`: none is kept, as in HBase unless it is told to.
pub(super) fn slow_calls(_: &Asked<'_>, _: &pb::SlowLogResponseRequest) -> Result<pb::SlowLogResponses, Fault> {
    Ok(pb::SlowLogResponses { slow_log_payloads: Vec::new() })
}

/// `ClearSlowLogsResponses`: as in HBase without the buffer that keeps them (`hbase.regionserver.slowlog.buffer.enabled`),
/// nothing is cleared.
pub(super) fn clear_slow_calls(_: &Asked<'_>, _: &pb::ClearSlowLogResponseRequest) -> Result<pb::ClearSlowLogResponses, Fault> {
    Ok(pb::ClearSlowLogResponses { is_cleaned: false })
}

/// `GetLogEntries`: slow calls under the names of 2.5 and later.
pub(super) fn log_entries(_: &Asked<'_>, request: &pb::LogRequest) -> Result<pb::LogEntry, Fault> {
    match request.log_class_name.strip_suffix("SlowLogResponseRequest") {
        Some(package) => Ok(pb::LogEntry { log_class_name: format!("{package}SlowLogResponses"), log_message: bytes::Bytes::new() }),
        None => Err(Fault::do_not_retry("Invalid request params")),
    }
}

/// `GetCachedFilesList`: the cache holds blocks, and keeps no list of files that are in it as a whole.
pub(super) fn cached_files(_: &Asked<'_>, _: &pb::GetCachedFilesListRequest) -> Result<pb::GetCachedFilesListResponse, Fault> {
    Ok(pb::GetCachedFilesListResponse { cached_files: Vec::new() })
}
