//! Leases of open scanners, which are renewed while the consumer processes rows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use halite_wire::service::ClientScan;
use tokio::time::Instant;

use super::request;
use crate::connection::Connection;
use crate::shared::ClientInner;

/// Renewals per lease period, and minimum interval between them: a server with a very short lease
/// must not be flooded.
const RENEWALS_PER_LEASE: u32 = 3;
const MIN_RENEWAL_INTERVAL: Duration = Duration::from_millis(100);

/// Scanner on a server. The server closes it after an idle period.
pub(super) struct ScannerLease {
    connection: Arc<Connection>,
    scanner_id: u64,
    /// Maximum idle time before a renewal.
    renewal_interval: Duration,
    begun: Instant,
    /// Milliseconds from `begun` to the last call for it.
    touched_ms: AtomicU64,
}

impl ScannerLease {
    pub(super) fn scanner_id(&self) -> u64 {
        self.scanner_id
    }

    /// Records a call for the scanner.
    pub(super) fn touch(&self) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.touched_ms.store(ms, Ordering::Relaxed);
    }

    /// Returns the time of the next renewal if no call precedes it.
    fn due(&self) -> Instant {
        self.begun
            + Duration::from_millis(self.touched_ms.load(Ordering::Relaxed))
            + self.renewal_interval
    }

    /// Sends a renewal. Its response is ignored: the next call reports a lost scanner.
    fn renew(&self) {
        self.connection.send_oneway::<ClientScan>(&request::renew(self.scanner_id));
        self.touch();
    }
}

/// Leases of one client's scanners, and the state of the renewal task.
#[derive(Default)]
pub(crate) struct LeaseRenewer(Mutex<LeaseState>);

#[derive(Default)]
struct LeaseState {
    leases: Vec<Weak<ScannerLease>>,
    is_running: bool,
}

impl LeaseRenewer {
    /// Keeps a scanner alive for as long as the lease is held.
    pub(super) fn add(
        shared: &Arc<ClientInner>,
        connection: &Arc<Connection>,
        scanner_id: u64,
        lease_ms: u64,
    ) -> Arc<ScannerLease> {
        let (pause, begun) = (
            (Duration::from_millis(lease_ms) / RENEWALS_PER_LEASE).max(MIN_RENEWAL_INTERVAL),
            Instant::now(),
        );
        let lease = Arc::new(ScannerLease {
            connection: Arc::clone(connection),
            scanner_id,
            renewal_interval: pause,
            begun,
            touched_ms: AtomicU64::new(0),
        });
        let mut state = shared.lease_renewer.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.leases.push(Arc::downgrade(&lease));
        if !std::mem::replace(&mut state.is_running, true) {
            drop(shared.runtime.spawn(run_renewals(Arc::downgrade(shared))));
        }
        drop(state);
        lease
    }

    /// Renews the leases that are due. Returns the time of the next renewal, or `None` if no
    /// scanner is open.
    fn renew(&self) -> Option<Instant> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.leases.retain(|lease| lease.strong_count() > 0);
        let leases: Vec<Arc<ScannerLease>> =
            state.leases.iter().filter_map(Weak::upgrade).collect();
        state.is_running = !leases.is_empty();
        drop(state);
        let now = Instant::now();
        leases.iter().filter(|lease| lease.due() <= now).for_each(|lease| lease.renew());
        leases.iter().map(|lease| lease.due()).min()
    }
}

/// Renews leases until none is held. A lease added during a sleep may be short, so the sleep is
/// bounded.
async fn run_renewals(shared: Weak<ClientInner>) {
    const MAX_SLEEP: Duration = Duration::from_secs(1);
    loop {
        let Some(due) = shared.upgrade().and_then(|shared| shared.lease_renewer.renew()) else {
            return;
        };
        tokio::time::sleep_until(due.min(Instant::now() + MAX_SLEEP)).await;
    }
}
