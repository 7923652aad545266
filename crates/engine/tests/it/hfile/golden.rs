//! Files that HBase wrote: every cell, every lookup, every filter, and identical bytes when
//! rewritten.
use halite_engine::env::MemoryFile;
use halite_engine::hfile::{
    ChecksumType, Comparator, Cursor, DataBlockEncoding, DirectBlocks, HashKind, Reader,
    StoreFileInfo, Writer, WriterOptions, info_key,
};
use halite_types::cell::{
    compare_keys, first_on_column, first_on_row, key_family, key_qualifier, key_row, last_on_row,
};
use halite_types::{BloomType, ErrorKind};

use super::support::{
    OwnedCell, dump, is_before, line, open, parse_line, read_all, sample, sample_cells, write,
};

pub(super) const SAMPLES: [&str; 56] = [
    "tiny-none",
    "tiny-none-tags",
    "tiny-prefix",
    "tiny-prefix-tags",
    "tiny-prefix-ctags",
    "tiny-diff",
    "tiny-diff-tags",
    "tiny-diff-ctags",
    "tiny-fast_diff",
    "tiny-fast_diff-tags",
    "tiny-fast_diff-ctags",
    "tiny-row_index_v1",
    "tiny-row_index_v1-tags",
    "tiny-row_index_v1-ctags",
    "none-small",
    "empty",
    "none-nomvcc",
    "none-mvcc-zero",
    "none-nasty",
    "none-nasty-tags",
    "plain-writer",
    "bulk-style",
    "index-2level",
    "index-4level",
    "bloom-none",
    "bloom-row",
    "bloom-rowcol",
    "bloom-rowcol-default",
    "bloom-rowprefix_fixed_length",
    "bloom-murmur3",
    "bloom-jenkins",
    "comp-gz",
    "comp-gz-big",
    "comp-gz-fast_diff",
    "big-values",
    "checksum-crc32",
    "checksum-null",
    "meta-table",
    "meta-table-order",
    "enc-prefix",
    "enc-prefix-nomvcc",
    "enc-prefix-tags",
    "enc-prefix-ctags",
    "enc-diff",
    "enc-diff-nomvcc",
    "enc-diff-tags",
    "enc-diff-ctags",
    "enc-fast_diff",
    "enc-fast_diff-nomvcc",
    "enc-fast_diff-tags",
    "enc-fast_diff-ctags",
    "enc-fast_diff-ctags-lru",
    "enc-row_index_v1",
    "enc-row_index_v1-nomvcc",
    "enc-row_index_v1-tags",
    "enc-row_index_v1-ctags",
];

/// Files with codecs that are read and not written.
pub(super) const READ_ONLY: [&str; 10] = [
    "comp-snappy",
    "comp-snappy-fast_diff",
    "comp-zstd-fast_diff",
    "comp-lz4",
    "comp-zstd",
    "comp-lz4-big",
    "comp-zstd-big",
    "codec-jni-snappy",
    "codec-jni-lz4",
    "codec-jni-zstd",
];

#[test]
fn cells_match_those_hbase_reads() {
    for name in SAMPLES.into_iter().chain(READ_ONLY) {
        let (reader, cells) = sample_cells(name);
        let lines: Vec<String> = cells.iter().map(|cell| line(cell.view())).collect();
        assert_eq!(lines, dump(name), "{name}");
        assert_eq!(reader.entry_count(), cells.len() as u64, "{name}");
    }
}

/// Seeks with the cell's own key and with adjacent keys: forward, backward and again from the
/// cursor's position.
fn check_lookups(name: &str, reader: &std::sync::Arc<Reader>, cells: &[OwnedCell]) {
    let comparator = reader.comparator();
    let mut kept = Cursor::new(reader.clone(), DirectBlocks);
    for cell in cells {
        let key = &cell.key;
        let row = key_row(key);
        let mut older = key.clone();
        *older.last_mut().unwrap() = 0;
        let probes = [
            key.clone(),
            first_on_row(row),
            last_on_row(row),
            older,
            first_on_column(row, key_family(key), key_qualifier(key)),
        ];
        for probe in probes {
            let index = cells.partition_point(|cell| is_before(comparator, &cell.key, &probe));
            let mut fresh = Cursor::new(reader.clone(), DirectBlocks);
            for cursor in [&mut fresh, &mut kept] {
                cursor.seek(&probe).unwrap();
                assert_eq!(
                    cursor.peek().map(OwnedCell::from_cell).as_ref(),
                    cells.get(index),
                    "{name}: seek {}",
                    probe.escape_ascii()
                );
            }
            fresh.seek_before(&probe).unwrap();
            let before = index.checked_sub(1).map(|index| &cells[index]);
            assert_eq!(
                fresh.peek().map(OwnedCell::from_cell).as_ref(),
                before,
                "{name}: before {}",
                probe.escape_ascii()
            );
        }
        let first_of_row =
            cells.partition_point(|cell| comparator.compare_rows(key_row(&cell.key), row).is_lt());
        kept.seek_to_previous_row(row).unwrap();
        let previous = first_of_row.checked_sub(1).map(|last| {
            let previous_row = key_row(&cells[last].key);
            cells.iter().find(|cell| key_row(&cell.key) == previous_row).unwrap()
        });
        assert_eq!(
            kept.peek().map(OwnedCell::from_cell).as_ref(),
            previous,
            "{name}: row before {}",
            row.escape_ascii()
        );
    }
}

#[test]
fn every_lookup_finds_its_cell() {
    for name in SAMPLES.into_iter().chain(READ_ONLY) {
        let (reader, cells) = sample_cells(name);
        // Values of hundreds of kilobytes make each block expensive, and these files are there for
        // their blocks.
        check_lookups(name, &reader, &cells);
        assert_eq!(reader.first_key(), cells.first().map(|cell| cell.key.as_slice()), "{name}");
        assert_eq!(reader.last_key(), cells.last().map(|cell| cell.key.as_slice()), "{name}");
        let mut cursor = Cursor::new(reader.clone(), DirectBlocks);
        cursor.seek_to_last().unwrap();
        assert_eq!(cursor.peek().map(OwnedCell::from_cell).as_ref(), cells.last(), "{name}");
        cursor.advance().unwrap();
        assert!(cursor.peek().is_none() && cursor.advance().is_ok(), "{name}");
    }
}

#[test]
fn bloom_filters_have_few_false_positives_and_no_negatives() {
    for name in SAMPLES.into_iter().chain(READ_ONLY) {
        let (reader, cells) = sample_cells(name);
        for cell in &cells {
            let cell = cell.view();
            assert!(
                reader.may_contain_row(&DirectBlocks, cell.row()).unwrap(),
                "{name}: {}",
                cell.row().escape_ascii()
            );
            assert!(
                reader.may_contain_column(&DirectBlocks, cell.row(), cell.qualifier()).unwrap(),
                "{name}"
            );
            if cell.type_code() == 14 || cell.type_code() == 10 {
                assert!(
                    reader.may_contain_delete_family(&DirectBlocks, cell.row()).unwrap(),
                    "{name}"
                );
                assert!(
                    reader.may_contain_column(&DirectBlocks, cell.row(), b"any qualifier").unwrap(),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn bloom_filter_false_positive_rate_is_about_one_percent() {
    for (name, type_is_of_rows) in [
        ("index-4level", true),
        ("bloom-row", true),
        ("bloom-murmur3", true),
        ("bloom-jenkins", true),
        ("bloom-rowcol", false),
    ] {
        let (reader, _) = sample_cells(name);
        let wrong = (0..4000).filter(|i| {
            // Before the last key of the filter, so that it is the bits that answer.
            let row = format!("k0{i}absent").into_bytes();
            if type_is_of_rows {
                reader.may_contain_row(&DirectBlocks, &row).unwrap()
            } else {
                reader.may_contain_column(&DirectBlocks, &row, b"c1").unwrap()
            }
        });
        let wrong = wrong.count();
        assert!((1..=100).contains(&wrong), "{name}: {wrong} of 4000");
    }
}

#[test]
fn bloom_filter_rejects_only_keys_it_covers() {
    let (rowcol, _) = sample_cells("bloom-rowcol");
    assert_eq!(rowcol.bloom_type(), BloomType::RowCol);
    assert!(rowcol.may_contain_row(&DirectBlocks, b"no such row").unwrap());
    let (none, _) = sample_cells("bloom-none");
    assert_eq!(none.bloom_type(), BloomType::None);
    assert!(none.may_contain_row(&DirectBlocks, b"no such row").unwrap());
    let (empty, _) = sample_cells("empty");
    assert!(!empty.may_contain_row(&DirectBlocks, b"no such row").unwrap());
    let (prefix, _) = sample_cells("bloom-rowprefix_fixed_length");
    assert_eq!(prefix.bloom_type(), BloomType::RowPrefix(8));
    let (row, _) = sample_cells("none-small");
    assert!(!row.may_contain_delete_family(&DirectBlocks, b"k00000000").unwrap());
}

/// Returns the settings with which the generator wrote a sample; those stored in the file are read
/// from it.
fn settings(name: &str, reader: &Reader) -> WriterOptions {
    let mut options = WriterOptions {
        bloom: if name == "empty" { BloomType::Row } else { reader.bloom_type() },
        compression: reader.trailer().compression,
        encoding: encoding(reader),
        include_tags: reader.has_tags(),
        compress_tags: reader.info().flag(info_key::TAGS_COMPRESSED),
        include_sequence_ids: reader.has_sequence_ids(),
        created_ms: reader.created_ms().unwrap(),
        comparator: reader.comparator(),
        ..WriterOptions::default()
    };
    match name {
        "index-2level" => (options.block_bytes, options.index_chunk_bytes) = (512, 512),
        "index-4level" => {
            (
                options.block_bytes,
                options.index_chunk_bytes,
                options.min_index_entries,
                options.bloom_chunk_bytes,
            ) = (256, 160, 3, 256);
        }
        "none-nasty" | "none-nasty-tags" => options.block_bytes = 4096,
        "bloom-none" | "bloom-row" | "bloom-rowcol" | "bloom-rowprefix_fixed_length" => {
            (options.block_bytes, options.bloom_chunk_bytes) = (4096, 384);
        }
        "bloom-murmur3" => options.bloom_hash = HashKind::Murmur3,
        "bloom-jenkins" => options.bloom_hash = HashKind::Jenkins,
        "checksum-crc32" => {
            (options.block_bytes, options.checksum, options.bytes_per_checksum) =
                (4096, ChecksumType::Crc32, 512);
        }
        "checksum-null" => (options.block_bytes, options.checksum) = (4096, ChecksumType::Null),
        "comp-gz"
        | "comp-snappy"
        | "comp-lz4"
        | "comp-zstd"
        | "comp-gz-fast_diff"
        | "comp-snappy-fast_diff"
        | "comp-zstd-fast_diff"
        | "meta-table"
        | "meta-table-order" => {
            options.block_bytes = 8192;
        }
        "enc-fast_diff-ctags-lru" => {}
        _ if name.starts_with("enc-") => options.block_bytes = 4096,
        _ => {}
    }
    options
}

fn encoding(reader: &Reader) -> DataBlockEncoding {
    let name = reader.info().get(info_key::DATA_BLOCK_ENCODING);
    name.map_or(DataBlockEncoding::None, |name| {
        DataBlockEncoding::from_name(std::str::from_utf8(name).unwrap()).unwrap()
    })
}

/// Writes the cells of a file into a new one with the settings of the old.
fn rewrite(name: &str, reader: &Reader, cells: &[OwnedCell]) -> Vec<u8> {
    let mut options = settings(name, reader);
    let plain = reader.info().get(info_key::TIME_RANGE).is_none();
    if plain {
        (options.bloom, options.delete_family_bloom) = (BloomType::None, false);
    }
    let file = MemoryFile::default();
    let mut writer = Writer::create(Box::new(file.clone()), "new", options).unwrap();
    for cell in cells {
        writer.append(cell.view()).unwrap();
    }
    for key in [
        info_key::BULK_LOAD_TIME,
        info_key::BULK_LOAD_TASK,
        info_key::EXCLUDE_FROM_MINOR_COMPACTION,
    ] {
        if let Some(value) = reader.info().get(key) {
            writer.set_info(key, value.to_vec());
        }
    }
    let store = StoreFileInfo {
        max_sequence_id: reader.max_sequence_id(),
        major_compaction: reader.info().get(info_key::MAJOR_COMPACTION).map(|_| reader.is_major()),
        compacted_from: reader
            .info()
            .get(info_key::COMPACTED_FROM)
            .map(|_| reader.info().compacted_from()),
    };
    if plain { writer.finish_plain() } else { writer.finish(store) }.unwrap();
    file.take_bytes()
}

#[test]
fn rewritten_cells_match_hbase_bytes() {
    for name in SAMPLES.into_iter().filter(|name| !name.starts_with("comp-gz")) {
        let old = sample(name);
        let (reader, cells) = sample_cells(name);
        let new = rewrite(name, &reader, &cells);
        let first = old.iter().zip(&new).position(|(a, b)| a != b);
        assert!(
            old == new,
            "{name}: {} and {} bytes, first difference at {first:?}",
            old.len(),
            new.len()
        );
    }
}

#[test]
fn rewritten_compressed_cells_are_equal() {
    // The compressed bytes depend on the version of each library.
    let names = [
        "comp-gz",
        "comp-gz-big",
        "comp-gz-fast_diff",
        "comp-snappy",
        "comp-lz4",
        "comp-lz4-big",
        "comp-zstd",
        "comp-zstd-big",
    ];
    for name in names {
        let (reader, cells) = sample_cells(name);
        let new = open(rewrite(name, &reader, &cells)).unwrap();
        assert_eq!(read_all(&new, DirectBlocks).unwrap(), cells, "{name}");
        assert_eq!(new.info(), reader.info(), "{name}");
        let (a, b) = (new.trailer(), reader.trailer());
        assert_eq!(
            (a.total_uncompressed_bytes, a.data_index_count),
            (b.total_uncompressed_bytes, b.data_index_count),
            "{name}"
        );
    }
}

#[test]
fn middle_key_is_from_middle_block() {
    for name in ["index-2level", "index-4level"] {
        let (reader, cells) = sample_cells(name);
        let mid = reader.mid_key(&DirectBlocks).unwrap().unwrap();
        let below = cells.partition_point(|cell| is_before(reader.comparator(), &cell.key, &mid));
        assert!(below.abs_diff(cells.len() / 2) <= 15, "{name}: {below} of {}", cells.len());
        assert_eq!(
            reader.split_row(&DirectBlocks).unwrap().as_deref(),
            Some(key_row(&mid)),
            "{name}"
        );
    }
    let (reader, cells) = sample_cells("none-nasty");
    let mid = reader.mid_key(&DirectBlocks).unwrap().unwrap();
    let below = cells.partition_point(|cell| compare_keys(&cell.key, &mid).is_lt());
    assert!((100..=300).contains(&below), "{below}");
    let (one_block, cells) = sample_cells("none-small");
    assert_eq!(one_block.mid_key(&DirectBlocks).unwrap().unwrap(), cells[0].key);
    assert_eq!(one_block.split_row(&DirectBlocks).unwrap(), None);
    assert_eq!(sample_cells("empty").0.mid_key(&DirectBlocks).unwrap(), None);
}

#[test]
fn file_info_matches_cells() {
    let (reader, cells) = sample_cells("none-nasty");
    let deletes = cells.iter().filter(|cell| [10, 14].contains(&cell.view().type_code())).count();
    assert_eq!(reader.delete_family_count(), Some(deletes as u64));
    assert_eq!(
        reader.max_cell_sequence_id(),
        cells.iter().map(|cell| cell.sequence).max().unwrap()
    );
    let puts = cells
        .iter()
        .filter(|cell| cell.view().type_code() == 4)
        .map(|cell| cell.view().timestamp());
    assert_eq!(reader.earliest_put_timestamp(), puts.min());
    assert_eq!(
        reader.time_range().map(|range| *range.end()),
        cells.iter().map(|cell| cell.view().timestamp()).max()
    );
    assert_eq!(
        (reader.max_sequence_id(), reader.is_major(), reader.is_bulk_loaded()),
        (Some(1001), false, false)
    );
    let (bulk, _) = sample_cells("bulk-style");
    assert!(
        bulk.is_bulk_loaded()
            && bulk.is_excluded_from_minor_compaction()
            && !bulk.has_sequence_ids()
            && !bulk.keeps_sequence_ids()
    );
    let (tags, cells) = sample_cells("none-nasty-tags");
    assert_eq!(tags.max_tags_bytes(), cells.iter().map(|cell| cell.tags.len()).max());
    let (empty, _) = sample_cells("empty");
    assert_eq!(
        (empty.time_range(), empty.earliest_put_timestamp(), empty.first_key(), empty.last_key()),
        (None, None, None, None)
    );
    assert_eq!((empty.trailer().first_data_block_offset, empty.trailer().index_levels), (None, 1));
}

#[test]
fn meta_files_are_searched_in_meta_order() {
    for (name, block_bytes) in
        [("meta-table", 1000), ("meta-table-order", 1), ("meta-table-order", 700)]
    {
        let cells: Vec<OwnedCell> = dump(name).iter().map(|line| parse_line(line)).collect();
        let options = WriterOptions {
            comparator: Comparator::Meta,
            block_bytes,
            index_chunk_bytes: 400,
            min_index_entries: 2,
            bloom: BloomType::RowCol,
            bloom_chunk_bytes: 128,
            ..WriterOptions::default()
        };
        let reader = open(write(&options, &cells, StoreFileInfo::flushed(9))).unwrap();
        assert!(reader.comparator() == Comparator::Meta && reader.trailer().index_levels > 1);
        assert_eq!(read_all(&reader, DirectBlocks).unwrap(), cells, "{name}");
        check_lookups(name, &reader, &cells);
        for cell in &cells {
            assert!(
                reader
                    .may_contain_column(&DirectBlocks, cell.view().row(), cell.view().qualifier())
                    .unwrap(),
                "{name}"
            );
        }
    }
}

#[test]
fn meta_order_differs_from_row_order() {
    let cells: Vec<OwnedCell> =
        dump("meta-table-order").iter().map(|line| parse_line(line)).collect();
    assert!(cells.windows(2).any(|pair| compare_keys(&pair[0].key, &pair[1].key).is_gt()));
}

#[test]
fn unsupported_file_is_rejected_with_fix() {
    for name in ["comp-lzo", "comp-lzo-fast_diff"] {
        assert_unsupported(sample(name), &["compression LZO", "major compaction"]);
    }
}

fn assert_unsupported(file: Vec<u8>, words: &[&str]) {
    let error = open(file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    for word in words.iter().chain(&["store file data/default/t/1f/f/9a"]) {
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn file_with_unknown_order_of_keys_is_rejected_by_name() {
    for name in ["none-small", "bloom-row"] {
        let mut file = sample(name);
        let class = b"KeyValue$KVComparator";
        let at = file.windows(class.len()).rposition(|window| window == class).unwrap();
        file[at..at + class.len()].copy_from_slice(b"KeyValue$ZZComparator");
        assert_unsupported(file, &["org.apache.hadoop.hbase.KeyValue$ZZComparator"]);
    }
}

/// HBase puts the wrapped key of an encrypted file into the trailer, as the last field.
#[test]
fn encrypted_file_is_rejected_with_fix() {
    let mut file = sample("none-small");
    let trailer = file.len() - 4096;
    let message = &mut file[trailer + 8..];
    // The message begins with its length, which is less than 128 and remains so.
    let length = usize::from(message[0]);
    let key: [u8; 4] = [13 << 3 | 2, 2, 7, 8];
    assert!(length + key.len() < 128);
    message[1 + length..][..key.len()].copy_from_slice(&key);
    message[0] += 4;
    assert_unsupported(file, &["encrypted", "ENCRYPTION", "major compaction"]);
}
