//! Cells of a mutation, collected from its message or from the cell block.

use bytes::Bytes;
use halite_types::cell::{
    CELL_HEADER, CellParts, KEY_OVERHEAD, MAX_FAMILY_BYTES, MAX_TAGS_BYTES, TAG_TTL, tags,
    write_tag,
};
use halite_types::{CellRef, CellType, Cells, CellsBuilder, LATEST_TIMESTAMP};

use super::timestamp_of;
use crate::convert::{Result, display_bytes, refused};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;
use pb::mutation_proto::column_value::QualifierValue;
use pb::mutation_proto::{ColumnValue, DeleteType, MutationType};

/// Maximum bytes of the cells inside a message: the maximum of the cell block in the largest frame.
pub(super) const MAX_INSIDE_BYTES: usize = 256 << 20;

/// Collector of the cells of one mutation.
pub(super) struct CellCollector<'a> {
    row: &'a [u8],
    ttl: Option<[u8; 8]>,
    /// `true` if the families arrived in order.
    sorted: bool,
    cells: CellsBuilder,
}

impl<'a> CellCollector<'a> {
    /// Creates a collector without cells of `row`; `ttl`, milliseconds as HBase encodes them,
    /// replaces the time to live of each cell.
    pub(super) fn new(row: &'a [u8], ttl: Option<[u8; 8]>) -> Self {
        Self { row, ttl, sorted: true, cells: CellsBuilder::default() }
    }

    pub(super) fn push_cells(&mut self, run: &Cells, kind: MutationType) -> Result<()> {
        let mut family: &[u8] = &[];
        for cell in run {
            self.check(cell, kind)?;
            self.sorted &= family <= cell.family();
            family = cell.family();
        }
        if self.ttl.is_none() {
            self.cells.extend(run);
        } else {
            run.iter().try_for_each(|cell| self.push(cell))?;
        }
        Ok(())
    }

    fn check(&self, cell: CellRef<'_>, kind: MutationType) -> Result<()> {
        if cell.row() != self.row {
            let (own, others) = (display_bytes(self.row), display_bytes(cell.row()));
            return Err(Exception::new(
                ExceptionKind::WrongRow,
                format!("The row in {others} doesn't match the original one {own}"),
            ));
        }
        let is_of_type = match cell.cell_type() {
            Some(cell_type) => cell_type.is_delete() || kind != MutationType::Delete,
            None => false,
        };
        if !is_of_type {
            let (row, code, kind) = (display_bytes(self.row), cell.type_code(), kind.as_str_name());
            return Err(refused(format!(
                "row {row}: a cell of type {code} is not allowed in a {kind}; use 4 for a value, \
                 or 8, 10, 12 or 14 for a delete marker, the only types of a DELETE"
            )));
        }
        check_family(cell.family())?;
        timestamp_of(Some(cell.timestamp().cast_unsigned())).map(drop)
    }

    /// Adds a checked cell; `ttl` replaces its time to live.
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
                tags(own)
                    .filter(|(kind, _)| *kind != TAG_TTL)
                    .for_each(|(kind, data)| write_tag(&mut out, kind, data));
                write_tag(&mut out, TAG_TTL, &ttl);
            }
        }
        if out.len() > MAX_TAGS_BYTES {
            return Err(refused(format!(
                "a cell of row {} has {} bytes of tags, more than {MAX_TAGS_BYTES}",
                display_bytes(self.row),
                out.len()
            )));
        }
        Ok(out)
    }

    pub(super) fn push_columns(
        &mut self,
        proto: &pb::MutationProto,
        kind: MutationType,
    ) -> Result<()> {
        // A put specifies common values of its cells once; other operations specify them in each
        // cell or not at all.
        let default = if kind == MutationType::Put {
            timestamp_of(proto.timestamp)?
        } else {
            LATEST_TIMESTAMP
        };
        let bytes = bytes_of(self.row, &proto.column_value);
        if bytes > MAX_INSIDE_BYTES {
            let row = display_bytes(self.row);
            return Err(refused(format!(
                "row {row}: the cells of the mutation take {bytes} bytes, more than \
                 {MAX_INSIDE_BYTES}; write fewer cells at once"
            )));
        }
        self.cells = CellsBuilder::with_capacity(bytes);
        let mut before: &[u8] = &[];
        for column in &proto.column_value {
            check_family(&column.family)?;
            self.sorted &= before <= &column.family[..];
            before = &column.family;
            let (count, bytes) = (self.cells.len(), self.cells.bytes().len());
            for value in &column.qualifier_value {
                if kind == MutationType::Delete && value.delete_type() == DeleteType::DeleteFamily {
                    // As Java's `Delete.addFamily`, with which HBase reads these.
                    self.cells.truncate(count, bytes);
                }
                self.push_value(&column.family, value, kind, default)?;
            }
        }
        Ok(())
    }

    fn push_value(
        &mut self,
        family: &[u8],
        value: &QualifierValue,
        kind: MutationType,
        default: i64,
    ) -> Result<()> {
        let cell_type = cell_type(value, kind);
        if kind != MutationType::Delete && value.value.is_none() {
            return Err(refused(format!(
                "Missing required field: qualifier value: row {}, family {}",
                display_bytes(self.row),
                display_bytes(family)
            )));
        }
        let of_family = matches!(cell_type, CellType::DeleteFamily | CellType::DeleteFamilyVersion);
        let qualifier = if of_family { &[] } else { value.qualifier() };
        let timestamp =
            if value.timestamp.is_some() { timestamp_of(value.timestamp)? } else { default };
        let tags = self.tags(value.tags())?;
        let value = if cell_type == CellType::Put { value.value() } else { &[] };
        self.cells.push_parts(CellParts {
            row: self.row,
            family,
            qualifier,
            timestamp,
            cell_type,
            value,
            tags: &tags,
        });
        Ok(())
    }

    /// Returns the cells by family, in order of arrival within a family, as HBase stores them.
    pub(super) fn finish(self) -> CellsBuilder {
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

/// Returns the memory in bytes of the cells of columns, without a time to live. Each cell contains
/// the row, so it can far exceed the message.
pub(super) fn bytes_of(row: &[u8], columns: &[ColumnValue]) -> usize {
    let fixed = |family: &Bytes| {
        row.len().saturating_add(family.len()).saturating_add(KEY_OVERHEAD + CELL_HEADER)
    };
    let value = |value: &QualifierValue| {
        value
            .qualifier()
            .len()
            .saturating_add(value.value().len())
            .saturating_add(value.tags().len())
    };
    let column = |column: &ColumnValue| {
        let fixed = fixed(&column.family);
        column
            .qualifier_value
            .iter()
            .fold(0usize, |sum, each| sum.saturating_add(fixed).saturating_add(value(each)))
    };
    columns.iter().map(column).fold(0, usize::saturating_add)
}

fn check_family(family: &[u8]) -> Result<()> {
    if family.is_empty() {
        return Err(refused("Family cannot be null; name the family of each cell"));
    }
    if family.len() > MAX_FAMILY_BYTES {
        return Err(refused(format!(
            "a family name has {} bytes; at most {MAX_FAMILY_BYTES} are allowed",
            family.len()
        )));
    }
    Ok(())
}

/// A put may contain delete markers; a delete without a type deletes one version.
fn cell_type(value: &QualifierValue, kind: MutationType) -> CellType {
    match kind {
        MutationType::Delete => delete_marker(value.delete_type()),
        MutationType::Put if value.delete_type.is_some() => delete_marker(value.delete_type()),
        MutationType::Put | MutationType::Append | MutationType::Increment => CellType::Put,
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
