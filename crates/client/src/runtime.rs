//! The runtime that sockets and timers live on: the caller's, or one of our own for callers that have none.

use std::future::Future;
use std::task::Context;

use halite_types::{Error, Fut, Result};
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

/// A runtime to poll on.
pub(crate) struct Runtime {
    handle: Handle,
    own: Option<tokio::runtime::Runtime>,
}

impl Runtime {
    /// That of the caller if there is one; otherwise one thread is started.
    ///
    /// # Errors
    /// `Io` if no thread can be had.
    pub(crate) fn current_or_own() -> Result<Self> {
        if let Ok(handle) = Handle::try_current() {
            return Ok(Self { handle, own: None });
        }
        let started = Builder::new_multi_thread().worker_threads(1).thread_name("halite-client").enable_all().build();
        let own = started.map_err(|error| Error::io("starting the thread of the client", error))?;
        Ok(Self { handle: own.handle().clone(), own: Some(own) })
    }

    /// A future that may be polled on any thread.
    pub(crate) fn run<'a, T>(&'a self, future: impl Future<Output = Result<T>> + Send + 'a) -> Fut<'a, T> {
        Box::pin(async move {
            let mut future = std::pin::pin!(future);
            let poll = |context: &mut Context<'_>| {
                let _entered = Handle::try_current().is_err().then(|| self.handle.enter());
                future.as_mut().poll(context)
            };
            std::future::poll_fn(poll).await
        })
    }

    /// Starts something that goes on by itself, also when nobody holds what this returns.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.handle.spawn(task)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // The last handle may go inside a task, where a runtime must not be waited for.
        if let Some(own) = self.own.take() {
            own.shutdown_background();
        }
    }
}
