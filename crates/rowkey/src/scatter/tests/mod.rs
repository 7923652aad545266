//! Scatter-gather on a table in memory that waits, fails and counts intentionally.

mod fake;
mod loose;
mod merged;
mod pages;
