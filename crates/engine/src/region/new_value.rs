//! New values of counters and appended columns.

use halite_types::cell::{CELL_HEADER, CellParts, MAX_TAGS_BYTES, TAG_TTL, tags};
use halite_types::key::to_string_binary;
use halite_types::{CellRef, CellType, Cells, CellsBuilder, Error, LATEST_TIMESTAMP, Result, Row};

use super::read_modify_write::PendingWrite;
use crate::env::MAX_CLOCK_WAIT_MS;

/// Minimum lead over the clock of a timestamp that a client has set explicitly, or that was written
/// before the clock was set back.
const MIN_EXPLICIT_TIMESTAMP_LEAD_MS: i64 = 2 * MAX_CLOCK_WAIT_MS;

/// Cells of a row, for repeated lookups.
pub(super) struct Columns<'a>(Vec<CellRef<'a>>);

impl<'a> Columns<'a> {
    pub(super) fn from_row(row: &'a Row) -> Self {
        Self(row.iter().collect())
    }

    /// Returns the newest cell of another cell's column.
    pub(super) fn find(&self, wanted: CellRef<'_>) -> Option<CellRef<'a>> {
        let column = (wanted.family(), wanted.qualifier());
        // In the order of the row, where the newest version of a column is its first.
        let at = self.0.partition_point(|cell| (cell.family(), cell.qualifier()) < column);
        self.0.get(at).copied().filter(|cell| (cell.family(), cell.qualifier()) == column)
    }
}

pub(super) fn add(old: Option<CellRef<'_>>, delta: CellRef<'_>) -> Result<[u8; 8]> {
    let number = |cell: CellRef<'_>| {
        <[u8; 8]>::try_from(cell.value()).map(i64::from_be_bytes).map_err(|_| {
            let text = format!(
                "row {}, column {}:{}: its value has {} bytes and is not an 8-byte counter; put an \
                 8-byte big-endian number there first",
                to_string_binary(cell.row()),
                to_string_binary(cell.family()),
                to_string_binary(cell.qualifier()),
                cell.value().len()
            );
            Error::invalid(text)
        })
    };
    let old = old.map_or(Ok(0), number)?;
    Ok(old.wrapping_add(number(delta)?).to_be_bytes())
}

/// Adds the new value of a counter or appended column; tags are carried forward.
///
/// # Errors
/// `InvalidRequest` if the old value has the maximum timestamp, because no read would return the
/// new one. Also if the combined tags exceed the limit of a cell.
pub(super) fn push_new_value(
    pending: &mut PendingWrite,
    change: CellRef<'_>,
    old: Option<CellRef<'_>>,
    value: &[u8],
    wanted: bool,
) -> Result<()> {
    let timestamp = match (change.timestamp(), old) {
        (_, Some(old)) => time_after(old, pending.now)?,
        (LATEST_TIMESTAMP, None) => pending.now,
        (timestamp, None) => timestamp,
    };
    debug_assert!(
        old.is_none_or(|old| old.timestamp() <= timestamp),
        "a new value is not older than the one that it replaces"
    );
    let tags = carried_tags(change, old);
    if tags.len() > MAX_TAGS_BYTES {
        return Err(Error::invalid(format!(
            "row {}, column {}:{}: its tags and those of the value it replaces are {} bytes \
             together, over the limit of {MAX_TAGS_BYTES}; put the column again with fewer tags \
             first",
            to_string_binary(change.row()),
            to_string_binary(change.family()),
            to_string_binary(change.qualifier()),
            tags.len()
        )));
    }
    let parts = CellParts {
        row: change.row(),
        family: change.family(),
        qualifier: change.qualifier(),
        timestamp,
        cell_type: CellType::Put,
        value,
        tags: &tags,
    };
    // A request that refers to a large value many times is small itself.
    pending.check_bytes(CELL_HEADER + change.key().len() + value.len() + tags.len())?;
    pending.cells.push_parts(parts);
    if wanted {
        pending.result.push_parts(CellParts { tags: b"", ..parts });
    }
    Ok(())
}

/// Adds an increment of a merged column: the delta is a contribution, and the value that it makes
/// is returned if it is `wanted`.
pub(super) fn push_contribution(
    pending: &mut PendingWrite,
    delta: CellRef<'_>,
    value: &[u8],
    wanted: bool,
) -> Result<()> {
    pending.check_bytes(delta.encoded_len())?;
    let parts = CellParts {
        row: delta.row(),
        family: delta.family(),
        qualifier: delta.qualifier(),
        timestamp: pending.now,
        cell_type: CellType::Put,
        value: delta.value(),
        tags: b"",
    };
    pending.cells.push_parts(parts);
    if wanted {
        pending.result.push_parts(CellParts { value, ..parts });
    }
    Ok(())
}

/// Returns the timestamp of a value that is computed from an old one. It is that of the clock, or a
/// millisecond after the old one, so that both are versions (HBase: `HRegion.reckonDelta`). Values
/// that are computed faster than the clock advances eventually replace one another. This begins
/// when they are so far ahead that a put or delete would not wait for the clock.
fn time_after(old: CellRef<'_>, now: i64) -> Result<i64> {
    let is_ahead = old.timestamp() >= now.saturating_add(MAX_CLOCK_WAIT_MS);
    if is_ahead && old.timestamp() < now.saturating_add(MIN_EXPLICIT_TIMESTAMP_LEAD_MS) {
        return Ok(old.timestamp());
    }
    // The maximum timestamp represents the time of writing.
    old.timestamp().checked_add(1).filter(|next| *next < LATEST_TIMESTAMP).map(|next| next.max(now)).ok_or_else(|| {
        Error::invalid(format!(
            "row {}, column {}:{}: its newest value has timestamp {}, which is the largest one; \
             delete that version first",
            to_string_binary(old.row()),
            to_string_binary(old.family()),
            to_string_binary(old.qualifier()),
            old.timestamp()
        ))
    })
}

/// Returns the change's own tags, and those of the old value except for a time to live that the
/// change replaces.
fn carried_tags(change: CellRef<'_>, old: Option<CellRef<'_>>) -> Vec<u8> {
    let mut out = change.tags().to_vec();
    let replaces_ttl = change.ttl_ms().is_some();
    for (kind, data) in old.into_iter().flat_map(|old| tags(old.tags())) {
        if !(kind == TAG_TTL && replaces_ttl) {
            halite_types::cell::write_tag(&mut out, kind, data);
        }
    }
    out
}

/// Returns the cells as a row: in comparator order.
pub(super) fn sorted_row(cells: &CellsBuilder) -> Row {
    let mut sorted: Vec<CellRef<'_>> = cells.iter().collect();
    sorted.sort_by(halite_types::cell::compare_cells);
    let mut out = CellsBuilder::default();
    sorted.into_iter().for_each(|cell| out.push(cell));
    let cells: Cells = out.finish();
    Row::new(cells)
}
