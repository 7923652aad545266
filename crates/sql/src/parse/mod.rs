//! From text to one statement: `split.rs` finds the ends of statements, `tokens.rs` reads the tokens
//! of one and checks its limits, `kind.rs` tells what it is (`transaction.rs`: BEGIN, COMMIT, ROLLBACK),
//! `history.rs` reads what follows a table in this dialect alone, `table.rs` reads `TABLE t`,
//! `comment.rs` reads COMMENT ON, `local.rs` reads statements about temporary tables and views, `refused.rs` refuses what the parser reads and no plan keeps,
//! `masked.rs` takes values out of a text, `place.rs` finds the byte at a line and a column.

mod comment;
mod history;
mod kind;
mod local;
mod masked;
mod place;
mod refused;
mod split;
mod table;
mod tokens;
mod transaction;
mod words;

pub use kind::check_query;
pub use place::byte_at;
pub use split::{StatementText, split_statements};
pub use transaction::{TransactionStatement, transaction_modes};

pub(crate) use comment::Comment;
pub(crate) use history::{AS_OF_HINT, BUCKETS_HINT, VERSIONS_HINT};
pub(crate) use kind::{Explain, Kind, is_show_create, kind_of};
pub(crate) use local::{CreateAs, Found, Local, TempRows, of_local};
pub(crate) use masked::without_values;
pub(crate) use tokens::{parse_query, tokens_of};
pub(crate) use words::is_word;
