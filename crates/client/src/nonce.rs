//! Numbers that make a call known when it comes twice, so that a server does not add twice.

use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of one client.
pub(crate) struct Nonces {
    group: u64,
    next: AtomicU64,
}

impl Default for Nonces {
    fn default() -> Self {
        // 0 stands for no nonce.
        Self { group: fastrand::u64(1..), next: AtomicU64::new(fastrand::u64(1..u64::MAX / 2)) }
    }
}

impl Nonces {
    /// The number of this client among all.
    pub(crate) fn group(&self) -> u64 {
        self.group
    }

    /// A number that no other call of this client has.
    pub(crate) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}
