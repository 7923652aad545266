//! Payloads in Hadoop's framing: SNAPPY, LZ4 and ZSTD.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io;

use halite_compression::{BlockReader, ChunkDecompressor};

/// Fills the empty `out` with the first `expected` bytes of a payload, or fewer if it is shorter.
pub(super) fn decompress(
    mut codec: impl ChunkDecompressor,
    compressed: &[u8],
    expected: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut blocks = BlockReader::new(compressed);
    // HBase writes a block of length 0 after a payload of several chunks; it is not read.
    while out.len() < expected {
        blocks
            .read_block(expected.saturating_sub(out.len()), &mut codec, out)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use halite_compression::{ChunkCompressor as _, Lz4, Snappy};

    use crate::hfile::Compression;

    /// Payload of two chunks of equal halves, with the zeros that HBase appends to it.
    fn packed(codec: Compression, payload: &[u8]) -> Vec<u8> {
        let mut out = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
        for half in payload.chunks(payload.len().div_ceil(2)) {
            let chunk = match codec {
                Compression::Snappy => Snappy.compress(half).unwrap(),
                Compression::Lz4 => Lz4.compress(half).unwrap(),
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
    fn oversized_chunk_is_rejected_without_allocation() {
        // A snappy block begins with its size as a varint.
        let mut bytes = (1_u32 << 30).to_be_bytes().to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 6, 0x80, 0x80, 0x80, 0x80, 0x04, 0]);
        assert!(Compression::Snappy.decompress(&bytes, 1 << 30).is_err());
    }
}
