//! The nouns of Halite's data model, which is HBase's, and the seam everything meets at.
//!
//! This crate holds no engine and does no input or output: cells and their order, operations, queries, filters as
//! data, descriptors, and the traits [`Table`], [`Admin`] and [`Cluster`].
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bulk_load;
pub mod cell;
pub mod error;
pub mod filter;
pub mod hash;
pub mod key;
pub mod nearest;
pub mod op;
pub mod query;
pub mod rewrite;
pub mod row;
pub mod row_check;
pub mod schema;
pub mod snapshot;
pub mod status;
pub mod table;

pub use bulk_load::BulkLoad;
pub use bytes::Bytes;
pub use cell::{CellRef, CellType, Cells, CellsBuilder, LATEST_TIMESTAMP};
pub use error::{Error, ErrorKind, Result};
pub use filter::{BitOp, Comparator, CompareOp, Filter, FuzzyKey, RegexString};
pub use key::RowRange;
pub use op::{Append, CheckAndMutate, Condition, Delete, Durability, Increment, OpResult, Put, RowMutations, RowOp};
pub use query::{Get, Scan, Selection, Tier, TimeRange};
pub use rewrite::{Rewrite, RewriteRow};
pub use row::Row;
pub use row_check::{RowCheck, RowChecks};
pub use schema::{Attributes, BloomType, FamilyDescriptor, KeepDeletedCells, RegionInfo, TableDescriptor, TableName};
pub use snapshot::{SnapshotDescriptor, SnapshotKind};
pub use status::{ClusterStatus, CompactionState, RegionLoad};
pub use table::{Admin, Cluster, CompactionKind, Fut, RowSource, RowStream, Table, TableExt, block_on};
