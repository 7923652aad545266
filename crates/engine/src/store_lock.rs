//! Lock of a store: acquired once, and examined again before each step that another process must
//! not see half done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::{Error, ErrorKind, Result};

use crate::catalog::layout;
use crate::env::{Env, Lock};

/// Maximum age of the examination that a group of writes to an open log segment relies on, in
/// nanoseconds.
const MAX_EXAMINATION_AGE_NS: u64 = 1_000_000_000;

/// Directory lock. Another process cannot open the directory while this exists.
///
/// A lost lock stays lost, even if the directory reappears: changes made there by another process
/// are unknown.
pub(crate) struct StoreLock {
    env: Env,
    lock: Box<dyn Lock>,
    lost: OnceLock<Error>,
    /// Time of the last examination, on the monotonic clock.
    examined_ns: AtomicU64,
}

impl StoreLock {
    /// Acquires the lock. The directory of the lock file must exist.
    ///
    /// # Errors
    /// `Locked` if another process holds it, or the file system's error.
    pub(crate) fn take(env: &Env) -> Result<Self> {
        let root = env.fs.root();
        let name = format!("{root}/{}", layout::LOCK);
        let lock = env
            .fs
            .lock(layout::LOCK, "")
            .map_err(|error| Error::io(format!("locking {name}"), error))?;
        let lock = lock.ok_or_else(|| {
            let text = format!(
                "{root} is held by another process ({name} is locked); close that one, or use \
                 another directory"
            );
            Error::new(ErrorKind::Locked, text)
        })?;
        let examined_ns = AtomicU64::new(env.clock.monotonic_ns());
        Ok(Self { env: env.clone(), lock, lost: OnceLock::new(), examined_ns })
    }

    /// Verifies that no other process can have acquired the lock. Call it before the manifest
    /// changes, before files are created or removed, and before a log segment is started.
    ///
    /// # Errors
    /// `Stopped` if the directory or the lock file was removed or replaced, now or earlier; or the
    /// file system's error.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure()?;
        let root = || self.env.fs.root();
        match self.lock.is_held() {
            Ok(true) => {
                self.examined_ns.store(self.env.clock.monotonic_ns(), Ordering::Relaxed);
                Ok(())
            }
            Ok(false) => Err(self.lost.get_or_init(|| lost(&root())).clone()),
            Err(error) => {
                Err(Error::io(format!("examining the lock {}/{}", root(), layout::LOCK), error))
            }
        }
    }

    /// Calls [`StoreLock::check`] if the last examination is more than a second old, and returns
    /// `true` in that case. A failed examination is ignored: subsequent writes go to files that are
    /// already open.
    ///
    /// # Errors
    /// `Stopped`: the lock is lost.
    pub(crate) fn check_if_due(&self) -> Result<bool> {
        let age =
            self.env.clock.monotonic_ns().saturating_sub(self.examined_ns.load(Ordering::Relaxed));
        let is_due = age >= MAX_EXAMINATION_AGE_NS;
        if is_due {
            let _ = self.check();
        }
        self.failure().map(|()| is_due)
    }

    /// Checks that no examination has found the lock lost.
    ///
    /// # Errors
    /// `Stopped` if one has.
    pub(crate) fn failure(&self) -> Result<()> {
        self.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

fn lost(root: &str) -> Error {
    let text = format!(
        "the lock of {root} is lost: the directory or {} in it was removed or replaced, and \
         another process may have opened the store; nothing is changed there any more: end this \
         process and see that one process has the store open",
        layout::LOCK
    );
    Error::new(ErrorKind::Stopped, text)
}
