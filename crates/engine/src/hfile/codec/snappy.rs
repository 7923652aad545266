//! SNAPPY: raw snappy blocks in Hadoop's framing.

use std::io::Result;

use halite_compression::{Snappy, SnappyCompressor};

use super::block_codec::Compressor;
use super::framed::{self, Framed};

pub(super) fn compressor() -> impl Compressor {
    Framed(SnappyCompressor::default())
}

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    framed::decompress(Snappy, compressed, expected, out)
}
