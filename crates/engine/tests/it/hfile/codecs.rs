//! Codecs of the files that flushes and compactions write.
use std::collections::BTreeMap;
use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::hfile::{Compression, DirectBlocks};
use halite_engine::{Engine, Options};
use halite_types::{CompactionKind, FamilyDescriptor, ReadTier, Scan, TableDescriptor};

use super::support::{open, read_all};
use crate::support::{name, put};

fn engine(sim: &SimEnv, attributes: &[(&str, &str)]) -> Arc<Engine> {
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    // A minor compaction of all files would be a major one.
    let family = FamilyDescriptor::new("f").set("hbase.hstore.compaction.max", 3);
    let family = attributes.iter().fold(family, |family, (name, value)| family.set(*name, *value));
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    engine
}

/// Returns the store files in the family's directory.
fn files(sim: &SimEnv) -> BTreeMap<String, Vec<u8>> {
    let is_live =
        |path: &String| path.starts_with("data/") && path.contains("/f/") && !path.contains("/.");
    sim.fs.files().into_iter().filter(|(path, _)| is_live(path)).collect()
}

/// Returns the codec of the one file that `work` adds; all of its blocks are read.
fn codec_of_new_file(sim: &SimEnv, work: impl FnOnce()) -> Compression {
    let before = files(sim);
    work();
    let mut new = files(sim).into_iter().filter(|(path, _)| !before.contains_key(path));
    let reader = open(new.next().unwrap().1).unwrap();
    assert!(new.next().is_none());
    assert!(!read_all(&reader, DirectBlocks).unwrap().is_empty());
    reader.trailer().compression
}

/// Returns the codecs of the files of a flush, a minor and a major compaction.
fn codecs(attributes: &[(&str, &str)]) -> [Compression; 3] {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, attributes);
    let flush = |round: usize| {
        (0..50).for_each(|row| put(&engine, &format!("r{row:02}"), &format!("v{round}")));
        engine.flush(&name()).unwrap();
    };
    let flushed = codec_of_new_file(&sim, || flush(0));
    (1..4).for_each(flush);
    let compact = |kind| engine.compact(&name(), None, kind).unwrap();
    let minor = codec_of_new_file(&sim, || compact(CompactionKind::Minor));
    flush(4);
    let major = codec_of_new_file(&sim, || compact(CompactionKind::Major));
    [flushed, minor, major]
}

#[test]
fn each_file_has_codec_of_its_origin() {
    use Compression::{Gz, Lz4, None, Snappy, Zstd};

    assert_eq!(codecs(&[]), [None; 3]);
    assert_eq!(codecs(&[("COMPRESSION", "snappy")]), [Snappy; 3]);
    assert_eq!(
        codecs(&[("COMPRESSION", "LZ4"), ("COMPRESSION_COMPACT", "ZSTD")]),
        [Lz4, Zstd, Zstd]
    );
    assert_eq!(
        codecs(&[("COMPRESSION_COMPACT", "GZ"), ("COMPRESSION_COMPACT_MAJOR", "ZSTD")]),
        [None, Gz, Zstd]
    );
    assert_eq!(
        codecs(&[("COMPRESSION", "ZSTD"), ("COMPRESSION_COMPACT_MINOR", "NONE")]),
        [Zstd, None, Zstd]
    );
}

/// Replaces the codec ZSTD in the stored descriptors, as if an earlier version had accepted the
/// other name.
fn replace_codec(sim: &SimEnv, new: [u8; 4]) {
    for (path, bytes) in sim.fs.files() {
        let mut changed = bytes.clone();
        let places: Vec<usize> = bytes
            .windows(4)
            .enumerate()
            .filter_map(|(at, window)| (window == b"ZSTD").then_some(at))
            .collect();
        if places.is_empty() {
            continue;
        }
        places.iter().for_each(|at| changed[*at..*at + 4].copy_from_slice(&new));
        if path.ends_with("MANIFEST") {
            let end = changed.len() - 4;
            let checksum = crc32c::crc32c(&changed[..end]);
            changed[end..].copy_from_slice(&checksum.to_be_bytes());
        }
        sim.fs.write(&path, changed).unwrap();
    }
}

#[test]
fn old_table_with_unwritten_codec_opens_and_writes_plain_files() {
    let sim = SimEnv::new(1);
    let first = engine(&sim, &[("COMPRESSION", "ZSTD")]);
    put(&first, "r1", "before");
    first.close().unwrap();
    replace_codec(&sim, *b"LZMA");

    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let family = engine.descriptor(&name()).unwrap().families().next().unwrap().clone();
    assert_eq!(family.compression(), "LZMA");
    put(&engine, "r2", "after");
    let codec = codec_of_new_file(&sim, || engine.flush(&name()).unwrap());
    assert_eq!(codec, Compression::None);
    let mut scanner = engine.table(&name()).unwrap().scan(Scan::all(), ReadTier::Disk);
    assert_eq!(scanner.next_rows().unwrap().len(), 2);
    // Its other attributes can still be changed.
    let changed = TableDescriptor::new(name()).family(family.versions(5));
    engine.alter_table(changed).unwrap();
}
