//! Positions of the cells of a data block, which a search starts from.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cell_layout::CellLayout;
use super::cell_span::{CellSpan, LENGTHS_BYTES, begins_with_key, key_at, part};
use super::damaged;
use super::vint::ByteReader;
use halite_types::cell::{RowPrefix, check_key, key_row};
use halite_types::{Error, Result};

/// Distance in cells between restarts. A data block stores the offset of each restart, and, if it
/// is searched often, the start of its row after the common prefix of the block: twelve bytes each.
const RESTART_CELLS: u32 = 4;

/// Positions of the cells of a data block in its payload.
#[derive(Debug)]
pub(super) struct CellMap {
    /// Offsets of the cells 0, 4, 8 and so on.
    pub(super) restarts: Vec<u32>,
    /// Offset of the last cell.
    pub(super) last: u32,
    was_searched: AtomicBool,
    search_keys: OnceLock<SearchKeys>,
}

/// Abbreviated rows of the restarts after the prefix that all rows share. A search compares these,
/// which are contiguous, before it reads the cells.
#[derive(Debug)]
pub(super) struct SearchKeys {
    pub(super) abbreviated: Box<[u64]>,
    pub(super) prefix: RowPrefix,
}

impl CellMap {
    /// Validates the cells of a payload.
    pub(super) fn parse(payload: &[u8], layout: CellLayout) -> Result<Self> {
        let mut cells = CellMapBuilder::default();
        let broken = match (layout.tags, layout.sequence_ids) {
            (false, false) => cells.add_valid::<false, false>(payload),
            (false, true) => cells.add_valid::<false, true>(payload),
            (true, false) => cells.add_valid::<true, false>(payload),
            (true, true) => cells.add_valid::<true, true>(payload),
        };
        match broken {
            None => cells.finish(),
            Some(at) => Err(cells.broken(at, why_broken(payload, at, layout))),
        }
    }

    /// Returns the memory in bytes that it uses, or will at most when it is searched. The block
    /// cache needs the same number at every call.
    pub(super) fn memory_bytes(&self, payload: &[u8]) -> usize {
        let restarts = self.restarts.capacity().saturating_mul(size_of::<u32>());
        let keys = self.restarts.len().saturating_mul(size_of::<u64>());
        // No prefix of all rows is longer than the first one.
        let prefix = key_at(payload, 0).map_or(0, |key| key_row(key).len());
        restarts.saturating_add(keys).saturating_add(prefix)
    }

    /// Returns the keys for a search in the payload; `None` for the first search. Many blocks are
    /// read for one search, or for a scan, which is over before the keys would pay.
    pub(super) fn search_keys(&self, payload: &[u8]) -> Option<&SearchKeys> {
        if !self.was_searched.load(Ordering::Relaxed) {
            self.was_searched.store(true, Ordering::Relaxed);
            return None;
        }
        Some(self.search_keys.get_or_init(|| SearchKeys::new(self, payload)))
    }
}

impl SearchKeys {
    #[cold]
    fn new(map: &CellMap, payload: &[u8]) -> Self {
        let key = |at| key_at(payload, at);
        let row = |at| key(at).map(key_row).unwrap_or_default();
        let prefix = RowPrefix::from_bounds(row(0), row(map.last));
        let abbreviated = map
            .restarts
            .iter()
            .map(|&at| key(at).map_or(0, |key| prefix.abbreviated_key(key)))
            .collect();
        Self { abbreviated, prefix }
    }
}

/// Positions of the cells so far of a block that is validated from the first on.
#[derive(Debug, Default)]
pub(super) struct CellMapBuilder {
    restarts: Vec<u32>,
    last: u32,
    count: u32,
}

impl CellMapBuilder {
    /// Adds the next cell, which begins at an offset in the payload.
    #[inline]
    pub(super) fn add(&mut self, start: u32) {
        if self.count.is_multiple_of(RESTART_CELLS) {
            self.restarts.push(start);
        }
        self.last = start;
        self.count = self.count.wrapping_add(1);
    }

    /// Adds the cells of a payload up to its end, or to one that is damaged, whose offset it
    /// returns.
    #[expect(clippy::cast_possible_truncation, reason = "a payload has less than 2^31 bytes")]
    fn add_valid<const TAGS: bool, const IDS: bool>(&mut self, payload: &[u8]) -> Option<u32> {
        let mut rest = payload;
        let mut at = 0_u32;
        while !rest.is_empty() {
            let Some((bytes, after)) = valid_cell_bytes::<TAGS, IDS>(rest)
                .and_then(|bytes| Some((bytes, rest.get(bytes..)?)))
            else {
                return Some(at);
            };
            self.add(at);
            rest = after;
            at = at.wrapping_add(bytes as u32);
        }
        None
    }

    /// Returns the number of cells so far.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the error of a block whose next cell, at an offset in the payload, is damaged.
    #[cold]
    pub(super) fn broken(&self, at: u32, what: &str) -> Error {
        damaged(format_args!("its cell {} at byte {at} of the payload {what}", self.count))
    }

    /// Returns the map of all cells.
    ///
    /// # Errors
    /// `Corrupt` if there is none.
    pub(super) fn finish(mut self) -> Result<CellMap> {
        if self.count == 0 {
            return Err(damaged("it holds no cell"));
        }
        self.restarts.shrink_to_fit();
        Ok(CellMap {
            restarts: self.restarts,
            last: self.last,
            was_searched: AtomicBool::new(false),
            search_keys: OnceLock::new(),
        })
    }
}

/// Returns the bytes of the cell at the start of a payload, unless it is damaged; they may be more
/// than the payload has. A scan of small cells takes much of its time here, therefore the lengths
/// of the cell and of its key are read together, and each is compared once.
#[inline]
fn valid_cell_bytes<const TAGS: bool, const IDS: bool>(payload: &[u8]) -> Option<usize> {
    let (lengths, body) = payload.split_first_chunk::<8>()?;
    let lengths = u64::from_be_bytes(*lengths);
    let (key_bytes, value_bytes) = ((lengths >> 32) as usize, (lengths & 0xffff_ffff) as usize);
    if !begins_with_key(body, key_bytes) {
        return None;
    }
    let mut bytes = key_bytes.wrapping_add(value_bytes);
    if TAGS {
        let tags = body.get(bytes..)?.first_chunk()?;
        bytes = bytes.wrapping_add(2).wrapping_add(usize::from(u16::from_be_bytes(*tags)));
    }
    if IDS {
        bytes = bytes.wrapping_add(ByteReader::starting_at(body, bytes).vlong_bytes()?);
    }
    Some(bytes.wrapping_add(LENGTHS_BYTES as usize))
}

/// Returns what is wrong with the cell at an offset of a payload, for which
/// [`valid_cell_bytes`] has no length.
#[cold]
fn why_broken(payload: &[u8], at: u32, layout: CellLayout) -> &'static str {
    let Some(span) = CellSpan::read(payload, at, layout, true) else {
        return "does not fit the block";
    };
    check_flat_key(part(payload, span.key_start(), span.key_bytes))
        .err()
        .unwrap_or("does not fit the block")
}

/// Verifies a key of a cell; the error says what is wrong with the cell.
#[inline]
fn check_flat_key(key: &[u8]) -> Result<(), &'static str> {
    if !check_key(key) {
        return Err("has row and family lengths that do not fit its key");
    }
    if key_row(key).is_empty() {
        return Err("has an empty row");
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "bytes of a test")]
mod tests {
    use halite_types::cell::make_key;
    use proptest::prelude::*;

    use super::*;
    use crate::hfile::block::Block;
    use crate::hfile::data_cells::Validation;
    use crate::hfile::encoding::DecodedCells;
    use crate::hfile::vint::write_vlong;

    /// Returns the offsets of the cells, read as a cursor reads them.
    fn read_one_by_one(payload: &[u8], layout: CellLayout) -> Result<CellMap> {
        let mut cells = CellMapBuilder::default();
        let mut at = 0;
        while (at as usize) < payload.len() {
            let span = CellSpan::read(payload, at, layout, true)
                .ok_or_else(|| cells.broken(at, "does not fit the block"))?;
            check_flat_key(part(payload, span.key_start(), span.key_bytes))
                .map_err(|what| cells.broken(at, what))?;
            cells.add(at);
            at = span.end;
        }
        cells.finish()
    }

    /// Returns the offsets of the cells, each of which is validated by the step to it.
    fn validate_as_read(payload: &[u8], layout: CellLayout) -> Result<CellMap> {
        let (bytes, whole) = (payload.to_vec(), 0..payload.len());
        let decoded = DecodedCells::plain(bytes, whole, layout, Validation::AsRead)?;
        let block = Block::of_cells(decoded);
        let mut cells = CellMapBuilder::default();
        let (mut next, mut end) = (block.first_cell(), 0);
        while let Some(cell) = next {
            cells.add(cell.start);
            end = cell.end;
            next = block.cell_after(&cell);
        }
        block.check_end(end)?;
        cells.finish()
    }

    fn payload(cells: &[(u8, u8, u16, i64)], layout: CellLayout) -> Vec<u8> {
        let mut out = Vec::new();
        for &(row, family, value, sequence) in cells {
            let (row, family) = (vec![b'r'; row.into()], vec![b'f'; family.into()]);
            let key = make_key(&row, &family, b"q", 1, 4);
            out.extend_from_slice(&u32::try_from(key.len()).unwrap().to_be_bytes());
            out.extend_from_slice(&u32::from(value).to_be_bytes());
            out.extend_from_slice(&key);
            out.resize(out.len() + usize::from(value), b'v');
            if layout.tags {
                out.extend_from_slice(&[0, 2, b't', b't']);
            }
            if layout.sequence_ids {
                write_vlong(&mut out, sequence);
            }
        }
        out
    }

    fn outcome(map: Result<CellMap>) -> std::result::Result<(Vec<u32>, u32), String> {
        let parts = |map: CellMap| (map.restarts, map.last);
        map.map(parts).map_err(|error| error.to_string())
    }

    proptest! {
        #[test]
        fn cells_and_damage_are_those_that_a_cursor_finds(
            cells in prop::collection::vec((0_u8..4, 0_u8..3, 0_u16..300, any::<i64>()), 0..20),
            (tags, sequence_ids, are_valid) in any::<(bool, bool, bool)>(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            end in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let layout = CellLayout { tags, sequence_ids, tags_compressed: false };
            let valid = |&(row, family, value, sequence): &(u8, u8, u16, i64)| {
                (row.max(1), family, value, sequence & i64::MAX)
            };
            let valid: Vec<_> = cells.iter().map(valid).collect();
            let mut payload = payload(if are_valid { &valid } else { &cells }, layout);
            let wanted = are_valid && damage.is_empty() && end.is_none() && !cells.is_empty();
            for (at, byte) in damage {
                if !payload.is_empty() {
                    let at = at.index(payload.len());
                    payload[at] = byte;
                }
            }
            if let Some(end) = end {
                payload.truncate(end.index(payload.len() + 1));
            }
            let found = outcome(CellMap::parse(&payload, layout));
            prop_assert!(found.is_ok() || !wanted);
            prop_assert_eq!(&found, &outcome(read_one_by_one(&payload, layout)));
            prop_assert_eq!(&found, &outcome(validate_as_read(&payload, layout)));
        }
    }
}
