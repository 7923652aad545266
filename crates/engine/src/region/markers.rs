//! Delete markers: of whole rows, and of the newest versions of columns.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use halite_types::cell::CellParts;
use halite_types::key::to_string_binary;
use halite_types::{CellRef, CellType, CellsBuilder, Delete, Error, Get, LATEST_TIMESTAMP, Result};

use super::Region;
use super::read_modify_write::PendingWrite;
use super::snapshot::RegionSnapshot;

/// Newest versions of a column, for the markers that hide them.
#[derive(Default)]
struct Versions {
    /// Number of requested versions, until they have been read.
    requested: u32,
    /// Timestamps of versions without a marker so far.
    oldest_first: Vec<i64>,
}

impl Region {
    /// Adds markers; those for the newest version of a column get that version's timestamp. The
    /// n-th such marker of a column is for its n-th newest version. Without such a version the
    /// marker gets the current time, as in HBase.
    pub(super) fn stamp_newest(
        &self,
        row: &Bytes,
        markers: &CellsBuilder,
        pending: &mut PendingWrite,
    ) -> Result<()> {
        let mut columns: HashMap<(&[u8], &[u8]), Versions> = HashMap::new();
        for marker in markers.iter().filter(|marker| is_newest_marker(*marker)) {
            columns.entry((marker.family(), marker.qualifier())).or_default().requested += 1;
        }
        for marker in markers {
            let Some(versions) = columns
                .get_mut(&(marker.family(), marker.qualifier()))
                .filter(|_| is_newest_marker(marker))
            else {
                pending.cells.push(marker);
                continue;
            };
            if versions.requested > 0 {
                let get = Get::new(row.clone())
                    .column(
                        Bytes::copy_from_slice(marker.family()),
                        Bytes::copy_from_slice(marker.qualifier()),
                    )
                    .versions(std::mem::take(&mut versions.requested));
                versions.oldest_first = self
                    .read_applied(&get, pending.tier)?
                    .0
                    .iter()
                    .map(|cell| cell.timestamp())
                    .collect();
                versions.oldest_first.reverse();
            }
            let timestamp = versions.oldest_first.pop().unwrap_or(pending.now);
            pending.cells.push_parts(self::marker(
                marker.row(),
                marker.family(),
                marker.qualifier(),
                timestamp,
                CellType::Delete,
            ));
        }
        Ok(())
    }
}

/// Returns the markers of a delete. A delete of the whole row becomes a marker for each family.
pub(super) fn expand_delete<'a>(
    snapshot: &RegionSnapshot,
    delete: &'a Delete,
) -> Result<Cow<'a, CellsBuilder>> {
    let cells = delete.mutation().cells();
    if !cells.is_empty() {
        return Ok(Cow::Borrowed(cells));
    }
    if delete.timestamp < 0 {
        return Err(Error::invalid(format!(
            "row {}: timestamp {} is negative",
            to_string_binary(delete.row()),
            delete.timestamp
        )));
    }
    let mut all = CellsBuilder::default();
    for family in snapshot.families.iter() {
        all.push_parts(marker(
            delete.row(),
            &family.name,
            b"",
            delete.timestamp,
            CellType::DeleteFamily,
        ));
    }
    Ok(Cow::Owned(all))
}

fn is_newest_marker(cell: CellRef<'_>) -> bool {
    cell.type_code() == CellType::Delete.code() && cell.timestamp() == LATEST_TIMESTAMP
}

pub(super) fn marker<'a>(
    row: &'a [u8],
    family: &'a [u8],
    qualifier: &'a [u8],
    timestamp: i64,
    cell_type: CellType,
) -> CellParts<'a> {
    CellParts { row, family, qualifier, timestamp, cell_type, value: b"", tags: b"" }
}
