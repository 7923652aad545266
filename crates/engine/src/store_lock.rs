//! The lock of a store: taken once, and examined again before each step that another process must not see half done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::{Error, ErrorKind, Result};

use crate::catalog::layout;
use crate::env::{Env, Lock};

/// The oldest examination that a group of writes to an open log segment relies on, in nanoseconds.
const EXAMINED_NS_MAX: u64 = 1_000_000_000;

/// Another process cannot open the directory while this lives.
///
/// A lock that was lost stays lost, even if the directory comes back: what another process did there meanwhile is unknown.
pub(crate) struct StoreLock {
    env: Env,
    lock: Box<dyn Lock>,
    lost: OnceLock<Error>,
    /// When it was examined last, on the monotonic clock.
    examined_ns: AtomicU64,
}

impl StoreLock {
    /// Takes the lock. The directory of the lock file exists.
    ///
    /// # Errors
    /// `Locked` if another process holds it, or the file system's.
    pub(crate) fn take(env: &Env) -> Result<Self> {
        let root = env.fs.root();
        let name = format!("{root}/{}", layout::LOCK);
        let lock = env.fs.lock(layout::LOCK, "").map_err(|error| Error::io(format!("locking {name}"), error))?;
        let lock = lock.ok_or_else(|| {
            let text = format!("{root} is held by another process ({name} is locked); close that one, or use another directory");
            Error::new(ErrorKind::Locked, text)
        })?;
        let examined_ns = AtomicU64::new(env.clock.monotonic_ns());
        Ok(Self { env: env.clone(), lock, lost: OnceLock::new(), examined_ns })
    }

    /// Verifies that no other process can have taken the lock meanwhile: to be called before the manifest changes, before
    /// files are made or removed, and before a log segment begins.
    ///
    /// # Errors
    /// `Stopped` if the directory or the lock file was removed or replaced, now or earlier; or the file system's.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure()?;
        let root = || self.env.fs.root();
        match self.lock.is_held() {
            Ok(true) => {
                self.examined_ns.store(self.env.clock.monotonic_ns(), Ordering::Relaxed);
                Ok(())
            }
            Ok(false) => Err(self.lost.get_or_init(|| lost(&root())).clone()),
            Err(error) => Err(Error::io(format!("examining the lock {}/{}", root(), layout::LOCK), error)),
        }
    }

    /// As [`StoreLock::check`], if it was examined more than a second ago; whether it was. An examination that fails says nothing: what
    /// is written then goes to files that are open already.
    ///
    /// # Errors
    /// `Stopped`: the lock is lost.
    pub(crate) fn check_if_due(&self) -> Result<bool> {
        let age = self.env.clock.monotonic_ns().saturating_sub(self.examined_ns.load(Ordering::Relaxed));
        let is_due = age >= EXAMINED_NS_MAX;
        if is_due {
            let _ = self.check();
        }
        self.failure().map(|()| is_due)
    }

    /// Whether an examination found the lock lost.
    ///
    /// # Errors
    /// `Stopped`, then.
    pub(crate) fn failure(&self) -> Result<()> {
        self.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

fn lost(root: &str) -> Error {
    let text = format!(
        "the lock of {root} is lost: the directory or {} in it was removed or replaced, and another process may have opened the store; \
         nothing is changed there any more: end this process and see that one process has the store open",
        layout::LOCK
    );
    Error::new(ErrorKind::Stopped, text)
}
