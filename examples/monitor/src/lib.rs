//! Monitoring: measurements of hosts, read by host and by metric, a quarter of an hour in one row.
//!
//! [`HostKey`] and [`MetricKey`] declare the keys, [`Monitor`] writes and reads both tables. The
//! code uses the public API only.
#![forbid(unsafe_code)]

mod key;
mod monitor;
mod repair;

pub use key::{HostKey, MetricKey, TABLES};
pub use monitor::{Found, Monitor};

/// Measurement of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Host, not empty.
    pub host: String,
    /// Metric, not empty.
    pub metric: String,
    /// Time in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    pub value: f64,
}
