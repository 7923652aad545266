//! Position of one cell in the payload of a data block.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::cell_layout::CellLayout;
use super::vint::ByteReader;
use halite_types::cell::KEY_OVERHEAD;

/// Bytes of the lengths before a key.
pub(super) const LENGTHS_BYTES: u32 = 8;

/// Position of one cell in the payload of a data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSpan {
    pub(super) start: u32,
    pub(super) key_bytes: u32,
    pub(super) value_bytes: u32,
    pub(super) tags_bytes: u32,
    pub(super) end: u32,
    pub(super) sequence: u64,
}

impl CellSpan {
    /// Reads the lengths of a cell; `None` if it does not fit the payload, which has less than 2^31
    /// bytes, or if its key is invalid, unless that is known. A scan calls this for each cell,
    /// therefore the lengths are read as one number, added, and compared with the payload once.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "halves of a number; a checked length")]
    pub(super) fn read(
        payload: &[u8],
        start: u32,
        layout: CellLayout,
        has_known_key: bool,
    ) -> Option<Self> {
        let (lengths, body) = payload.get(start as usize..)?.split_first_chunk::<8>()?;
        let lengths = u64::from_be_bytes(*lengths);
        let (key_bytes, value_bytes) = ((lengths >> 32) as u32, lengths as u32);
        if !has_known_key && !begins_with_key(body, key_bytes as usize) {
            return None;
        }
        let mut length = (key_bytes as usize).wrapping_add(value_bytes as usize);
        let mut tags_bytes = 0;
        if layout.tags {
            let tags = body.get(length..)?.first_chunk()?;
            tags_bytes = u32::from(u16::from_be_bytes(*tags));
            length = length.wrapping_add(2).wrapping_add(tags_bytes as usize);
        }
        let mut sequence = 0;
        if layout.sequence_ids {
            let mut input = ByteReader::starting_at(body, length);
            sequence = u64::try_from(input.vlong()?).ok()?;
            length = input.position();
        }
        if length > body.len() {
            return None;
        }
        // The lengths fit, so they are below 2^31, as Java's `int` requires.
        let end = start.wrapping_add(LENGTHS_BYTES).wrapping_add(length as u32);
        Some(Self { start, key_bytes, value_bytes, tags_bytes, end, sequence })
    }

    /// Returns the offset of its key.
    #[inline]
    pub(super) fn key_start(&self) -> u32 {
        self.start.wrapping_add(LENGTHS_BYTES)
    }

    /// Returns the offset of its value.
    #[inline]
    pub(super) fn value_start(&self) -> u32 {
        self.key_start().wrapping_add(self.key_bytes)
    }

    /// Returns the offset of its tags, if it has any.
    #[inline]
    pub(super) fn tags_start(&self) -> u32 {
        self.value_start().wrapping_add(self.value_bytes).wrapping_add(2)
    }
}

/// Returns `true` if bytes begin with a valid flat key of a length: its row, which is not empty, and
/// its family fit. The key may end after the bytes.
#[inline]
pub(super) fn begins_with_key(bytes: &[u8], key_bytes: usize) -> bool {
    let lengths = || {
        let row_bytes = usize::from(u16::from_be_bytes(*bytes.first_chunk()?));
        Some((row_bytes, usize::from(*bytes.get(row_bytes.wrapping_add(2))?)))
    };
    lengths().is_some_and(|(row_bytes, family_bytes)| {
        let least = row_bytes.wrapping_add(family_bytes).wrapping_add(KEY_OVERHEAD);
        // A scan stores its position as the last row; an empty row would be the start again.
        row_bytes > 0 && key_bytes >= least
    })
}

/// Returns the flat key of the cell that begins at an offset.
#[inline]
pub(super) fn key_at(payload: &[u8], offset: u32) -> Option<&[u8]> {
    let (lengths, body) = payload.get(offset as usize..)?.split_first_chunk::<8>()?;
    body.get(..(u64::from_be_bytes(*lengths) >> 32) as usize)
}

/// Returns a part that is known to be inside the payload, because the cells were validated when the
/// block was opened.
#[inline]
pub(super) fn part(payload: &[u8], start: u32, length: u32) -> &[u8] {
    let start = start as usize;
    payload.get(start..start.wrapping_add(length as usize)).unwrap_or_default()
}
