//! Sensors: readings of devices, newest first, the points of an hour packed into one cell.
//!
//! [`SensorKey`] declares the key and [`Sensors`] writes and reads the table. [`PointRows`] is the
//! tutorial's table of one row for each point, for comparison. The code uses the public API only.
#![forbid(unsafe_code)]

mod key;
mod point_rows;
mod sensors;

pub use key::{POINT_TABLES, RETENTION_MS, SensorKey, TABLES};
pub use point_rows::PointRows;
pub use sensors::{Average, Found, Readings, Sensors};

/// Value that a device measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Device, not empty.
    pub device: String,
    /// Time of the measurement in milliseconds since 1970, 0 or more.
    pub at_ms: i64,
    pub value: f64,
}
