//! Small workloads with every kind of change on disk, in which the process dies at every call they
//! make.

use std::io;

use halite_engine::Options;
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_types::{
    CheckAndMutate, Delete, FamilyDescriptor, Get, Increment, Put, RowMutations, Scan,
    TableDescriptor, TableName,
};

use crate::step::Step;
use crate::world::{RunStats, World};

/// Workload before, during and after the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Rows of several families, flushes, compactions, a split, a merge and clean shutdowns.
    Table,
    /// Snapshots, their clones, settings, and concurrent changes of the table. At the end all
    /// clones and snapshots are deleted.
    Snapshots,
}

impl Workload {
    /// Returns its steps.
    pub fn steps(self) -> Vec<Step> {
        match self {
            Self::Table => table_steps(),
            Self::Snapshots => snapshot_steps(),
        }
    }

    /// Returns the table descriptor. One family is enough where each file causes all the calls.
    fn table(self) -> TableDescriptor {
        let table = TableDescriptor::new(TableName::new("default", "t").expect("a legal name"))
            .family(FamilyDescriptor::new("a").versions(2));
        if self == Self::Snapshots {
            table
        } else {
            table.family(FamilyDescriptor::new("b").set("COMPRESSION", "GZ"))
        }
    }

    fn check_end(self, world: &World) -> Result<(), String> {
        if self == Self::Snapshots { world.check_disk() } else { Ok(()) }
    }
}

fn snapshot_steps() -> Vec<Step> {
    let put = |row: &'static str, value: &str| Put::new(row).add("a", "q", value);
    let write = |row, value| Step::Write(put(row, value).into());
    let mut steps = vec![
        write("r1", "one"),
        write("r5", "one"),
        Step::Snapshot(0),
        Step::Property(0),
        Step::Property(1),
        write("r1", "two"),
        Step::CompactMajor,
        Step::Clone(0),
        Step::WriteClone(0, put("r2", "clone").into()),
        Step::Split("r3".into()),
        Step::Snapshot(1),
        Step::CompactMajor,
        Step::SplitClone(0, "r3".into()),
        Step::CompactClone(0),
        // Clones the reference files of a split.
        Step::Clone(1),
        write("r1", "three"),
        Step::Property(0),
        // This one deletes the setting.
        Step::Property(7),
        Step::Restore(0),
        write("r4", "four"),
        Step::Snapshot(0),
        Step::Reopen,
        Step::Clone(0),
        Step::CheckSnapshots,
    ];
    // A crash in the first round leaves the rest to the second.
    for _ in 0..2 {
        steps.extend([Step::RemoveAll, Step::CompactMajor, Step::Reopen]);
    }
    steps
}

fn table_steps() -> Vec<Step> {
    let put = |row: &'static str, value: &str| {
        Put::new(row).add("a", "q", value).add("b", "q", value).add("b", "p", value.repeat(300))
    };
    let read = || Step::Scan(Scan::all().all_versions());
    vec![
        Step::Write(put("r1", "one").into()),
        Step::Write(put("r2", "two").into()),
        Step::Write(put("r3", "three").into()),
        Step::Write(Increment::new("r1").add("a", "n", 5).into()),
        Step::Flush,
        Step::Write(Delete::new("r2").into()),
        Step::FlushFamilies(1),
        Step::Write(put("r4", "four").into()),
        Step::Write(Increment::new("r1").add("b", "n", 3).into()),
        Step::FlushFamilies(2),
        Step::Batch(vec![
            put("r5", "five").into(),
            put("r6", "six").into(),
            Delete::new("r3").column("b", "p").into(),
        ]),
        Step::Flush,
        Step::Write(
            RowMutations::new("r1")
                .add(put("r1", "uno"))
                .add(Delete::new("r1").column("b", "r"))
                .into(),
        ),
        Step::Flush,
        read(),
        Step::CompactMinor,
        Step::Write(put("r3", "before the load").into()),
        Step::FlushFamilies(2),
        Step::Load(Put::new("r3").add_at("a", "s", 5, "loaded").add_at("b", "s", 5, "loaded")),
        Step::Write(put("r3", "after the load").into()),
        Step::Write(Increment::new("r1").add("a", "n", 1).into()),
        Step::Split("r3".into()),
        Step::Write(put("r2", "again").into()),
        Step::FlushFamilies(1),
        Step::Write(put("r5", "again").into()),
        read(),
        Step::CompactMajor,
        Step::Get(Get::new("r2").all_versions()),
        Step::Write(
            CheckAndMutate::if_equals("r5", "a", "q", "again", Delete::new("r5").family("b"))
                .into(),
        ),
        Step::Merge(0),
        Step::Write(put("r7", "seven").into()),
        Step::CompactMajor,
        Step::Reopen,
        Step::Write(put("r1", "last").into()),
        read(),
    ]
}

fn options() -> Options {
    let mut options = Options::default();
    options.wal_segment_bytes = 8192;
    options.memstore_chunk_bytes = 4096;
    options.in_memory_compaction_bytes = 512;
    options.min_compaction_files = 2;
    options
}

/// Runs the workload and shuts down cleanly. `prepare` changes the disk first; another function
/// changes the world before each step.
fn play(
    workload: Workload,
    seed: u64,
    power_loss: Option<u64>,
    prepare: impl FnOnce(&SimEnv),
    mut before: impl FnMut(&mut World),
) -> Result<World, String> {
    let sim = SimEnv::new(seed);
    prepare(&sim);
    let mut world = World::new(sim.clone(), options(), workload.table(), power_loss)?;
    for (number, step) in workload.steps().iter().chain([&Step::Reopen]).enumerate() {
        before(&mut world);
        sim.clock.advance_ms(7);
        world.step(step).map_err(|message| format!("step {number}, {step}: {message}"))?;
    }
    workload.check_end(&world)?;
    Ok(world)
}

/// Returns the number of calls that the workload makes without faults.
///
/// # Errors
/// Returns the engine's incorrect behavior.
pub fn count_calls(workload: Workload) -> Result<u64, String> {
    Ok(play(workload, 1, None, |_| {}, |_| {})?.sim.fs.calls())
}

/// Kills the process at call `at`, with the data that `power_loss` leaves, and then continues the
/// workload.
///
/// # Errors
/// Returns the engine's incorrect behavior.
pub fn crash_at(
    workload: Workload,
    call: u64,
    power_loss: Option<u64>,
) -> Result<RunStats, String> {
    let last_call = std::cell::RefCell::new(String::new());
    let prepare = |sim: &SimEnv| sim.fs.crash_at_call(call);
    let before = |world: &mut World| {
        if world.stats.crashes == 0 {
            *last_call.borrow_mut() = format!("{:?}", world.sim.fs.last_call());
        }
    };
    let result = play(workload, 1, power_loss, prepare, before);
    result.map(|world| world.stats).map_err(|mismatch| {
        format!("died at call {call}, after {}, {power_loss:?}: {mismatch}", last_call.borrow())
    })
}

/// Fails the `nth` call of a kind, after which the process ends and the power fails. Returns `true`
/// if there was such a call.
///
/// # Errors
/// Returns the engine's incorrect behavior.
pub fn fail_call(workload: Workload, nth: u64, call: FsCall) -> Result<bool, String> {
    let mut armed = true;
    let arm = |world: &mut World| {
        world.may_fail = world.stats.crashes == 0;
        if std::mem::take(&mut armed) {
            world.sim.fs.inject(InjectedFault::next(call, "", io::ErrorKind::Other).after(nth));
        }
    };
    let world = play(workload, 1, Some(nth * 4 + 1), |_| {}, arm)
        .map_err(|message| format!("{call:?} {nth} failed: {message}"))?;
    Ok(world.sim.fs.failures() > 0)
}

/// Fills the disk after the workload has written `free_bytes`; then frees space, and a new process
/// continues.
///
/// # Errors
/// Returns the engine's incorrect behavior.
pub fn fill_disk(workload: Workload, free_bytes: u64) -> Result<RunStats, String> {
    let mut limited = false;
    let limit = |world: &mut World| {
        world.may_fail = world.stats.crashes == 0;
        if !limited {
            limited = true;
            world.sim.fs.set_capacity(Some(world.sim.fs.used_bytes() + free_bytes));
        } else if !world.may_fail {
            world.sim.fs.set_capacity(None);
        }
    };
    play(workload, 1, None, |_| {}, limit)
        .map(|world| world.stats)
        .map_err(|message| format!("disk full after {free_bytes} bytes: {message}"))
}
