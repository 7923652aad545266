//! Cases of the tutorials, by id, that files of statements cannot say.

use std::sync::atomic::{AtomicUsize, Ordering};

use halite::{BoxFuture, Error, ErrorKind, OpResult, Result as HaliteResult, Table};
use halite_sql::SqlState;

use crate::interposed::{Answers, Hook, session};
use crate::store::TestStore;

#[test]
fn c09_declaration_of_the_tutorial_becomes_its_family() {
    let store = TestStore::new();
    let text = "CREATE TABLE messages (msg_id VARCHAR, receiver_id VARCHAR, content VARCHAR, \
                created_at TIMESTAMP, PRIMARY KEY (msg_id)) WITH (COLUMN_FAMILY='msg', \
                DATA_BLOCK_ENCODING='PREFIX', COMPRESSION='SNAPPY')";
    store.run(text).expect("a table");
    let descriptor = store.store.descriptor("messages").expect("a table");
    let families: Vec<_> = descriptor.families().collect();
    assert_eq!(families.len(), 1);
    assert_eq!(families[0].name().as_ref(), b"msg");
    assert_eq!(families[0].data_block_encoding(), "PREFIX");
    assert_eq!(families[0].compression(), "SNAPPY");
    // E22: asked by receiver, its key serves nothing, and the plan says so and names one that does.
    let question =
        "FROM messages WHERE receiver_id = 'user_001' ORDER BY created_at DESC LIMIT 100";
    let plan = store.rows(&format!("EXPLAIN SELECT content {question}"));
    assert!(plan.iter().any(|line| line.contains("note") && line.contains("Q-FULL")), "{plan:?}");
    let serves = plan.iter().find_map(|line| line.trim().strip_prefix("serves   "));
    let key = "ROW KEY (SALT(16 BY receiver_id), receiver_id STRING, created_at TIMESTAMP DESC, \
               msg_id STRING)";
    assert_eq!(serves, Some(key), "{plan:?}");
    // It does: one range in that order, and nothing to sort.
    store.run(&format!("CREATE TABLE inbox (content STRING, {key})")).expect("a table");
    let plan =
        store.rows(&format!("EXPLAIN SELECT content {}", question.replace("messages", "inbox")));
    assert!(plan.iter().any(|line| line.trim() == "ranges   1"), "{plan:?}");
    let is_worse =
        |line: &String| ["serves", "Q-FULL", "Sort"].iter().any(|word| line.contains(word));
    assert!(!plan.iter().any(is_worse), "{plan:?}");
}

#[test]
fn m14_key_fields_are_not_set_but_moved() {
    let store = TestStore::new();
    store
        .run("CREATE TABLE t (v I64 FAMILY a, w STRING FAMILY b, ROW KEY (k STRING)) WITH (VERSIONS = 3)")
        .expect("a table");
    for time in 1..=3 {
        let text = format!(
            "UPSERT INTO t (k, v, w, _ts) VALUES ('a', {time}, 'w', '2024-01-0{time}T00:00:00Z')"
        );
        store.run(&text).expect("a row");
    }
    let error = store.run("UPDATE t SET k = 'b' WHERE k = 'a'").expect_err("a key");
    assert_eq!(error.state, SqlState::NotSupported, "{error}");
    assert!(error.message.contains("MOVE ROW IN t"), "{error}");
    let versions = "SELECT v, w FROM t VERSIONS ALL WHERE k = ";
    let before = store.rows(&format!("{versions}'a'"));
    assert_eq!(before.len(), 3);
    store.run("MOVE ROW IN t (k = 'a') TO (k = 'b')").expect("a move");
    assert_eq!(store.rows(&format!("{versions}'b'")), before);
    assert_eq!(store.rows("SELECT k FROM t"), ["b"]);
}

/// Loses the batches from a number on, before they reach the table.
struct Crash {
    at: usize,
    batches: AtomicUsize,
}

impl Hook for Crash {
    fn before<'a>(&'a self, _table: &'a dyn Table) -> BoxFuture<'a, ()> {
        self.batches.fetch_add(1, Ordering::Relaxed);
        Box::pin(async {})
    }

    fn is_lost(&self) -> bool {
        self.batches.load(Ordering::Relaxed) > self.at
    }

    fn answers(&self, answers: Vec<HaliteResult<OpResult>>) -> Answers {
        if self.is_lost() { Err(Error::new(ErrorKind::Io, "a crash")) } else { Ok(answers) }
    }
}

#[test]
fn m14_crash_within_a_move_leaves_a_copy() {
    for at in 0..3 {
        let store = TestStore::new();
        store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
        store.run("INSERT INTO t (k, v) VALUES ('a', 7)").expect("a row");
        let crash = Crash { at, batches: AtomicUsize::new(0) };
        let text = "MOVE ROW IN t (k = 'a') TO (k = 'b')";
        let moved = store.runtime.block_on(session(&store, crash).run(text)).is_ok();
        assert_eq!(moved, at >= 2, "the move has two batches");
        let left = store.rows("SELECT k, v FROM t");
        let expected: &[&[&str]] = match at {
            0 => &[&["a|7"]],
            1 => &[&["a|7", "b|7"]],
            _ => &[&["b|7"]],
        };
        assert!(expected.iter().any(|rows| left == *rows), "batch {at}: {left:?}");
        // The same again finishes it.
        store.run(text).expect("a move");
        assert_eq!(store.rows("SELECT k, v FROM t"), ["b|7"]);
    }
}
