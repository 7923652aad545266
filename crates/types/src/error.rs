//! The error every call of the seam returns: what happened, where, and what the caller can do about it.

use std::fmt;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure it is, which tells the caller what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself is wrong (empty row, negative timestamp, over a limit): change it, do not retry.
    InvalidRequest,
    /// The request names a family that the table does not have.
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
    /// The namespace still holds tables.
    NamespaceNotEmpty,
    /// There is no snapshot of this name.
    NoSuchSnapshot,
    /// A snapshot of this name exists already.
    SnapshotExists,
    /// The snapshot has outlived its time: take a new one.
    SnapshotExpired,
    /// No region of this name is here, or no longer: look the region up again.
    NoSuchRegion,
    /// The row lies outside the region: look the region up again.
    WrongRegion,
    /// The table or store may not be written.
    ReadOnly,
    /// Memory is full of writes that are being flushed: wait and try again.
    Busy,
    /// Only with [`Tier::Memory`](crate::query::Tier::Memory): the answer needs a disk read, or much time. Ask again without
    /// the limit.
    NeedsIo,
    /// Another process holds the directory.
    Locked,
    /// The file system failed; the text says how.
    Io,
    /// The disk is full: make room. Reads go on, and writes are taken again when there is room. Unless the text says so, nothing has
    /// been done.
    DiskFull,
    /// Bytes on disk are not what was written: restore or repair.
    Corrupt,
    /// The file was written by a newer version: upgrade.
    NewerFormat,
    /// The store stopped, on purpose or after a failed write; open it again.
    Stopped,
    /// A filter that decides over whole rows, in a scan whose batch limit cuts rows: leave one of them out.
    IncompatibleFilter,
    /// A row has more bytes in a family than a read may put together: ask for fewer of its columns, or for pieces of it.
    RowTooBig,
    /// Not offered by this implementation.
    Unsupported,
}

impl ErrorKind {
    /// Whether the same request may succeed later without any change.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::NoSuchRegion | Self::WrongRegion | Self::Busy | Self::DiskFull)
    }
}

/// An error with its kind, a text made for people, and its cause.
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
    /// An error of a kind with a text that says what, where and the mend.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { inner: Box::new(Inner { kind, message: message.into(), source: None }) }
    }

    /// A request that cannot be served as it is.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Damaged bytes on disk.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// A failed file-system call; `what` says what was being done to which file.
    pub fn io(what: impl fmt::Display, source: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let (kind, mend) = match source.kind() {
            Io::StorageFull | Io::QuotaExceeded => (ErrorKind::DiskFull, "; make room on the disk and try again"),
            Io::ReadOnlyFilesystem | Io::PermissionDenied => (ErrorKind::ReadOnly, "; give this user write permission there"),
            // The same name will be as long the next time.
            Io::InvalidFilename => (ErrorKind::InvalidRequest, "; choose a shorter name"),
            _ => (ErrorKind::Io, ""),
        };
        Self::new(kind, format!("{what}: {source}{mend}")).with_source(source)
    }

    /// The same error with a cause, which its text has told.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.inner.source = Some(std::sync::Arc::new(source));
        self
    }

    /// The same error with `place` in front of its text.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.inner.message = format!("{place}: {}", self.inner.message);
        self
    }

    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What caused it. The text tells it already, so it is not a [source](std::error::Error::source): what prints an error with its sources
    /// would say it twice.
    pub fn cause(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as _)
    }

    /// The text for people.
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

    /// What a program prints that tells an error with all its sources.
    fn told(error: &Error) -> String {
        let sources = std::iter::successors(error.source(), |error: &&dyn std::error::Error| (*error).source());
        std::iter::once(error.to_string()).chain(sources.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
    }

    #[test]
    fn an_error_with_its_sources_tells_its_cause_once() {
        let cause = || io::Error::new(io::ErrorKind::PermissionDenied, "the cause");
        let error = Error::io("opening f", cause());
        let outer = Error::new(ErrorKind::Stopped, format!("stopped: {error}")).with_source(error.clone());
        let deep = Error::io("reading g", io::Error::other(outer.clone()));
        for error in [error, outer, deep] {
            assert_eq!(told(&error).matches("the cause").count(), 1, "{}", told(&error));
            assert!(error.cause().is_some());
        }
        assert!(Error::invalid("no").cause().is_none());
    }
}
