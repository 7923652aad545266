//! Moves of a row to another key: the row is copied, read back, and only then deleted.

use halite_types::cell::{CellParts, CellType};
use halite_types::op::check_row;
use halite_types::{
    Bytes, CheckAndMutate, Delete, Durability, Error, Get, Put, Result, Row, RowMutations, RowOp,
    Table, TableExt as _,
};
use halite_types::{cell::CellsBuilder, key::to_string_binary};

/// Result of [`move_row`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveResult {
    /// Cells of the row, in all versions.
    pub cells: usize,
    /// Cells still under the old key: they were written, with later timestamps, during the move.
    pub remaining: usize,
}

/// Moves the row `from` of a table to the key `to`, with all families, and all versions with their
/// timestamps. A row key cannot be changed, so the row is copied, the copy is read back and
/// compared, and then the old row is deleted. A failure between these steps leaves at least one
/// copy, usually both. The same call again finishes the move.
///
/// The row `to` must not exist, unless it is a copy left by an earlier call, or `overwrite` allows
/// replacing it. A row created there concurrently is detected only through the first copied column.
/// Times to live of single cells are not copied if the cluster does not return them, as HBase does
/// not.
///
/// ```
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use halite::{FamilyDescriptor, Get, Put, TableDescriptor};
///
/// let store = halite::open(directory.path())?;
/// store.create_table(TableDescriptor::new("users".parse()?).family(FamilyDescriptor::new("u")), &[])?;
/// let users = store.table("users")?;
/// users.put(Put::new("ada").add("u", "born", "1815"))?;
/// let moved = users.move_row("ada", "lovelace", false)?;
/// assert_eq!((moved.cells, moved.remaining), (1, 0));
/// assert_eq!(users.get(Get::new("lovelace"))?.value("u", "born"), Some(&b"1815"[..]));
/// assert!(users.get(Get::new("ada"))?.is_empty());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `InvalidRequest` if the row `from` does not exist, if both keys are equal, if another row exists
/// at `to`, or if delete markers hide the copy. In each case the old row stays unchanged. Otherwise
/// as [`Table::get_all`] and [`Table::batch`].
pub async fn move_row(
    table: &dyn Table,
    from: impl Into<Bytes>,
    to: impl Into<Bytes>,
    overwrite: bool,
) -> Result<MoveResult> {
    let (from, to) = (from.into(), to.into());
    check_row(&to)?;
    if from == to {
        return Err(Error::invalid(format!(
            "row {} would be moved to its own key; give another one",
            to_string_binary(&from)
        )));
    }
    let source = whole(table, &from).await?;
    if source.is_empty() {
        let nothing = format!(
            "table {} has no row {}, so nothing was moved; look which rows there are with a scan",
            table.name(),
            to_string_binary(&from)
        );
        return Err(Error::invalid(nothing));
    }
    let there = whole(table, &to).await?;
    if !is_copy(&source, &there) {
        if !there.is_empty() && !overwrite {
            return Err(occupied(table, &to));
        }
        write(table, &source, &there, &to).await?;
        let copied = whole(table, &to).await?;
        if !source.iter().all(|cell| holds(&copied, &cell)) {
            return Err(Error::invalid(format!(
                "the copy of row {} does not read back whole under {}: delete markers there are \
                 newer than its cells, or other writers replaced them. The old row is untouched; \
                 run a major compaction of table {}, and move it again",
                to_string_binary(&from),
                to_string_binary(&to),
                table.name()
            )));
        }
    }
    table.mutate(deletion(&source, &from).into()).await?;
    let remaining = whole(table, &from).await?.len();
    Ok(MoveResult { cells: source.len(), remaining })
}

/// Returns all versions of all columns of a row.
async fn whole(table: &dyn Table, row: &Bytes) -> Result<Row> {
    table.get(Get::new(row.clone()).all_versions()).await
}

fn occupied(table: &dyn Table, to: &[u8]) -> Error {
    let key = to_string_binary(to);
    Error::invalid(format!(
        "table {} has a row {key} already, and nothing was moved; choose another key, or say that \
         it is to be replaced",
        table.name()
    ))
}

/// Writes the cells under the new key, replacing the existing ones.
async fn write(table: &dyn Table, source: &Row, there: &Row, to: &Bytes) -> Result<()> {
    let put = Put::from_cells(to.clone(), copied(source, to), Durability::default());
    let Some(first) = source.iter().next() else { return Ok(()) };
    let op: RowOp = if there.is_empty() {
        let (family, qualifier) =
            (Bytes::copy_from_slice(first.family()), Bytes::copy_from_slice(first.qualifier()));
        CheckAndMutate::if_not_exists(to.clone(), family, qualifier, put).into()
    } else {
        // Markers up to a timestamp would hide the copies too, so each existing version is deleted
        // separately.
        let kept = |cell: &halite_types::cell::CellRef<'_>| {
            source.iter().any(|of| {
                (of.family(), of.qualifier(), of.timestamp())
                    == (cell.family(), cell.qualifier(), cell.timestamp())
            })
        };
        let stale: Vec<_> = there.iter().filter(|cell| !kept(cell)).collect();
        if stale.is_empty() {
            put.into()
        } else {
            let delete = stale.iter().fold(Delete::new(to.clone()), |delete, cell| {
                delete.version(cell.family(), cell.qualifier(), cell.timestamp())
            });
            RowMutations::new(to.clone()).add(delete).add(put).into()
        }
    };
    if table.mutate(op).await?.processed { Ok(()) } else { Err(occupied(table, to)) }
}

/// Returns the cells of a row under another key.
fn copied(source: &Row, to: &Bytes) -> CellsBuilder {
    let mut cells = CellsBuilder::default();
    for cell in source {
        cells.push_parts(CellParts {
            row: to,
            family: cell.family(),
            qualifier: cell.qualifier(),
            timestamp: cell.timestamp(),
            cell_type: CellType::Put,
            value: cell.value(),
            tags: cell.tags(),
        });
    }
    cells
}

/// Returns `true` if two rows have the same cells, ignoring their keys.
fn is_copy(source: &Row, other: &Row) -> bool {
    source.len() == other.len() && source.iter().all(|cell| holds(other, &cell))
}

fn holds(row: &Row, cell: &halite_types::cell::CellRef<'_>) -> bool {
    let of = |cell: &halite_types::cell::CellRef<'_>| (cell.timestamp(), cell.value().to_vec());
    row.iter().any(|other| {
        other.family() == cell.family()
            && other.qualifier() == cell.qualifier()
            && of(&other) == of(cell)
    })
}

/// Returns the deletion of the copied cells, per family up to its newest cell. Later writes stay.
fn deletion(source: &Row, from: &Bytes) -> Delete {
    let mut newest: Vec<(Vec<u8>, i64)> = Vec::new();
    for cell in source {
        match newest.last_mut().filter(|(family, _)| family == cell.family()) {
            Some((_, time)) => *time = (*time).max(cell.timestamp()),
            None => newest.push((cell.family().to_vec(), cell.timestamp())),
        }
    }
    newest
        .into_iter()
        .fold(Delete::new(from.clone()), |delete, (family, time)| delete.family_up_to(family, time))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_types::{
        BoxFuture, ErrorKind, FamilyDescriptor, OpResult, RegionInfo, RowStream, Scan,
        TableDescriptor, TableName, block_on,
    };

    use super::*;
    use crate::BlockingCluster;

    struct TestTable {
        table: Arc<dyn Table>,
        cluster: BlockingCluster,
        _directory: tempfile::TempDir,
    }

    /// Table with families f and g that keep five versions.
    fn test_table() -> TestTable {
        let directory = tempfile::tempdir().unwrap();
        let cluster = BlockingCluster::clone(&crate::open(directory.path()).unwrap());
        let name: TableName = "t".parse().unwrap();
        let families = ["f", "g"].map(|family| FamilyDescriptor::new(family).versions(5));
        let descriptor =
            families.into_iter().fold(TableDescriptor::new(name.clone()), TableDescriptor::family);
        cluster.create_table(descriptor, &[]).unwrap();
        TestTable { table: cluster.cluster().table(&name), cluster, _directory: directory }
    }

    impl TestTable {
        fn put(&self, row: &'static str, column: (&str, &str), time: i64, value: &str) {
            block_on(
                self.table.mutate(Put::new(row).add_at(column.0, column.1, time, value).into()),
            )
            .unwrap();
        }

        fn cells(&self, row: &'static str) -> Vec<(String, i64, String)> {
            let row = block_on(whole(&*self.table, &Bytes::from(row))).unwrap();
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

        fn moves(
            &self,
            from: &'static str,
            to: &'static str,
            overwrite: bool,
        ) -> Result<MoveResult> {
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
        assert_eq!(
            place.moves("old", "new", false).unwrap(),
            MoveResult { cells: 3, remaining: 0 }
        );
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
        block_on(place.cluster.cluster().admin().compact(
            &name,
            None,
            halite_types::CompactionKind::Major,
        ))
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
            assert!(
                place.cells("old") == row || place.cells("new") == row,
                "after {writes} writes"
            );
            assert_eq!(place.moves("old", "new", false).unwrap().cells, 2);
            assert_eq!((place.cells("new"), place.cells("old")), (row, Vec::new()));
        }
    }

    #[test]
    fn concurrent_writes_during_move_keep_the_old_key() {
        let place = test_table();
        place.put("old", ("f", "a"), 10, "moved");
        let source = block_on(whole(&*place.table, &Bytes::from("old"))).unwrap();
        place.put("old", ("f", "a"), 11, "written meanwhile");
        block_on(place.table.mutate(deletion(&source, &Bytes::from("old")).into())).unwrap();
        assert_eq!(place.cells("old"), [("f:a".to_owned(), 11, "written meanwhile".to_owned())]);
    }
}
