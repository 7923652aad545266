//! Statements that bypass DataFusion: which they are, and that they answer as it does.

use halite_sql::datafusion::common::ScalarValue;
use halite_sql::{Prepared, SqlError, SqlState};

use crate::random::Seeded;
use crate::store::{Rows, TestStore};

fn store() -> TestStore {
    let store = TestStore::new();
    store
        .run(
            "CREATE TABLE t (v I32, w STRING, u UUID, at TIMESTAMP, n I64 COUNTER, \
             ROW KEY (SALT(4 BY d), d STRING, ts TIMESTAMP DESC, b BYTES NULLABLE))",
        )
        .expect("t");
    let rows: Vec<String> = (0..200)
        .map(|at| {
            let b = if at % 3 == 0 { "NULL".to_owned() } else { format!("'b{at}'") };
            format!("('d{}', '2024-01-01T00:00:{:02}Z', {b}, {at}, 'w{at}')", at % 10, at % 60)
        })
        .collect();
    store.run(&format!("UPSERT INTO t (d, ts, b, v, w) VALUES {}", rows.join(", "))).expect("rows");
    store
}

impl TestStore {
    fn direct(&self, is_on: bool) {
        let value = if is_on { "on" } else { "off" };
        self.sql.change(|settings| settings.set("halite.direct", value)).expect("a setting");
    }

    fn prepared(&self, text: &str) -> Prepared {
        self.runtime.block_on(self.sql.prepare(text)).expect(text)
    }

    /// Runs a prepared statement; returns its rows, and whether it was direct.
    fn run_one(&self, one: &Prepared, values: &[ScalarValue]) -> Result<(Rows, bool), SqlError> {
        self.runtime.block_on(async {
            let mut answer = self.sql.run_prepared(one, values).await?;
            let is_direct = answer.is_direct();
            Ok((Rows::of(&mut answer).await?, is_direct))
        })
    }

    fn is_direct(&self, text: &str) -> bool {
        let answer = self.runtime.block_on(self.sql.run(text));
        answer.unwrap_or_else(|error| panic!("{text}: {error}")).is_direct()
    }
}

#[test]
fn statements_of_one_scan_are_direct() {
    let store = store();
    for text in [
        "SELECT * FROM t WHERE d = 'd1' AND ts = '2024-01-01T00:00:01Z' AND b = 'b1'",
        "SELECT v, d AS device FROM t AS x WHERE x.d IN ('d1', 'd2')",
        "SELECT w FROM t WHERE d = 'd1' ORDER BY ts DESC LIMIT 10",
        "SELECT w FROM t WHERE d = 'd1' ORDER BY ts LIMIT 10",
        "SELECT d, ts FROM t ORDER BY d, ts DESC LIMIT 5",
        "SELECT v::bigint, 'x', CAST(ts AS DATE) FROM t WHERE d = 'd' || '1'",
        "SELECT v FROM t WHERE d LIKE 'd1%' AND v >= 10 AND w IS NOT NULL",
        "SELECT _row, _salt, _region, _ts FROM t WHERE d = 'd1' AND ts < '2024-01-01T00:00:10Z'",
        "SELECT * FROM (SELECT v, d FROM t WHERE d = 'd1') AS x LIMIT 3",
        "SELECT v FROM t WHERE true AND d = 'd1' LIMIT 0",
    ] {
        assert!(store.is_direct(text), "{text}");
        let plan = store.rows(&format!("EXPLAIN {text}"));
        let is_named = plan.iter().any(|line| line.trim() == "scan t, direct");
        // Of no rows nothing is planned.
        assert!(is_named || text.ends_with("LIMIT 0"), "{text}: {plan:?}");
    }
    for text in [
        "SELECT v FROM t WHERE d = 'd1' ORDER BY v LIMIT 10",
        "SELECT v + 1 FROM t WHERE d = 'd1'",
        "SELECT count(*) FROM t WHERE d = 'd1'",
        "SELECT DISTINCT d FROM t WHERE d = 'd1'",
        "SELECT v FROM t WHERE d = 'd1' OR v = 3",
        "SELECT v FROM t WHERE d = 'd1' LIMIT 3 OFFSET 2",
        "SELECT v FROM t WHERE d = (SELECT max(d) FROM t)",
        "SELECT v FROM t WHERE ts > now() AND d = 'd1'",
        "SELECT v FROM t VERSIONS 2 WHERE d = 'd1'",
        "SELECT t.v FROM t JOIN t AS o ON t.d = o.d WHERE t.d = 'd1'",
        "SELECT v FROM (SELECT v, d FROM t LIMIT 5) AS x WHERE d = 'd1'",
        "SELECT v FROM t WHERE d = NULL",
        "SELECT 1",
        "SELECT * FROM halite.settings",
    ] {
        assert!(!store.is_direct(text), "{text}");
        let plan = store.rows(&format!("EXPLAIN {text}"));
        assert!(!plan.join("\n").contains(", direct"), "{text}");
    }
    store.direct(false);
    assert!(!store.is_direct("SELECT v FROM t WHERE d = 'd1'"));
    assert_eq!(store.rows("EXPLAIN SELECT v FROM t WHERE d = 'd1'")[0], "scan t");
}

#[test]
fn both_ways_answer_alike() {
    let store = store();
    let text = |value: &str| ScalarValue::from(value);
    let time = |ms: i64| ScalarValue::TimestampMillisecond(Some(ms), Some("+00:00".into()));
    let cases: [(&str, Vec<Vec<ScalarValue>>); 7] = [
        (
            "SELECT *, _row FROM t WHERE d = $1 AND ts >= $2 ORDER BY ts DESC, b LIMIT $3",
            vec![
                vec![text("d1"), time(1_704_067_205_000), 7i64.into()],
                vec![text("d1"), text("2024-01-01T00:00:05Z"), 7i32.into()],
                vec![text("d2"), time(i64::MAX), 7i64.into()],
                vec![text("none"), time(0), 7i64.into()],
                vec![ScalarValue::Utf8(None), time(0), 7i64.into()],
                vec![text("d1"), time(0), ScalarValue::Int64(None)],
                vec![text("d1"), time(0), (-1i64).into()],
            ],
        ),
        (
            "SELECT v, w FROM t WHERE v = $1 AND d = $2",
            vec![
                vec![11i32.into(), text("d1")],
                vec![11i64.into(), text("d1")],
                vec![i64::MAX.into(), text("d1")],
                vec![1.5f64.into(), text("d1")],
                vec![ScalarValue::Null, text("d1")],
            ],
        ),
        (
            "SELECT d, ts, b FROM t WHERE d IN ($1, $2) AND b = $3",
            vec![
                vec![text("d1"), text("d2"), ScalarValue::Binary(Some(b"b1".to_vec()))],
                vec![text("d1"), text("d1"), text("b11")],
                vec![text("d1"), ScalarValue::Null, text("b11")],
            ],
        ),
        ("SELECT v FROM t WHERE d = $1 AND b IS NULL", vec![vec![text("d0")], vec![text("d3")]]),
        ("SELECT v::text, $1 FROM t WHERE d = 'd1' LIMIT 2", vec![vec![text("x")]]),
        (
            "SELECT n, at FROM t WHERE d = $1 AND ts < $2::timestamptz",
            vec![vec![text("d1"), text("2024-01-01 00:00:30+00")]],
        ),
        (
            "SELECT v FROM t WHERE u = $1 AND d = 'd1'",
            vec![vec![ScalarValue::FixedSizeBinary(16, Some(vec![7; 16]))]],
        ),
    ];
    for (sql, runs) in cases {
        for values in runs {
            let answer = |is_on| {
                store.direct(is_on);
                let one = store.prepared(sql);
                let answer = store.run_one(&one, &values);
                answer.map(|(rows, _)| (rows.columns, rows.rows)).map_err(|error| error.state)
            };
            assert_eq!(answer(true), answer(false), "{sql} {values:?}");
        }
    }
}

#[test]
fn random_texts_answer_alike() {
    let store = store();
    let mut random = Seeded(7);
    for _ in 0..150 {
        let d = random.pick(&["d = 'd1'", "d IN ('d1', 'd7')", "d > 'd4'", "d LIKE 'd%'", "true"]);
        let ts = random.pick(&[
            "ts = '2024-01-01T00:00:07Z'",
            "ts > '2024-01-01T00:00:30Z'",
            "ts BETWEEN '2024-01-01T00:00:03Z' AND '2024-01-01T00:00:40Z'",
            "v < 100",
            "b IS NOT NULL",
        ]);
        let order = random.pick(&["d, ts DESC, b", "ts DESC, d, b", "d DESC, ts, b DESC"]);
        let columns = random.pick(&["*", "w, v", "d", "_row, n", "v::text AS x, b, ts"]);
        let sql = format!(
            "SELECT {columns} FROM t WHERE {d} AND {ts} ORDER BY {order} LIMIT {}",
            random.below(30)
        );
        let answer = |is_on| {
            store.direct(is_on);
            store.rows(&sql)
        };
        assert_eq!(answer(true), answer(false), "{sql}");
    }
}

#[test]
fn kept_plans_follow_tables_and_settings() {
    let store = store();
    let one = store.prepared("SELECT v FROM t WHERE d = $1 AND ts = $2 AND b = $3");
    let values: [ScalarValue; 3] = [
        "d1".into(),
        ScalarValue::TimestampMillisecond(Some(1_704_067_201_000), Some("+00:00".into())),
        ScalarValue::Binary(Some(b"b1".to_vec())),
    ];
    let run = || store.run_one(&one, &values);
    let (rows, is_direct) = run().expect("a row");
    assert_eq!((rows.rows, is_direct), (vec![vec!["1".to_owned()]], true));
    // A change of the table ends the plan; the next one is kept again.
    let key = "ROW KEY (SALT(4 BY d), d STRING, ts TIMESTAMP DESC, b BYTES NULLABLE)";
    store.run(&format!("ALTER TABLE t ADOPT {key}")).expect("altered");
    assert!(run().is_ok());
    // Settings that decide what is read do so too.
    store.run("SET halite.unreadable_keys = 'fail'").expect("a setting");
    assert_eq!(run().map(|(rows, _)| rows.rows.len()), Ok(1));
    assert!(run().is_ok_and(|(rows, is_direct)| rows.rows.len() == 1 && is_direct));
    store.run("SET halite.max_rows_examined = 1").expect("a setting");
    let all = store.prepared("SELECT v FROM t WHERE d = $1");
    let guarded = store.run_one(&all, &["d1".into()]);
    assert_eq!(guarded.map(|_| ()).map_err(|error| error.state), Err(SqlState::LimitExceeded));
    store.run("RESET halite.max_rows_examined").expect("a setting");
    store.store.disable_table("t").expect("t");
    store.store.drop_table("t").expect("t");
    assert_eq!(run().map(|_| ()).map_err(|error| error.state), Err(SqlState::UndefinedTable));
}

#[test]
fn kept_writes_follow_their_values() {
    let store = store();
    let time = ScalarValue::TimestampMillisecond(Some(0), Some("+00:00".into()));
    for is_on in [true, false] {
        store.direct(is_on);
        let upsert = store.prepared("UPSERT INTO t (d, ts, b, v) VALUES ($1, $2, $3, $4)");
        let delete = store.prepared("DELETE FROM t WHERE d = $1 AND ts = $2 AND b = $3");
        let update = store.prepared("UPDATE t SET v = $4 WHERE d = $1 AND ts = $2 AND b = $3");
        let tag = |one: &Prepared, b: &str, v: Option<i32>| {
            let mut values = vec!["new".into(), time.clone(), ScalarValue::Binary(Some(b.into()))];
            values.extend(v.map(ScalarValue::from));
            store.run_one(one, &values).map(|(rows, _)| rows.tag.unwrap_or_default())
        };
        let rows = || store.rows("SELECT b, v FROM t WHERE d = 'new' ORDER BY ts DESC, b");
        assert_eq!(tag(&upsert, "x", Some(1)), Ok("INSERT 0 1".to_owned()));
        assert_eq!(tag(&upsert, "y", Some(2)), Ok("INSERT 0 1".to_owned()));
        assert_eq!(tag(&update, "y", Some(3)), Ok("UPDATE 1".to_owned()));
        assert_eq!(tag(&update, "z", Some(3)), Ok("UPDATE 0".to_owned()));
        assert_eq!(rows(), ["\\x78|1", "\\x79|3"]);
        assert_eq!(tag(&delete, "x", None), Ok("DELETE 1".to_owned()));
        assert_eq!(rows(), ["\\x79|3"]);
        assert_eq!(tag(&delete, "y", None), Ok("DELETE 1".to_owned()));
        assert!(rows().is_empty());
    }
}
