//! Interface of a design of analytics: what the generator writes and what the check reads.

use std::collections::BTreeMap;
use std::ops::Range;

use analytics::{ActiveUsers, Analytics, Board, Event, Kind, Logins, Retention};
use anyhow::Result;
use halite::rowkey::typed::Days;

use crate::recipe::Site;

/// Design of analytics.
pub trait Design: Send + Sync {
    /// Records events. One that was recorded before counts once.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn record(&self, events: &[Event]) -> Result<()>;

    /// Returns `true` if an event was recorded.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn is_recorded(&self, event: &Event) -> Result<bool>;

    /// Returns the rows that an event is written to, by table.
    ///
    /// # Errors
    /// Values that are no key.
    fn rows(&self, event: &Event) -> Result<Vec<(&'static str, Vec<u8>)>>;

    /// Returns the logins of a user on a day: counted now, and counted while they arrived.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn logins(&self, user: u32, day: Days) -> Result<Logins>;

    /// Returns the users of a day, exactly.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn exact_users(&self, day: Days) -> Result<ActiveUsers>;

    /// Returns the estimated users of each hour that has any.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn hourly_users(&self, at_ms: Range<i64>) -> Result<BTreeMap<i64, f64>>;

    /// Returns the estimated users of several hours.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn estimated_users(&self, at_ms: Range<i64>) -> Result<ActiveUsers>;

    /// Returns the events of minutes by kind.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn board(&self, at_ms: Range<i64>) -> Result<Board>;

    /// Returns how many users of a cohort logged in on a day.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn retention(&self, joined: Days, day: Days) -> Result<Retention>;

    /// Returns how many users reached each step on a day.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn funnel(&self, day: Days, steps: &[Kind]) -> Result<Vec<u64>>;

    /// Completes interrupted writes. Returns the number of completed cells.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self) -> Result<u64>;
}

/// Opens the design of `examples/analytics`.
pub(super) fn analytics(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Analytics::open(&site.cluster, &site.namespace)?))
}

impl Design for Analytics {
    fn record(&self, events: &[Event]) -> Result<()> {
        Self::record(self, events)?;
        Ok(())
    }

    fn is_recorded(&self, event: &Event) -> Result<bool> {
        Ok(Self::is_recorded(self, event)?)
    }

    fn rows(&self, event: &Event) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(Self::rows(self, event)?)
    }

    fn logins(&self, user: u32, day: Days) -> Result<Logins> {
        Ok(Self::logins(self, user, day)?)
    }

    fn exact_users(&self, day: Days) -> Result<ActiveUsers> {
        Ok(Self::exact_users(self, day)?)
    }

    fn hourly_users(&self, at_ms: Range<i64>) -> Result<BTreeMap<i64, f64>> {
        Ok(Self::hourly_users(self, at_ms)?)
    }

    fn estimated_users(&self, at_ms: Range<i64>) -> Result<ActiveUsers> {
        Ok(Self::estimated_users(self, at_ms)?)
    }

    fn board(&self, at_ms: Range<i64>) -> Result<Board> {
        Ok(Self::board(self, at_ms)?)
    }

    fn retention(&self, joined: Days, day: Days) -> Result<Retention> {
        Ok(Self::retention(self, joined, day)?)
    }

    fn funnel(&self, day: Days, steps: &[Kind]) -> Result<Vec<u64>> {
        Ok(Self::funnel(self, day, steps)?)
    }

    fn repair(&self) -> Result<u64> {
        Ok(Self::repair(self, Days(0))?)
    }
}
