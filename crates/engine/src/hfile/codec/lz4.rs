//! LZ4: raw LZ4 blocks in Hadoop's framing.

use std::io::Result;

use super::framing::{self, MAX_COMPRESSION_RATIO, wrong};

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    framing::decompress(compressed, expected, out, |chunk, room, out| {
        // A raw block does not state its size.
        let size = room.min(chunk.len().saturating_mul(MAX_COMPRESSION_RATIO));
        framing::append_block(chunk, size, room, out, |chunk, target| {
            lz4_flex::block::decompress_into(chunk, target)
                .map_err(|error| wrong(&error.to_string()))
        })
    })
}
