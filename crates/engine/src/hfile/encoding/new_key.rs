//! Key that is being rebuilt from its difference to the one before it.
//!
//! Most parts of cells are a few bytes long. They are copied in chunks of a fixed length, which is
//! faster than a copy of a variable length, and the next part overwrites the surplus. Both the
//! input and the room therefore have [`PADDING_BYTES`](crate::env::PADDING_BYTES) more than they
//! need.

use super::flat_key::{STAMP_BYTES, Stamp};
use super::previous_cell::KeyParts;
use crate::hfile::vint::ByteReader;

/// Bytes that are copied at once where at most as many are needed.
pub(super) const SHORT_BYTES: usize = 16;
/// Maximum bytes of a key that are neither stored nor in common with the previous one: a family
/// with its length, timestamp and type.
pub(super) const MAX_IMPLIED_BYTES: usize = 256 + STAMP_BYTES;

/// Key that is being rebuilt. It stays in registers as long as no function that is not inlined
/// gets a reference to it.
pub(super) struct NewKey<'c> {
    /// Begins with the previous key, or has only those of its bytes that this one has in common.
    /// What follows that key is read by [`NewCell`](super::new_cell::NewCell).
    pub(super) previous: &'c [u8],
    /// Room for the rest of the key and for what follows it, and padding.
    pub(super) rest: &'c mut [u8],
    pub(super) key_bytes: usize,
    /// Those of the previous key until they are read.
    pub(super) parts: &'c mut KeyParts,
}

impl<'c> NewKey<'c> {
    /// Starts a key that overwrites the previous one but its first `common` bytes; `None` if the
    /// room is shorter than these.
    #[inline(always)]
    pub(super) fn in_place(
        room: &'c mut [u8],
        key_bytes: usize,
        common: usize,
        parts: &'c mut KeyParts,
    ) -> Option<Self> {
        let (previous, rest) = room.split_at_mut_checked(common)?;
        Some(Self { previous, rest, key_bytes, parts })
    }

    /// Returns the timestamp and type of the previous key.
    #[inline]
    pub(super) fn previous_stamp(&self) -> Stamp {
        self.parts.stamp
    }

    /// Appends the first `bytes` of a chunk.
    #[inline(always)]
    pub(super) fn append_chunk<const N: usize>(
        &mut self,
        chunk: [u8; N],
        bytes: usize,
    ) -> Option<()> {
        let rest = std::mem::take(&mut self.rest);
        *rest.first_chunk_mut::<N>()? = chunk;
        self.rest = rest.get_mut(bytes..)?;
        Some(())
    }

    /// Appends bytes.
    #[inline(always)]
    pub(super) fn append(&mut self, bytes: &[u8]) -> Option<()> {
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
            return Some(self.parts.row_end);
        }
        let [first, second] = *input.chunk::<2>()?;
        let length = if common == 1 { [*self.previous.first()?, first] } else { [first, second] };
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
            let (previous, rest) = (self.previous, *input);
            *self.parts = KeyParts::of_bytes(self.key_bytes, |at| match at.checked_sub(common) {
                None => previous.get(at).copied(),
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
        *self.parts = KeyParts::of(key)?;
        *family = PaddedFamily::of_key(key)?;
        self.append(key)
    }
}

/// Family with its length, as in a key, the same in all cells of a block; and padding.
#[derive(Clone, Debug, Default)]
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
