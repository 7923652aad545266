//! Runtime of sockets and timers: the caller's, or a dedicated one if the caller has none.

use std::future::Future;
use std::task::Context;

use halite_types::{BoxFuture, Error, Result};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

/// Runtime for the client's tasks.
pub(crate) struct Runtime {
    handle: Handle,
    own: Option<tokio::runtime::Runtime>,
}

impl Runtime {
    /// Returns the caller's runtime if there is one; otherwise starts a thread.
    ///
    /// # Errors
    /// `Io` if the thread cannot be started.
    pub(crate) fn current_or_own() -> Result<Self> {
        if let Ok(handle) = Handle::try_current() {
            return Ok(Self { handle, own: None });
        }
        let started = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("halite-client")
            .enable_all()
            .build();
        let own = started.map_err(|error| Error::io("starting the thread of the client", error))?;
        Ok(Self { handle: own.handle().clone(), own: Some(own) })
    }

    /// Wraps a future so that it may be polled on any thread.
    pub(crate) fn run<'a, T>(
        &'a self,
        future: impl Future<Output = Result<T>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        Box::pin(async move {
            let mut future = std::pin::pin!(future);
            let poll = |context: &mut Context<'_>| {
                let _entered = Handle::try_current().is_err().then(|| self.handle.enter());
                future.as_mut().poll(context)
            };
            std::future::poll_fn(poll).await
        })
    }

    /// Starts a task that continues even if the returned handle is dropped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.handle.spawn(task)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // The last handle may be dropped inside a task, where waiting for a runtime is not allowed.
        if let Some(own) = self.own.take() {
            own.shutdown_background();
        }
    }
}
