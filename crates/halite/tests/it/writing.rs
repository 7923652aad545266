//! Operations: put, delete, increment, append, check-and-mutate, and all of them from several
//! threads.

use halite::{
    Append, CheckAndMutate, CompareOp, Condition, Delete, Durability, Get, Increment, Put,
    RowMutations, Scan,
};
use halite_engine::env::sim::SimEnv;

use crate::{format_row, store};

#[test]
fn newest_timestamp_wins_over_last_write() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    table.put(Put::new("r").add_at("f", "q", 100, "new")).unwrap();
    table.put(Put::new("r").add_at("f", "q", 50, "written later, stamped older")).unwrap();
    assert_eq!(format_row(&table.get(Get::new("r")).unwrap()), ["f:q@100=new"]);
    table.put(Put::new("r").add_at("f", "q", 100, "same stamp, last write")).unwrap();
    assert_eq!(format_row(&table.get(Get::new("r")).unwrap()), ["f:q@100=same stamp, last write"]);
}

#[test]
fn increments_add_and_appends_append() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let value = |row: &halite::Row| {
        i64::from_be_bytes(row.cells().first().unwrap().value().try_into().unwrap())
    };
    for expected in [5, 10, 15] {
        assert_eq!(
            value(&table.increment(Increment::new("c").add("f", "n", 5)).unwrap()),
            expected
        );
    }
    for expected in ["1", "11", "111"] {
        let row = table.append(Append::new("a").add("f", "s", "1")).unwrap();
        assert_eq!(row.value("f", "s"), Some(expected.as_bytes()));
    }
}

#[test]
fn conditional_row_mutation_is_atomic() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    let put = |value: &str| Put::new("r").add_at("f", "q", 1, value);
    assert!(
        table.check_and_mutate(CheckAndMutate::if_not_exists("r", "f", "q", put("a"))).unwrap()
    );
    assert!(
        !table.check_and_mutate(CheckAndMutate::if_not_exists("r", "f", "q", put("b"))).unwrap()
    );
    assert!(
        !table.check_and_mutate(CheckAndMutate::if_equals("r", "f", "q", "x", put("b"))).unwrap()
    );
    let both = RowMutations::new("r")
        .add(Put::new("r").add_at("g", "q", 2, "g"))
        .add(Delete::new("r").version("f", "q", 1));
    assert!(table.check_and_mutate(CheckAndMutate::if_equals("r", "f", "q", "a", both)).unwrap());
    assert_eq!(format_row(&table.get(Get::new("r")).unwrap()), ["g:q@2=g"]);
    let greater = Condition::Column {
        family: "g".into(),
        qualifier: "q".into(),
        op: CompareOp::Greater,
        value: Some("h".into()),
    };
    assert!(
        table.check_and_mutate(CheckAndMutate::new("r", greater, put("c"))).unwrap(),
        "h is greater than what is stored"
    );
}

#[test]
fn empty_mutations_succeed_with_and_without_condition() {
    let store = store(&SimEnv::new(1));
    let table = store.table("t").unwrap();
    assert!(table.mutate_row(RowMutations::new("r")).unwrap().is_empty());
    assert!(table.get(Get::new("r")).unwrap().is_empty());
    assert!(
        table
            .check_and_mutate(CheckAndMutate::if_not_exists("r", "f", "q", RowMutations::new("r")))
            .unwrap()
    );
    assert!(
        !table
            .check_and_mutate(CheckAndMutate::if_equals("r", "f", "q", "x", RowMutations::new("r")))
            .unwrap()
    );
}

#[test]
fn concurrent_increments_are_exact_and_rows_stay_atomic() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::Builder::new().options(crate::small()).open(directory.path()).unwrap();
    let table = halite::TableDescriptor::new("t".parse().unwrap())
        .family(halite::FamilyDescriptor::new("f"))
        .family(halite::FamilyDescriptor::new("g"));
    store.create_table(table, &[b"m"]).unwrap();
    let table = store.table("t").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let table = &table;
            scope.spawn(move || {
                for i in 0..200 {
                    table.increment(Increment::new("counter").add("f", "n", 1)).unwrap();
                    let value = format!("{thread}-{i}");
                    table
                        .put(
                            Put::new(format!("row{}", i % 7))
                                .add("f", "a", &value)
                                .add("g", "b", &value)
                                .durability(Durability::SyncWal),
                        )
                        .unwrap();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..100 {
                for row in table.scan(Scan::prefix("row")) {
                    let row = row.unwrap();
                    assert_eq!(row.value("f", "a"), row.value("g", "b"), "half a row");
                }
            }
        });
        scope.spawn(|| {
            for _ in 0..10 {
                store.flush("t").unwrap();
                store.compact("t", None, halite::CompactionKind::Minor).unwrap();
            }
        });
    });
    let count = table.get(Get::new("counter")).unwrap();
    assert_eq!(count.value("f", "n"), Some(&800i64.to_be_bytes()[..]));
    store.close().unwrap();
}

#[test]
fn writes_of_every_durability_survive_clean_close() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let table = store.table("t").unwrap();
    for (i, durability) in [
        Durability::SkipWal,
        Durability::AsyncWal,
        Durability::SyncWal,
        Durability::FsyncWal,
        Durability::UseDefault,
    ]
    .into_iter()
    .enumerate()
    {
        table.put(Put::new(format!("r{i}")).add("f", "q", "v").durability(durability)).unwrap();
        assert_eq!(table.scan(Scan::all()).count(), i + 1, "{durability:?}");
    }
    drop(table);
    store.close().unwrap();
    assert_eq!(crate::reopen(&sim).table("t").unwrap().scan(Scan::all()).count(), 5);
}

#[test]
fn store_without_threads_implements_cluster_api() {
    use halite::{TableExt, block_on};
    let store = store(&SimEnv::new(1));
    let table = store.cluster().table(&"t".parse().unwrap());
    block_on(table.mutate(Put::new("r").add_at("f", "q", 1, "v").into())).unwrap();
    block_on(table.mutate(Increment::new("r").add("g", "n", 1).into())).unwrap();
    assert_eq!(block_on(table.get(Get::new("r"))).unwrap().len(), 2);
    let mut rows = table.scan(Scan::all());
    assert_eq!(block_on(rows.next()).unwrap().unwrap().len(), 2);
    assert!(block_on(rows.next()).unwrap().is_none());
}
