//! Simulations that every change must pass, and tests that they detect faults.

use halite_engine::WalSync;
use halite_engine::env::sim::FsCall;

use crate::crash::{Workload, count_calls, crash_at, fail_call, fill_disk};
use crate::run::{run, run_with};
use crate::world::RunStats;

/// Number of random seeds; `HALITE_SIM_SEEDS` overrides it.
fn seeds() -> u64 {
    std::env::var("HALITE_SIM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

#[test]
fn random_runs_agree_with_the_model() {
    let mut total = RunStats::default();
    for seed in 0x1000..0x1000 + seeds() {
        total.add(&run(seed, 800).unwrap_or_else(|failure| panic!("{failure}")).stats);
    }
    let RunStats {
        crashes,
        in_flight,
        flushes,
        family_flushes,
        in_memory_compactions: condensations,
        compactions,
        region_changes,
        snapshot_operations: copies,
        loads,
        checked,
        ..
    } = total;
    let done = [
        crashes,
        in_flight,
        total.in_flight_survived,
        flushes,
        family_flushes,
        condensations,
        compactions,
        region_changes,
        copies,
        loads,
    ];
    let troubles = [total.failures_survived, total.flips];
    assert!(done.iter().chain(&troubles).all(|count| *count > 0), "{total:?}");
    // Some bits are never read.
    assert!(total.flips_refused > 0 || total.flips < 50, "{total:?}");
    assert!(checked.unknown * 10 < checked.certain, "{total:?}");
}

#[test]
fn equal_seeds_give_equal_runs() {
    let once = || run(0x77, 600).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(once(), once());
}

#[test]
fn unsynced_log_is_detected() {
    let failures = (0..20)
        .filter_map(|seed| run_with(seed, 800, |options| options.wal_sync = WalSync::Flush).err());
    // If valid records follow a gap, the store is not opened; a shorter log is a loss.
    let failure = failures
        .map(|failure| failure.to_string())
        .find(|failure| failure.contains("after a restart: no subset of the writes"));
    let failure = failure.expect("acknowledged writes were lost");
    assert!(failure.contains("reproduce with"), "{failure}");
}

/// Tests every call, divided between two threads. Each call dies in one of four ways, or in all of
/// them if `HALITE_SIM_SEEDS` is above the default.
fn survives_a_crash_at_every_call(workload: Workload) {
    let calls = count_calls(workload).unwrap();
    assert!(calls > 200, "{calls}");
    let all_ways = seeds() > 12;
    let half = |first: u64| {
        for call in (first..calls).step_by(2) {
            let ways = [Some(0), Some(call * 4 + 1), None, Some(call * 28 + 2)];
            for (number, power_loss) in
                (0..).zip(ways).filter(|(number, _)| all_ways || (call / 2) % 4 == *number)
            {
                let tally = crash_at(workload, call, power_loss)
                    .unwrap_or_else(|message| panic!("{message}"));
                assert!(tally.crashes > 0, "{call}, way {number}");
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| half(0));
        half(1);
    });
}

#[test]
fn workload_survives_crash_at_every_call() {
    survives_a_crash_at_every_call(Workload::Table);
}

#[test]
fn snapshots_and_clones_survive_crash_at_every_call() {
    survives_a_crash_at_every_call(Workload::Snapshots);
}

fn survives_each_failed_call(workload: Workload) {
    for (call, min) in [
        (FsCall::Sync, 20),
        (FsCall::Write, 20),
        (FsCall::Create, 5),
        (FsCall::Rename, 1),
        (FsCall::SyncDir, 10),
        (FsCall::RemoveFile, 1),
        (FsCall::Preallocate, 1),
    ] {
        let mut nth = 0;
        while fail_call(workload, nth, call).unwrap_or_else(|message| panic!("{message}")) {
            nth += 1;
        }
        assert!(nth >= min, "{call:?} was executed only {nth} times");
    }
}

#[test]
fn the_workload_survives_each_failed_call() {
    survives_each_failed_call(Workload::Table);
}

#[test]
fn snapshots_and_clones_survive_each_failed_call() {
    survives_each_failed_call(Workload::Snapshots);
}

#[test]
fn workloads_survive_full_disk() {
    let mut filled = 0;
    for (workload, step) in [(Workload::Table, 997), (Workload::Snapshots, 307)] {
        for free_bytes in (0..60_000).step_by(step) {
            filled += fill_disk(workload, free_bytes)
                .unwrap_or_else(|message| panic!("{message}"))
                .crashes;
        }
    }
    assert!(filled > 10, "{filled}");
}
