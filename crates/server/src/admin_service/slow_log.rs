//! Handlers for slow and large calls: `get_slowlog_responses`, `get_largelog_responses` and
//! `clear_slowlog_responses` of HBase's shell.

use std::sync::Arc;

use halite_wire::proto as pb;
use pb::slow_log_payload::Type;
use pb::slow_log_response_request::{FilterByOperator, LogType};
use prost::Message as _;

use super::state::RequestContext;
use crate::base::call::CallError;
use crate::base::slow_calls::SlowCall;

/// Handles `GetSlowLogResponses` of clients before 2.5.
pub(super) fn slow_calls(
    request_context: &RequestContext<'_>,
    request: &pb::SlowLogResponseRequest,
) -> Result<pb::SlowLogResponses, CallError> {
    Ok(selected(request_context, request, LogType::SlowLog))
}

/// Handles `GetLargeLogResponses` of clients before 2.5.
pub(super) fn large_calls(
    request_context: &RequestContext<'_>,
    request: &pb::SlowLogResponseRequest,
) -> Result<pb::SlowLogResponses, CallError> {
    Ok(selected(request_context, request, LogType::LargeLog))
}

/// Handles `ClearSlowLogsResponses`. If calls are not recorded nothing is cleared, as in HBase.
pub(super) fn clear(
    request_context: &RequestContext<'_>,
    _: &pb::ClearSlowLogResponseRequest,
) -> Result<pb::ClearSlowLogResponses, CallError> {
    let log = &request_context.context.slow_calls;
    log.clear();
    Ok(pb::ClearSlowLogResponses { is_cleaned: log.is_enabled() })
}

/// Handles `GetLogEntries`: slow and large calls under the names of 2.5 and later.
pub(super) fn log_entries(
    request_context: &RequestContext<'_>,
    request: &pb::LogRequest,
) -> Result<pb::LogEntry, CallError> {
    let Some(package) = request.log_class_name.strip_suffix("SlowLogResponseRequest") else {
        return Err(CallError::do_not_retry("Invalid request params"));
    };
    let wanted = pb::SlowLogResponseRequest::decode(request.log_message.clone())
        .map_err(|error| CallError::do_not_retry(format!("undecodable request: {error}")))?;
    let calls = selected(request_context, &wanted, wanted.log_type());
    Ok(pb::LogEntry {
        log_class_name: format!("{package}SlowLogResponses"),
        log_message: calls.encode_to_vec().into(),
    })
}

/// Returns the recorded calls of a type that the filters of a request select, newest first.
fn selected(
    request_context: &RequestContext<'_>,
    request: &pb::SlowLogResponseRequest,
    log_type: LogType,
) -> pb::SlowLogResponses {
    let is_wanted = |call: &SlowCall| {
        let is_of_type = match log_type {
            LogType::SlowLog => call.is_slow,
            LogType::LargeLog => call.is_large,
        };
        is_of_type && takes(request, call)
    };
    let limit = usize::try_from(request.limit()).unwrap_or(usize::MAX);
    let calls = request_context.context.slow_calls.newest(limit, is_wanted);
    pb::SlowLogResponses { slow_log_payloads: calls.iter().map(payload).collect() }
}

/// Applies the filters of a request: a call passes one of them, or all of them with the operator
/// AND (HBase: `LogHandlerUtils`). Unlike there, a table is not the prefix of another's name.
fn takes(request: &pb::SlowLogResponseRequest, call: &SlowCall) -> bool {
    let given =
        |text: &str, passes: &dyn Fn(&str) -> bool| (!text.is_empty()).then(|| passes(text));
    let region = call.region.as_deref().unwrap_or_default();
    let results = [
        given(request.region_name(), &|name| name == region),
        given(request.table_name(), &|name| call.is_of_table(name)),
        given(request.client_address(), &|address| address == call.client_address),
        given(request.user_name(), &|user| user == call.user),
    ];
    let mut results = results.into_iter().flatten().peekable();
    if results.peek().is_none() {
        return true;
    }
    match request.filter_by_operator() {
        FilterByOperator::And => results.all(|passes| passes),
        FilterByOperator::Or => results.any(|passes| passes),
    }
}

fn payload(call: &Arc<SlowCall>) -> pb::SlowLogPayload {
    let kind = match (call.is_slow, call.is_large) {
        (true, true) => Type::All,
        (true, false) => Type::SlowLog,
        (false, _) => Type::LargeLog,
    };
    let millis = |time: std::time::Duration| i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    let count = |count: u32| i32::try_from(count).ok();
    let (gets, mutations, service_calls) = call.multi;
    pb::SlowLogPayload {
        start_time: i64::try_from(call.start_ms).unwrap_or(i64::MAX),
        processing_time: millis(call.processing),
        queue_time: millis(call.queued),
        response_size: i64::try_from(call.response_bytes).unwrap_or(i64::MAX),
        client_address: call.client_address.clone(),
        // The name that HBase's region server has there.
        server_class: "HRegionServer".to_owned(),
        method_name: call.method.to_owned(),
        call_details: format!("{}({})", call.method, call.details),
        param: Some(call.details.clone()),
        user_name: call.user.clone(),
        region_name: Some(call.region.clone().unwrap_or_default()),
        multi_gets: count(gets),
        multi_mutations: count(mutations),
        multi_service_calls: count(service_calls),
        r#type: kind as i32,
        ..pb::SlowLogPayload::default()
    }
}
