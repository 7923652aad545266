//! Plain block that is being rebuilt from an encoded one.

use super::cell_head::{CellHead, LENGTHS_BYTES};
use super::new_cell::NewCell;
use super::new_key::MAX_IMPLIED_BYTES;
use super::previous_cell::{KeyParts, PreviousCell};
use crate::env::PADDING_BYTES;
use crate::hfile::cell_map::CellMapBuilder;

/// Maximum bytes that are allocated for a block before its cells have been read: some, or a
/// multiple of those on disk. The stated size of a block is not trusted, since a few bytes may
/// stand for many.
const MIN_RESERVED_BYTES: usize = 256 << 10;
const MAX_RESERVED_FACTOR: usize = 16;
/// Bytes that are zeroed at once, shortly before cells are written there.
const STEP_BYTES: usize = 4 << 10;
/// Room for the tags of a cell, with their length.
const TAGS_BYTES: usize = 2 + u16::MAX as usize;

/// Bytes of a plain block so far.
pub(super) struct PlainCells {
    /// The cells, followed by zeros or the surplus of copies.
    out: Vec<u8>,
    /// Where the first cell begins.
    start: usize,
    /// Where the last cell begins.
    last: usize,
    previous: PreviousCell,
    /// Bytes that the block states and does not have yet.
    left: usize,
    /// Bytes behind the last cell that are required to read another one.
    wanted: usize,
    has_tags: bool,
    map: CellMapBuilder,
}

impl PlainCells {
    /// Returns no cells of a block of `bytes`, decoded from `encoded_bytes`.
    pub(super) fn new(bytes: usize, encoded_bytes: usize, has_tags: bool) -> Self {
        Self::with_start(0, bytes, encoded_bytes, has_tags, PreviousCell::NONE)
    }

    /// Returns no cells of a part of `bytes`, decoded from `encoded_bytes`, after a cell with a key
    /// and `value_bytes`; `None` for an invalid key.
    pub(super) fn after(
        key: &[u8],
        value_bytes: usize,
        bytes: usize,
        encoded_bytes: usize,
        has_tags: bool,
    ) -> Option<Self> {
        let previous = PreviousCell::of_key(key, value_bytes)?;
        let mut cells = Self::with_start(previous.bytes, bytes, encoded_bytes, has_tags, previous);
        cells.out.resize(LENGTHS_BYTES, 0);
        cells.out.extend_from_slice(key);
        Some(cells)
    }

    fn with_start(
        start: usize,
        bytes: usize,
        encoded_bytes: usize,
        has_tags: bool,
        previous: PreviousCell,
    ) -> Self {
        let most = encoded_bytes.saturating_mul(MAX_RESERVED_FACTOR).max(MIN_RESERVED_BYTES);
        let tags = if has_tags { TAGS_BYTES } else { 0 };
        let room = bytes.min(most).saturating_add(tags).saturating_add(PADDING_BYTES);
        Self {
            out: Vec::with_capacity(start.saturating_add(room)),
            start,
            last: 0,
            previous,
            left: bytes,
            wanted: 0,
            has_tags,
            map: CellMapBuilder::default(),
        }
    }

    /// Returns the cells, where they begin in the buffer, and their map; or their length and the
    /// stated one if these differ.
    pub(super) fn into_block(mut self) -> Result<(Vec<u8>, usize, CellMapBuilder), (usize, usize)> {
        let end = self.last.saturating_add(self.previous.bytes);
        if self.left > 0 {
            let bytes = end.saturating_sub(self.start);
            return Err((bytes, bytes.saturating_add(self.left)));
        }
        self.out.truncate(end);
        if self.has_tags {
            self.out.shrink_to_fit();
        }
        Ok((self.out, self.start, self.map))
    }

    #[cfg(test)]
    pub(super) fn reserved_bytes(&self) -> usize {
        self.out.capacity()
    }

    /// Returns the number of cells so far.
    pub(super) fn count(&self) -> u32 {
        self.map.count()
    }

    /// Returns `true` if there is no cell, nor one before a part of a block.
    pub(super) fn is_empty(&self) -> bool {
        self.previous.bytes == 0
    }

    /// Returns room for more cells: for those that were wanted, or for a step.
    pub(super) fn room(&mut self) -> Room<'_> {
        self.make_room();
        Room {
            bytes: self.out.get_mut(self.last..).unwrap_or_default(),
            end: RoomEnd { last: self.last, previous: self.previous, left: self.left, wanted: 0 },
            start: self.start,
            suffix_bytes: if self.has_tags { TAGS_BYTES } else { 0 }.wrapping_add(PADDING_BYTES),
            map: &mut self.map,
        }
    }

    /// Keeps the cells that were added to the room. Returns `true` if it was too short for the next
    /// one.
    pub(super) fn leave(&mut self, end: RoomEnd) -> bool {
        let RoomEnd { last, previous, left, wanted } = end;
        (self.last, self.previous, self.left, self.wanted) = (last, previous, left, wanted);
        wanted > 0
    }

    /// Extends the buffer by what is wanted, and at least by a step.
    fn make_room(&mut self) {
        let end = self.last.saturating_add(self.previous.bytes);
        let wanted = end.saturating_add(self.wanted);
        // Within its capacity, so that the buffer of an undamaged block is allocated once.
        let step = self.out.len().saturating_add(STEP_BYTES).min(self.out.capacity());
        self.out.resize(wanted.max(step), 0);
    }
}

/// Room for the next cells, which begins with the last one.
pub(super) struct Room<'c> {
    bytes: &'c mut [u8],
    start: usize,
    /// Room for what may follow the value of a cell.
    suffix_bytes: usize,
    end: RoomEnd,
    map: &'c mut CellMapBuilder,
}

/// Where the cells in the room end.
#[derive(Clone, Copy)]
pub(super) struct RoomEnd {
    last: usize,
    previous: PreviousCell,
    left: usize,
    /// Above 0 if a cell was not read because it required this many bytes.
    wanted: usize,
}

impl Room<'_> {
    /// Returns the last cell.
    #[inline(always)]
    pub(super) fn previous(&self) -> PreviousCell {
        self.end.previous
    }

    /// Starts a cell, whose lengths are of 32 bits, before the rest of the input, which has
    /// `input_bytes`; `None` if it does not fit the block or the room.
    /// Checked before any copy: a few bytes that repeat many times must not exceed the stated
    /// length.
    #[inline(always)]
    pub(super) fn begin<'r>(
        &'r mut self,
        head: CellHead,
        parts: &'r mut KeyParts,
        input_bytes: usize,
    ) -> Option<NewCell<'r>> {
        let whole = head.plain_bytes();
        if whole > self.end.left {
            return None;
        }
        let wanted = whole.wrapping_add(self.suffix_bytes);
        if self.bytes.len() < self.end.previous.bytes.wrapping_add(wanted) {
            self.want(whole, input_bytes);
            return None;
        }
        NewCell::begin(self.bytes, self.end.previous, head, parts)
    }

    /// Asks for room for a cell, unless its bytes can come neither from the previous one nor from
    /// the rest of the input: then it is damaged.
    #[cold]
    fn want(&mut self, whole: usize, input_bytes: usize) {
        let most = self.end.previous.bytes.saturating_add(input_bytes);
        if whole <= most.saturating_add(LENGTHS_BYTES).saturating_add(MAX_IMPLIED_BYTES) {
            self.end.wanted = whole.saturating_add(self.suffix_bytes);
        }
    }

    /// Adds the cell that was begun; `None` if it is longer than what the block states.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a block is shorter than 4 GiB")]
    pub(super) fn push(&mut self, cell: PreviousCell) -> Option<()> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = bytes.get_mut(self.end.previous.bytes..)?;
        self.end.last = self.end.last.wrapping_add(self.end.previous.bytes);
        self.end.left = self.end.left.checked_sub(cell.bytes)?;
        self.end.previous = cell;
        self.map.add(self.end.last.wrapping_sub(self.start) as u32);
        Some(())
    }

    /// Returns where the cells end, for [`PlainCells::leave`].
    #[inline]
    pub(super) fn end(self) -> RoomEnd {
        self.end
    }
}
