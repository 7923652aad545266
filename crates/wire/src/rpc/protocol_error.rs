//! Protocol errors of a peer and the receiver's reaction.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fmt;

use super::CONNECTION_CALL_ID;
use crate::exception::Exception;

/// Protocol error of the peer. A server sends [`ProtocolError::exception`], if there is one, and
/// closes the connection if [`ProtocolError::closes_connection`] is `true`; a client closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// Close the connection without a response, as HBase does.
    Close(String),
    /// Respond with the call id -1 and close the connection.
    Fatal(Exception),
    /// Respond to this call with an exception; the connection continues.
    Call(u32, Exception),
    /// Respond to this call with an exception and close the connection.
    LastCall(u32, Exception),
}

impl ProtocolError {
    pub(super) fn close(why: impl Into<String>) -> Self {
        Self::Close(why.into())
    }

    /// Returns the call id and the exception to send, if any.
    pub fn exception(&self) -> Option<(u32, &Exception)> {
        match self {
            Self::Close(_) => None,
            Self::Fatal(exception) => Some((CONNECTION_CALL_ID, exception)),
            Self::Call(call_id, exception) | Self::LastCall(call_id, exception) => {
                Some((*call_id, exception))
            }
        }
    }

    /// Returns `true` if nothing more can be read from this connection.
    pub fn closes_connection(&self) -> bool {
        !matches!(self, Self::Call(..))
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Close(why) => out.write_str(why),
            Self::Fatal(exception) => exception.fmt(out),
            Self::Call(call_id, exception) | Self::LastCall(call_id, exception) => {
                write!(out, "call {call_id}: {exception}")
            }
        }
    }
}

impl std::error::Error for ProtocolError {}
