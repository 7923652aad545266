//! Slow and large calls: the newest ones, for the page and for `get_slowlog_responses` of HBase's
//! shell (HBase: `SlowLogQueueService`).
//!
//! A call is slow if its processing took longer than a limit, without the wait for a thread and
//! with the wait for the log, and large if its response has more bytes than another (HBase:
//! `hbase.ipc.warn.response.time` and `.size`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::call::Call;
use crate::base::call_description::{CallDescription, describe};
use crate::config::SlowCallLimits;

/// Maximum bytes of all recorded calls; the oldest give way.
const MAX_BYTES: usize = 4 << 20;

/// Slow or large call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowCall {
    /// Number that rises with every recorded call.
    pub number: u64,
    /// Time at which processing began, in milliseconds since 1970.
    pub start_ms: u64,
    /// Duration without the wait for a thread.
    pub processing: Duration,
    /// Wait for a thread.
    pub queued: Duration,
    /// Bytes of the response.
    pub response_bytes: u64,
    /// Address and port of the client.
    pub client_address: String,
    /// User of the client; may be empty.
    pub user: String,
    /// Name of the method, as in HBase's protocol.
    pub method: &'static str,
    /// Full name of the region in the text form of HBase's shell, if the call is about one.
    pub region: Option<String>,
    /// What was asked, at most about 1 KiB.
    pub details: String,
    /// Gets, mutations and calls of endpoints of a multi.
    pub multi: (u32, u32, u32),
    /// `true` if the call took longer than the limit.
    pub is_slow: bool,
    /// `true` if the response is larger than the limit.
    pub is_large: bool,
}

impl SlowCall {
    /// Returns `true` if the call is about a region of this table.
    pub fn is_of_table(&self, table: &str) -> bool {
        let region = self.region.as_deref().unwrap_or_default();
        region.strip_prefix(table).is_some_and(|rest| rest.starts_with(','))
    }

    fn bytes(&self) -> usize {
        let region = self.region.as_ref().map_or(0, String::len);
        size_of::<Self>()
            + self.client_address.len()
            + self.user.len()
            + self.details.len()
            + region
    }
}

/// Duration and response of an answered call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallCost {
    pub(crate) processing: Duration,
    pub(crate) queued: Duration,
    pub(crate) response_bytes: usize,
}

/// Newest slow and large calls.
#[derive(Debug)]
pub struct SlowCallLog {
    limits: SlowCallLimits,
    number: AtomicU64,
    calls: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    calls: VecDeque<Arc<SlowCall>>,
    bytes: usize,
}

impl SlowCallLog {
    pub(crate) fn new(limits: SlowCallLimits) -> Self {
        Self { limits, number: AtomicU64::new(0), calls: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if calls are recorded.
    pub fn is_enabled(&self) -> bool {
        self.limits.is_enabled
    }

    /// Records a call that was slow or large. `now_ms` returns the time in milliseconds since 1970.
    #[inline]
    pub(crate) fn add(&self, call: &Call, cost: CallCost, now_ms: impl FnOnce() -> u64) {
        let is_slow = cost.processing > Duration::from_millis(self.limits.slow_call_ms);
        let is_large = cost.response_bytes as u64 > self.limits.large_response_bytes;
        if (is_slow || is_large) && self.limits.is_enabled {
            self.record(call, cost, (is_slow, is_large), now_ms());
        }
    }

    #[cold]
    fn record(&self, call: &Call, cost: CallCost, (is_slow, is_large): (bool, bool), now_ms: u64) {
        let CallDescription { region, details, multi } = describe(call);
        let processing_ms = u64::try_from(cost.processing.as_millis()).unwrap_or(u64::MAX);
        self.push(SlowCall {
            number: self.number.fetch_add(1, Relaxed) + 1,
            start_ms: now_ms.saturating_sub(processing_ms),
            processing: cost.processing,
            queued: cost.queued,
            response_bytes: cost.response_bytes as u64,
            client_address: call.peer.address.to_string(),
            user: call.peer.user.clone(),
            method: call.method.name(),
            region,
            details,
            multi,
            is_slow,
            is_large,
        });
    }

    fn push(&self, call: SlowCall) {
        let mut recorded = self.lock();
        recorded.bytes += call.bytes();
        recorded.calls.push_back(Arc::new(call));
        while recorded.calls.len() > self.limits.slow_log_calls || recorded.bytes > MAX_BYTES {
            let Some(oldest) = recorded.calls.pop_front() else { break };
            recorded.bytes -= oldest.bytes();
        }
    }

    /// Returns the newest recorded calls that are wanted, newest first, at most `limit`.
    pub fn newest(
        &self,
        limit: usize,
        is_wanted: impl Fn(&SlowCall) -> bool,
    ) -> Vec<Arc<SlowCall>> {
        let recorded = self.lock();
        let wanted = recorded.calls.iter().rev().filter(|call| is_wanted(call));
        wanted.take(limit).cloned().collect()
    }

    /// Forgets the recorded calls.
    pub(crate) fn clear(&self) {
        *self.lock() = Recorded::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(slow_log_calls: usize) -> SlowCallLog {
        SlowCallLog::new(SlowCallLimits { slow_log_calls, ..SlowCallLimits::default() })
    }

    fn call(number: u64, region: &str) -> SlowCall {
        SlowCall { number, region: Some(region.to_owned()), ..SlowCall::default() }
    }

    #[test]
    fn oldest_calls_give_way_by_number_and_bytes() {
        let log = log(100);
        (1..=150).for_each(|number| log.push(call(number, "t,,1.a.")));
        let kept = log.newest(1000, |_| true);
        assert_eq!((kept.len(), kept[0].number, kept[99].number), (100, 150, 51));
        let large = "k".repeat(MAX_BYTES / 8);
        (0..20).for_each(|number| log.push(call(number, &large)));
        assert!(log.newest(1000, |_| true).len() < 8);
        assert!(log.lock().bytes <= MAX_BYTES);
        log.clear();
        assert_eq!((log.newest(9, |_| true).len(), log.lock().bytes), (0, 0));
    }

    #[test]
    fn table_of_call_is_exact() {
        let of = |region: &str, table: &str| call(1, region).is_of_table(table);
        assert!(of("ns:t,row,1.ab.", "ns:t"));
        assert!(!of("ns:t2,row,1.ab.", "ns:t") && !of("ns:t", "ns:t"));
        assert!(!SlowCall::default().is_of_table("t"));
    }
}
