//! From text to one statement: `split.rs` finds the ends of statements, `tokens.rs` reads the tokens
//! of one and checks its limits, `kind.rs` tells what it is (`transaction.rs`: BEGIN, COMMIT, ROLLBACK,
//! `explain_options.rs`: the options of EXPLAIN),
//! `history.rs` reads what follows a table in this dialect alone, `column_list.rs` columns that it
//! is given there, `table.rs` reads `TABLE t`, `comment.rs` reads COMMENT ON, `local.rs` reads
//! statements about temporary tables and views,
//! `refused.rs` refuses what the parser reads and no plan keeps (`ctes.rs`: and what makes too large a plan),
//! `dialect.rs` ends a parser that reads a text again and again,
//! `masked.rs` takes values out of a text, `place.rs` finds the byte at a line and a column.

mod column_list;
mod comment;
#[cfg(feature = "datafusion")]
mod ctes;
mod dialect;
mod explain_options;
mod history;
mod kind;
mod local;
mod masked;
mod place;
#[cfg(feature = "datafusion")]
mod refused;
mod split;
mod table;
mod tokens;
mod transaction;
mod words;

pub use dialect::BoundedDialect;
pub use kind::check_query;
pub use place::byte_at;
pub use split::{StatementText, split_statements};
pub use transaction::{TransactionStatement, transaction_modes};

pub(crate) use column_list::COLUMNS_HINT;
pub(crate) use comment::Comment;
pub(crate) use explain_options::ExplainFormat;
pub(crate) use history::{AS_OF_HINT, BUCKETS_HINT, VERSIONS_HINT};
pub(crate) use kind::{Explain, Kind, is_show_create, kind_of};
pub(crate) use local::{CreateAs, Found, Local, TempRows, of_local};
pub(crate) use masked::without_values;
#[cfg(feature = "datafusion")]
pub(crate) use refused::check_expanded;
#[cfg(feature = "datafusion")]
pub(crate) use tokens::parse_query;
#[cfg(not(feature = "datafusion"))]
pub(crate) use tokens::rewritten;
pub(crate) use tokens::tokens_of;
pub(crate) use words::is_word;
