//! Selection of the files to compact: pure functions of facts about the files.

mod date_tiered;
mod exploring;
mod plan;
mod ratio;
mod stripe_layout;
mod stripes;

pub(crate) use date_tiered::DateTiered;
pub(crate) use exploring::{select, select_fifo};
pub(crate) use plan::{CompactionPlan, CompactionPolicy, FileStats};
pub(crate) use ratio::select_ratio;
pub(crate) use stripes::{StripeSplit, Stripes};
