//! The compressors of cell blocks, by the names of Hadoop's classes.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Read, Write};

use halite_types::{Error, ErrorKind, Result};

use super::hadoop::{self, Chunks};

/// A compressor of cell blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// `DefaultCodec`: one zlib stream.
    Default,
    /// `GzipCodec`: gzip streams, one behind the other.
    Gzip,
    /// `SnappyCodec`: raw snappy in Hadoop's blocks.
    Snappy,
    /// `Lz4Codec`: raw LZ4 in Hadoop's blocks.
    Lz4,
    /// `ZStandardCodec`: Zstandard frames, one behind the other.
    ZStandard,
}

impl Compressor {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Default, Self::Gzip, Self::Snappy, Self::Lz4, Self::ZStandard];

    /// The name of the Java class, as a connection header gives it.
    pub fn class(self) -> &'static str {
        match self {
            Self::Default => "org.apache.hadoop.io.compress.DefaultCodec",
            Self::Gzip => "org.apache.hadoop.io.compress.GzipCodec",
            Self::Snappy => "org.apache.hadoop.io.compress.SnappyCodec",
            Self::Lz4 => "org.apache.hadoop.io.compress.Lz4Codec",
            Self::ZStandard => "org.apache.hadoop.io.compress.ZStandardCodec",
        }
    }

    /// The compressor of a class name.
    pub fn from_class(class: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compressor| compressor.class() == class)
    }

    /// The compressed form of a block, which may be empty and still has one.
    pub(super) fn compress(self, block: &[u8]) -> Result<Vec<u8>> {
        let level = flate2::Compression::fast();
        let packed = match self {
            Self::Default => written(flate2::write::ZlibEncoder::new(Vec::new(), level), block, flate2::write::ZlibEncoder::finish),
            Self::Gzip => written(flate2::write::GzEncoder::new(Vec::new(), level), block, flate2::write::GzEncoder::finish),
            Self::ZStandard => zstd::stream::encode_all(block, zstd::DEFAULT_COMPRESSION_LEVEL),
            Self::Snappy => return hadoop::compress(block, Chunks::Snappy),
            Self::Lz4 => return hadoop::compress(block, Chunks::Lz4),
        };
        packed.map_err(|error| Error::new(ErrorKind::Io, format!("a cell block does not compress: {error}")).with_source(error))
    }

    /// The block behind its compressed form, of at most `bytes_max` bytes. Memory is taken as bytes come out, so a small
    /// input cannot ask for much.
    pub(super) fn decompress(self, packed: &[u8], bytes_max: usize) -> Result<Vec<u8>> {
        match self {
            Self::Default => self.read(flate2::bufread::ZlibDecoder::new(packed), bytes_max),
            Self::Gzip => self.read(flate2::bufread::MultiGzDecoder::new(packed), bytes_max),
            Self::ZStandard => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(|error| self.damaged(&error))?;
                // A frame says how far back it refers, and the decoder takes memory for that.
                decoder.window_log_max(window_log(bytes_max)).map_err(|error| self.damaged(&error))?;
                self.read(decoder, bytes_max)
            }
            Self::Snappy => hadoop::decompress(packed, Chunks::Snappy, bytes_max),
            Self::Lz4 => hadoop::decompress(packed, Chunks::Lz4, bytes_max),
        }
    }

    fn read(self, decoder: impl Read, bytes_max: usize) -> Result<Vec<u8>> {
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let mut block = Vec::new();
        decoder.take(limit).read_to_end(&mut block).map_err(|error| self.damaged(&error))?;
        if block.len() > bytes_max { Err(too_big(bytes_max)) } else { Ok(block) }
    }

    fn damaged(self, error: &std::io::Error) -> Error {
        Error::invalid(format!("the cell block is not what {} writes: {error}", self.class()))
    }
}

/// The largest window of Zstandard to accept, as a power of two: what `bytes_max` bytes can need, but at least the 8 MiB
/// that common levels announce for little data too, and at most the 128 MiB of the library's own limit.
fn window_log(bytes_max: usize) -> u32 {
    usize::BITS.saturating_sub(bytes_max.leading_zeros()).clamp(23, 27)
}

/// The refusal of a block that unfolds to too much.
pub(super) fn too_big(bytes_max: usize) -> Error {
    Error::invalid(format!("the cell block has more than {bytes_max} bytes when decompressed; send fewer cells in one call"))
}

fn written<W: Write>(mut encoder: W, block: &[u8], finish: impl FnOnce(W) -> std::io::Result<Vec<u8>>) -> std::io::Result<Vec<u8>> {
    encoder.write_all(block)?;
    finish(encoder)
}
