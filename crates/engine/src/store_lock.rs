//! The lock of a store: taken once, and examined again before each step that another process must not see half done.

use halite_types::{Error, ErrorKind, Result};

use crate::catalog::layout;
use crate::env::{Env, Lock};

/// Another process cannot open the directory while this lives.
pub(crate) struct StoreLock {
    root: String,
    lock: Box<dyn Lock>,
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
        Ok(Self { root, lock })
    }

    /// Verifies that no other process can have taken the lock meanwhile: to be called before the manifest changes, and before
    /// a log segment begins.
    ///
    /// # Errors
    /// `Stopped` if the directory or the lock file was removed or replaced, or the file system's.
    pub(crate) fn check(&self) -> Result<()> {
        match self.lock.is_held() {
            Ok(true) => Ok(()),
            Ok(false) => {
                let text = format!(
                    "the lock of {} is lost: the directory or {} was removed or replaced, and another process may have opened the store; \
                     nothing is changed there any more: end this process and see that one process has the store open",
                    self.root,
                    layout::LOCK
                );
                Err(Error::new(ErrorKind::Stopped, text))
            }
            Err(error) => Err(Error::io(format!("examining the lock {}/{}", self.root, layout::LOCK), error)),
        }
    }
}
