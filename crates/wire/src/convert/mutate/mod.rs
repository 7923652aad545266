//! `MutationProto`: puts, deletes, increments and appends, with their cells inside the message or
//! in the cell block.
//!
//! Cells of a cell block are copied into the operation once, unchanged. A mutation that changes
//! nothing (a put, an increment or an append without cells) is legal on the wire, and HBase
//! responds with success. The operations of `halite-types` require a column, so it becomes an empty
//! [`RowMutations`], which the store accepts; [`row_mutations`] omits it from a group. The
//! message's `mutate_type`, not the operation, determines the response.

mod cells;
mod write;

use bytes::Bytes;
use halite_types::op::check_row;
use halite_types::{
    Append, CellRef, Cells, CellsBuilder, Delete, Durability, Increment, LATEST_TIMESTAMP, Put,
    RowMutations, RowOp,
};

use super::{Result, attribute, display_bytes, flag, refused, selection};
use crate::proto as pb;
use cells::{CellCollector, MAX_INSIDE_BYTES, bytes_of};
use pb::mutation_proto::MutationType;

pub use write::{into_counted, to_counted, to_proto};

const TTL: &str = "_ttl";
const RETURN_RESULTS: &str = "_rr_";
/// Attributes that restrict who may read the cells (HBase: `CellVisibility`, `Mutation.setACL`).
const PROTECTION: [(&str, &str); 2] =
    [("VISIBILITY", "visibility labels"), ("acl", "access control lists")];

/// Returns the operation of a client's request. Splits the cells that the message counts off the
/// front of `cells`, even on failure.
///
/// The caller handles the nonce (`proto.nonce`, and the group in the request).
///
/// # Errors
/// `WrongRowIOException` for a cell of another row; `DoNotRetryIOException` for fewer cells than
/// counted, a bad row, family, type or timestamp, a missing value, an amount that is not 8 bytes
/// long, a visibility label or access control list.
pub fn from_proto(proto: &pb::MutationProto, cells: &mut Cells) -> Result<RowOp> {
    let run = take_cells(proto, cells)?;
    let kind = mutation_type(proto)?;
    let first_row =
        || run.as_ref().and_then(Cells::first).map(|cell| Bytes::copy_from_slice(cell.row()));
    let row = proto
        .row
        .clone()
        .or_else(first_row)
        .ok_or_else(|| refused("a mutation has neither a row nor cells; set the row"))?;
    check_row(&row)?;
    refuse_protection(proto)?;
    let mut gathered = CellCollector::new(&row, ttl(proto)?);
    match &run {
        Some(run) => gathered.push_cells(run, kind)?,
        None => gathered.push_columns(proto, kind)?,
    }
    let cells = gathered.finish();
    if cells.is_empty() && kind != MutationType::Delete {
        return Ok(RowMutations::new(row).into());
    }
    operation(proto, kind, row, cells)
}

/// Returns the approximate memory in bytes of the cells inside a message after collection; 0 if
/// they are in the cell block. The result is available before the collection and can be thousands
/// of times the message size.
pub fn inside_bytes(proto: &pb::MutationProto) -> usize {
    let is_counted = proto.associated_cell_count.is_some_and(|count| count != 0);
    if is_counted { 0 } else { bytes_of(proto.row(), &proto.column_value) }
}

/// Checks that the cells inside the messages of one call do not exceed the limit of one message. A
/// server that collects the cells of many messages calls this first: [`from_proto`] checks only one
/// message.
///
/// # Errors
/// `DoNotRetryIOException` with the size.
pub fn check_inside(bytes: usize) -> Result<()> {
    if bytes <= MAX_INSIDE_BYTES {
        return Ok(());
    }
    Err(refused(format!(
        "the cells of the call's mutations take {bytes} bytes, more than {MAX_INSIDE_BYTES}; write \
         fewer in one call"
    )))
}

/// Splits the cells of a message that will not be applied off the front of `cells`, as many as are
/// available, so that the next message finds its own.
pub fn skip_cells(proto: &pb::MutationProto, cells: &mut Cells) {
    if let Ok(Some(count)) = cell_count(proto)
        && cells.split_to(count).is_none()
    {
        *cells = Cells::default();
    }
}

/// Groups several operations of a row, without those that change nothing.
pub fn row_mutations(row: impl Into<Bytes>, ops: impl IntoIterator<Item = RowOp>) -> RowMutations {
    let mut all = RowMutations::new(row);
    for op in ops {
        match op {
            RowOp::Mutate(inner) => all.ops.extend(inner.ops),
            op => all.ops.push(op),
        }
    }
    all
}

/// Returns the number of cells in the cell block; `None` if the message contains its cells.
fn cell_count(proto: &pb::MutationProto) -> Result<Option<usize>> {
    match proto.associated_cell_count {
        None | Some(0) => Ok(None),
        Some(count) => usize::try_from(count)
            .map(Some)
            .map_err(|_| refused(format!("associated_cell_count is {count}; use 0 or more"))),
    }
}

fn take_cells(proto: &pb::MutationProto, cells: &mut Cells) -> Result<Option<Cells>> {
    let Some(count) = cell_count(proto)? else { return Ok(None) };
    let there = cells.len();
    if let Some(run) = cells.split_to(count) {
        return Ok(Some(run));
    }
    *cells = Cells::default();
    let row = display_bytes(proto.row());
    Err(refused(format!(
        "Cell count of {count} but at index {there} no cell returned: row {row}; send all cells in \
         the cell block"
    )))
}

fn mutation_type(proto: &pb::MutationProto) -> Result<MutationType> {
    let number = proto.mutate_type.unwrap_or_default();
    MutationType::try_from(number).map_err(|_| {
        refused(format!("unknown mutation type {number}: expected 0 (APPEND) to 3 (DELETE)"))
    })
}

/// Rejects labels and access lists of cells: they are not stored, and the client must not assume
/// that they are enforced.
fn refuse_protection(proto: &pb::MutationProto) -> Result<()> {
    match PROTECTION.into_iter().find(|(name, _)| attribute(&proto.attribute, name).is_some()) {
        Some((name, what)) => Err(refused(format!(
            "attribute {name}: {what} of cells are not supported by Halite; remove the attribute"
        ))),
        None => Ok(()),
    }
}

/// Returns the time to live of all cells, as in HBase's attribute: milliseconds in 8 bytes.
fn ttl(proto: &pb::MutationProto) -> Result<Option<[u8; 8]>> {
    let Some(bytes) = attribute(&proto.attribute, TTL) else { return Ok(None) };
    let ttl: [u8; 8] = bytes
        .try_into()
        .map_err(|_| refused(format!("attribute {TTL} has {} bytes; give 8", bytes.len())))?;
    Ok((i64::from_be_bytes(ttl) != i64::MAX).then_some(ttl))
}

fn operation(
    proto: &pb::MutationProto,
    kind: MutationType,
    row: Bytes,
    cells: CellsBuilder,
) -> Result<RowOp> {
    let durability = durability(proto.durability());
    let time_range = selection::time_range(proto.time_range.as_ref())?;
    let return_results = flag(&proto.attribute, RETURN_RESULTS)?.unwrap_or(true);
    Ok(match kind {
        MutationType::Put => Put::from_cells(row, cells, durability).into(),
        MutationType::Delete => {
            Delete::from_cells(row, cells, durability).up_to(timestamp_of(proto.timestamp)?).into()
        }
        MutationType::Increment => {
            let mut increment = Increment::from_cells(row, cells, durability);
            increment.mutation().cells().iter().try_for_each(check_amount)?;
            (increment.time_range, increment.return_results) = (time_range, return_results);
            increment.into()
        }
        MutationType::Append => {
            let mut append = Append::from_cells(row, cells, durability);
            (append.time_range, append.return_results) = (time_range, return_results);
            append.into()
        }
    })
}

fn durability(durability: pb::mutation_proto::Durability) -> Durability {
    use pb::mutation_proto::Durability as Wire;
    match durability {
        Wire::UseDefault => Durability::UseDefault,
        Wire::SkipWal => Durability::SkipWal,
        Wire::AsyncWal => Durability::AsyncWal,
        Wire::SyncWal => Durability::SyncWal,
        Wire::FsyncWal => Durability::FsyncWal,
    }
}

fn check_amount(cell: CellRef<'_>) -> Result<()> {
    if cell.value().len() == 8 {
        return Ok(());
    }
    let (row, length) = (display_bytes(cell.row()), cell.value().len());
    Err(refused(format!(
        "Field is not a long, it's {length} bytes wide: the amount for row {row}; pass an 8-byte \
         big-endian number"
    )))
}

/// A missing timestamp means the time at which the mutation is applied.
fn timestamp_of(timestamp: Option<u64>) -> Result<i64> {
    let timestamp = timestamp.map_or(LATEST_TIMESTAMP, u64::cast_signed);
    if timestamp < 0 {
        return Err(refused(format!(
            "Timestamp cannot be negative. ts={timestamp}; pass milliseconds since 1970 or omit it"
        )));
    }
    Ok(timestamp)
}
