//! COPY: rows of a table or a query as lines, and lines as rows of a table.
//!
//! `statement.rs` reads the statement, `lines.rs` splits text and CSV into fields, `format.rs`
//! writes them. `session/load.rs` writes the rows.

mod format;
mod lines;
mod statement;

pub use lines::{Fields, Lines};
pub use statement::{CopyFormat, CopyOptions, CopySource, CopyStatement, Header};
