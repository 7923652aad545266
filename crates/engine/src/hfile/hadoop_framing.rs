//! Decompression of SNAPPY, LZ4 and ZSTD as HBase stores them: in Hadoop's framing, which can be
//! read here but not written.
//!
//! ```text
//! payload    total u32 | chunks that decompress to total bytes; repeated up to the whole payload
//! chunk      length u32 | one raw snappy or LZ4 block, or one zstd frame
//! ```
//! Hadoop's own ZSTD codec writes frames without this framing; they begin with the frame's magic.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Error, ErrorKind, Read, Result};

use super::compress::Compression;
use super::vint::ByteReader;

/// First bytes of a zstd frame. As a total they would be 683 million bytes.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Maximum bytes that one byte of a chunk decompresses to: LZ4 reaches 255, snappy less.
const MAX_COMPRESSION_RATIO: usize = 256;

/// Fills the empty `out` with the first `expected` bytes of a payload, or fewer if it is shorter.
///
/// # Errors
/// The error in the framing or in a chunk.
pub(super) fn decompress(
    codec: Compression,
    packed: &[u8],
    expected: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if codec == Compression::Zstd && packed.starts_with(&ZSTD_MAGIC) {
        return read_frames(packed, expected, out);
    }
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
            append(codec, chunk, end.saturating_sub(before), out)?;
            if out.len() == before {
                return Err(wrong("a chunk gives nothing"));
            }
        }
    }
    Ok(())
}

/// Appends the decompressed chunk, at most `room` bytes. Memory is allocated for what the chunk can
/// decompress to, not for the size that it states.
fn append(codec: Compression, chunk: &[u8], room: usize, out: &mut Vec<u8>) -> Result<()> {
    let most = room.min(chunk.len().saturating_mul(MAX_COMPRESSION_RATIO));
    let size = match codec {
        Compression::Snappy => snap::raw::decompress_len(chunk)?,
        Compression::Lz4 => most,
        _ => return read_frames(chunk, room, out),
    };
    if size > most {
        return Err(wrong("a chunk gives more than its total"));
    }
    let start = out.len();
    out.resize(start.saturating_add(size), 0);
    let target = out.get_mut(start..).unwrap_or_default();
    let written = match codec {
        Compression::Snappy => snap::raw::Decoder::new().decompress(chunk, target)?,
        _ => lz4_flex::block::decompress_into(chunk, target)
            .map_err(|error| wrong(&error.to_string()))?,
    };
    out.truncate(start.saturating_add(written));
    Ok(())
}

fn read_frames(frames: &[u8], room: usize, out: &mut Vec<u8>) -> Result<()> {
    let limit = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
    let before = out.len();
    zstd::stream::read::Decoder::with_buffer(frames)?.take(limit).read_to_end(out)?;
    if out.len().saturating_sub(before) > room {
        Err(wrong("its frames give more"))
    } else {
        Ok(())
    }
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payload of two chunks of equal halves, with the zeros that HBase appends to it.
    fn packed(codec: Compression, payload: &[u8]) -> Vec<u8> {
        let mut out = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
        for half in payload.chunks(payload.len().div_ceil(2)) {
            let chunk = match codec {
                Compression::Snappy => snap::raw::Encoder::new().compress_vec(half).unwrap(),
                Compression::Lz4 => lz4_flex::block::compress(half),
                _ => zstd::stream::encode_all(half, 1).unwrap(),
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
