//! SQL over any `Cluster`: an embedded store, a Halite server, an Apache HBase cluster. Tables with a
//! declared row key are read by field, the others by `_row`.
//!
//! DataFusion parses, optimizes and executes; names, the catalog, ranges of keys, scans and
//! `EXPLAIN` are here. A statement goes through `parse/` (limits, kind of statement), `names/`
//! (names as the catalog spells them), DataFusion's planner with `catalog/`, `pushdown/`
//! (conditions to a `KeyQuery` and to HBase's filters), `rules/` (plans that the key shortens) and
//! `scan/`. `direct/` leaves DataFusion out where
//! a scan alone answers.
//! `types/` is the only place that knows the bytes of cells. `copy/` reads and writes the lines of COPY.
//!
//! The crate is empty without its feature `datafusion`, so that builds of the workspace do not
//! compile DataFusion. The feature `text` alone is what the fuzzer builds: what reads texts before
//! DataFusion does.
#![cfg(any(feature = "datafusion", feature = "text"))]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(feature = "datafusion"))]
extern crate self as datafusion;

#[cfg(feature = "datafusion")]
mod catalog;
mod copy;
#[cfg(feature = "datafusion")]
mod direct;
#[cfg_attr(
    not(feature = "datafusion"),
    expect(dead_code, reason = "the fuzzer comes to errors of texts only")
)]
mod error;
#[cfg(feature = "datafusion")]
mod explain;
#[cfg(all(feature = "text", not(feature = "datafusion")))]
pub mod fuzzing;
#[cfg(feature = "datafusion")]
mod names;
#[cfg_attr(
    not(feature = "datafusion"),
    expect(dead_code, unused_imports, reason = "the fuzzer plans nothing")
)]
mod parse;
#[cfg(feature = "datafusion")]
mod pushdown;
#[cfg(feature = "datafusion")]
mod rules;
#[cfg(feature = "datafusion")]
mod scan;
#[cfg(feature = "datafusion")]
mod session;
#[cfg(feature = "datafusion")]
mod types;
#[cfg(feature = "datafusion")]
mod write;

/// The parser, as DataFusion passes it on.
#[cfg(not(feature = "datafusion"))]
#[doc(hidden)]
pub mod sql {
    pub use sqlparser;
}

#[cfg(feature = "datafusion")]
pub use catalog::listing::list_tables;
#[cfg(feature = "datafusion")]
pub use catalog::local::SessionTables;
#[cfg(feature = "datafusion")]
pub use catalog::table_info::{TableInfo, TableKind};
pub use copy::{CopyFormat, CopyOptions, CopySource, CopyStatement, Fields, Header, Lines};
#[cfg(feature = "datafusion")]
pub use datafusion;
pub use error::{Result, SqlError, SqlState};
pub use halite_rowkey::table_lint::TableLint;
pub use parse::{
    BoundedDialect, StatementText, TransactionStatement, byte_at, check_query, split_statements,
    transaction_modes,
};
#[cfg(feature = "datafusion")]
pub use session::large_stack::STACK_BYTES;
#[cfg(feature = "datafusion")]
pub use session::{
    Access, Answer, Loader, Prepared, Progress, Resources, Rewrite, Settings, SqlContext,
};
#[cfg(feature = "datafusion")]
pub use types::TYPE_KEY;
#[cfg(feature = "datafusion")]
pub use types::display::cell_text;
