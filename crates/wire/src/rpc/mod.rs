//! HBase's remote procedure calls as bytes: how a connection begins, frames, requests, responses.
//!
//! ```text
//! connection   "HBas" | version u8 = 0 | auth u8 | length i32 | ConnectionHeader
//!              "Regist" or "Securi": one question about the cluster, answered with one response
//! request      length i32 | varint, RequestHeader | varint, message | cell block
//! response     length i32 | varint, ResponseHeader | varint, message | cell block
//! ```
//! The cell block is there if the header announces it. A message without fields still has its varint, 0. Answers may come
//! in any order; the call id says whose they are, and the id -1 that the connection itself is meant.
//!
//! Everything here is a pure function of bytes. A server reads six bytes ([`Preamble::decode`]), a frame with the
//! [`Connection`] ([`Connection::decode`]), and then a frame per call ([`next_frame`], [`decode_request`]); a [`Fault`]
//! tells what to answer and whether to go on. A client writes with [`encode_connection`] and [`encode_request`] and reads
//! with [`next_frame`] and [`decode_response`].
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod connection;
mod fault;
mod frame;
mod preamble;
mod request;
mod response;
mod unfold;

pub use connection::{Connection, encode_connection};
pub use fault::Fault;
pub use frame::{Next, next_frame};
pub use preamble::{Auth, PREAMBLE_BYTES, Preamble};
pub use request::{Request, RequestOptions, check_unfolded, decode_request, encode_request, refuse_too_big};
pub use response::{Answer, Response, decode_response, encode_exception, encode_response};

/// The call id of an answer that concerns the connection and not a call: -1 in the 32 bits of the field.
pub const CONNECTION_CALL_ID: u32 = u32::MAX;

/// What a peer may ask for at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a frame, without its length field (`hbase.ipc.max.request.size`).
    pub frame_bytes_max: usize,
    /// Bytes of a cell block when decompressed.
    pub cell_block_bytes_max: usize,
    /// Bytes that a message may take in memory when decoded, beside its frame: a part of two bytes can take hundreds.
    pub unfolded_bytes_max: usize,
    /// Bytes of a frame that get their memory when they are announced; for more of it as much must have come already. Who
    /// has many peers, or does not trust them, says few.
    pub trusted_bytes: usize,
}

impl Default for Limits {
    /// HBase's own: 256 MiB; 8 KiB on trust. Unfolded, room for a million actions in one call.
    fn default() -> Self {
        Self { frame_bytes_max: 256 << 20, cell_block_bytes_max: 256 << 20, unfolded_bytes_max: 512 << 20, trusted_bytes: 8 << 10 }
    }
}

#[cfg(test)]
mod tests;
