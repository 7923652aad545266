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

/// Sends traffic for some columns and returns what the store says about it.
fn diagnose(shape: Shape, seed: u64, columns: u32) -> Finding {
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
    let start = tick();
    let table = traffic.table.clone();
    let mut source = Source::new(&config, traffic.pattern);
    let mut next = source.take(Duration::ZERO);
    let mut end = start;
    for column in 1..=columns {
        while next.1 < COLUMN * column {
            let following = source.take(Duration::ZERO);
            std::mem::replace(&mut next, following).0.execute(&table).unwrap();
        }
        end = tick();
    }
    store.heat().diagnose(&config.table, (start, end)).unwrap()
}

#[track_caller]
fn expect(shape: Shape, columns: u32, expected: Diagnosis) {
    for seed in 1..=2 {
        let finding = diagnose(shape, seed, columns);
        assert_eq!(finding.shape, expected, "seed {seed}: {finding:?}");
    }
}

#[test]
fn even_traffic_is_even_for_every_seed() {
    for seed in 1..=20 {
        let finding = diagnose(Shape::Even, seed, 3);
        assert_eq!(finding.shape, Diagnosis::Even, "seed {seed}: {finding:?}");
    }
}

#[test]
fn events_are_a_frontier() {
    expect(Shape::Frontier, 4, Diagnosis::Frontier);
}

#[test]
fn celebrity_is_a_hot_row() {
    expect(Shape::HotRow, 4, Diagnosis::HotRow);
}

#[test]
fn wanted_device_is_a_hot_prefix() {
    expect(Shape::HotPrefix, 4, Diagnosis::HotPrefix);
}

#[test]
fn wanted_orders_are_a_hot_range() {
    expect(Shape::HotRange, 4, Diagnosis::HotRange);
}

#[test]
fn batch_job_is_periodic() {
    expect(Shape::Periodic, 24, Diagnosis::Periodic);
}

#[test]
fn scan_of_all_pages_is_a_sweep() {
    expect(Shape::Sweep, 6, Diagnosis::Sweep);
}

#[test]
fn salted_countries_are_a_salt_imbalance() {
    expect(Shape::SaltImbalance, 4, Diagnosis::SaltImbalance);
}

#[test]
fn queue_has_tombstones_at_its_head() {
    expect(Shape::TombstoneHead, 6, Diagnosis::TombstoneHead);
}
