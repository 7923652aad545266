//! What went wrong with a try, where, and what that means for the next one.

use std::fmt;
use std::sync::Arc;

use halite_types::{Error, ErrorKind};
use halite_wire::exception::{Action, Exception};

/// Why a try did not succeed.
#[derive(Clone, Debug)]
pub(crate) enum Cause {
    /// The server said so.
    Exception(Box<Exception>),
    /// No connection could be made.
    Unreachable(Arc<str>),
    /// The connection has ended; whether the call was served is not known.
    Lost(Arc<str>),
    /// No answer came in so many milliseconds.
    Late(u64),
    /// Another try would end the same way.
    Final(Error),
}

/// A try that did not succeed, and where.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    place: Option<Arc<str>>,
    /// How often it was tried, and for how many milliseconds.
    tries: Option<(u32, u64)>,
}

impl Failure {
    pub(crate) fn unreachable(why: impl Into<Arc<str>>) -> Self {
        Cause::Unreachable(why.into()).into()
    }

    pub(crate) fn lost(why: impl Into<Arc<str>>) -> Self {
        Cause::Lost(why.into()).into()
    }

    /// The same failure, at a place; the first one said stays.
    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.place.get_or_insert_with(|| place.to_string().into());
        self
    }

    /// The same failure, which happened while something larger was done.
    pub(crate) fn under(mut self, larger: impl fmt::Display) -> Self {
        let place = self.place.map_or_else(|| larger.to_string(), |place| format!("{larger}: {place}"));
        self.place = Some(place.into());
        self
    }

    /// What to do about it. Scans treat some exceptions in their own way.
    pub(crate) fn action(&self) -> Action {
        match &self.cause {
            Cause::Exception(exception) => exception.action(),
            Cause::Unreachable(_) => Action::DropServer,
            // If the server has died, the next try does not reach it.
            Cause::Lost(_) | Cause::Late(_) => Action::Relocate,
            Cause::Final(_) => Action::GiveUp,
        }
    }

    /// The same failure, given up after so many tries and milliseconds.
    pub(crate) fn after(mut self, tries: u32, elapsed_ms: u64) -> Self {
        self.tries = Some((tries, elapsed_ms));
        self
    }

    /// Whether the server itself said it, so that it is known what became of the call.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self.cause, Cause::Exception(_))
    }

    /// The failure as the seam tells it.
    pub(crate) fn into_error(self) -> Error {
        let error = match &self.cause {
            Cause::Exception(exception) => Error::from(&**exception),
            Cause::Unreachable(why) | Cause::Lost(why) => Error::new(ErrorKind::Io, &**why),
            Cause::Late(after_ms) => {
                let text = format!("no answer in {after_ms} ms; look whether the server is overloaded or stuck, or raise rpc_timeout_ms");
                Error::new(ErrorKind::Io, text)
            }
            Cause::Final(error) => error.clone(),
        };
        let error = match self.tries {
            Some((tries, ms)) if tries > 1 && !matches!(self.cause, Cause::Final(_)) => {
                Error::new(error.kind(), format!("{}; given up after {tries} tries in {ms} ms", error.message()))
            }
            _ => error,
        };
        match self.place {
            Some(place) => error.at(place),
            None => error,
        }
    }
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self { cause, place: None, tries: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Cause::Final(error).into()
    }
}

impl From<Exception> for Failure {
    fn from(exception: Exception) -> Self {
        Cause::Exception(exception.into()).into()
    }
}

/// A server that sends what cannot be read is not talked to any more on that connection.
impl From<halite_wire::rpc::Fault> for Failure {
    fn from(fault: halite_wire::rpc::Fault) -> Self {
        Self::lost(format!("the server sent what cannot be read: {fault}"))
    }
}
