//! Cell that is being rebuilt from its difference to the one before it.
//!
//! Most parts of cells are a few bytes long. They are copied in chunks of a fixed length, which is
//! faster than a copy of a variable length, and the next part overwrites the surplus. Both the
//! input and the room therefore have [`PADDING_BYTES`] more than they need.

use super::cell_head::{CellHead, LENGTHS_BYTES};
use super::flat_key::{STAMP_BYTES, Stamp};
use super::previous_cell::{KeyParts, PreviousCell};
use crate::env::PADDING_BYTES;
use crate::hfile::vint::ByteReader;

/// Bytes that are copied at once where at most as many are needed. For the start of the previous
/// key they are [`PADDING_BYTES`].
const SHORT_BYTES: usize = 16;

/// Cell that is being rebuilt. It stays in registers as long as no function that is not inlined
/// gets a reference to it.
pub(super) struct NewCell<'c> {
    /// Bytes of the previous cell.
    before: &'c [u8],
    previous: PreviousCell,
    /// Room for the rest of the cell, and padding.
    rest: &'c mut [u8],
    /// Bytes of the room for the whole cell.
    room_bytes: usize,
    key_bytes: usize,
    value_bytes: usize,
    parts: KeyParts,
}

impl<'c> NewCell<'c> {
    /// Starts a cell with its lengths and the bytes of its key that are those of the previous one;
    /// `None` if these are more than either key has. `room` begins with the previous cell.
    #[inline(always)]
    pub(super) fn begin(
        room: &'c mut [u8],
        previous: PreviousCell,
        head: CellHead,
    ) -> Option<Self> {
        let CellHead { key_bytes, value_bytes, common, .. } = head;
        if common > previous.key_bytes || common > key_bytes {
            return None;
        }
        // Copied before anything else is written, which makes it one copy through registers.
        let chunk = *room.get(LENGTHS_BYTES..)?.first_chunk::<PADDING_BYTES>()?;
        let key = previous.bytes.wrapping_add(LENGTHS_BYTES);
        *room.get_mut(key..)?.first_chunk_mut::<PADDING_BYTES>()? = chunk;
        let (before, out) = room.split_at_mut_checked(previous.bytes)?;
        let room_bytes = out.len();
        let (lengths, out) = out.split_first_chunk_mut::<LENGTHS_BYTES>()?;
        *lengths = ((key_bytes as u64) << 32 | value_bytes as u64).to_be_bytes();
        if common > PADDING_BYTES {
            let key = before.get(LENGTHS_BYTES..)?.get(..common)?;
            out.get_mut(..common)?.copy_from_slice(key);
        }
        let rest = out.get_mut(common..)?;
        let parts = previous.parts;
        Some(Self { before, previous, rest, room_bytes, key_bytes, value_bytes, parts })
    }

    /// Returns the timestamp and type of the previous key.
    #[inline]
    pub(super) fn previous_stamp(&self) -> Stamp {
        self.previous.parts.stamp
    }

    /// Appends the first `bytes` of a chunk.
    #[inline(always)]
    fn append_chunk<const N: usize>(&mut self, chunk: [u8; N], bytes: usize) -> Option<()> {
        let rest = std::mem::take(&mut self.rest);
        *rest.first_chunk_mut::<N>()? = chunk;
        self.rest = rest.get_mut(bytes..)?;
        Some(())
    }

    /// Appends bytes.
    #[inline(always)]
    fn append(&mut self, bytes: &[u8]) -> Option<()> {
        let (place, rest) = std::mem::take(&mut self.rest).split_at_mut_checked(bytes.len())?;
        place.copy_from_slice(bytes);
        self.rest = rest;
        Some(())
    }

    /// Appends the next `bytes` of the input.
    #[inline(always)]
    pub(super) fn append_next(&mut self, input: &mut ByteReader<'_>, bytes: usize) -> Option<()> {
        if bytes <= SHORT_BYTES {
            self.append_chunk(*input.chunk::<SHORT_BYTES>()?, bytes)?;
            input.skip(bytes)
        } else {
            self.append(input.take(bytes)?)
        }
    }

    /// Reads row, family and qualifier of the key after its first `common` bytes, as DIFF and
    /// `FAST_DIFF` store them. The family is never stored; the qualifier is stored whole if the rows
    /// differ.
    #[inline(always)]
    pub(super) fn read_front(
        &mut self,
        input: &mut ByteReader<'_>,
        common: usize,
        family: &PaddedFamily,
    ) -> Option<()> {
        let front_bytes = self.key_bytes.checked_sub(STAMP_BYTES)?;
        if common >= self.parts.family_end {
            self.append_next(input, front_bytes.checked_sub(common)?)
        } else if common < self.parts.row_end {
            self.read_row(input, common, front_bytes, family)
        } else {
            None
        }
    }

    /// Reads what follows the first `common` bytes of a key with a new row.
    #[inline(always)]
    fn read_row(
        &mut self,
        input: &mut ByteReader<'_>,
        common: usize,
        front_bytes: usize,
        family: &PaddedFamily,
    ) -> Option<()> {
        let row_end = self.read_row_end(input, common)?;
        let family_end = row_end.wrapping_add(family.len());
        let qualifier_bytes = front_bytes.checked_sub(family_end)?;
        self.append_next(input, row_end.checked_sub(common.max(2))?)?;
        self.append_family(family)?;
        (self.parts.row_end, self.parts.family_end) = (row_end, family_end);
        self.append_next(input, qualifier_bytes)
    }

    /// Reads the length of the row, as far as it is not in common; returns the end of the row. No
    /// row is empty.
    #[inline(always)]
    fn read_row_end(&mut self, input: &mut ByteReader<'_>, common: usize) -> Option<usize> {
        if common >= 2 {
            return Some(self.previous.parts.row_end);
        }
        let [first, second] = *input.chunk::<2>()?;
        let length =
            if common == 1 { [*self.before.get(LENGTHS_BYTES)?, first] } else { [first, second] };
        self.append_next(input, 2_usize.saturating_sub(common))?;
        let row_bytes = usize::from(u16::from_be_bytes(length));
        (row_bytes > 0).then(|| row_bytes.wrapping_add(2))
    }

    #[inline(always)]
    fn append_family(&mut self, family: &PaddedFamily) -> Option<()> {
        if family.len() <= SHORT_BYTES {
            self.append_chunk(*family.bytes.first_chunk::<SHORT_BYTES>()?, family.len())
        } else {
            self.append(family.bytes.get(..family.len())?)
        }
    }

    /// Appends timestamp and type to the key.
    #[inline(always)]
    pub(super) fn append_stamp(&mut self, stamp: Stamp) -> Option<()> {
        let mut bytes = [stamp.kind; STAMP_BYTES];
        *bytes.first_chunk_mut::<8>()? = stamp.timestamp.to_be_bytes();
        self.append_chunk(bytes, STAMP_BYTES)?;
        self.parts.stamp = stamp;
        Some(())
    }

    /// Reads the key after its first `common` bytes, as PREFIX stores it.
    #[inline(always)]
    pub(super) fn read_key(&mut self, input: &mut ByteReader<'_>, common: usize) -> Option<()> {
        if !self.parts.are_in_common(common, self.key_bytes) {
            let (before, rest) = (self.before.get(LENGTHS_BYTES..), *input);
            self.parts = KeyParts::of_bytes(self.key_bytes, |at| match at.checked_sub(common) {
                None => before?.get(at).copied(),
                Some(at) => rest.peek(at),
            })?;
        }
        self.append_next(input, self.key_bytes.checked_sub(common)?)
    }

    /// Reads the first key of a block, which is stored whole, and its family.
    pub(super) fn read_first_key(
        &mut self,
        input: &mut ByteReader<'_>,
        family: &mut PaddedFamily,
    ) -> Option<()> {
        let key = input.take(self.key_bytes)?;
        self.parts = KeyParts::of(key)?;
        *family = PaddedFamily::of_key(key)?;
        self.append(key)
    }

    /// Reads the value.
    #[inline(always)]
    pub(super) fn read_value(&mut self, input: &mut ByteReader<'_>) -> Option<()> {
        self.append_next(input, self.value_bytes)
    }

    /// Appends the value of the previous cell, which is as long; `None` if it is not known.
    #[inline(always)]
    pub(super) fn repeat_value(&mut self) -> Option<()> {
        let start = self.previous.key_bytes.wrapping_add(LENGTHS_BYTES);
        let value = self.before.get(start..)?;
        if let Some(chunk) = value.first_chunk::<SHORT_BYTES>()
            && self.value_bytes <= SHORT_BYTES
        {
            return self.append_chunk(*chunk, self.value_bytes);
        }
        self.append(value.get(..self.value_bytes)?)
    }

    /// Appends tags as a plain block has them, after their length.
    pub(super) fn append_tags(&mut self, tags: &[u8]) -> Option<()> {
        self.append_chunk(u16::try_from(tags.len()).ok()?.to_be_bytes(), 2)?;
        self.append(tags)
    }

    /// Reads the sequence id, a vlong that is not negative.
    #[inline(always)]
    pub(super) fn read_sequence_id(&mut self, input: &mut ByteReader<'_>) -> Option<()> {
        let bytes = input.vlong_bytes()?;
        self.append_chunk(*input.chunk::<SHORT_BYTES>()?, bytes)?;
        input.skip(bytes)
    }

    /// Returns the cell, which is complete, for the next one.
    #[inline(always)]
    pub(super) fn finish(self) -> PreviousCell {
        PreviousCell {
            bytes: self.room_bytes.wrapping_sub(self.rest.len()),
            key_bytes: self.key_bytes,
            parts: self.parts,
            value_bytes: self.value_bytes,
        }
    }
}

/// Family with its length, as in a key, the same in all cells of a block; and padding.
#[derive(Default)]
pub(super) struct PaddedFamily {
    bytes: Vec<u8>,
}

impl PaddedFamily {
    pub(super) fn new(family: &[u8]) -> Self {
        Self { bytes: [family, &[0; SHORT_BYTES]].concat() }
    }

    /// Returns the family of a key; `None` if the key is invalid.
    pub(super) fn of_key(key: &[u8]) -> Option<Self> {
        let KeyParts { row_end, family_end, .. } = KeyParts::of(key)?;
        Some(Self::new(key.get(row_end..family_end)?))
    }

    #[inline]
    fn len(&self) -> usize {
        self.bytes.len().saturating_sub(SHORT_BYTES)
    }
}
