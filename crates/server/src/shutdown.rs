//! Shutdown signal for all tasks.
//!
//! It is a semaphore without permits. Closing it wakes the waiters in the order in which they
//! arrived. A `watch` channel wakes them randomly, and a simulation must control all randomness.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Sender of the shutdown signal; dropping it sends the signal too.
pub(crate) struct ShutdownSender(Arc<Semaphore>);

/// Receiver of the shutdown signal. Cheap to clone; each task has its own.
#[derive(Clone)]
pub(crate) struct Shutdown(Arc<Semaphore>);

pub(crate) fn channel() -> (ShutdownSender, Shutdown) {
    let wish = Arc::new(Semaphore::new(0));
    (ShutdownSender(Arc::clone(&wish)), Shutdown(wish))
}

impl ShutdownSender {
    pub(crate) fn request(&self) {
        self.0.close();
    }
}

impl Drop for ShutdownSender {
    fn drop(&mut self) {
        self.request();
    }
}

impl Shutdown {
    /// Waits for the shutdown signal.
    pub(crate) async fn requested(&mut self) {
        // The semaphore has no permits, so this returns only when it is closed.
        let _ = self.0.acquire().await;
    }

    /// Returns `true` if shutdown was requested, for callers that cannot wait.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.is_closed()
    }
}
