//! Scatter-gather on a table in memory that waits, fails and counts on purpose.

mod fake;
mod merged;
