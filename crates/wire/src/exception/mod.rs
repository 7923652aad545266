//! Errors on the wire: HBase identifies failures by the names of Java classes.
//!
//! A server converts a failure to an [`Exception`] and sends it as an
//! [`ExceptionResponse`](pb::ExceptionResponse) or, inside a multi, as a
//! [`NameBytesPair`](pb::NameBytesPair). A client converts either to an [`Exception`], whose
//! [`Exception::action`] is the action to take. The module [`kind`] contains the table of classes.

pub mod kind;
mod region_moved;
mod throttle;

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use halite_types::{Error, ErrorKind};

use crate::proto as pb;

pub use kind::{ExceptionKind, RetryAction};
pub use region_moved::MovedTo;
pub use throttle::ThrottleType;

/// Maximum bytes of a class and of a message: the peer can choose much of them, up to the length of
/// a frame.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Failure with the name of its Java class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    class: Cow<'static, str>,
    message: String,
    do_not_retry: bool,
    server_overloaded: bool,
    moved_to: Option<MovedTo>,
}

impl Exception {
    /// Creates an exception to send, with a human-readable message.
    pub fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        let server_overloaded = kind.action() == RetryAction::WaitOverloaded;
        let message = cut(message.into());
        Self {
            class: Cow::Borrowed(kind.class()),
            message,
            do_not_retry: kind.is_do_not_retry(),
            server_overloaded,
            moved_to: None,
        }
    }

    /// Returns the same exception with its text cut to at most `max_bytes` bytes.
    #[must_use]
    pub fn shortened(mut self, max_bytes: usize) -> Self {
        if self.message.len() > max_bytes {
            self.message.truncate(self.message.floor_char_boundary(max_bytes));
            self.message.shrink_to_fit();
            self.message.push_str("..");
        }
        self
    }

    /// Creates the exception that redirects a client's requests for a region to another server.
    pub fn region_moved(to: MovedTo) -> Self {
        let message = to.to_string();
        Self { moved_to: Some(to), ..Self::new(ExceptionKind::RegionMoved, message) }
    }

    /// Creates the exception that makes a client retry after `wait_ms` milliseconds.
    pub fn throttled(what: ThrottleType, wait_ms: u64) -> Self {
        Self::new(ExceptionKind::RpcThrottling, throttle::with_wait(what, wait_ms))
    }

    /// Creates the exception of a call's response.
    pub fn from_response(response: &pb::ExceptionResponse) -> Self {
        let mut exception = Self::received(response.exception_class_name(), response.stack_trace());
        exception.do_not_retry = response.do_not_retry();
        exception.server_overloaded |= response.server_overloaded();
        exception
    }

    /// Creates the exception of one region or one action in a multi's response. The pair does not
    /// specify whether to retry; the class does.
    pub fn from_pair(pair: &pb::NameBytesPair) -> Self {
        Self::received(&pair.name, &String::from_utf8_lossy(pair.value()))
    }

    /// Creates the exception of a procedure that failed.
    pub fn from_foreign(foreign: &pb::ForeignExceptionMessage) -> Self {
        let generic = foreign.generic_exception.as_ref();
        Self::received(
            generic.map_or("java.io.IOException", |generic| generic.class_name()),
            generic.map_or("", |generic| generic.message()),
        )
    }

    fn received(class: &str, trace: &str) -> Self {
        let kind = ExceptionKind::from_class(class);
        let message = cut(first_line(class, trace));
        let moved_to =
            if kind == Some(ExceptionKind::RegionMoved) { MovedTo::parse(&message) } else { None };
        Self {
            class: kind.map_or_else(|| Cow::Owned(cut(class)), |kind| Cow::Borrowed(kind.class())),
            do_not_retry: kind.is_some_and(ExceptionKind::is_do_not_retry),
            server_overloaded: kind
                .is_some_and(|kind| kind.action() == RetryAction::WaitOverloaded),
            message,
            moved_to,
        }
    }

    /// Returns the response to a call. A Java client passes the text to the constructor of the
    /// class, so its first line contains the class name and the message, as in a stack trace.
    pub fn to_response(&self) -> pb::ExceptionResponse {
        pb::ExceptionResponse {
            exception_class_name: Some(self.class.to_string()),
            stack_trace: Some(self.to_string()),
            hostname: self.moved_to.as_ref().map(|to| to.host.clone()),
            port: self.moved_to.as_ref().map(|to| i32::from(to.port)),
            do_not_retry: Some(self.do_not_retry),
            server_overloaded: self.server_overloaded.then_some(true),
        }
    }

    /// Returns the entry for one region or one action in a multi's response.
    pub fn to_pair(&self) -> pb::NameBytesPair {
        pb::NameBytesPair {
            name: self.class.to_string(),
            value: Some(Bytes::from(self.to_string())),
        }
    }

    /// Returns the kind of a class in the table.
    pub fn kind(&self) -> Option<ExceptionKind> {
        ExceptionKind::from_class(&self.class)
    }

    /// Returns the full name of the Java class.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// Returns the human-readable message, without the class.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns `true` if the server states that the same call will fail again.
    pub fn is_do_not_retry(&self) -> bool {
        self.do_not_retry
    }

    /// Returns the new location of the region, if the exception contains it.
    pub fn moved_to(&self) -> Option<&MovedTo> {
        self.moved_to.as_ref()
    }

    /// Returns the wait before a retry in milliseconds, if the exception contains it.
    pub fn wait_ms(&self) -> Option<u64> {
        if self.kind() == Some(ExceptionKind::RpcThrottling) {
            throttle::wait_ms(&self.message)
        } else {
            None
        }
    }

    /// Returns the client's action. A class outside the table is treated as by the Java client: it
    /// is final if the server states so; otherwise the client drops the region's cached location
    /// and looks it up again.
    pub fn action(&self) -> RetryAction {
        match self.kind() {
            Some(kind) => kind.action(),
            None if self.do_not_retry => RetryAction::GiveUp,
            None if self.server_overloaded => RetryAction::WaitOverloaded,
            None => RetryAction::Relocate,
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            out.write_str(&self.class)
        } else {
            write!(out, "{}: {}", self.class, self.message)
        }
    }
}

impl std::error::Error for Exception {}

impl From<&Error> for Exception {
    fn from(error: &Error) -> Self {
        Self::new(kind_of(error.kind()), error.message())
    }
}

impl From<Error> for Exception {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<&Exception> for Error {
    /// Converts the failure to an error of the `Cluster` API, for a client that has taken the
    /// [`Exception::action`] and given up.
    fn from(exception: &Exception) -> Self {
        let kind = match exception.kind() {
            Some(kind) => error_kind_of(kind, exception.action()),
            None if exception.do_not_retry => ErrorKind::InvalidRequest,
            None => ErrorKind::Io,
        };
        Self::new(kind, exception.to_string())
    }
}

fn error_kind_of(kind: ExceptionKind, action: RetryAction) -> ErrorKind {
    match kind {
        ExceptionKind::NoSuchColumnFamily => ErrorKind::NoSuchFamily,
        ExceptionKind::TableNotFound => ErrorKind::NoSuchTable,
        ExceptionKind::TableExists => ErrorKind::TableExists,
        ExceptionKind::TableNotEnabled => ErrorKind::TableDisabled,
        ExceptionKind::TableNotDisabled => ErrorKind::TableEnabled,
        ExceptionKind::NamespaceNotFound => ErrorKind::NoSuchNamespace,
        ExceptionKind::NamespaceExist => ErrorKind::NamespaceExists,
        ExceptionKind::SnapshotDoesNotExist | ExceptionKind::UnknownSnapshot => {
            ErrorKind::NoSuchSnapshot
        }
        ExceptionKind::SnapshotExists => ErrorKind::SnapshotExists,
        ExceptionKind::SnapshotTtlExpired => ErrorKind::SnapshotExpired,
        ExceptionKind::WrongRegion => ErrorKind::WrongRegion,
        ExceptionKind::NotServingRegion
        | ExceptionKind::RegionMoved
        | ExceptionKind::RegionOpening
        | ExceptionKind::UnknownRegion => ErrorKind::NoSuchRegion,
        ExceptionKind::IncompatibleFilter => ErrorKind::IncompatibleFilter,
        ExceptionKind::RowTooBig => ErrorKind::RowTooBig,
        ExceptionKind::UnknownProtocol => ErrorKind::Unsupported,
        ExceptionKind::CorruptHFile | ExceptionKind::CorruptedSnapshot => ErrorKind::Corrupt,
        ExceptionKind::Io | ExceptionKind::ZooKeeperConnection => ErrorKind::Io,
        _ => match action {
            RetryAction::GiveUp | RetryAction::Relocate => ErrorKind::InvalidRequest,
            RetryAction::Wait
            | RetryAction::WaitOverloaded
            | RetryAction::WaitAsSpecified
            | RetryAction::RetryNow => ErrorKind::Busy,
            RetryAction::DropServer => ErrorKind::Stopped,
            RetryAction::ReopenScanner => ErrorKind::Io,
        },
    }
}

/// Returns the exception kind of a store error. `TableDisabled` is for administrative calls. A data
/// call fails with `NotServingRegion` in HBase, and clients read the state of the table from meta.
fn kind_of(kind: ErrorKind) -> ExceptionKind {
    match kind {
        ErrorKind::NoSuchFamily => ExceptionKind::NoSuchColumnFamily,
        ErrorKind::NoSuchTable => ExceptionKind::TableNotFound,
        ErrorKind::TableExists => ExceptionKind::TableExists,
        ErrorKind::TableDisabled => ExceptionKind::TableNotEnabled,
        ErrorKind::TableEnabled => ExceptionKind::TableNotDisabled,
        ErrorKind::NoSuchNamespace => ExceptionKind::NamespaceNotFound,
        ErrorKind::NamespaceExists => ExceptionKind::NamespaceExist,
        ErrorKind::NamespaceNotEmpty => ExceptionKind::Constraint,
        ErrorKind::NoSuchSnapshot => ExceptionKind::SnapshotDoesNotExist,
        ErrorKind::SnapshotExists => ExceptionKind::SnapshotExists,
        ErrorKind::SnapshotExpired => ExceptionKind::SnapshotTtlExpired,
        ErrorKind::NoSuchRegion => ExceptionKind::NotServingRegion,
        ErrorKind::WrongRegion => ExceptionKind::WrongRegion,
        // HBase's region servers abort on a full disk. Here writes resume when there is space, so
        // clients retry.
        ErrorKind::Busy | ErrorKind::DiskFull => ExceptionKind::RegionTooBusy,
        ErrorKind::Stopped => ExceptionKind::RegionServerStopped,
        ErrorKind::IncompatibleFilter => ExceptionKind::IncompatibleFilter,
        ErrorKind::RowTooBig => ExceptionKind::RowTooBig,
        ErrorKind::Corrupt => ExceptionKind::CorruptHFile,
        ErrorKind::Io | ErrorKind::WouldBlock => ExceptionKind::Io,
        // Kinds added later are final by default.
        _ => ExceptionKind::DoNotRetry,
    }
}

/// Returns a text cut to the maximum length, with dots for the rest.
fn cut<'a>(text: impl Into<Cow<'a, str>>) -> String {
    let text = text.into();
    if text.len() <= MAX_TEXT_BYTES {
        return text.into_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(MAX_TEXT_BYTES)])
}

/// Returns the message of a stack trace: what follows the class in its first line, or the whole
/// line.
fn first_line<'a>(class: &str, trace: &'a str) -> &'a str {
    let line = trace.lines().next().unwrap_or_default();
    match line.strip_prefix(class) {
        Some(rest) => rest.strip_prefix(':').unwrap_or(rest).trim_start(),
        None => line,
    }
}

#[cfg(test)]
mod tests;
