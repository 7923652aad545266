//! Compactions that clients have asked for a moment ago.
//!
//! Whoever asks for a compaction looks next whether it goes on, and waits for its end. In HBase it does for some time; here a
//! small one is over before the answer to the request has arrived, and would look like one that was never begun. So one that
//! was asked for is told for [`MOMENT`] at least.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halite_types::{CompactionKind, CompactionState};

use crate::outside::Instant;

/// How long a compaction that was asked for is told at least. In a test as long as the test takes.
const MOMENT: Duration = if cfg!(test) { Duration::from_mins(10) } else { Duration::from_millis(500) };

/// When compactions were asked for last.
#[derive(Debug, Default)]
pub(crate) struct RequestedCompactions(Mutex<HashMap<String, Requests>>);

/// The last requests for one region.
#[derive(Clone, Copy, Debug, Default)]
struct Requests {
    minor: Option<Instant>,
    major: Option<Instant>,
}

impl Requests {
    fn is_recent(at: Option<Instant>) -> bool {
        at.is_some_and(|at| at.elapsed() < MOMENT)
    }
}

impl RequestedCompactions {
    /// A compaction was asked for, and there was something to do.
    pub(super) fn note(&self, region: &str, kind: CompactionKind) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, requests| Requests::is_recent(requests.minor) || Requests::is_recent(requests.major));
        let requests = known.entry(region.to_owned()).or_default();
        match kind {
            CompactionKind::Minor => requests.minor = Some(Instant::now()),
            CompactionKind::Major => requests.major = Some(Instant::now()),
        }
    }

    /// What to tell of a region whose compactions stand like this.
    pub(super) fn state(&self, region: &str, running: CompactionState) -> CompactionState {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = known.get(region).copied().unwrap_or_default();
        let minor = Requests::is_recent(requests.minor) || matches!(running, CompactionState::Minor | CompactionState::MajorAndMinor);
        let major = Requests::is_recent(requests.major) || matches!(running, CompactionState::Major | CompactionState::MajorAndMinor);
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
    fn what_was_asked_for_a_moment_ago_is_told_beside_what_runs() {
        let requested = RequestedCompactions::default();
        let state = |region, running| requested.state(region, running);
        assert_eq!(state("r", CompactionState::Minor), CompactionState::Minor);
        requested.note("r", CompactionKind::Major);
        assert_eq!(state("r", CompactionState::None), CompactionState::Major);
        assert_eq!(state("r", CompactionState::Minor), CompactionState::MajorAndMinor);
        assert_eq!(state("other", CompactionState::None), CompactionState::None);
        requested.note("r", CompactionKind::Minor);
        assert_eq!(state("r", CompactionState::None), CompactionState::MajorAndMinor);
    }
}
