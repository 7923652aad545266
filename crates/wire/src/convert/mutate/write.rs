//! Conversion of operations to messages.

use bytes::Bytes;
use halite_types::cell::tags;
use halite_types::op::Mutation;
use halite_types::{
    CellRef, CellType, Cells, Durability, Error, ErrorKind, LATEST_TIMESTAMP, Result, RowOp,
};

use super::{RETURN_RESULTS, TTL};
use crate::convert::{attribute, selection};
use crate::proto as pb;
use pb::mutation_proto::column_value::QualifierValue;
use pb::mutation_proto::{ColumnValue, DeleteType, MutationType};

/// Returns the message of an operation with its cells inside.
///
/// # Errors
/// `Unsupported` for row mutations and check-and-mutates: those are several messages.
pub fn to_proto(op: &RowOp) -> Result<pb::MutationProto> {
    let (mutation, mut proto) = without_cells(op)?;
    let keep_tags = attribute(&proto.attribute, TTL).is_none();
    proto.column_value = columns(mutation, keep_tags);
    Ok(proto)
}

/// Returns the message of an operation and separately its cells, for the cell block. Cells with
/// tags that such a block would drop stay inside the message; the separate cells are then empty.
///
/// # Errors
/// As [`to_proto`].
pub fn to_counted(op: &RowOp) -> Result<(pb::MutationProto, Cells)> {
    match counted(op)? {
        None => Ok((to_proto(op)?, Cells::default())),
        Some((proto, mutation)) => Ok((proto, mutation.cells().clone().finish())),
    }
}

/// Consumes an operation and returns the same as [`to_counted`] without copying its cells.
///
/// # Errors
/// As [`to_proto`].
pub fn into_counted(mut op: RowOp) -> Result<(pb::MutationProto, Cells)> {
    let Some((proto, _)) = counted(&op)? else { return Ok((to_proto(&op)?, Cells::default())) };
    let cells = op.mutation_mut().map(|mutation| std::mem::take(mutation.cells_mut()).finish());
    Ok((proto, cells.unwrap_or_default()))
}

/// Returns the message with the number of its cells, if they can be sent separately.
fn counted(op: &RowOp) -> Result<Option<(pb::MutationProto, &Mutation)>> {
    let (mutation, mut proto) = without_cells(op)?;
    let loses_tags = attribute(&proto.attribute, TTL).is_none()
        && mutation.cells().iter().any(|cell| !cell.tags().is_empty());
    proto.associated_cell_count =
        i32::try_from(mutation.cells().len()).ok().filter(|count| *count > 0 && !loses_tags);
    Ok(proto.associated_cell_count.is_some().then_some((proto, mutation)))
}

/// Returns the message fields other than the cells.
fn without_cells(op: &RowOp) -> Result<(&Mutation, pb::MutationProto)> {
    let (kind, mutation, timestamp, time_range, return_results) = match op {
        RowOp::Put(put) => (MutationType::Put, put.mutation(), LATEST_TIMESTAMP, None, true),
        RowOp::Delete(delete) => {
            (MutationType::Delete, delete.mutation(), delete.timestamp, None, true)
        }
        RowOp::Increment(increment) => (
            MutationType::Increment,
            increment.mutation(),
            LATEST_TIMESTAMP,
            Some(increment.time_range),
            increment.return_results,
        ),
        RowOp::Append(append) => (
            MutationType::Append,
            append.mutation(),
            LATEST_TIMESTAMP,
            Some(append.time_range),
            append.return_results,
        ),
        RowOp::Mutate(_) | RowOp::CheckAndMutate(_) => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "several mutations of a row do not fit one message; send them as actions of a \
                 multi",
            ));
        }
    };
    let pair = |name: &str, value: Vec<u8>| pb::NameBytesPair {
        name: name.to_string(),
        value: Some(value.into()),
    };
    let ttl = common_ttl(mutation).map(|ttl| pair(TTL, ttl.to_be_bytes().to_vec()));
    let proto = pb::MutationProto {
        row: Some(mutation.row().clone()),
        mutate_type: Some(kind.into()),
        timestamp: Some(timestamp.cast_unsigned()),
        attribute: ttl
            .into_iter()
            .chain((!return_results).then(|| pair(RETURN_RESULTS, vec![0])))
            .collect(),
        durability: Some(durability_to_proto(mutation.durability).into()),
        time_range: time_range.and_then(selection::some_time_range),
        ..pb::MutationProto::default()
    };
    Ok((mutation, proto))
}

fn durability_to_proto(durability: Durability) -> pb::mutation_proto::Durability {
    use pb::mutation_proto::Durability as Wire;
    match durability {
        Durability::UseDefault => Wire::UseDefault,
        Durability::SkipWal => Wire::SkipWal,
        Durability::AsyncWal => Wire::AsyncWal,
        Durability::SyncWal => Wire::SyncWal,
        Durability::FsyncWal => Wire::FsyncWal,
    }
}

/// Returns the time to live of the mutation's cells if all have the same one and no other tag: the
/// attribute then specifies it.
fn common_ttl(mutation: &Mutation) -> Option<i64> {
    let first = mutation.cells().iter().next()?;
    let ttl = first.ttl_ms()?;
    let is_only_tag = tags(first.tags()).count() == 1;
    (is_only_tag && mutation.cells().iter().all(|cell| cell.tags() == first.tags())).then_some(ttl)
}

/// Returns the cells of each family; a family occurs once if its cells are adjacent.
fn columns(mutation: &Mutation, keep_tags: bool) -> Vec<ColumnValue> {
    let mut columns: Vec<ColumnValue> = Vec::new();
    for cell in mutation.cells() {
        let value = qualifier_value(cell, keep_tags);
        match columns.last_mut() {
            Some(last) if last.family == cell.family() => last.qualifier_value.push(value),
            _ => columns.push(ColumnValue {
                family: Bytes::copy_from_slice(cell.family()),
                qualifier_value: vec![value],
            }),
        }
    }
    columns
}

fn qualifier_value(cell: CellRef<'_>, keep_tags: bool) -> QualifierValue {
    let delete_type = match cell.cell_type() {
        Some(CellType::Delete) => Some(DeleteType::DeleteOneVersion),
        Some(CellType::DeleteColumn) => Some(DeleteType::DeleteMultipleVersions),
        Some(CellType::DeleteFamily) => Some(DeleteType::DeleteFamily),
        Some(CellType::DeleteFamilyVersion) => Some(DeleteType::DeleteFamilyVersion),
        Some(CellType::Put) | None => None,
    };
    QualifierValue {
        qualifier: Some(Bytes::copy_from_slice(cell.qualifier())),
        value: Some(Bytes::copy_from_slice(cell.value())),
        timestamp: Some(cell.timestamp().cast_unsigned()),
        delete_type: delete_type.map(i32::from),
        tags: (keep_tags && !cell.tags().is_empty()).then(|| Bytes::copy_from_slice(cell.tags())),
    }
}
