//! Blocks of HBase in every encoding, damaged ones, and random cells there and back.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "the bytes of a test are its own"
)]

use halite_types::CellRef;
use halite_types::cell::{compare_cells, make_key, write_tag};
use proptest::prelude::*;

use super::block_encoder::BlockSizes;
use super::*;
use crate::hfile::block::Block;
use crate::hfile::cell_map::CellMap;

/// Five cells of the samples `tiny-*`, in PREFIX.
const PREFIX: &[u8] = b"\x00\x02\x00\x00\x00\xa4\x15\x04\x00\x00\x04row1\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04AAAA\x07\
    \x02\x04\x13\x00\x04AAAA\x06\x0a\x02\x0b2\x00\x00\x01\x8b\xcf\xe5\x68\x00\x04BB\x8e\x01\x2c\
    \x15\x01\x01\x05row10\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04C\x00\x14\x00\x01\x04row2\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x0c\x09";
const DIFF: &[u8] = b"\x00\x03\x00\x00\x00\xa4\x01f\x50\x15\x04\x00\x00\x04row1col1\x05\x68\xe5\xcf\x8b\x01\x04AAAA\x07\
    \x0f\x0c\x05AAAA\x06\x0d\x02\x0b2\x00BB\x8e\x01\x2c\x8c\x16\x01\x01\x05row10col1\x05C\x00\x08\x15\x00\x01\x04row2col1\x00\x0c\x09";
const FAST_DIFF: &[u8] = b"\x00\x04\x00\x00\x00\xa4\x00\x15\x04\x00\x00\x04row1\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04AAAA\x07\
    \x7f\x0c\x00\x06\x2f\x02\x0b2\x00BB\x8e\x01\x2c\x27\x16\x01\x01\x05row10col1\x05C\x00\x07\x15\x00\x01\x04row2col1\x05\x0c\x09";

/// Returns the plain cells of an encoded block.
fn decode(payload: &[u8], layout: CellLayout) -> Result<Vec<u8>> {
    let header = [0xa5; 33];
    let block = [&header, payload, b"sum"].concat();
    let decoded = super::decode(
        block,
        &(header.len()..header.len() + payload.len()),
        layout,
        Validation::Whole,
    )?;
    let plain = decoded.bytes[decoded.payload].to_vec();
    let again = CellMap::parse(&plain, layout)?;
    let map = decoded.cells.map().expect("rebuilt cells are validated");
    assert_eq!((&again.restarts, again.last), (&map.restarts, map.last));
    Ok(plain)
}

/// Returns the cells of an encoded block without tags, which are decoded with the whole block.
fn decode_whole(payload: &[u8], layout: CellLayout) -> Result<Vec<OwnedCell>> {
    let decoded = super::decode(payload.to_vec(), &(0..payload.len()), layout, Validation::Whole)?;
    let block = Block::of_cells(decoded);
    let spans = std::iter::successors(block.first_cell(), |span| block.cell_after(span));
    Ok(spans.map(|span| OwnedCell::from(block.cell(&span))).collect())
}

/// Returns the same cells, decoded one after another.
fn decode_one_by_one(payload: &[u8], layout: CellLayout) -> Result<Vec<OwnedCell>> {
    let header = [0xa5; 33];
    let mut block = [&header, payload, b"sum"].concat();
    let payload = header.len()..header.len() + payload.len();
    let encoded = encoded_cells(&mut block, &payload, layout)?.expect("it stores differences");
    let padded = &block[header.len()..];
    let mut decoder = encoded.decoder();
    let mut cells = Vec::new();
    let mut is_read = decoder.read_first(padded);
    while is_read {
        cells.push(OwnedCell::from(decoder.cell(padded)));
        is_read = decoder.read_next(padded);
    }
    let is_whole = !cells.is_empty() && decoder.is_at_end(padded);
    if is_whole { Ok(cells) } else { Err(encoded.broken(padded)) }
}

/// Asserts that both ways of decoding have the same cells or the same error.
fn assert_same_outcome(payload: &[u8], layout: CellLayout) {
    let outcome = |cells: Result<_>| cells.map_err(|error| error.to_string());
    let one_by_one = outcome(decode_one_by_one(payload, layout));
    assert_eq!(one_by_one, outcome(decode_whole(payload, layout)), "{}", payload.escape_ascii());
}

fn layout() -> CellLayout {
    CellLayout { sequence_ids: true, ..CellLayout::default() }
}

#[test]
fn encodings_are_found_by_name() {
    for encoding in DataBlockEncoding::ALL {
        assert_eq!(DataBlockEncoding::from_name(encoding.name()), Some(encoding));
    }
    assert_eq!(DataBlockEncoding::from_name("PREFIX_TREE"), None);
}

#[test]
fn all_encodings_decode_to_the_same_plain_block() {
    let plain = decode(DIFF, layout()).unwrap();
    assert_eq!(plain.len(), 164);
    assert!(plain.starts_with(b"\x00\x00\x00\x15\x00\x00\x00\x04\x00\x04row1\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x04AAAA\x07\0\0\0\x15"));
    assert!(plain.ends_with(b"\0\x04row2\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\x0c\x09"));
    assert_eq!(decode(FAST_DIFF, layout()).unwrap(), plain);
    // The type of the last cell differs from the previous one: PREFIX stores all of the rest.
    let prefix = decode(PREFIX, layout());
    assert_eq!(prefix.unwrap(), plain);
    let mut indexed = b"\x00\x07".to_vec();
    indexed.extend_from_slice(&plain);
    for number in [3_u32, 0, 0x66, 0x86, 164] {
        indexed.extend_from_slice(&number.to_be_bytes());
    }
    assert_eq!(decode(&indexed, layout()).unwrap(), plain);
}

/// The block cache subtracts for a removed block what it added for it.
#[test]
fn memory_of_block_includes_search_keys_before_they_are_built() {
    let plain = decode(DIFF, layout()).unwrap();
    let map = CellMap::parse(&plain, layout()).unwrap();
    let before = map.memory_bytes(&plain);
    assert!(map.search_keys(&plain).is_none());
    let keys = map.search_keys(&plain).unwrap();
    let built = size_of_val(&*keys.abbreviated) + keys.prefix.memory_bytes();
    assert_eq!(map.memory_bytes(&plain), before);
    assert!(before >= built, "{before} {built}");
}

#[test]
fn truncated_and_invalid_blocks_are_rejected() {
    for block in [PREFIX, DIFF, FAST_DIFF] {
        for end in 0..block.len() {
            assert!(decode(&block[..end], layout()).is_err(), "{end}");
            assert_same_outcome(&block[..end], layout());
        }
        for (at, byte) in [(5, 0xa5), (5, 0xa3), (2, 0x7f), (2, 0xff), (3, 1)] {
            let mut wrong = block.to_vec();
            wrong[at] = byte;
            assert!(decode(&wrong, layout()).is_err());
            assert_same_outcome(&wrong, layout());
        }
    }
    assert!(decode(b"\x00\x07\0\0\0\0\0\0\0\x01", layout()).is_err());
    let unknown = decode(b"\x00\x06\0\0\0\0", layout()).unwrap_err();
    assert!(unknown.message().contains("number 6"), "{unknown}");
    let plain = decode(b"\x00\x00\0\0\0\0", layout()).unwrap_err();
    assert!(plain.message().contains("number 0"), "{plain}");
}

#[test]
fn damaged_blocks_do_not_panic() {
    let mut seed = 1_u64;
    for block in [PREFIX, DIFF, FAST_DIFF] {
        for _ in 0..20_000 {
            let mut wrong = block.to_vec();
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = 6 + (seed >> 33) as usize % (wrong.len() - 6);
                wrong[at] = seed.to_be_bytes()[2];
            }
            assert_same_outcome(&wrong, layout());
            assert_same_outcome(&wrong, CellLayout::default());
            let tags = CellLayout {
                tags: true,
                tags_compressed: seed & 1 == 1,
                sequence_ids: seed & 2 == 2,
            };
            drop((decode(&wrong, layout()), decode(&wrong, tags)));
        }
    }
}

/// Cell that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
struct OwnedCell {
    key: Vec<u8>,
    value: Vec<u8>,
    tags: Vec<u8>,
    sequence: u64,
}

impl OwnedCell {
    fn view(&self) -> CellRef<'_> {
        CellRef::new(&self.key, &self.value, &self.tags, self.sequence)
    }
}

impl From<CellRef<'_>> for OwnedCell {
    fn from(cell: CellRef<'_>) -> Self {
        Self {
            key: cell.key().to_vec(),
            value: cell.value().to_vec(),
            tags: cell.tags().to_vec(),
            sequence: cell.sequence_id(),
        }
    }
}

fn any_row() -> impl Strategy<Value = Vec<u8>> {
    let common = prop::sample::select(vec![&b""[..], b"r", b"row-of-a-customer-", &[0xff; 260]]);
    let rest = prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 1..4);
    (common, rest).prop_map(|(common, rest)| [common, &rest].concat())
}

fn any_qualifier() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        prop::sample::select(vec!["q", "q1", "q10", "name", "named"]).prop_map(Vec::from),
        prop::collection::vec(any::<u8>(), 1..20),
        (0_usize..3).prop_map(|more| vec![b'l'; 16_380 + more]),
    ]
}

fn any_timestamp() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => (0_i64..600).prop_map(|late| 1_700_000_000_000 + late),
        2 => -2_i64..3,
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX, -256, 255]),
        1 => any::<i64>(),
    ]
}

fn any_tags() -> impl Strategy<Value = Vec<u8>> {
    // More bodies than the dictionary has slots, some of them often.
    let number = prop_oneof![0_u16..4, 0_u16..300];
    let tag = (number, 0_usize..12).prop_map(|(number, length)| {
        let mut tag = Vec::new();
        write_tag(
            &mut tag,
            number.to_le_bytes()[0],
            &number.to_be_bytes().repeat(length)[..length],
        );
        tag
    });
    prop_oneof![1 => Just(Vec::new()), 2 => prop::collection::vec(tag, 1..5).prop_map(|tags| tags.concat())]
}

fn any_cell() -> impl Strategy<Value = OwnedCell> {
    let kind = prop_oneof![4 => Just(4_u8), 1 => prop::sample::select(vec![8_u8, 10, 12, 14])];
    let value = prop_oneof![
        Just(Vec::new()),
        Just(b"the same value".to_vec()),
        Just(b"the same length".to_vec()),
        prop::collection::vec(any::<u8>(), 0..300),
    ];
    let sequence = prop_oneof![Just(0_u64), 0_u64..1 << 20, Just(i64::MAX.cast_unsigned())];
    (any_row(), any_qualifier(), any_timestamp(), kind, value, any_tags(), sequence).prop_map(
        |(row, qualifier, timestamp, kind, value, tags, sequence)| OwnedCell {
            key: make_key(&row, b"family", &qualifier, timestamp, kind),
            value,
            tags,
            sequence,
        },
    )
}

/// Every combination of optional parts of cells.
fn layouts() -> impl Iterator<Item = CellLayout> {
    (0..8).map(|bits| CellLayout {
        tags: bits & 1 != 0,
        tags_compressed: bits & 2 != 0,
        sequence_ids: bits & 4 != 0,
    })
}

/// Returns the payload of a block, and the size of its cells in a plain one.
fn encode(encoder: &mut dyn BlockEncoder, cells: &[OwnedCell]) -> (Vec<u8>, usize) {
    let mut previous: &[u8] = &[];
    for cell in cells {
        encoder.add(cell.view(), KeyBefore::new(previous, &cell.key));
        previous = &cell.key;
    }
    let sizes = encoder.sizes();
    (encoder.finish().to_vec(), sizes.plain)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn random_cells_decode_to_their_plain_block(
        mut cells in prop::collection::vec(any_cell(), 1..250),
    ) {
        cells.sort_by(|a, b| compare_cells(&a.view(), &b.view()));
        for layout in layouts() {
            let (plain, _) = encode(&mut *DataBlockEncoding::None.encoder(layout), &cells);
            for encoding in DataBlockEncoding::ALL.into_iter().skip(1) {
                let mut encoder = encoding.encoder(layout);
                let first = encode(&mut *encoder, &cells);
                prop_assert_eq!(first.1, plain.len());
                prop_assert_eq!(&decode(&first.0, layout).unwrap(), &plain);
                if encoding.stores_differences() && !layout.tags {
                    let whole = decode_whole(&first.0, layout).unwrap();
                    prop_assert_eq!(decode_one_by_one(&first.0, layout).unwrap(), whole);
                }
                // The next block has nothing of the one before it.
                encoder.clear();
                prop_assert_eq!(encoder.sizes(), BlockSizes::default());
                prop_assert!(encode(&mut *encoder, &cells) == first);
            }
        }
    }
}

#[test]
fn bytes_that_are_no_tag_are_not_compressed() {
    let layout = CellLayout { tags: true, tags_compressed: true, sequence_ids: false };
    let cell = |tags: &[u8]| OwnedCell {
        key: make_key(b"r", b"f", b"q", 1, 4),
        value: b"v".to_vec(),
        tags: tags.to_vec(),
        sequence: 0,
    };
    let broken = [cell(b"\0\x02\x08t\0\x09rest"), cell(b"\xff"), cell(b"\0\x02\x08t\0")];
    let whole = [cell(b"\0\x02\x08t"), cell(b""), cell(b"\0\x02\x08t")];
    let (plain, _) = encode(&mut *DataBlockEncoding::None.encoder(layout), &whole);
    let (encoded, _) = encode(&mut *DataBlockEncoding::FastDiff.encoder(layout), &broken);
    assert_eq!(decode(&encoded, layout).unwrap(), plain);
}

/// A few bytes can state a key or value of many.
#[test]
fn stated_length_of_cell_alone_does_not_allocate() {
    let mut block = FAST_DIFF.to_vec();
    block[2..6].copy_from_slice(&(1_u32 << 30).to_be_bytes());
    let (key_length, value_length) = (7, 8);
    for at in [key_length, value_length] {
        let mut wrong = block.clone();
        wrong.splice(at..=at, *b"\xff\xff\xff\x7f");
        assert!(decode(&wrong, layout()).is_err());
        let payload = 0..wrong.len();
        let encoded = encoded_cells(&mut wrong, &payload, layout()).unwrap().unwrap();
        let mut decoder = encoded.decoder();
        assert!(!decoder.read_first(&wrong));
        assert!(decoder.memory_bytes() < 1 << 10);
    }
    let mut cells = plain_cells::PlainCells::new(1 << 30, block.len(), false);
    let reserved = cells.reserved_bytes();
    let mut room = cells.room();
    let mut parts = previous_cell::PreviousCell::NONE.parts;
    let head = cell_head::CellHead { flag: 0, key_bytes: 1 << 28, value_bytes: 4, common: 0 };
    assert!(room.begin(head, &mut parts, block.len()).is_none());
    let end = room.end();
    assert!(!cells.leave(end), "no room is requested");
    assert_eq!(cells.reserved_bytes(), reserved);
}

#[test]
fn stated_size_alone_does_not_allocate() {
    let mut block = FAST_DIFF.to_vec();
    block[2..6].copy_from_slice(&(1_u32 << 30).to_be_bytes());
    assert!(plain_cells::PlainCells::new(1 << 30, block.len(), false).reserved_bytes() <= 1 << 20);
    assert!(decode(&block, layout()).is_err());
}
