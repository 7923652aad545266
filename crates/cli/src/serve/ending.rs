//! What ends a server: a signal from its first moment on, or a client. The first asks, and a signal behind it does not wait.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// How often, and how long apart, a directory is tried to be removed while other threads write into it.
const REMOVALS: usize = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// How a supervisor knows that the store could not write its log.
const LOG_FAILURE_CODE: i32 = 3;

/// Whether the server is to end.
#[derive(Clone)]
pub(crate) struct Ending {
    asked: Arc<watch::Sender<bool>>,
    temporary: Arc<OnceLock<PathBuf>>,
    is_open: Arc<AtomicBool>,
}

impl Ending {
    /// Listens for signals; from here on one is an end and not a death.
    ///
    /// # Errors
    /// The operating system's. It is called inside a runtime, which hears the signals.
    pub(crate) fn hear() -> anyhow::Result<Self> {
        let mut signals = Signals::new()?;
        let ending = Self { asked: Arc::new(watch::Sender::new(false)), temporary: Arc::default(), is_open: Arc::default() };
        let heard = ending.clone();
        tokio::spawn(async move {
            loop {
                let name = signals.next().await;
                if !heard.ask(name) {
                    heard.end_at_once(name);
                }
            }
        });
        Ok(ending)
    }

    /// Ends the process where the store does not come to be open so long after the end was asked for. Nobody was told it was ready, and
    /// what opening leaves undone the next start does. It is called inside the runtime.
    pub(crate) fn bounds_opening(&self, most: Duration) {
        let ending = self.clone();
        tokio::spawn(async move {
            ending.asked().await;
            tokio::time::sleep(most).await;
            if !ending.is_open.load(Ordering::Acquire) {
                tracing::warn!("the store was not open {} s after the end was asked for: ended without it", most.as_secs());
                ending.remove_temporary();
                std::process::exit(0);
            }
        });
    }

    /// The store is open; from here on it is closed in order.
    pub(crate) fn opened(&self) {
        self.is_open.store(true, Ordering::Release);
    }

    fn remove_temporary(&self) {
        if let Some(folder) = self.temporary.get() {
            remove(folder);
        }
    }

    /// Names a directory that goes with the server, however it ends.
    pub(crate) fn takes(&self, temporary: &Path) {
        // There is one place, and it is named once.
        let _ = self.temporary.set(temporary.to_owned());
    }

    /// Asks for the end; false if that was done before.
    pub(crate) fn ask(&self, why: &str) -> bool {
        let is_first = !self.asked.send_replace(true);
        if is_first {
            tracing::info!("{why}: ending; a signal from now on ends at once and leaves what is in memory to the log");
        }
        is_first
    }

    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Waits until somebody asks.
    pub(crate) async fn asked(&self) {
        // It cannot fail: this is the sender.
        let _ = self.asked.subscribe().wait_for(|asked| *asked).await;
    }

    fn end_at_once(&self, name: &str) -> ! {
        if let Some(folder) = self.temporary.get() {
            tracing::warn!("{name}: ended at once");
            remove(folder);
        } else {
            tracing::warn!("{name}: ended at once; the next start reads the log");
        }
        std::process::exit(1);
    }

    /// Ends the process because the store writes no more: what is acknowledged is in the log, and nothing else can be saved.
    pub(crate) fn end_for_failure(&self, reason: &str) -> ! {
        tracing::error!("ending with exit code {LOG_FAILURE_CODE}, as on-log-failure = exit says: {reason}");
        self.remove_temporary();
        std::process::exit(LOG_FAILURE_CODE);
    }
}

/// Removes a directory into which the store may still be writing, so that it may have to be done again.
fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
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

/// The signals that end a server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// `None` if it was ignored when the server was started, as `nohup` has it: then it is not to end the server.
    hangup: Option<Signal>,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let hear = |kind| signal(kind).context("listening for signals");
        let hangup = SignalKind::hangup();
        let is_ignored = std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(hangup, &status));
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

/// Whether a process ignores a signal, as `/proc/PID/status` tells it.
fn is_ignored(kind: SignalKind, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_mask() {
        let status = "Name:\thalite\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert_eq!([SignalKind::hangup(), SignalKind::interrupt(), SignalKind::pipe()].map(|kind| is_ignored(kind, status)), [true, false, true]);
        assert!(!is_ignored(SignalKind::hangup(), "Name:\thalite\n"));
    }
}
