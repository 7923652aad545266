//! ZSTD: frames in Hadoop's framing, or without it, as Hadoop's own codec writes them.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Read as _, Result};

use super::framing::{self, wrong};

/// First bytes of a frame. As the total of a framed payload they would be 683 million bytes.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    if compressed.starts_with(&FRAME_MAGIC) {
        return read_frames(compressed, expected, out);
    }
    framing::decompress(compressed, expected, out, read_frames)
}

fn read_frames(frames: &[u8], room: usize, out: &mut Vec<u8>) -> Result<()> {
    let limit = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
    let before = out.len();
    zstd::stream::read::Decoder::with_buffer(frames)?.take(limit).read_to_end(out)?;
    if out.len().saturating_sub(before) > room {
        Err(wrong("its frames give more"))
    } else {
        Ok(())
    }
}
