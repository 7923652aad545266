//! Stop of a run: Ctrl-C and SIGTERM end it in order, the second one immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

/// Exit code of a process that is ended by Ctrl-C, as shells report it.
const INTERRUPTED_CODE: i32 = 130;

/// Request to stop. Clones refer to the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopRequest(Arc<AtomicBool>);

impl StopRequest {
    /// Creates a request that SIGINT and SIGTERM make.
    ///
    /// # Errors
    /// Returns an error of the operating system.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let stop = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (mut interrupt, mut terminate) = {
            let _guard = runtime.enter();
            let listen = |kind| signal(kind).context("listening for signals");
            (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?)
        };
        let requested = stop.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    if requested.0.swap(true, Ordering::Relaxed) {
                        std::process::exit(INTERRUPTED_CODE);
                    }
                }
            });
        })?;
        Ok(stop)
    }

    pub(crate) fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
