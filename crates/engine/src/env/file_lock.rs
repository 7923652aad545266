//! Directory lock on a real disk: on the directory's own inode, which exists as long as the
//! directory, and on a lock file in it.
//!
//! The directory's lock is decisive: a lock file can be removed manually, and the next process
//! would create and lock another one. Network file systems may not support locks on directories.
//! There only the file is locked, and removing or replacing it loses the lock. Versions of this
//! program without the directory lock check the file.
#![expect(
    clippy::disallowed_methods,
    reason = "a part of the door that everything else goes through"
)]

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::os::{kind_of, open_directory};
use super::{Lock, not_a_file};

/// Maximum attempts to lock a file that is replaced between opening and locking.
const MAX_ATTEMPTS: usize = 10;

/// Directory lock and file lock. The kernel releases them when the handles are closed, also when
/// the process is killed. A child process holds copies of the handles between `fork` and `exec`.
/// The locks are therefore released explicitly.
pub(super) struct FileLock {
    directory_path: PathBuf,
    directory: File,
    /// True if the directory's inode is locked; false if its file system does not support it.
    by_directory: bool,
    /// Directory of the lock file, which is replaced if another store replaces this one.
    file_directory: Option<(PathBuf, File)>,
    /// `None` if only the directory is locked.
    file_path: Option<PathBuf>,
    file: Mutex<Option<File>>,
    mode: u32,
}

impl FileLock {
    /// Acquires both locks, or only that of the directory; `None` if another process holds one of
    /// them.
    pub(super) fn take(
        directory_path: &Path,
        file_path: Option<&Path>,
        owner: &str,
        mode: u32,
    ) -> io::Result<Option<Self>> {
        let directory = open_directory(directory_path)?;
        let by_directory = match try_flock(&directory) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(_) => false,
        };
        let (directory_path, file_path) =
            (directory_path.to_owned(), file_path.map(Path::to_owned));
        // From here on any failure releases the first lock.
        let open = |path: &Path| open_directory(path).map(|file| (path.to_owned(), file));
        let file_directory = file_path.as_deref().and_then(Path::parent).map(open).transpose()?;
        let mut lock = Self {
            directory_path,
            directory,
            by_directory,
            file_directory,
            file_path,
            file: Mutex::new(None),
            mode,
        };
        if let Some(path) = &lock.file_path {
            let Some(mut file) = lock_file(path, mode)? else { return Ok(None) };
            if !owner.is_empty() {
                file.set_len(0)?;
                file.write_all(owner.as_bytes())?;
            }
            lock.file = Mutex::new(Some(file));
        }
        Ok(Some(lock))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        for held in file.iter().chain([&self.directory]) {
            // A lock that cannot be released was not held.
            let _ = flock(held, FlockOperation::Unlock);
        }
    }
}

impl Lock for FileLock {
    fn is_held(&self) -> io::Result<bool> {
        if !leads_to(&self.directory_path, &self.directory)? {
            return Ok(false);
        }
        if let Some((path, directory)) = &self.file_directory
            && !leads_to(path, directory)?
        {
            return Ok(false);
        }
        let mut held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(path), Some(file)) = (&self.file_path, &*held) else { return Ok(true) };
        if leads_to(path, file)? {
            return Ok(true);
        }
        if !self.by_directory {
            return Ok(false);
        }
        // No other process of this version can have acquired the lock. A process that checks only
        // the file may hold a new one; if not, the new file is locked by this process. A full disk,
        // without room for the file, is not a reason to stop.
        match lock_file(path, self.mode) {
            Ok(new @ Some(_)) => *held = new,
            Ok(None) => return Ok(false),
            Err(_) => {}
        }
        Ok(true)
    }
}

fn try_flock(file: &File) -> Result<(), Errno> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Opens or creates a lock file and locks it; `None` if another process holds it.
fn lock_file(path: &Path, mode: u32) -> io::Result<Option<File>> {
    for _ in 0..MAX_ATTEMPTS {
        let Some(file) = open_or_create(path, mode)? else { continue };
        match try_flock(&file) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            other => other?,
        }
        // A file that was removed concurrently excludes no other process.
        if leads_to(path, &file)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Opens a lock file, or creates one for its owner only. A link is rejected, since its target would
/// be locked and emptied; anything else that is not a file is not opened. `None` if it was removed
/// concurrently.
fn open_or_create(path: &Path, mode: u32) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(mode);
    match options.clone().create_new(true).open(path) {
        Ok(file) => {
            // A restrictive umask may have cleared bits that the owner needs.
            file.set_permissions(fs::Permissions::from_mode(mode))?;
            return Ok(Some(file));
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !there.is_file() {
        return Err(not_a_file(kind_of(there.file_type())));
    }
    // It may have been replaced since the check.
    match options
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
    {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns `true` if a path refers to this open file or directory.
fn leads_to(path: &Path, open: &File) -> io::Result<bool> {
    let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino());
    match fs::metadata(path) {
        Ok(there) => Ok(identity(&there) == identity(&open.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(directory: &Path) -> Option<FileLock> {
        FileLock::take(directory, Some(&directory.join("LOCK")), "me", 0o600).unwrap()
    }

    #[test]
    fn removed_lock_file_is_recreated_and_lock_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let held = take(directory.path()).unwrap();
        fs::remove_file(directory.path().join("LOCK")).unwrap();
        assert!(take(directory.path()).is_none(), "the directory is locked");
        assert!(held.is_held().unwrap());
        assert!(directory.path().join("LOCK").exists());
        drop(held);
        assert!(take(directory.path()).is_some());
    }

    #[test]
    fn lock_is_lost_if_lock_file_directory_is_moved() {
        for put_back in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let inner = directory.path().join("inner");
            fs::create_dir(&inner).unwrap();
            let lock = FileLock::take(directory.path(), Some(&inner.join("LOCK")), "me", 0o600)
                .unwrap()
                .unwrap();
            assert!(lock.is_held().unwrap());
            fs::rename(&inner, directory.path().join("moved")).unwrap();
            if put_back {
                fs::create_dir(&inner).unwrap();
                fs::write(inner.join("LOCK"), "").unwrap();
            }
            assert!(!lock.is_held().unwrap());
        }
    }

    #[test]
    fn symbolic_link_as_lock_file_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious");
        fs::write(&precious, "mine").unwrap();
        std::os::unix::fs::symlink(&precious, directory.path().join("LOCK")).unwrap();
        assert!(
            FileLock::take(directory.path(), Some(&directory.path().join("LOCK")), "me", 0o600)
                .is_err()
        );
        assert_eq!(fs::read(&precious).unwrap(), b"mine");
    }

    #[test]
    fn lock_is_lost_while_replaced_file_is_locked() {
        let directory = tempfile::tempdir().unwrap();
        let held = take(directory.path()).unwrap();
        let path = directory.path().join("LOCK");
        fs::remove_file(&path).unwrap();
        // A process without the directory lock.
        let other = lock_file(&path, 0o600).unwrap().unwrap();
        assert!(!held.is_held().unwrap());
        drop(other);
        assert!(held.is_held().unwrap(), "no other process holds it");
    }

    #[test]
    fn missing_file_loses_lock_without_directory_lock() {
        let directory = tempfile::tempdir().unwrap();
        let mut held = take(directory.path()).unwrap();
        held.by_directory = false;
        assert!(held.is_held().unwrap());
        fs::remove_file(directory.path().join("LOCK")).unwrap();
        assert!(!held.is_held().unwrap());
    }

    #[test]
    fn inherited_handles_do_not_prolong_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let held = take(directory.path()).unwrap();
        let inherited = [
            held.directory.try_clone().unwrap(),
            held.file.lock().unwrap().as_ref().unwrap().try_clone().unwrap(),
        ];
        assert!(take(directory.path()).is_none());
        drop(held);
        assert!(take(directory.path()).is_some());
        drop(inherited);
    }

    #[test]
    fn directory_is_locked_without_lock_file() {
        let directory = tempfile::tempdir().unwrap();
        let held = FileLock::take(directory.path(), None, "", 0o600).unwrap().unwrap();
        assert!(held.is_held().unwrap() && take(directory.path()).is_none());
        drop(held);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn lock_is_lost_if_directory_is_replaced() {
        let above = tempfile::tempdir().unwrap();
        let (path, moved) = (above.path().join("store"), above.path().join("moved"));
        fs::create_dir(&path).unwrap();
        let held = take(&path).unwrap();
        fs::rename(&path, &moved).unwrap();
        assert!(!held.is_held().unwrap());
        fs::create_dir(&path).unwrap();
        assert!(!held.is_held().unwrap());
        fs::remove_dir(&path).unwrap();
        fs::rename(&moved, &path).unwrap();
        assert!(held.is_held().unwrap());
    }
}
