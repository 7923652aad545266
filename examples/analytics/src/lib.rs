//! Real-time analytics: active users of hours and days, retention, funnels and a live board.
//!
//! Events are recorded once each in the row of their user and day; what dashboards read is
//! aggregated while they arrive: counters of minutes, sketches of the users of hours, and sets of
//! the users of days. `key.rs` contains the tables, [`Analytics`] records events, `queries.rs`
//! reads, and `repair.rs` compares the aggregates with the events. The code uses the public API
//! only.
#![forbid(unsafe_code)]

mod aggregates;
mod analytics;
mod event;
mod key;
mod queries;
mod repair;

pub use analytics::Analytics;
pub use event::{DAY_MS, Event, Kind};
pub use key::{DayKey, HourKey, MinuteKey, SHARDS, TABLES, UserDayKey};
pub use queries::{ActiveUsers, Board, Logins, Retention};
