//! Errors of the framing.

use std::{fmt, io};

/// Error in the framing, or in a chunk.
#[derive(Debug)]
#[non_exhaustive]
pub enum FramingError {
    /// The input ends inside a block.
    Truncated,
    /// A block states more bytes than allowed.
    BlockTooLong,
    /// A chunk decompresses to no bytes although its block is not complete.
    EmptyChunk,
    /// A block or a compressed chunk has 2 GiB or more, which a length cannot state.
    LengthOverflow,
    /// The chunk is damaged, or cannot be compressed.
    Chunk(io::Error),
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("it ends inside a block"),
            Self::BlockTooLong => f.write_str("its blocks state more bytes than allowed"),
            Self::EmptyChunk => f.write_str("a chunk decompresses to no bytes"),
            Self::LengthOverflow => f.write_str("a block has 2 GiB or more"),
            Self::Chunk(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FramingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Chunk(error) => Some(error),
            Self::Truncated | Self::BlockTooLong | Self::EmptyChunk | Self::LengthOverflow => None,
        }
    }
}
