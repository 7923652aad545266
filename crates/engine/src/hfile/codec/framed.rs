//! Payloads in Hadoop's framing: SNAPPY, LZ4, ZSTD and LZMA.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io;

use halite_compression::{BlockReader, ChunkCompressor, ChunkDecompressor, write_block};

use super::block_codec::Compressor;

/// Compressor to one framed block per payload.
pub(super) struct Framed<C>(pub(super) C);

impl<C: ChunkCompressor + Send> Compressor for Framed<C> {
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let chunks = write_block(payload, &mut self.0, out).map_err(io::Error::other)?;
        if chunks > 1 {
            // HBase's own files have an empty block here. Its readers do not require it.
            out.extend_from_slice(&[0; 4]);
        }
        Ok(())
    }

    fn compresses_parts(&self) -> bool {
        true
    }

    /// Appends a frame. An empty block would end the payload for HBase's readers, so none follows a
    /// part of several chunks.
    fn compress_part(&mut self, part: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        write_block(part, &mut self.0, out).map(drop).map_err(io::Error::other)
    }
}

/// Returns the length that a frame states to decompress to; `None` if it is shorter than a length.
pub(super) fn stated_bytes(frame: &[u8]) -> Option<usize> {
    let length = frame.first_chunk::<4>()?;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

/// Fills the empty `out` with the first `expected` bytes of a payload, or fewer if it is shorter.
pub(super) fn decompress(
    mut codec: impl ChunkDecompressor,
    compressed: &[u8],
    expected: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut blocks = BlockReader::new(compressed);
    while !blocks.is_at_end() || out.len() < expected {
        blocks
            .read_block(expected.saturating_sub(out.len()), &mut codec, out)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        // HBase writes a block of length 0 after a payload of several chunks; it is not read.
        if out.len() >= expected {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use halite_compression::{ChunkCompressor as _, Lz4Compressor, SnappyCompressor};

    use crate::hfile::{CodecSettings, Compression};

    /// Payload of two chunks of equal halves, with the zeros that HBase appends to it.
    fn packed(codec: Compression, payload: &[u8]) -> Vec<u8> {
        let mut out = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
        for half in payload.chunks(payload.len().div_ceil(2)) {
            let mut chunk = Vec::new();
            match codec {
                Compression::Snappy => SnappyCompressor::default().compress(half, &mut chunk),
                Compression::Lz4 => Lz4Compressor::default().compress(half, &mut chunk),
                Compression::Zstd => zstd::stream::copy_encode(half, &mut chunk, 1),
                Compression::Lzma => lzma_rs::lzma_compress(&mut &half[..], &mut chunk),
                other => panic!("{other:?} has no framing"),
            }
            .unwrap();
            out.extend_from_slice(&u32::try_from(chunk.len()).unwrap().to_be_bytes());
            out.extend_from_slice(&chunk);
        }
        out.extend_from_slice(&[0; 4]);
        out
    }

    const CODECS: [Compression; 4] =
        [Compression::Snappy, Compression::Lz4, Compression::Zstd, Compression::Lzma];

    #[test]
    fn chunks_round_trip_unless_truncated_or_of_wrong_size() {
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
    fn large_payload_is_chunks_below_hbase_buffer_and_zeros() {
        // Bytes without repetitions, which no codec compresses.
        let mut state = 1_u32;
        let payload: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        })
        .take(700_000)
        .collect();
        for codec in CODECS.into_iter().filter(|codec| codec.is_supported()) {
            let mut bytes = Vec::new();
            let mut compressor = codec.compressor(CodecSettings::default()).unwrap();
            compressor.compress(&payload, &mut bytes).unwrap();
            let (total, mut rest) = bytes.split_first_chunk::<4>().unwrap();
            assert_eq!(u32::from_be_bytes(*total), 700_000);
            for _ in 0..4 {
                let (length, behind) = rest.split_first_chunk::<4>().unwrap();
                let length = usize::try_from(u32::from_be_bytes(*length)).unwrap();
                assert!((1..262_144).contains(&length), "{codec:?}: {length}");
                rest = &behind[length..];
            }
            assert_eq!(rest, [0; 4], "{codec:?}");
            assert_eq!(codec.decompress(&bytes, payload.len()).unwrap(), payload);
        }
    }

    #[test]
    fn oversized_chunk_is_rejected_without_allocation() {
        // A snappy block begins with its size as a varint.
        let mut bytes = (1_u32 << 30).to_be_bytes().to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 6, 0x80, 0x80, 0x80, 0x80, 0x04, 0]);
        assert!(Compression::Snappy.decompress(&bytes, 1 << 30).is_err());
    }
}
