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
