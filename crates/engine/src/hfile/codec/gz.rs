//! GZ: a gzip stream, or several concatenated ones. One is written: versions of HBase after 2.6
//! (HBASE-30321) read no more than one.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Error, Result};

use libdeflater::{CompressionLvl, Decompressor};

use super::block_codec::{Compressor, read_expected};

/// Bytes that a compressed byte of a usual block expands to at most. Of more, the memory grows with
/// the output.
const MAX_EXPANSION: usize = 16;
/// Expected bytes whose memory is taken at once, however few they come from.
const MAX_UNSEEN_BYTES: usize = 1 << 20;

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
    if is_one_stream(compressed, expected) {
        let start = out.len();
        out.resize(start.saturating_add(expected), 0);
        let target = out.get_mut(start..).unwrap_or_default();
        if Decompressor::new().gzip_decompress(compressed, target) == Ok(expected) {
            return Ok(());
        }
        out.truncate(start);
    }
    // Several streams, another length than expected, or damage, which the stream reader names.
    read_expected(flate2::bufread::MultiGzDecoder::new(compressed), expected, out)
}

/// Returns `true` if the data ends as a stream of the expected length does, which is not so long that
/// only damage or malice states it. libdeflate reads the first of several streams and leaves the
/// rest unseen.
fn is_one_stream(compressed: &[u8], expected: usize) -> bool {
    let likely = compressed.len().saturating_mul(MAX_EXPANSION).max(MAX_UNSEEN_BYTES);
    let stated = compressed.last_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    expected <= likely && stated == Some(expected)
}
