//! Rows whose keys do not match the table's declaration: counted by key reads, and rejected by
//! tables with `ROW_KEY_STRICT`.

use std::sync::Arc;

use halite::rowkey::plan::{KeyQuery, Plan, PlanOptions};
use halite::rowkey::{KeySchema, Scatter, ScatterOptions};
use halite::{
    Append, BlockingTable, BulkLoad, CheckAndMutate, Delete, FamilyDescriptor, Get, Increment, Put,
    RowMutations, RowOp, Scan, Store, TableDescriptor, block_on,
};
use halite_engine::env::sim::SimEnv;

use crate::bulk_load::file;
use crate::reopen;

const KEY: &str = "(a STRING, b U8)";
const GOOD: &[u8] = b"a\0\x01\x07";
const ODD: &[u8] = b"odd";

fn descriptor(strict: bool) -> TableDescriptor {
    let table = TableDescriptor::new("t".parse().unwrap())
        .family(FamilyDescriptor::new("f"))
        .set("ROW_KEY", KEY);
    if strict { table.set("ROW_KEY_STRICT", "true") } else { table }
}

fn store(strict: bool) -> (SimEnv, Store, BlockingTable) {
    let sim = SimEnv::new(1);
    let store = reopen(&sim);
    store.create_table(descriptor(strict), &[]).unwrap();
    let table = store.table("t").unwrap();
    (sim, store, table)
}

fn put(row: &[u8]) -> Put {
    Put::new(row.to_vec()).add("f", "q", "1")
}

fn refused<T: std::fmt::Debug>(result: halite::Result<T>) {
    let text = result.unwrap_err().to_string();
    assert!(
        text.contains("table t")
            && text.contains("field a")
            && text.contains("ROW_KEY_STRICT refuses it"),
        "{text}"
    );
}

#[test]
fn strict_table_rejects_invalid_keys_in_every_write_operation() {
    let (_sim, store, table) = store(true);
    refused(table.put(put(ODD)));
    refused(table.increment(Increment::new(ODD.to_vec()).add("f", "n", 1)));
    refused(table.append(Append::new(ODD.to_vec()).add("f", "q", "2")));
    refused(table.mutate_row(RowMutations::new(ODD.to_vec()).add(put(ODD))));
    refused(table.check_and_mutate(CheckAndMutate::if_not_exists(
        ODD.to_vec(),
        "f",
        "q",
        put(ODD),
    )));
    let batch = table
        .batch(vec![RowOp::from(put(GOOD)), put(ODD).into(), put(b"b\0\x01\x08").into()])
        .unwrap();
    let [first, odd, last] = <[_; 3]>::try_from(batch).unwrap();
    assert!(first.is_ok() && last.is_ok(), "the others of a batch are written");
    refused(odd);
    assert_eq!(
        table.scan(Scan::all()).map(|row| row.unwrap().key().to_vec()).collect::<Vec<_>>(),
        [GOOD.to_vec(), b"b\0\x01\x08".to_vec()]
    );
    let refused_rows: u64 =
        store.cluster_status().unwrap().regions.iter().map(|load| load.refused_rows).sum();
    assert_eq!(refused_rows, 6);
}

#[test]
fn misfits_in_strict_table_are_deletable_but_not_writable() {
    let (sim, store, table) = store(false);
    table.put(put(ODD)).unwrap();
    store.alter_table(descriptor(true)).unwrap();
    refused(table.put(put(ODD)));
    table.delete(Delete::new(ODD.to_vec())).unwrap();
    assert!(!table.exists(Get::new(ODD.to_vec())).unwrap());
    table.mutate_row(RowMutations::new(ODD.to_vec()).add(Delete::new(ODD.to_vec()))).unwrap();
    drop(table);
    store.close().unwrap();
    let store = reopen(&sim);
    refused(store.table("t").unwrap().put(put(ODD)));
    store.alter_table(descriptor(false)).unwrap();
    store.table("t").unwrap().put(put(ODD)).unwrap();
}

#[test]
fn strict_table_without_declaration_is_not_created() {
    let (_sim, store, _table) = store(false);
    let bare = |name: &str| {
        TableDescriptor::new(name.parse().unwrap())
            .family(FamilyDescriptor::new("f"))
            .set("ROW_KEY_STRICT", "true")
    };
    assert!(
        store.create_table(bare("u"), &[]).unwrap_err().to_string().contains("declares no ROW_KEY")
    );
    assert!(store.alter_table(bare("t")).unwrap_err().to_string().contains("declares no ROW_KEY"));
}

#[test]
fn field_scan_counts_misfits() {
    let (_sim, store, table) = store(false);
    [GOOD, ODD, b"x"].iter().for_each(|row| table.put(put(row)).unwrap());
    let key: Arc<KeySchema> = Arc::new(KEY.parse().unwrap());
    let plan = Arc::new(Plan::new(&key, &KeyQuery::all(), &PlanOptions::default()).unwrap());
    let mut rows = Scatter::new(
        store.cluster().table(&"t".parse().unwrap()),
        plan,
        Scan::all(),
        &ScatterOptions::default(),
        None,
    )
    .unwrap();
    let mut count = 0;
    while block_on(rows.next()).unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, rows.misfits()), (3, 2));
}

#[test]
fn bulk_load_into_strict_table_rejects_invalid_key() {
    let (sim, store, table) = store(true);
    let load = |name: &str, rows: &[(&str, &str)]| {
        let files = vec![file(&sim, name, "f", rows)];
        store.bulk_load("t", BulkLoad { files, ..BulkLoad::default() })
    };
    let error = load("odd", &[("a\0\x01\x07", "1"), ("odd", "2"), ("z\0\x01\x07", "3")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is not loaded") && error.contains("ROW_KEY_STRICT refuses it"),
        "{error}"
    );
    assert_eq!(table.scan(Scan::all()).count(), 0);
    load("good", &[("a\0\x01\x07", "1"), ("z\0\x01\x07", "3")]).unwrap();
    assert_eq!(table.scan(Scan::all()).count(), 2);
}
