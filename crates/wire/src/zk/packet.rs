//! Packets: a length and that many bytes, or a four-letter word.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Buf, Bytes, BytesMut};
use halite_types::{Error, Result};

/// Maximum bytes of a packet, ZooKeeper's `jute.maxbuffer`.
pub const MAX_PACKET_BYTES: usize = 0xf_ffff;

/// Bytes of a length field.
const LENGTH_BYTES: usize = 4;
/// Minimum growth of the buffer when a packet is incomplete.
const READ_BYTES: usize = 4 << 10;

/// Packet at the front of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketStatus {
    /// Complete packet without its length, split off the buffer.
    Packet(Bytes),
    /// Word such as `ruok`, split off the buffer. An operator or a monitor sends it and receives
    /// text and a closed connection. It is only valid as the first input of a connection.
    Word([u8; 4]),
    /// Incomplete: reserve this many bytes and read.
    Need(usize),
}

/// Splits the next packet off the bytes read so far.
///
/// # Errors
/// `InvalidRequest` for a length that is negative or over [`MAX_PACKET_BYTES`].
pub fn next_packet(buffer: &mut BytesMut) -> Result<PacketStatus> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>().copied() else {
        return Ok(PacketStatus::Need(READ_BYTES));
    };
    if length.iter().all(u8::is_ascii_lowercase) {
        buffer.advance(LENGTH_BYTES);
        return Ok(PacketStatus::Word(length));
    }
    let length = i32::from_be_bytes(length);
    let Some(length) = usize::try_from(length).ok().filter(|length| *length <= MAX_PACKET_BYTES)
    else {
        return Err(Error::invalid(format!(
            "invalid length {length} of a ZooKeeper packet: at most {MAX_PACKET_BYTES} bytes"
        )));
    };
    let missing = length.saturating_add(LENGTH_BYTES).saturating_sub(buffer.len());
    if missing > 0 {
        return Ok(PacketStatus::Need(missing.max(READ_BYTES)));
    }
    buffer.advance(LENGTH_BYTES);
    Ok(PacketStatus::Packet(buffer.split_to(length).freeze()))
}
