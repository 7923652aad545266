//! Shutdown signal for all tasks, and the request of a client that the process stops.
//!
//! The signal is a semaphore without permits. Closing it wakes the waiters in the order in which
//! they arrived. A `watch` channel wakes several waiters in random order, and a simulation must
//! control all randomness. The request has one waiter, the owner of the server, so it is one.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

/// Sender of the shutdown signal; dropping it sends the signal too.
pub(crate) struct ShutdownSender(Arc<Semaphore>);

/// Receiver of the shutdown signal. Cheap to clone; each task has its own.
#[derive(Clone)]
pub(crate) struct Shutdown(Arc<Semaphore>);

pub(crate) fn channel() -> (ShutdownSender, Shutdown) {
    let signal = Arc::new(Semaphore::new(0));
    (ShutdownSender(Arc::clone(&signal)), Shutdown(signal))
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

/// Request of a client that the process stops.
pub(crate) struct StopRequest(watch::Sender<Option<String>>);

impl Default for StopRequest {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl StopRequest {
    /// Requests the end of the process. The first request determines the reason.
    pub(crate) fn request(&self, why: &str) {
        self.0.send_if_modified(|reason| {
            reason.is_none() && reason.replace(why.to_owned()).is_none()
        });
    }

    /// Waits until a client requests the end of the process, and returns the reason.
    pub(crate) async fn requested(&self) -> String {
        let mut stop = self.0.subscribe();
        let reason = stop.wait_for(Option::is_some).await.map(|reason| reason.clone());
        // The sender lives as long as `self`.
        reason.ok().flatten().unwrap_or_default()
    }
}
