//! Writes never go through DataFusion.

use halite_sql::SqlState;

use crate::store::TestStore;

fn store() -> TestStore {
    let store = TestStore::new();
    store.run("CREATE TABLE t (v I64, ROW KEY (k STRING))").expect("a table");
    store.run("LOAD INTO t (k, v) VALUES ('a', 1), ('b', 2)").expect("rows");
    store
}

#[test]
fn statements_that_write_within_a_query_are_refused() {
    let store = store();
    for text in [
        "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DELETE",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "SELECT * INTO u FROM t",
    ] {
        let error = store.run(text).expect_err(text);
        assert!(
            matches!(error.state, SqlState::NotSupported | SqlState::Syntax),
            "{text}: {error}"
        );
    }
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["2"]);
}

/// What DataFusion's hooks would lose is kept by the statements of `SqlContext`.
#[test]
fn subqueries_restrict_what_is_deleted() {
    let store = store();
    let tag = |text: &str| store.run(text).expect(text).tag.expect("a tag");
    assert_eq!(tag("DELETE FROM t WHERE k IN (SELECT 'c')"), "DELETE 0");
    assert_eq!(tag("DELETE FROM t WHERE k IN (SELECT 'a')"), "DELETE 1");
    assert_eq!(store.rows("SELECT k FROM t"), ["b"]);
}

/// In DataFusion 55.2 a DELETE whose WHERE is a subquery arrives at the hook of the table without
/// any condition: a hook that deleted what matches no condition would empty the table. The hooks
/// are errors, also for programs that use DataFusion's session.
#[test]
fn hooks_refuse_writes_of_programs() {
    let store = store();
    for text in [
        "DELETE FROM t WHERE k IN (SELECT 'a')",
        "DELETE FROM t WHERE k = 'a'",
        "UPDATE t SET v = 3 WHERE k = 'a'",
        "INSERT INTO t VALUES ('c', 3)",
    ] {
        let error = store.runtime.block_on(async {
            match store.sql.session().sql(text).await {
                Ok(frame) => frame.collect().await.expect_err(text),
                Err(error) => error,
            }
        });
        assert!(
            error.to_string().contains("through DataFusion loses conditions"),
            "{text}: {error}"
        );
    }
    assert_eq!(store.rows("SELECT k, v FROM t"), ["a|1", "b|2"]);
}
