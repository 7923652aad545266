//! Hadoop's framing around codecs that compress one chunk at a time.
//!
//! ```text
//! block    decompressed length u32 | chunk ... until that many bytes are decompressed
//! chunk    compressed length u32 | raw compressed bytes
//! ```
//! This is the format of Hadoop's `BlockCompressorStream`; blocks follow each other to the end of
//! the input. Empty input is compressed to a block of length zero, at which a reader stops.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::{Error, ErrorKind, Result};

use super::compressor::too_big;

/// Maximum bytes of a chunk before compression: Hadoop's readers have buffers of 256 KiB, and a
/// chunk must fit in one even if compression enlarges it.
const MAX_CHUNK_BYTES: usize = 218_421;

/// Maximum decompressed bytes per byte of LZ4.
const MAX_LZ4_RATIO: usize = 255;

/// Compression of the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    Snappy,
    Lz4,
}

/// Compresses into one block of as many chunks as required.
pub(super) fn compress(block: &[u8], chunks: Chunks) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(block.len().div_euclid(2).saturating_add(16));
    write_length(&mut out, block.len())?;
    for chunk in block.chunks(MAX_CHUNK_BYTES) {
        let packed = chunks.compress(chunk)?;
        write_length(&mut out, packed.len())?;
        out.extend_from_slice(&packed);
    }
    Ok(out)
}

fn write_length(out: &mut Vec<u8>, length: usize) -> Result<()> {
    let length = i32::try_from(length).map_err(|_| {
        Error::invalid(
            "a cell block of 2 GiB or more cannot be compressed; request fewer cells in one call",
        )
    })?;
    out.extend_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Decompresses the blocks to at most `max_bytes` bytes.
pub(super) fn decompress(mut packed: &[u8], chunks: Chunks, max_bytes: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    while !packed.is_empty() {
        let length = read_length(&mut packed)?;
        if length == 0 {
            break;
        }
        let end = out.len().saturating_add(length);
        if end > max_bytes {
            return Err(too_big(max_bytes));
        }
        while out.len() < end {
            let chunk_length = read_length(&mut packed)?;
            let (chunk, rest) = packed.split_at_checked(chunk_length).ok_or_else(truncated)?;
            packed = rest;
            let max_bytes = end.saturating_sub(out.len());
            let before = out.len();
            chunks.decompress(chunk, max_bytes, &mut out)?;
            if out.len() == before {
                return Err(Error::invalid(
                    "a chunk of the cell block is empty, but its block is incomplete",
                ));
            }
        }
    }
    Ok(out)
}

fn read_length(packed: &mut &[u8]) -> Result<usize> {
    let (length, rest) = packed.split_first_chunk().ok_or_else(truncated)?;
    *packed = rest;
    usize::try_from(u32::from_be_bytes(*length)).map_err(|_| truncated())
}

fn truncated() -> Error {
    Error::invalid("the compressed cell block ends too early")
}

impl Chunks {
    fn compress(self, chunk: &[u8]) -> Result<Vec<u8>> {
        match self {
            Self::Snappy => snap::raw::Encoder::new().compress_vec(chunk).map_err(|error| {
                Error::new(ErrorKind::Io, format!("cell block compression failed: {error}"))
                    .with_source(error)
            }),
            Self::Lz4 => Ok(lz4_flex::block::compress(chunk)),
        }
    }

    /// Appends the decompressed chunk, at most `max_bytes` bytes. Memory is allocated for the maximum
    /// output of the chunk, not for the announced size.
    fn decompress(self, chunk: &[u8], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let size = match self {
            Self::Snappy => snap::raw::decompress_len(chunk).map_err(|error| damaged(&error))?,
            Self::Lz4 => max_bytes.min(chunk.len().saturating_mul(MAX_LZ4_RATIO)),
        };
        if size > max_bytes || size > chunk.len().saturating_mul(MAX_LZ4_RATIO) {
            return Err(Error::invalid(
                "a chunk of the cell block contains more bytes than its block specifies",
            ));
        }
        out.resize(start.saturating_add(size), 0);
        let target = out.get_mut(start..).unwrap_or_default();
        let written = match self {
            Self::Snappy => snap::raw::Decoder::new()
                .decompress(chunk, target)
                .map_err(|error| damaged(&error))?,
            Self::Lz4 => {
                lz4_flex::block::decompress_into(chunk, target).map_err(|error| damaged(&error))?
            }
        };
        out.truncate(start.saturating_add(written));
        Ok(())
    }
}

fn damaged(error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("decompression of a chunk of the cell block failed: {error}"))
}
