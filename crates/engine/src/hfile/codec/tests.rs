//! Round trips, damaged input, and the memory that both take.

use std::hint::black_box;
use std::io;

use super::*;

#[test]
fn codec_codes_and_names_equal_hbases() {
    for (code, name) in ["LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD", "LZMA", "BROTLI"]
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
        let Ok(mut compressor) = codec.compressor(CodecSettings::default()) else {
            assert!(!codec.is_supported(), "{codec:?}");
            continue;
        };
        assert!(codec.is_supported() && codec.is_readable(), "{codec:?}");
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
    for codec in CODECS.into_iter().filter(|codec| codec.is_supported()) {
        packed.clear();
        let mut compressor = codec.compressor(CodecSettings::default()).unwrap();
        compressor.compress(&vec![7; 1 << 24], &mut packed).unwrap();
        for expected in [0, 100, (1 << 24) - 1, (1 << 24) + 1, 1 << 30] {
            let error = codec.decompress(&packed, expected).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
        assert_eq!(codec.decompress(&packed, 1 << 24).unwrap().len(), 1 << 24);
    }
}

/// Returns the codecs that are read, each with the compressed form of a payload.
fn packed(payload: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    CODECS
        .into_iter()
        .filter(|codec| codec.is_readable())
        .map(|codec| {
            let mut packed = Vec::new();
            match codec {
                Compression::Bzip2 => {
                    let mut encoder =
                        ::bzip2::write::BzEncoder::new(&mut packed, ::bzip2::Compression::best());
                    io::Write::write_all(&mut encoder, payload).unwrap();
                    encoder.finish().unwrap();
                }
                Compression::Lzma => {
                    let mut file = Vec::new();
                    lzma_rs::lzma_compress(&mut &payload[..], &mut file).unwrap();
                    packed.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
                    packed.extend_from_slice(&u32::try_from(file.len()).unwrap().to_be_bytes());
                    packed.extend_from_slice(&file);
                }
                _ => {
                    let mut compressor = codec.compressor(CodecSettings::default()).unwrap();
                    compressor.compress(payload, &mut packed).unwrap();
                }
            }
            assert_eq!(codec.decompress(&packed, payload.len()).unwrap(), payload, "{codec:?}");
            (codec, packed)
        })
        .collect()
}

#[test]
fn several_gzip_streams_are_one_payload() {
    let payload = b"the beginning and the end";
    let mut packed = Vec::new();
    let mut compressor = Compression::Gz.compressor(CodecSettings::default()).unwrap();
    let (first, second) = payload.split_at(14);
    compressor.compress(first, &mut packed).unwrap();
    compressor.compress(second, &mut packed).unwrap();
    assert_eq!(Compression::Gz.decompress(&packed, payload.len()).unwrap(), payload);
}

#[test]
fn damaged_data_is_an_error_or_of_expected_length() {
    /// Maximum memory of one block, in bytes: the tables of the BZIP2 and LZMA decoders, which do
    /// not depend on the data.
    const MAX_BYTES: u64 = 12 << 20;

    let payload: Vec<u8> =
        (0..300_u32).flat_map(|number| (number * number / 7).to_be_bytes()).collect();
    let mut errors = 0;
    for (codec, packed) in packed(&payload) {
        let mut check = |damaged: &[u8], expected: usize| {
            let mut result = None;
            let used = allocation_counter::measure(|| {
                result = Some(codec.decompress(black_box(damaged), expected));
            });
            assert!(used.bytes_max < MAX_BYTES, "{codec:?}: {} bytes", used.bytes_max);
            match result.unwrap() {
                Ok(read) => assert_eq!(read.len(), expected, "{codec:?}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{codec:?}: {error}");
                    errors += 1;
                }
            }
        };
        for at in 0..packed.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = packed.clone();
                damaged[at] ^= flip;
                check(&damaged, payload.len());
                check(&damaged, 1 << 30);
            }
            check(&packed[..at], payload.len());
            check(&packed[at + 1..], payload.len());
        }
    }
    assert!(errors > 500, "{errors}");
}

#[test]
fn sizes_that_data_states_allocate_nothing() {
    const STATED: u32 = 1 << 30;

    let chunk = |chunk: &[u8]| {
        let length = u32::try_from(chunk.len()).unwrap();
        [&STATED.to_be_bytes()[..], &length.to_be_bytes(), chunk].concat()
    };
    // A frame of one segment and 2^30 bytes, and one with a window of 2^30 bytes; a file with a
    // dictionary and a content of 2^30 bytes.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x40, 1, 0, 0];
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0];
    let file = [0x5d, 0, 0, 0, 0x40, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for (codec, data) in [
        (Compression::Snappy, chunk(&[0x80, 0x80, 0x80, 0x80, 0x04, 0])),
        (Compression::Lz4, chunk(&[0])),
        (Compression::Zstd, chunk(&frame)),
        (Compression::Zstd, chunk(&window)),
        (Compression::Zstd, frame.to_vec()),
        (Compression::Lzma, chunk(&file)),
    ] {
        let mut result = None;
        let used = allocation_counter::measure(|| {
            result = Some(codec.decompress(&data, usize::try_from(STATED).unwrap()));
        });
        assert_eq!(result.unwrap().unwrap_err().kind(), ErrorKind::Corrupt, "{codec:?}");
        assert!(used.bytes_max < 1 << 20, "{codec:?}: {} bytes", used.bytes_max);
    }
}

#[test]
fn compressed_block_costs_no_allocation() {
    let payload: Vec<u8> =
        (0..60_000_u32).flat_map(|number| (number * number / 7).to_be_bytes()).collect();
    for codec in CODECS.into_iter().filter(|codec| codec.is_supported()) {
        let mut compressor = codec.compressor(CodecSettings::default()).unwrap();
        let mut out = Vec::new();
        compressor.compress(&payload, &mut out).unwrap();
        let first = out.clone();
        out.clear();
        let used = allocation_counter::measure(|| compressor.compress(&payload, &mut out).unwrap());
        assert_eq!((used.count_total, out == first), (0, true), "{codec:?}");
    }
}
