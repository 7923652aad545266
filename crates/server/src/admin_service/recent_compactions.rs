//! Recently requested compactions.
//!
//! A client that requests a compaction then polls its state and waits for its end. In HBase a
//! compaction takes some time. In Halite a small one ends before the reply to the request arrives,
//! as if it had never started. So a requested compaction is reported for at least
//! [`RECENT_PERIOD`].
//! [`RECENT_PERIOD`] at least.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halite_types::{CompactionKind, CompactionState};

use crate::outside::Instant;

/// Minimum time that a requested compaction is reported. In tests it exceeds the test's duration.
const RECENT_PERIOD: Duration =
    if cfg!(test) { Duration::from_mins(10) } else { Duration::from_millis(500) };

/// Times of the last compaction requests, by region.
#[derive(Debug, Default)]
pub(crate) struct RecentCompactions(Mutex<HashMap<String, Requests>>);

/// Last requests for one region.
#[derive(Clone, Copy, Debug, Default)]
struct Requests {
    minor: Option<Instant>,
    major: Option<Instant>,
}

impl Requests {
    fn is_recent(requested: Option<Instant>) -> bool {
        requested.is_some_and(|requested| requested.elapsed() < RECENT_PERIOD)
    }
}

impl RecentCompactions {
    /// Records a requested compaction that had work to do.
    pub(super) fn record(&self, region: &str, kind: CompactionKind) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, requests| {
            Requests::is_recent(requests.minor) || Requests::is_recent(requests.major)
        });
        let requests = known.entry(region.to_owned()).or_default();
        match kind {
            CompactionKind::Minor => requests.minor = Some(Instant::now()),
            CompactionKind::Major => requests.major = Some(Instant::now()),
        }
    }

    /// Returns the state to report for a region whose compactions are in the state `running`.
    pub(super) fn state(&self, region: &str, running: CompactionState) -> CompactionState {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = known.get(region).copied().unwrap_or_default();
        let minor = Requests::is_recent(requests.minor)
            || matches!(running, CompactionState::Minor | CompactionState::MajorAndMinor);
        let major = Requests::is_recent(requests.major)
            || matches!(running, CompactionState::Major | CompactionState::MajorAndMinor);
        match (minor, major) {
            (false, false) => CompactionState::None,
            (true, false) => CompactionState::Minor,
            (false, true) => CompactionState::Major,
            (true, true) => CompactionState::MajorAndMinor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_requests_are_reported_with_running_compactions() {
        let requested = RecentCompactions::default();
        let state = |region, running| requested.state(region, running);
        assert_eq!(state("r", CompactionState::Minor), CompactionState::Minor);
        requested.record("r", CompactionKind::Major);
        assert_eq!(state("r", CompactionState::None), CompactionState::Major);
        assert_eq!(state("r", CompactionState::Minor), CompactionState::MajorAndMinor);
        assert_eq!(state("other", CompactionState::None), CompactionState::None);
        requested.record("r", CompactionKind::Minor);
        assert_eq!(state("r", CompactionState::None), CompactionState::MajorAndMinor);
    }
}
