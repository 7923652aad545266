//! Contributions of some events to the aggregates, one for each row.

use std::collections::BTreeMap;

use halite::rowkey::typed::{Days, TsMillis};
use halite::{Bitmap, Bytes, Hll, MergeOperator, MergedColumn, Result};

use crate::key::{DayKey, HourKey, shard_of};
use crate::{Event, Kind};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;
/// Family and column of the users of an hour or a day.
pub(crate) const USERS: &str = "u";

/// Contributions of some events.
#[derive(Default)]
pub(crate) struct Aggregates {
    /// Events by kind and start of the minute.
    pub(crate) minutes: BTreeMap<(Kind, i64), i64>,
    /// Users by shard and start of the hour.
    hours: BTreeMap<(u8, i64), Hll>,
    /// Users by shard, kind and day.
    days: BTreeMap<(u8, Kind, i32), Bitmap>,
}

/// Contribution to the users of one row.
pub(crate) struct Contribution {
    pub(crate) row: Bytes,
    pub(crate) value: Vec<u8>,
}

impl Aggregates {
    pub(crate) fn add(&mut self, event: &Event) {
        let shard = shard_of(event.user);
        let start = |width_ms: i64| event.at_ms.div_euclid(width_ms) * width_ms;
        *self.minutes.entry((event.kind, start(MINUTE_MS))).or_default() += 1;
        let hour = self.hours.entry((shard, start(HOUR_MS))).or_default();
        hour.insert(&event.user.to_be_bytes());
        self.days.entry((shard, event.kind, event.day().0)).or_default().insert(event.user);
    }

    /// Returns the contributions to `hours`.
    pub(crate) fn hours(&self) -> Result<Vec<Contribution>> {
        let contribution = |((shard, hour_ms), users): (&(u8, i64), &Hll)| {
            let row = HourKey { shard: *shard, ts: TsMillis(*hour_ms) }.encode()?.into();
            Ok(Contribution { row, value: users.to_bytes() })
        };
        self.hours.iter().map(contribution).collect()
    }

    /// Returns the contributions to `days`.
    pub(crate) fn days(&self) -> Result<Vec<Contribution>> {
        let contribution = |((shard, kind, day), users): (&(u8, Kind, i32), &Bitmap)| {
            let key = DayKey { shard: *shard, kind: kind.name(), day: Days(*day) };
            Ok(Contribution { row: key.encode()?.into(), value: users.to_bytes() })
        };
        self.days.iter().map(contribution).collect()
    }
}

impl Contribution {
    pub(crate) fn column(&self) -> MergedColumn {
        MergedColumn::new(self.row.clone(), USERS, USERS)
    }

    /// Returns `true` if a stored value lacks a part of it.
    pub(crate) fn is_missing(
        &self,
        operator: MergeOperator,
        stored: Option<&[u8]>,
    ) -> Result<bool> {
        match stored {
            None => Ok(true),
            Some(stored) => Ok(operator.merge(stored, &self.value)? != stored),
        }
    }
}
