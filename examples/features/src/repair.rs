//! Repair: clicks that a stopped writer recorded and did not count.

use std::collections::{BTreeMap, BTreeSet};

use halite::rowkey::typed::TsMillis;
use halite::{Get, Result, Scan};

use crate::features::{CLICK, CLICKS, Features};
use crate::key::EventKey;
use crate::queries::{behavior, clicks};
use crate::vector::Entity;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

impl Features {
    /// Compares the clicks of the days from `first_day` (since 1970) on with the events, and adds
    /// what is missing. Returns the number of counters that were not right. Call it after a writer
    /// has stopped; others must not record clicks of these days meanwhile, since a click that is
    /// recorded and not counted yet would be counted twice. The scan reads the whole table.
    pub fn repair(&self, first_day: i32) -> Result<u64> {
        let mut expected: BTreeMap<(u64, i32), i64> = BTreeMap::new();
        let first = TsMillis(i64::from(first_day) * DAY_MS);
        let plan = EventKey::scan().ts(first..).unordered().plan()?;
        for row in self.events.query(plan, Scan::all())? {
            let event = behavior(&row?)?;
            if event.kind == CLICK {
                *expected.entry((event.item, event.day())).or_default() += 1;
            }
        }
        let mut missing = BTreeMap::new();
        let items: BTreeSet<u64> = expected.keys().map(|(item, _)| *item).collect();
        for item in items {
            let row = self.items.get(Get::new(Entity::Item(item).row()?).family(CLICKS))?;
            let counted: BTreeMap<i32, i64> = clicks(&row)?.into_iter().collect();
            for ((_, day), number) in expected.range((item, i32::MIN)..=(item, i32::MAX)) {
                let difference = number - counted.get(day).copied().unwrap_or(0);
                if difference != 0 {
                    missing.insert((item, *day), difference);
                }
            }
        }
        self.count(&missing)?;
        Ok(missing.len() as u64)
    }
}
