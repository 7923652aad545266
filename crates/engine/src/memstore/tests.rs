//! Compares the memstore with a sorted map, and tests readers that run concurrently with its
//! writer.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use halite_types::cell::{
    CellType, RowPrefix, compare_cells, compare_keys, first_on_row, key_row, make_key, write_tag,
};
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedCell {
    key: Vec<u8>,
    value: Vec<u8>,
    tags: Vec<u8>,
    sequence: u64,
}

impl OwnedCell {
    fn from_cell(cell: CellRef<'_>) -> Self {
        Self {
            key: cell.key().to_vec(),
            value: cell.value().to_vec(),
            tags: cell.tags().to_vec(),
            sequence: cell.sequence_id(),
        }
    }

    fn view(&self) -> CellRef<'_> {
        CellRef::new(&self.key, &self.value, &self.tags, self.sequence)
    }
}

/// Flat key in the order of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OrderedKey(Vec<u8>);

impl Ord for OrderedKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        compare_keys(&self.0, &other.0)
    }
}

impl PartialOrd for OrderedKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Specification: key, then higher sequence id, then the later insertion.
#[derive(Default)]
struct Model(BTreeMap<(OrderedKey, Reverse<u64>, Reverse<usize>), OwnedCell>);

impl Model {
    fn insert(&mut self, cell: &OwnedCell) {
        let at = (OrderedKey(cell.key.clone()), Reverse(cell.sequence), Reverse(self.0.len()));
        self.0.insert(at, cell.clone());
    }

    fn since(&self, key: &[u8]) -> Vec<OwnedCell> {
        self.0.values().filter(|cell| compare_keys(&cell.key, key).is_ge()).cloned().collect()
    }

    fn before(&self, key: &[u8]) -> Option<&OwnedCell> {
        self.0.values().rfind(|cell| compare_keys(&cell.key, key).is_lt())
    }

    fn of_row_before(&self, row: &[u8]) -> Vec<OwnedCell> {
        self.before(&first_on_row(row))
            .map_or(Vec::new(), |cell| self.since(&first_on_row(key_row(&cell.key))))
    }
}

fn rest(cursor: &mut Cursor) -> Vec<OwnedCell> {
    let mut cells = Vec::new();
    while let Some(cell) = cursor.peek() {
        cells.push(OwnedCell::from_cell(cell));
        cursor.next();
    }
    cells
}

/// Rows around the eight bytes of the prefix, with the zero bytes that pad it.
fn row() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0_u8), Just(1), Just(b'a'), Just(255)];
    prop_oneof![
        prop::collection::vec(byte.clone(), 1..4),
        prop::collection::vec(byte, 6..11),
        "row-0000[0-3]{1,3}".prop_map(String::into_bytes)
    ]
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let code = prop::sample::select(vec![4_u8, 8, 10, 12, 14]);
    (row(), "[fg]", "[ab]{0,2}", 0..4_i64, code).prop_map(
        |(row, family, qualifier, timestamp, code)| {
            make_key(&row, family.as_bytes(), qualifier.as_bytes(), timestamp, code)
        },
    )
}

fn cell() -> impl Strategy<Value = OwnedCell> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    (key(), bytes(40), bytes(3), 0..3_u64).prop_map(|(key, value, tag, sequence)| {
        let mut tags = Vec::new();
        if !tag.is_empty() {
            write_tag(&mut tags, 1, &tag);
        }
        OwnedCell { key, value, tags, sequence }
    })
}

/// Cells in the groups in which they are inserted: one or several.
fn groups() -> impl Strategy<Value = Vec<Vec<OwnedCell>>> {
    let sorted = prop::collection::vec(cell(), 2..60).prop_map(|mut cells| {
        cells.sort_by(|one, other| compare_cells(&one.view(), &other.view()));
        cells
    });
    prop::collection::vec(
        prop_oneof![
            prop::collection::vec(cell(), 1..2),
            prop::collection::vec(cell(), 2..60),
            sorted
        ],
        0..20,
    )
}

/// Prefixes that rows may be expected to share, whether they do or not.
fn shared() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        row(),
        row().prop_map(|row| row[..row.len() / 2].to_vec()),
        Just(b"row-0000".to_vec())
    ]
}

fn fill(shared: &[u8], groups: &[Vec<OwnedCell>]) -> (MemTable, Model) {
    let (table, mut model) =
        (MemTable::expecting(8 << 10, RowPrefix::expecting(shared)), Model::default());
    for group in groups {
        match &group[..] {
            [cell] => table.insert(cell.view()),
            cells => table.writer().insert_all(cells.iter().map(OwnedCell::view)),
        }
        group.iter().for_each(|cell| model.insert(cell));
    }
    (table, model)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]

    #[test]
    fn cursor_returns_inserted_cells_in_order(shared in shared(), groups in groups()) {
        let (table, model) = fill(&shared, &groups);
        let cells = groups.concat();
        let mut cursor = table.cursor();
        prop_assert!(cursor.peek().is_none());
        cursor.seek_to_first();
        prop_assert_eq!(rest(&mut cursor), model.0.into_values().collect::<Vec<_>>());
        prop_assert_eq!(table.len(), cells.len());
        prop_assert_eq!(table.payload_bytes(), cells.iter().map(|cell| cell.view().payload_len()).sum::<usize>());
        prop_assert_eq!(table.has_tags(), cells.iter().any(|cell| !cell.tags.is_empty()));
        prop_assert_eq!(table.max_sequence(), cells.iter().map(|cell| cell.sequence).max().unwrap_or(0));
    }

    #[test]
    fn seeks_from_any_position_match_the_model(
        shared in shared(),
        groups in groups(),
        searches in prop::collection::vec((key(), 0..4_u8), 1..40),
    ) {
        let (table, model) = fill(&shared, &groups);
        let mut cursor = table.cursor();
        for (key, kind) in searches {
            let expected = match kind {
                0 => { cursor.seek(&key); model.since(&key).first().cloned() }
                1 => { cursor.seek_before(&key); model.before(&key).cloned() }
                2 => { cursor.seek_before_row(key_row(&key)); model.of_row_before(key_row(&key)).first().cloned() }
                _ => { cursor.seek(&first_on_row(key_row(&key))); model.since(&first_on_row(key_row(&key))).first().cloned() }
            };
            prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), expected);
        }
    }

    #[test]
    fn forward_seek_skips_no_cell(shared in shared(), groups in groups(), mut keys in prop::collection::vec(key(), 1..20)) {
        let (table, model) = fill(&shared, &groups);
        keys.sort_by(|a, b| compare_keys(a, b));
        let mut cursor = table.cursor();
        cursor.seek_to_first();
        for key in keys {
            cursor.seek(&key);
            prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), model.since(&key).first().cloned());
        }
        let left = cursor.peek().map_or(Vec::new(), |cell| model.since(cell.key()));
        prop_assert!(left.ends_with(&rest(&mut cursor)));
    }
}

fn put(row: u64, timestamp: i64) -> Vec<u8> {
    make_key(format!("{row:012}").as_bytes(), b"f", b"q", timestamp, CellType::Put.code())
}

#[test]
fn row_prefix_leaves_eight_bytes_of_shared_rows() {
    let shared = |rows: &[&str]| {
        let table = MemTable::new(1 << 20);
        for row in rows {
            table.insert(CellRef::new(
                &make_key(row.as_bytes(), b"f", b"q", 1, CellType::Put.code()),
                b"",
                b"",
                1,
            ));
        }
        table.list.row_prefix()
    };
    for (rows, expected) in [
        (&[][..], ""),
        (&["short"], ""),
        (&["000000000001", "000000000900", "000000000450"], "0000"),
        (&["user:17:a-long-name", "user:18:x-long-name"], "user:1"),
        (&["user:17", "user:17:a-long-name"], ""),
    ] {
        assert_eq!(shared(rows), RowPrefix::expecting(expected.as_bytes()), "{rows:?}");
    }
}

#[test]
fn newest_of_equal_cells_is_first() {
    let table = MemTable::new(1 << 20);
    let key = put(1, 1);
    for value in [b"first", b"again", b"third"] {
        table.insert(CellRef::new(&key, value, b"", 5));
    }
    let mut cursor = table.cursor();
    cursor.seek(&key);
    let values: Vec<Vec<u8>> = rest(&mut cursor).into_iter().map(|cell| cell.value).collect();
    assert_eq!(values, [b"third", b"again", b"first"]);
}

#[test]
fn seeks_of_any_stride_find_every_cell() {
    let table = MemTable::new(1 << 20);
    let count: u64 = if cfg!(miri) { 60 } else { 20_000 };
    // A stride that is prime to the count visits every row once, in an order that is neither
    // ascending nor descending.
    (0..count)
        .for_each(|n| table.insert(CellRef::new(&put(n * 7_919 % count, 1), b"value", b"", n)));
    let mut cursor = table.cursor();
    for stride in [1, 2, 3, 5, 17, 100, 1_999] {
        cursor.seek_to_first();
        for row in (0..count).step_by(stride) {
            cursor.seek(&put(row, 1));
            assert_eq!(
                cursor.peek().map(|cell| cell.row().to_vec()),
                Some(format!("{row:012}").into_bytes())
            );
        }
    }
}

#[test]
fn reverse_iteration_ends_before_the_first_row() {
    let table = MemTable::new(1 << 20);
    for row in [3, 1, 2] {
        table.insert(CellRef::new(&put(row, 1), b"old", b"", 1));
        table.insert(CellRef::new(&put(row, 2), b"new", b"", 2));
    }
    let mut cursor = table.cursor();
    let mut row = b"9".to_vec();
    let mut seen = Vec::new();
    loop {
        cursor.seek_before_row(&row);
        let Some(cell) = cursor.peek() else { break };
        assert_eq!(cell.value(), b"new");
        row = cell.row().to_vec();
        seen.push(String::from_utf8(row.clone()).unwrap());
    }
    assert_eq!(seen, ["000000000003", "000000000002", "000000000001"]);
}

#[test]
fn family_delete_marker_extends_time_range_to_zero() {
    let table = MemTable::new(1 << 20);
    assert_eq!(table.time_range(), None);
    let marker = |timestamp, kind: CellType| make_key(b"row", b"f", b"", timestamp, kind.code());
    table.insert(CellRef::new(&marker(20, CellType::Put), b"value", b"", 1));
    table.insert(CellRef::new(&marker(30, CellType::Delete), b"", b"", 2));
    table.insert(CellRef::new(&marker(10, CellType::DeleteFamilyVersion), b"", b"", 3));
    assert_eq!(table.time_range(), Some((10, 30)));
    table.insert(CellRef::new(&marker(25, CellType::DeleteFamily), b"", b"", 4));
    assert_eq!(table.time_range(), Some((0, 30)));
}

#[test]
fn cell_larger_than_a_chunk_is_stored_whole() {
    let table = MemTable::new(8 << 10);
    let value: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    table.insert(CellRef::new(&put(1, 1), &value, b"", 1));
    table.insert(CellRef::new(&put(2, 1), b"small", b"", 2));
    let mut cursor = table.cursor();
    cursor.seek_to_first();
    assert_eq!(cursor.peek().map(|cell| cell.value().to_vec()), Some(value));
    cursor.next();
    assert_eq!(cursor.peek().map(|cell| cell.value().to_vec()), Some(b"small".to_vec()));
    assert!((100_000..101_000).contains(&table.bytes()));
}

#[test]
fn cursor_outlives_its_dropped_table() {
    let table = MemTable::new(1 << 20);
    table.insert(CellRef::new(&put(1, 1), b"value", b"", 1));
    let mut cursor = table.cursor();
    drop(table);
    cursor.seek_to_first();
    assert_eq!(cursor.peek().map(|cell| cell.value().to_vec()), Some(b"value".to_vec()));
}

#[test]
#[should_panic(expected = "not a flat key")]
fn inconsistent_key_is_rejected() {
    // A debug build rejects it in the view, a release build only here.
    MemTable::new(1 << 20).insert(CellRef::new(
        &[0, 200, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        b"",
        b"",
        1,
    ));
}

#[test]
fn concurrent_readers_see_earlier_insertions_in_order() {
    let count: usize = if cfg!(miri) { 30 } else { 30_000 };
    let (table, inserted) = (Arc::new(MemTable::new(1 << 20)), Arc::new(AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (table, inserted) = (Arc::clone(&table), Arc::clone(&inserted));
            scope.spawn(move || {
                loop {
                    let before = inserted.load(Ordering::Acquire);
                    walk_and_check(&table, before);
                    if before == count {
                        return;
                    }
                }
            });
        }
        for n in 0..count {
            // The value repeats the number, so a cell that is visible before it is written is
            // detected.
            let row = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let value = [n.to_string(), n.to_string()].join("=");
            table.insert(CellRef::new(&put(row, 1), value.as_bytes(), b"", n as u64));
            inserted.store(n + 1, Ordering::Release);
        }
    });
    assert_eq!(table.len(), count);
}

/// Walks all cells: ascending, whole, and with every cell whose sequence id is below `before`.
fn walk_and_check(table: &MemTable, before: usize) {
    let mut cursor = table.cursor();
    cursor.seek_to_first();
    let (mut last, mut old): (Option<OwnedCell>, usize) = (None, 0);
    while let Some(cell) = cursor.peek() {
        let owned = OwnedCell::from_cell(cell);
        assert!(last.is_none_or(|last| compare_cells(&last.view(), &owned.view()).is_lt()));
        let text = std::str::from_utf8(&owned.value).unwrap();
        assert_eq!(text, [owned.sequence.to_string(), owned.sequence.to_string()].join("="));
        old += usize::from(owned.sequence < before as u64);
        last = Some(owned);
        cursor.next();
    }
    assert_eq!(old, before);
    let mut seeker = table.cursor();
    if let Some(last) = last {
        seeker.seek(&last.key);
        assert_eq!(seeker.peek().map(|cell| cell.key().to_vec()), Some(last.key));
    }
}

#[test]
fn read_only_memstore_rejects_writers_and_serves_readers() {
    let table = MemTable::new(4096);
    let key = make_key(b"row", b"f", b"q", 1, CellType::Put.code());
    table.insert(CellRef::new(&key, b"value", b"", 1));
    table.set_read_only();
    let insertion = std::panic::AssertUnwindSafe(|| {
        table.insert(CellRef::new(&key, b"late", b"", 2));
    });
    std::panic::catch_unwind(insertion).unwrap_err();
    let mut cursor = table.cursor();
    cursor.seek(&key);
    assert_eq!(cursor.peek().map(|cell| cell.value()), Some(&b"value"[..]));
    assert_eq!(table.len(), 1);
}
