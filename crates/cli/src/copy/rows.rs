//! Conversion from the cells of a raw scan to the operations that write them again.

use std::collections::BTreeMap;

use halite::{CellRef, CellType, Delete, Put, Row, RowOp};

/// Returns the operations that write the cells of a row with their timestamps: its values, grouped
/// by TTL, and its delete markers. The order does not matter where timestamps alone determine which
/// cells are hidden.
pub(super) fn ops(row: &Row) -> Vec<RowOp> {
    let key = || row.cells().bytes().slice_ref(row.key());
    let mut puts: BTreeMap<Option<i64>, Put> = BTreeMap::new();
    let mut delete = None;
    for cell in row.cells() {
        if cell.is_delete() {
            delete = Some(with_marker(delete.unwrap_or_else(|| Delete::new(key())), cell));
        } else {
            let ttl = cell.ttl_ms();
            let put = puts.remove(&ttl).unwrap_or_else(|| new_put(key(), ttl));
            puts.insert(
                ttl,
                put.add_at(cell.family(), cell.qualifier(), cell.timestamp(), cell.value()),
            );
        }
    }
    puts.into_values().map(RowOp::Put).chain(delete.map(RowOp::Delete)).collect()
}

fn new_put(row: halite::Bytes, ttl: Option<i64>) -> Put {
    match ttl.and_then(|ttl| u64::try_from(ttl).ok()) {
        Some(ttl) => Put::new(row).ttl_ms(ttl),
        None => Put::new(row),
    }
}

fn with_marker(delete: Delete, cell: CellRef<'_>) -> Delete {
    let (family, qualifier, timestamp) = (cell.family(), cell.qualifier(), cell.timestamp());
    match cell.cell_type() {
        Some(CellType::DeleteFamily) => delete.family_up_to(family, timestamp),
        Some(CellType::DeleteFamilyVersion) => delete.family_version(family, timestamp),
        Some(CellType::DeleteColumn) => delete.column_up_to(family, qualifier, timestamp),
        Some(CellType::Delete | CellType::Put) | None => {
            delete.version(family, qualifier, timestamp)
        }
    }
}
