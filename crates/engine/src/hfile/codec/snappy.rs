//! SNAPPY: raw snappy blocks in Hadoop's framing.

use std::io::Result;

use super::framing;

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    framing::decompress(compressed, expected, out, |chunk, room, out| {
        let size = snap::raw::decompress_len(chunk)?;
        framing::append_block(chunk, size, room, out, |chunk, target| {
            Ok(snap::raw::Decoder::new().decompress(chunk, target)?)
        })
    })
}
