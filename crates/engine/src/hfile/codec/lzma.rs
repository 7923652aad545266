//! LZMA: files of the `.lzma` format in Hadoop's framing, as HBase's codec based on XZ for Java
//! writes them; read only.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Error, ErrorKind, Result, Write};

use halite_compression::ChunkDecompressor;
use lzma_rs::decompress::{Options, UnpackedSize};

use super::framed;

pub(super) fn decompress(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> Result<()> {
    framed::decompress(LzmaFile, compressed, expected, out)
}

/// A whole file as a chunk. It states the sizes of its dictionary and its content, which are not
/// trusted: the decoder's dictionary grows with the actual output.
struct LzmaFile;

impl ChunkDecompressor for LzmaFile {
    fn decompress(&mut self, mut file: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let options = Options {
            unpacked_size: UnpackedSize::ReadFromHeader,
            memlimit: Some(max_bytes),
            allow_incomplete: false,
        };
        let mut target = Limited { out, room: max_bytes };
        lzma_rs::lzma_decompress_with_options(&mut file, &mut target, &options)
            .map_err(|error| Error::new(ErrorKind::InvalidData, error))
    }
}

/// Appends at most `room` bytes.
struct Limited<'a> {
    out: &'a mut Vec<u8>,
    room: usize,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.room = self
            .room
            .checked_sub(bytes.len())
            .ok_or_else(|| Error::new(ErrorKind::InvalidData, "it gives more"))?;
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
