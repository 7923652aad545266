//! Injected faults: calls that fail, and the call at which the process ends.

use std::io;

/// Kind of a file system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FsCall {
    /// File creation.
    Create,
    /// Opening a file for appending.
    Append,
    /// Opening a file for reading.
    Open,
    /// Appending bytes.
    Write,
    /// Reserving space after the written bytes.
    Preallocate,
    /// Syncing a file.
    Sync,
    /// Moving the write position back.
    Rewind,
    /// Truncating a file.
    Truncate,
    /// Reading bytes.
    Read,
    /// Reading the length of a file.
    Length,
    /// Renaming.
    Rename,
    /// Adding a second name for a file.
    Link,
    /// Removing a file's name.
    RemoveFile,
    /// Removing a directory.
    RemoveDir,
    /// Creating a directory.
    CreateDir,
    /// Listing a directory.
    List,
    /// Checking a name.
    Exists,
    /// Syncing a directory.
    SyncDir,
    /// Acquiring a lock.
    Lock,
    /// Examining a lock.
    Examine,
}

impl FsCall {
    /// Returns `true` if the call fails on a read-only file system.
    pub(super) fn changes_disk(self) -> bool {
        !matches!(
            self,
            Self::Open
                | Self::Read
                | Self::Length
                | Self::List
                | Self::Exists
                | Self::Sync
                | Self::SyncDir
        )
    }
}

/// Calls that fail: of the matching calls, the first `skip` succeed and the next `times` fail with
/// `error`.
///
/// A failed write appends a part of its bytes. After a failed sync, no later sync makes the bytes
/// durable.
#[derive(Clone, Debug)]
pub struct InjectedFault {
    /// Kind of call; `None` means every kind.
    pub call: Option<FsCall>,
    /// Substring of the path; empty means every path.
    pub path: String,
    /// Matching calls that succeed first.
    pub skip: u64,
    /// Matching calls that fail after that.
    pub times: u64,
    /// Error of the failing calls.
    pub error: io::ErrorKind,
}

impl InjectedFault {
    /// Creates a fault for the next call of this kind on a path that contains `path`.
    pub fn next(call: FsCall, path: impl Into<String>, error: io::ErrorKind) -> Self {
        Self { call: Some(call), path: path.into(), skip: 0, times: 1, error }
    }

    /// Delays the fault until `skip` calls have succeeded.
    #[must_use]
    pub fn after(self, skip: u64) -> Self {
        Self { skip, ..self }
    }

    /// Makes the fault permanent.
    #[must_use]
    pub fn forever(self) -> Self {
        Self { times: u64::MAX, ..self }
    }

    /// Returns the error if this call fails, and counts the call.
    pub(super) fn strike(&mut self, call: FsCall, path: &str) -> Option<io::Error> {
        if self.times == 0
            || self.call.is_some_and(|kind| kind != call)
            || !path.contains(&self.path)
        {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.times -= 1;
        Some(io::Error::new(self.error, format!("injected failure of {call:?} ({})", self.error)))
    }
}
