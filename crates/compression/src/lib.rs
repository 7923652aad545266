//! Compressed bytes in Hadoop's framing, with snappy or LZ4 inside: cell blocks on the wire and
//! blocks of store files have the same format.
//!
//! The crate does no input or output. Input may come from a stranger: no bytes cause a panic, and
//! memory is allocated for what they can decompress to, not for the sizes that they state.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod error;
mod framing;
mod lz4;
mod snappy;

pub use error::FramingError;
pub use framing::{BlockReader, write_block};
pub use lz4::{Lz4, Lz4Compressor};
pub use snappy::{Snappy, SnappyCompressor};

use std::io;

/// Compressor of one chunk at a time. It may keep its tables from chunk to chunk.
pub trait ChunkCompressor {
    /// Appends the compressed form of a chunk, in the spare capacity of `out` if that is enough.
    ///
    /// # Errors
    /// If the chunk is larger than the codec allows.
    fn compress(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> io::Result<()>;
}

/// Decompressor of one chunk at a time.
pub trait ChunkDecompressor {
    /// Appends the decompressed chunk, at most `max_bytes` bytes.
    ///
    /// # Errors
    /// `InvalidData` if the chunk is damaged or decompresses to more.
    fn decompress(&mut self, chunk: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> io::Result<()>;
}

/// Maximum bytes that one byte of a chunk decompresses to: LZ4 reaches 255, snappy less.
const MAX_COMPRESSION_RATIO: usize = 256;

/// Returns the maximum decompressed bytes of a chunk.
fn max_decompressed_bytes(chunk: &[u8]) -> usize {
    chunk.len().saturating_mul(MAX_COMPRESSION_RATIO)
}

/// Appends at most `size` bytes: `fill` receives a buffer of that size and returns the number of
/// bytes that it has written.
fn append(
    out: &mut Vec<u8>,
    size: usize,
    fill: impl FnOnce(&mut [u8]) -> io::Result<usize>,
) -> io::Result<()> {
    let start = out.len();
    out.resize(start.saturating_add(size), 0);
    let written = fill(out.get_mut(start..).unwrap_or_default())?;
    out.truncate(start.saturating_add(written));
    Ok(())
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
