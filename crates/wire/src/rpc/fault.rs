//! What is wrong with bytes from a peer, and what the receiver does about it.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fmt;

use super::CONNECTION_CALL_ID;
use crate::exception::Exception;

/// A mistake of the peer. A server sends [`Fault::answer`], if there is one, and closes the connection if
/// [`Fault::ends_connection`]; a client closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Close the connection without a word, as HBase does.
    Close(String),
    /// Answer with the call id -1 and close the connection.
    Fatal(Exception),
    /// Answer this call with an exception; the connection goes on.
    Call(u32, Exception),
    /// Answer this call with an exception and close the connection.
    LastCall(u32, Exception),
}

impl Fault {
    pub(super) fn close(why: impl Into<String>) -> Self {
        Self::Close(why.into())
    }

    /// The call id and the exception to send, if anything is to be sent.
    pub fn answer(&self) -> Option<(u32, &Exception)> {
        match self {
            Self::Close(_) => None,
            Self::Fatal(exception) => Some((CONNECTION_CALL_ID, exception)),
            Self::Call(call_id, exception) | Self::LastCall(call_id, exception) => Some((*call_id, exception)),
        }
    }

    /// Whether nothing more can be read from this connection.
    pub fn ends_connection(&self) -> bool {
        !matches!(self, Self::Call(..))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Close(why) => out.write_str(why),
            Self::Fatal(exception) => exception.fmt(out),
            Self::Call(call_id, exception) | Self::LastCall(call_id, exception) => write!(out, "call {call_id}: {exception}"),
        }
    }
}

impl std::error::Error for Fault {}
