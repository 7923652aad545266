//! Hadoop's framing around SNAPPY, LZ4 and ZSTD, which can be read here but not written.
//!
//! ```text
//! payload    total u32 | chunks that decompress to total bytes; repeated up to the whole payload
//! chunk      length u32 | one raw snappy or LZ4 block, or one zstd frame
//! ```
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Error, ErrorKind, Result};

use crate::hfile::vint::ByteReader;

/// Maximum bytes that one byte of a chunk decompresses to: LZ4 reaches 255, snappy less.
pub(super) const MAX_COMPRESSION_RATIO: usize = 256;

/// Fills the empty `out` with the first `expected` bytes of a payload, or fewer if it is shorter.
/// `append` decompresses a chunk to at most the given number of bytes.
///
/// # Errors
/// The error in the framing or in a chunk.
pub(super) fn decompress(
    packed: &[u8],
    expected: usize,
    out: &mut Vec<u8>,
    append: impl Fn(&[u8], usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let mut input = ByteReader::new(packed);
    // HBase writes a total of 0 after a payload of several chunks; it is not read.
    while out.len() < expected {
        let end = input
            .length()
            .and_then(|total| out.len().checked_add(total))
            .ok_or_else(|| wrong("it ends before a total"))?;
        if end > expected {
            return Err(wrong("its totals come to more"));
        }
        while out.len() < end {
            let chunk = input
                .length()
                .and_then(|length| input.take(length))
                .ok_or_else(|| wrong("it ends inside a chunk"))?;
            let before = out.len();
            append(chunk, end.saturating_sub(before), out)?;
            if out.len() == before {
                return Err(wrong("a chunk gives nothing"));
            }
        }
    }
    Ok(())
}

/// Appends a raw block that decompresses to at most `size` bytes, which must fit in `room`. Memory
/// is allocated for what the block can decompress to, not for the size that it states.
pub(super) fn append_block(
    block: &[u8],
    size: usize,
    room: usize,
    out: &mut Vec<u8>,
    decompress: impl FnOnce(&[u8], &mut [u8]) -> Result<usize>,
) -> Result<()> {
    if size > room.min(block.len().saturating_mul(MAX_COMPRESSION_RATIO)) {
        return Err(wrong("a chunk gives more than its total"));
    }
    let start = out.len();
    out.resize(start.saturating_add(size), 0);
    let written = decompress(block, out.get_mut(start..).unwrap_or_default())?;
    out.truncate(start.saturating_add(written));
    Ok(())
}

pub(super) fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use crate::hfile::Compression;

    /// Payload of two chunks of equal halves, with the zeros that HBase appends to it.
    fn packed(codec: Compression, payload: &[u8]) -> Vec<u8> {
        let mut out = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
        for half in payload.chunks(payload.len().div_ceil(2)) {
            let chunk = match codec {
                Compression::Snappy => snap::raw::Encoder::new().compress_vec(half).unwrap(),
                Compression::Lz4 => lz4_flex::block::compress(half),
                Compression::Zstd => zstd::stream::encode_all(half, 1).unwrap(),
                other => panic!("{other:?} has no framing"),
            };
            out.extend_from_slice(&u32::try_from(chunk.len()).unwrap().to_be_bytes());
            out.extend_from_slice(&chunk);
        }
        out.extend_from_slice(&[0; 4]);
        out
    }

    const CODECS: [Compression; 3] = [Compression::Snappy, Compression::Lz4, Compression::Zstd];

    #[test]
    fn chunks_come_back_and_no_cut_or_wrong_size_does() {
        let payload: Vec<u8> =
            (0..3000_u32).flat_map(|number| (number / 7).to_be_bytes()).collect();
        for codec in CODECS {
            let bytes = packed(codec, &payload);
            assert_eq!(codec.decompress(&bytes, payload.len()).unwrap(), payload);
            for cut in 0..bytes.len() - 4 {
                assert!(codec.decompress(&bytes[..cut], payload.len()).is_err(), "{codec:?} {cut}");
            }
            for expected in [payload.len() - 1, payload.len() + 1, 1 << 30] {
                assert!(codec.decompress(&bytes, expected).is_err(), "{codec:?} {expected}");
            }
        }
        let bare = zstd::stream::encode_all(&payload[..], 1).unwrap();
        assert_eq!(Compression::Zstd.decompress(&bare, payload.len()).unwrap(), payload);
        assert!(Compression::Zstd.decompress(&bare, payload.len() - 1).is_err());
    }

    #[test]
    fn a_chunk_that_promises_a_gigabyte_gets_none() {
        // A snappy block begins with its size as a varint.
        let mut bytes = (1_u32 << 30).to_be_bytes().to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 6, 0x80, 0x80, 0x80, 0x80, 0x04, 0]);
        assert!(Compression::Snappy.decompress(&bytes, 1 << 30).is_err());
    }
}
