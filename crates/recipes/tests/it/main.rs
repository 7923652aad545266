//! Recipes on an embedded store and through client and server, with crashes; and their checks,
//! which fail for designs with the mistakes of the tutorials.
#![allow(clippy::unwrap_used, reason = "tests fail by panic")]

mod analytics;
mod backends;
mod features;
mod feed;
mod files;
mod framework;
mod gate;
mod logs;
mod merged_cells;
mod messages;
mod monitor;
mod naive_messages;
mod naive_timeseries;
mod tables;
mod timeseries;
mod user_ops;
mod wide_user;
