//! Read buffer of one connection: bytes that are not parsed yet, at most one partial frame and
//! complete frames.

use std::sync::Arc;

use bytes::BytesMut;
use halite_wire::rpc::{self, FrameStatus, ProtocolError, RpcLimits};

use crate::base::buffers::{Account, MemoryReservation};

/// Frame size in bytes above which the buffer grown for the frame is not reused.
const LARGE_BYTES: usize = 64 << 10;

/// Received bytes that are not parsed yet.
pub(crate) struct ReadBuffer {
    buffer: BytesMut,
    /// `true` if a large frame was taken from this buffer: reserving space would keep the large
    /// allocation.
    had_large: bool,
    reservation: MemoryReservation,
}

impl ReadBuffer {
    /// Returns a buffer that contains the bytes already read.
    pub(crate) fn new(buffer: BytesMut, account: &Arc<Account>) -> Self {
        Self { buffer, had_large: false, reservation: MemoryReservation::new(account) }
    }

    /// Returns the buffer to read into.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Returns the bytes read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Takes the next frame from the front of the buffer.
    ///
    /// # Errors
    /// As [`rpc::next_frame`].
    pub(crate) fn next(&mut self, limits: &RpcLimits) -> Result<FrameStatus, ProtocolError> {
        let next = rpc::next_frame(&mut self.buffer, limits)?;
        self.had_large |= matches!(&next, FrameStatus::Frame(frame) if frame.len() > LARGE_BYTES);
        Ok(next)
    }

    /// Reserves space for `bytes` more.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if self.had_large {
            let mut fresh = BytesMut::with_capacity(self.buffer.len() + bytes);
            fresh.extend_from_slice(&self.buffer);
            (self.buffer, self.had_large) = (fresh, false);
        } else {
            self.buffer.reserve(bytes);
        }
    }

    /// Returns the missing bytes of the first frame; 0 if the buffer is empty or the frame is
    /// complete.
    pub(crate) fn missing(&self) -> usize {
        let there = self.buffer.len();
        match self.buffer.first_chunk::<4>().map(|length| i32::from_be_bytes(*length)) {
            None if there == 0 => 0,
            None => 4 - there,
            Some(length) => usize::try_from(length).unwrap_or(0).saturating_sub(there - 4),
        }
    }

    /// Returns `true` if the buffer contains a complete frame.
    pub(crate) fn has_frame(&self) -> bool {
        self.buffer.len() >= 4 && self.missing() == 0
    }

    /// Counts the received bytes as network buffers of the connection.
    pub(crate) fn count(&mut self) {
        self.reservation.set(self.buffer.len());
        self.reservation.account().record_received(self.buffer.len());
    }

    /// Returns the bytes received and not parsed.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::buffers::Buffers;
    use crate::config;

    fn account() -> Arc<Account> {
        Buffers::new(&config::Limits::default()).connect([127, 0, 0, 1].into()).unwrap()
    }

    /// Returns the beginning of a frame.
    fn partial_frame(length: u32, there: usize) -> BytesMut {
        let mut buffer = BytesMut::from(&length.to_be_bytes()[..]);
        buffer.resize(there + 4, 7);
        buffer
    }

    #[test]
    fn missing_frame_bytes_are_reported() {
        let account = account();
        let missing = |buffer: BytesMut| {
            let input = ReadBuffer::new(buffer, &account);
            (input.missing(), input.has_frame())
        };
        assert_eq!(missing(BytesMut::new()), (0, false));
        assert_eq!(missing(BytesMut::from(&[0, 0][..])), (2, false));
        assert_eq!(missing(partial_frame(10, 0)), (10, false));
        assert_eq!(missing(partial_frame(10, 9)), (1, false));
        assert_eq!(missing(partial_frame(10, 10)), (0, true));
        assert_eq!(missing(partial_frame(10, 13)), (0, true));
        // A keep-alive is accepted, and an invalid length is rejected.
        assert_eq!(
            (
                missing(partial_frame(u32::MAX, 0)),
                missing(partial_frame(i32::MIN.cast_unsigned(), 3))
            ),
            ((0, true), (0, true))
        );
    }

    #[test]
    fn buffer_of_large_frame_is_released() {
        let account = account();
        let mut buffer = partial_frame(1 << 20, 1 << 20);
        buffer.extend_from_slice(&[0, 0, 0, 9, 1, 2]);
        let mut input = ReadBuffer::new(buffer, &account);
        let FrameStatus::Frame(frame) = input.next(&RpcLimits::default()).unwrap() else {
            panic!("no frame")
        };
        assert_eq!(frame.len(), 1 << 20);
        drop(frame);
        let FrameStatus::Need(bytes) = input.next(&RpcLimits::default()).unwrap() else {
            panic!("a whole frame")
        };
        input.reserve(bytes);
        assert_eq!((input.bytes(), input.missing()), (&[0, 0, 0, 9, 1, 2][..], 7));
        assert!(input.buffer().capacity() < 64 << 10, "{}", input.buffer().capacity());
    }
}
