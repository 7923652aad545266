//! Analytics: the aggregates equal the model, and the check fails for the mistakes of the
//! tutorials.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use analytics::{ActiveUsers, Analytics, Board, DAY_MS, Event, Kind, Logins, Retention};
use anyhow::Result;
use halite::rowkey::typed::Days;
use halite::{Append, BlockingTable, FamilyDescriptor, Increment, Scan, TableDescriptor};
use halite_recipes::analytics::{ANALYTICS, Design};
use halite_recipes::{InProcessTarget, Load, Site, check};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 1_600 };
/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;

#[test]
fn p05_answers_equal_model_after_crash() {
    // An event is four writes; the writer stops before each of them.
    let mut repaired = BTreeSet::new();
    for batches in 401..405 {
        let report = backends::check_embedded(&ANALYTICS, LOAD, batches).unwrap();
        assert!((90..110).contains(&report.acknowledged), "{report:?}");
        repaired.insert(report.repaired);
    }
    assert_eq!(repaired, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn p05_recipe_runs_through_client_and_server() {
    let load = Load { items: 400, ..LOAD };
    check(&ANALYTICS, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 301)).unwrap();
}

#[test]
fn p12_thousand_logins_are_counted_by_both_plans() {
    let directory = tempfile::tempdir().unwrap();
    let analytics = Analytics::open(&backends::open(&directory), "analytics").unwrap();
    let login = |id| Event { id, user: 7, at_ms: T0 + id.cast_signed(), kind: Kind::Login };
    let logins: Vec<Event> = (0..1_000).map(login).collect();
    analytics.record(&logins).unwrap();
    analytics.record(&logins[..100]).unwrap();
    let found = analytics.logins(7, logins[0].day()).unwrap();
    assert_eq!(found, Logins { counted: 1000, examined: 1000, aggregated: 1000 });
}

/// A store refuses a read of a row that does not fit into memory.
#[test]
fn logins_of_a_large_row_are_read_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = halite::Options::default();
    options.max_row_bytes = 32 << 10;
    let store = halite::Builder::new().options(options).open(directory.path()).unwrap();
    let analytics = Analytics::open(&store, "analytics").unwrap();
    let login = |id| Event { id, user: 7, at_ms: T0 + id.cast_signed(), kind: Kind::Login };
    let logins: Vec<Event> = (0..1_000).map(login).collect();
    logins.chunks(100).for_each(|part| drop(analytics.record(part).unwrap()));
    let found = analytics.logins(7, logins[0].day()).unwrap();
    assert_eq!((found.counted, found.aggregated), (1000, 1000));
}

#[test]
fn p05_estimates_are_within_two_percent() {
    let directory = tempfile::tempdir().unwrap();
    let analytics = Analytics::open(&backends::open(&directory), "analytics").unwrap();
    let views: Vec<Event> = (0..40_000_u64)
        .map(|id| Event {
            id,
            user: u32::try_from(id / 2).unwrap(),
            at_ms: T0 + id.cast_signed() * 2_000,
            kind: Kind::View,
        })
        .collect();
    for part in views.chunks(5_000) {
        analytics.record(part).unwrap();
    }
    let day = analytics.estimated_users(T0..T0 + DAY_MS).unwrap();
    assert!((19_600.0..20_400.0).contains(&day.users), "{day:?}");
    assert_eq!(analytics.exact_users(views[0].day()).unwrap().users.to_string(), "20000");
}

/// Returns how many times the mean region's rows the fullest of 16 regions has, at most, in windows
/// of 2,000 rows.
fn skew(rows: &[Vec<u8>], splits: &[Vec<u8>]) -> f64 {
    let of_window = |window: &[Vec<u8>]| {
        let mut regions = [0_u32; 16];
        for row in window {
            regions[splits.partition_point(|split| split <= row)] += 1;
        }
        f64::from(regions.into_iter().max().unwrap()) * 16.0 / 2_000.0
    };
    rows.chunks_exact(2_000).map(of_window).fold(0.0, f64::max)
}

#[test]
fn e26_date_first_key_is_skewed_and_salted_key_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let analytics = Analytics::open(&backends::open(&directory), "analytics").unwrap();
    let event = |user: u32| Event {
        id: user.into(),
        user: user.wrapping_mul(2_654_435_761) % 1_000_000,
        at_ms: T0 + i64::from(user / 2_500) * DAY_MS,
        kind: Kind::Login,
    };
    let events: Vec<Event> = (0..40_000).map(event).collect();
    let salted = events.iter().map(|event| analytics.rows(event).unwrap().remove(0).1);
    let salts: Vec<Vec<u8>> = (1..16).map(|salt| vec![salt]).collect();
    let salted = skew(&salted.collect::<Vec<_>>(), &salts);
    let naive = events.iter().map(|event| format!("{}{}", event.day().0, event.user).into_bytes());
    let naive: Vec<Vec<u8>> = naive.collect();
    let mut sorted = naive.clone();
    sorted.sort();
    // Splits that divide all rows evenly.
    let even: Vec<_> = (1..16).map(|part| sorted[sorted.len() * part / 16].clone()).collect();
    let naive = skew(&naive, &even);
    assert!(salted <= 1.3, "{salted}");
    assert!(naive >= 14.0, "{naive}");
}

/// Mistake in a design.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// E05: Append as an atomic increment.
    Append,
    /// An event that is delivered twice is counted twice.
    NoCondition,
    /// The aggregates of a stopped writer are not completed.
    NoRepair,
    /// E26: the key begins with the date.
    DateFirst,
    /// E28: a counter is one row.
    OneCounter,
    /// E27: users are counted by reading the row of each of them.
    CountsUsers,
    /// The users of a day are the sum of those of its hours.
    SumOfHours,
    /// The steps of a funnel are counted separately.
    SeparateSteps,
}

struct Naive {
    mistake: Mistake,
    right: Analytics,
    /// Counters of minutes and kinds.
    table: BlockingTable,
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        let right = Analytics::open(&site.cluster, &site.namespace)?;
        let name = format!("{}:naive", site.namespace);
        if !site.cluster.table_exists(&name)? {
            let table = TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("n"));
            site.cluster.create_table(table, &[])?;
        }
        Ok(Box::new(Self { mistake, right, table: site.cluster.table(&name)? }))
    }

    fn is_counted_apart(&self) -> bool {
        matches!(self.mistake, Mistake::Append | Mistake::NoCondition)
    }

    /// Returns the key of a counter, without a shard.
    fn counter(event: &Event) -> Vec<u8> {
        let minute = event.at_ms / 60_000;
        [&minute.to_be_bytes(), event.kind.name().as_bytes()].concat()
    }
}

impl Design for Naive {
    fn record(&self, events: &[Event]) -> Result<()> {
        let is_new = self.right.record(events)?;
        for (event, is_new) in events.iter().zip(is_new) {
            let row = Self::counter(event);
            match self.mistake {
                Mistake::Append if is_new => {
                    self.table.append(Append::new(row).add("n", "n", 1_i64.to_be_bytes()))?;
                }
                Mistake::NoCondition => {
                    self.table.increment(Increment::new(row).add("n", "n", 1))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_recorded(&self, event: &Event) -> Result<bool> {
        Ok(self.right.is_recorded(event)?)
    }

    fn rows(&self, event: &Event) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(match self.mistake {
            Mistake::DateFirst => {
                let text = format!("{}{}", event.day().0, event.user);
                vec![("naive", text.into_bytes())]
            }
            Mistake::OneCounter => vec![("naive", Self::counter(event))],
            _ => self.right.rows(event)?,
        })
    }

    fn logins(&self, user: u32, day: Days) -> Result<Logins> {
        Ok(self.right.logins(user, day)?)
    }

    fn exact_users(&self, day: Days) -> Result<ActiveUsers> {
        Ok(self.right.exact_users(day)?)
    }

    fn hourly_users(&self, at_ms: Range<i64>) -> Result<BTreeMap<i64, f64>> {
        Ok(self.right.hourly_users(at_ms)?)
    }

    fn estimated_users(&self, at_ms: Range<i64>) -> Result<ActiveUsers> {
        let union = self.right.estimated_users(at_ms.clone())?;
        if self.mistake != Mistake::SumOfHours {
            return Ok(union);
        }
        let users = self.right.hourly_users(at_ms)?.values().sum();
        Ok(ActiveUsers { users, ..union })
    }

    fn board(&self, at_ms: Range<i64>) -> Result<Board> {
        if !self.is_counted_apart() {
            return Ok(self.right.board(at_ms)?);
        }
        let mut board = Board::default();
        for row in self.table.scan(Scan::all()) {
            let row = row?;
            let (minute, kind) = row.key().split_first_chunk::<8>().unwrap();
            let minute = i64::from_be_bytes(*minute) * 60_000;
            if !at_ms.contains(&minute) {
                continue;
            }
            let kind = Kind::ALL.into_iter().find(|known| known.name().as_bytes() == kind);
            let count = row.value("n", "n").unwrap().first_chunk().unwrap();
            board.counts.insert((minute, kind.unwrap()), i64::from_be_bytes(*count));
        }
        Ok(board)
    }

    fn retention(&self, joined: Days, day: Days) -> Result<Retention> {
        let right = self.right.retention(joined, day)?;
        if self.mistake != Mistake::CountsUsers {
            return Ok(right);
        }
        let examined = [joined, day].map(|day| self.right.exact_users(day).unwrap().examined);
        Ok(Retention { examined: examined.iter().sum(), ..right })
    }

    fn funnel(&self, day: Days, steps: &[Kind]) -> Result<Vec<u64>> {
        if self.mistake != Mistake::SeparateSteps {
            return Ok(self.right.funnel(day, steps)?);
        }
        steps.iter().map(|step| Ok(self.right.funnel(day, &[*step])?[0])).collect()
    }

    fn repair(&self) -> Result<u64> {
        if self.mistake == Mistake::NoRepair { Ok(0) } else { Design::repair(&self.right) }
    }
}

/// Checks a design whose writer stops after `batches`, and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, batches: u64) -> String {
    let checked = backends::check_embedded(&ANALYTICS.with_design(design), LOAD, batches);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn e05_appended_counters_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::Append), 500);
    assert!(why.contains("events, expected"), "{why}");
}

#[test]
fn p05_events_counted_without_condition_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoCondition), 500);
    assert!(why.contains("events of") || why.contains("events, expected"), "{why}");
}

#[test]
fn p05_aggregates_that_are_not_repaired_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoRepair), 402);
    assert!(why.starts_with("after a crash"), "{why}");
}

#[test]
fn e26_key_that_begins_with_the_date_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::DateFirst), 2_000);
    assert!(why.contains("are in one of 16 regions"), "{why}");
}

#[test]
fn e28_counter_of_one_row_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::OneCounter), 2_000);
    assert!(why.contains("are in one of 16 regions"), "{why}");
}

#[test]
fn e27_retention_that_reads_every_user_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::CountsUsers), 2_000);
    assert!(why.contains("rows were examined, 32 are enough"), "{why}");
}

#[test]
fn p05_users_of_a_day_as_sum_of_hours_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::SumOfHours), 2_000);
    assert!(why.contains("estimated"), "{why}");
}

#[test]
fn p05_steps_counted_separately_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::SeparateSteps), 2_000);
    assert!(why.contains("the funnel is"), "{why}");
}
