//! GZ: a gzip stream, or several concatenated ones. One is written: versions of HBase after 2.6
//! (HBASE-30321) read no more than one.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Error, Result};

use flate2::{Compress, FlushCompress, Status};

use super::block_codec::{Compressor, read_expected};

/// Magic, deflate, no flags, no time, no hint about the level, unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// Minimum room for one step of the compressor, in bytes.
const MIN_ROOM_BYTES: usize = 4096;

/// Compressor to one gzip stream per block. Its tables serve one block after the other; a new
/// compressor for each block would allocate 300 kB.
pub(super) struct GzCompressor(Compress);

impl GzCompressor {
    /// Creates a compressor of a level from 0 to 9.
    pub(super) fn new(level: u32) -> Self {
        Self(Compress::new(flate2::Compression::new(level), false))
    }
}

impl Compressor for GzCompressor {
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&HEADER);
        self.0.reset();
        let mut rest = payload;
        loop {
            out.reserve(rest.len().div_euclid(2).saturating_add(MIN_ROOM_BYTES));
            let before = self.0.total_in();
            let status =
                self.0.compress_vec(rest, out, FlushCompress::Finish).map_err(Error::other)?;
            let read = usize::try_from(self.0.total_in().saturating_sub(before));
            rest = rest.get(read.unwrap_or(usize::MAX)..).unwrap_or_default();
            if status == Status::StreamEnd {
                break;
            }
        }
        out.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
        // The length modulo 2^32, as the format has it.
        let length = u32::try_from(payload.len() & 0xffff_ffff).unwrap_or_default();
        out.extend_from_slice(&length.to_le_bytes());
        Ok(())
    }
}

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    read_expected(flate2::bufread::MultiGzDecoder::new(compressed), expected, out)
}
