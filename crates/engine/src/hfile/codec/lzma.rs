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

#[cfg(test)]
mod tests {
    use crate::hfile::Compression::Lzma;

    /// `payload ` forty times, compressed by XZ for Java 1.9, the library of HBase's codec, as that
    /// codec calls it.
    const FILE: [u8; 30] = [
        0x5d, 0x00, 0x00, 0x80, 0x00, 0x40, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x38,
        0x18, 0x4b, 0x99, 0x75, 0x0f, 0x46, 0x08, 0x34, 0x91, 0x84, 0xe2, 0x29, 0xa3, 0xf0, 0x00,
    ];

    #[test]
    fn files_of_xz_for_java_are_read() {
        let payload = b"payload ".repeat(40);
        let one = [&320_u32.to_be_bytes()[..], &30_u32.to_be_bytes(), &FILE].concat();
        assert_eq!(Lzma.decompress(&one, 320).unwrap(), payload);
        let chunk = &one[4..];
        let two = [&640_u32.to_be_bytes()[..], chunk, chunk, &[0; 4]].concat();
        assert_eq!(Lzma.decompress(&two, 640).unwrap(), payload.repeat(2));
        assert_eq!(Lzma.decompress(&[0; 4], 0).unwrap(), b"");
        for expected in [0, 319, 321, 1 << 30] {
            assert!(Lzma.decompress(&one, expected).is_err(), "{expected}");
        }
    }
}
