//! Statistics by ANALYZE: they choose plans and change no answer, whatever they say.
//! `HALITE_SQL_CASES` sets the number of queries, `HALITE_SQL_SEED` the first seed.

use halite::rowkey::language::{ROW_STATS, TableDeclaration};
use halite::rowkey::value::Value;
use halite::{Put, RowOp};

use crate::random::{KEYS, answers, number_of, queries, tables};
use crate::store::TestStore;

/// Sets the statistics of a table as they are.
fn set_statistics(store: &TestStore, table: &str, text: &str) {
    let descriptor = store.store.descriptor(table).expect("a descriptor");
    store.store.alter_table(descriptor.as_ref().clone().set(ROW_STATS, text)).expect("a change");
}

fn statistics(store: &TestStore, table: &str) -> String {
    let descriptor = store.store.descriptor(table).expect("a descriptor");
    descriptor.attributes.get(ROW_STATS).cloned().unwrap_or_default()
}

#[test]
fn statistics_change_no_answer() {
    let (cases, first) = (number_of("HALITE_SQL_CASES", 150), number_of("HALITE_SQL_SEED", 1));
    let store = TestStore::new();
    tables(&store);
    let queries = queries(first..first + cases);
    let answers = || answers(&store, &queries);
    let before = answers();
    let check = |what: &str| {
        for ((after, before), (sql, _)) in answers().iter().zip(&before).zip(&queries) {
            assert_eq!(after, before, "{what}: {sql}");
        }
    };
    for at in 0..KEYS.len() {
        store.run(&format!("ANALYZE t{at}")).expect("statistics");
        assert!(statistics(&store, &format!("t{at}")).starts_with("rows="), "t{at}");
    }
    check("after ANALYZE");
    for text in [
        "rows=0 sampled=0 at=0 distinct=0,0,0 present=0,0,0",
        "rows=1 sampled=1 at=0 distinct=900000,900000,900000 present=1,1,1",
        "rows=18446744073709551615 sampled=1 at=0 distinct=1,1,1 present=1,1,1",
        "no statistics",
    ] {
        (0..KEYS.len()).for_each(|at| set_statistics(&store, &format!("t{at}"), text));
        check(text);
    }
}

#[test]
fn large_tables_are_sampled() {
    const DEVICES: i64 = 40;
    const ROWS: i64 = 24_000;
    let store = TestStore::new();
    store.run("CREATE TABLE r (v I64, w I64, ROW KEY (device I64, at I64))").expect("a table");
    let descriptor = store.store.descriptor("r").expect("a descriptor");
    let declaration = TableDeclaration::from_descriptor(&descriptor).expect("a key").expect("one");
    let family = store.family("r");
    let table = store.store.table("r").expect("a table");
    let rows: Vec<Put> = (0..ROWS)
        .map(|at| {
            let key = [Value::Signed(at % DEVICES), Value::Signed(at)];
            let key = declaration.key.encode(&key).expect("a key").to_vec();
            let put = Put::new(key).add(&family, "v", at.to_be_bytes());
            if at % 4 == 0 { put.add(&family, "w", at.to_be_bytes()) } else { put }
        })
        .collect();
    for chunk in rows.chunks(4000) {
        let puts = chunk.iter().cloned().map(RowOp::from).collect();
        table.batch(puts).expect("rows");
    }
    store.store.flush("r").expect("a flush");
    let answer = store.run("ANALYZE TABLE r").expect("statistics");
    assert!(answer.notices[0].contains("from a sample of"), "{:?}", answer.notices);
    let text = statistics(&store, "r");
    let number = |name: &str| -> Vec<i64> {
        let part = text.split(' ').find_map(|part| part.strip_prefix(name)).expect(name);
        part.split(',').map(|one| one.parse().expect("a number")).collect()
    };
    let sampled = number("sampled=")[0];
    // Each row is one of the sample with a probability of a half.
    assert!((11_000..13_000).contains(&sampled), "{text}");
    assert!((ROWS * 9 / 10..ROWS * 11 / 10).contains(&number("rows=")[0]), "{text}");
    assert_eq!(number("distinct=")[0], DEVICES, "{text}");
    assert!(number("distinct=")[1] > ROWS * 9 / 10, "{text}");
    let present = number("present=");
    assert!((sampled / 5..sampled / 3).contains(&present[3]), "{text}");
    assert_eq!((number("key="), number("widths=")), (vec![16], vec![0, 0, 8, 8]), "{text}");
    let plan = store.rows("EXPLAIN SELECT v FROM r WHERE device = 3").join("\n");
    assert!(plan.contains("  expect   about "), "{plan}");
}

#[test]
fn small_groups_are_not_sought() {
    let store = TestStore::new();
    store.run("CREATE TABLE g (v I32, ROW KEY (a I32, b I32))").expect("a table");
    store
        .run("UPSERT INTO g (a, b, v) SELECT i / 3, i, i FROM generate_series(0, 299) AS s(i)")
        .expect("rows");
    let plan = || store.rows("EXPLAIN SELECT DISTINCT a FROM g").join("\n");
    assert!(plan().contains("  seek     "), "{}", plan());
    let before = store.rows("SELECT a, max(b) FROM g GROUP BY a ORDER BY a");
    store.run("ANALYZE g").expect("statistics");
    assert!(!plan().contains("  seek     "), "{}", plan());
    assert_eq!(store.rows("SELECT a, max(b) FROM g GROUP BY a ORDER BY a"), before);
}

#[test]
fn the_smaller_side_of_a_join_is_read_first() {
    let store = TestStore::new();
    for (table, rows) in [("few", 5), ("many", 400)] {
        store
            .run(&format!("CREATE TABLE {table} (v I32, ROW KEY (a I32, b I32))"))
            .expect("a table");
        store
            .run(&format!(
                "UPSERT INTO {table} (a, b, v) SELECT i, i, i FROM generate_series(1, {rows}) AS s(i)"
            ))
            .expect("rows");
        store.run(&format!("ANALYZE {table}")).expect("statistics");
    }
    for sql in [
        "SELECT few.a, many.v FROM few JOIN many ON few.a = many.a AND few.b = many.b",
        "SELECT few.a, many.v FROM many JOIN few ON few.a = many.a AND few.b = many.b",
    ] {
        let before = store.examined("many");
        assert_eq!(store.rows(sql).len(), 5, "{sql}");
        assert_eq!(store.examined("many") - before, 5, "{sql}");
    }
}

#[test]
fn joins_merge_if_the_side_to_hash_is_too_large_for_memory() {
    let store = TestStore::new();
    for table in ["a", "b"] {
        let create = format!("CREATE TABLE {table} (v I32, note STRING, ROW KEY (k I32))");
        store.run(&create).expect("a table");
        let rows = format!(
            "UPSERT INTO {table} (k, v, note) SELECT i, i % 7, repeat('x', 100) \
             FROM generate_series(1, 50) AS s(i)"
        );
        store.run(&rows).expect("rows");
    }
    let sql = "SELECT count(*), sum(length(a.note)), max(b.v) FROM a JOIN b ON a.v = b.v";
    let plan = || store.rows(&format!("EXPLAIN {sql}")).join("\n");
    let is_merged = || plan().contains("SortMergeJoin");
    let rows = store.rows(sql);
    // Nothing is known.
    assert!(!is_merged(), "{}", plan());
    store.run("ANALYZE a").expect("statistics");
    store.run("ANALYZE b").expect("statistics");
    assert!(statistics(&store, "a").ends_with("key=4 present=50,50,50 widths=0,4,100"));
    assert!(!is_merged(), "{}", plan());
    // 10 M rows of over 100 bytes are more than a quarter of a GiB.
    for table in ["a", "b"] {
        let text = statistics(&store, table).replace("rows=50 ", "rows=10000000 ");
        set_statistics(&store, table, &text);
    }
    assert!(is_merged(), "{}", plan());
    assert_eq!(store.rows(sql), rows);
    // The narrow column alone has room.
    let narrow = "EXPLAIN SELECT max(b.v) FROM a JOIN b ON a.v = b.v";
    assert!(!store.rows(narrow).join("\n").contains("SortMergeJoin"));
    // A condition beside equality cannot be merged, except after an inner join.
    let outer = "SELECT a.note, b.note FROM a LEFT JOIN b ON a.v = b.v AND a.k < b.k";
    assert!(!store.rows(&format!("EXPLAIN {outer}")).join("\n").contains("SortMergeJoin"));
    let set = |value: &str| store.run(&format!("SET halite.join = '{value}'")).expect("a setting");
    set("hash");
    assert!(!is_merged(), "{}", plan());
    set("auto");
    assert!(is_merged(), "{}", plan());
    // The smaller side is hashed.
    let small = statistics(&store, "b").replace("rows=10000000 ", "rows=50 ");
    set_statistics(&store, "b", &small);
    assert!(!is_merged(), "{}", plan());
}

#[test]
fn statistics_are_no_part_of_the_declaration() {
    let store = TestStore::new();
    store.run("CREATE TABLE s (v I32, ROW KEY (a I32))").expect("a table");
    let before = store.rows("SHOW CREATE TABLE s");
    store.run("ANALYZE s").expect("statistics");
    assert_eq!(store.rows("SHOW CREATE TABLE s"), before);
    let error = store.run("ANALYZE nothing").expect_err("no table");
    assert_eq!(error.state.code(), "42P01");
    assert_eq!(store.run("ANALYZE").expect_err("no name").state.code(), "42601");
}
