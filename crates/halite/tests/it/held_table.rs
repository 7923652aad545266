//! A held table across administrative calls: as in HBase, every call of it goes to the table that
//! has the name at that time. The blocking table, which knows the engine's table, is compared with
//! the async one, which looks the name up.

use halite::{
    BlockingTable, ErrorKind, FamilyDescriptor, Get, Put, Result, Scan, SnapshotDescriptor, Store,
    TableDescriptor, TableName,
};
use halite_engine::env::sim::SimEnv;

use crate::{format_row, store};

fn descriptor(families: &[&'static str]) -> TableDescriptor {
    let table = TableDescriptor::new("t".parse().unwrap());
    families.iter().fold(table, |table, family| table.family(FamilyDescriptor::new(*family)))
}

fn drop_table(store: &Store) {
    store.disable_table("t").unwrap();
    store.drop_table("t").unwrap();
}

/// Results of all reads of a table, one line each.
fn reads(table: &BlockingTable) -> [String; 5] {
    fn line<T: std::fmt::Debug>(result: Result<T>) -> String {
        format!("{:?}", result.map_err(|error| error.kind()))
    }
    let gets = vec![Get::new("a"), Get::new("z")];
    let rows: Result<Vec<_>> = table.scan(Scan::all()).collect();
    [
        line(table.descriptor().map(|table| table.families().count())),
        line(table.regions()),
        line(table.get(Get::new("a")).map(|row| format_row(&row))),
        line(table.get_all(gets).map(|rows| rows.iter().map(format_row).collect::<Vec<_>>())),
        line(rows.map(|rows| rows.iter().map(format_row).collect::<Vec<_>>())),
    ]
}

/// Returns the kinds of the errors of writes to three families, `None` for success.
fn writes(table: &BlockingTable, value: &str) -> [Option<ErrorKind>; 3] {
    ["f", "g", "h"].map(|family| {
        let puts = ["a", "z"].map(|row| Put::new(row).add(family, "q", value).into());
        let results = table.batch(puts.into()).and_then(|results| results.into_iter().collect());
        results.map(|_: Vec<_>| ()).err().map(|error| error.kind())
    })
}

#[test]
fn held_table_follows_its_name() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let name: TableName = "t".parse().unwrap();
    store.table("t").unwrap().put(Put::new("a").add("f", "q", "first")).unwrap();
    store.create_snapshot(SnapshotDescriptor::new("s", name.clone())).unwrap();
    let held = store.table("t").unwrap();
    let by_name = BlockingTable::new(store.cluster().table(&name));

    let changes: [(&str, fn(&Store)); 10] = [
        ("nothing", |_| {}),
        ("disable", |store| store.disable_table("t").unwrap()),
        ("enable", |store| store.enable_table("t").unwrap()),
        ("drop", drop_table),
        ("create", |store| store.create_table(descriptor(&["f", "h"]), &[b"m"]).unwrap()),
        ("alter", |store| store.alter_table(descriptor(&["f", "g", "h"])).unwrap()),
        ("truncate", |store| {
            store.disable_table("t").unwrap();
            store.truncate_table("t", true).unwrap();
        }),
        ("drop and create", |store| {
            drop_table(store);
            store.create_table(descriptor(&["g"]), &[]).unwrap();
        }),
        ("restore", |store| {
            drop_table(store);
            store.restore_snapshot("s").unwrap();
        }),
        ("clone", |store| {
            drop_table(store);
            store.clone_snapshot("s", "t").unwrap();
        }),
    ];
    for (change, run) in changes {
        run(&store);
        assert_eq!(reads(&held), reads(&by_name), "reads after {change}");
        assert_eq!(writes(&held, "held"), writes(&by_name, "by name"), "writes after {change}");
        assert_eq!(reads(&held), reads(&by_name), "reads after {change} and writes");
        if let Ok(fresh) = store.table("t") {
            assert_eq!(reads(&held), reads(&fresh), "reads of a new table after {change}");
            assert!(fresh.exists(Get::new("z")).unwrap(), "writes after {change}");
        }
    }
}

#[test]
fn scan_of_dropped_table_ends_after_its_error() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let held = store.table("t").unwrap();
    drop_table(&store);
    let mut rows = held.scan(Scan::all());
    assert_eq!(rows.next().unwrap().unwrap_err().kind(), ErrorKind::NoSuchTable);
    assert!(rows.next().is_none());
}
