//! Plain block that is being rebuilt from an encoded one, and the previous cell in it.

use super::cell_before::CellBefore;
use super::flat_key::{STAMP_BYTES, Stamp, family_end, row_end, split_stamp};
use crate::hfile::vint::ByteReader;

/// Maximum bytes that are allocated for a block before its cells have been read: some, or a
/// multiple of those on disk. The stated size of a block is not trusted, since a few bytes may
/// stand for many.
const MIN_RESERVED_BYTES: usize = 256 << 10;
const MAX_RESERVED_FACTOR: usize = 16;

/// Bytes that are copied at once where at most as many are needed, which is faster than a copy of a
/// variable length: most parts of keys are short. The surplus is cut off again.
const SHORT_BYTES: usize = 16;
/// The same for the start of the previous key.
const SHORT_PREFIX_BYTES: usize = 64;
/// Bytes of the lengths before a key.
pub(super) const LENGTHS_BYTES: usize = 8;

/// Bytes of a plain block so far.
pub(super) struct PlainCells<'a> {
    out: Vec<u8>,
    /// Bytes of the whole block, which are never exceeded.
    bytes: usize,
    previous: Option<PreviousCell>,
    /// Family with its length prefix, as in a key; the same in all cells of a block.
    family: &'a [u8],
    /// Offset of the current key.
    key: usize,
}

/// Offsets and lengths of a cell.
#[derive(Clone, Copy)]
struct PreviousCell {
    key: usize,
    key_bytes: usize,
    /// `None` if only its length is known.
    value: Option<usize>,
    value_bytes: usize,
}

impl<'a> PlainCells<'a> {
    /// Returns no cells of a block of `bytes`, decoded from `encoded_bytes`.
    pub(super) fn new(bytes: usize, encoded_bytes: usize) -> Self {
        let most = encoded_bytes.saturating_mul(MAX_RESERVED_FACTOR).max(MIN_RESERVED_BYTES);
        Self {
            out: Vec::with_capacity(bytes.min(most).saturating_add(SHORT_PREFIX_BYTES)),
            bytes,
            previous: None,
            family: &[],
            key: 0,
        }
    }

    /// Returns no cells of a part of `bytes`, decoded from `encoded_bytes`, after a cell whose key
    /// comes first in the buffer, in place of a whole cell; `None` for an invalid key.
    pub(super) fn after(
        before: CellBefore<'a>,
        bytes: usize,
        encoded_bytes: usize,
    ) -> Option<Self> {
        let (front, _) = split_stamp(before.key)?;
        let family = front.get(row_end(front)?..family_end(front)?)?;
        let start = before.key.len().checked_add(LENGTHS_BYTES)?;
        let mut cells = Self::new(start.checked_add(bytes)?, encoded_bytes.checked_add(start)?);
        cells.out.extend_from_slice(&[0; LENGTHS_BYTES]);
        cells.out.extend_from_slice(before.key);
        cells.family = family;
        cells.previous = Some(PreviousCell {
            key: LENGTHS_BYTES,
            key_bytes: before.key.len(),
            value: None,
            value_bytes: before.value_bytes,
        });
        Some(cells)
    }

    /// Returns the bytes, or their number and the stated one if these differ.
    pub(super) fn into_block(self) -> Result<Vec<u8>, (usize, usize)> {
        if self.out.len() == self.bytes { Ok(self.out) } else { Err((self.out.len(), self.bytes)) }
    }

    #[cfg(test)]
    pub(super) fn reserved_bytes(&self) -> usize {
        self.out.capacity()
    }

    /// Returns `true` if no cell of the block has been read.
    #[inline]
    pub(super) fn is_first(&self) -> bool {
        self.previous.is_none()
    }

    /// Returns the length of the previous key, 0 at the start of a block.
    #[inline]
    pub(super) fn previous_key_bytes(&self) -> usize {
        self.previous.map_or(0, |cell| cell.key_bytes)
    }

    /// Returns the length of the previous value, 0 at the start of a block.
    #[inline]
    pub(super) fn previous_value_bytes(&self) -> usize {
        self.previous.map_or(0, |cell| cell.value_bytes)
    }

    /// Returns timestamp and type of the previous key; `None` at the start of a block.
    #[inline]
    pub(super) fn previous_stamp(&self) -> Option<Stamp> {
        split_stamp(self.previous_key()?).map(|(_, stamp)| stamp)
    }

    #[inline]
    fn previous_key(&self) -> Option<&[u8]> {
        let cell = self.previous?;
        self.out.get(cell.key..cell.key.checked_add(cell.key_bytes)?)
    }

    /// Sets the family, with its length prefix.
    pub(super) fn set_family(&mut self, family: &'a [u8]) {
        self.family = family;
    }

    /// Starts a cell with its lengths; `None` if it does not fit the block. Checked before any copy:
    /// a few bytes that repeat many times must not exceed the stated length.
    #[inline]
    pub(super) fn start(&mut self, key_bytes: usize, value_bytes: usize) -> Option<()> {
        let whole = key_bytes.checked_add(value_bytes)?.checked_add(LENGTHS_BYTES)?;
        if self.out.len().checked_add(whole)? > self.bytes {
            return None;
        }
        let lengths = u64::from(u32::try_from(key_bytes).ok()?) << 32
            | u64::from(u32::try_from(value_bytes).ok()?);
        self.out.extend_from_slice(&lengths.to_be_bytes());
        self.key = self.out.len();
        Some(())
    }

    /// Appends bytes of the key.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends the first bytes of the previous key; `None` if it is shorter.
    #[inline]
    pub(super) fn push_previous(&mut self, bytes: usize) -> Option<()> {
        if bytes > self.previous_key_bytes() {
            return None;
        }
        let start = self.previous.map_or(0, |cell| cell.key);
        match self.out.get(start..)?.first_chunk::<SHORT_PREFIX_BYTES>().copied() {
            Some(chunk) if bytes <= SHORT_PREFIX_BYTES => {
                let end = self.out.len().saturating_add(bytes);
                self.out.extend_from_slice(&chunk);
                self.out.truncate(end);
            }
            _ => self.out.extend_from_within(start..start.checked_add(bytes)?),
        }
        Some(())
    }

    /// Appends the next `bytes` of the input.
    #[inline]
    pub(super) fn push_next(&mut self, input: &mut ByteReader<'a>, bytes: usize) -> Option<()> {
        let chunk = input.chunk::<SHORT_BYTES>();
        let part = input.take(bytes)?;
        match chunk {
            Some(chunk) if bytes <= SHORT_BYTES => {
                let end = self.out.len().saturating_add(bytes);
                self.out.extend_from_slice(chunk);
                self.out.truncate(end);
            }
            _ => self.out.extend_from_slice(part),
        }
        Some(())
    }

    /// Appends the stamp of the key.
    #[inline]
    pub(super) fn push_stamp(&mut self, stamp: Stamp) {
        let mut bytes = [stamp.kind; STAMP_BYTES];
        if let Some((timestamp, _)) = bytes.split_first_chunk_mut::<8>() {
            *timestamp = stamp.timestamp.to_be_bytes();
        }
        self.out.extend_from_slice(&bytes);
    }

    /// Reads row, family and qualifier of a key of `key_bytes`, of which `common` are those of the
    /// previous key, as DIFF and `FAST_DIFF` store them. The family is never stored; the qualifier
    /// is stored whole if the rows differ.
    #[inline]
    pub(super) fn read_front(
        &mut self,
        input: &mut ByteReader<'a>,
        common: usize,
        key_bytes: usize,
    ) -> Option<()> {
        let front_bytes = key_bytes.checked_sub(STAMP_BYTES)?;
        let previous_row_end = self.previous_key().and_then(row_end);
        self.push_previous(common)?;
        let mut present = common;
        if previous_row_end.is_none_or(|end| common < end) {
            self.push_next(input, 2_usize.saturating_sub(common))?;
            let row_end = row_end(self.out.get(self.key..)?)?;
            self.push_next(input, row_end.checked_sub(common.max(2))?)?;
            self.out.extend_from_slice(self.family);
            present = row_end.checked_add(self.family.len())?;
        } else if common < previous_row_end?.checked_add(self.family.len())? {
            return None;
        }
        self.push_next(input, front_bytes.checked_sub(present)?)
    }

    /// Reads a whole key, the first one, and remembers its family.
    pub(super) fn read_first(
        &mut self,
        input: &mut ByteReader<'a>,
        key_bytes: usize,
    ) -> Option<()> {
        let key = input.take(key_bytes)?;
        let (front, _) = split_stamp(key)?;
        self.family = front.get(row_end(front)?..family_end(front)?)?;
        self.push(key);
        Some(())
    }

    /// Appends the value after the key, or the previous one again. The cell becomes the previous
    /// one.
    #[inline]
    pub(super) fn finish(&mut self, value: Option<&[u8]>) -> Option<()> {
        let start = self.out.len();
        let value_bytes = match (value, self.previous) {
            (Some(value), _) => {
                self.out.extend_from_slice(value);
                value.len()
            }
            (None, cell) => {
                let cell = cell?;
                let value = cell.value?;
                self.out.extend_from_within(value..value.checked_add(cell.value_bytes)?);
                cell.value_bytes
            }
        };
        let key_bytes = start.checked_sub(self.key)?;
        let key = self.key;
        self.previous = Some(PreviousCell { key, key_bytes, value: Some(start), value_bytes });
        Some(())
    }

    /// Returns the bytes so far, for what follows the value.
    #[inline]
    pub(super) fn suffixes(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
}
