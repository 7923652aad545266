//! Error type of the `Cluster` API: the failure, its location, and the action for the caller.

use std::fmt;

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Category of a failure, which determines the caller's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself is invalid (empty row, negative timestamp, over a limit): change it, do
    /// not retry.
    InvalidRequest,
    /// The table does not have the family of the request.
    NoSuchFamily,
    /// The table does not exist.
    NoSuchTable,
    /// A table of this name exists already.
    TableExists,
    /// The table is disabled: enable it first.
    TableDisabled,
    /// The table is enabled: disable it first.
    TableEnabled,
    /// The namespace does not exist.
    NoSuchNamespace,
    /// A namespace of this name exists already.
    NamespaceExists,
    /// The namespace still contains tables.
    NamespaceNotEmpty,
    /// The snapshot does not exist.
    NoSuchSnapshot,
    /// A snapshot of this name exists already.
    SnapshotExists,
    /// The snapshot has expired: take a new one.
    SnapshotExpired,
    /// The region is not, or no longer, on this server: look the region up again.
    NoSuchRegion,
    /// The row is outside the region: look the region up again.
    WrongRegion,
    /// The table or store is read-only.
    ReadOnly,
    /// Memory is full of writes that are being flushed: wait and try again.
    Busy,
    /// A read with [`ReadTier::Memory`](crate::query::ReadTier::Memory) requires a disk read or
    /// much time. Retry without the limit.
    WouldBlock,
    /// Another process has locked the directory.
    Locked,
    /// The file system failed; the message contains the reason.
    Io,
    /// The disk is full: free space. Reads continue, and writes are accepted again when there is
    /// space. Unless the message states otherwise, the request had no effect.
    DiskFull,
    /// Bytes on disk differ from those written: restore or repair.
    Corrupt,
    /// The file was written by a newer version: upgrade.
    NewerFormat,
    /// The store stopped, on request or after a failed write; reopen it.
    Stopped,
    /// A filter that evaluates whole rows in a scan whose batch limit splits rows: remove one of
    /// them.
    IncompatibleFilter,
    /// The bytes of a row in one family exceed the limit for a read: read fewer of its columns, or
    /// partial rows.
    RowTooBig,
    /// Not supported by this implementation.
    Unsupported,
}

impl ErrorKind {
    /// Returns `true` if the same request may succeed later without a change.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::NoSuchRegion | Self::WrongRegion | Self::Busy | Self::DiskFull)
    }
}

/// Error with its kind, human-readable message and cause.
#[derive(Clone)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<std::sync::Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Creates an error of a kind. The message contains the failure, its location and the fix.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { kind, message: message.into(), source: None }) }
    }

    /// Creates an error for a request that is invalid as it is.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Creates an error for damaged bytes on disk.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Creates an error for a failed file-system call; `what` names the operation and the file.
    pub fn io(what: impl fmt::Display, source: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let (kind, fix) = match source.kind() {
            Io::StorageFull | Io::QuotaExceeded => {
                (ErrorKind::DiskFull, "; make room on the disk and try again")
            }
            Io::ReadOnlyFilesystem | Io::PermissionDenied => {
                (ErrorKind::ReadOnly, "; give this user write permission there")
            }
            // A retry would use the same name of the same length.
            Io::InvalidFilename => (ErrorKind::InvalidRequest, "; choose a shorter name"),
            _ => (ErrorKind::Io, ""),
        };
        Self::new(kind, format!("{what}: {source}{fix}")).with_source(source)
    }

    /// Sets the cause, which the message already contains.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.inner.source = Some(std::sync::Arc::new(source));
        self
    }

    /// Prepends `place` to the message.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.inner.message = format!("{place}: {}", self.inner.message);
        self
    }

    /// Returns the kind, which determines the caller's action.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Returns the cause. The message already contains it, so it is not a
    /// [source](std::error::Error::source): code that prints an error with its sources would print
    /// it twice.
    pub fn cause(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as _)
    }

    /// Returns the human-readable message.
    pub fn message(&self) -> &str {
        &self.inner.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.inner.kind, self.inner.message)
    }
}

impl Eq for Error {}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.inner.kind == other.inner.kind && self.inner.message == other.inner.message
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause().and_then(std::error::Error::source)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use super::*;

    /// Returns the output of a program that prints an error with all its sources.
    fn report(error: &Error) -> String {
        let sources = std::iter::successors(error.source(), |error: &&dyn std::error::Error| {
            (*error).source()
        });
        std::iter::once(error.to_string())
            .chain(sources.map(ToString::to_string))
            .collect::<Vec<_>>()
            .join(": ")
    }

    #[test]
    fn error_with_sources_contains_cause_once() {
        let cause = || io::Error::new(io::ErrorKind::PermissionDenied, "the cause");
        let error = Error::io("opening f", cause());
        let outer =
            Error::new(ErrorKind::Stopped, format!("stopped: {error}")).with_source(error.clone());
        let deep = Error::io("reading g", io::Error::other(outer.clone()));
        for error in [error, outer, deep] {
            assert_eq!(report(&error).matches("the cause").count(), 1, "{}", report(&error));
            assert!(error.cause().is_some());
        }
        assert!(Error::invalid("no").cause().is_none());
    }
}
