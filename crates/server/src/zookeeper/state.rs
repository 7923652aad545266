//! State shared by all ZooKeeper connections.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::sessions::Sessions;
use crate::base::context::Context;
use crate::outside::Instant;

/// Maximum concurrent large packets on all connections, up to 1 MiB each.
pub(super) const LARGE_PACKETS: usize = 32;

/// Shared state of all connections.
pub(super) struct ZooKeeperState {
    pub(super) context: Arc<Context>,
    pub(super) sessions: Sessions,
    pub(super) large_packets: Arc<Semaphore>,
    pub(super) started: Instant,
}

impl ZooKeeperState {
    pub(super) fn new(context: Arc<Context>) -> Self {
        let sessions = Sessions::new(context.start_code);
        Self {
            context,
            sessions,
            large_packets: Arc::new(Semaphore::new(LARGE_PACKETS)),
            started: Instant::now(),
        }
    }
}
