//! Errors as they travel: HBase tells failures by the names of Java classes.
//!
//! A server makes an [`Exception`] of what went wrong and sends it as an [`ExceptionResponse`](pb::ExceptionResponse) or,
//! inside a multi, as a [`NameBytesPair`](pb::NameBytesPair); a client makes an [`Exception`] of either and asks it
//! what to do ([`Exception::action`]). Which class means what stands in one table, [`kind`].

pub mod kind;
mod moved;
mod throttle;

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use halite_types::{Error, ErrorKind};

use crate::proto as pb;

pub use kind::{Action, ExceptionKind};
pub use moved::MovedTo;
pub use throttle::Throttled;

/// Bytes of a class and of a message that are kept: much of them may be the peer's own words, which can be as long as a frame.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A failure with the name of its Java class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    class: Cow<'static, str>,
    message: String,
    do_not_retry: bool,
    server_overloaded: bool,
    moved_to: Option<MovedTo>,
}

impl Exception {
    /// An exception to send, with a text for people.
    pub fn new(kind: ExceptionKind, message: impl Into<String>) -> Self {
        let server_overloaded = kind.action() == Action::WaitOverloaded;
        let message = cut(message.into());
        Self { class: Cow::Borrowed(kind.class()), message, do_not_retry: kind.is_do_not_retry(), server_overloaded, moved_to: None }
    }

    /// The same with no more of its text than so many bytes.
    #[must_use]
    pub fn shortened(mut self, bytes_max: usize) -> Self {
        if self.message.len() > bytes_max {
            self.message.truncate(self.message.floor_char_boundary(bytes_max));
            self.message.shrink_to_fit();
            self.message.push_str("..");
        }
        self
    }

    /// What tells a client to go to another server with requests for a region.
    pub fn region_moved(to: MovedTo) -> Self {
        let message = to.to_string();
        Self { moved_to: Some(to), ..Self::new(ExceptionKind::RegionMoved, message) }
    }

    /// What tells a client to come again after `wait_ms` milliseconds.
    pub fn throttled(what: Throttled, wait_ms: u64) -> Self {
        Self::new(ExceptionKind::RpcThrottling, throttle::with_wait(what, wait_ms))
    }

    /// What a call's answer says.
    pub fn from_response(response: &pb::ExceptionResponse) -> Self {
        let mut exception = Self::received(response.exception_class_name(), response.stack_trace());
        exception.do_not_retry = response.do_not_retry();
        exception.server_overloaded |= response.server_overloaded();
        exception
    }

    /// What a multi's answer says about one region or one action. The pair does not say whether to retry; the class does.
    pub fn from_pair(pair: &pb::NameBytesPair) -> Self {
        Self::received(&pair.name, &String::from_utf8_lossy(pair.value()))
    }

    /// What the answer about a procedure that failed says.
    pub fn from_foreign(foreign: &pb::ForeignExceptionMessage) -> Self {
        let generic = foreign.generic_exception.as_ref();
        Self::received(generic.map_or("java.io.IOException", |generic| generic.class_name()), generic.map_or("", |generic| generic.message()))
    }

    fn received(class: &str, trace: &str) -> Self {
        let kind = ExceptionKind::from_class(class);
        let message = cut(first_line(class, trace));
        let moved_to = if kind == Some(ExceptionKind::RegionMoved) { MovedTo::parse(&message) } else { None };
        Self {
            class: kind.map_or_else(|| Cow::Owned(cut(class)), |kind| Cow::Borrowed(kind.class())),
            do_not_retry: kind.is_some_and(ExceptionKind::is_do_not_retry),
            server_overloaded: kind.is_some_and(|kind| kind.action() == Action::WaitOverloaded),
            message,
            moved_to,
        }
    }

    /// The answer to a call. A Java client passes the text to the constructor of the class, so the class's name and the
    /// message stand in its first line as in a stack trace.
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

    /// What stands in a multi's answer for one region or one action.
    pub fn to_pair(&self) -> pb::NameBytesPair {
        pb::NameBytesPair { name: self.class.to_string(), value: Some(Bytes::from(self.to_string())) }
    }

    /// The kind of a class that is in the table.
    pub fn kind(&self) -> Option<ExceptionKind> {
        ExceptionKind::from_class(&self.class)
    }

    /// The full name of the Java class.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The text for people, without the class.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the server says that the same call will fail again.
    pub fn is_do_not_retry(&self) -> bool {
        self.do_not_retry
    }

    /// Where the region went, if this says so.
    pub fn moved_to(&self) -> Option<&MovedTo> {
        self.moved_to.as_ref()
    }

    /// How many milliseconds to wait before trying again, if this says so.
    pub fn wait_ms(&self) -> Option<u64> {
        if self.kind() == Some(ExceptionKind::RpcThrottling) { throttle::wait_ms(&self.message) } else { None }
    }

    /// What a client should do. A class that is not in the table is treated as the Java client treats it: final if the
    /// server says so, and otherwise a reason to forget where the region was and to look it up again.
    pub fn action(&self) -> Action {
        match self.kind() {
            Some(kind) => kind.action(),
            None if self.do_not_retry => Action::GiveUp,
            None if self.server_overloaded => Action::WaitOverloaded,
            None => Action::Relocate,
        }
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() { out.write_str(&self.class) } else { write!(out, "{}: {}", self.class, self.message) }
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
    /// The failure as the seam tells it, for a client that has done what [`Exception::action`] says and given up.
    fn from(exception: &Exception) -> Self {
        let kind = match exception.kind() {
            Some(kind) => error_kind_of(kind, exception.action()),
            None if exception.do_not_retry => ErrorKind::InvalidRequest,
            None => ErrorKind::Io,
        };
        Self::new(kind, exception.to_string())
    }
}

fn error_kind_of(kind: ExceptionKind, action: Action) -> ErrorKind {
    match kind {
        ExceptionKind::NoSuchColumnFamily => ErrorKind::NoSuchFamily,
        ExceptionKind::TableNotFound => ErrorKind::NoSuchTable,
        ExceptionKind::TableExists => ErrorKind::TableExists,
        ExceptionKind::TableNotEnabled => ErrorKind::TableDisabled,
        ExceptionKind::TableNotDisabled => ErrorKind::TableEnabled,
        ExceptionKind::NamespaceNotFound => ErrorKind::NoSuchNamespace,
        ExceptionKind::NamespaceExist => ErrorKind::NamespaceExists,
        ExceptionKind::SnapshotDoesNotExist | ExceptionKind::UnknownSnapshot => ErrorKind::NoSuchSnapshot,
        ExceptionKind::SnapshotExists => ErrorKind::SnapshotExists,
        ExceptionKind::SnapshotTtlExpired => ErrorKind::SnapshotExpired,
        ExceptionKind::WrongRegion => ErrorKind::WrongRegion,
        ExceptionKind::NotServingRegion | ExceptionKind::RegionMoved | ExceptionKind::RegionOpening | ExceptionKind::UnknownRegion => {
            ErrorKind::NoSuchRegion
        }
        ExceptionKind::IncompatibleFilter => ErrorKind::IncompatibleFilter,
        ExceptionKind::RowTooBig => ErrorKind::RowTooBig,
        ExceptionKind::UnknownProtocol => ErrorKind::Unsupported,
        ExceptionKind::CorruptHFile | ExceptionKind::CorruptedSnapshot => ErrorKind::Corrupt,
        ExceptionKind::Io | ExceptionKind::ZooKeeperConnection => ErrorKind::Io,
        _ => match action {
            Action::GiveUp | Action::Relocate => ErrorKind::InvalidRequest,
            Action::Wait | Action::WaitOverloaded | Action::WaitAsTold | Action::RetryNow => ErrorKind::Busy,
            Action::DropServer => ErrorKind::Stopped,
            Action::ReopenScanner => ErrorKind::Io,
        },
    }
}

/// How a failure of the store is told. `TableDisabled` is for administration: on a data call HBase says
/// `NotServingRegion`, and clients find the state of the table in meta.
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
        // HBase's region servers abort on a full disk. Here writes go on when there is room, so clients are to try again.
        ErrorKind::Busy | ErrorKind::DiskFull => ExceptionKind::RegionTooBusy,
        ErrorKind::Stopped => ExceptionKind::RegionServerStopped,
        ErrorKind::IncompatibleFilter => ExceptionKind::IncompatibleFilter,
        ErrorKind::RowTooBig => ExceptionKind::RowTooBig,
        ErrorKind::Corrupt => ExceptionKind::CorruptHFile,
        ErrorKind::Io | ErrorKind::NeedsIo => ExceptionKind::Io,
        // A kind of a later day is final until somebody says otherwise.
        _ => ExceptionKind::DoNotRetry,
    }
}

/// A text of no more bytes than are kept, with dots for the rest.
fn cut<'a>(text: impl Into<Cow<'a, str>>) -> String {
    let text = text.into();
    if text.len() <= TEXT_BYTES_MAX {
        return text.into_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(TEXT_BYTES_MAX)])
}

/// The message of a stack trace: what follows the class in its first line, or the whole line.
fn first_line<'a>(class: &str, trace: &'a str) -> &'a str {
    let line = trace.lines().next().unwrap_or_default();
    match line.strip_prefix(class) {
        Some(rest) => rest.strip_prefix(':').unwrap_or(rest).trim_start(),
        None => line,
    }
}

#[cfg(test)]
mod tests;
