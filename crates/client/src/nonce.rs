//! Numbers that identify a repeated call, so that a server does not apply it twice.

use std::sync::atomic::{AtomicU64, Ordering};

/// Nonces of one client.
pub(crate) struct NonceGenerator {
    group: u64,
    next: AtomicU64,
}

impl Default for NonceGenerator {
    fn default() -> Self {
        // 0 means no nonce.
        Self { group: fastrand::u64(1..), next: AtomicU64::new(fastrand::u64(1..u64::MAX / 2)) }
    }
}

impl NonceGenerator {
    /// Returns the number that identifies this client.
    pub(crate) fn group(&self) -> u64 {
        self.group
    }

    /// Returns a number that no other call of this client has.
    pub(crate) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}
