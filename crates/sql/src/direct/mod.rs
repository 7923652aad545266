//! Statements that bypass DataFusion's optimizer and its execution: reads of one table by its key,
//! or of rows in the order of the key.
//!
//! `recognize.rs` finds such a query among the plans, after types were decided and constants
//! computed; `template.rs` keeps it, and fills in values. What is read is decided by the scan that
//! DataFusion's plan would have, so each condition must be one that the scan checks by itself; a
//! template that does not fit the values says so, and DataFusion plans the statement. `point.rs`
//! knows whole keys, which need no plan of their own; `rows.rs` reads the rows.

mod point;
mod recognize;
mod rows;
mod template;

pub(crate) use rows::DirectRows;
pub(crate) use template::{Bound, Template};
