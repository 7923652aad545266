//! Engine clock that follows the time of the simulated network.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use halite_engine::env::Clock;

/// Initial time of the clock, in milliseconds since 1970: September 2001.
const BEGIN_MS: i64 = 1_000_000_000_000;

/// Clock of a machine. It outlives the processes on it.
#[derive(Debug, Default)]
pub struct WorldClock {
    /// Milliseconds waited within one moment of the network's time.
    ahead_ms: AtomicI64,
}

impl WorldClock {
    fn elapsed() -> Duration {
        turmoil::sim_elapsed().unwrap_or_default()
    }
}

impl Clock for WorldClock {
    fn now_ms(&self) -> i64 {
        BEGIN_MS
            + i64::try_from(Self::elapsed().as_millis()).unwrap_or(i64::MAX / 2)
            + self.ahead_ms.load(Relaxed)
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(Self::elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn wait_until_after(&self, ms: i64) -> bool {
        // The network's time does not advance while a process is executing; the clock of this
        // machine advances a little.
        let remaining_ms = ms + 1 - self.now_ms();
        self.ahead_ms.fetch_add(remaining_ms.max(0), Relaxed);
        true
    }
}
