//! The diagnosis of the recorded load names each shape, on a store with a simulated disk and clock.

use std::time::Duration;

use halite::Builder;
use halite::heat::{Finding, Shape as Diagnosis};
use halite_engine::env::sim::SimEnv;

use super::run::Source;
use super::{Shape, StopRequest, TrafficConfig, TrafficTable};
use crate::backend::Backend;

/// Width of a column of the recorded load.
const COLUMN: Duration = Duration::from_secs(10);
/// Time that the page examines: the last ten minutes.
const SPAN_MS: i64 = 600_000;

/// Sends traffic for some columns, and returns what the store says at the end of each about the
/// ten minutes before it, in which the table was loaded.
fn diagnose_each(shape: Shape, seed: u64, columns: u32) -> Vec<Finding> {
    let rate = 250;
    let config = TrafficConfig {
        shape,
        table: "traffic".parse().unwrap(),
        rate,
        duration: None,
        seed,
        threads: 1,
        regions: 16,
        rows: shape.default_rows(rate),
        period: Duration::from_mins(1),
        report_interval: COLUMN,
    };
    let sim = SimEnv::new(seed);
    let store = Builder::new().open_with_env(sim.env()).unwrap();
    let backend = Backend::from(store.clone());
    let tick = || {
        sim.clock.advance_ms(u32::try_from(COLUMN.as_millis()).unwrap());
        store.engine().record_heat();
        i64::try_from(store.engine().now_ms()).unwrap()
    };
    tick();
    let traffic = TrafficTable::open(&backend, &config).unwrap();
    traffic.load(&backend, &StopRequest::default()).unwrap();
    let table = traffic.table.clone();
    let mut source = Source::new(&config, traffic.pattern);
    let mut next = source.take(Duration::ZERO);
    let column = |column| {
        while next.1 < COLUMN * column {
            let following = source.take(Duration::ZERO);
            std::mem::replace(&mut next, following).0.execute(&table).unwrap();
        }
        let end = tick();
        store.heat().diagnose(&config.table, (end - SPAN_MS, end)).unwrap()
    };
    (1..=columns).map(column).collect()
}

/// Expects this finding after some columns, and until then that it is too early.
#[track_caller]
fn expect(shape: Shape, columns: u32, expected: Diagnosis) {
    expect_or(shape, columns, expected, &[Diagnosis::TooFew]);
}

#[track_caller]
fn expect_or(shape: Shape, columns: u32, expected: Diagnosis, before: &[Diagnosis]) {
    for seed in 1..=2 {
        let found = diagnose_each(shape, seed, columns);
        let known = found.iter().position(|finding| finding.shape == expected);
        let known = known.unwrap_or_else(|| panic!("seed {seed}: {found:?}"));
        for (at, finding) in found.iter().enumerate() {
            let is_right = finding.shape == expected;
            let is_early = at < known && before.contains(&finding.shape);
            assert!(is_right || is_early, "seed {seed}, column {at}: {finding:?}");
        }
    }
}

#[test]
fn even_traffic_is_even_for_every_seed() {
    for seed in 1..=20 {
        let found = diagnose_each(Shape::Even, seed, 5);
        let early = |finding: &Finding| finding.shape == Diagnosis::TooFew;
        let (before, after) = found.split_at(found.iter().take_while(|f| early(f)).count());
        assert!(before.len() < 4, "seed {seed}: {before:?}");
        let is_even = |finding: &Finding| finding.shape == Diagnosis::Even;
        assert!(after.iter().all(is_even), "seed {seed}: {after:?}");
    }
}

#[test]
fn events_are_a_frontier() {
    expect(Shape::Frontier, 5, Diagnosis::Frontier);
}

#[test]
fn celebrity_is_a_hot_row() {
    expect(Shape::HotRow, 5, Diagnosis::HotRow);
}

#[test]
fn wanted_device_is_a_hot_prefix() {
    expect(Shape::HotPrefix, 8, Diagnosis::HotPrefix);
}

#[test]
fn wanted_orders_are_a_hot_range() {
    expect(Shape::HotRange, 5, Diagnosis::HotRange);
}

#[test]
fn batch_job_is_periodic() {
    expect_or(Shape::Periodic, 20, Diagnosis::Periodic, &[Diagnosis::TooFew, Diagnosis::Even]);
}

#[test]
fn scan_of_all_pages_is_a_sweep() {
    expect(Shape::Sweep, 8, Diagnosis::Sweep);
}

#[test]
fn salted_countries_are_a_salt_imbalance() {
    expect(Shape::SaltImbalance, 5, Diagnosis::SaltImbalance);
}

#[test]
fn queue_has_tombstones_at_its_head() {
    expect(Shape::TombstoneHead, 8, Diagnosis::TombstoneHead);
}
