//! Shutdown triggers of a server: a signal, from startup on, or a client. The first signal requests
//! a shutdown; a second one exits immediately.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Maximum number of attempts to delete a directory while other threads write into it, and the
/// interval between them.
const MAX_REMOVALS: usize = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// Exit code that informs a supervisor of a failed log write.
const LOG_FAILURE_CODE: i32 = 3;

/// Shutdown request of the server.
#[derive(Clone)]
pub(crate) struct ShutdownSignal {
    requested: Arc<watch::Sender<bool>>,
    temporary: Arc<OnceLock<PathBuf>>,
    is_open: Arc<AtomicBool>,
}

impl ShutdownSignal {
    /// Registers the signal handlers. From here on a signal requests a shutdown instead of killing
    /// the process.
    ///
    /// # Errors
    /// Returns an error of the operating system. Must be called inside a runtime, which receives
    /// the signals.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let mut signals = Signals::new()?;
        let ending = Self {
            requested: Arc::new(watch::Sender::new(false)),
            temporary: Arc::default(),
            is_open: Arc::default(),
        };
        let heard = ending.clone();
        tokio::spawn(async move {
            loop {
                let name = signals.next().await;
                if !heard.request(name) {
                    heard.exit_now(name);
                }
            }
        });
        Ok(ending)
    }

    /// Exits the process if the store is not open `most` after the shutdown request. No client has
    /// been informed that the server is ready, and the next start finishes incomplete work. Must be
    /// called inside the runtime.
    pub(crate) fn limit_opening(&self, most: Duration) {
        let ending = self.clone();
        tokio::spawn(async move {
            ending.requested().await;
            tokio::time::sleep(most).await;
            if !ending.is_open.load(Ordering::Acquire) {
                tracing::warn!(
                    "the store was not open {} s after the request to stop: stopped without it",
                    most.as_secs()
                );
                ending.remove_temporary();
                std::process::exit(0);
            }
        });
    }

    /// Marks the store as open; from here on it is closed in order.
    pub(crate) fn mark_open(&self) {
        self.is_open.store(true, Ordering::Release);
    }

    fn remove_temporary(&self) {
        if let Some(folder) = self.temporary.get() {
            remove(folder);
        }
    }

    /// Registers a directory to delete when the server exits, normally or not.
    pub(crate) fn remove_on_exit(&self, temporary: &Path) {
        // There is only one directory, registered once.
        let _ = self.temporary.set(temporary.to_owned());
    }

    /// Requests the shutdown. Returns `false` if it was already requested.
    pub(crate) fn request(&self, why: &str) -> bool {
        let is_first = !self.requested.send_replace(true);
        if is_first {
            tracing::info!(
                "{why}: ending; a signal from now on ends at once and leaves what is in memory to \
                 the log"
            );
        }
        is_first
    }

    pub(crate) fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Waits for a shutdown request.
    pub(crate) async fn requested(&self) {
        // Cannot fail: the sender is alive.
        let _ = self.requested.subscribe().wait_for(|is_requested| *is_requested).await;
    }

    fn exit_now(&self, name: &str) -> ! {
        if let Some(folder) = self.temporary.get() {
            tracing::warn!("{name}: ended at once");
            remove(folder);
        } else {
            tracing::warn!("{name}: ended at once; the next start reads the log");
        }
        std::process::exit(1);
    }

    /// Exits the process because the store can no longer write: acknowledged writes are in the log,
    /// and nothing else can be saved.
    pub(crate) fn exit_on_failure(&self, reason: &str) -> ! {
        tracing::error!(
            "ending with exit code {LOG_FAILURE_CODE}, as on-log-failure = exit says: {reason}"
        );
        self.remove_temporary();
        std::process::exit(LOG_FAILURE_CODE);
    }
}

/// Deletes a directory into which the store may still write, which may require several attempts.
fn remove(folder: &Path) {
    for _ in 0..MAX_REMOVALS {
        let removed = std::fs::remove_dir_all(folder);
        if !folder.exists() {
            return;
        }
        if let Err(error) = removed {
            tracing::debug!(%error, "removing {}", folder.display());
        }
        std::thread::sleep(REMOVAL_PAUSE);
    }
    tracing::warn!("{} could not be removed", folder.display());
}

/// Signals that stop a server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// `None` if SIGHUP was ignored when the server started, as under `nohup`; it then does not
    /// stop the server.
    hangup: Option<Signal>,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let hear = |kind| signal(kind).context("listening for signals");
        let hangup = SignalKind::hangup();
        let is_ignored = std::fs::read_to_string("/proc/self/status")
            .is_ok_and(|status| is_ignored(hangup, &status));
        Ok(Self {
            terminate: hear(SignalKind::terminate())?,
            interrupt: hear(SignalKind::interrupt())?,
            hangup: if is_ignored { None } else { Some(hear(hangup)?) },
        })
    }

    async fn next(&mut self) -> &'static str {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hangup => "SIGHUP",
        }
    }
}

/// Returns `true` if a process ignores a signal, according to `/proc/PID/status`.
fn is_ignored(kind: SignalKind, status: &str) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_mask() {
        let status = "Name:\thalite\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert_eq!(
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::pipe()]
                .map(|kind| is_ignored(kind, status)),
            [true, false, true]
        );
        assert!(!is_ignored(SignalKind::hangup(), "Name:\thalite\n"));
    }
}
