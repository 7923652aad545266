//! Families with `NEW_VERSION_BEHAVIOR`, where the order of the writes counts, and settings of
//! tables and families.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options};
use halite_types::{
    CompactionKind, Delete, ErrorKind, FamilyDescriptor, Get, Put, ReadTier, RowOp, Scan,
    TableDescriptor, TimeRange,
};

use crate::support::{apply, name};

struct World {
    engine: Arc<Engine>,
}

impl World {
    /// Returns a table with a family of two versions.
    fn new() -> Self {
        let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
        let family = FamilyDescriptor::new("f").versions(2).set("NEW_VERSION_BEHAVIOR", "true");
        engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
        Self { engine }
    }

    fn put(&self, timestamps: &[i64]) {
        for timestamp in timestamps {
            apply(
                &self.engine,
                Put::new("r").add_at("f", "q", *timestamp, timestamp.to_string()).into(),
            );
        }
    }

    fn delete(&self, delete: impl FnOnce(Delete) -> Delete) {
        apply(&self.engine, RowOp::Delete(delete(Delete::new("r"))));
    }

    fn get(&self, get: impl std::borrow::Borrow<Get>) -> Vec<i64> {
        let row = self.engine.table(&name()).unwrap().get(get.borrow(), ReadTier::Disk).unwrap();
        row.iter().map(|cell| cell.timestamp()).collect()
    }

    /// Returns the visible timestamps, which must be equal in memory, in one file per write so far,
    /// and after both compactions.
    fn seen(&self) -> Vec<i64> {
        let seen = self.get(Get::new("r").all_versions());
        self.engine.flush(&name()).unwrap();
        assert_eq!(self.get(Get::new("r").all_versions()), seen, "from files");
        assert_eq!(self.get(Get::new("r").column("f", "q").all_versions()), seen, "by column");
        self.engine.table(&name()).unwrap().regions()[0].compact_retaining_deletes().unwrap();
        assert_eq!(self.get(Get::new("r").all_versions()), seen, "with the markers");
        seen
    }
}

#[test]
fn delete_marker_hides_only_earlier_writes() {
    let world = World::new();
    world.put(&[10, 20]);
    world.delete(|delete| delete.column_up_to("f", "q", 30));
    assert_eq!(world.seen(), []);
    world.put(&[5, 15]);
    assert_eq!(world.seen(), [15, 5]);
    world.delete(|delete| delete.family_up_to("f", 7));
    assert_eq!(world.seen(), [15]);
    world.put(&[6]);
    assert_eq!(world.seen(), [15, 6]);
    world.delete(|delete| delete.version("f", "q", 15));
    assert_eq!(world.seen(), [6]);
    world.put(&[15]);
    assert_eq!(world.seen(), [15, 6]);
    world.delete(|delete| delete.family_version("f", 6));
    assert_eq!(world.seen(), [15]);
    world.engine.compact(&name(), None, CompactionKind::Major).unwrap();
    assert_eq!(world.get(Get::new("r").all_versions()), [15]);
}

#[test]
fn excess_version_does_not_reappear() {
    let world = World::new();
    world.put(&[10, 20, 30]);
    assert_eq!(world.seen(), [30, 20]);
    world.delete(|delete| delete.version("f", "q", 30));
    assert_eq!(world.seen(), [20], "the one at 10 had been pushed out");
    assert_eq!(
        world.get(Get::new("r").time_range(TimeRange::new(0, 15).unwrap()).all_versions()),
        []
    );
    world.put(&[5]);
    assert_eq!(world.seen(), [20, 5]);
}

#[test]
fn excess_versions_are_in_no_time_range() {
    let world = World::new();
    world.put(&[10, 20]);
    world.engine.flush(&name()).unwrap();
    world.put(&[30, 40]);
    let range =
        |min, max| Get::new("r").time_range(TimeRange::new(min, max).unwrap()).all_versions();
    assert_eq!((world.get(range(0, 25)), world.get(range(0, 35))), (vec![], vec![30]));
    assert_eq!(world.get(Get::new("r").versions(1)), [40]);
    let table = world.engine.table(&name()).unwrap();
    assert_eq!(
        table.scan(Scan::all().raw(true).all_versions(), ReadTier::Disk).next_rows().unwrap()[0]
            .len(),
        4
    );
}

#[test]
fn bloom_prefix_length_must_be_valid_row_length() {
    let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
    let table = |length: &str| {
        let mut family = FamilyDescriptor::new("f").set("BLOOMFILTER", "ROWPREFIX_FIXED_LENGTH");
        family
            .configuration
            .insert("RowPrefixBloomFilter.prefix_length".to_owned(), length.to_owned());
        TableDescriptor::new(name()).family(family)
    };
    for length in ["0", "-1", "32768", "3000000000", "x", ""] {
        let error = engine.create_table(table(length), Vec::new()).unwrap_err();
        assert!(
            error.kind() == ErrorKind::InvalidRequest
                && error.message().contains("from 1 to 32767"),
            "{error}"
        );
    }
    engine.create_table(table(" 32767 "), Vec::new()).unwrap();
    engine
        .table(&name())
        .unwrap()
        .batch(vec![Put::new("r").add("f", "q", "v").into()])
        .unwrap()
        .pop()
        .unwrap()
        .unwrap();
    engine.flush(&name()).unwrap();
}

#[test]
fn unreachable_min_compaction_files_is_accepted() {
    let mut options = Options::default();
    options.major_compaction_interval_ms = 0;
    let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
    for setting in [u64::MAX.to_string(), i32::MAX.to_string()] {
        let table = TableDescriptor::new(name())
            .set("hbase.hstore.compaction.min", setting.as_str())
            .family(FamilyDescriptor::new("f"));
        engine.create_table(table, Vec::new()).unwrap();
        for _ in 0..4 {
            engine
                .table(&name())
                .unwrap()
                .batch(vec![Put::new("r").add("f", "q", "v").into()])
                .unwrap()
                .pop()
                .unwrap()
                .unwrap();
            engine.flush(&name()).unwrap();
            while engine.run_one_job().unwrap() {}
        }
        assert_eq!(engine.health().panics, 0);
        engine.disable_table(&name()).unwrap();
        engine.drop_table(&name()).unwrap();
    }
}

#[test]
fn table_overrides_cell_size_and_compaction_file_limits() {
    let mut options = Options::default();
    (options.max_cell_bytes, options.major_compaction_interval_ms) = (1000, 0);
    let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
    let table = |max_cell_size: &str, files: usize| {
        let mut family = FamilyDescriptor::new("f");
        family.configuration.insert("hbase.hstore.compaction.min".to_owned(), files.to_string());
        TableDescriptor::new(name())
            .set("hbase.server.keyvalue.maxsize", max_cell_size)
            .set("hbase.hstore.compaction.min", 9)
            .family(family)
    };
    let put = |bytes: usize| {
        let result = engine
            .table(&name())
            .unwrap()
            .batch(vec![Put::new("r").add("f", "q", vec![7; bytes]).into()])
            .unwrap()
            .pop()
            .unwrap();
        result.map(drop).map_err(|error| error.kind())
    };
    engine.create_table(table("0", 2), Vec::new()).unwrap();
    assert_eq!(put(5000), Ok(()));
    engine.alter_table(table("100", 5)).unwrap();
    assert_eq!((put(10), put(100)), (Ok(()), Err(ErrorKind::InvalidRequest)));
    engine
        .alter_table(
            TableDescriptor::new(name())
                .set("hbase.hstore.compaction.min", 4)
                .family(FamilyDescriptor::new("f")),
        )
        .unwrap();
    assert_eq!((put(900), put(1000)), (Ok(()), Err(ErrorKind::InvalidRequest)));

    let files_after = |descriptor: TableDescriptor| {
        engine.alter_table(descriptor).unwrap();
        engine.compact(&name(), None, CompactionKind::Minor).unwrap();
        engine.status().regions[0].store_files
    };
    for _ in 0..3 {
        put(10).unwrap();
        engine.flush(&name()).unwrap();
    }
    // Altering the table has written those in between.
    assert_eq!(files_after(table("0", 6)), 5);
    assert_eq!(
        files_after(
            TableDescriptor::new(name())
                .set("hbase.hstore.compaction.min", 6)
                .family(FamilyDescriptor::new("f"))
        ),
        5
    );
    assert_eq!(files_after(table("0", 3)), 1, "the family's attribute overrides the table's");
}
