//! What waits to be sent on one connection: small frames in one buffer, large ones as they are.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};

use crate::buffers::{Account, Held};
use crate::outside::Stream;

/// Frames below this are copied together, so that a burst of small answers is one write.
const JOIN_BYTES: usize = 16 << 10;
/// Pieces handed to the operating system in one write.
const SLICES_MAX: usize = 64;
/// Bytes sent in a row before the thread serves its other connections.
const SEND_BYTES_MAX: usize = 256 << 10;

/// Bytes on their way out, in order.
pub(crate) struct Output {
    pieces: VecDeque<Bytes>,
    /// The last piece, which may still grow.
    tail: BytesMut,
    held: Held,
}

/// Result of sending as much as one turn allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) bytes: usize,
    /// The socket may take more; the turn is over.
    pub(crate) continues: bool,
}

impl Output {
    /// Nothing yet.
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        Self { pieces: VecDeque::new(), tail: BytesMut::new(), held: Held::new(account) }
    }

    /// Bytes that have not been sent.
    pub(crate) fn len(&self) -> usize {
        self.held.bytes()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a frame with the network buffers that are held for it, as many bytes.
    pub(crate) fn push(&mut self, frame: BytesMut, mut held: Held) {
        held.set(frame.len());
        self.held.absorb(held);
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
            // Nothing of it stays behind: that would keep its memory as long as the connection says nothing more.
            self.pieces.push_back(std::mem::take(&mut self.tail).freeze());
        }
    }

    /// Sends what the socket takes now, up to the bytes of one turn.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn write_to(&mut self, stream: &Stream) -> io::Result<Sent> {
        self.seal();
        let mut bytes = 0;
        while !self.is_empty() {
            if bytes >= SEND_BYTES_MAX {
                return Ok(Sent { bytes, continues: true });
            }
            match stream.try_write_vectored(&slices(&self.pieces, SEND_BYTES_MAX - bytes)) {
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
        self.held.set(self.held.bytes() - sent);
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

/// The first pieces, cut to `max_bytes`.
fn slices(pieces: &VecDeque<Bytes>, max_bytes: usize) -> Vec<IoSlice<'_>> {
    let mut left = max_bytes;
    let cut = pieces.iter().take(SLICES_MAX).map_while(|piece| {
        let taken = piece.get(..left.min(piece.len())).filter(|taken| !taken.is_empty())?;
        left -= taken.len();
        Some(IoSlice::new(taken))
    });
    cut.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Buffers;
    use crate::config::Limits;

    #[test]
    fn a_write_is_cut_to_the_bytes_of_a_turn() {
        let pieces: VecDeque<Bytes> = [10, 20, 30].map(|length| Bytes::from(vec![7; length])).into();
        let lengths = |max_bytes| slices(&pieces, max_bytes).iter().map(|slice| slice.len()).collect::<Vec<_>>();
        assert_eq!([lengths(5), lengths(10), lengths(35), lengths(1000)], [vec![5], vec![10], vec![10, 20, 5], vec![10, 20, 30]]);
    }

    #[test]
    fn small_frames_become_one_piece_and_large_ones_stay_apart() {
        let account = Buffers::new(&Limits::default()).connect([127, 0, 0, 1].into()).unwrap();
        let mut output = Output::new(&account);
        for length in [10, 20, JOIN_BYTES, 30, 40] {
            output.push(BytesMut::from(&vec![7; length][..]), Held::new(&account));
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
