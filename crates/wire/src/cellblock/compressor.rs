//! Compressors of cell blocks, by the names of Hadoop's classes.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Read, Write};

use halite_compression::{
    BlockReader, ChunkCompressor, ChunkDecompressor, FramingError, Lz4, Lz4Compressor, Snappy,
    SnappyCompressor, write_block,
};
use halite_types::{Error, ErrorKind, Result};

/// Compressor of cell blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// `DefaultCodec`: one zlib stream.
    Default,
    /// `GzipCodec`: concatenated gzip streams.
    Gzip,
    /// `SnappyCodec`: raw snappy in Hadoop's blocks.
    Snappy,
    /// `Lz4Codec`: raw LZ4 in Hadoop's blocks.
    Lz4,
    /// `ZStandardCodec`: concatenated Zstandard frames.
    ZStandard,
}

impl Compressor {
    /// All compressors.
    pub const ALL: [Self; 5] =
        [Self::Default, Self::Gzip, Self::Snappy, Self::Lz4, Self::ZStandard];

    /// Returns the name of the Java class, as in a connection header.
    pub fn class(self) -> &'static str {
        match self {
            Self::Default => "org.apache.hadoop.io.compress.DefaultCodec",
            Self::Gzip => "org.apache.hadoop.io.compress.GzipCodec",
            Self::Snappy => "org.apache.hadoop.io.compress.SnappyCodec",
            Self::Lz4 => "org.apache.hadoop.io.compress.Lz4Codec",
            Self::ZStandard => "org.apache.hadoop.io.compress.ZStandardCodec",
        }
    }

    /// Returns the compressor of a class name.
    pub fn from_class(class: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compressor| compressor.class() == class)
    }

    /// Returns the compressed form of a block, which may be empty.
    pub(super) fn compress(self, block: &[u8]) -> Result<Vec<u8>> {
        let level = flate2::Compression::fast();
        let packed = match self {
            Self::Default => written(
                flate2::write::ZlibEncoder::new(Vec::new(), level),
                block,
                flate2::write::ZlibEncoder::finish,
            ),
            Self::Gzip => written(
                flate2::write::GzEncoder::new(Vec::new(), level),
                block,
                flate2::write::GzEncoder::finish,
            ),
            Self::ZStandard => zstd::stream::encode_all(block, zstd::DEFAULT_COMPRESSION_LEVEL),
            Self::Snappy => return compress_framed(block, SnappyCompressor::default()),
            Self::Lz4 => return compress_framed(block, Lz4Compressor::default()),
        };
        packed.map_err(incompressible)
    }

    /// Returns the decompressed block of at most `max_bytes` bytes. Memory grows with the output,
    /// so a small input cannot cause a large allocation.
    pub(super) fn decompress(self, packed: &[u8], max_bytes: usize) -> Result<Vec<u8>> {
        match self {
            Self::Default => self.read(flate2::bufread::ZlibDecoder::new(packed), max_bytes),
            Self::Gzip => self.read(flate2::bufread::MultiGzDecoder::new(packed), max_bytes),
            Self::ZStandard => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)
                    .map_err(|error| self.damaged(&error))?;
                // A frame specifies its window size, for which the decoder allocates memory.
                decoder
                    .window_log_max(window_log(max_bytes))
                    .map_err(|error| self.damaged(&error))?;
                self.read(decoder, max_bytes)
            }
            Self::Snappy => decompress_framed(packed, Snappy, max_bytes),
            Self::Lz4 => decompress_framed(packed, Lz4, max_bytes),
        }
    }

    fn read(self, decoder: impl Read, max_bytes: usize) -> Result<Vec<u8>> {
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let mut block = Vec::new();
        decoder.take(limit).read_to_end(&mut block).map_err(|error| self.damaged(&error))?;
        if block.len() > max_bytes { Err(too_big(max_bytes)) } else { Ok(block) }
    }

    fn damaged(self, error: &std::io::Error) -> Error {
        Error::invalid(format!("the cell block is not valid {} data: {error}", self.class()))
    }
}

/// Returns the largest accepted window of Zstandard, as a power of two: sufficient for `max_bytes`
/// bytes, but at least the 8 MiB that common levels announce for little data too, and at most the
/// library's limit of 128 MiB.
fn window_log(max_bytes: usize) -> u32 {
    usize::BITS.saturating_sub(max_bytes.leading_zeros()).clamp(23, 27)
}

fn compress_framed(block: &[u8], mut codec: impl ChunkCompressor) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(block.len().div_euclid(2).saturating_add(16));
    write_block(block, &mut codec, &mut out).map_err(|error| match error {
        FramingError::Chunk(error) => incompressible(error),
        other => Error::invalid(format!(
            "a cell block cannot be compressed: {other}; ask for fewer cells in one call"
        )),
    })?;
    Ok(out)
}

/// Decompresses all blocks; one of length zero ends the input.
fn decompress_framed(
    packed: &[u8],
    mut codec: impl ChunkDecompressor,
    max_bytes: usize,
) -> Result<Vec<u8>> {
    let (mut blocks, mut out) = (BlockReader::new(packed), Vec::new());
    while !blocks.is_at_end() {
        let room = max_bytes.saturating_sub(out.len());
        let bytes = blocks.read_block(room, &mut codec, &mut out).map_err(|error| match error {
            FramingError::BlockTooLong => too_big(max_bytes),
            other => Error::invalid(format!("the compressed cell block is damaged: {other}")),
        })?;
        if bytes == 0 {
            break;
        }
    }
    Ok(out)
}

fn incompressible(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cell block compression failed: {error}")).with_source(error)
}

/// Returns the error for a block whose decoded size exceeds the limit.
fn too_big(max_bytes: usize) -> Error {
    Error::invalid(format!(
        "the cell block has more than {max_bytes} bytes when decompressed; send fewer cells in one \
         call"
    ))
}

fn written<W: Write>(
    mut encoder: W,
    block: &[u8],
    finish: impl FnOnce(W) -> std::io::Result<Vec<u8>>,
) -> std::io::Result<Vec<u8>> {
    encoder.write_all(block)?;
    finish(encoder)
}
