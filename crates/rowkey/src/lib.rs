//! The row key, declared once: from a [`KeySchema`] come the encoding, the scan ranges, the merge across salts and the
//! split points.
//!
//! A schema is a list of [`Segment`]s in the order of the bytes. Queries name logical [`Field`]s only; salts, hashes and
//! buckets are computed from them and never written in a condition. This crate knows tables only through the traits of
//! `halite-types`, so everything in it works on a store in this process and on a cluster elsewhere.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod codec;
pub mod dictionary;
pub mod error;
pub mod fit;
mod hash;
pub mod infer;
pub mod language;
pub mod lint;
pub mod literal;
mod mistake;
pub mod plan;
pub mod scatter;
pub mod schema;
pub mod series;
pub mod simulate;
pub mod split;
pub mod strict;
pub mod typed;
pub mod value;
mod words;

pub use codec::{Decoded, KeyBuf, KeyHelper, NoHelper, SaltDrawer};
pub use dictionary::Dictionary;
pub use error::{Cause, KeyError};
pub use fit::KeyFit;
pub use language::LanguageError;
pub use plan::{KeyQuery, Plan, PlanError, PlanOptions, Test};
pub use scatter::{PageToken, Scatter, ScatterOptions, Unreadable};
pub use schema::{Field, FieldId, HashFunction, KeySchema, Order, Profile, SchemaError, Segment, SegmentKind};
pub use split::{KeyModel, RegionSplitter, SplitError, SplitNote, Splits};
pub use value::{Decimal, FieldType, TimeUnit, Value};
pub use words::values_of_line;
