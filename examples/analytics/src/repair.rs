//! Repair: events that a stopped writer recorded and did not aggregate.

use halite::rowkey::typed::Days;
use halite::{BlockingTable, Get, MergeOperator, Result, Scan};

use crate::aggregates::{Aggregates, Contribution, USERS};
use crate::analytics::{Analytics, EVENTS, contribute};
use crate::key::{UserDayKey, counter_name};
use crate::{Event, Kind};

/// Rows compared at once.
const REPAIR_ROWS: usize = 500;

impl Analytics {
    /// Compares the aggregates of the days from `first` on with the events, and completes them.
    /// Returns the number of aggregated cells that were not right. Call it after a writer has
    /// stopped; others must not record events of these days meanwhile, since an event that is
    /// recorded and not counted yet would be counted twice.
    pub fn repair(&self, first: Days) -> Result<u64> {
        let mut expected = Aggregates::default();
        let plan = UserDayKey::scan().day(first..).unordered().plan()?;
        for row in self.user_days.query(plan, Scan::all().family(EVENTS))? {
            let row = row?;
            let UserDayKey { day, user } = UserDayKey::decode(row.key())?;
            for cell in &row {
                expected.add(&Event::from_cell(user, day, cell.qualifier(), cell.value())?);
            }
        }
        Ok(self.repair_minutes(&expected)?
            + repair_users(&self.hours, MergeOperator::Hll, &expected.hours()?)?
            + repair_users(&self.days, MergeOperator::Bitmap, &expected.days()?)?)
    }

    /// Adds the differences of the counters.
    fn repair_minutes(&self, expected: &Aggregates) -> Result<u64> {
        let mut differences: Vec<(Kind, i64, i64)> = Vec::new();
        for ((kind, at_ms), number) in &expected.minutes {
            let counted = self.minutes.counter(&self.counters, &counter_name(*kind, *at_ms)?)?;
            if counted != *number {
                differences.push((*kind, *at_ms, number - counted));
            }
        }
        self.count(differences.iter().copied())?;
        Ok(differences.len() as u64)
    }
}

/// Contributes users again to the rows that lack them.
fn repair_users(
    table: &BlockingTable,
    operator: MergeOperator,
    expected: &[Contribution],
) -> Result<u64> {
    let mut repaired = 0;
    for chunk in expected.chunks(REPAIR_ROWS) {
        let gets = chunk.iter().map(|one| Get::new(one.row.clone())).collect();
        let mut missing = Vec::new();
        for (one, row) in chunk.iter().zip(table.get_all(gets)?) {
            if one.is_missing(operator, row.value(USERS, USERS))? {
                missing.push(Contribution { row: one.row.clone(), value: one.value.clone() });
            }
        }
        contribute(table, operator, &missing)?;
        repaired += missing.len() as u64;
    }
    Ok(repaired)
}
