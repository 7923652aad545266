//! ZSTD: frames in Hadoop's framing, or without it, as Hadoop's own codec writes them.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Error, ErrorKind, Read as _, Result};

use halite_compression::ChunkDecompressor;

use super::framed;

/// First bytes of a frame. As the length of a framed block they would be 683 million bytes.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    if compressed.starts_with(&FRAME_MAGIC) {
        return Frames.decompress(compressed, expected, out);
    }
    framed::decompress(Frames, compressed, expected, out)
}

/// Consecutive frames as a chunk.
struct Frames;

impl ChunkDecompressor for Frames {
    fn decompress(&mut self, frames: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let before = out.len();
        zstd::stream::read::Decoder::with_buffer(frames)?.take(limit).read_to_end(out)?;
        if out.len().saturating_sub(before) > max_bytes {
            return Err(Error::new(ErrorKind::InvalidData, "its frames give more"));
        }
        Ok(())
    }
}
