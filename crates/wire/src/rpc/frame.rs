//! Frames: a length and that many bytes, with length-delimited parts inside.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;

use super::{ProtocolError, RpcLimits};

/// Bytes of a length field.
const LENGTH_BYTES: usize = 4;
/// Minimum growth of the buffer when a frame is incomplete, so that small frames need one read.
const READ_BYTES: usize = 8 << 10;
/// Keep-alive of old clients, sent instead of a length.
const PING: i32 = -1;

/// Frame at the front of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameStatus {
    /// Complete frame without its length, split off the buffer. It shares the buffer's memory.
    Frame(Bytes),
    /// Keep-alive, split off the buffer; it requires no response.
    Ping,
    /// Incomplete: reserve this many bytes and read. Beyond [`RpcLimits::trusted_bytes`] the
    /// requested capacity grows with the received bytes, so a peer that only announces a large
    /// frame does not cause its allocation.
    Need(usize),
    /// Frame larger than the limit; the buffer is unchanged. A server calls
    /// [`refuse_too_big`](super::refuse_too_big).
    TooBig(usize),
}

/// Splits the next frame off the bytes read so far.
///
/// # Errors
/// [`ProtocolError::Close`] for a length that is zero or negative.
pub fn next_frame(buffer: &mut BytesMut, limits: &RpcLimits) -> Result<FrameStatus, ProtocolError> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else {
        return Ok(FrameStatus::Need(READ_BYTES));
    };
    let length = i32::from_be_bytes(*length);
    if length == PING {
        buffer.advance(LENGTH_BYTES);
        return Ok(FrameStatus::Ping);
    }
    let Some(length) = usize::try_from(length).ok().filter(|length| *length > 0) else {
        return Err(ProtocolError::close(format!("invalid frame length {length}")));
    };
    if length > limits.max_frame_bytes {
        return Ok(FrameStatus::TooBig(length));
    }
    let missing = length.saturating_add(LENGTH_BYTES).saturating_sub(buffer.len());
    if missing > 0 {
        return Ok(FrameStatus::Need(missing.min(buffer.len().max(limits.trusted_bytes))));
    }
    buffer.advance(LENGTH_BYTES);
    Ok(FrameStatus::Frame(buffer.split_to(length).freeze()))
}

/// Splits a part with its varint length off the front of a frame; returns `None` if it does not
/// fit.
pub(super) fn take_delimited(frame: &mut Bytes) -> Option<Bytes> {
    let length = prost::decode_length_delimiter(&mut *frame).ok()?;
    (length <= frame.len()).then(|| frame.split_to(length))
}

/// Returns the number of bytes of a message including its varint length.
pub(super) fn delimited_len(message: &impl Message) -> usize {
    let length = message.encoded_len();
    prost::length_delimiter_len(length).saturating_add(length)
}

/// Appends a message with its varint length.
pub(super) fn put_delimited(message: &impl Message, out: &mut BytesMut) {
    message.encode_length_delimited(out).expect("a BytesMut grows as needed");
}
