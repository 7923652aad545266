//! Damage on the disk, as a statement reports it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite_sql::SqlContext;

use crate::store::Rows;

/// Returns the store files of a family below a directory.
fn store_files(directory: &Path, family: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(store_files(&path, family));
        } else if path.parent().is_some_and(|parent| parent.ends_with(family)) {
            files.push(path);
        }
    }
    files
}

#[test]
fn damaged_block_of_a_store_file_ends_the_statement_with_its_place() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let run = |text: &str| {
        let store = halite::open(directory.path()).expect("a store");
        let sql = SqlContext::new(Arc::clone(store.cluster()));
        let ran = runtime.block_on(async { Rows::of(&mut sql.run(text).await?).await });
        store.flush("t").expect("a flush");
        ran
    };
    run("CREATE TABLE t (v I64 FAMILY fam, ROW KEY (k I64))").expect("a table");
    run("INSERT INTO t SELECT value, value + 0 FROM generate_series(1, 1000)").expect("rows");
    let files = store_files(directory.path(), "fam");
    assert_eq!(files.len(), 1, "{files:?}");
    let mut bytes = std::fs::read(&files[0]).expect("a file");
    // Behind the header of the first block of cells.
    bytes[100] ^= 0xff;
    std::fs::write(&files[0], bytes).expect("a file");
    let error = run("SELECT sum(v) FROM t").expect_err("a damaged file");
    assert_eq!(error.state.code(), "XX001", "{error}");
    assert!(error.message.contains("fam"), "{error}");
}
