//! What must hold between answers, whatever the rows are: a condition, its opposite and neither are
//! all rows; limits and pages are parts of the whole; what the store does to its files changes
//! nothing. `HALITE_SQL_CASES` sets the number of conditions, `HALITE_SQL_SEED` the first seed.

use halite::{Bytes, CompactionKind};

use crate::random::{KEYS, Seeded, answers, number_of, queries, sorted, tables};
use crate::store::TestStore;

#[test]
fn a_condition_its_opposite_and_neither_are_all_rows() {
    let (cases, first) = (number_of("HALITE_SQL_CASES", 150), number_of("HALITE_SQL_SEED", 1));
    let store = TestStore::new();
    tables(&store);
    for seed in first..first + cases {
        let mut random = Seeded(seed);
        let table = format!("t{}", random.below(KEYS.len()));
        let condition = random.condition(2);
        let whole = sorted(&store, &format!("SELECT * FROM {table}"));
        let parts = ["", "NOT ", ""].iter().zip(["", "", " IS NULL"]).flat_map(|(not, is_null)| {
            store.rows(&format!("SELECT * FROM {table} WHERE {not}({condition}){is_null}"))
        });
        let mut parts: Vec<String> = parts.collect();
        parts.sort();
        assert_eq!(parts, whole, "seed {seed}, {table}: {condition}");
    }
}

#[test]
fn a_limit_is_the_beginning_of_a_larger_one() {
    let (cases, first) = (number_of("HALITE_SQL_CASES", 60), number_of("HALITE_SQL_SEED", 1));
    let store = TestStore::new();
    tables(&store);
    for seed in first..first + cases {
        let mut random = Seeded(seed);
        let table = format!("t{}", random.below(KEYS.len()));
        let condition = random.condition(1);
        let order = random.pick(&[
            "a, b, c NULLS FIRST",
            "a DESC, b DESC, c DESC NULLS LAST",
            "b, a, c NULLS FIRST",
            "b DESC, a, c",
            "v, w, a, b, c",
        ]);
        let sql = format!("SELECT * FROM {table} WHERE {condition} ORDER BY {order}");
        let whole = store.rows(&sql);
        for limit in [0, 1, 2, 7, 30, 200] {
            let rows = store.rows(&format!("{sql} LIMIT {limit}"));
            assert_eq!(rows, whole[..limit.min(whole.len())], "seed {seed}: {sql} LIMIT {limit}");
        }
        let rest = store.rows(&format!("{sql} OFFSET 5"));
        assert_eq!(rest, whole[5.min(whole.len())..], "seed {seed}: {sql} OFFSET 5");
    }
}

#[test]
fn pages_by_row_values_are_the_whole_without_gap_or_repeat() {
    for (at, key) in ["a STRING, b I32", "SALT(3 BY a), a STRING, b I32", "a STRING, b I32 DESC"]
        .into_iter()
        .enumerate()
    {
        let store = TestStore::new();
        store.run(&format!("CREATE TABLE p (v I32, ROW KEY ({key}))")).expect("a table");
        let mut random = Seeded(at as u64);
        for _ in 0..120 {
            let (a, b) = (random.below(9), random.below(12));
            store
                .run(&format!("UPSERT INTO p (a, b, v) VALUES ('k{a}', {b}, {b})"))
                .expect("a row");
        }
        for size in [1, 7, 50] {
            let whole = store.rows("SELECT a, b FROM p ORDER BY a, b");
            let (mut pages, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
            loop {
                let behind = after.as_ref().map_or_else(String::new, |row| {
                    let (a, b) = row.split_once('|').expect("two columns");
                    format!("WHERE (a, b) > ('{a}', {b})")
                });
                let sql = format!("SELECT a, b FROM p {behind} ORDER BY a, b LIMIT {size}");
                let page = store.rows(&sql);
                let Some(last) = page.last() else { break };
                after = Some(last.clone());
                pages.extend(page);
            }
            assert_eq!(pages, whole, "{key}, pages of {size}");
        }
    }
}

#[test]
fn files_and_regions_change_no_answer() {
    let store = TestStore::new();
    tables(&store);
    let queries = queries(0..40);
    let answers = || answers(&store, &queries);
    let before = answers();
    let names: Vec<String> = (0..KEYS.len()).map(|at| format!("t{at}")).collect();
    for name in &names {
        store.store.flush(name.as_str()).expect("a flush");
    }
    assert_eq!(answers(), before, "after a flush");
    for name in &names {
        let region = store.store.regions(name.as_str()).expect("regions").remove(0);
        store
            .store
            .split_region(&region.encoded_name, Some(Bytes::from_static(b"b")))
            .expect("a split");
    }
    assert_eq!(answers(), before, "after a split");
    for name in &names {
        store.store.compact(name.as_str(), None, CompactionKind::Major).expect("a compaction");
    }
    assert_eq!(answers(), before, "after a compaction");
}
