//! Some worlds, and worlds with a fault in them, which must be found.

use halite_engine::{WalRecovery, WalSync};

use crate::run::{Plan, Report, play};

/// How many seeds a run of the tests takes; `HALITE_WORLD_SEEDS` says another number.
const SEEDS: u64 = 6;

fn lived(plan: &Plan) -> Report {
    play(plan).unwrap_or_else(|error| panic!("seed {:#x}: the simulation failed: {error}", plan.seed))
}

/// Whether some seed shows a row that no order explains, in a world that was changed like this.
fn is_found(seeds: u64, change: impl Fn(&mut Plan)) -> bool {
    (0..seeds).any(|seed| {
        let mut plan = Plan::of(seed);
        change(&mut plan);
        lived(&plan).wrong.iter().any(|wrong| wrong.contains("no order explains"))
    })
}

#[test]
fn what_callers_are_told_can_be_true_whatever_happens() {
    let seeds = std::env::var("HALITE_WORLD_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let mut all = Report::default();
    for seed in 0..seeds {
        let report = lived(&Plan::of(seed));
        assert!(report.wrong.is_empty(), "seed {seed:#x}: {}\nrun it again: cargo xtask world --seed {seed:#x} --log", report.wrong.join("\n"));
        all.calls += report.calls;
        all.failed += report.failed;
        all.scans += report.scans;
        all.changes += report.changes;
        all.deaths += report.deaths;
        all.jobs += report.jobs;
    }
    assert!(
        all.failed > 0 && all.failed < all.calls / 3,
        "{} of {} calls failed: there is no trouble, or nothing gets through it",
        all.failed,
        all.calls
    );
    assert!(all.scans > 0 && all.changes > 0 && all.deaths > 0 && all.jobs > 0, "too little has happened");
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in [7, 8] {
        let [first, second] = [(); 2].map(|()| lived(&Plan::of(seed)));
        let at = first.log.iter().zip(&second.log).position(|(a, b)| a != b);
        assert_eq!(at.map(|at| (&first.log[at], &second.log[at])), None, "seed {seed} went two ways");
        assert_eq!(first, second);
    }
}

#[test]
fn a_world_without_trouble_has_no_failures_but_those_of_regions_that_have_gone() {
    let mut plan = Plan::of(3);
    plan.has_trouble = false;
    let report = lived(&plan);
    assert_eq!(report.wrong, Vec::<String>::new());
    assert_eq!((report.deaths, report.stops), (0, 0));
    assert!(report.failed < report.calls / 4, "{} of {} calls failed", report.failed, report.calls);
}

#[test]
fn a_server_that_forgets_nonces_is_found() {
    assert!(is_found(40, |plan| (plan.settings.config.limits.nonce_ms, plan.settings.options.nonce_ms) = (1, 1)));
}

#[test]
fn acknowledged_writes_that_a_power_loss_takes_back_are_found() {
    assert!(is_found(20, |plan| {
        (plan.settings.options.wal_sync, plan.loses_power) = (WalSync::Flush, true);
        // A power loss may leave holes in such a log, with which it is not opened otherwise.
        plan.settings.options.wal_recovery = WalRecovery::SkipDamaged;
    }));
}
