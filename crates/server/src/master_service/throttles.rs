//! Limits within a quota, one for each kind of request.

use halite_wire::proto as pb;
use pb::{ThrottleType, TimeUnit};

use crate::base::call::CallError;

/// Returns the limit of one kind.
fn limit(throttle: &mut pb::Throttle, kind: ThrottleType) -> &mut Option<pb::TimedQuota> {
    match kind {
        ThrottleType::RequestNumber => &mut throttle.req_num,
        ThrottleType::RequestSize => &mut throttle.req_size,
        ThrottleType::WriteNumber => &mut throttle.write_num,
        ThrottleType::WriteSize => &mut throttle.write_size,
        ThrottleType::ReadNumber => &mut throttle.read_num,
        ThrottleType::ReadSize => &mut throttle.read_size,
        ThrottleType::RequestCapacityUnit => &mut throttle.req_capacity_unit,
        ThrottleType::WriteCapacityUnit => &mut throttle.write_capacity_unit,
        ThrottleType::ReadCapacityUnit => &mut throttle.read_capacity_unit,
        ThrottleType::AtomicReadSize => &mut throttle.atomic_read_size,
        ThrottleType::AtomicRequestNumber => &mut throttle.atomic_req_num,
        ThrottleType::AtomicWriteSize => &mut throttle.atomic_write_size,
        ThrottleType::RequestHandlerUsageMs => &mut throttle.req_handler_usage_ms,
    }
}

fn kind(request: &pb::ThrottleRequest) -> Option<ThrottleType> {
    ThrottleType::try_from(request.r#type?).ok()
}

/// Returns the limits with the requested one.
///
/// # Errors
/// `DoNotRetryIOException` for an invalid kind or limit.
pub(super) fn merged(
    mut throttle: pb::Throttle,
    request: &pb::ThrottleRequest,
) -> Result<pb::Throttle, CallError> {
    let kind = kind(request).ok_or_else(|| {
        CallError::do_not_retry(format!("there is no throttle of the type {:?}", request.r#type))
    })?;
    let quota = request.timed_quota.unwrap_or_default();
    if quota.soft_limit() < 1 {
        return Err(CallError::do_not_retry("The throttle limit must be greater then 0"));
    }
    *limit(&mut throttle, kind) = Some(quota);
    Ok(throttle)
}

/// Returns the limits without the named one; `None` if none is left or no kind is named.
pub(super) fn without(
    throttle: Option<&pb::Throttle>,
    request: &pb::ThrottleRequest,
) -> Option<pb::Throttle> {
    let mut throttle = *throttle?;
    *limit(&mut throttle, kind(request)?) = None;
    (throttle != pb::Throttle::default()).then_some(throttle)
}

/// Checks that the limits of the servers permit clients to exceed theirs.
///
/// # Errors
/// `DoNotRetryIOException` with HBase's texts.
pub(super) fn check_may_exceed(throttle: Option<&pb::Throttle>) -> Result<(), CallError> {
    let Some(throttle) = throttle else {
        return Err(CallError::do_not_retry(
            "Please set region server quota before enable exceed throttle quota",
        ));
    };
    let general = [&throttle.req_num, &throttle.req_size, &throttle.req_capacity_unit];
    let reads = [&throttle.read_num, &throttle.read_size, &throttle.read_capacity_unit];
    let writes = [&throttle.write_num, &throttle.write_size, &throttle.write_capacity_unit];
    let any = |limits: &[&Option<pb::TimedQuota>]| limits.iter().any(|limit| limit.is_some());
    if !any(&general) {
        if !any(&reads) {
            return Err(CallError::do_not_retry(
                "Please set at least one read region server quota before enable exceed throttle \
                 quota",
            ));
        }
        if !any(&writes) {
            return Err(CallError::do_not_retry(
                "Please set at least one write region server quota before enable exceed throttle \
                 quota",
            ));
        }
    }
    let all = general.into_iter().chain(reads).chain(writes).flatten();
    if all.into_iter().any(|limit| limit.time_unit() != TimeUnit::Seconds) {
        let text =
            "All region server quota must be in seconds time unit if enable exceed throttle quota";
        return Err(CallError::do_not_retry(text));
    }
    Ok(())
}
