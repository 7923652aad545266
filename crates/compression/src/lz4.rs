//! Raw LZ4 blocks as chunks.

use std::{fmt, io};

use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};

use crate::{ChunkCompressor, ChunkDecompressor, append, damaged, max_decompressed_bytes};

/// Decompressor of `Lz4Codec`: each chunk is a raw LZ4 block, which does not state its decompressed
/// size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lz4;

/// Compressor of `Lz4Codec`, whose table serves one chunk after the other.
#[derive(Default)]
pub struct Lz4Compressor(CompressTable);

impl fmt::Debug for Lz4Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lz4Compressor").finish_non_exhaustive()
    }
}

impl ChunkCompressor for Lz4Compressor {
    fn compress(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        append(out, get_maximum_output_size(chunk.len()), |target| {
            compress_into_with_table(chunk, target, &mut self.0).map_err(io::Error::other)
        })
    }
}

impl ChunkDecompressor for Lz4 {
    fn decompress(&mut self, chunk: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        append(out, max_bytes.min(max_decompressed_bytes(chunk)), |target| {
            decompress_into(chunk, target).map_err(damaged)
        })
    }
}
