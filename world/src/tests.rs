//! Some worlds, and worlds with a fault in them, which must be detected.

use halite_engine::{WalRecovery, WalSync};

use crate::run::{Plan, Report, play};

/// Default number of seeds in the tests; `HALITE_WORLD_SEEDS` overrides it.
const SEEDS: u64 = 6;

fn play_plan(plan: &Plan) -> Report {
    play(plan)
        .unwrap_or_else(|error| panic!("seed {:#x}: the simulation failed: {error}", plan.seed))
}

/// Returns `true` if some seed shows a row that no order explains, in a world changed by `change`.
fn is_found(seeds: u64, change: impl Fn(&mut Plan)) -> bool {
    (0..seeds).any(|seed| {
        let mut plan = Plan::from_seed(seed);
        change(&mut plan);
        play_plan(&plan).violations.iter().any(|wrong| wrong.contains("no order explains"))
    })
}

#[test]
fn histories_are_linearizable_under_every_fault() {
    let seeds = std::env::var("HALITE_WORLD_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let mut all = Report::default();
    for seed in 0..seeds {
        let report = play_plan(&Plan::from_seed(seed));
        assert!(
            report.violations.is_empty(),
            "seed {seed:#x}: {}\nreproduce with: cargo xtask world --seed {seed:#x} --log",
            report.violations.join("\n")
        );
        all.calls += report.calls;
        all.failed += report.failed;
        all.scans += report.scans;
        all.changes += report.changes;
        all.deaths += report.deaths;
        all.jobs += report.jobs;
    }
    assert!(
        all.failed > 0 && all.failed < all.calls / 3,
        "{} of {} calls failed: no fault was injected, or no call succeeds",
        all.failed,
        all.calls
    );
    assert!(
        all.scans > 0 && all.changes > 0 && all.deaths > 0 && all.jobs > 0,
        "too few events occurred"
    );
}

#[test]
fn same_seed_gives_same_run() {
    for seed in [7, 8] {
        let [first, second] = [(); 2].map(|()| play_plan(&Plan::from_seed(seed)));
        let index = first.log.iter().zip(&second.log).position(|(a, b)| a != b);
        assert_eq!(
            index.map(|index| (&first.log[index], &second.log[index])),
            None,
            "seed {seed} gave two different runs"
        );
        assert_eq!(first, second);
    }
}

#[test]
fn without_faults_only_few_calls_fail() {
    let mut plan = Plan::from_seed(3);
    plan.has_faults = false;
    let report = play_plan(&plan);
    assert_eq!(report.violations, Vec::<String>::new());
    assert_eq!((report.deaths, report.stops), (0, 0));
    assert!(report.failed < report.calls / 4, "{} of {} calls failed", report.failed, report.calls);
}

#[test]
fn server_that_loses_nonces_is_detected() {
    assert!(is_found(40, |plan| (
        plan.settings.config.limits.nonce_grace_period_ms,
        plan.settings.options.nonce_grace_period_ms
    ) = (1, 1)));
}

#[test]
fn lost_acknowledged_writes_are_detected() {
    assert!(is_found(20, |plan| {
        (plan.settings.options.wal_sync, plan.loses_power) = (WalSync::Flush, true);
        // A power loss may leave gaps in such a log, which otherwise prevent opening.
        plan.settings.options.wal_recovery = WalRecovery::SkipDamaged;
    }));
}
