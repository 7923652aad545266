//! Bad input, by the cases that the dialect promises: each error says what, where and what to do,
//! with PostgreSQL's code. Those that only a client of the port can see are in the tests of `halite-pg`.

use halite::{BoxFuture, Bytes, Error, ErrorKind, OpResult, Put, Result as HaliteResult, Table};
use halite_sql::SqlError;
use halite_sql::datafusion::arrow::array::RecordBatch;
use halite_sql::datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use halite_sql::datafusion::execution::memory_pool::FairSpillPool;
use halite_sql::datafusion::execution::runtime_env::RuntimeEnvBuilder;
use halite_sql::datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::interposed::{Answers, Hook, session};
use crate::store::TestStore;

/// Statement that is wrong.
struct Case {
    /// Case of the dialect's list.
    name: &'static str,
    text: &'static str,
    code: &'static str,
    /// Parts of the message: what is wrong, and what to do.
    says: &'static [&'static str],
    /// Line and column, where the text is what is wrong.
    place: Option<(u64, u64)>,
}

const fn case(
    name: &'static str,
    code: &'static str,
    text: &'static str,
    says: &'static [&'static str],
    place: Option<(u64, u64)>,
) -> Case {
    Case { name, text, code, says, place }
}

/// Statements before the cases.
const TABLES: [&str; 6] = [
    "CREATE TABLE t (v I32, w STRING, small I8, f F64, u UUID, ip IPV4, at TIMESTAMP, day DATE, \
     c3 CHAR(3), b3 BYTES(3), must I32 NOT NULL DEFAULT 0, n I64 COUNTER, ROW KEY (k STRING))",
    "CREATE TABLE twins (\"Name\" I32, name I32, ROW KEY (k STRING))",
    "CREATE TABLE pairs (v I32, ROW KEY (a I64, b I64))",
    "UPSERT INTO t (k, v, w) VALUES ('a', 1, 'one'), ('b', 2147483647, 'two')",
    "LOAD INTO t (k, \"F:v\") VALUES ('short', x'0102')",
    "UPSERT INTO pairs (a, b, v) VALUES (1, 1, 1), (1, 2, 2), (2, 1, 3)",
];

const CASES: &[Case] = &[
    case("syntax", "42601", "SELEC 1", &["SELEC", "did you mean SELECT"], Some((1, 1))),
    case("syntax", "42601", "SELECT *\nFROM t WHERE", &["Expected"], Some((2, 13))),
    case("syntax", "42601", "SELECT 1,\n  2 2", &["Expected"], Some((2, 5))),
    case("syntax", "42601", "SELECT\n'open", &["Unterminated"], Some((2, 1))),
    case("syntax", "42601", "SELECT 1 /* open", &["comment"], Some((1, 17))),
    case("words of ours", "42601", "SELECT k FROM t VERSIONS 1 BETWEEN 5", &["BETWEEN"], None),
    case("words of ours", "42601", "SELECT k FROM t AS OF TIMESTAMP", &["AS OF"], None),
    case("no such table", "42P01", "SELECT *\n FROM pair", &["did you mean pairs?"], Some((2, 7))),
    case("no such table", "42P01", "UPDATE pair SET v = 1", &["did you mean pairs?"], Some((1, 8))),
    case(
        "no such column",
        "42703",
        "SELECT k,\n  vv FROM t",
        &["vv", "did you mean v?"],
        Some((2, 3)),
    ),
    case(
        "no such column",
        "42703",
        "SELECT k FROM t WHERE nothing = 1",
        &["nothing", "the columns are k"],
        Some((1, 23)),
    ),
    case(
        "no such column",
        "42703",
        "SELECT t.vv FROM t",
        &["t.vv", "did you mean v?"],
        Some((1, 8)),
    ),
    case("no such column", "42703", "SELECT count(*) FROM t GROUP BY vv", &["vv"], Some((1, 33))),
    case("no such column", "42703", "SELECT k FROM t ORDER BY vv", &["vv"], Some((1, 26))),
    case(
        "no such column",
        "42703",
        "SELECT a.k FROM t AS a JOIN t AS b ON a.vv = b.k",
        &["vv"],
        Some((1, 39)),
    ),
    case("no such column", "42703", "SELECT x", &["no table in FROM"], Some((1, 8))),
    case(
        "no such column",
        "42703",
        "UPDATE t SET vv = 1 WHERE k = 'a'",
        &["vv", "did you mean v?"],
        Some((1, 14)),
    ),
    case("no such column", "42703", "UPDATE t SET v = vv WHERE k = 'a'", &["vv"], Some((1, 18))),
    case(
        "no such column",
        "42703",
        "INSERT INTO t (k, vv) VALUES ('x', 1)",
        &["vv", "did you mean v?"],
        Some((1, 19)),
    ),
    case("no such column", "42703", "DELETE FROM t WHERE vv = 1", &["vv"], Some((1, 21))),
    case(
        "no such function",
        "42883",
        "SELECT k,\n uper(w) FROM t",
        &["uper", "upper"],
        Some((2, 2)),
    ),
    case(
        "no such function",
        "42883",
        "UPDATE t SET w = uper(w) WHERE k = 'a'",
        &["uper"],
        Some((1, 18)),
    ),
    case("no such type", "42704", "SELECT CAST(k AS strin) FROM t", &["strin"], None),
    case("no such setting", "42704", "SET halite.bad_cell = 'null'", &["halite.bad_cells"], None),
    case(
        "name that fits two",
        "42702",
        "SELECT NAME FROM twins",
        &["Name or name", "double quotes"],
        Some((1, 8)),
    ),
    case(
        "name that fits two",
        "42702",
        "SELECT k FROM t AS a JOIN t AS b ON a.k = b.k",
        &["several tables"],
        Some((1, 8)),
    ),
    case("wrong type", "42804", "SELECT k FROM t WHERE at > 5.5 + w", &["CAST"], None),
    case("wrong type", "42804", "INSERT INTO t (k, v) VALUES ('x', true)", &["v"], None),
    case("out of range", "22003", "SELECT CAST(300 AS TINYINT)", &["300"], None),
    case(
        "out of range",
        "22003",
        "INSERT INTO t (k, small) VALUES ('x', 300)",
        &["small", "300"],
        None,
    ),
    case("out of range", "22003", "SELECT 9223372036854775807 + 1", &[], None),
    case("out of range", "22003", "SELECT v + v FROM t WHERE k = 'b'", &[], None),
    case("no number", "22P02", "SELECT CAST('x' AS INT)", &["'x' is no INTEGER"], None),
    case("no number", "22P02", "INSERT INTO t (k, v) VALUES ('x', 'y')", &["v", "y"], None),
    case("no time", "22P02", "INSERT INTO t (k, at) VALUES ('x', 'soon')", &["at", "soon"], None),
    case("no time", "22P02", "INSERT INTO t (k, day) VALUES ('x', '2024-13-01')", &["day"], None),
    case(
        "no time",
        "22P02",
        "SELECT k FROM t WHERE at > 'soon'",
        &["'soon' is no TIMESTAMP"],
        None,
    ),
    case("no UUID", "22P02", "INSERT INTO t (k, u) VALUES ('x', 'abc')", &["u", "abc"], None),
    case("no UUID", "22P02", "SELECT k FROM t WHERE u = 'abc'", &["abc"], None),
    case("no address", "22P02", "INSERT INTO t (k, ip) VALUES ('x', '1.2.3')", &["ip"], None),
    case("no address", "22P02", "SELECT k FROM t WHERE ip = '1.2.3.400'", &["1.2.3.400"], None),
    case("division by zero", "22012", "SELECT v / 0 FROM t WHERE k = 'a'", &["zero"], None),
    case("division by zero", "22012", "SELECT v % (v - 1) FROM t WHERE k = 'a'", &["zero"], None),
    case(
        "CHAR(n) of another length",
        "22026",
        "INSERT INTO t (k, c3) VALUES ('x', 'ab')",
        &["c3", "3"],
        None,
    ),
    case(
        "BYTES(n) of another length",
        "22026",
        "INSERT INTO t (k, b3) VALUES ('x', x'0102')",
        &["b3", "3"],
        None,
    ),
    case(
        "key over 32,767 bytes",
        "54000",
        "INSERT INTO t (k, v) SELECT repeat('x', 32768), 1",
        &["32767"],
        None,
    ),
    case("empty key", "22023", "INSERT INTO t (k, v) VALUES ('', 1)", &["Row length is 0"], None),
    case("NULL in a key field", "23502", "INSERT INTO t (k, v) VALUES (NULL, 1)", &["k"], None),
    case(
        "NULL in a NOT NULL column",
        "23502",
        "INSERT INTO t (k, must) VALUES ('x', NULL)",
        &["must"],
        None,
    ),
    case(
        "row that is there",
        "23505",
        "INSERT INTO t (k, v) VALUES ('a', 2)",
        &["k = a", "UPSERT"],
        None,
    ),
    case(
        "key field in SET",
        "0A000",
        "UPDATE t SET k = 'z' WHERE k = 'a'",
        &["MOVE ROW"],
        Some((1, 14)),
    ),
    case(
        "MERGE",
        "0A000",
        "MERGE INTO t USING pairs ON true WHEN MATCHED THEN DELETE",
        &["ON CONFLICT"],
        Some((1, 1)),
    ),
    case(
        "FOR UPDATE",
        "0A000",
        "SELECT k FROM t FOR UPDATE",
        &["FOR UPDATE", "condition"],
        Some((1, 1)),
    ),
    case("SAVEPOINT", "0A000", "SAVEPOINT s", &["no transactions"], Some((1, 1))),
    case("LISTEN", "0A000", "LISTEN news", &["read again"], Some((1, 1))),
    case("sequences", "0A000", "CREATE SEQUENCE s", &["COUNTER"], Some((1, 1))),
    case(
        "triggers",
        "0A000",
        "CREATE TRIGGER x AFTER INSERT ON t EXECUTE FUNCTION f()",
        &["the program"],
        Some((1, 1)),
    ),
    case("indexes", "0A000", "CREATE INDEX ON t (v)", &["is the index"], Some((1, 1))),
    case(
        "foreign keys",
        "42601",
        "CREATE TABLE x (v I64 REFERENCES t, ROW KEY (k I64))",
        &["REFERENCES"],
        None,
    ),
    case("table disabled", "55000", "SELECT * FROM off", &["off"], None),
];

#[test]
fn every_case_says_what_where_and_what_to_do() {
    let store = TestStore::new();
    for text in TABLES {
        let family = || String::from_utf8(store.family("t").to_vec()).expect("a name");
        let text = if text.contains("F:v") {
            text.replace("F:v", &format!("{}:v", family()))
        } else {
            text.to_owned()
        };
        store.run(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    store.run("CREATE TABLE off (v I64, ROW KEY (k I64))").expect("a table");
    store.store.disable_table("off").expect("a table");
    let mut wrong = Vec::new();
    for direct in ["on", "off"] {
        store.run(&format!("SET halite.direct = '{direct}'")).expect("a setting");
        for case in CASES {
            match store.run(case.text) {
                Ok(rows) => wrong.push(format!("{}: {}: {:?}", case.name, case.text, rows.rows)),
                Err(error) => wrong.extend(differs(case, &error)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn differs(case: &Case, error: &SqlError) -> Option<String> {
    let is_said = case.says.iter().all(|part| error.message.contains(part));
    let is_placed = case.place.is_none_or(|place| error.position == Some(place));
    let is_right = error.state.code() == case.code && is_said && is_placed;
    (!is_right).then(|| format!("{}: {}\n    {error:?}", case.name, case.text))
}

#[test]
fn cells_and_keys_that_are_not_as_declared() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I32, w STRING, ROW KEY (k I64))").expect("a table");
    let family = store.family("t");
    let table = store.store.table("t").expect("a table");
    let key = |n: u8| vec![0x80, 0, 0, 0, 0, 0, 0, n];
    let put = |key: Vec<u8>, column: &'static str, value: &'static [u8]| {
        table.put(Put::new(key).add(family.clone(), column, value)).expect("a row");
    };
    put(key(1), "v", b"\x01\x02");
    let check = |name, code, text: &'static str, says| {
        let error = store.run(text).expect_err(text);
        let case = case(name, code, text, says, None);
        assert_eq!(differs(&case, &error), None);
    };
    check("bad cell", "22P02", "SELECT v FROM t", &["v", "halite.bad_cells"]);
    put(key(2), "w", b"\xff\xfe");
    check("bytes that are no UTF-8 in a STRING", "22021", "SELECT w FROM t", &["w", "UTF-8"]);
    put(b"odd".to_vec(), "v", &[0, 0, 0, 1]);
    store.run("SET halite.unreadable_keys = 'fail'").expect("a setting");
    check("odd key", "22P02", "SELECT k FROM t", &["odd", "halite.unreadable_keys"]);
    store.run("SET halite.max_rows_examined = 2").expect("a setting");
    store.run("SET halite.unreadable_keys = 'count'").expect("a setting");
    check(
        "guard",
        "54000",
        "SELECT k FROM t WHERE k % 7 = 1",
        &["stopped after 3 rows", "Q-FULL", "a condition on its first field"],
    );
}

/// Cluster that answers with errors.
struct Failing {
    reads: Option<ErrorKind>,
    writes: Option<ErrorKind>,
}

impl Hook for Failing {
    fn read_error(&self) -> Option<Error> {
        Some(Error::new(self.reads?, "a fault of the test"))
    }

    fn answers(&self, answers: Vec<HaliteResult<OpResult>>) -> Answers {
        match self.writes {
            Some(kind) => Err(Error::new(kind, "a fault of the test")),
            None => Ok(answers),
        }
    }
}

#[test]
fn faults_of_the_cluster_have_their_codes() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    store.run("INSERT INTO t (k, v) VALUES (1, 1)").expect("a row");
    for (name, kind, code) in [
        ("damaged file", ErrorKind::Corrupt, "XX001"),
        ("region busy after all retries", ErrorKind::Busy, "53400"),
        ("no server", ErrorKind::Io, "08006"),
    ] {
        for text in ["SELECT v FROM t WHERE k = 1", "SELECT count(*) FROM t WHERE v % 2 = 0"] {
            let failing = Failing { reads: Some(kind), writes: None };
            let error = store
                .runtime
                .block_on(async { session(&store, failing).run(text).await?.batches().await });
            let error = error.expect_err(text);
            assert_eq!(error.state.code(), code, "{name}: {text}: {error}");
        }
    }
    for (name, kind, code, text) in [
        ("outcome unknown", ErrorKind::Io, "40003", "INSERT INTO t (k, v) VALUES (2, 1)"),
        (
            "no CheckAndMutate by filter",
            ErrorKind::IncompatibleFilter,
            "0A000",
            "UPDATE t SET v = 2 WHERE k = 1 AND v = 1",
        ),
    ] {
        let failing = Failing { reads: None, writes: Some(kind) };
        let error = store.runtime.block_on(session(&store, failing).run(text)).err().expect(text);
        assert_eq!(error.state.code(), code, "{name}: {error}");
    }
}

/// Changes a row before each batch.
struct Restless {
    family: Bytes,
    value: AtomicI64,
}

impl Hook for Restless {
    fn before<'a>(&'a self, table: &'a dyn Table) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let value = self.value.fetch_add(1, Ordering::Relaxed);
            let key = vec![0x80, 0, 0, 0, 0, 0, 0, 1];
            let put = Put::new(key).add(self.family.clone(), "v", value.to_be_bytes());
            table.batch(vec![put.into()]).await.expect("a batch");
        })
    }
}

#[test]
fn condition_lost_16_times_is_contention() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    store.run("INSERT INTO t (k, v) VALUES (1, 1)").expect("a row");
    let restless = Restless { family: store.family("t"), value: AtomicI64::new(100) };
    let text = "UPDATE t SET v = v * 2 WHERE v > 0";
    let error = store.runtime.block_on(session(&store, restless).run(text)).err().expect(text);
    assert_eq!(error.state.code(), "40001", "{error}");
    assert!(error.message.contains("16"), "{error}");
}

#[test]
fn time_is_up() {
    let store = TestStore::new();
    store.run("SET statement_timeout = 100").expect("a setting");
    let text = "SELECT count(*) FROM generate_series(1, 1000000000) AS a, generate_series(1, 1000)";
    let error = store.run(text).expect_err(text);
    assert_eq!(error.state.code(), "57014", "{error}");
    assert!(error.message.contains("statement_timeout"), "{error}");
}

#[test]
fn rows_that_were_not_read_to_their_end_have_none() {
    let store = TestStore::new();
    let text = "SELECT count(*) FROM generate_series(1, 1000000000) AS a, generate_series(1, 1000)";
    let code = |next: Result<Option<RecordBatch>, SqlError>| next.expect_err(text).state.code();
    store.runtime.block_on(async {
        // Who stops waiting, as by a cancel, has given the rows up.
        let mut answer = store.sql.run(text).await.expect(text);
        let wait = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(wait, answer.next_batch()).await.is_err());
        assert_eq!(code(answer.next_batch().await), "55000");
        assert_eq!(code(answer.next_batch().await), "55000");
        store.sql.run("SET statement_timeout = 100").await.expect("a setting");
        let mut answer = store.sql.run(text).await.expect(text);
        assert_eq!(code(answer.next_batch().await), "57014");
        assert_eq!(code(answer.next_batch().await), "55000");
        store.sql.run("SET statement_timeout = 0").await.expect("a setting");
        // Those that were read to their end have none after it.
        let mut answer = store.sql.run("SELECT 1").await.expect("an answer");
        assert_eq!(answer.batches().await.expect("rows").len(), 1);
        assert!(answer.next_batch().await.expect("the end").is_none());
    });
}

#[test]
fn writes_in_a_block_are_refused() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    store.run("BEGIN").expect("a block");
    let error = store.run("INSERT INTO t (k, v) VALUES (1, 1)").expect_err("a write");
    assert_eq!(error.state.code(), "0A000", "{error}");
    assert!(error.message.contains("halite.transactions"), "{error}");
}

#[test]
fn memory_and_disk_have_codes_and_mends() {
    let error = |bytes: usize, disk: DiskManagerBuilder| -> SqlError {
        let pool = Arc::new(FairSpillPool::new(bytes));
        let env = RuntimeEnvBuilder::new().with_memory_pool(pool).with_disk_manager_builder(disk);
        let config = SessionConfig::new().with_target_partitions(1);
        let session = SessionContext::new_with_config_rt(config, env.build_arc().expect("memory"));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let text = "SELECT value, repeat('x', 100) AS t FROM generate_series(1, 300000) \
                    ORDER BY t, value DESC";
        let ran = runtime.block_on(async { session.sql(text).await?.collect().await });
        ran.expect_err(text).into()
    };
    let none = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let memory = error(1 << 20, none);
    assert_eq!(memory.state.code(), "53200", "{memory}");
    assert!(memory.message.contains("narrow the statement"), "{memory}");
    let small = DiskManagerBuilder::default().with_max_temp_directory_size(1 << 16);
    let disk = error(12 << 20, small);
    assert_eq!(disk.state.code(), "53100", "{disk}");
    assert!(disk.message.contains("make room"), "{disk}");
}

#[test]
fn limits_before_planning() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    let list = |number: usize, of: &str| vec![of; number].join(", ");
    for (name, text) in [
        ("text over 1 MiB", format!("SELECT '{}'", "x".repeat(1 << 20))),
        ("100,000 tokens", format!("SELECT 1 IN ({})", list(60_000, "1"))),
        ("nesting over 128", format!("SELECT {}1{}", "(".repeat(129), ")".repeat(129))),
        ("chain of over 1,000 operators", format!("SELECT 1{}", " + 1".repeat(1001))),
        ("chain of over 2,000 comparisons", format!("SELECT 1{}", " = 1".repeat(2001))),
        ("1,024 columns", format!("SELECT {}", list(1025, "1"))),
        ("a million VALUES", format!("UPSERT INTO t VALUES {}", list(25_000, "(1, 1)"))),
        ("64 tables in a join", format!("SELECT 1 FROM t{}", " CROSS JOIN t".repeat(64))),
    ] {
        let error = store.run(&text).expect_err(name);
        assert_eq!(error.state.code(), "54000", "{name}: {error}");
    }
}

#[test]
fn recursive_query_ends_after_10_000_rounds() {
    let store = TestStore::new();
    let text = |rounds: u32| {
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {rounds}) \
             SELECT max(i) FROM n"
        )
    };
    assert_eq!(store.rows(&text(9_999)), ["9999"]);
    let error = store.run(&text(20_000)).expect_err("too many rounds");
    assert_eq!(error.state.code(), "54000", "{error}");
    assert!(error.message.contains("recursive query n"), "{error}");
}

#[test]
fn odd_input_is_answered_or_an_error() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (\"select\" F64, v I64, ROW KEY (k I64))").expect("a table");
    store.run("UPSERT INTO t VALUES (1, 'NaN', 9223372036854775807)").expect("a row");
    let name = "x".repeat(32 << 10);
    let long = format!("SELECT 1 AS \"{name}\"");
    for text in [
        "SELECT \"select\" FROM t",
        "SELECT v + 1 FROM t",
        "UPDATE t SET v = v + 1 WHERE k = 1",
        "SELECT TIMESTAMP '10000-01-01 00:00:00'",
        "SELECT TIMESTAMP '0001-01-01 00:00:00 BC'",
        "SELECT TIMESTAMP '2016-12-31 23:59:60'",
        "SELECT TIMESTAMP '2024-01-01 00:00:00+14:00'",
        "SELECT k FROM t LIMIT -1",
        "SELECT k FROM t LIMIT 0",
        "SELECT k FROM t OFFSET 1000000",
        "SELECT k FROM t WHERE k = $1",
        "SELECT k FROM t\u{a0}WHERE k = 1",
        "\u{feff}SELECT 1",
        long.as_str(),
    ] {
        // No panic: an internal error is a fault of ours.
        if let Err(error) = store.run(text) {
            assert_ne!(error.state.code(), "XX000", "{text}: {error}");
        }
    }
    // Where errors say to look.
    for text in ["SHOW TABLES", "SELECT routine_name FROM information_schema.routines"] {
        assert!(!store.rows(text).is_empty(), "{text}");
    }
    for (text, code) in [
        ("SELECT v + 1 FROM t", "22003"),
        ("UPDATE t SET v = v + 1 WHERE k = 1", "22003"),
        ("SELECT k FROM t LIMIT -1", "2201W"),
        ("SELECT k FROM t OFFSET -1", "2201X"),
        ("SELECT k FROM t WHERE k = $1", "42P02"),
    ] {
        let error = store.run(text).expect_err(text);
        assert_eq!(error.state.code(), code, "{text}: {error}");
    }
}
