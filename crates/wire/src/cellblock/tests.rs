//! Blocks compared with bytes written by HBase, round trips, and arbitrary bytes.

use bytes::Bytes;
use halite_compression::{ChunkCompressor as _, SnappyCompressor};
use halite_types::cell::{CellParts, TAG_TTL, write_tag};
use halite_types::{CellType, CellsBuilder};
use proptest::prelude::*;

use super::*;

const MAX: usize = 1 << 20;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn one_cell(tags: &[u8]) -> Cells {
    let mut cells = CellsBuilder::default();
    cells.push_parts(CellParts {
        row: b"r",
        family: b"f",
        qualifier: b"q",
        timestamp: 5,
        cell_type: CellType::Put,
        value: b"v",
        tags,
    });
    cells.finish()
}

fn ttl_of_a_second() -> Vec<u8> {
    let mut tags = Vec::new();
    write_tag(&mut tags, TAG_TTL, &1000i64.to_be_bytes());
    tags
}

fn encoded(cells: &[Cells], format: CellBlockFormat) -> Bytes {
    let block = format.block(cells).unwrap();
    let mut out = BytesMut::new();
    block.write(&mut out);
    assert_eq!(out.len(), block.len(), "the announced length is the length");
    out.freeze()
}

fn plain(codec: Codec) -> CellBlockFormat {
    CellBlockFormat { codec, compressor: None }
}

// Cell r/f:q at 5 with value v, as written by HBase 2.6.
const KEY_VALUE: &str = "00000018 0000000f 00000001 0001 72 01 66 71 0000000000000005 04 76";
const KEY_VALUE_WITH_TAGS: &str =
    "00000025 0000000f 00000001 000172016671 0000000000000005 04 76 000b 0009 08 00000000000003e8";
const CELL: &str =
    "00000001 72 00000001 66 00000001 71 0000000000000005 04 00000001 76 0000000000000000";

#[test]
fn codecs_match_bytes_of_hbase() {
    for (codec, cells, bytes) in [
        (Codec::KeyValue, one_cell(&[]), KEY_VALUE),
        (Codec::KeyValueWithTags, one_cell(&[]), KEY_VALUE),
        (Codec::KeyValueWithTags, one_cell(&ttl_of_a_second()), KEY_VALUE_WITH_TAGS),
        (Codec::Cell, one_cell(&[]), CELL),
    ] {
        assert_eq!(encoded(std::slice::from_ref(&cells), plain(codec)), hex(bytes), "{codec:?}");
        assert_eq!(
            decode(&Bytes::from(hex(bytes)), plain(codec), MAX).unwrap(),
            cells,
            "{codec:?}"
        );
    }
}

#[test]
fn codec_without_tags_omits_them() {
    let tagged = one_cell(&ttl_of_a_second());
    assert_eq!(encoded(std::slice::from_ref(&tagged), plain(Codec::KeyValue)), hex(KEY_VALUE));
    assert_eq!(encoded(std::slice::from_ref(&tagged), plain(Codec::Cell)), hex(CELL));
    let read = decode(&Bytes::from(hex(KEY_VALUE_WITH_TAGS)), plain(Codec::KeyValue), MAX).unwrap();
    assert_eq!(read, one_cell(&[]));
}

#[test]
fn key_value_block_is_decoded_without_copy() {
    let block = Bytes::from(hex(KEY_VALUE));
    let cells = decode(&block, plain(Codec::KeyValue), MAX).unwrap();
    assert_eq!(cells.bytes().as_ptr(), block.as_ptr());
}

#[test]
fn codecs_are_found_only_by_class_name() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_class(codec.class()), Some(codec));
    }
    for compressor in Compressor::ALL {
        assert_eq!(Compressor::from_class(compressor.class()), Some(compressor));
    }
    assert_eq!(Codec::from_class("org.apache.hadoop.hbase.codec.Unknown"), None);
    assert_eq!(Compressor::from_class(""), None);
}

#[test]
fn compressed_block_without_cells_has_bytes() {
    for compressor in Compressor::ALL {
        let format = CellBlockFormat { codec: Codec::KeyValue, compressor: Some(compressor) };
        let block = encoded(&[], format);
        assert!(!block.is_empty(), "{compressor:?}");
        assert!(decode(&block, format, MAX).unwrap().is_empty(), "{compressor:?}");
    }
}

#[test]
fn compressed_blocks_match_hadoop_headers() {
    let block = |compressor| {
        encoded(
            &[one_cell(&[])],
            CellBlockFormat { codec: Codec::KeyValue, compressor: Some(compressor) },
        )
    };
    assert_eq!(block(Compressor::Default)[0], 0x78);
    assert_eq!(block(Compressor::Gzip)[..4], hex("1f8b0800"));
    assert_eq!(block(Compressor::Snappy)[..4], hex("0000001c"));
    assert_eq!(block(Compressor::ZStandard)[..4], hex("28b52ffd"));
}

#[test]
fn snappy_data_of_several_chunks_and_blocks_is_read() {
    let cell = hex(KEY_VALUE);
    let (head, tail) = cell.split_at(10);
    let chunk = |bytes: &[u8]| {
        let mut packed = Vec::new();
        SnappyCompressor::default().compress(bytes, &mut packed).unwrap();
        [&u32::try_from(packed.len()).unwrap().to_be_bytes()[..], &packed].concat()
    };
    let block = [&hex("0000001c")[..], &chunk(head), &chunk(tail)].concat();
    let two = Bytes::from([&block[..], &block].concat());
    let format = CellBlockFormat { codec: Codec::KeyValue, compressor: Some(Compressor::Snappy) };
    assert_eq!(decode(&two, format, MAX).unwrap().len(), 2);
}

#[test]
fn blocks_larger_than_chunk_round_trip_every_compressor() {
    let mut cells = CellsBuilder::default();
    for number in 0..400u32 {
        let value = number.to_be_bytes().repeat(400);
        let parts = CellParts {
            row: b"row",
            family: b"f",
            qualifier: b"q",
            timestamp: 1,
            cell_type: CellType::Put,
            value: &value,
            tags: &[],
        };
        cells.push_parts(parts);
    }
    let cells = cells.finish();
    for compressor in Compressor::ALL {
        let format = CellBlockFormat { codec: Codec::KeyValue, compressor: Some(compressor) };
        let block = encoded(std::slice::from_ref(&cells), format);
        assert!(block.len() < cells.bytes().len() / 2, "{compressor:?} does not compress");
        assert_eq!(decode(&block, format, MAX).unwrap(), cells, "{compressor:?}");
    }
}

#[test]
fn block_over_decompressed_limit_is_rejected() {
    let cells = one_cell(&[]);
    for compressor in Compressor::ALL {
        let format = CellBlockFormat { codec: Codec::KeyValue, compressor: Some(compressor) };
        let block = encoded(std::slice::from_ref(&cells), format);
        let bytes = cells.bytes().len();
        assert!(decode(&block, format, bytes).is_ok(), "{compressor:?}");
        let refused = decode(&block, format, bytes - 1).unwrap_err();
        assert!(
            refused.message().contains("more than 27 bytes when decompressed"),
            "{compressor:?}: {refused}"
        );
    }
}

#[test]
fn chunk_header_cannot_allocate_unfilled_memory() {
    // Both levels specify two gigabytes and contain nothing.
    let snappy = Bytes::from(hex("7fffffff 00000006 ffffffff07 00"));
    let format =
        |compressor| CellBlockFormat { codec: Codec::KeyValue, compressor: Some(compressor) };
    assert!(decode(&snappy, format(Compressor::Snappy), usize::MAX).is_err());
    let lz4 = Bytes::from(hex("7fffffff 00000001 00"));
    assert!(decode(&lz4, format(Compressor::Lz4), usize::MAX).is_err());
    let empty_chunks = Bytes::from(hex("00000001 00000001 00 00000001 00"));
    assert!(decode(&empty_chunks, format(Compressor::Snappy), MAX).is_err());
}

#[test]
fn malformed_cell_is_rejected_with_its_position() {
    let refused =
        |bytes: String| decode(&Bytes::from(hex(&bytes)), plain(Codec::KeyValue), MAX).unwrap_err();
    let maximum_type = KEY_VALUE.replace(" 04 76", " ff 76");
    assert_eq!(
        refused(format!("{KEY_VALUE}{maximum_type}")).message(),
        "cell 1 of the cell block: 255 is not a cell type"
    );
    let long_family = format!(
        "{:08x} {:08x} 00000000 0000 80 {} 0000000000000005 04",
        8 + 140,
        140,
        "61".repeat(128)
    );
    assert!(refused(long_family).message().contains("its family has 128 bytes, more than 127"));
    assert!(refused(KEY_VALUE[..40].to_string()).message().contains("cell 0 at byte 0"));
}

prop_compose! {
    fn any_cells()(parts in prop::collection::vec(
        (prop::collection::vec(any::<u8>(), 0..20), "[a-z]{0,5}", prop::collection::vec(any::<u8>(), 0..10), any::<i64>(),
         prop::sample::select(vec![4u8, 8, 10, 12, 14]), prop::collection::vec(any::<u8>(), 0..50), prop::option::of(any::<i64>())), 0..12)) -> Cells {
        let mut cells = CellsBuilder::default();
        for (row, family, qualifier, timestamp, code, value, ttl) in &parts {
            let mut tags = Vec::new();
            if let Some(ttl) = ttl {
                write_tag(&mut tags, TAG_TTL, &ttl.to_be_bytes());
            }
            let cell_type = CellType::from_code(*code).unwrap();
            cells.push_parts(CellParts { row, family: family.as_bytes(), qualifier, timestamp: *timestamp, cell_type, value, tags: &tags });
        }
        cells.finish()
    }
}

fn any_format() -> impl Strategy<Value = CellBlockFormat> {
    let compressor = prop::option::of(prop::sample::select(Compressor::ALL.to_vec()));
    (prop::sample::select(Codec::ALL.to_vec()), compressor)
        .prop_map(|(codec, compressor)| CellBlockFormat { codec, compressor })
}

proptest! {
    #[test]
    fn cells_round_trip_every_format(runs in prop::collection::vec(any_cells(), 0..4), format in any_format()) {
        let read = decode(&encoded(&runs, format), format, MAX).unwrap();
        let with_tags = matches!(format.codec, Codec::KeyValueWithTags | Codec::CellWithTags);
        let written: Vec<_> = runs.iter().flat_map(Cells::iter).map(|cell| (cell.key(), cell.value(), if with_tags { cell.tags() } else { &[] })).collect();
        let read: Vec<_> = read.iter().map(|cell| (cell.key(), cell.value(), cell.tags())).collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), format in any_format()) {
        let _ = decode(&Bytes::from(bytes), format, 4096);
    }

    #[test]
    fn damaged_blocks_never_panic(runs in prop::collection::vec(any_cells(), 1..3), format in any_format(), offset in any::<prop::sample::Index>(), bit in 0..8u8) {
        let mut bytes = encoded(&runs, format).to_vec();
        if !bytes.is_empty() {
            let offset = offset.index(bytes.len());
            bytes[offset] ^= 1 << bit;
        }
        if let Ok(cells) = decode(&Bytes::from(bytes), format, 1 << 16) {
            for cell in &cells {
                let _ = (cell.row(), cell.family(), cell.qualifier(), cell.timestamp(), cell.ttl_ms());
            }
        }
    }
}
