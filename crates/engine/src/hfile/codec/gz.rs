//! GZ: a gzip stream, or several concatenated ones.

use std::io::{Result, Write};

use super::{Compressor, read_expected};

/// Compressor to one gzip stream per block.
pub(super) struct GzCompressor;

impl Compressor for GzCompressor {
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
        encoder.write_all(payload)?;
        encoder.finish().map(drop)
    }
}

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    read_expected(flate2::bufread::MultiGzDecoder::new(compressed), expected, out)
}
