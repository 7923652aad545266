//! Prepared statements, and sessions beside each other.

use halite_sql::datafusion::arrow::array::RecordBatch;
use halite_sql::datafusion::arrow::datatypes::DataType;
use halite_sql::datafusion::common::ScalarValue;
use halite_sql::{Access, SqlState};

use crate::store::{Rows, TestStore};

fn store() -> TestStore {
    let store = TestStore::new();
    store
        .run("CREATE TABLE t (v I32, u UUID, ROW KEY (SALT(4 BY d), d STRING, n I64))")
        .expect("t");
    let values: Vec<String> = (0..100).map(|n| format!("('d{}', {n}, {n})", n % 10)).collect();
    store.run(&format!("INSERT INTO t (d, n, v) VALUES {}", values.join(", "))).expect("rows");
    store
}

fn count(store: &TestStore, text: &str, values: &[ScalarValue]) -> Result<usize, SqlState> {
    store.runtime.block_on(async {
        let prepared = store.sql.prepare(text).await.map_err(|error| error.state)?;
        let answer = store.sql.run_prepared(&prepared, values).await;
        let batches = answer.map_err(|error| error.state)?.batches().await;
        Ok(batches.map_err(|error| error.state)?.iter().map(RecordBatch::num_rows).sum())
    })
}

fn types(store: &TestStore, text: &str) -> Vec<DataType> {
    let prepared = store.runtime.block_on(store.sql.prepare(text)).expect(text);
    prepared.parameters().iter().map(|field| field.data_type().clone()).collect()
}

#[test]
fn parameters_have_the_types_of_what_they_meet() {
    let store = store();
    let text = "SELECT v FROM t WHERE d = $2 AND n IN ($1, $3) AND u = $4 LIMIT $5 OFFSET $6";
    let uuid = DataType::FixedSizeBinary(16);
    let expected = [
        DataType::Int64,
        DataType::Utf8View,
        DataType::Int64,
        uuid,
        DataType::Int64,
        DataType::Int64,
    ];
    assert_eq!(types(&store, text), expected);
    assert_eq!(types(&store, "SELECT $1, $2::int"), [DataType::Utf8View, DataType::Int32]);
    assert_eq!(types(&store, "SELECT v + $1 FROM t"), [DataType::Int32]);
    assert_eq!(types(&store, "EXPLAIN SELECT v FROM t WHERE n = $1"), [DataType::Int64]);
    assert_eq!(types(&store, "SELECT 1"), []);
}

#[test]
fn values_are_bound_before_the_scan_is_planned() {
    let store = store();
    let text = "SELECT v FROM t WHERE d = $1 AND n >= $2 ORDER BY n LIMIT $3";
    let values = |d: &str, n: i64, limit: i64| [d.into(), n.into(), limit.into()];
    let before = store.examined("t");
    assert_eq!(count(&store, text, &values("d3", 50, 2)), Ok(2));
    assert!(store.examined("t") - before <= 3, "{}", store.examined("t") - before);
    assert_eq!(count(&store, text, &values("d3", 0, 100)), Ok(10));
    assert_eq!(count(&store, text, &values("none", 0, 100)), Ok(0));
    // Values of other types, as drivers send them.
    let others = ["d3".into(), 50i32.into(), 2i16.into()];
    assert_eq!(count(&store, text, &others), Ok(2));
    // A value that the column's type cannot hold.
    let beyond = [i64::MAX.into()];
    assert_eq!(count(&store, "SELECT v FROM t WHERE v = $1", &beyond), Ok(0));
    let null = [ScalarValue::Int64(None)];
    assert_eq!(count(&store, "SELECT v FROM t WHERE n = $1", &null), Ok(0));
}

#[test]
fn missing_and_wrong_parameters_are_errors() {
    let store = store();
    let text = "SELECT v FROM t WHERE n = $1";
    assert_eq!(count(&store, text, &[]), Err(SqlState::UndefinedParameter));
    assert_eq!(count(&store, text, &[1i64.into(), 2i64.into()]), Err(SqlState::UndefinedParameter));
    assert!(count(&store, "SELECT $0", &[]).is_err());
    assert_eq!(count(&store, "SELECT $32768", &[]), Err(SqlState::UndefinedParameter));
    assert_eq!(store.run(text).expect_err("no value").state, SqlState::UndefinedParameter);
}

#[test]
fn schema_is_that_of_the_rows() {
    let store = store();
    store.runtime.block_on(async {
        for text in [
            "SELECT d, n, v, u, n + v AS s FROM t WHERE n < $1",
            "SELECT CASE WHEN v > $1 THEN 'a' ELSE d END FROM t",
            "SELECT d, count(*), sum(v), avg(n) FROM t GROUP BY d HAVING count(*) > $1",
        ] {
            let prepared = store.sql.prepare(text).await.expect(text);
            let mut answer = store.sql.run_prepared(&prepared, &[1i64.into()]).await.expect(text);
            for batch in answer.batches().await.expect(text) {
                for (field, column) in prepared.schema().fields().iter().zip(batch.columns()) {
                    assert_eq!(field.data_type(), column.data_type(), "{text}");
                }
            }
        }
        for (text, columns) in [("SHOW TABLES", 3), ("DESCRIBE t", 4), ("EXPLAIN SELECT 1", 1)] {
            let prepared = store.sql.prepare(text).await.expect(text);
            assert_eq!(prepared.schema().fields().len(), columns, "{text}");
        }
    });
}

#[test]
fn sessions_have_settings_and_rights_of_their_own() {
    let store = store();
    let reader = store.sql.another().with_access(Access::Read);
    store.runtime.block_on(async {
        reader.run("SET halite.bad_cells = 'null'").await.expect("a setting");
        assert_ne!(reader.settings(), store.sql.settings());
        assert_eq!(reader.run("SELECT v FROM t").await.expect("rows").schema().fields().len(), 1);
        for text in ["CREATE TABLE u (ROW KEY (k I64))", "ALTER TABLE t ADOPT ROW KEY (k I64)"] {
            let error = reader.run(text).await.err().expect("no right");
            assert_eq!(error.state, SqlState::NotPermitted, "{text}");
            let error = reader.prepare(text).await.expect_err("no right");
            assert_eq!(error.state, SqlState::NotPermitted, "{text}");
        }
    });
}

#[test]
fn values_do_not_make_huge_results() {
    let store = store();
    let long = ScalarValue::from(1_000_000_000i64);
    for text in ["SELECT repeat('x', $1::bigint)", "SELECT rpad(d, $1::bigint) FROM t"] {
        assert_eq!(
            count(&store, text, std::slice::from_ref(&long)),
            Err(SqlState::LimitExceeded),
            "{text}"
        );
    }
}

#[test]
fn a_list_is_one_parameter() {
    let store = store();
    let text = "SELECT v FROM t WHERE n = ANY($1) AND d = ANY($2)";
    let items = types(&store, text).into_iter().map(|ty| match ty {
        DataType::List(item) => item.data_type().clone(),
        other => panic!("{other} is no list"),
    });
    assert_eq!(items.collect::<Vec<_>>(), [DataType::Int64, DataType::Utf8View]);
    let numbers: Vec<ScalarValue> = [3i64, 13, 1000].map(ScalarValue::from).to_vec();
    let numbers = ScalarValue::List(ScalarValue::new_list(&numbers, &DataType::Int64, true));
    assert_eq!(count(&store, "SELECT v FROM t WHERE n = ANY($1)", &[numbers]), Ok(2));
    let none = ScalarValue::List(ScalarValue::new_list(&[], &DataType::Int64, true));
    assert_eq!(count(&store, "SELECT v FROM t WHERE n = ANY($1)", &[none]), Ok(0));
}

#[test]
fn whole_keys_are_planned_once_and_read_alike() {
    let store = TestStore::new();
    for (at, key) in [
        "d STRING, n I64",
        "SALT(4 BY d), d STRING, n I64 DESC",
        "SALT(3), n I64, d STRING",
        "HASH(d), d STRING, n I64",
        "d STRING, n I64 NULLABLE",
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("p{at}");
        store
            .run(&format!("CREATE TABLE {table} (v I32, w STRING, c I64 COUNTER, ROW KEY ({key}))"))
            .unwrap_or_else(|error| panic!("{key}: {error}"));
        let rows: Vec<String> = (0..40).map(|n| format!("('d{}', {n}, {n})", n % 7)).collect();
        let rows = rows.join(", ");
        store.run(&format!("UPSERT INTO {table} (d, n, v) VALUES {rows}")).expect("rows");
        let text = format!("SELECT w, v, n, c, _row FROM {table} WHERE n = $2 AND d = $1");
        let statement = store.runtime.block_on(store.sql.prepare(&text)).expect("a statement");
        let mut found = 0;
        for (d, n) in (0..40).flat_map(|n| [(n % 7, n), (n % 5, n)]) {
            let values = [ScalarValue::from(format!("d{d}").as_str()), ScalarValue::from(n)];
            let answer = store.runtime.block_on(async {
                let mut answer = store.sql.run_prepared(&statement, &values).await?;
                assert!(answer.is_direct(), "{key}");
                Rows::of(&mut answer).await
            });
            let answer: Vec<String> =
                answer.expect("rows").rows.iter().map(|row| row.join("|")).collect();
            let plain = text.replace("$2", &n.to_string()).replace("$1", &format!("'d{d}'"));
            assert_eq!(answer, store.rows(&plain), "{key}: {plain}");
            found += answer.len();
        }
        assert!(found >= 40, "{found} rows: {key}");
        for values in [
            [ScalarValue::Utf8(None), ScalarValue::from(1i64)],
            [ScalarValue::from("d1"), ScalarValue::Int64(None)],
            [ScalarValue::from("x".repeat(4000).as_str()), ScalarValue::from(1i64)],
            [ScalarValue::from("d1\0"), ScalarValue::from(1i64)],
            [ScalarValue::from(""), ScalarValue::from(i64::MIN)],
        ] {
            assert_eq!(count(&store, &text, &values), Ok(0), "{key}");
        }
        let before = store.examined(&table);
        assert_eq!(count(&store, &text, &["d3".into(), 3i64.into()]), Ok(1), "{key}");
        assert_eq!(store.examined(&table) - before, 1, "{key}");
    }
}
