//! In place of `heat.rs` in a build without the feature `heat`: nothing is recorded.

use halite_types::Row;

use super::prepared_write::PreparedWrite;
use crate::options::Options;

/// Nothing.
pub(crate) struct RegionHeat;

impl RegionHeat {
    pub(super) fn new(_options: &Options) -> Self {
        Self
    }

    #[inline]
    pub(super) fn record_get(&self, _number: u64, _row: &[u8], _bytes: u64) {}

    #[inline]
    pub(super) fn record_rows(&self, _first: u64, _rows: &[Row]) {}

    #[inline]
    pub(super) fn record_writes(&self, _first: u64, _write: &PreparedWrite<'_>) {}
}
