//! Families whose data block encoding changes while they have files.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::hfile::DataBlockEncoding;
use halite_engine::{Engine, Options, PartReads};
use halite_types::{
    CompactionKind, Delete, ErrorKind, FamilyDescriptor, Filter, Get, Put, ReadTier, RowOp, Scan,
    TableDescriptor, TimeRange,
};

use crate::support::{apply, name};

const ENCODINGS: [&str; 5] = ["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"];

fn table(attributes: &[(&str, &str)]) -> TableDescriptor {
    let family = FamilyDescriptor::new("f").versions(9).set("BLOCKSIZE", 512);
    let family = attributes.iter().fold(family, |family, (name, value)| family.set(*name, value));
    TableDescriptor::new(name()).family(family)
}

fn write(engine: &Engine, round: i64) {
    for row in 0..60 {
        let put = Put::new(format!("row{row:04}"));
        let put = (if row % 2 == 0 { put.ttl_ms(1 << 40) } else { put })
            .add_at("f", "", round, "")
            .add_at("f", "name", round, "always the same")
            .add_at("f", format!("number{row}"), round, format!("{round}"));
        apply(engine, RowOp::Put(put));
    }
}

/// Returns every version of every cell as text.
fn read(engine: &Engine) -> Vec<String> {
    let table = engine.table(&name()).unwrap();
    let scanner = table.scan(Scan::all().all_versions(), ReadTier::Disk);
    let cells: Vec<String> = scanner
        .flat_map(Result::unwrap)
        .flat_map(|row| row.iter().map(|cell| format!("{cell:?}")).collect::<Vec<_>>())
        .collect();
    for row in [0, 31, 59] {
        let get = Get::new(format!("row{row:04}")).column("f", format!("number{row}"));
        assert!(!table.get(&get, ReadTier::Disk).unwrap().is_empty());
    }
    cells
}

/// Returns the encoding that each store file states, in order, and whether it states that tags are
/// compressed.
fn stated(sim: &SimEnv) -> Vec<(&'static str, bool)> {
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let store_files = sim.fs.files().into_iter().filter(|(path, _)| {
        path.starts_with("data/") && path.contains("/f/") && !path.contains("/.")
    });
    let mut stated: Vec<_> = store_files
        .map(|(_, bytes)| {
            let key = b"DATA_BLOCK_ENCODING\x12";
            let name = bytes.windows(key.len()).position(|window| window == key).map(|at| {
                let start = at + key.len() + 1;
                &bytes[start..start + usize::from(bytes[start - 1])]
            });
            let encoding = name.map_or(DataBlockEncoding::None, |name| {
                DataBlockEncoding::from_name(std::str::from_utf8(name).unwrap()).unwrap()
            });
            (encoding.name(), has(&bytes, b"hfile.TAGS_COMPRESSED\x12\x01\xff"))
        })
        .collect();
    stated.sort_unstable();
    stated
}

fn reopen(sim: &SimEnv, engine: Arc<Engine>) -> Arc<Engine> {
    engine.close().unwrap();
    Engine::open(sim.env(), Options::default()).unwrap()
}

#[test]
fn files_follow_altered_encoding_and_are_read_together() {
    let sim = SimEnv::new(1);
    let mut engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine.create_table(table(&[]), Vec::new()).unwrap();
    for (round, encoding) in (1..).zip(ENCODINGS) {
        engine.alter_table(table(&[("DATA_BLOCK_ENCODING", encoding)])).unwrap();
        write(&engine, round);
        engine.flush(&name()).unwrap();
    }
    let mut all: Vec<_> = ENCODINGS.iter().map(|name| (*name, *name != "NONE")).collect();
    all.sort_unstable();
    assert_eq!(stated(&sim), all);
    let cells = read(&engine);
    assert_eq!(cells.len(), 5 * 60 * 3);
    for encoding in ENCODINGS.into_iter().rev() {
        engine.alter_table(table(&[("DATA_BLOCK_ENCODING", encoding)])).unwrap();
        engine.compact(&name(), None, CompactionKind::Major).unwrap();
        assert_eq!(stated(&sim), [(encoding, encoding != "NONE")]);
        assert!(read(&engine) == cells, "{encoding}");
        engine = reopen(&sim, engine);
        assert!(read(&engine) == cells, "{encoding}, reopened");
    }
}

#[test]
fn tags_are_stored_raw_without_compress_tags() {
    let sim = SimEnv::new(2);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let fast_diff = ("DATA_BLOCK_ENCODING", "fast_diff");
    engine.create_table(table(&[fast_diff, ("COMPRESS_TAGS", "false")]), Vec::new()).unwrap();
    write(&engine, 1);
    engine.flush(&name()).unwrap();
    assert_eq!(stated(&sim), [("FAST_DIFF", false)]);
    let cells = read(&engine);
    engine.alter_table(table(&[fast_diff])).unwrap();
    engine.compact(&name(), None, CompactionKind::Major).unwrap();
    assert_eq!(stated(&sim), [("FAST_DIFF", true)]);
    assert!(read(&engine) == cells);
}

#[test]
fn encoded_block_ratio_makes_blocks_larger() {
    let bytes = |ratio: &str| {
        let sim = SimEnv::new(3);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let mut table = table(&[("DATA_BLOCK_ENCODING", "FAST_DIFF")]);
        let setting = "hbase.writer.unified.encoded.blocksize.ratio";
        table.configuration.insert(setting.to_owned(), ratio.to_owned());
        engine.create_table(table, Vec::new()).unwrap();
        write(&engine, 1);
        engine.flush(&name()).unwrap();
        let (_, file) = crate::support::store_file(&sim);
        file.windows(8).filter(|window| window == b"DATABLKE").count()
    };
    let (without, with) = (bytes("0"), bytes("1.5"));
    assert!(with >= 2 && 2 * with < without, "{with} and {without} blocks");
}

/// Such scans decode blocks of differences cell by cell, and seek in them.
#[test]
fn scans_that_cache_nothing_return_the_same_cells() {
    let range = |from: &'static str, to: &'static str| Filter::ColumnRange {
        min: Some(from.into()),
        min_inclusive: true,
        max: Some(to.into()),
        max_inclusive: false,
    };
    let scans = [
        Scan::all(),
        Scan::all().all_versions(),
        Scan::all().raw(true).all_versions(),
        Scan::all().column("f", "c5"),
        Scan::all().column("f", "c0").column("f", "c4").column("f", "c9").versions(3),
        Scan::all().start("row0011").stop("row0033").versions(2),
        Scan::all().reverse(true).versions(2),
        Scan::all().time_range(TimeRange::new(3, 7).unwrap()).all_versions(),
        Scan::all().filter(range("c3", "c5")),
        Scan::all().filter(range("c8", "d")).versions(9),
        Scan::all().filter(Filter::FirstKeyOnly),
        Scan::all().filter(Filter::ColumnPrefix("c7".into())).all_versions(),
    ];
    for encoding in ENCODINGS {
        let sim = SimEnv::new(4);
        let mut options = Options::default();
        options.part_reads = PartReads::Never;
        let engine = Engine::open(sim.env(), options).unwrap();
        let family = FamilyDescriptor::new("f").versions(20);
        let family = family.set("BLOCKSIZE", 2048).set("DATA_BLOCK_ENCODING", encoding);
        engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
        for round in 1..=12 {
            for row in 0..40 {
                let put = (0..10).filter(|column| column < &3 || (row + column) % 5 == round % 5);
                let put = put.fold(Put::new(format!("row{row:04}")), |put, column| {
                    put.add_at("f", format!("c{column}"), round, format!("{row} {column}"))
                });
                apply(&engine, RowOp::Put(put));
            }
            let row = format!("row{:04}", 3 * round);
            let delete = if round % 2 == 0 {
                Delete::new(row).column_up_to("f", "c4", round)
            } else {
                Delete::new(row).family_up_to("f", round - 1)
            };
            apply(&engine, RowOp::Delete(delete));
            if round % 4 == 0 {
                engine.flush(&name()).unwrap();
            }
        }
        let table = engine.table(&name()).unwrap();
        for (number, scan) in scans.iter().enumerate() {
            let cells = |scan: &Scan| -> Vec<String> {
                let rows = table.scan(scan.clone(), ReadTier::Disk).map(Result::unwrap);
                rows.flat_map(|row| row.iter().map(|cell| format!("{cell:?}")).collect::<Vec<_>>())
                    .collect()
            };
            let cached = cells(scan);
            assert!(cached.len() >= 8, "{encoding} {number}: {cached:?}");
            assert!(cells(&scan.clone().cache_blocks(false)) == cached, "{encoding} {number}");
        }
    }
}

/// Returns the number of data blocks and the type of the Bloom filter of each store file.
fn blocks_and_filters(sim: &SimEnv) -> Vec<(usize, String)> {
    let store_files = sim.fs.files().into_iter().filter(|(path, _)| {
        path.starts_with("data/") && path.contains("/f/") && !path.contains("/.")
    });
    let mut files: Vec<_> = store_files
        .map(|(_, bytes)| {
            let count = |magic: &[u8]| bytes.windows(8).filter(|window| *window == magic).count();
            let key = b"BLOOM_FILTER_TYPE\x12";
            let filter = bytes.windows(key.len()).position(|window| window == key).map(|at| {
                let start = at + key.len() + 1;
                String::from_utf8_lossy(&bytes[start..start + usize::from(bytes[start - 1])])
            });
            assert_eq!(filter.is_some(), count(b"BLMFBLK2") > 0);
            (count(b"DATABLK*"), filter.map_or_else(String::new, Into::into))
        })
        .collect();
    files.sort_unstable();
    files
}

#[test]
fn files_follow_altered_block_size_and_filter_and_are_read_together() {
    let sim = SimEnv::new(5);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine.create_table(table(&[]), Vec::new()).unwrap();
    let settings = [
        ("512", "NONE"),
        ("65536", "ROW"),
        ("1024", "ROWCOL"),
        ("65536", "ROWPREFIX_FIXED_LENGTH"),
    ];
    let set = |(size, filter)| {
        let mut family = FamilyDescriptor::new("f").versions(9).set("BLOCKSIZE", size);
        let length = "RowPrefixBloomFilter.prefix_length";
        family.configuration.insert(length.to_owned(), "5".to_owned());
        let table = TableDescriptor::new(name()).family(family.set("BLOOMFILTER", filter));
        engine.alter_table(table).unwrap();
    };
    for (round, setting) in (1..).zip(settings) {
        set(setting);
        write(&engine, round);
        engine.flush(&name()).unwrap();
    }
    let files = blocks_and_filters(&sim);
    let filters: Vec<&str> = files.iter().map(|(_, filter)| &**filter).collect();
    assert_eq!(filters[..2], ["ROW", "ROWPREFIX_FIXED_LENGTH"], "{files:?}");
    assert_eq!(filters[2..], ["ROWCOL", ""], "{files:?}");
    let blocks: Vec<usize> = files.iter().map(|(blocks, _)| *blocks).collect();
    assert!(blocks[..2] == [1, 1] && blocks[3] > blocks[2] && blocks[2] > 3, "{files:?}");

    let cells = read(&engine);
    assert_eq!(cells.len(), 4 * 60 * 3);
    let table = engine.table(&name()).unwrap();
    for absent in ["row", "row0003x", "row9"] {
        let get = Get::new(absent).column("f", "name");
        assert!(table.get(&get, ReadTier::Disk).unwrap().is_empty(), "{absent}");
    }
    for (setting, is_small) in settings.into_iter().zip([true, false, true, false]) {
        set(setting);
        engine.compact(&name(), None, CompactionKind::Major).unwrap();
        let file = &blocks_and_filters(&sim)[..];
        let [(blocks, filter)] = file else { panic!("{file:?}") };
        assert_eq!(filter, if setting.1 == "NONE" { "" } else { setting.1 });
        assert_eq!(*blocks > 1, is_small, "{setting:?}");
        assert!(read(&engine) == cells, "{setting:?}");
    }
}

#[test]
fn unknown_encoding_is_rejected_by_name() {
    let engine = Engine::open(SimEnv::new(4).env(), Options::default()).unwrap();
    engine.create_table(table(&[]), Vec::new()).unwrap();
    for (unknown, near) in
        [("PREFIX_TREE", ""), ("FASTDIFF", " (did you mean FAST_DIFF?)"), ("", "")]
    {
        let altered = engine.alter_table(table(&[("DATA_BLOCK_ENCODING", unknown)]));
        let other = TableDescriptor::new("other".parse().unwrap())
            .family(FamilyDescriptor::new("f").set("DATA_BLOCK_ENCODING", unknown));
        for result in [altered, engine.create_table(other, Vec::new())] {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            let text =
                format!("DATA_BLOCK_ENCODING {unknown:?}{near}: expected one of NONE, PREFIX");
            assert!(error.to_string().contains(&text), "{error}");
        }
    }
    let descriptor = engine.table(&name()).unwrap().descriptor();
    assert_eq!(descriptor.find_family(b"f").unwrap().data_block_encoding(), "NONE");
}
