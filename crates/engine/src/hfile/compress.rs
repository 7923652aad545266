//! Codecs of a file's blocks: their names and numbers, and the built-in ones.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Read, Write};

use halite_types::{Error, ErrorKind, Result};

use super::{damaged, hadoop_framing};

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

    /// Returns `true` if files with it can be read and written.
    pub fn is_supported(self) -> bool {
        matches!(self, Self::None | Self::Gz)
    }

    /// Returns `true` if files with it can be read.
    pub fn is_readable(self) -> bool {
        self.is_supported() || matches!(self, Self::Snappy | Self::Lz4 | Self::Zstd)
    }

    /// Rejects the codecs that cannot be written.
    ///
    /// # Errors
    /// `Unsupported`, with the codec and the fix.
    pub(super) fn check_supported(self) -> Result<()> {
        if self.is_supported() {
            return Ok(());
        }
        let text = format!(
            "compression {} is not written, only NONE and GZ are; set COMPRESSION to one of these",
            self.name()
        );
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    /// Rejects the codecs that are not built in.
    ///
    /// # Errors
    /// `Unsupported`, with the codec and the fix.
    pub(super) fn check_readable(self) -> Result<()> {
        if self.is_readable() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "compression {} is not built in, only GZ, SNAPPY, LZ4 and ZSTD are; set COMPRESSION to one of these or NONE and let HBase rewrite the file with a major compaction",
                self.name()
            ),
        ))
    }

    /// Appends the compressed form of `payload` to `out`.
    pub(super) fn compress(self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.check_supported()?;
        if self == Self::None {
            out.extend_from_slice(payload);
            return Ok(());
        }
        let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
        encoder
            .write_all(payload)
            .and_then(|()| encoder.finish())
            .map(|_| ())
            .map_err(|error| Error::io("compressing a block", error))
    }

    /// Returns the payload of `compressed`, which must decompress to exactly `expected` bytes. The
    /// buffer grows with the actual output, whatever the value of `expected`.
    pub(super) fn decompress(self, compressed: &[u8], expected: usize) -> Result<Vec<u8>> {
        self.check_readable()?;
        let plausible = compressed.len().saturating_mul(16).saturating_add(4096);
        let mut payload = Vec::with_capacity(expected.min(plausible));
        let limit = u64::try_from(expected).unwrap_or(u64::MAX).saturating_add(1);
        let read = match self {
            Self::Gz => flate2::bufread::MultiGzDecoder::new(compressed)
                .take(limit)
                .read_to_end(&mut payload),
            Self::Snappy | Self::Lz4 | Self::Zstd => {
                hadoop_framing::decompress(self, compressed, expected, &mut payload)
                    .map(|()| payload.len())
            }
            _ => compressed.take(limit).read_to_end(&mut payload),
        };
        read.map_err(|error| {
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
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_hbases() {
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
    fn a_wrong_size_is_refused_without_inflating_everything() {
        let mut packed = Vec::new();
        Compression::Gz.compress(&vec![7; 1 << 24], &mut packed).unwrap();
        for expected in [0, 100, (1 << 24) - 1, (1 << 24) + 1, 1 << 30] {
            let error = Compression::Gz.decompress(&packed, expected).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
        assert_eq!(Compression::Gz.decompress(&packed, 1 << 24).unwrap().len(), 1 << 24);
    }
}
