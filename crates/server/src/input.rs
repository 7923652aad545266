//! What was read from one connection and is not a call yet: at most the beginning of a frame, and frames behind it.

use bytes::BytesMut;
use halite_wire::rpc::{self, Fault, Limits, Next};

use crate::metrics::Gauge;

/// A frame of more bytes is large: while it is on its way it counts towards what all connections may hold together, and
/// the buffer that was grown for it is not used again.
const LARGE_BYTES: usize = 64 << 10;

/// Bytes on their way in.
pub(crate) struct Input<'a> {
    buffer: BytesMut,
    /// A large frame was taken from this buffer. Whatever it is given room for, it would stay as large.
    had_large: bool,
    /// What all connections hold of large frames, and what this one does.
    all: &'a Gauge,
    counted: usize,
}

impl<'a> Input<'a> {
    /// What has been read already.
    pub(crate) fn new(buffer: BytesMut, all: &'a Gauge) -> Self {
        Self { buffer, had_large: false, all, counted: 0 }
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

    /// Counts what is there; whether that is more than before, and large.
    pub(crate) fn count(&mut self) -> bool {
        let bytes = if self.buffer.len() > LARGE_BYTES { self.buffer.len() } else { 0 };
        let before = std::mem::replace(&mut self.counted, bytes);
        if bytes > before {
            self.all.add((bytes - before) as u64);
        } else if bytes < before {
            self.all.subtract((before - bytes) as u64);
        }
        bytes > before
    }
}

impl Drop for Input<'_> {
    fn drop(&mut self) {
        self.all.subtract(self.counted as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a frame.
    fn begun(length: u32, there: usize) -> BytesMut {
        let mut buffer = BytesMut::from(&length.to_be_bytes()[..]);
        buffer.resize(there + 4, 7);
        buffer
    }

    #[test]
    fn what_is_missing_of_a_frame_is_known() {
        let all = Gauge::default();
        let missing = |buffer: BytesMut| {
            let input = Input::new(buffer, &all);
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
        let all = Gauge::default();
        let mut buffer = begun(1 << 20, 1 << 20);
        buffer.extend_from_slice(&[0, 0, 0, 9, 1, 2]);
        let mut input = Input::new(buffer, &all);
        let Next::Frame(frame) = input.next(&Limits::default()).unwrap() else { panic!("no frame") };
        assert_eq!(frame.len(), 1 << 20);
        drop(frame);
        let Next::Need(bytes) = input.next(&Limits::default()).unwrap() else { panic!("a whole frame") };
        input.reserve(bytes);
        assert_eq!((input.bytes(), input.missing()), (&[0, 0, 0, 9, 1, 2][..], 7));
        assert!(input.buffer().capacity() < 64 << 10, "{}", input.buffer().capacity());
    }

    #[test]
    fn large_beginnings_of_all_connections_are_counted_together() {
        let all = Gauge::default();
        let mut first = Input::new(begun(1 << 20, 100), &all);
        assert_eq!((first.count(), all.get()), (false, 0));
        first.buffer().resize(100_004, 7);
        let mut second = Input::new(begun(1 << 20, 200_000), &all);
        assert_eq!((first.count(), second.count(), all.get()), (true, true, 100_004 + 200_004));
        assert!(!first.count());
        drop(second);
        first.buffer().resize((1 << 20) + 4, 7);
        assert!(first.count());
        first.next(&Limits::default()).unwrap();
        assert_eq!((first.count(), all.get()), (false, 0));
    }
}
