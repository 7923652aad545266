//! Checks of what is written to families with merged cells.
//!
//! The server stamps every contribution and every marker, so that a marker is later than all
//! contributions that it cuts off, merged or not. A marker with a timestamp of its own would find
//! some contributions merged into a later cell and others not yet.

use halite_types::key::to_string_binary;
use halite_types::{CellRef, CellType, Error, LATEST_TIMESTAMP, MergeOperator, Result, RowOp};

use super::snapshot::RegionSnapshot;

/// Checks an operation that is not made of others.
///
/// # Errors
/// `InvalidRequest` with the column.
pub(super) fn check_merged_op(snapshot: &RegionSnapshot, op: &RowOp) -> Result<()> {
    if !snapshot.settings.merges {
        return Ok(());
    }
    let mutation = match op {
        RowOp::Put(op) => op.mutation(),
        RowOp::Delete(op) => {
            let is_stamped = op.mutation().cells().is_empty() && op.timestamp != LATEST_TIMESTAMP;
            if is_stamped {
                return Err(Error::invalid(format!(
                    "row {}: the table has merged columns, whose deletes have no timestamp of \
                     their own; leave it out, or name the other families",
                    to_string_binary(op.row())
                )));
            }
            op.mutation()
        }
        RowOp::Increment(op) => {
            return op.mutation().cells().iter().try_for_each(|cell| {
                match snapshot.merge_of(cell) {
                    None => Ok(()),
                    Some(MergeOperator::Sum) => check_untagged(cell),
                    Some(_) => Err(refused(cell, "is not a sum; put a contribution to it instead")),
                }
            });
        }
        RowOp::Append(op) => {
            let merged =
                op.mutation().cells().iter().find(|cell| snapshot.merge_of(*cell).is_some());
            return match merged {
                Some(cell) => Err(refused(cell, "is merged; put a contribution to it instead")),
                None => Ok(()),
            };
        }
        RowOp::Mutate(_) | RowOp::CheckAndMutate(_) => return Ok(()),
    };
    mutation.cells().iter().try_for_each(|cell| check_merged_cell(snapshot, cell))
}

/// Checks a cell as the client sent it, before it is stamped.
///
/// # Errors
/// As [`check_merged_op`].
pub(super) fn check_merged_cell(snapshot: &RegionSnapshot, cell: CellRef<'_>) -> Result<()> {
    if !snapshot.settings.merges {
        return Ok(());
    }
    let Some(operator) = snapshot.merge_of(cell) else { return Ok(()) };
    if cell.timestamp() != LATEST_TIMESTAMP {
        let text = "is merged, and the server stamps its cells; leave out the timestamp";
        return Err(refused(cell, text));
    }
    if cell.is_delete() {
        let of_version = [CellType::Delete, CellType::DeleteFamilyVersion]
            .iter()
            .any(|of_version| of_version.code() == cell.type_code());
        let text = "is merged and has no versions to delete; delete all of the column";
        return if of_version { Err(refused(cell, text)) } else { Ok(()) };
    }
    check_untagged(cell)?;
    operator.check(cell.value()).map_err(|error| refused(cell, &format!(": {}", error.message())))
}

fn check_untagged(cell: CellRef<'_>) -> Result<()> {
    if cell.tags().is_empty() {
        return Ok(());
    }
    let text = "is merged, and its cells have no tags or time to live of their own; set the TTL of \
                the family";
    Err(refused(cell, text))
}

fn refused(cell: CellRef<'_>, text: &str) -> Error {
    let space = if text.starts_with(':') { "" } else { " " };
    Error::invalid(format!(
        "row {}, column {}:{}{space}{text}",
        to_string_binary(cell.row()),
        to_string_binary(cell.family()),
        to_string_binary(cell.qualifier())
    ))
}
