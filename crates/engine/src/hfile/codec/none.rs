//! NONE: the payload as it is.

use std::io::Result;

use super::block_codec::{Compressor, read_expected};

/// Compressor that copies.
pub(super) struct Copier;

impl Compressor for Copier {
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(payload);
        Ok(())
    }

    fn compresses_parts(&self) -> bool {
        true
    }
}

pub(super) fn decompress(payload: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    read_expected(payload, expected, out)
}
