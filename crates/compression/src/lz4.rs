//! Raw LZ4 blocks as chunks.

use std::io;

use crate::{ChunkCompressor, ChunkDecompressor, append, damaged, max_decompressed_bytes};

/// `Lz4Codec`: each chunk is a raw LZ4 block, which does not state its decompressed size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lz4;

impl ChunkCompressor for Lz4 {
    fn compress(&mut self, chunk: &[u8]) -> io::Result<Vec<u8>> {
        Ok(lz4_flex::block::compress(chunk))
    }
}

impl ChunkDecompressor for Lz4 {
    fn decompress(&mut self, chunk: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        append(out, max_bytes.min(max_decompressed_bytes(chunk)), |target| {
            lz4_flex::block::decompress_into(chunk, target).map_err(damaged)
        })
    }
}
