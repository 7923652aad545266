//! Records events.

use halite::{
    BlockingCluster, BlockingTable, CheckAndMutate, Get, Increment, MergeOperator, Put, Result,
    RowMutations, RowOp, ShardedCounters, declare_tables,
};

use crate::Event;
use crate::aggregates::{Aggregates, Contribution, USERS};
use crate::key::{DayKey, HourKey, MinuteKey, SHARDS, TABLES, UserDayKey, counter_name};

/// Family of the events of a user's day.
pub(crate) const EVENTS: &str = "e";
/// Family of numbers, in several tables.
pub(crate) const NUMBERS: &str = "n";
/// Column of the number of a user's logins.
pub(crate) const LOGINS: &str = "l";

/// Analytics of all users, on any cluster. Cheap to share.
pub struct Analytics {
    pub(crate) user_days: BlockingTable,
    pub(crate) minutes: BlockingTable,
    pub(crate) hours: BlockingTable,
    pub(crate) days: BlockingTable,
    pub(crate) counters: ShardedCounters,
}

impl Analytics {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let table = |name: &str| cluster.table(&format!("{namespace}:{name}"));
        Ok(Self {
            user_days: table(UserDayKey::TABLE)?,
            minutes: table(MinuteKey::TABLE)?,
            hours: table(HourKey::TABLE)?,
            days: table(DayKey::TABLE)?,
            counters: ShardedCounters::new(SHARDS, NUMBERS, NUMBERS)?,
        })
    }

    /// Records events, and returns for each of them `false` if it was recorded before. The events
    /// themselves are written first: a writer that stops then leaves aggregates without them, which
    /// [`Self::repair`] completes.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid time, before any is written; otherwise as
    /// [`BlockingTable::batch`].
    pub fn record(&self, events: &[Event]) -> Result<Vec<bool>> {
        events.iter().try_for_each(Event::check)?;
        let writes = events.iter().map(Event::once).collect::<Result<_>>()?;
        let (mut is_new, mut aggregates) =
            (Vec::with_capacity(events.len()), Aggregates::default());
        for (event, result) in events.iter().zip(self.user_days.apply_all(writes)?) {
            is_new.push(result.processed);
            if is_new.last() == Some(&true) {
                aggregates.add(event);
            }
        }
        self.count(aggregates.minutes.iter().map(|((kind, at_ms), n)| (*kind, *at_ms, *n)))?;
        contribute(&self.hours, MergeOperator::Hll, &aggregates.hours()?)?;
        contribute(&self.days, MergeOperator::Bitmap, &aggregates.days()?)?;
        Ok(is_new)
    }

    /// Returns `true` if an event was recorded.
    pub fn is_recorded(&self, event: &Event) -> Result<bool> {
        let get = Get::new(event.user_day_key()?).column(EVENTS, event.column().to_vec());
        self.user_days.exists(get)
    }

    /// Returns the rows that an event is written to, by table: four of as many tables. That of the
    /// counter is another one each time.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid time.
    pub fn rows(&self, event: &Event) -> Result<Vec<(&'static str, Vec<u8>)>> {
        event.check()?;
        let mut users = Aggregates::default();
        users.add(event);
        let mut rows = vec![(UserDayKey::TABLE, event.user_day_key()?.to_vec())];
        let counter = self.counters.increment(&counter_name(event.kind, event.at_ms)?, 1);
        rows.push((MinuteKey::TABLE, counter.row().to_vec()));
        rows.extend(users.hours()?.iter().map(|one| (HourKey::TABLE, one.row.to_vec())));
        rows.extend(users.days()?.iter().map(|one| (DayKey::TABLE, one.row.to_vec())));
        Ok(rows)
    }

    /// Adds to the counters of minutes, each in one of its shards.
    pub(crate) fn count(
        &self,
        numbers: impl Iterator<Item = (crate::Kind, i64, i64)>,
    ) -> Result<()> {
        let increment = |(kind, at_ms, number)| {
            Ok(self.counters.increment(&counter_name(kind, at_ms)?, number))
        };
        self.minutes.apply_all(numbers.map(increment).collect::<Result<_>>()?).map(drop)
    }
}

/// Adds users to rows. A server that merges cells is sent all contributions at once; HBase is
/// read and written for each.
pub(crate) fn contribute(
    table: &BlockingTable,
    operator: MergeOperator,
    contributions: &[Contribution],
) -> Result<()> {
    let descriptor = table.descriptor()?;
    let family = descriptor.find_family(USERS.as_bytes());
    if family.and_then(halite::FamilyDescriptor::merge_operator).is_none() {
        return contributions
            .iter()
            .try_for_each(|one| table.contribute(&one.column(), operator, &one.value));
    }
    let op = |one: &Contribution| one.column().contribution(operator, &one.value);
    table.apply_all(contributions.iter().map(op).collect::<Result<_>>()?).map(drop)
}

impl Event {
    /// Returns the write that records an event and counts a login, if the event is not there yet:
    /// both are in one row, so an event that is delivered twice, even at one time, counts once.
    fn once(&self) -> Result<RowOp> {
        let row = self.user_day_key()?.to_vec();
        let mut write = RowMutations::new(row.clone()).add(Put::new(row.clone()).add(
            EVENTS,
            self.column(),
            self.kind.name(),
        ));
        if self.kind == crate::Kind::Login {
            let mut count = Increment::new(row.clone()).add(NUMBERS, LOGINS, 1);
            count.return_results = false;
            write = write.add(count);
        }
        let column = self.column().to_vec();
        Ok(CheckAndMutate::if_not_exists(row, EVENTS, column, write).into())
    }
}
