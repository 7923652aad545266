//! Raw snappy blocks as chunks.

use std::io;

use crate::{ChunkCompressor, ChunkDecompressor, append, damaged, max_decompressed_bytes};

/// Decompressor of `SnappyCodec`: each chunk is a raw snappy block, which begins with its
/// decompressed size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snappy;

/// Compressor of `SnappyCodec`, whose tables serve one chunk after the other.
#[derive(Debug)]
pub struct SnappyCompressor(snap::raw::Encoder);

impl Default for SnappyCompressor {
    fn default() -> Self {
        Self(snap::raw::Encoder::new())
    }
}

impl ChunkCompressor for SnappyCompressor {
    fn compress(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        append(out, snap::raw::max_compress_len(chunk.len()), |target| {
            Ok(self.0.compress(chunk, target)?)
        })
    }
}

impl ChunkDecompressor for Snappy {
    fn decompress(&mut self, chunk: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let size = snap::raw::decompress_len(chunk).map_err(damaged)?;
        if size > max_bytes.min(max_decompressed_bytes(chunk)) {
            return Err(damaged("a chunk gives more bytes than its block states"));
        }
        append(out, size, |target| {
            snap::raw::Decoder::new().decompress(chunk, target).map_err(damaged)
        })
    }
}
