//! The key that is being decoded, beside the one before it.

use crate::hfile::vint::Input;

/// Timestamp and type at the end of a key.
pub(super) const STAMP_BYTES: usize = 9;

/// Where the value of a cell comes from.
pub(super) enum Value<'a> {
    Given(&'a [u8]),
    /// The one of the cell before.
    Same,
}

/// The flat key under work and the last finished one, which is empty at the start of a block.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) previous: Vec<u8>,
    pub(super) key: Vec<u8>,
    /// The family with its length in front, as in a key: in all cells of a block the same.
    pub(super) family: Vec<u8>,
}

impl Keys {
    /// Whether no cell of the block has been read.
    pub(super) fn is_first(&self) -> bool {
        self.previous.is_empty()
    }

    /// The key is whole; it is the one before for the next.
    pub(super) fn finish(&mut self) -> &[u8] {
        std::mem::swap(&mut self.previous, &mut self.key);
        self.key.clear();
        &self.previous
    }

    /// Timestamp and type of the key before; `None` at the start of a block.
    pub(super) fn previous_stamp(&self) -> Option<(i64, u8)> {
        let (_, stamp) = self.previous.split_last_chunk::<STAMP_BYTES>()?;
        let [timestamp @ .., kind] = *stamp;
        Some((i64::from_be_bytes(timestamp), kind))
    }

    /// Reads row, family and qualifier of a key of `key_bytes`, of which `common` are those of the key before, as DIFF and
    /// `FAST_DIFF` store them: the family never, the qualifier whole where the rows differ.
    pub(super) fn read_front(&mut self, input: &mut Input<'_>, common: usize, key_bytes: usize) -> Option<()> {
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

/// Where the row of a key ends; `None` if the key does not begin with a length.
pub(super) fn row_end(key: &[u8]) -> Option<usize> {
    usize::from(Input::new(key).u16()?).checked_add(2)
}
