//! Compaction: merging store files into fewer, larger files without invisible cells.
//!
//! `policy` selects files from their statistics, `store_policy` is the policy of a family; `job`
//! merges them, within the rate of `pace`.

mod job;
mod pace;
mod policy;
mod progress;
mod request;
mod row_filter;
mod settings;
mod store_policy;

pub(crate) use pace::CompactionPace;
pub(crate) use policy::{CompactionPlan, CompactionPolicy, FileStats};
pub(crate) use progress::CompactionProgress;
pub(crate) use request::CompactionRequest;
pub(crate) use settings::CompactionSettings;
pub(crate) use store_policy::StorePolicy;
