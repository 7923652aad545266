//! What dashboards ask.

use std::collections::BTreeMap;
use std::ops::Range;

use halite::rowkey::typed::{Days, TsMillis};
use halite::{Bitmap, Filter, Get, Hll, Result, Row, Scan};

use crate::Kind;
use crate::aggregates::USERS;
use crate::analytics::{Analytics, EVENTS, LOGINS, NUMBERS};
use crate::key::{DayKey, HourKey, MinuteKey, UserDayKey, shards};

/// Cells of a part of a row.
const PART_CELLS: usize = 300;

/// Logins of a user on a day, by both plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logins {
    /// Number of events of the kind, counted now.
    pub counted: i64,
    /// Events that were read to count them.
    pub examined: u64,
    /// Number that was counted while they arrived: one cell.
    pub aggregated: i64,
}

/// Users of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActiveUsers {
    /// Number of users; an estimate with a standard error of 0.81 % if it is one of sketches.
    pub users: f64,
    /// Rows that the tables returned for it.
    pub examined: u64,
}

/// Events of some minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// Numbers by start of the minute in milliseconds since 1970, and kind.
    pub counts: BTreeMap<(i64, Kind), i64>,
    /// Rows that the table returned for it.
    pub examined: u64,
}

/// Users of a cohort who came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Users who signed up on the day of the cohort.
    pub joined: u64,
    /// Those of them who logged in on the other day.
    pub returned: u64,
    pub examined: u64,
}

impl Analytics {
    /// Returns the logins of a user on a day. The row has a cell for each event, and is read in
    /// parts.
    pub fn logins(&self, user: u32, day: Days) -> Result<Logins> {
        let row = UserDayKey { day, user }.encode()?.to_vec();
        let parts = Scan::all().start(row.clone()).stop_inclusive(row).batch(PART_CELLS);
        let mut logins = Logins::default();
        for part in self.user_days.scan(parts) {
            let part = part?;
            for event in part.iter().filter(|cell| cell.family() == EVENTS.as_bytes()) {
                logins.examined += 1;
                logins.counted += i64::from(event.value() == Kind::Login.name().as_bytes());
            }
            logins.aggregated += number(&part, LOGINS)?;
        }
        Ok(logins)
    }

    /// Returns the users of a day exactly: a row for each of them is read.
    pub fn exact_users(&self, day: Days) -> Result<ActiveUsers> {
        let scan = Scan::all().family(EVENTS).filter(Filter::FirstKeyOnly);
        let mut rows = self.user_days.query(UserDayKey::scan().day(day).plan()?, scan)?;
        let users = rows.try_fold(0.0, |users, row| row.map(|_| users + 1.0))?;
        Ok(ActiveUsers { users, examined: rows.examined() })
    }

    /// Returns the estimated users of each hour between two times (the second exclusive) that has
    /// any, by the start of the hour.
    pub fn hourly_users(&self, at_ms: Range<i64>) -> Result<BTreeMap<i64, f64>> {
        let (hours, _) = self.sketches(at_ms)?;
        Ok(hours.into_iter().map(|(hour, users)| (hour, users.estimate())).collect())
    }

    /// Returns the estimated users between two whole hours (the second exclusive): those of a day
    /// are the union of its hours, and not their sum.
    pub fn estimated_users(&self, at_ms: Range<i64>) -> Result<ActiveUsers> {
        let (hours, examined) = self.sketches(at_ms)?;
        let mut all = Hll::default();
        hours.values().for_each(|users| all.merge(users));
        Ok(ActiveUsers { users: all.estimate(), examined })
    }

    fn sketches(&self, at_ms: Range<i64>) -> Result<(BTreeMap<i64, Hll>, u64)> {
        let plan = HourKey::scan().shard(shards()).ts(times(&at_ms)).unordered().plan()?;
        let mut hours: BTreeMap<i64, Hll> = BTreeMap::new();
        let mut rows = self.hours.query(plan, Scan::all())?;
        for row in &mut rows {
            let row = row?;
            let users = Hll::from_bytes(row.value(USERS, USERS).unwrap_or_default())?;
            hours.entry(HourKey::decode(row.key())?.ts.0).or_default().merge(&users);
        }
        Ok((hours, rows.examined()))
    }

    /// Returns the number of events of each minute and kind between two times (the second
    /// exclusive).
    pub fn board(&self, at_ms: Range<i64>) -> Result<Board> {
        let plan = MinuteKey::scan().shard(shards()).ts(times(&at_ms)).unordered().plan()?;
        let mut counts = BTreeMap::new();
        let mut rows = self.minutes.query(plan, Scan::all())?;
        for row in &mut rows {
            let row = row?;
            let key = MinuteKey::decode(row.key())?;
            let kind = Kind::from_name(key.kind.as_bytes())?;
            *counts.entry((key.ts.0, kind)).or_default() += number(&row, NUMBERS)?;
        }
        Ok(Board { counts, examined: rows.examined() })
    }

    /// Returns how many users who signed up on a day logged in on another one.
    pub fn retention(&self, joined: Days, day: Days) -> Result<Retention> {
        let cohort = self.users(Kind::Join, joined)?;
        let active = self.users(Kind::Login, day)?;
        Ok(Retention {
            joined: cohort.iter().map(Bitmap::len).sum(),
            returned: common(&cohort, &active).iter().map(Bitmap::len).sum(),
            examined: (cohort.len() + active.len()) as u64,
        })
    }

    /// Returns how many users did the first step on a day, how many of them also the second, and so
    /// on.
    pub fn funnel(&self, day: Days, steps: &[Kind]) -> Result<Vec<u64>> {
        let mut left: Option<Vec<Bitmap>> = None;
        let mut counts = Vec::with_capacity(steps.len());
        for step in steps {
            let users = self.users(*step, day)?;
            let users = left.map_or_else(|| users.clone(), |left| common(&left, &users));
            counts.push(users.iter().map(Bitmap::len).sum());
            left = Some(users);
        }
        Ok(counts)
    }

    /// Returns the users who did something on a day, by shard.
    fn users(&self, kind: Kind, day: Days) -> Result<Vec<Bitmap>> {
        let key = |shard| DayKey { shard, kind: kind.name(), day }.encode();
        let gets = shards().into_iter().map(|shard| Ok(Get::new(key(shard)?)));
        let rows = self.days.get_all(gets.collect::<Result<_>>()?)?;
        let users =
            |row: &Row| row.value(USERS, USERS).map_or(Ok(Bitmap::default()), Bitmap::from_bytes);
        rows.iter().map(users).collect()
    }
}

fn common(some: &[Bitmap], others: &[Bitmap]) -> Vec<Bitmap> {
    some.iter().zip(others).map(|(one, other)| one.intersection(other)).collect()
}

fn times(at_ms: &Range<i64>) -> Range<TsMillis> {
    TsMillis(at_ms.start)..TsMillis(at_ms.end)
}

/// Returns the number in a column; 0 without one.
fn number(row: &Row, column: &str) -> Result<i64> {
    Ok(row.array(NUMBERS, column)?.map_or(0, i64::from_be_bytes))
}
