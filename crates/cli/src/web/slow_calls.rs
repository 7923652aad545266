//! Slow calls of a server in the form of the page.

use halite_server::SlowCallLog;
use halite_types::{Error, ErrorKind, Result};
use halite_web::{Page, SlowCall, SlowCallQuery};

use super::numbered::{number_before, page_of};

/// Returns the slow calls that a query selects, newest first. The number of the last one continues
/// the list.
///
/// # Errors
/// `Unsupported` if no calls are recorded; `InvalidRequest` for a continuation that no answer
/// contained.
pub(super) fn slow_calls(
    log: Option<&SlowCallLog>,
    query: &SlowCallQuery,
) -> Result<Page<SlowCall>> {
    let Some(log) = log.filter(|log| log.is_enabled()) else {
        let text = "slow calls are not recorded; halite serve --slow-log true records them";
        return Err(Error::new(ErrorKind::Unsupported, text));
    };
    let before = number_before(query.next.as_deref())?;
    let table = query.table.as_ref().map(ToString::to_string);
    let found = log.newest(query.limit, |call| {
        before.is_none_or(|before| call.number < before)
            && table.as_ref().is_none_or(|table| call.is_of_table(table))
            && query.min_ms.is_none_or(|least| call.processing.as_millis() >= u128::from(least))
    });
    Ok(page_of(found, query.limit, |call| call.number, |call| view(&call)))
}

fn view(call: &halite_server::SlowCall) -> SlowCall {
    SlowCall {
        start_time: call.start_ms,
        processing_ms: call.processing.as_secs_f64() * 1000.0,
        queue_ms: call.queued.as_secs_f64() * 1000.0,
        response_bytes: call.response_bytes,
        block_bytes_scanned: None,
        client_address: call.client_address.clone(),
        method_name: call.method.to_owned(),
        call_details: call.details.clone(),
        region_name: call.region.clone(),
        user_name: Some(call.user.clone()).filter(|user| !user.is_empty()),
        fingerprint: None,
    }
}
