//! The hidden table `hbase:halite_heat`: one row per column of a history.
//!
//! ```text
//! row        name of the table, 0x00, index of the layer (u8), begin of the column in milliseconds
//!            since 1970 (i64, big-endian)
//! family h, qualifier c    the column (halite-heat, codec.rs)
//! ```
//!
//! Rows of events are in `stored_events.rs`. The name of the recorder's own history is empty. Cells live as long as their layer reaches back.
//! Writes do not wait for the disk: a crash loses the last seconds of the picture, which are lost
//! with the process anyway.

use std::sync::Arc;

use halite_heat::{LAYERS, PackedColumn};
use halite_types::{
    Delete, Durability, ErrorKind, FamilyDescriptor, Put, ReadTier, Result, Row, RowOp, Scan,
    TableDescriptor, TableName,
};

use super::state::ClosedColumns;
use crate::catalog::layout;
use crate::engine::{Engine, Table};

pub(super) const FAMILY: &str = "h";
const QUALIFIER: &str = "c";
/// Bytes of columns that are written together.
const MAX_BATCH_BYTES: usize = 4 << 20;
/// Bytes of a row after the name of the table: zero, layer, time.
const SUFFIX_BYTES: usize = 10;

/// Name under which the history of the recorder itself is kept: no table can have it, since it is
/// the name of a hidden one.
pub(super) fn times_name() -> TableName {
    layout::heat_table()
}

impl Engine {
    /// Returns the hidden table, and creates it if it is missing; `None` while other tables are
    /// changed, for which the recorder does not wait.
    pub(super) fn heat_table(&self) -> Result<Option<Arc<Table>>> {
        match self.find_table(&layout::heat_table()) {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => {
                let table = TableDescriptor::new(layout::heat_table())
                    .family(FamilyDescriptor::new(FAMILY).set("COMPRESSION", "ZSTD"));
                match self.try_create_table(table) {
                    Ok(false) => Ok(None),
                    Err(error) if error.kind() != ErrorKind::TableExists => Err(error),
                    _ => self.find_table(&layout::heat_table()).map(Some),
                }
            }
            found => found.map(Some),
        }
    }

    /// Calls a closure with each stored column, in the order of tables, layers and times. Damaged
    /// columns are left out.
    pub(super) fn stored_columns(
        &self,
        mut each: impl FnMut(&TableName, usize, PackedColumn),
    ) -> Result<()> {
        let table = match self.find_table(&layout::heat_table()) {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return Ok(()),
            found => found?,
        };
        let mut scanner = table.scan(Scan::all(), ReadTier::Disk);
        loop {
            let rows = scanner.next_rows()?;
            if rows.is_empty() || self.shared.scheduler.is_closing() {
                return Ok(());
            }
            for row in rows {
                let Some((name, layer)) = parse_row(row.key()) else { continue };
                let value = row.value(FAMILY, QUALIFIER).unwrap_or_default();
                if let Ok(column) = PackedColumn::decode(value, None) {
                    each(&name, layer, column);
                }
            }
        }
    }
}

/// Stores columns. A failure loses them from the next process's picture, and nothing else.
///
/// # Errors
/// As a write.
pub(super) fn store_columns(table: &Arc<Table>, closed: &ClosedColumns, now: i64) -> Result<()> {
    closed.dropped.iter().try_for_each(|name| delete_columns(table, name))?;
    let (mut puts, mut bytes) = (Vec::new(), 0);
    for (name, columns) in &closed.columns {
        for (layer, column) in columns {
            let age = u64::try_from(now.saturating_sub(column.from_ms)).unwrap_or(0);
            let span = u64::try_from(LAYERS[*layer].span_ms()).unwrap_or(u64::MAX);
            let value = column.encode();
            bytes += value.len();
            let put = Put::new(row_of(name, *layer, column.from_ms))
                .add(FAMILY, QUALIFIER, value)
                .durability(Durability::AsyncWal)
                .ttl_ms(span.saturating_sub(age).max(1));
            puts.push(RowOp::Put(put));
        }
        if bytes >= MAX_BATCH_BYTES {
            apply(table, std::mem::take(&mut puts))?;
            bytes = 0;
        }
    }
    apply(table, puts)
}

/// Deletes the stored columns of a table.
///
/// # Errors
/// As a read or a write.
pub(super) fn delete_columns(table: &Arc<Table>, name: &TableName) -> Result<()> {
    let prefix = [name.to_string().as_bytes(), &[0]].concat();
    let mut scanner = table.scan(Scan::prefix(prefix), ReadTier::Disk);
    loop {
        let rows = scanner.next_rows()?;
        if rows.is_empty() {
            return Ok(());
        }
        let delete = |row: &Row| RowOp::Delete(Delete::new(row.key().to_vec()));
        apply(table, rows.iter().map(delete).collect())?;
    }
}

pub(super) fn apply(table: &Table, ops: Vec<RowOp>) -> Result<()> {
    if ops.is_empty() {
        return Ok(());
    }
    table.batch(ops)?.into_iter().find_map(Result::err).map_or(Ok(()), Err)
}

fn row_of(name: &TableName, layer: usize, from_ms: i64) -> Vec<u8> {
    let mut row = name.to_string().into_bytes();
    row.push(0);
    row.push(u8::try_from(layer).unwrap_or(u8::MAX));
    row.extend_from_slice(&from_ms.to_be_bytes());
    row
}

fn parse_row(row: &[u8]) -> Option<(TableName, usize)> {
    let name = row.get(..row.len().checked_sub(SUFFIX_BYTES)?)?;
    let layer = usize::from(*row.get(name.len() + 1)?);
    let name = std::str::from_utf8(name).ok()?.parse().ok()?;
    (layer < LAYERS.len()).then_some((name, layer))
}
