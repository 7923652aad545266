//! Range of rows of a store file in a striped store, as HBase records it in the file info
//! (`StripeStoreFileManager`).

use bytes::Bytes;
use halite_types::cell::key_row;

use crate::hfile::{FileInfo, Reader, Writer};

/// File info key of the first row of the stripe; an empty value means no bound.
const START_KEY: &str = "STRIPE_START_KEY";
/// File info key of the first row after the stripe; an empty value means no bound.
const END_KEY: &str = "STRIPE_END_KEY";

/// Rows from `start` (inclusive) to `end` (exclusive); empty means unbounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StripeBounds {
    pub(crate) start: Bytes,
    pub(crate) end: Bytes,
}

impl StripeBounds {
    /// Returns the bounds of a file; `None` if it has none, or cells outside of them.
    pub(crate) fn of_file(reader: &Reader) -> Option<Self> {
        let bounds = Self::recorded_in(reader.info())?;
        let is_inside = |key: Option<&[u8]>| key.is_none_or(|key| bounds.contains(key_row(key)));
        let are_inside =
            reader.is_empty() || is_inside(reader.first_key()) && is_inside(reader.last_key());
        are_inside.then_some(bounds)
    }

    /// Returns the bounds that a file info contains, if they are a range.
    pub(crate) fn recorded_in(info: &FileInfo) -> Option<Self> {
        let row = |key: &str| info.get(key).map(Bytes::copy_from_slice);
        let bounds = Self { start: row(START_KEY)?, end: row(END_KEY)? };
        (bounds.end.is_empty() || bounds.start < bounds.end).then_some(bounds)
    }

    /// Records the bounds in the info of a file that is being written.
    pub(super) fn record(&self, writer: &mut Writer) {
        writer.set_info(START_KEY, self.start.to_vec());
        writer.set_info(END_KEY, self.end.to_vec());
    }

    pub(crate) fn contains(&self, row: &[u8]) -> bool {
        row >= &self.start[..] && !self.is_before(row)
    }

    /// Returns `true` if the rows end before `row`.
    pub(crate) fn is_before(&self, row: &[u8]) -> bool {
        !self.end.is_empty() && row >= &self.end[..]
    }
}
