//! Random cells compared with a sorted list, and the rules of writing.
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use halite_engine::env::{FileWriter, MemoryFile};
use halite_engine::hfile::{
    Block, BlockHandle, BlockKind, BlockSource, Comparator, Compression, Cursor, DataBlockEncoding,
    DirectBlocks, PartsWith, Reader, StoreFileInfo, Writer, WriterOptions,
};
use halite_types::cell::{compare_cells, compare_keys, make_key};
use halite_types::{BloomType, CellRef, Error, ErrorKind};
use proptest::prelude::*;

use super::support::{OwnedCell, is_before, open, read_all, write};

/// Few distinct rows and qualifiers, so that columns get several versions, and with shared
/// beginnings.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 1..4),
        prop::collection::vec(any::<u8>(), 1..20),
    ]
}

fn any_cell() -> impl Strategy<Value = OwnedCell> {
    let stamp = prop_oneof![0_i64..4, Just(i64::MAX), any::<u32>().prop_map(i64::from)];
    let kind = prop_oneof![4 => Just(4_u8), 1 => prop::sample::select(vec![8_u8, 10, 12, 14])];
    let tags = prop_oneof![3 => Just(None), 1 => any_bytes().prop_map(Some)];
    let value = prop::collection::vec(any::<u8>(), 0..60);
    (any_bytes(), any_bytes(), stamp, kind, value, tags, 0_u64..300).prop_map(
        |(row, qualifier, stamp, kind, value, tags, sequence)| {
            let qualifier = if kind == 10 || kind == 14 { Vec::new() } else { qualifier };
            let cell = OwnedCell {
                key: make_key(&row, b"f", &qualifier, stamp, kind),
                value,
                tags: Vec::new(),
                sequence,
            };
            tags.map_or(cell.clone(), |tag| cell.with_tag(8, &tag))
        },
    )
}

/// Returns the same cell in a row that begins with `row_prefix`.
fn with_row_prefix(shared: &str, cell: &OwnedCell) -> OwnedCell {
    let view = cell.view();
    let row = [shared.as_bytes(), view.row()].concat();
    OwnedCell {
        key: make_key(&row, view.family(), view.qualifier(), view.timestamp(), view.type_code()),
        ..cell.clone()
    }
}

/// Codecs of the files that are written.
pub(super) const WRITTEN: [Compression; 5] =
    [Compression::None, Compression::Gz, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn any_options() -> impl Strategy<Value = WriterOptions> {
    let bloom = prop::sample::select(vec![
        BloomType::None,
        BloomType::Row,
        BloomType::RowCol,
        BloomType::RowPrefix(2),
    ]);
    let compression = prop::sample::select(WRITTEN.to_vec());
    let encoding = prop::sample::select(vec![
        DataBlockEncoding::None,
        DataBlockEncoding::Prefix,
        DataBlockEncoding::Diff,
        DataBlockEncoding::FastDiff,
        DataBlockEncoding::RowIndexV1,
    ]);
    let blocks = (1_usize..2000, 30_usize..600, 1_usize..6, 33_u32..3000);
    let part_bytes = prop::option::of(1_usize..300);
    (blocks, bloom, compression, (encoding, any::<(bool, bool)>(), part_bytes)).prop_map(
        |(
            (block_bytes, index_chunk_bytes, min_index_entries, bytes_per_checksum),
            bloom,
            compression,
            (encoding, (include_tags, compress_tags), part_bytes),
        )| WriterOptions {
            block_bytes,
            index_chunk_bytes,
            min_index_entries,
            bloom,
            bloom_chunk_bytes: 128,
            compression,
            encoding,
            compress_tags,
            bytes_per_checksum,
            part_bytes,
            include_tags,
            ..WriterOptions::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn file_reads_match_sorted_list_model(
        options in any_options(),
        shared in prop::sample::select(vec!["", "", "\0", "rows-of-one-kind-"]),
        mut cells in prop::collection::vec(any_cell(), 0..150),
        mut probes in prop::collection::vec(any_cell(), 1..40),
    ) {
        // Searches first compare the eight bytes after the common prefix of the rows. So some rows
        // share more bytes; some probes do not.
        cells.iter_mut().for_each(|cell| *cell = with_row_prefix(shared, cell));
        probes.iter_mut().filter(|probe| probe.sequence % 8 != 0).for_each(|probe| *probe = with_row_prefix(shared, probe));
        if !options.include_tags {
            cells.iter_mut().for_each(|cell| cell.tags.clear());
        }
        cells.sort_by(|a, b| compare_cells(&a.view(), &b.view()));
        let reader = open(write(&options, &cells, StoreFileInfo::flushed(7))).unwrap();
        prop_assert_eq!(&read_all(&reader, DirectBlocks).unwrap(), &cells);
        prop_assert_eq!(&read_all(&reader, PartsWith(DirectBlocks)).unwrap(), &cells);
        reader.verify().unwrap();
        let mut cursor = Cursor::new(reader.clone(), DirectBlocks);
        let mut parts = Cursor::new(reader.clone(), PartsWith(DirectBlocks));
        for probe in &probes {
            // A walk from the start of a block decodes its cells one after another. A seek can
            // begin at any of them.
            if probe.sequence % 5 == 0 {
                let steps = usize::try_from(probe.sequence / 5).unwrap();
                cursor.seek_to_first().unwrap();
                for _ in 0..steps {
                    cursor.advance().unwrap();
                }
                prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), cells.get(steps).cloned());
                prop_assert_eq!(cursor.key(), cells.get(steps).map(|cell| &cell.key[..]));
            }
            parts.seek(&probe.key).unwrap();
            for cell in cells.iter().skip_while(|cell| compare_keys(&cell.key, &probe.key).is_lt()) {
                prop_assert_eq!(parts.peek().map(OwnedCell::from_cell), Some(cell.clone()));
                if cell.sequence % 16 == 0 {
                    break;
                }
                parts.advance().unwrap();
            }
            let index = cells.partition_point(|cell| compare_keys(&cell.key, &probe.key).is_lt());
            cursor.seek(&probe.key).unwrap();
            prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), cells.get(index).cloned());
            cursor.advance().unwrap();
            prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), cells.get(index + 1).cloned());
            if probe.sequence % 7 == 0 {
                cursor.seek_to_last().unwrap();
                prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), cells.last().cloned());
            }
            if probe.sequence % 2 == 0 {
                cursor.seek_before(&probe.key).unwrap();
                prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), index.checked_sub(1).map(|index| cells[index].clone()));
                cursor.advance().unwrap();
                prop_assert_eq!(cursor.peek().map(OwnedCell::from_cell), index.checked_sub(1).and_then(|_| cells.get(index).cloned()));
            }
        }
        for cell in &cells {
            let view = cell.view();
            prop_assert!(reader.may_contain_row(&DirectBlocks, view.row()).unwrap());
            prop_assert!(reader.may_contain_column(&DirectBlocks, view.row(), view.qualifier()).unwrap());
            if [10, 14].contains(&view.type_code()) {
                prop_assert!(reader.may_contain_delete_family(&DirectBlocks, view.row()).unwrap());
            }
        }
    }
}

/// Counts the requested blocks by kind, and fails after a limited number of blocks.
#[derive(Default)]
struct CountingSource {
    data: AtomicUsize,
    index: AtomicUsize,
    left: AtomicUsize,
}

impl CountingSource {
    fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(limit), ..Self::default() })
    }
}

impl BlockSource for CountingSource {
    fn block(
        &self,
        reader: &Reader,
        pointer: BlockHandle,
        kind: BlockKind,
    ) -> halite_types::Result<Arc<Block>> {
        if self.left.load(Ordering::Relaxed) == 0 {
            return Err(Error::new(ErrorKind::WouldBlock, "not in memory"));
        }
        self.left.fetch_sub(1, Ordering::Relaxed);
        if kind == BlockKind::Data { &self.data } else { &self.index }
            .fetch_add(1, Ordering::Relaxed);
        reader.read_block(pointer, kind).map(Arc::new)
    }
}

fn numbered(count: u32) -> Vec<OwnedCell> {
    (0..count)
        .map(|i| {
            OwnedCell::put(format!("row{i:06}").as_bytes(), b"q", 5, b"some value of some bytes")
        })
        .collect()
}

#[test]
fn scan_reads_blocks_once_and_short_seeks_read_none() {
    let cells = numbered(3000);
    let options =
        WriterOptions { block_bytes: 1000, index_chunk_bytes: 500, ..WriterOptions::default() };
    let reader = open(write(&options, &cells, StoreFileInfo::flushed(1))).unwrap();
    let source = CountingSource::new(usize::MAX);
    assert_eq!(read_all(&reader, source.clone()).unwrap().len(), 3000);
    let blocks = source.data.load(Ordering::Relaxed);
    assert!((140..=200).contains(&blocks), "{blocks}");
    let source = CountingSource::new(usize::MAX);
    let mut cursor = Cursor::new(reader, source.clone());
    for cell in cells.iter().step_by(3) {
        cursor.seek(&cell.key).unwrap();
        assert_eq!(cursor.key(), Some(cell.key.as_slice()));
    }
    assert_eq!(source.data.load(Ordering::Relaxed), blocks);
}

#[test]
fn cursor_can_seek_after_failed_block_read() {
    let cells = numbered(500);
    let options = WriterOptions {
        block_bytes: 300,
        index_chunk_bytes: 200,
        min_index_entries: 2,
        ..WriterOptions::default()
    };
    let reader = open(write(&options, &cells, StoreFileInfo::flushed(1))).unwrap();
    assert!(reader.trailer().index_levels >= 3);
    for allowed in 0..12 {
        let source = CountingSource::new(allowed);
        let mut cursor = Cursor::new(reader.clone(), source.clone());
        let mut walk = || -> halite_types::Result<()> {
            cursor.seek(&cells[77].key)?;
            for _ in 0..100 {
                cursor.advance()?;
            }
            Ok(())
        };
        assert_eq!(walk().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(cursor.peek().is_none());
        source.left.store(usize::MAX, Ordering::Relaxed);
        for index in [400, 77, 78, 0, 499] {
            cursor.seek(&cells[index].key).unwrap();
            assert_eq!(cursor.key(), Some(cells[index].key.as_slice()));
        }
    }
}

#[test]
fn unordered_cells_are_rejected_and_earlier_cells_kept() {
    let file = MemoryFile::default();
    let mut writer =
        Writer::create(Box::new(file.clone()), "new", WriterOptions::default()).unwrap();
    let good = OwnedCell::put(b"m", b"q", 5, b"v");
    writer.append(good.view().with_sequence_id(9)).unwrap();
    let other_family = OwnedCell { key: make_key(b"n", b"g", b"q", 5, 4), ..good.clone() };
    for (bad, sequence, word) in [
        (OwnedCell::put(b"a", b"q", 5, b"v"), 9, "out of order"),
        (OwnedCell::put(b"m", b"q", 6, b"v"), 9, "out of order"),
        (good.clone(), 10, "newest first"),
        (other_family, 9, "another family"),
        (OwnedCell::put(b"n", b"q", 5, b"v").with_tag(8, b"12345678"), 9, "tags"),
    ] {
        let error = writer.append(bad.view().with_sequence_id(sequence)).unwrap_err();
        assert!(
            error.kind() == ErrorKind::InvalidRequest && error.to_string().contains(word),
            "{error}"
        );
    }
    writer.append(good.view().with_sequence_id(9)).unwrap();
    writer.append(good.view().with_sequence_id(3)).unwrap();
    assert!(writer.bytes_written() > 0 && writer.cells_written() == 3);
    writer.finish(StoreFileInfo::compacted(9, true, vec!["a".into(), "b".into()])).unwrap();
    let reader = open(file.take_bytes()).unwrap();
    let sequences: Vec<u64> =
        read_all(&reader, DirectBlocks).unwrap().iter().map(|cell| cell.sequence).collect();
    assert_eq!(sequences, [9, 9, 3]);
    assert_eq!(
        (reader.is_major(), reader.info().compacted_from()),
        (true, vec!["a".to_owned(), "b".to_owned()])
    );
}

#[test]
fn versions_differing_only_in_sequence_id_share_block() {
    let cells: Vec<OwnedCell> = (0..200)
        .rev()
        .map(|sequence| OwnedCell { sequence, ..OwnedCell::put(b"r", b"q", 5, b"value") })
        .collect();
    let reader = open(write(
        &WriterOptions { block_bytes: 50, ..WriterOptions::default() },
        &cells,
        StoreFileInfo::flushed(1),
    ))
    .unwrap();
    assert_eq!(reader.trailer().data_index_count, 1);
    let mut cursor = Cursor::new(reader, DirectBlocks);
    cursor.seek(&cells[0].key).unwrap();
    assert_eq!(cursor.peek().map(|cell| cell.sequence_id()), Some(199));
}

#[test]
fn invalid_writer_options_are_rejected() {
    let refused = |options: WriterOptions| {
        Writer::create(Box::new(MemoryFile::default()), "new", options).err().unwrap().kind()
    };
    assert_eq!(
        refused(WriterOptions { compression: Compression::Lzma, ..WriterOptions::default() }),
        ErrorKind::Unsupported
    );
    assert_eq!(
        refused(WriterOptions { bytes_per_checksum: 32, ..WriterOptions::default() }),
        ErrorKind::InvalidRequest
    );
    assert_eq!(
        refused(WriterOptions { bloom_error_rate: 1.5, ..WriterOptions::default() }),
        ErrorKind::InvalidRequest
    );
    assert_eq!(
        refused(WriterOptions { bloom: BloomType::RowPrefix(0), ..WriterOptions::default() }),
        ErrorKind::InvalidRequest
    );
}

#[test]
fn index_keys_sort_between_adjacent_blocks() {
    let cells = numbered(800);
    let options = WriterOptions { block_bytes: 300, ..WriterOptions::default() };
    let reader = open(write(&options, &cells, StoreFileInfo::flushed(1))).unwrap();
    let mid = reader.mid_key(&DirectBlocks).unwrap().unwrap();
    let index = cells.partition_point(|cell| is_before(Comparator::Cell, &cell.key, &mid));
    assert!(mid.len() < cells[index].key.len(), "shortened");
    assert!((350..450).contains(&index), "{index}");
}

#[test]
fn keys_longer_than_index_block_do_not_multiply_entries() {
    let qualifier = |number: u32| [&[b'a'; 2000][..], format!("{number:06}").as_bytes()].concat();
    let cells: Vec<OwnedCell> =
        (0..400).map(|number| OwnedCell::put(b"r", &qualifier(number), 5, b"value")).collect();
    let options = WriterOptions {
        block_bytes: 1 << 10,
        index_chunk_bytes: 1 << 10,
        ..WriterOptions::default()
    };
    let bytes = write(&options, &cells, StoreFileInfo::flushed(1));
    let in_cells: usize = cells.iter().map(|cell| cell.key.len()).sum();
    assert!(bytes.len() < 5 * in_cells, "{} bytes of {in_cells}", bytes.len());
    let reader = open(bytes).unwrap();
    assert!(
        reader.trailer().data_index_count <= 16,
        "{} entries in the root",
        reader.trailer().data_index_count
    );
    assert_eq!(read_all(&reader, DirectBlocks).unwrap(), cells);
    assert_eq!(reader.verify().unwrap().cells, 400);
}

#[test]
fn index_without_leaf_blocks_has_one_level() {
    // The last entry alone, with its long key, brings the root over the limit, and no leaf was
    // written before.
    let long = vec![b'z'; 300];
    let mut cells: Vec<OwnedCell> =
        (0..3).map(|i| OwnedCell::put(format!("r{i}").as_bytes(), b"q", 5, b"v")).collect();
    cells.push(OwnedCell::put(&long, b"q", 5, b"v"));
    cells.push(OwnedCell::put(&long, b"q", 4, b"v"));
    let options = WriterOptions {
        block_bytes: 1,
        index_chunk_bytes: 130,
        min_index_entries: 1,
        ..WriterOptions::default()
    };
    let reader = open(write(&options, &cells, StoreFileInfo::flushed(1))).unwrap();
    assert_eq!(reader.trailer().index_levels, 1);
    assert_eq!(read_all(&reader, DirectBlocks).unwrap(), cells);
}

/// File whose second write fails, and no other.
struct SecondWriteFails(MemoryFile, usize);

impl FileWriter for SecondWriteFails {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1 += 1;
        if self.1 == 2 { Err(io::ErrorKind::StorageFull.into()) } else { self.0.write_all(bytes) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.0.truncate(bytes)
    }
}

/// Blocks are collected before they are written, so the error is that of a later cell.
#[test]
fn failed_write_in_the_middle_of_a_file_is_an_error_for_good() {
    let file = SecondWriteFails(MemoryFile::default(), 0);
    let options = WriterOptions::default();
    let mut writer = Writer::create(Box::new(file), "full", options).unwrap();
    let value = [b'v'; 1_000];
    let mut append = |number: u32| {
        let key = make_key(format!("row{number:06}").as_bytes(), b"f", b"q", 5, 4);
        writer.append(CellRef::new(&key, &value, b"", 0))
    };
    let failed = (0..10_000).find(|number| append(*number).is_err()).unwrap();
    assert!((1_000..1_200).contains(&failed), "after two writes of half a megabyte: {failed}");
    let later = (failed + 1..failed + 200).find_map(|number| append(number).err()).unwrap();
    assert!(later.message().contains("an earlier write failed"), "{later}");
    let error = writer.finish(StoreFileInfo::flushed(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().contains("store file full: "), "{error}");
}
