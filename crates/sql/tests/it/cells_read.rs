//! Cells that statements receive from the store: those that they need.

use halite::{Delete, FamilyDescriptor, Put, TableDescriptor};

use crate::counted::{Counted, Received};
use crate::store::TestStore;

/// Table of 100 rows, each with 20 undeclared cells, a wide one and entries of a map.
fn wide() -> TestStore {
    let store = TestStore::new();
    store
        .run(
            "CREATE TABLE wide (v I64 NOT NULL FAMILY d, body STRING FAMILY d, m MAP(STRING, I64) FAMILY tags, \
             ROW KEY (k I32))",
        )
        .expect("a table");
    let rows: Vec<String> =
        (0..100).map(|at| format!("({at}, {}, '{}')", at * 7 % 100, "x".repeat(500))).collect();
    store.run(&format!("UPSERT INTO wide (k, v, body) VALUES {}", rows.join(", "))).expect("rows");
    let table = store.store.table("wide").expect("a table");
    for at in 0..100u32 {
        let key = (at ^ 0x8000_0000).to_be_bytes().to_vec();
        let put = (0..20).fold(Put::new(key), |put, cell| {
            put.add("d", format!("x{cell:02}"), "1").add("tags", format!("t{cell:02}"), [0; 8])
        });
        table.put(put).expect("a put");
    }
    store
}

#[test]
fn named_cells_are_read_alone() {
    let store = wide();
    let counted = Counted::new(&store);
    for (sql, rows, cells) in [
        // The cell, and the one that tells that the row exists.
        ("SELECT _cells['d:x07'] FROM wide", 100, 200),
        ("SELECT x07 FROM wide (x07 STRING)", 100, 200),
        ("SELECT k FROM wide (x07 STRING) WHERE x07 = '1'", 100, 100),
        ("SELECT k FROM wide WHERE decode(_cells['d:x07'], 'STRING') = '2'", 0, 0),
        ("SELECT decode(_cells['d:x07'], 'I64', 'TEXT') FROM wide WHERE k < 10", 10, 20),
        ("SELECT s.x FROM (SELECT k, _cells['d:x07'] AS x FROM wide) s WHERE s.k = 5", 1, 2),
        ("SELECT s.x FROM (SELECT k, m['t07'] AS x FROM wide) s WHERE s.k = 5", 1, 2),
        ("SELECT _cells['d:x07'] FROM wide WHERE k = 5", 1, 2),
        ("SELECT m['t07'], cell_ts(m['t08']) FROM wide WHERE k = 5", 1, 3),
    ] {
        let (found, received) = counted.rows(sql);
        assert_eq!((found.len(), received.cells), (rows, cells), "{sql}");
    }
    let (_, all) = counted.rows("SELECT _cells FROM wide");
    assert!(all.cells > 4000, "{all:?}");
}

#[test]
fn tables_without_a_declared_key_have_columns_of_one_statement() {
    let store = TestStore::new();
    let table = TableDescriptor::new("raw".parse().expect("a name"))
        .family(FamilyDescriptor::new("f"))
        .family(FamilyDescriptor::new("g"));
    store.store.create_table(table, &[]).expect("a table");
    let table = store.store.table("raw").expect("a table");
    for (key, count) in [("a", 1i64), ("b", 7)] {
        let put = Put::new(key).add_at("f", "n", count, count.to_be_bytes());
        table.put(put.add("g", "text", key).add("f", "other", "x")).expect("a put");
    }
    let counted = Counted::new(&store);
    for (sql, rows, cells) in [
        ("SELECT _row, n FROM raw (n I64) WHERE n > 5", vec![r"\x62|7"], 1),
        ("SELECT text, n FROM raw (g.text STRING, f.n I64) WHERE _row = 'a'", vec!["a|1"], 2),
        (
            "SELECT n, _cells FROM raw (n I64) WHERE _row = 'a'",
            vec![r"1|{f:other: \x78, g:text: \x61}"],
            3,
        ),
        (
            "SELECT cell_ts(_cells['f:n']) FROM raw WHERE _row = 'b'",
            vec!["1970-01-01T00:00:00.007Z"],
            1,
        ),
        ("SELECT sum(n), max(cell_ts(n)) FROM raw (n I64)", vec!["8|1970-01-01T00:00:00.007Z"], 2),
        ("SELECT decode(_cells['g:text'], 'STRING') FROM raw ORDER BY 1 DESC", vec!["b", "a"], 4),
    ] {
        let (found, received) = counted.rows(sql);
        assert_eq!(
            (found, received.cells),
            (rows.into_iter().map(String::from).collect(), cells),
            "{sql}"
        );
    }
    // The time of one version is deleted of all cells.
    store
        .run("DELETE FROM raw WHERE _row = 'b' AND _ts = '1970-01-01T00:00:00.007Z'")
        .expect("one");
    assert_eq!(store.rows("SELECT n, other FROM raw (n I64, other STRING)"), ["1|x", "NULL|x"]);
}

#[test]
fn what_is_wrong_with_a_column_has_its_place() {
    let store = wide();
    for (sql, place) in [
        ("SELECT k FROM wide (c I64, v I64)", (1, 28)),
        ("SELECT k FROM wide (c I64,\n  g.d I64)", (2, 3)),
        ("SELECT k FROM wide (c NOTHING)", (1, 23)),
        ("SELECT cell_ts(k) FROM wide", (1, 8)),
        ("SELECT k, decode(_cells['d:x'], 'NOTHING') FROM wide", (1, 11)),
    ] {
        let error = store.run(sql).err().unwrap_or_else(|| panic!("{sql} is answered"));
        assert_eq!(error.position, Some(place), "{sql}: {error}");
    }
}

#[test]
fn prepared_statements_have_columns_of_one_statement() {
    use halite_sql::datafusion::common::ScalarValue;

    let store = wide();
    store.runtime.block_on(async {
        let text = "SELECT k, x07 FROM wide (x07 I64 ENCODING TEXT) WHERE x07 = $1 AND k < $2 \
                    AND cell_ts(x07) > '2000-01-01' AND _cells['d:x08'] = $3 ORDER BY k LIMIT 2";
        let prepared = store.sql.prepare(text).await.expect("a plan");
        for (value, rows) in [(1, 2), (2, 0), (1, 2)] {
            let values = [
                ScalarValue::from(i64::from(value)),
                ScalarValue::from(10i32),
                ScalarValue::Binary(Some(b"1".to_vec())),
            ];
            let mut answer = store.sql.run_prepared(&prepared, &values).await.expect("rows");
            let batches = answer.batches().await.expect("rows");
            let found: usize = batches.iter().map(|batch| batch.num_rows()).sum();
            assert_eq!(found, rows, "{value}");
        }
    });
}

#[test]
fn times_of_cells_are_read_without_values() {
    let store = wide();
    let counted = Counted::new(&store);
    let (rows, received) = counted.rows("SELECT k, cell_ts(body) FROM wide");
    assert_eq!((rows.len(), received.cells, received.bytes), (100, 200, 0));
    let (rows, received) = counted.rows("SELECT k FROM wide WHERE cell_ts(body) IS NULL");
    assert_eq!((rows.len(), received.bytes), (0, 0));
}

#[test]
fn conditions_on_parts_of_cells_narrow_what_is_read() {
    let store = wide();
    let counted = Counted::new(&store);
    let of = |condition: &str| {
        let sql = format!("SELECT k, qualifier FROM cells(wide) WHERE {condition}");
        let (rows, received) = counted.rows(&sql);
        (rows.len() as u64, received.cells)
    };
    for (condition, cells) in [
        ("family = 'tags'", 2000),
        ("family = 'tags' AND k = 5", 20),
        ("family = 'nothing'", 0),
        ("qualifier = 'x07'", 100),
        ("qualifier IN ('x07', 't03') AND k < 10", 20),
        ("family = 'd' AND qualifier IN ('x07', 't03', 'x01', 'x02', 'x03')", 400),
        ("family = 'd' AND (qualifier = 'x07' OR qualifier = 'x08')", 200),
        ("qualifier LIKE 'x1%'", 1000),
        ("qualifier >= 'x18'", 200),
        ("qualifier > 'x10' AND qualifier < 'x13' AND family = 'd'", 200),
        ("qualifier BETWEEN 't18' AND 't19'", 200),
        ("ts >= '2000-01-01' AND qualifier = 'v'", 100),
        ("ts > '2200-01-01'", 0),
    ] {
        assert_eq!(of(condition), (cells, cells), "{condition}");
    }
    // What is checked again behind the scan.
    assert_eq!(of("qualifier = 'x07' AND value = '2'"), (0, 100));
    assert_eq!(of("qualifier LIKE 'x%7'"), (200, 2000));
    assert_eq!(of("family = 'd' OR qualifier = 't01'").0, 2300);
}

#[test]
fn conditions_on_times_hold_for_the_newest_cells() {
    let store = TestStore::new();
    store
        .run(
            "CREATE TABLE t (v I64, w I64, ROW KEY (k STRING)) WITH (VERSIONS = 5, \
             KEEP_DELETED_CELLS = 'TRUE')",
        )
        .expect("a table");
    let family = store.family("t");
    let table = store.store.table("t").expect("a table");
    for time in [10, 20, 30] {
        let put = Put::new("a").add_at(family.clone(), "v", time, [0; 8]);
        table.put(put).expect("a put");
    }
    table.put(Put::new("a").add_at(family.clone(), "w", 15, [0; 8])).expect("a put");
    let time = |ms: u64| format!("'1970-01-01T00:00:00.{ms:03}Z'");
    let counted = Counted::new(&store);
    let of = |table: &str, condition: &str| {
        let sql = format!("SELECT qualifier, type FROM {table} WHERE {condition}");
        counted.rows(&sql).0.len()
    };
    let cells = |table: &str, condition: &str| {
        let sql = format!("SELECT qualifier FROM {table} WHERE {condition}");
        let (rows, received) = counted.rows(&sql);
        (rows.len() as u64, received.cells)
    };
    // The newest cell of v is not one until 20.
    assert_eq!(cells("cells(t)", &format!("ts <= {}", time(20))), (1, 2));
    assert_eq!(cells("cells(t)", &format!("ts >= {}", time(20))), (1, 1));
    assert_eq!(cells("cells(t)", &format!("ts = {}", time(15))), (1, 2));
    assert_eq!(cells("cells(t) VERSIONS ALL", &format!("ts >= {}", time(20))), (2, 2));
    assert_eq!(cells("cells(t) VERSIONS 2", &format!("ts <= {}", time(20))), (2, 3));
    assert_eq!(cells("cells(t) VERSIONS ALL", &format!("ts <= {}", time(20))), (3, 4));
    // What was deleted later was not there, except among its delete markers.
    table.delete(Delete::new("a").up_to(25)).expect("a delete");
    assert_eq!(cells("cells(t) VERSIONS ALL", &format!("ts <= {}", time(20))).0, 0);
    assert_eq!(of("cells(t) VERSIONS ALL", &format!("ts <= {}", time(20))), 3);
    assert_eq!(of("cells(t) VERSIONS ALL", &format!("ts > {}", time(20))), 2);
    assert_eq!(of("cells(t) VERSIONS ALL", &format!("ts > {} AND qualifier = 'v'", time(20))), 1);
}

#[test]
fn wide_columns_of_the_first_rows_are_read_late() {
    let store = wide();
    let counted = Counted::new(&store);
    // Nothing is known of the table, and one text is not wide.
    let (narrow, _) = counted.rows("SELECT k, body FROM wide ORDER BY v, k LIMIT 3");
    let sql = "SELECT k, v, body, m['t01'] + 1 AS n, m FROM wide ORDER BY v, k LIMIT 3";
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(plan.contains("late columns body, m, m['t01'] of table wide, by gets"), "{plan}");
    let (rows, received) = counted.rows(sql);
    // Keys and sorted column of all rows, then the row of each winner.
    assert_eq!((rows.len(), received.gets), (3, 3));
    assert_eq!(received.cells, 100 + 3 * 42, "{received:?}");
    let keys: Vec<&str> = rows.iter().map(|row| row.split('|').next().unwrap_or("")).collect();
    assert_eq!(keys, ["0", "43", "86"]);
    assert!(rows.iter().zip(&narrow).all(|(one, other)| {
        one.split('|').nth(2) == other.split('|').nth(1) && one.split('|').nth(3) == Some("1")
    }));
    // The statistics tell that there are many rows.
    store.run("ANALYZE wide").expect("statistics");
    let sql = "SELECT k, body FROM wide WHERE v % 2 = 1 ORDER BY v DESC LIMIT 1 OFFSET 0";
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(!plan.contains("late columns"), "100 rows of one text are few: {plan}");
    let sql =
        "SELECT * FROM wide WHERE v % 2 = 1 AND m['t01'] = 0 ORDER BY v DESC LIMIT 2 OFFSET 1";
    let plan = store.rows(&format!("EXPLAIN {sql}")).join("\n");
    assert!(plan.contains("late columns body, m of table wide"), "{plan}");
    let (rows, received) = counted.rows(sql);
    assert_eq!((rows.len(), received.gets), (2, 3));
    assert!(rows[0].contains("|97|") && rows[1].contains("|95|"), "{rows:?}");
    // A LIMIT of an inner query decides first.
    let inner = "SELECT * FROM wide WHERE body LIKE '%xx%' ORDER BY k LIMIT 10";
    let few = store.rows(&format!("SELECT k, body, m FROM ({inner}) s ORDER BY v DESC, k LIMIT 3"));
    let all = store.rows(&format!("SELECT k, body, m FROM ({inner}) s ORDER BY v DESC, k"));
    assert_eq!((few.len(), few.as_slice()), (3, &all[..3]));
    // As without it.
    for sql in [
        "SELECT k, v, body, m FROM wide ORDER BY v LIMIT 0",
        "SELECT m, k FROM wide WHERE v > 1000 ORDER BY v LIMIT 3",
        "SELECT m, body FROM wide WHERE k IN (1, 2, 3) ORDER BY v LIMIT 2",
        "SELECT upper(body), m FROM wide ORDER BY v + k, v LIMIT 4",
        "SELECT s.m, s.body FROM (SELECT m, body, -v AS w FROM wide) s ORDER BY s.w LIMIT 4",
        "SELECT m, _row, _cells FROM wide ORDER BY cell_ts(v), v LIMIT 4",
    ] {
        let sorted = |sql: &str| store.rows(sql);
        let all = sorted(&sql.replace("LIMIT", "LIMIT 5000 --"));
        let few = sorted(sql);
        assert_eq!(few, all[..few.len()], "{sql}");
    }
}

#[test]
fn rows_that_are_deleted_meanwhile_are_left_out() {
    use crate::interposed::{Hook, session};
    use halite::{BoxFuture, Table};

    /// Deletes a row in front of the gets.
    struct DeletesFirst;

    impl Hook for DeletesFirst {
        fn before_gets<'a>(&'a self, table: &'a dyn Table) -> BoxFuture<'a, ()> {
            Box::pin(async move {
                let key = 0x8000_002b_u32.to_be_bytes().to_vec();
                table.batch(vec![Delete::new(key).into()]).await.expect("a delete");
            })
        }
    }

    let store = wide();
    let sql = session(&store, DeletesFirst);
    let text = "SELECT k, body, m FROM wide ORDER BY v, k LIMIT 3";
    let rows = store.runtime.block_on(async {
        let mut answer = sql.run(text).await.expect("rows");
        crate::store::Rows::of(&mut answer).await.expect("rows").rows
    });
    let keys: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(keys, ["0", "86"]);
    let none = Received { cells: 0, bytes: 0, gets: 0 };
    assert_ne!(Counted::new(&store).rows(text).1, none);
}
