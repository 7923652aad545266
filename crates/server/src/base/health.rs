//! Health of the store at the last check (`health_check.rs`).
//!
//! The result is used by the log, by monitoring, and by the owner of the server, which ends the
//! process when the store has stopped.

use halite_engine::{Health, StoreState};
use halite_types::Error;
use tokio::sync::watch;

/// Result of the last check.
pub(crate) struct HealthMonitor {
    state: watch::Sender<HealthState>,
}

#[derive(Clone)]
struct HealthState {
    state: StoreState,
    reason: Option<Error>,
}

impl HealthMonitor {
    pub(crate) fn new(health: &Health) -> Self {
        Self {
            state: watch::Sender::new(HealthState {
                state: health.state,
                reason: health.reason.clone(),
            }),
        }
    }

    /// Returns the state at the last check, about one second ago at most.
    pub(crate) fn state(&self) -> StoreState {
        self.state.borrow().state
    }

    /// Sets the result of a check.
    pub(crate) fn set(&self, state: StoreState, reason: Option<Error>) {
        self.state.send_replace(HealthState { state, reason });
    }

    /// Waits until the store has permanently stopped accepting writes, and returns the reason.
    pub(crate) async fn stopped(&self) -> Option<Error> {
        let mut states = self.state.subscribe();
        let seen = states.wait_for(|seen| seen.state == StoreState::Stopped).await;
        seen.ok().and_then(|seen| seen.reason.clone())
    }
}

/// Returns the name of a state in metrics and on pages.
pub(crate) fn name(state: StoreState) -> &'static str {
    match state {
        StoreState::Open => "open",
        StoreState::Refusing => "refusing",
        StoreState::Stopped => "stopped",
    }
}
