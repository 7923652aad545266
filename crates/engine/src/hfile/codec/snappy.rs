//! SNAPPY: raw snappy blocks in Hadoop's framing.

use std::io::Result;

use halite_compression::Snappy;

use super::framed;

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    framed::decompress(Snappy, compressed, expected, out)
}
