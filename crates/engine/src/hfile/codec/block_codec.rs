//! Compressor and decompressor of blocks, as the file of a codec implements them.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{self, Read as _};

/// Compressor of the blocks of one file. It keeps its tables from block to block, so that a block
/// costs no allocation.
pub(in crate::hfile) trait Compressor: Send {
    /// Appends the compressed form of `payload` to `out`.
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> io::Result<()>;

    /// Returns `true` if the compressed forms of parts, one after the other, are a compressed form
    /// of the payload.
    fn compresses_parts(&self) -> bool {
        false
    }

    /// Appends the compressed form of a part of a payload.
    fn compress_part(&mut self, part: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.compress(part, out)
    }
}

/// Decompressor: fills the empty buffer with the payload of the given bytes. It may stop at any
/// length above the expected one. Memory is limited by the length that the bytes can expand to,
/// whatever is expected.
pub(super) type Decompress =
    fn(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> io::Result<()>;

/// Reads to the end, but at most one byte more than expected, which shows that there is more.
pub(super) fn read_expected(
    input: impl io::Read,
    expected: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let limit = u64::try_from(expected).unwrap_or(u64::MAX).saturating_add(1);
    input.take(limit).read_to_end(out).map(drop)
}
