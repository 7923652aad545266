//! Frames: a length and that many bytes; and the length-delimited parts inside.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;

use super::{Fault, Limits};

/// Bytes of a length field.
const LENGTH_BYTES: usize = 4;
/// What the buffer grows by at least when a frame is not complete, so that small frames need one read.
const READ_BYTES: usize = 8 << 10;
/// An old keep-alive in place of a length.
const PING: i32 = -1;

/// What stands at the front of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A whole frame without its length, taken from the buffer. It shares the buffer's memory.
    Frame(Bytes),
    /// A keep-alive, taken from the buffer; it wants no answer.
    Ping,
    /// Not enough: make room for so many bytes and read. Beyond [`Limits::trusted_bytes`] the room asked for grows with what
    /// has come, so a peer that only announces a large frame does not get the memory for it.
    Need(usize),
    /// The frame is larger than allowed; the buffer stays as it is. A server calls
    /// [`refuse_too_big`](super::refuse_too_big).
    TooBig(usize),
}

/// Takes the next frame from what was read so far.
///
/// # Errors
/// [`Fault::Close`] for a length that is zero or negative.
pub fn next_frame(buffer: &mut BytesMut, limits: &Limits) -> Result<Next, Fault> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else {
        return Ok(Next::Need(READ_BYTES));
    };
    let length = i32::from_be_bytes(*length);
    if length == PING {
        buffer.advance(LENGTH_BYTES);
        return Ok(Next::Ping);
    }
    let Some(length) = usize::try_from(length).ok().filter(|length| *length > 0) else {
        return Err(Fault::close(format!("a frame cannot have {length} bytes")));
    };
    if length > limits.frame_bytes_max {
        return Ok(Next::TooBig(length));
    }
    let missing = length.saturating_add(LENGTH_BYTES).saturating_sub(buffer.len());
    if missing > 0 {
        return Ok(Next::Need(missing.min(buffer.len().max(limits.trusted_bytes))));
    }
    buffer.advance(LENGTH_BYTES);
    Ok(Next::Frame(buffer.split_to(length).freeze()))
}

/// Takes a part with its varint length from the front of a frame; `None` if it does not fit.
pub(super) fn take_delimited(frame: &mut Bytes) -> Option<Bytes> {
    let length = prost::decode_length_delimiter(&mut *frame).ok()?;
    (length <= frame.len()).then(|| frame.split_to(length))
}

/// Bytes of a message with its varint length.
pub(super) fn delimited_len(message: &impl Message) -> usize {
    let length = message.encoded_len();
    prost::length_delimiter_len(length).saturating_add(length)
}

/// Appends a message with its varint length.
pub(super) fn put_delimited(message: &impl Message, out: &mut BytesMut) {
    message.encode_length_delimited(out).expect("a BytesMut grows as needed");
}
