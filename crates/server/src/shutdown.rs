//! The wish that everything ends, heard by every task.
//!
//! A semaphore without permits, whose end wakes those who wait in the order in which they came. A `watch` wakes them by chance, and a
//! simulation is to have none that is not its own.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Makes the wish; dropped, too.
pub(crate) struct ShutdownSender(Arc<Semaphore>);

/// Hears the wish. Cheap to clone; each task has its own.
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
    /// Returns when everything is to end.
    pub(crate) async fn requested(&mut self) {
        // There are no permits, so this ends with the semaphore only.
        let _ = self.0.acquire().await;
    }

    /// Whether everything is to end by now, for whoever cannot wait.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.is_closed()
    }
}
