//! Send queue of one connection: small frames joined in one buffer, large frames unchanged.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};

use crate::base::buffers::{Account, MemoryReservation};
use crate::outside::Stream;

/// Frame size in bytes below which frames are joined, so that a burst of small responses is one
/// write.
const JOIN_BYTES: usize = 16 << 10;
/// Maximum slices passed to the operating system in one write.
const MAX_SLICES: usize = 64;
/// Maximum bytes sent before the thread serves its other connections.
const MAX_SEND_BYTES: usize = 256 << 10;

/// Unsent bytes, in order.
pub(crate) struct SendQueue {
    pieces: VecDeque<Bytes>,
    /// Last chunk, which may still grow.
    tail: BytesMut,
    reservation: MemoryReservation,
}

/// Result of one burst of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) bytes: usize,
    /// `true` if the socket may accept more after the end of the burst.
    pub(crate) continues: bool,
}

impl SendQueue {
    /// Returns an empty queue.
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        Self {
            pieces: VecDeque::new(),
            tail: BytesMut::new(),
            reservation: MemoryReservation::new(account),
        }
    }

    /// Returns the number of unsent bytes.
    pub(crate) fn len(&self) -> usize {
        self.reservation.bytes()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a frame with the network buffers reserved for it, resized to its length.
    pub(crate) fn push(&mut self, frame: BytesMut, mut held: MemoryReservation) {
        held.set(frame.len());
        self.reservation.absorb(held);
        if self.tail.is_empty() {
            self.tail = frame;
        } else if frame.len() < JOIN_BYTES && self.tail.len() < JOIN_BYTES {
            self.tail.extend_from_slice(&frame);
        } else {
            self.seal();
            self.tail = frame;
        }
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            // Takes the whole buffer: leftover capacity would stay allocated while the connection
            // is idle.
            self.pieces.push_back(std::mem::take(&mut self.tail).freeze());
        }
    }

    /// Sends as many bytes as the socket accepts now, up to the limit of one burst.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn write_to(&mut self, stream: &Stream) -> io::Result<Sent> {
        self.seal();
        let mut bytes = 0;
        while !self.is_empty() {
            if bytes >= MAX_SEND_BYTES {
                return Ok(Sent { bytes, continues: true });
            }
            match stream.try_write_vectored(&slices(&self.pieces, MAX_SEND_BYTES - bytes)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => {
                    self.advance(sent);
                    bytes += sent;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Sent { bytes, continues: false })
    }

    fn advance(&mut self, mut sent: usize) {
        self.reservation.set(self.reservation.bytes() - sent);
        while let Some(piece) = self.pieces.front_mut() {
            if sent < piece.len() {
                piece.advance(sent);
                return;
            }
            sent -= piece.len();
            self.pieces.pop_front();
        }
    }
}

/// Returns the first chunks, limited to `max_bytes`.
fn slices(pieces: &VecDeque<Bytes>, max_bytes: usize) -> Vec<IoSlice<'_>> {
    let mut left = max_bytes;
    let cut = pieces.iter().take(MAX_SLICES).map_while(|piece| {
        let taken = piece.get(..left.min(piece.len())).filter(|taken| !taken.is_empty())?;
        left -= taken.len();
        Some(IoSlice::new(taken))
    });
    cut.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::buffers::Buffers;
    use crate::config::Limits;

    #[test]
    fn write_is_limited_to_bytes_per_turn() {
        let pieces: VecDeque<Bytes> =
            [10, 20, 30].map(|length| Bytes::from(vec![7; length])).into();
        let lengths = |max_bytes| {
            slices(&pieces, max_bytes).iter().map(|slice| slice.len()).collect::<Vec<_>>()
        };
        assert_eq!(
            [lengths(5), lengths(10), lengths(35), lengths(1000)],
            [vec![5], vec![10], vec![10, 20, 5], vec![10, 20, 30]]
        );
    }

    #[test]
    fn small_frames_are_joined_and_large_frames_stay_separate() {
        let account = Buffers::new(&Limits::default()).connect([127, 0, 0, 1].into()).unwrap();
        let mut output = SendQueue::new(&account);
        for length in [10, 20, JOIN_BYTES, 30, 40] {
            output.push(BytesMut::from(&vec![7; length][..]), MemoryReservation::new(&account));
        }
        output.seal();
        let lengths: Vec<usize> = output.pieces.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [30, JOIN_BYTES, 70]);
        assert_eq!(output.len(), JOIN_BYTES + 100);
        output.advance(35);
        assert_eq!((output.len(), output.pieces.len()), (JOIN_BYTES + 65, 2));
        let last = output.pieces.pop_back().unwrap();
        assert!(last.is_unique(), "what has been sent keeps no memory");
        assert_eq!(account.used(), output.len());
        drop(output);
        assert_eq!(account.used(), 0);
    }
}
