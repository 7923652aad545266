//! Compaction: merging store files into fewer, larger files without invisible cells.
//!
//! `policy` selects files from their statistics, `store_policy` is the policy of a family; `claims`
//! keeps compactions of one region apart, `job` runs them within the rate of `pace`, and `merge`
//! does the work.

mod claims;
mod facts;
mod job;
mod merge;
mod pace;
mod policy;
mod progress;
mod request;
mod row_filter;
mod settings;
mod store_policy;
mod store_settings;

pub(crate) use claims::{CompactionClaims, Exclusion};
pub(crate) use facts::{file_stats, oldest_first};
pub(crate) use pace::CompactionPace;
pub(crate) use policy::{CompactionPlan, CompactionPolicy, FileStats, StripeSplit};
pub(crate) use progress::CompactionProgress;
pub(crate) use request::CompactionRequest;
pub(crate) use settings::CompactionSettings;
pub(crate) use store_policy::StorePolicy;
