//! Key that is being decoded, and the previous one.

use crate::hfile::vint::ByteReader;

/// Bytes of timestamp and type at the end of a key.
pub(super) const STAMP_BYTES: usize = 9;

/// Source of the value of a cell.
pub(super) enum Value<'a> {
    Given(&'a [u8]),
    /// Value of the previous cell.
    Same,
}

/// Current flat key and the last finished one, which is empty at the start of a block.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) previous: Vec<u8>,
    pub(super) key: Vec<u8>,
    /// Family with its length prefix, as in a key; the same in all cells of a block.
    pub(super) family: Vec<u8>,
}

impl Keys {
    /// Returns `true` if no cell of the block has been read.
    pub(super) fn is_first(&self) -> bool {
        self.previous.is_empty()
    }

    /// Finishes the key, which becomes the previous one.
    pub(super) fn finish(&mut self) -> &[u8] {
        std::mem::swap(&mut self.previous, &mut self.key);
        self.key.clear();
        &self.previous
    }

    /// Returns timestamp and type of the previous key; `None` at the start of a block.
    pub(super) fn previous_stamp(&self) -> Option<(i64, u8)> {
        let (_, stamp) = self.previous.split_last_chunk::<STAMP_BYTES>()?;
        let [timestamp @ .., kind] = *stamp;
        Some((i64::from_be_bytes(timestamp), kind))
    }

    /// Reads row, family and qualifier of a key of `key_bytes`, of which `common` are those of the
    /// previous key, as DIFF and `FAST_DIFF` store them. The family is never stored; the qualifier
    /// is stored whole if the rows differ.
    pub(super) fn read_front(
        &mut self,
        input: &mut ByteReader<'_>,
        common: usize,
        key_bytes: usize,
    ) -> Option<()> {
        let front = key_bytes.checked_sub(STAMP_BYTES)?;
        self.key.extend_from_slice(self.previous.get(..common)?);
        if row_end(&self.previous).is_none_or(|end| common < end) {
            self.key.extend_from_slice(input.take(2_usize.saturating_sub(common))?);
            let missing = row_end(&self.key)?.checked_sub(self.key.len())?;
            self.key.extend_from_slice(input.take(missing)?);
            self.key.extend_from_slice(&self.family);
        } else if common < row_end(&self.previous)?.checked_add(self.family.len())? {
            return None;
        }
        self.key.extend_from_slice(input.take(front.checked_sub(self.key.len())?)?);
        Some(())
    }
}

/// Returns the end of a key's row; `None` if the key does not begin with a length.
pub(super) fn row_end(key: &[u8]) -> Option<usize> {
    usize::from(ByteReader::new(key).u16()?).checked_add(2)
}
