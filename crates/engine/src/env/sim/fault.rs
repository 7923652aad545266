//! What can go wrong on purpose: calls that fail, and the call at which the process dies.

use std::io;

/// The kinds of calls to the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// A new file.
    Create,
    /// A file opened to append.
    Append,
    /// A file opened to read.
    Open,
    /// Bytes appended.
    Write,
    /// Room reserved behind them.
    Reserve,
    /// A file synced.
    Sync,
    /// An earlier place of a file to write on from.
    Rewind,
    /// A file cut.
    Truncate,
    /// Bytes read.
    Read,
    /// The length of a file.
    Length,
    /// A new name.
    Rename,
    /// A second name for a file.
    Link,
    /// A file's name taken away.
    RemoveFile,
    /// A directory taken away.
    RemoveDir,
    /// A directory made.
    CreateDir,
    /// A directory listed.
    List,
    /// A name looked up.
    Exists,
    /// A directory synced.
    SyncDir,
    /// A lock taken.
    Lock,
    /// A lock examined.
    Examine,
}

impl Call {
    /// Whether it is refused on a read-only file system.
    pub(super) fn changes_disk(self) -> bool {
        !matches!(self, Self::Open | Self::Read | Self::Length | Self::List | Self::Exists | Self::Sync | Self::SyncDir)
    }
}

/// Calls that fail: of those that match, the first `skip` succeed and the next `times` fail with `error`.
///
/// A failed write appends a part of its bytes; a failed sync leaves bytes that no later sync makes durable.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Which kind; `None` means every kind.
    pub call: Option<Call>,
    /// Text that the path contains; empty means every path.
    pub path: String,
    /// Matching calls that succeed first.
    pub skip: u64,
    /// Matching calls that fail then.
    pub times: u64,
    /// What they fail with.
    pub error: io::ErrorKind,
}

impl Fault {
    /// The next call of this kind on a path that contains `path` fails.
    pub fn next(call: Call, path: impl Into<String>, error: io::ErrorKind) -> Self {
        Self { call: Some(call), path: path.into(), skip: 0, times: 1, error }
    }

    /// The same after `skip` calls that succeed.
    #[must_use]
    pub fn after(self, skip: u64) -> Self {
        Self { skip, ..self }
    }

    /// From then on always.
    #[must_use]
    pub fn forever(self) -> Self {
        Self { times: u64::MAX, ..self }
    }

    /// Whether this call fails, which is counted.
    pub(super) fn strike(&mut self, call: Call, path: &str) -> Option<io::Error> {
        if self.times == 0 || self.call.is_some_and(|kind| kind != call) || !path.contains(&self.path) {
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
