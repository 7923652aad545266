//! Declarative row keys: a [`KeySchema`] determines the encoding, the scan ranges, the merge across
//! salts and the split keys.
//!
//! A schema is a list of [`Segment`]s in byte order. Queries name logical [`Field`]s only; salts,
//! hashes and buckets are computed from them and never appear in a condition. This crate accesses
//! tables only through the traits of `halite-types`, so it works with a store in this process and
//! with a remote cluster.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cell;
mod check;
pub mod codec;
mod column_guess;
mod condition_text;
pub mod dictionary;
pub mod error;
mod hash;
mod hot_end;
#[doc(hidden)]
pub mod internals;
pub mod key_labels;
pub mod language;
pub mod literal;
mod mistake;
pub mod move_row;
pub mod plan;
pub mod record;
mod region_sample;
pub mod scatter;
pub mod schema;
mod schema_change;
pub mod series;
pub mod split;
pub mod strict;
pub mod table_lint;
pub mod typed;
pub mod value;

pub use cell::{CellCodec, CellEncoding, CellError, CellErrorKind};
pub use codec::{DecodedKey, KeyBuf, KeyResolver, NoResolver, SaltGenerator};
pub use condition_text::values_of_line;
pub use dictionary::Dictionary;
pub use error::{KeyError, KeyErrorKind};
pub use language::LanguageError;
pub use plan::{KeyQuery, Plan, PlanError, PlanOptions, Predicate};
pub use region_sample::{rows_of_regions, spread_regions};
pub use scatter::{Page, PageToken, Scatter, ScatterOptions, UndecodableRows};
pub use schema::{
    Field, FieldId, HashFunction, KeySchema, Order, Profile, SchemaError, Segment, SegmentKind,
};
pub use schema_change::change_schema;
pub use split::{KeyModel, RegionSplitter, SplitError, SplitNote, Splits};
pub use value::{Decimal, FieldType, TimeUnit, Value};
