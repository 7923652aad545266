//! Scanners that are open on servers: kept alive while the consumer is busy with the rows it has.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use halite_wire::service::ClientScan;
use tokio::time::Instant;

use super::request;
use crate::connection::Connection;
use crate::shared::Shared;

/// Leases are renewed after this part of their time, and no sooner than this: a server that says less is not to be flooded.
const PART: u32 = 3;
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// A scanner on a server, which forgets it when nobody asks for it for a while.
pub(super) struct Lease {
    connection: Arc<Connection>,
    scanner_id: u64,
    /// How long it may be left alone.
    pause: Duration,
    begun: Instant,
    /// Milliseconds from `begun` to the last call for it.
    touched_ms: AtomicU64,
}

impl Lease {
    pub(super) fn scanner_id(&self) -> u64 {
        self.scanner_id
    }

    /// The server hears of the scanner now.
    pub(super) fn touch(&self) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.touched_ms.store(ms, Ordering::Relaxed);
    }

    /// When it is to be renewed if nothing is heard of it until then.
    fn due(&self) -> Instant {
        self.begun + Duration::from_millis(self.touched_ms.load(Ordering::Relaxed)) + self.pause
    }

    /// The answer is of no use: a scanner that is gone shows at the next call.
    fn renew(&self) {
        self.connection.send_and_forget::<ClientScan>(&request::renew(self.scanner_id));
        self.touch();
    }
}

/// The scanners of one client, and whether somebody renews them.
#[derive(Default)]
pub(crate) struct Leases(Mutex<State>);

#[derive(Default)]
struct State {
    leases: Vec<Weak<Lease>>,
    is_kept: bool,
}

impl Leases {
    /// Keeps a scanner alive for as long as the lease is held.
    pub(super) fn add(shared: &Arc<Shared>, connection: &Arc<Connection>, scanner_id: u64, lease_ms: u64) -> Arc<Lease> {
        let (pause, begun) = ((Duration::from_millis(lease_ms) / PART).max(PAUSE_MIN), Instant::now());
        let lease = Arc::new(Lease { connection: Arc::clone(connection), scanner_id, pause, begun, touched_ms: AtomicU64::new(0) });
        let mut state = shared.leases.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.leases.push(Arc::downgrade(&lease));
        if !std::mem::replace(&mut state.is_kept, true) {
            drop(shared.runtime.spawn(keep(Arc::downgrade(shared))));
        }
        drop(state);
        lease
    }

    /// Renews what is due; gives when to come again, or nothing if no scanner is open any more.
    fn renew(&self) -> Option<Instant> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.leases.retain(|lease| lease.strong_count() > 0);
        let leases: Vec<Arc<Lease>> = state.leases.iter().filter_map(Weak::upgrade).collect();
        state.is_kept = !leases.is_empty();
        drop(state);
        let now = Instant::now();
        leases.iter().filter(|lease| lease.due() <= now).for_each(|lease| lease.renew());
        leases.iter().map(|lease| lease.due()).min()
    }
}

/// Renews leases until none is held. One that is added meanwhile may be short, so nobody sleeps for long.
async fn keep(shared: Weak<Shared>) {
    const SLEEP_MAX: Duration = Duration::from_secs(1);
    loop {
        let Some(due) = shared.upgrade().and_then(|shared| shared.leases.renew()) else { return };
        tokio::time::sleep_until(due.min(Instant::now() + SLEEP_MAX)).await;
    }
}
