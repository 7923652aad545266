//! Writers at the same time: what one row promises holds between them.

use std::sync::Arc;

use halite_sql::{SqlContext, SqlError, SqlState};

use crate::store::TestStore;

const WRITERS: usize = 16;

/// Runs what `work` does with a session of its own for each writer; returns the sums of the counts
/// of their statements.
fn together<F>(store: &TestStore, work: impl Fn(usize, Arc<SqlContext>) -> F) -> Vec<u64>
where
    F: Future<Output = Result<u64, SqlError>> + Send + 'static,
{
    store.runtime.block_on(async {
        let tasks: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let sql = Arc::new(SqlContext::new(Arc::clone(store.store.cluster())));
                tokio::spawn(work(writer, sql))
            })
            .collect();
        let mut counts = Vec::new();
        for task in tasks {
            counts.push(task.await.expect("a writer").expect("its statements"));
        }
        counts
    })
}

async fn count(sql: &SqlContext, text: &str) -> Result<u64, SqlError> {
    let answer = sql.run(text).await?;
    let tag = answer.tag().unwrap_or_default();
    Ok(tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0))
}

#[test]
fn counters_of_all_writers_are_exact() {
    let store = TestStore::new();
    store
        .run("CREATE TABLE c (n I64 COUNTER, m I64 COUNTER, ROW KEY (k STRING))")
        .expect("a table");
    store.run("INSERT INTO c (k, n) VALUES ('there', 0)").expect("a row");
    together(&store, |_, sql| async move {
        for _ in 0..25 {
            // One creates the row, the others add to it.
            let upsert = "INSERT INTO c (k, n) VALUES ('a', 1) \
                          ON CONFLICT (k) DO UPDATE SET n = c.n + excluded.n";
            assert_eq!(count(&sql, upsert).await?, 1);
            let update = "UPDATE c SET n = n + 2, m = m - 1 WHERE k = 'there'";
            assert_eq!(count(&sql, update).await?, 1);
        }
        Ok(0)
    });
    let sum = 25 * WRITERS;
    assert_eq!(
        store.rows("SELECT k, n, m FROM c"),
        [format!("a|{sum}|0"), format!("there|{}|-{sum}", 2 * sum)]
    );
}

#[test]
fn a_key_is_inserted_once() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (writer I32, ROW KEY (k STRING))").expect("a table");
    let counts = together(&store, |writer, sql| async move {
        let mut inserted = 0;
        for key in 0..20 {
            let text = format!("INSERT INTO t VALUES ('k{key}', {writer})");
            match count(&sql, &text).await {
                Ok(rows) => inserted += rows,
                Err(error) => assert_eq!(error.state, SqlState::RowExists, "{error}"),
            }
            let quiet = format!("INSERT INTO t VALUES ('q{key}', {writer}) ON CONFLICT DO NOTHING");
            inserted += count(&sql, &quiet).await?;
        }
        Ok(inserted)
    });
    assert_eq!(counts.iter().sum::<u64>(), 40);
    for (writer, inserted) in counts.iter().enumerate() {
        let of_writer = format!("SELECT count(*) FROM t WHERE writer = {writer}");
        assert_eq!(store.rows(&of_writer), [inserted.to_string()]);
    }
}

#[test]
fn each_row_is_claimed_once() {
    let store = TestStore::new();
    store.run("CREATE TABLE jobs (state STRING, worker I32, ROW KEY (id I32))").expect("a table");
    let rows: Vec<String> = (0..60).map(|id| format!("({id}, 'new')")).collect();
    store.run(&format!("INSERT INTO jobs (id, state) VALUES {}", rows.join(", "))).expect("rows");
    let counts = together(&store, |worker, sql| async move {
        let mut claimed = 0;
        // By the filter of the scan, by a condition that DataFusion checks, and one at a time.
        for text in [
            format!(
                "UPDATE jobs SET state = 'taken', worker = {worker} WHERE state = 'new' AND id < 20"
            ),
            format!(
                "UPDATE jobs SET state = upper(state), worker = {worker} \
                 WHERE lower(state) = state AND state = 'new' AND id >= 20 AND id < 40"
            ),
        ] {
            claimed += count(&sql, &text).await?;
        }
        let one = format!(
            "UPDATE jobs SET state = 'taken', worker = {worker} WHERE state = 'new' AND id >= 40 \
             ORDER BY id LIMIT 1"
        );
        loop {
            match count(&sql, &one).await {
                Ok(0) => return Ok(claimed),
                Ok(rows) => claimed += rows,
                Err(error) => assert_eq!(error.state, SqlState::Contention, "{error}"),
            }
        }
    });
    assert_eq!(counts.iter().sum::<u64>(), 60, "{counts:?}");
    for (worker, claimed) in counts.iter().enumerate() {
        let of_worker = format!("SELECT count(*) FROM jobs WHERE worker = {worker}");
        assert_eq!(store.rows(&of_worker), [claimed.to_string()]);
    }
    assert_eq!(store.rows("SELECT count(*) FROM jobs WHERE state = 'new'"), ["0"]);
}

#[test]
fn sums_that_are_read_and_written_lose_nothing() {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64 NOT NULL, ROW KEY (k STRING))").expect("a table");
    store.run("INSERT INTO t VALUES ('a', 0)").expect("a row");
    let counts = together(&store, |_, sql| async move {
        let mut done = 0;
        while done < 5 {
            let update = "UPDATE t SET v = v + 1 WHERE k = 'a'";
            let upsert = "INSERT INTO t VALUES ('a', 1) ON CONFLICT DO UPDATE SET v = t.v + 1";
            let text = if done % 2 == 0 { update } else { upsert };
            match count(&sql, text).await {
                Ok(rows) => done += rows,
                Err(error) => assert_eq!(error.state, SqlState::Contention, "{error}"),
            }
        }
        Ok(done)
    });
    assert_eq!(store.rows("SELECT v FROM t"), [counts.iter().sum::<u64>().to_string()]);
}

#[test]
fn moved_rows_keep_versions_and_are_never_lost() {
    let store = TestStore::new();
    store
        .run("CREATE TABLE t (v I64, FAMILY x, ROW KEY (k STRING)) WITH (VERSIONS = 3)")
        .expect("a table");
    let family = store.family("t");
    let table = store.store.table("t").expect("a table");
    for at in 1..=3i64 {
        let put = halite::Put::new("a").add_at(family.clone(), "v", at, at.to_be_bytes());
        table.put(put.add_at("x", "extra", at, b"e")).expect("a put");
    }
    store.run("MOVE ROW IN t (k = 'a') TO (k = 'b')").expect("moved");
    assert_eq!(store.rows("SELECT k, v FROM t"), ["b|3"]);
    let row = table.get(halite::Get::new("b").all_versions()).expect("a row");
    assert_eq!(row.len(), 6);
    // A move that ended after its copy is finished by the same statement.
    for at in 1..=3i64 {
        let put = halite::Put::new("c").add_at(family.clone(), "v", at, at.to_be_bytes());
        table.put(put.add_at("x", "extra", at, b"e")).expect("a put");
    }
    store.run("MOVE ROW IN t (k = 'b') TO (k = 'c')").expect("finished");
    assert_eq!(store.rows("SELECT k, v FROM t"), ["c|3"]);
}
