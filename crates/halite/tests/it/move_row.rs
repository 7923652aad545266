//! Moves of rows to another key.

use std::sync::Arc;

use halite::table::TableExt as _;
use halite::{
    BlockingCluster, BoxFuture, Error, ErrorKind, FamilyDescriptor, Get, MoveResult, OpResult, Put,
    RegionInfo, Result, Row, RowOp, RowStream, Scan, Table, TableDescriptor, TableName, block_on,
    move_row,
};

struct TestTable {
    table: Arc<dyn Table>,
    cluster: BlockingCluster,
    _directory: tempfile::TempDir,
}

/// Table with families f and g that keep five versions.
fn test_table() -> TestTable {
    let directory = tempfile::tempdir().unwrap();
    let cluster = BlockingCluster::clone(&halite::open(directory.path()).unwrap());
    let name: TableName = "t".parse().unwrap();
    let families = ["f", "g"].map(|family| FamilyDescriptor::new(family).versions(5));
    let descriptor =
        families.into_iter().fold(TableDescriptor::new(name.clone()), TableDescriptor::family);
    cluster.create_table(descriptor, &[]).unwrap();
    TestTable { table: cluster.cluster().table(&name), cluster, _directory: directory }
}

impl TestTable {
    fn put(&self, row: &'static str, column: (&str, &str), time: i64, value: &str) {
        block_on(self.table.mutate(Put::new(row).add_at(column.0, column.1, time, value).into()))
            .unwrap();
    }

    fn cells(&self, row: &'static str) -> Vec<(String, i64, String)> {
        let row = block_on(self.table.get(Get::new(row).all_versions())).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        row.iter()
            .map(|cell| {
                (
                    text(cell.family()) + ":" + &text(cell.qualifier()),
                    cell.timestamp(),
                    text(cell.value()),
                )
            })
            .collect()
    }

    fn moves(&self, from: &'static str, to: &'static str, overwrite: bool) -> Result<MoveResult> {
        block_on(move_row(&*self.table, from, to, overwrite))
    }
}

#[test]
fn row_moves_with_all_families_versions_and_timestamps() {
    let place = test_table();
    for (column, time, value) in
        [(("f", "a"), 10, "one"), (("f", "a"), 20, "two"), (("g", "b"), 15, "three")]
    {
        place.put("old", column, time, value);
    }
    let before = place.cells("old");
    assert_eq!(place.moves("old", "new", false).unwrap(), MoveResult { cells: 3, remaining: 0 });
    assert_eq!((place.cells("new"), place.cells("old")), (before, Vec::new()));
}

#[test]
fn existing_row_is_replaced_only_with_overwrite() {
    let place = test_table();
    place.put("old", ("f", "a"), 10, "moved");
    place.put("new", ("f", "a"), 30, "newer than what is moved");
    place.put("new", ("g", "z"), 5, "in another family");
    let error = place.moves("old", "new", false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().contains("has a row new already"), "{error}");
    assert_eq!((place.cells("old").len(), place.cells("new").len()), (1, 2));
    assert_eq!(place.moves("old", "new", true).unwrap().cells, 1);
    assert_eq!(place.cells("new"), [("f:a".to_owned(), 10, "moved".to_owned())]);
    assert!(place.cells("old").is_empty());
}

#[test]
fn missing_row_and_invalid_new_keys_are_rejected() {
    let place = test_table();
    place.put("a", ("f", "q"), 1, "v");
    for (from, to, said) in
        [("none", "b", "has no row none"), ("a", "a", "its own key"), ("a", "", "empty")]
    {
        let error = place.moves(from, to, false).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(place.cells("a").len(), 1);
}

#[test]
fn copy_hidden_by_markers_keeps_the_old_row() {
    let place = test_table();
    place.put("a", ("f", "q"), 10, "v");
    place.moves("a", "b", false).unwrap();
    // Under the old key, the move's marker is as new as the cell that would be restored.
    let error = place.moves("b", "a", false).unwrap_err();
    assert!(error.to_string().contains("major compaction"), "{error}");
    assert_eq!(place.cells("b").len(), 1);
    let name: TableName = "t".parse().unwrap();
    place.cluster.flush(&name).unwrap();
    block_on(place.cluster.cluster().admin().compact(&name, None, halite::CompactionKind::Major))
        .unwrap();
    assert_eq!(place.moves("b", "a", false).unwrap().cells, 1);
    assert_eq!((place.cells("a").len(), place.cells("b").len()), (1, 0));
}

/// Table whose process ends at one of its writes, counted from 0.
struct Crashing {
    table: Arc<dyn Table>,
    writes_left: std::sync::atomic::AtomicUsize,
}

impl Table for Crashing {
    fn name(&self) -> &TableName {
        self.table.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.table.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.table.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.table.get_all(gets)
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        use std::sync::atomic::Ordering::Relaxed;
        match self.writes_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => self.table.batch(ops),
            Err(_) => Box::pin(std::future::ready(Err(Error::new(
                ErrorKind::Stopped,
                "the process ends here",
            )))),
        }
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.table.scan(scan)
    }
}

#[test]
fn interrupted_move_loses_no_row_and_can_be_repeated() {
    for writes in 0..2 {
        let place = test_table();
        place.put("old", ("f", "a"), 10, "one");
        place.put("old", ("g", "b"), 20, "two");
        let row = place.cells("old");
        let crashing = Crashing { table: Arc::clone(&place.table), writes_left: writes.into() };
        let error = block_on(move_row(&crashing, "old", "new", false)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
        assert!(place.cells("old") == row || place.cells("new") == row, "after {writes} writes");
        assert_eq!(place.moves("old", "new", false).unwrap().cells, 2);
        assert_eq!((place.cells("new"), place.cells("old")), (row, Vec::new()));
    }
}

/// Table to which another writer writes before each write.
struct Written {
    table: Arc<dyn Table>,
}

impl Table for Written {
    fn name(&self) -> &TableName {
        self.table.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.table.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.table.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.table.get_all(gets)
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        Box::pin(async move {
            let other = Put::new("old").add_at("f", "a", 11, "written meanwhile");
            self.table.batch(vec![other.into()]).await?;
            self.table.batch(ops).await
        })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        self.table.scan(scan)
    }
}

#[test]
fn concurrent_writes_during_move_keep_the_old_key() {
    let place = test_table();
    place.put("old", ("f", "a"), 10, "moved");
    let written = Written { table: Arc::clone(&place.table) };
    let moved = block_on(move_row(&written, "old", "new", false)).unwrap();
    assert_eq!(moved, MoveResult { cells: 1, remaining: 1 });
    assert_eq!(place.cells("old"), [("f:a".to_owned(), 11, "written meanwhile".to_owned())]);
    assert_eq!(place.cells("new"), [("f:a".to_owned(), 10, "moved".to_owned())]);
}
