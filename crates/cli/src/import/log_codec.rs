//! Codecs of the values in a log.

use halite::Error;
use halite_engine::hfile::Compression;

/// Codecs by HBase's numbers.
const CODECS: [&str; 9] = ["LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD", "LZMA", "BROTLI"];

/// Decompresses a value of a log.
///
/// # Errors
/// `Unsupported` for a codec without a decompressor, `Corrupt`.
pub(super) fn decompress_value(codec: u32, packed: &[u8], bytes: usize) -> halite::Result<Vec<u8>> {
    let name = usize::try_from(codec).ok().and_then(|codec| CODECS.get(codec).copied());
    let codec = name
        .and_then(Compression::from_name)
        .ok_or_else(|| Error::corrupt(format!("HBase has no codec of number {codec}")))?;
    codec.decompress(packed, bytes)
}
