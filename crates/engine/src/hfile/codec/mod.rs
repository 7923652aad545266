//! Codecs of a file's blocks: their names and numbers, and the compressor and decompressor of
//! each. A codec is one file with one or both of these, and one arm in each of
//! [`Compression::is_supported`], [`Compression::compressor`] and
//! [`Compression::find_decompressor`]. SNAPPY, LZ4, ZSTD and LZMA have Hadoop's framing
//! (`framed.rs`).
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod block_codec;
mod bzip2;
mod framed;
mod gz;
mod lz4;
mod lzma;
mod none;
mod settings;
mod snappy;
mod zstd;

use halite_types::{Error, ErrorKind, Result};

pub(super) use block_codec::Compressor;
pub use settings::CodecSettings;

use block_codec::Decompress;

use super::damaged;
use crate::env::PADDING_BYTES;

/// Codecs that are written, as errors list them.
const WRITTEN: &str = "NONE, GZ, SNAPPY, LZ4 or ZSTD";

/// Compression of a file's blocks. All of HBase's codecs have a name here.
/// [`Compression::is_supported`] returns `true` for those that can be read and written,
/// [`Compression::is_readable`] for those that can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the codec of that name")]
pub enum Compression {
    Lzo,
    Gz,
    #[default]
    None,
    Snappy,
    Lz4,
    Bzip2,
    Zstd,
    Lzma,
    Brotli,
}

const CODECS: [Compression; 9] = [
    Compression::Lzo,
    Compression::Gz,
    Compression::None,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Bzip2,
    Compression::Zstd,
    Compression::Lzma,
    Compression::Brotli,
];

impl Compression {
    pub(super) fn from_code(code: u32) -> Option<Self> {
        CODECS.get(usize::try_from(code).ok()?).copied()
    }

    pub(super) fn code(self) -> u32 {
        self as u32
    }

    /// Returns the codec with an HBase name such as `GZ`, ignoring case.
    pub fn from_name(name: &str) -> Option<Self> {
        CODECS.into_iter().find(|codec| codec.name().eq_ignore_ascii_case(name.trim()))
    }

    /// Returns HBase's name, as in the attribute `COMPRESSION`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lzo => "LZO",
            Self::Gz => "GZ",
            Self::None => "NONE",
            Self::Snappy => "SNAPPY",
            Self::Lz4 => "LZ4",
            Self::Bzip2 => "BZIP2",
            Self::Zstd => "ZSTD",
            Self::Lzma => "LZMA",
            Self::Brotli => "BROTLI",
        }
    }

    fn find_decompressor(self) -> Option<Decompress> {
        match self {
            Self::None => Some(none::decompress),
            Self::Gz => Some(gz::decompress),
            Self::Snappy => Some(snappy::decompress),
            Self::Lz4 => Some(lz4::decompress),
            Self::Zstd => Some(zstd::decompress),
            Self::Bzip2 => Some(bzip2::decompress),
            Self::Lzma => Some(lzma::decompress),
            Self::Lzo | Self::Brotli => None,
        }
    }

    /// Returns `true` if files with it can be read and written.
    pub fn is_supported(self) -> bool {
        match self {
            Self::None | Self::Gz | Self::Snappy | Self::Lz4 | Self::Zstd => true,
            Self::Lzo | Self::Bzip2 | Self::Lzma | Self::Brotli => false,
        }
    }

    /// Returns `true` if files with it can be read.
    pub fn is_readable(self) -> bool {
        self.find_decompressor().is_some()
    }

    /// Returns the codec of the files of a family whose attribute has this value: `None` for a codec
    /// that cannot be written. New tables cannot have such a family; old ones can.
    pub(crate) fn for_family(name: &str) -> Self {
        Self::from_name(name).filter(|codec| codec.is_supported()).unwrap_or_default()
    }

    /// Checks that files with it can be written; `attribute` names the source of the codec in the
    /// error.
    ///
    /// # Errors
    /// `Unsupported` for a codec that cannot be written, with the codec and the fix.
    pub fn check_written(self, attribute: &str) -> Result<()> {
        if self.is_supported() { Ok(()) } else { Err(self.unwritten(attribute)) }
    }

    fn unwritten(self, attribute: &str) -> Error {
        let (name, state) =
            (self.name(), if self.is_readable() { "read and not written" } else { "not built in" });
        Error::new(
            ErrorKind::Unsupported,
            format!("{attribute} {name} is {state}; choose one of {WRITTEN}"),
        )
    }

    /// Returns a compressor for the blocks of a new file.
    ///
    /// # Errors
    /// `Unsupported` for a codec that cannot be written, with the codec and the fix; `Io` if there
    /// is no memory.
    pub(super) fn compressor(self, settings: CodecSettings) -> Result<Box<dyn Compressor>> {
        Ok(match self {
            Self::None => Box::new(none::Copier),
            Self::Gz => Box::new(gz::GzCompressor::new(settings.gz_level)),
            Self::Snappy => Box::new(snappy::compressor()),
            Self::Lz4 => Box::new(lz4::compressor()),
            Self::Zstd => zstd::compressor(settings.zstd_level, settings.is_zstd_bare)
                .map_err(|error| Error::io("creating a ZSTD compressor", error))?,
            Self::Lzo | Self::Bzip2 | Self::Lzma | Self::Brotli => {
                return Err(self.unwritten("compression"));
            }
        })
    }

    /// Rejects the codecs that are not built in.
    ///
    /// # Errors
    /// `Unsupported`, with the codec and the fix.
    pub(super) fn check_readable(self) -> Result<()> {
        self.decompressor().map(drop)
    }

    fn decompressor(self) -> Result<Decompress> {
        self.find_decompressor().ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "compression {} is not built in; set COMPRESSION to one of {WRITTEN} and let \
                     HBase rewrite the file with a major compaction",
                    self.name()
                ),
            )
        })
    }

    /// Returns the bytes of a part of a payload that was compressed by itself, at most `max_bytes`.
    ///
    /// # Errors
    /// As [`Compression::decompress`].
    pub(super) fn decompress_part(self, part: Vec<u8>, max_bytes: usize) -> Result<Vec<u8>> {
        if self == Self::None {
            return Ok(part);
        }
        let stated = framed::stated_bytes(&part).filter(|bytes| *bytes <= max_bytes);
        let stated = stated.ok_or_else(|| damaged("it states an impossible length"))?;
        self.decompress(&part, stated)
    }

    /// Returns how many times longer than in plain files the parts of data blocks are with this
    /// codec. Longer ones compress better and take longer to decompress: ZSTD with parts of 8 KB
    /// makes files 1 % larger than with 16 KB and warm gets a quarter cheaper (workload `large`);
    /// LZ4 loses 3 % to whole blocks with parts of 4 KB.
    pub(super) fn part_factor(self) -> usize {
        if self == Self::Zstd { 2 } else { 1 }
    }

    /// Returns the payload of `compressed`, which must decompress to exactly `expected` bytes. The
    /// buffer grows with the actual output, whatever the value of `expected`.
    ///
    /// # Errors
    /// `Unsupported` for a codec that cannot be read, with the codec and the fix; `Corrupt` for
    /// damaged data, and for data of another length.
    pub fn decompress(self, compressed: &[u8], expected: usize) -> Result<Vec<u8>> {
        let decompress = self.decompressor()?;
        let plausible = compressed.len().saturating_mul(16).saturating_add(4096);
        let mut payload = Vec::with_capacity(expected.min(plausible).saturating_add(PADDING_BYTES));
        decompress(compressed, expected, &mut payload).map_err(|error| {
            damaged(format_args!("its {} data does not decompress ({error})", self.name()))
        })?;
        if payload.len() != expected {
            let relation = if payload.len() > expected {
                "more".to_owned()
            } else {
                payload.len().to_string()
            };
            return Err(damaged(format_args!(
                "its {} data gives {relation} bytes where the header says {expected}",
                self.name()
            )));
        }
        Ok(payload)
    }
}

#[cfg(test)]
mod tests;
