//! What was read from one connection and is not a call yet: at most the beginning of a frame, and frames behind it.

use std::sync::Arc;

use bytes::BytesMut;
use halite_wire::rpc::{self, Fault, Limits, Next};

use crate::buffers::{Account, Held};

/// A frame of more bytes is large: the buffer that was grown for it is not used again.
const LARGE_BYTES: usize = 64 << 10;

/// Bytes on their way in.
pub(crate) struct Input {
    buffer: BytesMut,
    /// A large frame was taken from this buffer. Whatever it is given room for, it would stay as large.
    had_large: bool,
    held: Held,
}

impl Input {
    /// What has been read already.
    pub(crate) fn new(buffer: BytesMut, account: &Arc<Account>) -> Self {
        Self { buffer, had_large: false, held: Held::new(account) }
    }

    /// Where more is read to.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// What has been read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Takes what stands at the front.
    ///
    /// # Errors
    /// As [`rpc::next_frame`].
    pub(crate) fn next(&mut self, limits: &Limits) -> Result<Next, Fault> {
        let next = rpc::next_frame(&mut self.buffer, limits)?;
        self.had_large |= matches!(&next, Next::Frame(frame) if frame.len() > LARGE_BYTES);
        Ok(next)
    }

    /// Makes room for more.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        if self.had_large {
            let mut fresh = BytesMut::with_capacity(self.buffer.len() + bytes);
            fresh.extend_from_slice(&self.buffer);
            (self.buffer, self.had_large) = (fresh, false);
        } else {
            self.buffer.reserve(bytes);
        }
    }

    /// Bytes of the frame that has begun which have not come; 0 if none has, or if it is whole.
    pub(crate) fn missing(&self) -> usize {
        let there = self.buffer.len();
        match self.buffer.first_chunk::<4>().map(|length| i32::from_be_bytes(*length)) {
            None if there == 0 => 0,
            None => 4 - there,
            Some(length) => usize::try_from(length).unwrap_or(0).saturating_sub(there - 4),
        }
    }

    /// Whether a frame is there as a whole.
    pub(crate) fn has_frame(&self) -> bool {
        self.buffer.len() >= 4 && self.missing() == 0
    }

    /// Counts the received bytes as network buffers of the connection.
    pub(crate) fn count(&mut self) {
        self.held.set(self.buffer.len());
        self.held.account().record_received(self.buffer.len());
    }

    /// Bytes received and not parsed.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Buffers;
    use crate::config;

    fn account() -> Arc<Account> {
        Buffers::new(&config::Limits::default()).connect([127, 0, 0, 1].into()).unwrap()
    }

    /// The beginning of a frame.
    fn begun(length: u32, there: usize) -> BytesMut {
        let mut buffer = BytesMut::from(&length.to_be_bytes()[..]);
        buffer.resize(there + 4, 7);
        buffer
    }

    #[test]
    fn what_is_missing_of_a_frame_is_known() {
        let account = account();
        let missing = |buffer: BytesMut| {
            let input = Input::new(buffer, &account);
            (input.missing(), input.has_frame())
        };
        assert_eq!(missing(BytesMut::new()), (0, false));
        assert_eq!(missing(BytesMut::from(&[0, 0][..])), (2, false));
        assert_eq!(missing(begun(10, 0)), (10, false));
        assert_eq!(missing(begun(10, 9)), (1, false));
        assert_eq!(missing(begun(10, 10)), (0, true));
        assert_eq!(missing(begun(10, 13)), (0, true));
        // A keep-alive is taken, and what cannot be is refused.
        assert_eq!((missing(begun(u32::MAX, 0)), missing(begun(i32::MIN.cast_unsigned(), 3))), ((0, true), (0, true)));
    }

    #[test]
    fn the_buffer_of_a_large_frame_is_not_kept() {
        let account = account();
        let mut buffer = begun(1 << 20, 1 << 20);
        buffer.extend_from_slice(&[0, 0, 0, 9, 1, 2]);
        let mut input = Input::new(buffer, &account);
        let Next::Frame(frame) = input.next(&Limits::default()).unwrap() else { panic!("no frame") };
        assert_eq!(frame.len(), 1 << 20);
        drop(frame);
        let Next::Need(bytes) = input.next(&Limits::default()).unwrap() else { panic!("a whole frame") };
        input.reserve(bytes);
        assert_eq!((input.bytes(), input.missing()), (&[0, 0, 0, 9, 1, 2][..], 7));
        assert!(input.buffer().capacity() < 64 << 10, "{}", input.buffer().capacity());
    }
}
