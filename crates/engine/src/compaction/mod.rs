//! Compaction: merging store files into fewer, larger files without invisible cells.
//!
//! `policy` selects files from their statistics; `job` merges them, within the rate of `pace`.

mod job;
mod pace;
mod policy;
mod progress;
mod request;
mod row_filter;
mod settings;

pub(crate) use pace::CompactionPace;
pub(crate) use policy::{CompactionPlan, CompactionPolicy, FileStats, select};
pub(crate) use progress::CompactionProgress;
pub(crate) use request::CompactionRequest;
pub(crate) use settings::CompactionSettings;
