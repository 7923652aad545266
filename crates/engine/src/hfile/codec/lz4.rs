//! LZ4: raw LZ4 blocks in Hadoop's framing.

use std::io::Result;

use halite_compression::Lz4;

use super::framed;

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    framed::decompress(Lz4, compressed, expected, out)
}
