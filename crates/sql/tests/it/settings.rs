//! Settings whose effect is how a statement runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use halite::op::Durability;
use halite::{
    Admin, BoxFuture, Cluster, Get, OpResult, RegionInfo, Result as HaliteResult, Row, RowOp,
    RowSource, RowStream, Scan, Table, TableDescriptor, TableName,
};
use halite_sql::{Resources, SqlContext, SqlState};

use crate::store::{Rows, TestStore};

/// What a table saw.
#[derive(Default)]
struct Seen {
    reads: AtomicUsize,
    most_reads: AtomicUsize,
    durability: Mutex<Vec<Durability>>,
}

struct Watched {
    inner: Arc<dyn Cluster>,
    seen: Arc<Seen>,
}

struct WatchedTable {
    inner: Arc<dyn Table>,
    seen: Arc<Seen>,
}

struct WatchedRows {
    inner: RowStream,
    seen: Arc<Seen>,
}

impl Cluster for Watched {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(WatchedTable { inner: self.inner.table(name), seen: Arc::clone(&self.seen) })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.inner.admin()
    }
}

impl Table for WatchedTable {
    fn name(&self) -> &TableName {
        self.inner.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, HaliteResult<Arc<TableDescriptor>>> {
        self.inner.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, HaliteResult<Vec<RegionInfo>>> {
        self.inner.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, HaliteResult<Vec<Row>>> {
        self.inner.get_all(gets)
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, HaliteResult<Vec<HaliteResult<OpResult>>>> {
        let mut durability = self.seen.durability.lock().expect("a list");
        ops.iter().for_each(|op| add_durability(op, &mut durability));
        self.inner.batch(ops)
    }

    fn scan(&self, scan: Scan) -> RowStream {
        RowStream::new(WatchedRows { inner: self.inner.scan(scan), seen: Arc::clone(&self.seen) })
    }
}

impl RowSource for WatchedRows {
    fn next_rows(&mut self) -> BoxFuture<'_, HaliteResult<Vec<Row>>> {
        Box::pin(async move {
            let reads = self.seen.reads.fetch_add(1, Ordering::SeqCst) + 1;
            self.seen.most_reads.fetch_max(reads, Ordering::SeqCst);
            // Others have their turn while this one is open.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            let rows = self.inner.next_rows().await;
            self.seen.reads.fetch_sub(1, Ordering::SeqCst);
            rows
        })
    }
}

fn add_durability(op: &RowOp, found: &mut Vec<Durability>) {
    match op {
        RowOp::CheckAndMutate(check) => add_durability(&check.then, found),
        RowOp::Mutate(group) => group.ops.iter().for_each(|op| add_durability(op, found)),
        other => found.extend(other.mutation().map(|mutation| mutation.durability)),
    }
}

fn watched(store: &TestStore) -> (SqlContext, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let inner = Arc::clone(store.store.cluster());
    (SqlContext::new(Arc::new(Watched { inner, seen: Arc::clone(&seen) })), seen)
}

fn run(store: &TestStore, sql: &SqlContext, text: &str) -> Rows {
    store.runtime.block_on(async {
        let mut answer = sql.run(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
        Rows::of(&mut answer).await.unwrap_or_else(|error| panic!("{text}: {error}"))
    })
}

#[test]
fn scan_concurrency_limits_the_reads_of_a_scan() {
    let store = TestStore::new();
    store
        .run("CREATE TABLE t (v I64, ROW KEY (SALT(8 BY k), k STRING)) SPLIT BY SALT")
        .expect("a table");
    store
        .run("UPSERT INTO t SELECT 'k' || n, n FROM generate_series(1, 200) AS s (n)")
        .expect("rows");
    let (sql, seen) = watched(&store);
    let query = "SELECT k FROM t ORDER BY k LIMIT 150";
    let most = || {
        seen.most_reads.store(0, Ordering::SeqCst);
        let rows = run(&store, &sql, query).rows;
        assert_eq!(rows.len(), 150);
        seen.most_reads.load(Ordering::SeqCst)
    };
    assert!(most() > 2, "{}", seen.most_reads.load(Ordering::SeqCst));
    run(&store, &sql, "SET halite.scan_concurrency = 2");
    assert!(most() <= 2);
    run(&store, &sql, "SET halite.scan_concurrency = 1");
    assert_eq!(most(), 1);
}

#[test]
fn durability_is_that_of_each_write_of_the_session() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, n I64 COUNTER, ROW KEY (k STRING))").expect("a table");
    let (sql, seen) = watched(&store);
    let writes = [
        "UPSERT INTO t (k, v) VALUES ('a', 1)",
        "INSERT INTO t (k, v) VALUES ('b', 1)",
        "UPDATE t SET v = 2 WHERE k = 'a'",
        "INSERT INTO t (k, n) VALUES ('a', 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1",
        "DELETE FROM t WHERE k = 'b'",
    ];
    let found = || {
        writes.iter().for_each(|text| drop(run(&store, &sql, text)));
        std::mem::take(&mut *seen.durability.lock().expect("a list"))
    };
    let by_default = found();
    assert!(by_default.iter().all(|one| *one == Durability::UseDefault), "{by_default:?}");
    for (name, durability) in [
        ("async", Durability::AsyncWal),
        ("fsync", Durability::FsyncWal),
        ("skip", Durability::SkipWal),
        ("sync", Durability::SyncWal),
        ("table", Durability::UseDefault),
    ] {
        run(&store, &sql, &format!("SET halite.durability = '{name}'"));
        let found = found();
        assert!(found.len() >= writes.len(), "{found:?}");
        assert!(found.iter().all(|one| *one == durability), "{name}: {found:?}");
    }
}

#[test]
fn merge_joins_spill_where_hash_joins_end() {
    let store = TestStore::new();
    let resources = Resources { memory_bytes: 6 << 20, ..Resources::default() };
    let cluster = Arc::clone(store.store.cluster());
    let sql = SqlContext::with_resources(cluster, &resources).expect("a session");
    let side = |name: &str| {
        format!(
            "(SELECT n AS k, repeat('x', 100) || n AS t FROM generate_series(1, 60000) AS s (n)) \
             AS {name}"
        )
    };
    let query = format!(
        "SELECT count(*), max(a.t) FROM {} JOIN {} ON a.k = b.k WHERE a.t <> b.t || 'y'",
        side("a"),
        side("b")
    );
    let explain = |sql: &SqlContext| {
        let rows = run(&store, sql, &format!("EXPLAIN {query}")).rows;
        rows.into_iter().flatten().collect::<Vec<String>>().join("\n")
    };
    assert!(explain(&sql).contains("HashJoinExec"));
    let failed = store.runtime.block_on(async {
        let mut answer = sql.run(&query).await?;
        Rows::of(&mut answer).await
    });
    let error = failed.expect_err("more than there is");
    assert_eq!(error.state, SqlState::OutOfMemory, "{error}");
    assert!(error.message.contains("halite.join = 'merge'"), "{error}");
    run(&store, &sql, "SET halite.join = 'merge'");
    assert!(explain(&sql).contains("SortMergeJoin"), "{}", explain(&sql));
    let longest = format!("{}9999", "x".repeat(100));
    assert_eq!(run(&store, &sql, &query).rows, [["60000".to_owned(), longest]]);
}
