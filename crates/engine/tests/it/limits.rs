//! Names that are too long and tables of too many regions: rejected immediately, with the limit.

use std::sync::Arc;

use halite_engine::env::Env;
use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options};
use halite_types::schema::family_attribute;
use halite_types::{
    Bytes, CompactionKind, ErrorKind, FamilyDescriptor, Get, Put, ReadTier, Result, RowOp,
    SnapshotDescriptor, TableDescriptor, TableName,
};

fn table(namespace: &str, bytes: usize) -> TableDescriptor {
    TableDescriptor::new(TableName::new(namespace, "t".repeat(bytes)).unwrap())
        .family(FamilyDescriptor::new("f"))
}

fn expect_error(result: Result<()>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    error.message().to_owned()
}

fn put(engine: &Engine, table: &TableName, row: &str) {
    let done = engine
        .table(table)
        .unwrap()
        .batch(vec![RowOp::Put(Put::new(row.to_owned()).add("f", "q", "v"))])
        .unwrap();
    done.into_iter().for_each(|result| drop(result.unwrap()));
}

/// Covers all kinds of files whose name contains the table's: its own files, loaded files, links,
/// and references through links.
#[test]
fn table_with_longest_name_splits_and_clones_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Engine::open(Env::os(directory.path()).unwrap(), Options::default()).unwrap();
    let namespace = "n".repeat(60);
    engine.create_namespace(&namespace, halite_types::Attributes::new()).unwrap();
    let first = table(&namespace, 128 - 61);
    let name = first.name().clone();
    engine.create_table(first, Vec::new()).unwrap();
    ["a", "m", "z"].iter().for_each(|row| put(&engine, &name, row));
    engine.set_compactions_enabled(false);
    engine.flush(&name).unwrap();
    let region = engine.regions(&name).unwrap().remove(0);
    engine.split_region(&region.encoded_name, Some(Bytes::from("m"))).unwrap();
    engine.create_snapshot(&SnapshotDescriptor::new("s", name.clone())).unwrap();
    let clone = TableName::new(namespace.clone(), "c".repeat(128 - 61)).unwrap();
    engine.clone_snapshot("s", &clone).unwrap();
    engine.create_snapshot(&SnapshotDescriptor::new("s".repeat(255), clone.clone())).unwrap();
    let again = TableName::new(namespace, "d").unwrap();
    engine.clone_snapshot(&"s".repeat(255), &again).unwrap();
    for table in [&clone, &again] {
        assert_eq!(
            engine.table(table).unwrap().get(&Get::new("z"), ReadTier::Disk).unwrap().cells().len(),
            1
        );
    }
    engine.set_compactions_enabled(true);
    engine.compact(&clone, None, CompactionKind::Major).unwrap();
    assert_eq!(
        engine.table(&clone).unwrap().get(&Get::new("a"), ReadTier::Disk).unwrap().cells().len(),
        1
    );
}

#[test]
fn overlong_name_is_rejected_with_limit_before_creation() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine.create_table(table("default", 128), Vec::new()).unwrap();
    assert!(
        TableName::new("default", "t".repeat(70_000))
            .unwrap_err()
            .message()
            .contains("has 70000 bytes; at most 1024")
    );
    for bytes in [129, 255, 300, 1_024] {
        let text = expect_error(engine.create_table(table("default", bytes), Vec::new()));
        assert!(text.contains(&format!("has {bytes} bytes; at most 128")), "{text}");
    }
    engine.create_namespace(&"n".repeat(126), halite_types::Attributes::new()).unwrap();
    engine.create_table(table(&"n".repeat(126), 1), Vec::new()).unwrap();
    assert!(
        expect_error(engine.create_table(table(&"n".repeat(126), 2), Vec::new()))
            .contains("at most 128")
    );
    assert!(
        expect_error(engine.create_namespace(&"n".repeat(127), halite_types::Attributes::new()))
            .contains("has 127 bytes; at most 126")
    );
    let source = table("default", 128).name().clone();
    assert!(
        expect_error(
            engine.create_snapshot(&SnapshotDescriptor::new("s".repeat(256), source.clone()))
        )
        .contains("has 256 bytes; at most 255")
    );
    engine.create_snapshot(&SnapshotDescriptor::new("s", source)).unwrap();
    assert!(
        expect_error(engine.clone_snapshot("s", table("default", 129).name()))
            .contains("at most 128")
    );
    // Its bytes are not text; its directory name takes three bytes for each.
    let family =
        TableDescriptor::new("u".parse().unwrap()).family(FamilyDescriptor::new(vec![0xff; 86]));
    assert!(expect_error(engine.create_table(family, Vec::new())).contains("over 255 bytes"));
    let family =
        TableDescriptor::new("u".parse().unwrap()).family(FamilyDescriptor::new(vec![0xff; 85]));
    engine.create_table(family, Vec::new()).unwrap();
}

#[test]
fn table_of_too_many_regions_is_rejected_with_limit() {
    let sim = SimEnv::new(1);
    let options = || {
        let mut options = Options::default();
        assert_eq!(options.max_regions_per_table, 10_000);
        options.max_regions_per_table = 3;
        options
    };
    let engine: Arc<Engine> = Engine::open(sim.env(), options()).unwrap();
    let splits =
        |count: u8| (b'a'..b'a' + count).map(|key| Bytes::from(vec![key])).collect::<Vec<_>>();
    let text = expect_error(engine.create_table(table("default", 1), splits(3)));
    assert!(
        text.contains("4 regions at once are over the limit of 3")
            && text.contains("max_regions_per_table"),
        "{text}"
    );
    engine.create_table(table("default", 1), splits(2)).unwrap();
}

#[test]
fn unsupported_attributes_are_rejected() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let with = |codec: &str| {
        TableDescriptor::new("t".parse().unwrap())
            .family(FamilyDescriptor::new("f").set("COMPRESSION", codec))
    };
    for attribute in family_attribute::CODECS {
        for codec in ["LZO", "BZIP2", "lzma", "BROTLI"] {
            let table = TableDescriptor::new("t".parse().unwrap())
                .family(FamilyDescriptor::new("f").set(attribute, codec));
            let error = engine.create_table(table, Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let text = error.message();
            let named = format!("family f: {attribute} {} is ", codec.to_uppercase());
            assert!(text.contains(&named), "{text}");
            assert!(text.contains("choose one of NONE, GZ, SNAPPY, LZ4 or ZSTD"), "{text}");
        }
    }
    let level = with("ZSTD").set("hbase.io.compress.zstd.level", "high");
    let error = engine.create_table(level, Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    let encrypted = TableDescriptor::new("t".parse().unwrap())
        .family(FamilyDescriptor::new("f").set("ENCRYPTION", "AES"));
    assert_eq!(
        engine.create_table(encrypted, Vec::new()).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let guarded = with("GZ")
        .set("coprocessor$1", "|org.apache.hadoop.hbase.security.access.AccessController|1|");
    assert_eq!(
        engine.create_table(guarded.clone(), Vec::new()).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let counted = with("GZ")
        .set("coprocessor$1", "|org.apache.hadoop.hbase.coprocessor.AggregateImplementation|1|");
    engine.create_table(counted, Vec::new()).unwrap();
    assert_eq!(engine.alter_table(guarded).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(engine.alter_table(with("LZO")).unwrap_err().kind(), ErrorKind::Unsupported);
    engine.alter_table(with("NONE")).unwrap();
}
