//! The load of a table by key and time: recorded, kept, and queried as a heat map.
//!
//! ```text
//! metric.rs        what is counted                 column.rs    load by key in one span of time
//! sampler.rs       which operations are sampled    history.rs   columns of five weeks
//! sub_ranges.rs    counters of parts of a region   codec.rs     columns as bytes
//! space_saving.rs  most frequent rows              heat_map.rs  part of a history as a picture
//! prefixes.rs      most frequent beginnings        durations.rs durations of the last minute
//! key_sample.rs    sample of keys, in their order of arrival
//! column_time.rs   when columns end, and which time their loads are of
//! refine.rs        where in a part of a region its load is
//! recorder.rs      all of them for one region
//! activity.rs      frequent rows, prefixes and sampled keys of the last ten minutes
//! hot_rows.rs      sums of them                    busy_regions.rs  the most loaded regions
//! operations/      log of sampled operations: time, kind, row, client, statement
//! diagnosis/       the shape of a load, and whether splitting helps
//! ```
//!
//! A region counts every operation exactly, and takes one in [`sampler::SUB_RANGE_RATE`] for the
//! counters of its sub-ranges. Every 10 seconds [`RegionRecorder::drain`] moves the counts of all
//! regions of a table into one [`Column`], which [`History`] keeps and merges into longer ones.
//!
//! Nothing here reads a clock or a file, or creates a thread: times come from the caller, and the
//! counts themselves decide what is sampled.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod activity;
mod busy_regions;
mod closed_region;
mod codec;
mod column;
mod column_time;
mod diagnosis;
mod durations;
mod heat_map;
mod history;
mod hot_rows;
mod key_sample;
mod metric;
pub mod operations;
mod pending;
mod prefixes;
mod recorder;
mod refine;
pub mod sampler;
mod space_saving;
mod sub_ranges;

pub use activity::{Activity, ActivityColumn, ColumnLimits, RegionActivity, Skew, WeightedKey};
pub use busy_regions::BusyRegion;
pub use closed_region::{ClosedRegion, add_closed};
pub use codec::{NotAColumn, PackedColumn};
pub use column::{BASE_MS, Bounds, Column, MAX_BUCKETS, Region};
pub use column_time::{ColumnClock, ColumnEnd, ColumnTime};
pub use diagnosis::{Finding, ORDERED, Salt, Shape, ShapeWords, UNEVEN, diagnose};
pub use durations::{Durations, ReadsAndWrites};
pub use heat_map::{HeatMap, HeatQuery, MAX_COLUMNS, RowShares};
pub use history::{History, LAYERS, Layer};
pub use hot_rows::HotRow;
pub use key_sample::{KeySample, SampledKey};
pub use metric::{Load, METRICS, Metric};
pub use prefixes::{FrequentPrefixes, PREFIX_BYTES, PrefixLevel};
pub use recorder::{OperationKind, RegionColumn, RegionRecorder, TablePart};
pub use space_saving::{FrequentRow, SpaceSaving};
pub use sub_ranges::MAX_SUB_RANGES;
