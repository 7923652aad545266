//! Scan of a table: the plan of its key, the cells to read, and the rows as Arrow batches.
//!
//! `spec.rs` decides what is read, from the conditions, columns and limit of a statement.
//! `selection.rs` chooses the cells, `order.rs` tells DataFusion the order of the rows. `exec.rs`
//! runs it, by a [`Scatter`](halite_rowkey::Scatter), and `decode.rs` turns rows into batches.

mod decode;
pub(crate) mod exec;
mod order;
mod selection;
pub(crate) mod spec;
