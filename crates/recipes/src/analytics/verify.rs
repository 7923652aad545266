//! Comparison of a design with the model.

use std::collections::{BTreeMap, BTreeSet};

use analytics::{DAY_MS, Kind};
use anyhow::{Result, ensure};
use halite::rowkey::typed::Days;

use super::design::Design;
use super::generator::Generator;
use super::oracle::Oracle;
use crate::recipe::Verified;

/// Steps of the funnel.
pub(super) const STEPS: [Kind; 3] = [Kind::View, Kind::Cart, Kind::Pay];
/// Rows that a query of aggregates may read for each of its parts: one for each shard.
const MAX_SHARDS: u64 = 16;
/// Regions of a table, and times of the events, whose load is compared.
const REGIONS: usize = 16;
const WINDOWS: usize = 8;
/// Rows of one region in a window, in proportion to those of the mean region.
const MAX_SKEW: usize = 4;

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn oracle(design: &dyn Design, generator: &Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    (0..written).for_each(|number| oracle.apply(generator.item(number)));
    let next = generator.item(written);
    if design.is_recorded(&next)? {
        oracle.apply(next);
    }
    Ok(oracle)
}

/// Compares every query.
pub(super) fn verify(design: &dyn Design, oracle: &Oracle) -> Result<Verified> {
    let mut verified = Verified::default();
    verify_days(design, oracle, &mut verified)?;
    verify_logins(design, oracle, &mut verified)?;
    verify_times(design, oracle, &mut verified)?;
    verify_spread(design, oracle)?;
    Ok(verified)
}

fn verify_days(design: &dyn Design, oracle: &Oracle, verified: &mut Verified) -> Result<()> {
    for day in oracle.days() {
        let users = oracle.users(day, None);
        let exact = design.exact_users(Days(day))?;
        ensure!(
            (exact.users - number(&users)).abs() < 0.5,
            "day {day}: {} users, expected {}",
            exact.users,
            users.len()
        );
        verified.add(users.len() as u64, exact.examined);
        let start_ms = i64::from(day) * DAY_MS;
        let estimated = design.estimated_users(start_ms..start_ms + DAY_MS)?;
        ensure!(
            is_near(estimated.users, &users),
            "day {day}: estimated {:.1} users, expected {}",
            estimated.users,
            users.len()
        );
        verified.add(1, estimated.examined);
        let (found, expected) = (design.funnel(Days(day), &STEPS)?, oracle.funnel(day, &STEPS));
        ensure!(found == expected, "day {day}: the funnel is {found:?}, expected {expected:?}");
        let cohort = oracle.users(day, Some(Kind::Join));
        for later in [1, 3] {
            let active = oracle.users(day + later, Some(Kind::Login));
            let found = design.retention(Days(day), Days(day + later))?;
            let expected = (cohort.len() as u64, cohort.intersection(&active).count() as u64);
            ensure!(
                (found.joined, found.returned) == expected,
                "cohort of day {day} after {later} days: {} of {} users, expected {} of {}",
                found.returned,
                found.joined,
                expected.1,
                expected.0
            );
            ensure!(
                found.examined <= 2 * MAX_SHARDS,
                "cohort of day {day}: {} rows were examined, {} are enough",
                found.examined,
                2 * MAX_SHARDS
            );
            verified.add(1, found.examined);
        }
    }
    Ok(())
}

fn verify_logins(design: &dyn Design, oracle: &Oracle, verified: &mut Verified) -> Result<()> {
    for ((user, day), expected) in oracle.logins() {
        let found = design.logins(user, Days(day))?;
        ensure!(
            (found.counted, found.aggregated) == (expected, expected),
            "user {user}, day {day}: {} logins counted and {} aggregated, expected {expected}",
            found.counted,
            found.aggregated
        );
        verified.add(1, 1);
    }
    Ok(())
}

/// Compares hours, and minutes of all times and of the last hour.
fn verify_times(design: &dyn Design, oracle: &Oracle, verified: &mut Verified) -> Result<()> {
    let found = design.hourly_users(0..i64::MAX)?;
    let expected = oracle.hourly_users();
    ensure!(found.len() == expected.len(), "{} hours, expected {}", found.len(), expected.len());
    for (hour, users) in &expected {
        let estimate = found.get(hour).copied().unwrap_or_default();
        ensure!(
            is_near(estimate, users),
            "hour {hour}: estimated {estimate:.1} users, expected {}",
            users.len()
        );
    }
    verified.add(expected.len() as u64, 0);
    let last = oracle.events().map(|event| event.at_ms).max().unwrap_or(0);
    let last = last / 60_000 * 60_000;
    for range in [0..i64::MAX, last - 59 * 60_000..last + 60_000] {
        let found = design.board(range.clone())?;
        let expected = oracle.board(range.clone());
        if let Some(at) = difference(&found.counts, &expected) {
            anyhow::bail!(
                "minute {} of kind {}: {:?} events, expected {:?}",
                at.0,
                at.1.name(),
                found.counts.get(&at),
                expected.get(&at)
            );
        }
        verified.add(expected.len() as u64, found.examined);
    }
    Ok(())
}

fn difference(
    found: &BTreeMap<(i64, Kind), i64>,
    expected: &BTreeMap<(i64, Kind), i64>,
) -> Option<(i64, Kind)> {
    let keys: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    keys.into_iter().find(|key| found.get(key) != expected.get(key)).copied()
}

/// Checks that the rows that are written at one time are in all regions, if the splits divide all
/// rows evenly.
fn verify_spread(design: &dyn Design, oracle: &Oracle) -> Result<()> {
    let mut tables: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    for event in oracle.events() {
        for (table, row) in design.rows(event)? {
            tables.entry(table).or_default().push(row);
        }
    }
    for (table, rows) in tables {
        let distinct: Vec<&Vec<u8>> = rows.iter().collect::<BTreeSet<_>>().into_iter().collect();
        let region = |row: &Vec<u8>| {
            distinct.partition_point(|other| *other < row) * REGIONS / distinct.len()
        };
        for window in rows.chunks(rows.len().div_ceil(WINDOWS)) {
            let written: BTreeSet<&Vec<u8>> = window.iter().collect();
            let mut regions = [0; REGIONS];
            written.iter().for_each(|row| regions[region(row)] += 1);
            let most = regions.iter().max().copied().unwrap_or(0);
            // Few rows need not be spread evenly.
            let is_even = most <= MAX_SKEW * written.len() / REGIONS || written.len() < 2 * REGIONS;
            ensure!(
                is_even,
                "table {table}: {most} of {} rows that are written at one time are in one of \
                 {REGIONS} regions",
                written.len()
            );
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a number of users")]
fn number(users: &BTreeSet<u32>) -> f64 {
    users.len() as f64
}

/// Returns `true` if an estimate is within 2 percent, or one user if that is more.
fn is_near(estimate: f64, users: &BTreeSet<u32>) -> bool {
    let users = number(users);
    (estimate - users).abs() <= (users * 0.02).max(1.0)
}
