//! What waits to be sent on one connection: small frames in one buffer, large ones as they are.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf, Bytes, BytesMut};
use tokio::net::TcpStream;

/// Frames below this are copied together, so that a burst of small answers is one write.
const JOIN_BYTES: usize = 16 << 10;
/// Pieces handed to the operating system in one write.
const SLICES_MAX: usize = 64;

/// Bytes on their way out, in order.
#[derive(Default)]
pub(crate) struct Output {
    pieces: VecDeque<Bytes>,
    /// The last piece, which may still grow.
    tail: BytesMut,
    bytes: usize,
}

impl Output {
    /// Bytes that have not been sent.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(crate) fn push(&mut self, frame: BytesMut) {
        self.bytes += frame.len();
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

    /// Sends what the socket takes now; the number of bytes that went.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn write_to(&mut self, stream: &TcpStream) -> io::Result<usize> {
        self.seal();
        let before = self.bytes;
        while !self.is_empty() {
            let slices: Vec<IoSlice<'_>> = self.pieces.iter().take(SLICES_MAX).map(|piece| IoSlice::new(piece)).collect();
            match stream.try_write_vectored(&slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => self.advance(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(before - self.bytes)
    }

    fn advance(&mut self, mut sent: usize) {
        self.bytes -= sent;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_frames_become_one_piece_and_large_ones_stay_apart() {
        let mut output = Output::default();
        for length in [10, 20, JOIN_BYTES, 30, 40] {
            output.push(BytesMut::from(&vec![7; length][..]));
        }
        output.seal();
        let lengths: Vec<usize> = output.pieces.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [30, JOIN_BYTES, 70]);
        assert_eq!(output.len(), JOIN_BYTES + 100);
        output.advance(35);
        assert_eq!((output.len(), output.pieces.len()), (JOIN_BYTES + 65, 2));
        let last = output.pieces.pop_back().unwrap();
        assert!(last.is_unique(), "what has been sent keeps no memory");
    }
}
