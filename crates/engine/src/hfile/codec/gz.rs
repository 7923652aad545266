//! GZ: a gzip stream, or several concatenated ones. One is written: versions of HBase after 2.6
//! (HBASE-30321) read no more than one.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Error, Result};

use libdeflater::{CompressionLvl, Decompressor};

use super::block_codec::{Compressor, read_expected};

/// Most bytes that a compressed byte expands to: deflate writes a match of 258 bytes in two bits.
const MAX_EXPANSION: usize = 1032;

/// Compressor to one gzip stream per block. Its tables serve one block after the other; a new
/// compressor for each block would allocate 300 kB.
pub(super) struct GzCompressor(libdeflater::Compressor);

impl GzCompressor {
    /// Creates a compressor of a level from 0 to 9, which libdeflate's levels of these numbers
    /// stand for; others are the default level.
    pub(super) fn new(level: u32) -> Self {
        let level = i32::try_from(level).ok().and_then(|level| CompressionLvl::new(level).ok());
        Self(libdeflater::Compressor::new(level.unwrap_or_default()))
    }
}

impl Compressor for GzCompressor {
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let room = self.0.gzip_compress_bound(payload.len());
        out.resize(start.saturating_add(room), 0);
        let bytes = self
            .0
            .gzip_compress(payload, out.get_mut(start..).unwrap_or_default())
            .map_err(Error::other)?;
        out.truncate(start.saturating_add(bytes));
        Ok(())
    }
}

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let room = expected.min(compressed.len().saturating_mul(MAX_EXPANSION));
    out.resize(start.saturating_add(room), 0);
    let target = out.get_mut(start..).unwrap_or_default();
    if Decompressor::new().gzip_decompress(compressed, target) == Ok(expected) {
        return Ok(());
    }
    // Several streams, another length than expected, or damage, which the stream reader names.
    out.truncate(start);
    read_expected(flate2::bufread::MultiGzDecoder::new(compressed), expected, out)
}
