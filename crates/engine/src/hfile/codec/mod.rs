//! Codecs of a file's blocks: their names and numbers, and the compressor and decompressor of
//! each. A codec is one file with one or both of these, and one arm in each of
//! [`Compression::find_compressor`] and [`Compression::find_decompressor`].
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod framed;
mod gz;
mod lz4;
mod none;
mod snappy;
mod zstd;

use std::io::{self, Read as _};

use halite_types::{Error, ErrorKind, Result};

use super::damaged;

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

/// Compressor of the blocks of one file. It may keep its state from block to block.
pub(super) trait Compressor: Send {
    /// Appends the compressed form of `payload` to `out`.
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> io::Result<()>;
}

/// Decompressor: fills the empty buffer with the payload of the given bytes. It may stop at any
/// length above the expected one. Memory grows with the actual output, whatever is expected.
type Decompress = fn(compressed: &[u8], expected: usize, out: &mut Vec<u8>) -> io::Result<()>;

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

    fn find_compressor(self) -> Option<Box<dyn Compressor>> {
        match self {
            Self::None => Some(Box::new(none::Copier)),
            Self::Gz => Some(Box::new(gz::GzCompressor)),
            Self::Lzo
            | Self::Snappy
            | Self::Lz4
            | Self::Bzip2
            | Self::Zstd
            | Self::Lzma
            | Self::Brotli => None,
        }
    }

    fn find_decompressor(self) -> Option<Decompress> {
        match self {
            Self::None => Some(none::decompress),
            Self::Gz => Some(gz::decompress),
            Self::Snappy => Some(snappy::decompress),
            Self::Lz4 => Some(lz4::decompress),
            Self::Zstd => Some(zstd::decompress),
            Self::Lzo | Self::Bzip2 | Self::Lzma | Self::Brotli => None,
        }
    }

    /// Returns `true` if files with it can be read and written.
    pub fn is_supported(self) -> bool {
        self.find_compressor().is_some() && self.is_readable()
    }

    /// Returns `true` if files with it can be read.
    pub fn is_readable(self) -> bool {
        self.find_decompressor().is_some()
    }

    /// Returns the codec of the files of a family with this attribute `COMPRESSION`: `None` for a
    /// codec that cannot be written.
    pub(crate) fn for_family(name: &str) -> Self {
        Self::from_name(name).filter(|codec| codec.is_supported()).unwrap_or_default()
    }

    /// Returns a compressor for the blocks of a new file.
    ///
    /// # Errors
    /// `Unsupported` for a codec that cannot be written, with the codec and the fix.
    pub(super) fn compressor(self) -> Result<Box<dyn Compressor>> {
        self.find_compressor().ok_or_else(|| {
            let text = format!(
                "compression {} is not written, only NONE and GZ are; set COMPRESSION to one of \
                 these",
                self.name()
            );
            Error::new(ErrorKind::Unsupported, text)
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
                    "compression {} is not built in, only GZ, SNAPPY, LZ4 and ZSTD are; set \
                     COMPRESSION to one of these or NONE and let HBase rewrite the file with a \
                     major compaction",
                    self.name()
                ),
            )
        })
    }

    /// Returns the payload of `compressed`, which must decompress to exactly `expected` bytes. The
    /// buffer grows with the actual output, whatever the value of `expected`.
    pub(super) fn decompress(self, compressed: &[u8], expected: usize) -> Result<Vec<u8>> {
        let decompress = self.decompressor()?;
        let plausible = compressed.len().saturating_mul(16).saturating_add(4096);
        let mut payload = Vec::with_capacity(expected.min(plausible));
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

/// Reads to the end, but at most one byte more than expected, which shows that there is more.
fn read_expected(input: impl io::Read, expected: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let limit = u64::try_from(expected).unwrap_or(u64::MAX).saturating_add(1);
    input.take(limit).read_to_end(out).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codec_codes_and_names_equal_hbases() {
        for (code, name) in
            ["LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD", "LZMA", "BROTLI"]
                .into_iter()
                .enumerate()
        {
            let codec = Compression::from_name(name).unwrap();
            assert_eq!(
                (codec.code(), Compression::from_code(codec.code())),
                (u32::try_from(code).unwrap(), Some(codec))
            );
        }
        assert_eq!(Compression::from_code(9), None);
    }

    #[test]
    fn supported_codecs_round_trip_and_others_become_none() {
        for codec in CODECS {
            let written = if codec.is_supported() { codec } else { Compression::None };
            assert_eq!(Compression::for_family(codec.name()), written);
            let Ok(mut compressor) = codec.compressor() else {
                assert!(!codec.is_supported(), "{codec:?}");
                continue;
            };
            // The second block shows that no state of the first one remains in it.
            for payload in [b"payload ".repeat(100), b"another".to_vec(), Vec::new()] {
                let mut packed = b"header".to_vec();
                compressor.compress(&payload, &mut packed).unwrap();
                assert_eq!(codec.decompress(&packed[6..], payload.len()).unwrap(), payload);
            }
        }
        assert_eq!(Compression::for_family("GZ"), Compression::Gz);
        assert_eq!(Compression::for_family("unknown"), Compression::None);
    }

    #[test]
    fn wrong_size_is_rejected_as_corrupt() {
        let mut packed = Vec::new();
        Compression::Gz.compressor().unwrap().compress(&vec![7; 1 << 24], &mut packed).unwrap();
        for expected in [0, 100, (1 << 24) - 1, (1 << 24) + 1, 1 << 30] {
            let error = Compression::Gz.decompress(&packed, expected).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
        assert_eq!(Compression::Gz.decompress(&packed, 1 << 24).unwrap().len(), 1 << 24);
    }
}
