//! Scan of a table: the plan of its key, the cells to read, and the rows as Arrow batches.
//!
//! `spec.rs` decides what is read, from the conditions, columns and limit of a statement.
//! `selection.rs` chooses the cells, `order.rs` tells DataFusion the order of the rows. `exec.rs`
//! runs it, by a [`Scatter`](halite_rowkey::Scatter), and `decode.rs` turns rows into batches, a row
//! of the answer from the cells that `row_cells.rs` gives it. `history.rs` has the versions and times
//! that a statement asks for, `joined.rs` narrows a scan by the values of a join's other side,
//! `point.rs` gets one key, `dense_keys.rs` decides which keys scans read. `points.rs` has the points of a `SERIES`, each a row of the answer.
//! `aggregated.rs` has the regions compute aggregates instead. `late.rs` reads columns of the first
//! rows of an order by gets.
//! `cell_conditions.rs` narrows the cells of `cells(t)`.
//! `asked.rs` finds the key that would serve a statement better, `guard.rs` ends statements that
//! examine too many rows, `full_scan.rs` those that would read whole tables, and `region_ends.rs`
//! counts the regions to read, for progress.

pub(crate) mod aggregated;
mod asked;
mod cell_conditions;
mod decode;
mod dense_keys;
pub(crate) mod exec;
pub(crate) mod full_scan;
mod guard;
pub(crate) mod history;
pub(crate) mod joined;
pub(crate) mod late;
pub(crate) mod order;
pub(crate) mod point;
mod points;
mod region_ends;
mod row_cells;
mod selection;
pub(crate) mod spec;

pub(crate) use selection::{families_on_demand, presence};
