//! The subset of ZooKeeper's protocol that HBase's clients use to find a cluster.
//!
//! ```text
//! packet    length i32 | payload
//! session   ConnectRequest, ConnectResponse: the first packet each way, without a header
//! request   xid i32 | operation i32 | body
//! reply     xid i32 | zxid i64 | error i32 | body, if the error is 0
//! event     a reply with the xid -1 that the server sends without a request
//! ```
//! Records are "jute": big-endian integers, a byte for a boolean, a length i32 (-1 for null) before
//! bytes and text, a count i32 before a list. [`znode`] describes the content of HBase's znodes.
//!
//! Everything here is a pure function of bytes. A server takes packets ([`next_packet`]), reads a
//! [`ConnectRequest`] and then [`decode_request`]s, and writes with [`encode_reply`] and
//! [`WatchEvent::encode`]; a client does the opposite with [`ConnectRequest::encode`],
//! [`encode_request`] and [`decode_reply`]. A peer that receives an error closes the connection.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod jute;
mod packet;
mod reply;
mod request;
mod session;
pub mod znode;

pub use packet::{MAX_PACKET_BYTES, PacketStatus, next_packet};
pub use reply::{
    ErrorCode, Reply, ReplyBody, ServerPacket, Stat, WatchEvent, WatchKind, decode_reply,
    encode_reply,
};
pub use request::{Request, decode_request, encode_request};
pub use session::{ConnectRequest, ConnectResponse};

/// Xid of a ping, and of its response.
pub const PING_XID: i32 = -2;
/// Xid of an authentication, and of its response.
pub const AUTH_XID: i32 = -4;
/// Xid of a client's list of watches, and of its response.
pub const SET_WATCHES_XID: i32 = -8;
/// Xid of an event, which is not a response.
const EVENT_XID: i32 = -1;

#[cfg(test)]
mod tests;
