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
//! compile DataFusion.
#![cfg(feature = "datafusion")]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod catalog;
mod copy;
mod direct;
mod error;
mod explain;
mod names;
mod parse;
mod pushdown;
mod rules;
mod scan;
mod session;
mod types;
mod write;

pub use catalog::listing::list_tables;
pub use catalog::local::SessionTables;
pub use catalog::table_info::{TableInfo, TableKind};
pub use copy::{CopyFormat, CopyOptions, CopySource, CopyStatement, Fields, Header, Lines};
pub use datafusion;
pub use error::{Result, SqlError, SqlState};
pub use halite_rowkey::table_lint::TableLint;
pub use parse::{
    StatementText, TransactionStatement, byte_at, check_query, split_statements, transaction_modes,
};
pub use session::{Access, Answer, Loader, Prepared, Resources, Rewrite, Settings, SqlContext};
pub use types::TYPE_KEY;
pub use types::display::cell_text;
