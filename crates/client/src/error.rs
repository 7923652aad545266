//! Failed attempts: cause, location, and consequence for the next attempt.

use std::fmt;
use std::sync::Arc;

use halite_types::{Error, ErrorKind, TableName};
use halite_wire::exception::{Exception, RetryAction};

/// Cause of a failed attempt.
#[derive(Clone, Debug)]
pub(crate) enum RpcErrorKind {
    /// The server returned an exception.
    Exception(Box<Exception>),
    /// The connection failed.
    Unreachable(Arc<str>),
    /// The connection has ended; it is unknown whether the call was executed.
    Lost(Arc<str>),
    /// No response arrived within this many milliseconds.
    TimedOut(u64),
    /// Another attempt would fail in the same way.
    Final(Error),
}

/// Failed attempt and its location.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) kind: RpcErrorKind,
    location: Option<Arc<str>>,
    /// Number of attempts, and their total time in milliseconds.
    tries: Option<(u32, u64)>,
}

impl RpcError {
    pub(crate) fn unreachable(why: impl Into<Arc<str>>) -> Self {
        RpcErrorKind::Unreachable(why.into()).into()
    }

    pub(crate) fn lost(why: impl Into<Arc<str>>) -> Self {
        RpcErrorKind::Lost(why.into()).into()
    }

    /// Adds a location to the error; an existing one is kept.
    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.location.get_or_insert_with(|| place.to_string().into());
        self
    }

    /// Adds the enclosing operation to the error's location.
    pub(crate) fn with_context(mut self, larger: impl fmt::Display) -> Self {
        let place =
            self.location.map_or_else(|| larger.to_string(), |place| format!("{larger}: {place}"));
        self.location = Some(place.into());
        self
    }

    /// Returns the action to take. Scans treat some exceptions differently.
    pub(crate) fn action(&self) -> RetryAction {
        match &self.kind {
            RpcErrorKind::Exception(exception) => exception.action(),
            RpcErrorKind::Unreachable(_) => RetryAction::DropServer,
            // If the server has died, the next attempt cannot connect to it.
            RpcErrorKind::Lost(_) | RpcErrorKind::TimedOut(_) => RetryAction::Relocate,
            RpcErrorKind::Final(_) => RetryAction::GiveUp,
        }
    }

    /// Adds the number of attempts and milliseconds after which the operation was given up.
    pub(crate) fn retries_exhausted(mut self, tries: u32, elapsed_ms: u64) -> Self {
        self.tries = Some((tries, elapsed_ms));
        self
    }

    /// Returns the failure of a call with a condition by filter. HBase before 2.4 knows no such
    /// condition, and cannot read the message; no attempt would do better.
    pub(crate) fn of_filter_condition(self) -> Self {
        const CLASS: &str = "UninitializedMessageException";
        const TEXT: &str = "missing required fields";
        let RpcErrorKind::Exception(exception) = &self.kind else { return self };
        if !exception.class().ends_with(CLASS) && !exception.message().contains(TEXT) {
            return self;
        }
        let text = format!(
            "the cluster has no check-and-mutate by a filter, as HBase before 2.4: leave out \
             conditions on several columns, or update it ({exception})"
        );
        Self { kind: RpcErrorKind::Final(Error::new(ErrorKind::Unsupported, text)), ..self }
    }

    /// Returns `true` if the server itself returned it, so the outcome of the call is known.
    pub(crate) fn is_server_response(&self) -> bool {
        matches!(self.kind, RpcErrorKind::Exception(_))
    }

    /// Converts it to an error of the `Cluster` API.
    pub(crate) fn into_error(self) -> Error {
        let error = match &self.kind {
            RpcErrorKind::Exception(exception) => Error::from(&**exception),
            RpcErrorKind::Unreachable(why) | RpcErrorKind::Lost(why) => {
                Error::new(ErrorKind::Io, &**why)
            }
            RpcErrorKind::TimedOut(after_ms) => {
                let text = format!(
                    "no answer in {after_ms} ms; look whether the server is overloaded or stuck, \
                     or raise rpc_timeout_ms"
                );
                Error::new(ErrorKind::Io, text)
            }
            RpcErrorKind::Final(error) => error.clone(),
        };
        let error = match self.tries {
            Some((tries, ms)) if tries > 1 && !matches!(self.kind, RpcErrorKind::Final(_)) => {
                Error::new(
                    error.kind(),
                    format!("{}; given up after {tries} tries in {ms} ms", error.message()),
                )
            }
            _ => error,
        };
        match self.location {
            Some(place) => error.at(place),
            None => error,
        }
    }
}

impl From<RpcErrorKind> for RpcError {
    fn from(cause: RpcErrorKind) -> Self {
        Self { kind: cause, location: None, tries: None }
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        RpcErrorKind::Final(error).into()
    }
}

impl From<Exception> for RpcError {
    fn from(exception: Exception) -> Self {
        RpcErrorKind::Exception(exception.into()).into()
    }
}

/// A connection whose server sends undecodable data is closed.
impl From<halite_wire::rpc::ProtocolError> for RpcError {
    fn from(fault: halite_wire::rpc::ProtocolError) -> Self {
        Self::lost(format!("the server sent what cannot be read: {fault}"))
    }
}

/// Returns the error for a table that does not exist.
pub(crate) fn no_such_table(name: &TableName) -> Error {
    Error::new(
        ErrorKind::NoSuchTable,
        format!("table {name} does not exist; create it first, or look at list for its name"),
    )
}
