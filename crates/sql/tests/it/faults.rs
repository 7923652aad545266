//! Writes whose answers are errors: the state and the number of rows that were written for certain.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{Either, select};
use halite::{BoxFuture, Error, ErrorKind, OpResult, Table};
use halite_sql::{SqlError, SqlState};
use tokio::sync::Notify;

use crate::interposed::{Answers, Hook, session};
use crate::store::TestStore;

/// Loses the answer of one operation, or those of its batch.
struct Fault {
    kind: ErrorKind,
    /// Operation whose answer is lost, counted over all batches.
    at: usize,
    is_whole_batch: bool,
    seen: AtomicUsize,
}

impl Hook for Fault {
    fn answers(&self, mut answers: Vec<halite::Result<OpResult>>) -> Answers {
        let first = self.seen.fetch_add(answers.len(), Ordering::Relaxed);
        let lost = || Error::new(self.kind, "a fault of the test");
        if let Some(answer) = self.at.checked_sub(first).and_then(|at| answers.get_mut(at)) {
            if self.is_whole_batch {
                return Err(lost());
            }
            *answer = Err(lost());
        }
        Ok(answers)
    }
}

fn run_with(store: &TestStore, fault: Fault, text: &str) -> SqlError {
    store.runtime.block_on(session(store, fault).run(text)).err().expect(text)
}

fn run(store: &TestStore, kind: ErrorKind, at: usize, text: &str) -> SqlError {
    let fault = Fault { kind, at, is_whole_batch: false, seen: AtomicUsize::new(0) };
    run_with(store, fault, text)
}

#[test]
fn lost_answers_of_conditional_writes_are_outcomes_unknown() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I32, n I64 COUNTER, ROW KEY (k STRING))").expect("a table");
    store.run("UPSERT INTO t (k, v) VALUES ('there', 1)").expect("a row");
    for (text, state) in [
        ("INSERT INTO t (k, v) VALUES ('a', 1)", SqlState::OutcomeUnknown),
        ("UPDATE t SET v = 2 WHERE k = 'there'", SqlState::OutcomeUnknown),
        ("UPDATE t SET n = n + 1 WHERE k = 'there'", SqlState::OutcomeUnknown),
        ("DELETE FROM t WHERE k = 'there' AND v = 3", SqlState::OutcomeUnknown),
        ("UPSERT INTO t (k, v) VALUES ('there', 4)", SqlState::ConnectionFailure),
        ("DELETE FROM t WHERE k = 'missing'", SqlState::ConnectionFailure),
    ] {
        let error = run(&store, ErrorKind::Io, 0, text);
        assert_eq!(error.state, state, "{text}: {error}");
    }
    // They were written, once.
    assert_eq!(store.rows("SELECT k, v, n FROM t"), ["a|1|0", "there|4|1"]);
    let busy = run(&store, ErrorKind::Busy, 0, "INSERT INTO t (k, v) VALUES ('b', 1)");
    assert_eq!(busy.state, SqlState::Busy);
}

#[test]
fn errors_say_how_many_rows_were_written_for_certain() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    let many = "UPSERT INTO t SELECT value, value + 0 FROM generate_series(1, 3500)";
    let error = run(&store, ErrorKind::Busy, 1200, many);
    assert!(error.message.contains("row(s) were written before"), "{error}");
    let counted: u64 = error
        .message
        .rsplit("; ")
        .next()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .expect("a number");
    let there: u64 = store.rows("SELECT count(*) FROM t")[0].parse().expect("a number");
    // One answer was lost; what was not yet sent is not there.
    assert!(counted >= 1999 && counted < there && there <= 3500, "{counted} of {there}");
}

#[test]
fn lost_batches_of_conditional_writes_are_outcomes_unknown() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, n I64 COUNTER, ROW KEY (k I64))").expect("a table");
    let lose = |at, text| {
        let fault = Fault { kind: ErrorKind::Io, at, is_whole_batch: true, seen: 0.into() };
        run_with(&store, fault, text)
    };
    let many = "INSERT INTO t (k, v) SELECT value, value + 0 FROM generate_series(1, 1500)";
    let error = lose(1200, many);
    assert_eq!(error.state, SqlState::OutcomeUnknown, "{error}");
    // Two batches are in flight; one of them is lost, the other is counted.
    let is_said = [(500, 1000), (1000, 500)].iter().any(|(lost, written)| {
        error.message.contains(&format!("outcome unknown of {lost} row(s)"))
            && error.message.ends_with(&format!("; {written} row(s) were written before"))
    });
    assert!(is_said, "{error}");
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["1500"]);
    for (text, state) in [
        ("UPDATE t SET n = n + 1 WHERE k = 1", SqlState::OutcomeUnknown),
        ("UPDATE t SET v = 0 WHERE k = 1 AND v = 1", SqlState::OutcomeUnknown),
        ("UPSERT INTO t (k, v) VALUES (1, 5)", SqlState::ConnectionFailure),
    ] {
        let error = lose(0, text);
        assert_eq!(error.state, state, "{text}: {error}");
    }
    assert_eq!(store.rows("SELECT v, n FROM t WHERE k = 1"), ["5|1"]);
}

#[test]
fn rows_in_flight_are_counted_in_errors_of_the_statement() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    store.run("INSERT INTO t VALUES (700, 0), (5000, 0)").expect("rows");
    let rows = "SELECT value, value + 0 FROM generate_series";
    let count = || store.rows("SELECT count(*) FROM t")[0].parse::<u64>().expect("a number");
    let check = |error: &SqlError, before: u64, state: SqlState| {
        assert_eq!(error.state, state, "{error}");
        let written = count() - before;
        let end = format!("; {written} row(s) were written before");
        assert!(written > 0 && error.message.ends_with(&end), "{written} rows: {error}");
    };
    let error = store.run(&format!("INSERT INTO t {rows}(1, 4000)")).expect_err("a row is there");
    check(&error, 2, SqlState::RowExists);
    let before = count();
    store.run("SET halite.max_rows_written = 2500").expect("a setting");
    let error = store.run(&format!("UPSERT INTO t {rows}(6001, 9000)")).expect_err("a limit");
    check(&error, before, SqlState::LimitExceeded);
    // Rows of one statement with an error of their values.
    let before = count();
    store.run("SET halite.max_rows_written = 0").expect("a setting");
    let text = "INSERT INTO t SELECT value, 1 / (13500 - value) FROM generate_series(10001, 14000)";
    let error = store.run(text).expect_err("a division by zero");
    assert_eq!(error.state, SqlState::DivisionByZero, "{error}");
    let written = count() - before;
    let counted = written == 0 || error.message.contains(&format!("; {written} row(s)"));
    assert!(counted, "{written} rows: {error}");
}

/// Fails reads and writes.
struct Down(Error);

impl Hook for Down {
    fn read_error(&self) -> Option<Error> {
        Some(self.0.clone())
    }

    fn is_lost(&self) -> bool {
        true
    }

    fn answers(&self, _: Vec<halite::Result<OpResult>>) -> Answers {
        Err(self.0.clone())
    }
}

#[test]
fn faults_of_the_cluster_have_their_states_and_words() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I32, n I64 COUNTER, ROW KEY (k STRING))").expect("a table");
    store.run("UPSERT INTO t (k, v) VALUES ('a', 1)").expect("a row");
    let reads = [
        "SELECT v FROM t WHERE k = 'a'",
        "SELECT v FROM t WHERE k > 'a' ORDER BY k LIMIT 1",
        "SELECT count(*) FROM t",
        "SELECT v, count(*) FROM t GROUP BY v",
        "INSERT INTO t SELECT k || 'x', v FROM t",
    ];
    let plain = ["UPSERT INTO t (k, v) VALUES ('b', 1)", "DELETE FROM t WHERE k = 'a'"];
    let conditional = [
        "INSERT INTO t (k, v) VALUES ('b', 1)",
        "UPDATE t SET v = 2 WHERE k = 'a'",
        "UPDATE t SET n = n + 1 WHERE k = 'a' AND v = 1",
        "DELETE FROM t WHERE k = 'a' AND v = 1",
    ];
    let check = |kind: ErrorKind, words: &str, texts: &[&str], state: SqlState| {
        for direct in ["on", "off"] {
            let session = session(&store, Down(Error::new(kind, words)));
            session.change(|settings| settings.set("halite.direct", direct)).expect("a setting");
            for text in texts {
                let error = store
                    .runtime
                    .block_on(async { session.run(text).await?.batches().await.map(drop) });
                let error = error.expect_err(text);
                assert_eq!(error.state, state, "{text}, direct {direct}: {error}");
                assert!(error.message.contains(words), "{text}: {error}");
            }
        }
    };
    let all = [&reads[..], &plain[..], &conditional[..]].concat();
    let gone = "no connection to 127.0.0.1:1: refused";
    check(ErrorKind::Io, gone, &reads, SqlState::ConnectionFailure);
    check(ErrorKind::Io, gone, &plain, SqlState::ConnectionFailure);
    check(ErrorKind::Io, gone, &conditional, SqlState::OutcomeUnknown);
    let busy = "Over memstore limit; given up after 16 tries in 60000 ms";
    check(ErrorKind::Busy, busy, &all, SqlState::Busy);
    let old = "no check-and-mutate by a filter";
    check(ErrorKind::Unsupported, old, &conditional, SqlState::NotSupported);
    assert_eq!(
        [SqlState::ConnectionFailure, SqlState::Busy, SqlState::OutcomeUnknown].map(SqlState::code),
        ["08006", "53400", "40003"]
    );
    assert_eq!(store.rows("SELECT k, v, n FROM t"), ["a|1|0"]);
}

/// Gives two batches their answers, and none to four others.
struct Stuck {
    seen: AtomicUsize,
    all_are: Arc<Notify>,
}

impl Hook for Stuck {
    fn before<'a>(&'a self, _: &'a dyn Table) -> BoxFuture<'a, ()> {
        let before = self.seen.fetch_add(1, Ordering::Relaxed);
        if before == 5 {
            self.all_are.notify_one();
        }
        Box::pin(async move {
            if before >= 2 {
                std::future::pending::<()>().await;
            }
        })
    }
}

#[test]
fn statements_that_are_left_say_what_they_wrote() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k I64))").expect("a table");
    let all_are = Arc::new(Notify::new());
    let sql = session(&store, Stuck { seen: AtomicUsize::new(0), all_are: Arc::clone(&all_are) });
    store.runtime.block_on(async {
        sql.run("SET halite.transactions = 'statement'").await.expect("a setting");
        sql.run("BEGIN").await.expect("a block");
        let text = "UPSERT INTO t SELECT value, value FROM generate_series(1, 20000)";
        let run = pin!(sql.run(text));
        let is_left = matches!(select(run, pin!(all_are.notified())).await, Either::Right(_));
        assert!(is_left, "the statement waits for its batches");
    });
    let text = "; 2000 row(s) were written before, and whether 4000 more were is unknown";
    assert_eq!(sql.take_rows_left(), text);
    assert_eq!(sql.take_rows_left(), "", "once");
    assert_eq!(sql.changes(), 2000, "ROLLBACK tells of them");
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["2000"]);
    let run = store.runtime.block_on(sql.run("SELECT 1"));
    assert!(run.is_ok() && sql.take_rows_left().is_empty());
}
