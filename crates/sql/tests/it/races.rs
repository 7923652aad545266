//! Rows that another writer changes between reading and writing.

use std::sync::atomic::{AtomicUsize, Ordering};

use halite::{BoxFuture, Bytes, Put, Table};
use halite_sql::SqlError;

use crate::interposed::{Hook, session};
use crate::store::TestStore;

/// Puts a cell before the first batch is applied.
struct Other {
    put: Put,
    batches: AtomicUsize,
}

impl Other {
    fn new(family: Bytes, key: &'static str, column: &'static str, value: i64) -> Self {
        let put = Put::new(key).add(family, column, value.to_be_bytes());
        Self { put, batches: AtomicUsize::new(0) }
    }
}

impl Hook for Other {
    fn before<'a>(&'a self, table: &'a dyn Table) -> BoxFuture<'a, ()> {
        Box::pin(async {
            if self.batches.fetch_add(1, Ordering::Relaxed) == 0 {
                let put = vec![self.put.clone().into()];
                let results = table.batch(put).await.expect("a batch");
                results.into_iter().for_each(|result| drop(result.expect("a put")));
            }
        })
    }
}

fn run(store: &TestStore, other: Other, text: &str) -> Result<String, SqlError> {
    let ran = store.runtime.block_on(session(store, other).run(text));
    ran.map(|answer| answer.tag().unwrap_or_default().to_owned())
}

#[test]
fn limit_takes_no_row_twice() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    let values = "('a', 1), ('b', 1), ('c', 1), ('d', 1)";
    store.run(&format!("INSERT INTO t (k, v) VALUES {values}")).expect("rows");
    let other = Other::new(store.family("t"), "b", "v", 100);
    let update = "UPDATE t SET v = v + 1 WHERE v > 0 ORDER BY k LIMIT 3";
    assert_eq!(run(&store, other, update).expect(update), "UPDATE 3");
    assert_eq!(store.rows("SELECT k, v FROM t"), ["a|2", "b|101", "c|2", "d|1"]);
    // The row that changed is none of the statement's any more: the next one takes its place.
    let other = Other::new(store.family("t"), "b", "v", -1);
    let update = "UPDATE t SET v = v + 1 WHERE v > 0 ORDER BY k LIMIT 3";
    assert_eq!(run(&store, other, update).expect(update), "UPDATE 3");
    assert_eq!(store.rows("SELECT k, v FROM t"), ["a|3", "b|-1", "c|3", "d|2"]);
}
