//! Statements that write with parameters: types from the columns they meet, values when they run.

use halite_sql::datafusion::arrow::datatypes::{DataType, TimeUnit};
use halite_sql::datafusion::scalar::ScalarValue;
use halite_sql::{SqlError, SqlState};

use crate::store::{Rows, TestStore};

fn store() -> TestStore {
    let store = TestStore::new();
    store
        .run("CREATE TABLE t (v I32, w STRING, n I64 COUNTER, at TIMESTAMP, id UUID, ROW KEY (k STRING))")
        .expect("a table");
    store
}

impl TestStore {
    /// Returns the types of the parameters of a statement.
    fn types(&self, text: &str) -> Vec<DataType> {
        let prepared = self.runtime.block_on(self.sql.prepare(text)).expect(text);
        prepared.parameters().iter().map(|field| field.data_type().clone()).collect()
    }

    /// Runs a statement once for each list of values.
    fn run_with(&self, text: &str, values: &[Vec<ScalarValue>]) -> Result<Vec<Rows>, SqlError> {
        self.runtime.block_on(async {
            let prepared = self.sql.prepare(text).await?;
            let mut answers = Vec::new();
            for values in values {
                let mut answer = self.sql.run_prepared(&prepared, values).await?;
                answers.push(Rows::of(&mut answer).await?);
            }
            Ok(answers)
        })
    }
}

#[test]
fn types_of_parameters_are_those_of_the_columns_they_meet() {
    let store = store();
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into()));
    let (i32, i64, text) = (DataType::Int32, DataType::Int64, DataType::Utf8View);
    let cases = [
        (
            "INSERT INTO t (k, v, at, id) VALUES ($1, $2, $3, $4)",
            vec![text.clone(), i32.clone(), time, DataType::FixedSizeBinary(16)],
        ),
        ("UPSERT INTO t (v, k) VALUES ($2, $1)", vec![text.clone(), i32.clone()]),
        (
            "UPDATE t SET v = $1, w = $2 WHERE k = $3 AND v > $4",
            vec![i32.clone(), text.clone(), text.clone(), i32.clone()],
        ),
        ("UPDATE t SET v = v + $1 WHERE k = $2", vec![i32, text.clone()]),
        ("UPDATE t SET n = n + $1 WHERE k = $2", vec![i64.clone(), text.clone()]),
        (
            "INSERT INTO t (k, n) VALUES ($1, $2) ON CONFLICT DO UPDATE SET n = t.n + $2",
            vec![text.clone(), i64],
        ),
        ("DELETE FROM t WHERE k IN ($1, $2)", vec![text.clone(), text]),
        ("DELETE FROM t", Vec::new()),
    ];
    for (statement, types) in cases {
        assert_eq!(store.types(statement), types, "{statement}");
    }
}

#[test]
fn a_plan_runs_with_other_values_each_time() {
    let store = store();
    let row =
        |key: &str, number: i32| vec![ScalarValue::from(key), ScalarValue::Int32(Some(number))];
    let insert = "INSERT INTO t (k, v) VALUES ($1, $2), ($1 || '!', -$2)";
    store.run_with(insert, &[row("a", 1), row("b", 2)]).expect("rows");
    assert_eq!(store.rows("SELECT k, v FROM t"), ["a|1", "a!|-1", "b|2", "b!|-2"]);

    let update = "UPDATE t SET v = v * $2 WHERE k = $1 RETURNING k, v + $2 AS more";
    let answers =
        store.run_with(update, &[row("a", 10), row("b", 20), row("c", 30)]).expect("rows");
    let rows: Vec<_> = answers.iter().map(|answer| answer.rows.clone()).collect();
    assert_eq!(rows[0], [["a", "20"]]);
    assert_eq!(rows[1], [["b", "60"]]);
    assert!(rows[2].is_empty());
    assert_eq!(answers[2].tag.as_deref(), Some("UPDATE 0"));

    let delete = "DELETE FROM t WHERE v < $2 AND k > $1";
    let answers = store.run_with(delete, &[row("", 0), row("", 0)]).expect("rows");
    let tags: Vec<_> =
        answers.iter().map(|answer| answer.tag.clone().unwrap_or_default()).collect();
    assert_eq!(tags, ["DELETE 2", "DELETE 0"]);

    let copied = "UPSERT INTO t (k, v) SELECT $1 || k, v + $2 FROM t";
    store.run_with(copied, &[row("x", 1)]).expect("rows");
    assert_eq!(store.rows("SELECT k, v FROM t"), ["a|10", "b|40", "xa|11", "xb|41"]);
}

#[test]
fn parameters_without_values_are_refused() {
    let store = store();
    for text in [
        "INSERT INTO t (k, v) VALUES ($1, $2)",
        "UPDATE t SET v = $2 WHERE k = $1",
        "UPDATE t SET v = 1 WHERE k = $1 AND v = $2",
        "DELETE FROM t WHERE k = $2",
    ] {
        let error = store.run_with(text, &[vec!["a".into()]]).expect_err(text);
        assert_eq!(error.state, SqlState::UndefinedParameter, "{text}: {error}");
    }
    let wrong = store.run_with("UPSERT INTO t (k, v) VALUES ('a', $1)", &[vec!["x".into()]]);
    assert_eq!(wrong.err().map(|error| error.state), Some(SqlState::InvalidValue));
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn returning_tells_its_columns_before_it_runs() {
    let store = store();
    let names = |text: &str| -> Vec<String> {
        let prepared = store.runtime.block_on(store.sql.prepare(text)).expect(text);
        prepared.schema().fields().iter().map(|field| field.name().clone()).collect()
    };
    let returning = names("UPDATE t SET v = 1 RETURNING *, v + 1 AS next");
    assert_eq!(returning, ["k", "v", "w", "n", "at", "id", "next"]);
    assert!(names("DELETE FROM t").is_empty());
}

#[test]
fn numbers_of_parameters_are_not_rounded() {
    let store = TestStore::new();
    store.run("CREATE TABLE n (d DECIMAL, f F32, ROW KEY (k STRING))").expect("a table");
    let decimal = |digits, scale| ScalarValue::Decimal128(Some(digits), 38, scale);
    let write = |value: ScalarValue, text| store.run_with(text, &[vec![value]]);
    let upsert = "UPSERT INTO n (k, d) VALUES ('a', $1)";
    let update = "UPDATE n SET d = $1 WHERE k = 'a'";
    write(decimal(12_500_000_000_000, 12), upsert).expect("12.5");
    assert_eq!(store.rows("SELECT d FROM n"), ["12.5000000000"]);
    for text in [upsert, update, "UPSERT INTO n (k, d) SELECT 'a', $1"] {
        let error = write(decimal(1_234_567_890_123, 12), text).expect_err(text);
        assert_eq!(error.state, SqlState::OutOfRange, "{text}: {error}");
    }
    let infinite = write(ScalarValue::Float64(Some(1e300)), "UPDATE n SET f = $1");
    assert_eq!(infinite.err().map(|error| error.state), Some(SqlState::OutOfRange));
    assert_eq!(store.rows("SELECT d, f FROM n"), ["12.5000000000|NULL"]);
}
