//! Division of the cells of one flush or compaction among several files.

use super::StripeBounds;

/// Division of cells among files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    /// One file for all.
    Whole,
    /// One file for the cells whose timestamps are at or after a bound and before the next one. The
    /// bounds are in ascending order; a cell before the first is in the first file.
    Times(Vec<i64>),
    /// One file for each stripe that has cells. The stripes are adjacent, in ascending order.
    Stripes(Vec<StripeFile>),
    /// Adjacent stripes that together have `bounds`, at most `most` of them. All but the last one
    /// have `cells` cells and the rest of a row. If the file `is_required`, there is one although
    /// there are no cells.
    Cells { bounds: StripeBounds, most: usize, cells: u64, is_required: bool },
}

/// File of one stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StripeFile {
    pub(crate) bounds: StripeBounds,
    /// Sequence id of the file: that of the newest file merged into it.
    pub(crate) max_sequence: u64,
    /// `true` if the file is written even without cells. It is then the only one of the stripe, and
    /// the bounds of a stripe are those of its files.
    pub(crate) is_required: bool,
}

impl Division {
    /// Returns the ranges of rows in each of which the files written take the place of the newest
    /// file merged.
    pub(crate) fn ranges(&self) -> Vec<StripeBounds> {
        match self {
            Self::Whole | Self::Times(_) => vec![StripeBounds::default()],
            Self::Stripes(stripes) => stripes.iter().map(|stripe| stripe.bounds.clone()).collect(),
            Self::Cells { bounds, .. } => vec![bounds.clone()],
        }
    }
}
