//! Byte format of HBase's remote procedure calls: preamble, frames, requests, responses.
//!
//! ```text
//! connection   "HBas" | version u8 = 0 | auth u8 | length i32 | ConnectionHeader
//!              "Regist" or "Securi": one question about the cluster, answered with one response
//! request      length i32 | varint, RequestHeader | varint, message | cell block
//! response     length i32 | varint, ResponseHeader | varint, message | cell block
//! ```
//! The cell block is present if the header announces it. A message without fields still has its
//! varint, 0. Responses may arrive in any order; the call id identifies the request, and the id -1
//! means the connection itself.
//!
//! Everything here is a pure function of bytes. A server reads six bytes ([`Preamble::decode`]), a
//! frame with the [`ConnectionInfo`] ([`ConnectionInfo::decode`]), and then a frame per call
//! ([`next_frame`], [`decode_request`]); a [`ProtocolError`] determines the response and whether to
//! continue. A client writes with [`encode_connection`] and [`encode_request`] and reads with
//! [`next_frame`] and [`decode_response`].
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod connection;
mod decoded_size;
mod frame;
mod preamble;
mod protocol_error;
#[rustfmt::skip]
mod repeated_fields;
mod request;
mod response;

pub use connection::{ConnectionInfo, encode_connection};
pub use frame::{FrameStatus, next_frame};
pub use preamble::{Auth, PREAMBLE_BYTES, Preamble};
pub use protocol_error::ProtocolError;
pub use request::{
    Request, RequestOptions, check_decoded_size, decode_request, encode_request, refuse_too_big,
};
pub use response::{
    Response, ResponseBody, decode_response, encode_exception, encode_response, response_call_id,
};

/// Call id of a response that concerns the connection and not a call: -1 in the 32 bits of the
/// field.
pub const CONNECTION_CALL_ID: u32 = u32::MAX;

/// Limits on requests of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLimits {
    /// Maximum bytes of a frame, without its length field (`hbase.ipc.max.request.size`).
    pub max_frame_bytes: usize,
    /// Maximum bytes of a cell block after decompression.
    pub max_cell_block_bytes: usize,
    /// Maximum memory of a decoded message in bytes, in addition to its frame: a part of two bytes
    /// can require hundreds.
    pub max_decoded_bytes: usize,
    /// Bytes of a frame whose memory is allocated when the frame is announced; further memory is
    /// allocated only as data arrives. Servers with many or untrusted peers set a low value.
    pub trusted_bytes: usize,
}

impl Default for RpcLimits {
    /// Returns HBase's limits: 256 MiB per frame, with 8 KiB allocated in advance. The decoded size
    /// allows a million actions in one call.
    fn default() -> Self {
        Self {
            max_frame_bytes: 256 << 20,
            max_cell_block_bytes: 256 << 20,
            max_decoded_bytes: 512 << 20,
            trusted_bytes: 8 << 10,
        }
    }
}

#[cfg(test)]
mod tests;
