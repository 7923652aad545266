//! Cell that is being rebuilt, as a plain block has it, from its difference to the one before it.

use super::cell_head::{CellHead, LENGTHS_BYTES};
use super::new_key::{NewKey, SHORT_BYTES};
use super::previous_cell::{KeyParts, PreviousCell};
use crate::env::PADDING_BYTES;
use crate::hfile::vint::ByteReader;

/// Cell that is being rebuilt. It stays in registers as long as no function that is not inlined
/// gets a reference to it.
pub(super) struct NewCell<'c> {
    /// Its key; what follows the key is written to the room after it.
    pub(super) key: NewKey<'c>,
    previous: PreviousCell,
    /// Bytes of the room for the whole cell.
    room_bytes: usize,
    value_bytes: usize,
}

impl<'c> NewCell<'c> {
    /// Starts a cell with its lengths and the bytes of its key that are those of the previous one;
    /// `None` if these are more than either key has. `room` begins with the previous cell, `parts`
    /// are those of its key.
    #[inline(always)]
    pub(super) fn begin(
        room: &'c mut [u8],
        previous: PreviousCell,
        head: CellHead,
        parts: &'c mut KeyParts,
    ) -> Option<Self> {
        let CellHead { key_bytes, value_bytes, common, .. } = head;
        if !head.fits(previous) {
            return None;
        }
        // Copied before anything else is written, which makes it one copy through registers, and in
        // a chunk of a fixed length, as the parts of a key are.
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
        let previous_key = before.get(LENGTHS_BYTES..).unwrap_or_default();
        let key = NewKey { previous: previous_key, rest, key_bytes, parts };
        Some(Self { key, previous, room_bytes, value_bytes })
    }

    /// Reads the value.
    #[inline(always)]
    pub(super) fn read_value(&mut self, input: &mut ByteReader<'_>) -> Option<()> {
        self.key.append_next(input, self.value_bytes)
    }

    /// Appends the value of the previous cell, which is as long; `None` if it is not known.
    #[inline(always)]
    pub(super) fn repeat_value(&mut self) -> Option<()> {
        let value = self.key.previous.get(self.previous.key_bytes..)?;
        if let Some(chunk) = value.first_chunk::<SHORT_BYTES>()
            && self.value_bytes <= SHORT_BYTES
        {
            return self.key.append_chunk(*chunk, self.value_bytes);
        }
        self.key.append(value.get(..self.value_bytes)?)
    }

    /// Appends tags as a plain block has them, after their length.
    pub(super) fn append_tags(&mut self, tags: &[u8]) -> Option<()> {
        self.key.append_chunk(u16::try_from(tags.len()).ok()?.to_be_bytes(), 2)?;
        self.key.append(tags)
    }

    /// Reads the sequence id, a vlong that is not negative.
    #[inline(always)]
    pub(super) fn read_sequence_id(&mut self, input: &mut ByteReader<'_>) -> Option<()> {
        let bytes = input.vlong_bytes()?;
        self.key.append_chunk(*input.chunk::<SHORT_BYTES>()?, bytes)?;
        input.skip(bytes)
    }

    /// Returns the cell, which is complete, for the next one.
    #[inline(always)]
    pub(super) fn finish(self) -> PreviousCell {
        PreviousCell {
            bytes: self.room_bytes.wrapping_sub(self.key.rest.len()),
            key_bytes: self.key.key_bytes,
            parts: *self.key.parts,
            value_bytes: self.value_bytes,
        }
    }
}
