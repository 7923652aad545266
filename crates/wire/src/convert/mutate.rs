//! `MutationProto`: puts, deletes, increments and appends, with their cells inside the message or in the cell block.
//!
//! Cells of a cell block go into the operation in one copy, as they are. A mutation that changes nothing (a put, an increment
//! or an append without cells) is legal on the wire, and HBase answers it with success. The operations of `halite-types`
//! must name a column, so it becomes [`RowMutations`] of nothing, which the store takes; [`row_mutations`] leaves it out
//! of a group. How to answer is what the message's `mutate_type` says, not the operation.

use bytes::Bytes;
use halite_types::cell::{CellParts, MAX_FAMILY_BYTES, MAX_TAGS_BYTES, TAG_TTL, tags, write_tag};
use halite_types::key::print_bytes;
use halite_types::op::{Mutation, check_row};
use halite_types::{
    Append, CellRef, CellType, Cells, CellsBuilder, Delete, Durability, Error, ErrorKind, Increment, LATEST_TIMESTAMP, Put, RowMutations, RowOp,
};

use super::{Result, attribute, flag, refused, selection};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;
use pb::mutation_proto::column_value::QualifierValue;
use pb::mutation_proto::{ColumnValue, DeleteType, MutationType};

const TTL: &str = "_ttl";
const RETURN_RESULTS: &str = "_rr_";

/// The operation a client asks for. It takes the cells that the message counts off the front of `cells`, whether it
/// succeeds or not.
///
/// The nonce stays with the caller (`proto.nonce`, and the group in the request).
///
/// # Errors
/// `WrongRowIOException` for a cell of another row; `DoNotRetryIOException` for fewer cells than counted, a bad row, family or
/// timestamp, a missing value, an amount that is not 8 bytes long.
pub fn from_proto(proto: &pb::MutationProto, cells: &mut Cells) -> Result<RowOp> {
    let run = take_cells(proto, cells)?;
    let kind = mutation_type(proto)?;
    let first_row = || run.as_ref().and_then(Cells::first).map(|cell| Bytes::copy_from_slice(cell.row()));
    let row = proto.row.clone().or_else(first_row).ok_or_else(|| refused("a mutation has neither a row nor cells; give the row"))?;
    check_row(&row)?;
    let mut builder = Builder { row: &row, ttl: ttl(proto)?, sorted: true, cells: CellsBuilder::default() };
    match &run {
        Some(run) => builder.push_run(run)?,
        None => builder.push_columns(proto, kind)?,
    }
    let cells = builder.finish();
    if cells.is_empty() && kind != MutationType::Delete {
        return Ok(RowMutations::new(row).into());
    }
    operation(proto, kind, row, cells)
}

/// Takes the cells of a message that is not going to be applied off the front of `cells`, as many as there are, so that the
/// next message finds its own.
pub fn skip_cells(proto: &pb::MutationProto, cells: &mut Cells) {
    if let Ok(Some(count)) = cell_count(proto)
        && cells.split_to(count).is_none()
    {
        *cells = Cells::default();
    }
}

/// Several operations of a row as one, without those that change nothing.
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

/// The number of cells in the cell block; `None` if the message holds its cells itself.
fn cell_count(proto: &pb::MutationProto) -> Result<Option<usize>> {
    match proto.associated_cell_count {
        None | Some(0) => Ok(None),
        Some(count) => usize::try_from(count).map(Some).map_err(|_| refused(format!("associated_cell_count is {count}; give 0 or more"))),
    }
}

fn take_cells(proto: &pb::MutationProto, cells: &mut Cells) -> Result<Option<Cells>> {
    let Some(count) = cell_count(proto)? else { return Ok(None) };
    let there = cells.len();
    if let Some(run) = cells.split_to(count) {
        return Ok(Some(run));
    }
    *cells = Cells::default();
    let row = print_bytes(proto.row());
    Err(refused(format!("Cell count of {count} but at index {there} no cell returned: row {row}; send all cells in the cell block")))
}

fn mutation_type(proto: &pb::MutationProto) -> Result<MutationType> {
    let number = proto.mutate_type.unwrap_or_default();
    MutationType::try_from(number).map_err(|_| refused(format!("{number} is no type of mutation; give one from 0 (APPEND) to 3 (DELETE)")))
}

/// The time to live that all cells get, as HBase's attribute says it: milliseconds in 8 bytes.
fn ttl(proto: &pb::MutationProto) -> Result<Option<[u8; 8]>> {
    let Some(bytes) = attribute(&proto.attribute, TTL) else { return Ok(None) };
    let ttl: [u8; 8] = bytes.try_into().map_err(|_| refused(format!("attribute {TTL} has {} bytes; give 8", bytes.len())))?;
    Ok((i64::from_be_bytes(ttl) != i64::MAX).then_some(ttl))
}

fn operation(proto: &pb::MutationProto, kind: MutationType, row: Bytes, cells: CellsBuilder) -> Result<RowOp> {
    let durability = durability(proto.durability());
    let time_range = selection::time_range(proto.time_range.as_ref())?;
    let return_results = flag(&proto.attribute, RETURN_RESULTS)?.unwrap_or(true);
    Ok(match kind {
        MutationType::Put => Put::from_cells(row, cells, durability).into(),
        MutationType::Delete => Delete::from_cells(row, cells, durability).up_to(timestamp_of(proto.timestamp)?).into(),
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
    let (row, length) = (print_bytes(cell.row()), cell.value().len());
    Err(refused(format!("Field is not a long, it's {length} bytes wide: the amount for row {row}; give an 8-byte big-endian number")))
}

/// A timestamp that is not there is the time at which the mutation is applied.
fn timestamp_of(timestamp: Option<u64>) -> Result<i64> {
    let timestamp = timestamp.map_or(LATEST_TIMESTAMP, u64::cast_signed);
    if timestamp < 0 {
        return Err(refused(format!("Timestamp cannot be negative. ts={timestamp}; give milliseconds since 1970 or leave it out")));
    }
    Ok(timestamp)
}

/// Gathers the cells of one mutation.
struct Builder<'a> {
    row: &'a [u8],
    ttl: Option<[u8; 8]>,
    /// Whether the families came in order.
    sorted: bool,
    cells: CellsBuilder,
}

impl Builder<'_> {
    fn push_run(&mut self, run: &Cells) -> Result<()> {
        let mut family: &[u8] = &[];
        for cell in run {
            self.check(cell)?;
            self.sorted &= family <= cell.family();
            family = cell.family();
        }
        if self.ttl.is_none() {
            self.cells.push_run(run);
        } else {
            run.iter().try_for_each(|cell| self.push(cell))?;
        }
        Ok(())
    }

    fn check(&self, cell: CellRef<'_>) -> Result<()> {
        if cell.row() != self.row {
            let (own, others) = (print_bytes(self.row), print_bytes(cell.row()));
            return Err(Exception::new(ExceptionKind::WrongRow, format!("The row in {others} doesn't match the original one {own}")));
        }
        check_family(cell.family())?;
        timestamp_of(Some(cell.timestamp().cast_unsigned())).map(drop)
    }

    /// Adds a cell that is checked, with the time to live in place of one it may have.
    fn push(&mut self, cell: CellRef<'_>) -> Result<()> {
        let tags = self.tags(cell.tags())?;
        self.cells.push(CellRef::new(cell.key(), cell.value(), &tags, 0));
        Ok(())
    }

    fn tags(&self, own: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.ttl {
            None => out.extend_from_slice(own),
            Some(ttl) => {
                tags(own).filter(|(kind, _)| *kind != TAG_TTL).for_each(|(kind, data)| write_tag(&mut out, kind, data));
                write_tag(&mut out, TAG_TTL, &ttl);
            }
        }
        if out.len() > MAX_TAGS_BYTES {
            return Err(refused(format!("a cell of row {} has {} bytes of tags, more than {MAX_TAGS_BYTES}", print_bytes(self.row), out.len())));
        }
        Ok(out)
    }

    fn push_columns(&mut self, proto: &pb::MutationProto, kind: MutationType) -> Result<()> {
        // What a put's cells have in common stands before them; the others say it in each cell or not at all.
        let default = if kind == MutationType::Put { timestamp_of(proto.timestamp)? } else { LATEST_TIMESTAMP };
        let mut before: &[u8] = &[];
        for column in &proto.column_value {
            check_family(&column.family)?;
            self.sorted &= before <= &column.family[..];
            before = &column.family;
            for value in &column.qualifier_value {
                self.push_value(&column.family, value, kind, default)?;
            }
        }
        Ok(())
    }

    fn push_value(&mut self, family: &[u8], value: &QualifierValue, kind: MutationType, default: i64) -> Result<()> {
        let cell_type = cell_type(value, kind);
        if kind != MutationType::Delete && value.value.is_none() {
            return Err(refused(format!("Missing required field: qualifier value: row {}, family {}", print_bytes(self.row), print_bytes(family))));
        }
        let of_family = matches!(cell_type, CellType::DeleteFamily | CellType::DeleteFamilyVersion);
        let qualifier = if of_family { &[] } else { value.qualifier() };
        let timestamp = if value.timestamp.is_some() { timestamp_of(value.timestamp)? } else { default };
        let tags = self.tags(value.tags())?;
        let value = if cell_type == CellType::Put { value.value() } else { &[] };
        self.cells.push_parts(CellParts { row: self.row, family, qualifier, timestamp, cell_type, value, tags: &tags });
        Ok(())
    }

    /// The cells by family, those of a family in the order they came, as HBase keeps them.
    fn finish(self) -> CellsBuilder {
        if self.sorted {
            return self.cells;
        }
        let mut cells: Vec<CellRef<'_>> = self.cells.iter().collect();
        cells.sort_by_key(CellRef::family);
        let mut sorted = CellsBuilder::with_capacity(self.cells.bytes().len());
        cells.into_iter().for_each(|cell| sorted.push(cell));
        sorted
    }
}

fn check_family(family: &[u8]) -> Result<()> {
    if family.is_empty() {
        return Err(refused("Family cannot be null; name the family of each cell"));
    }
    if family.len() > MAX_FAMILY_BYTES {
        return Err(refused(format!("a family name has {} bytes; at most {MAX_FAMILY_BYTES} are allowed", family.len())));
    }
    Ok(())
}

/// A put may carry delete markers, and a delete that does not say which kind deletes one version.
fn cell_type(value: &QualifierValue, kind: MutationType) -> CellType {
    match kind {
        MutationType::Delete => delete_marker(value.delete_type()),
        MutationType::Put if value.delete_type.is_some() => delete_marker(value.delete_type()),
        _ => CellType::Put,
    }
}

fn delete_marker(kind: DeleteType) -> CellType {
    match kind {
        DeleteType::DeleteOneVersion => CellType::Delete,
        DeleteType::DeleteMultipleVersions => CellType::DeleteColumn,
        DeleteType::DeleteFamily => CellType::DeleteFamily,
        DeleteType::DeleteFamilyVersion => CellType::DeleteFamilyVersion,
    }
}

/// The message of an operation with its cells inside.
///
/// # Errors
/// `Unsupported` for row mutations and check-and-mutates: those are several messages.
pub fn to_proto(op: &RowOp) -> halite_types::Result<pb::MutationProto> {
    let (mutation, mut proto) = without_cells(op)?;
    let keep_tags = attribute(&proto.attribute, TTL).is_none();
    proto.column_value = columns(mutation, keep_tags);
    Ok(proto)
}

/// The message of an operation with its cells beside it, for the cell block. Cells with tags that such a block would lose
/// stay inside the message, and then none are beside it.
///
/// # Errors
/// As [`to_proto`].
pub fn to_counted(op: &RowOp) -> halite_types::Result<(pb::MutationProto, Cells)> {
    let (mutation, mut proto) = without_cells(op)?;
    let loses_tags = attribute(&proto.attribute, TTL).is_none() && mutation.cells().iter().any(|cell| !cell.tags().is_empty());
    let count = i32::try_from(mutation.cells().len()).ok().filter(|count| *count > 0 && !loses_tags);
    match count {
        None => Ok((to_proto(op)?, Cells::default())),
        Some(count) => {
            proto.associated_cell_count = Some(count);
            Ok((proto, mutation.cells().clone().finish()))
        }
    }
}

/// What a message says beside its cells.
fn without_cells(op: &RowOp) -> halite_types::Result<(&Mutation, pb::MutationProto)> {
    let (kind, mutation, timestamp, time_range, return_results) = match op {
        RowOp::Put(put) => (MutationType::Put, put.mutation(), LATEST_TIMESTAMP, None, true),
        RowOp::Delete(delete) => (MutationType::Delete, delete.mutation(), delete.timestamp, None, true),
        RowOp::Increment(increment) => {
            (MutationType::Increment, increment.mutation(), LATEST_TIMESTAMP, Some(increment.time_range), increment.return_results)
        }
        RowOp::Append(append) => (MutationType::Append, append.mutation(), LATEST_TIMESTAMP, Some(append.time_range), append.return_results),
        RowOp::Mutate(_) | RowOp::CheckAndMutate(_) => {
            return Err(Error::new(ErrorKind::Unsupported, "several mutations of a row are not one message; send them as the actions of a multi"));
        }
    };
    let pair = |name: &str, value: Vec<u8>| pb::NameBytesPair { name: name.to_string(), value: Some(value.into()) };
    let ttl = common_ttl(mutation).map(|ttl| pair(TTL, ttl.to_be_bytes().to_vec()));
    let proto = pb::MutationProto {
        row: Some(mutation.row().clone()),
        mutate_type: Some(kind.into()),
        timestamp: Some(timestamp.cast_unsigned()),
        attribute: ttl.into_iter().chain((!return_results).then(|| pair(RETURN_RESULTS, vec![0]))).collect(),
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

/// The time to live of the mutation's cells, if it is one for all of them and their only tag: then the attribute says it.
fn common_ttl(mutation: &Mutation) -> Option<i64> {
    let first = mutation.cells().iter().next()?;
    let ttl = first.ttl_ms()?;
    let is_only_tag = tags(first.tags()).count() == 1;
    (is_only_tag && mutation.cells().iter().all(|cell| cell.tags() == first.tags())).then_some(ttl)
}

/// The cells of each family, each family once as long as its cells stand together.
fn columns(mutation: &Mutation, keep_tags: bool) -> Vec<ColumnValue> {
    let mut columns: Vec<ColumnValue> = Vec::new();
    for cell in mutation.cells() {
        let value = qualifier_value(cell, keep_tags);
        match columns.last_mut() {
            Some(last) if last.family == cell.family() => last.qualifier_value.push(value),
            _ => columns.push(ColumnValue { family: Bytes::copy_from_slice(cell.family()), qualifier_value: vec![value] }),
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
