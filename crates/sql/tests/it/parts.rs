//! Aggregates that read several parts of a table at once: the answers are those of one part, also
//! while regions split and merge. `HALITE_SQL_CASES` sets the number of queries, `HALITE_SQL_SEED`
//! the first seed.

use std::sync::atomic::{AtomicBool, Ordering};

use halite::Bytes;

use crate::random::{KEYS, Seeded, number_of, sorted, tables};
use crate::store::TestStore;

/// Sets the number of parts, and returns the rows of a query in an order of their own.
fn answer(store: &TestStore, sql: &str, parts: &str) -> Vec<String> {
    store.sql.change(|settings| settings.set("halite.partitions", parts)).expect("a setting");
    sorted(store, sql)
}

fn split(store: &TestStore, table: &str, at: &'static [u8]) {
    let regions = store.store.regions(table).expect("regions");
    let region = regions.iter().rev().find(|region| &region.start[..] < at).expect("a region");
    // A region that is splitting, or has its key at this end, is left as it is.
    let _ = store.store.split_region(&region.encoded_name, Some(Bytes::from_static(at)));
}

/// Returns a query without an order, of which the parts are gathered.
fn query(random: &mut Seeded) -> String {
    let table = format!("t{}", random.below(KEYS.len()));
    let condition = random.condition(1);
    let values = random.pick(&[
        "count(*)",
        "count(*), sum(v), min(w), max(a)",
        "min(v), max(v), count(w), count(DISTINCT w)",
        "avg(v), count(c)",
    ]);
    let group = random.pick(&["", "", "w", "v, w", "c", "w, b"]);
    let filter = if random.below(3) == 0 { String::new() } else { format!(" WHERE {condition}") };
    if group.is_empty() {
        format!("SELECT {values} FROM {table}{filter}")
    } else {
        format!("SELECT {group}, {values} FROM {table}{filter} GROUP BY {group}")
    }
}

#[test]
fn parts_give_the_answers_of_the_whole() {
    let (cases, first) = (number_of("HALITE_SQL_CASES", 120), number_of("HALITE_SQL_SEED", 1));
    let store = TestStore::new();
    tables(&store);
    for table in 0..KEYS.len() {
        for at in [&b"\x01"[..], b"\x02", b"a", b"b", b"\x80"] {
            split(&store, &format!("t{table}"), at);
        }
    }
    let mut divided = 0;
    for seed in first..first + cases {
        let sql = query(&mut Seeded(seed));
        let whole = answer(&store, &sql, "1");
        for parts in ["2", "3", "16"] {
            assert_eq!(answer(&store, &sql, parts), whole, "seed {seed}, {parts} parts: {sql}");
        }
        let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
        divided += u64::from(plan.contains("  parts    "));
    }
    assert!(divided * 4 > cases, "{divided} of {cases} queries were read in parts");
}

#[test]
fn parts_give_the_same_answers_while_regions_split() {
    let (cases, first) = (number_of("HALITE_SQL_CASES", 60), number_of("HALITE_SQL_SEED", 500));
    let store = TestStore::new();
    tables(&store);
    let names: Vec<String> = (0..KEYS.len()).map(|at| format!("t{at}")).collect();
    for name in &names {
        split(&store, name, b"\x80");
        split(&store, name, b"a");
    }
    let queries: Vec<String> =
        (first..first + cases).map(|seed| query(&mut Seeded(seed))).collect();
    let before: Vec<Vec<String>> = queries.iter().map(|sql| answer(&store, sql, "1")).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let keys: [&[u8]; 8] =
                [b"\x01", b"\x02", b"\x03", b"ab", b"b", b"u", b"user_1", b"\x7f"];
            for (at, key) in keys.into_iter().cycle().take(400).enumerate() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                split(&store, &names[at % names.len()], key);
            }
        });
        for (sql, expected) in queries.iter().zip(&before) {
            let rows = answer(&store, sql, "4");
            if rows != *expected {
                done.store(true, Ordering::Relaxed);
            }
            assert_eq!(rows, *expected, "{sql}");
        }
        done.store(true, Ordering::Relaxed);
    });
    let regions: usize =
        names.iter().map(|name| store.store.regions(name).expect("regions").len()).sum();
    assert!(regions > 3 * names.len(), "{regions} regions");
}
