//! Hadoop's framing around codecs that compress one chunk at a time.
//!
//! ```text
//! block    decompressed length u32 | chunk ... until that many bytes are decompressed
//! chunk    compressed length u32 | compressed bytes
//! ```
//! This is the format of Hadoop's `BlockCompressorStream`; blocks follow each other to the end of
//! the input. Empty input is compressed to a block of length zero, at which a reader stops.

use crate::{ChunkCompressor, ChunkDecompressor, FramingError};

/// Maximum bytes of a chunk before compression: Hadoop's readers have buffers of 256 KiB, and a
/// chunk must fit in one even if compression enlarges it by a sixth and 32 bytes.
const MAX_CHUNK_BYTES: usize = 218_422;

/// Appends one block of as many chunks as required and returns their number.
///
/// # Errors
/// `LengthOverflow`; `Chunk` if the codec fails.
pub fn write_block(
    block: &[u8],
    codec: &mut impl ChunkCompressor,
    out: &mut Vec<u8>,
) -> Result<usize, FramingError> {
    let chunks = block.chunks(MAX_CHUNK_BYTES);
    let count = chunks.len();
    out.extend_from_slice(&length_bytes(block.len())?);
    for chunk in chunks {
        // Replaced when the chunk is compressed and its length known.
        out.extend_from_slice(&[0; 4]);
        let start = out.len();
        codec.compress(chunk, out).map_err(FramingError::Chunk)?;
        let length = length_bytes(out.len().saturating_sub(start))?;
        if let Some(place) = out.get_mut(start.saturating_sub(4)..start) {
            place.copy_from_slice(&length);
        }
    }
    Ok(count)
}

fn length_bytes(length: usize) -> Result<[u8; 4], FramingError> {
    i32::try_from(length).map(i32::to_be_bytes).map_err(|_| FramingError::LengthOverflow)
}

/// Reader of consecutive blocks.
#[derive(Clone, Copy, Debug)]
pub struct BlockReader<'a> {
    rest: &'a [u8],
}

impl<'a> BlockReader<'a> {
    /// Creates a reader at the start of `framed`.
    pub fn new(framed: &'a [u8]) -> Self {
        Self { rest: framed }
    }

    /// Returns `true` if all bytes have been read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Appends the next block, at most `max_bytes` bytes, and returns its length in bytes.
    ///
    /// # Errors
    /// The error in the framing or in a chunk; `out` then contains a part of the block.
    pub fn read_block(
        &mut self,
        max_bytes: usize,
        codec: &mut impl ChunkDecompressor,
        out: &mut Vec<u8>,
    ) -> Result<usize, FramingError> {
        let length = self.read_length()?;
        if length > max_bytes {
            return Err(FramingError::BlockTooLong);
        }
        let end = out.len().saturating_add(length);
        while out.len() < end {
            let chunk_length = self.read_length()?;
            let (chunk, rest) =
                self.rest.split_at_checked(chunk_length).ok_or(FramingError::Truncated)?;
            self.rest = rest;
            let before = out.len();
            codec
                .decompress(chunk, end.saturating_sub(before), out)
                .map_err(FramingError::Chunk)?;
            if out.len() == before {
                return Err(FramingError::EmptyChunk);
            }
        }
        Ok(length)
    }

    fn read_length(&mut self) -> Result<usize, FramingError> {
        let (length, rest) = self.rest.split_first_chunk().ok_or(FramingError::Truncated)?;
        self.rest = rest;
        usize::try_from(u32::from_be_bytes(*length)).map_err(|_| FramingError::Truncated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lz4, Lz4Compressor, Snappy, SnappyCompressor};

    fn read_all(
        framed: &[u8],
        codec: &mut impl ChunkDecompressor,
    ) -> Result<Vec<u8>, FramingError> {
        let (mut blocks, mut out) = (BlockReader::new(framed), Vec::new());
        while !blocks.is_at_end() && blocks.read_block(1 << 20, codec, &mut out)? > 0 {}
        Ok(out)
    }

    fn check(compressor: &mut impl ChunkCompressor, codec: &mut impl ChunkDecompressor) {
        // More than one chunk.
        let block: Vec<u8> =
            (0..100_000_u32).flat_map(|number| (number / 7).to_be_bytes()).collect();
        let mut framed = Vec::new();
        assert_eq!(write_block(&block, compressor, &mut framed).unwrap(), 2);
        assert!(framed.len() < block.len());
        assert_eq!(read_all(&framed, codec).unwrap(), block);
        for cut in [1, 5, framed.len().div_euclid(2), framed.len().saturating_sub(1)] {
            let error = read_all(&framed[..cut], codec).unwrap_err();
            assert!(matches!(error, FramingError::Truncated), "{cut}: {error}");
        }
        let short = BlockReader::new(&framed).read_block(
            block.len().saturating_sub(1),
            codec,
            &mut Vec::new(),
        );
        assert!(matches!(short, Err(FramingError::BlockTooLong)));
        let two = [&framed[..], &framed].concat();
        assert_eq!(read_all(&two, codec).unwrap(), block.repeat(2));
        let mut empty = Vec::new();
        assert_eq!(write_block(&[], compressor, &mut empty).unwrap(), 0);
        assert_eq!(empty, [0; 4]);
        assert_eq!(read_all(&[&empty[..], b"ignored"].concat(), codec).unwrap(), b"");
    }

    #[test]
    fn blocks_of_several_chunks_are_read_and_no_part_of_one_is() {
        check(&mut SnappyCompressor::default(), &mut Snappy);
        check(&mut Lz4Compressor::default(), &mut Lz4);
    }

    #[test]
    fn chunk_without_bytes_is_an_error() {
        // A snappy block begins with its size as a varint.
        let framed = [0, 0, 0, 1, 0, 0, 0, 1, 0];
        assert!(matches!(read_all(&framed, &mut Snappy), Err(FramingError::EmptyChunk)));
    }

    #[test]
    fn chunk_that_states_a_gigabyte_allocates_none() {
        let mut snappy = (1_u32 << 30).to_be_bytes().to_vec();
        snappy.extend_from_slice(&[0, 0, 0, 6, 0x80, 0x80, 0x80, 0x80, 0x04, 0]);
        let mut out = Vec::new();
        let read = BlockReader::new(&snappy).read_block(usize::MAX, &mut Snappy, &mut out);
        assert!(matches!(read, Err(FramingError::Chunk(_))));
        assert!(out.capacity() < 1 << 20);
        let lz4 = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0];
        let read = BlockReader::new(&lz4).read_block(usize::MAX, &mut Lz4, &mut out);
        assert!(read.is_err());
        assert!(out.capacity() < 1 << 20);
    }
}
