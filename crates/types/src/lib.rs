//! Types of Halite's data model, which is HBase's, and the `Cluster` API.
//!
//! This crate contains no engine and performs no input or output. It defines cells and their order,
//! operations, queries, filters as data, descriptors, and the traits [`Table`], [`Admin`] and
//! [`Cluster`].
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod aggregate;
pub mod bulk_load;
pub mod calendar;
pub mod cell;
pub mod compaction_filter;
pub mod counter;
pub mod error;
pub mod filter;
pub mod hash;
pub mod hbase_names;
pub mod key;
pub mod latency;
pub mod merge;
pub mod op;
pub mod query;
pub mod ring;
pub mod rng;
pub mod row;
pub mod row_check;
pub mod scan_meter;
pub mod schema;
pub mod server_name;
pub mod snapshot;
pub mod status;
pub mod suggest;
pub mod table;

pub use aggregate::{
    AggregatedColumn, Aggregates, Aggregation, CellValues, ColumnAggregates, CountedKeys,
};
pub use bulk_load::BulkLoad;
pub use bytes::Bytes;
pub use cell::{CellRef, CellType, Cells, CellsBuilder, LATEST_TIMESTAMP};
pub use compaction_filter::{CompactionFilter, CompactionFilterFactory};
pub use counter::ShardedCounters;
pub use error::{Error, ErrorKind, Result};
pub use filter::{BitOp, Comparator, CompareOp, Filter, FuzzyKey, RegexString};
pub use key::RowRange;
pub use latency::Latencies;
pub use merge::{Bitmap, Hll, Merge, MergeOperator, MergedColumn};
pub use op::{
    Append, CheckAndMutate, Condition, Delete, Durability, Increment, OpResult, Put, RowMutations,
    RowOp,
};
pub use query::{Get, ReadTier, Scan, Selection, TimeRange};
pub use ring::{Ring, RingValue};
pub use row::Row;
pub use row_check::{KeyParts, RowCheck, RowChecks};
pub use scan_meter::ScanMeter;
pub use schema::{
    Attributes, BloomType, FamilyDescriptor, KeepDeletedCells, RegionInfo, TableDescriptor,
    TableName,
};
pub use server_name::ServerName;
pub use snapshot::{SnapshotDescriptor, SnapshotType};
pub use status::{
    ClusterServers, ClusterStatus, CompactionState, FrequentRow, RegionLoad, ServerStatus,
};
pub use table::{
    Admin, BoxFuture, Cluster, CompactionKind, RowSource, RowStream, Table, TableExt, block_on,
};
