//! Interface of a design of sensors: what the generator writes and what the check reads.

use std::ops::Range;

use anyhow::Result;
use timeseries::{Average, Found, Reading, Sensors};

use crate::recipe::Site;

/// Design of sensors. Queries return the newest reading first.
pub trait Design: Send + Sync {
    /// Writes readings; of two of a device with one time the later one counts.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn write(&self, readings: &[Reading]) -> Result<()>;

    /// Returns readings of a device between two times.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn range(&self, device: &str, at_ms: Range<i64>) -> Result<Found>;

    /// Returns the readings of a device of the last days before a time (inclusive).
    ///
    /// # Errors
    /// Errors of the cluster.
    fn recent(&self, device: &str, days: u32, now_ms: i64) -> Result<Found>;

    /// Returns the readings of a device that are kept at a time.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn retained(&self, device: &str, now_ms: i64) -> Result<Found>;

    /// Returns the newest reading of a device.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn latest(&self, device: &str) -> Result<Found>;

    /// Returns the readings of all devices between two times, by device, each newest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn fleet(&self, at_ms: Range<i64>) -> Result<Found>;

    /// Returns means of intervals, oldest first.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn averages(&self, device: &str, at_ms: Range<i64>, step_ms: i64) -> Result<Vec<Average>>;

    /// Packs the points that were written. Returns how many.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn pack(&self) -> Result<u64>;
}

/// Opens the design of `examples/timeseries`.
pub(super) fn sensors(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Sensors::open(&site.cluster, &site.namespace)?))
}

impl Design for Sensors {
    fn write(&self, readings: &[Reading]) -> Result<()> {
        Ok(Self::write(self, readings)?)
    }

    fn range(&self, device: &str, at_ms: Range<i64>) -> Result<Found> {
        Ok(Self::range(self, device, at_ms, usize::MAX)?)
    }

    fn recent(&self, device: &str, days: u32, now_ms: i64) -> Result<Found> {
        Ok(Self::recent(self, device, days, now_ms)?)
    }

    fn retained(&self, device: &str, now_ms: i64) -> Result<Found> {
        Ok(Self::retained(self, device, now_ms)?)
    }

    fn latest(&self, device: &str) -> Result<Found> {
        Ok(Self::latest(self, device)?)
    }

    fn fleet(&self, at_ms: Range<i64>) -> Result<Found> {
        let mut found = Self::fleet(self, at_ms)?;
        let readings = found.by_ref().collect::<halite::Result<_>>()?;
        Ok(Found { readings, examined: found.examined() })
    }

    fn averages(&self, device: &str, at_ms: Range<i64>, step_ms: i64) -> Result<Vec<Average>> {
        Ok(Self::averages(self, device, at_ms, step_ms)?)
    }

    fn pack(&self) -> Result<u64> {
        Ok(Self::pack(self)?)
    }
}
