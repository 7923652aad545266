//! LZ4: raw LZ4 blocks in Hadoop's framing.

use std::io::Result;

use halite_compression::{Lz4, Lz4Compressor};

use super::block_codec::Compressor;
use super::framed::{self, Framed};

pub(super) fn compressor() -> impl Compressor {
    Framed(Lz4Compressor::default())
}

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    framed::decompress(Lz4, compressed, expected, out)
}
