//! Packets: a length and that many bytes, or a word of four letters.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Buf, Bytes, BytesMut};
use halite_types::{Error, Result};

/// Most bytes of a packet, ZooKeeper's `jute.maxbuffer`.
pub const PACKET_BYTES_MAX: usize = 0xf_ffff;

/// Bytes of a length field.
const LENGTH_BYTES: usize = 4;
/// What the buffer grows by at least when a packet is not complete.
const READ_BYTES: usize = 4 << 10;

/// What stands at the front of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A whole packet without its length, taken from the buffer.
    Packet(Bytes),
    /// A word such as `ruok`, taken from the buffer: a person or a monitor asks, and is answered with text and a closed
    /// connection. It only makes sense as the first thing on a connection.
    Word([u8; 4]),
    /// Not enough: make room for so many bytes and read.
    Need(usize),
}

/// Takes the next packet from what was read so far.
///
/// # Errors
/// `InvalidRequest` for a length that is negative or over [`PACKET_BYTES_MAX`].
pub fn next_packet(buffer: &mut BytesMut) -> Result<Next> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>().copied() else {
        return Ok(Next::Need(READ_BYTES));
    };
    if length.iter().all(u8::is_ascii_lowercase) {
        buffer.advance(LENGTH_BYTES);
        return Ok(Next::Word(length));
    }
    let length = i32::from_be_bytes(length);
    let Some(length) = usize::try_from(length).ok().filter(|length| *length <= PACKET_BYTES_MAX) else {
        return Err(Error::invalid(format!("a packet of ZooKeeper's protocol cannot have {length} bytes, at most {PACKET_BYTES_MAX}")));
    };
    let missing = length.saturating_add(LENGTH_BYTES).saturating_sub(buffer.len());
    if missing > 0 {
        return Ok(Next::Need(missing.max(READ_BYTES)));
    }
    buffer.advance(LENGTH_BYTES);
    Ok(Next::Packet(buffer.split_to(length).freeze()))
}
