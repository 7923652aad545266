//! A panic ends only the operation that panicked: sizes are checked before, locks and threads
//! remain usable after.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::{future::Future, pin::pin};

use halite_engine::env::sim::SimEnv;
use halite_engine::env::{Clock, Env, Rng};
use halite_engine::{Engine, Options, Region, Table};
use halite_types::cell::{CellParts, LATEST_TIMESTAMP, write_tag};
use halite_types::{
    Append, CellType, CellsBuilder, CheckAndMutate, Durability, ErrorKind, FamilyDescriptor,
    Filter, Get, Increment, Put, ReadTier, Result, RowMutations, RowOp, Scan, TableDescriptor,
};

use crate::support::{name, put, region};

/// Clock and random source that panic when armed. The engine reads the clock while it holds a row
/// lock and while it writes the log, and draws a name for every store file.
struct Trap {
    inner: Env,
    wall: AtomicBool,
    monotonic: AtomicBool,
    /// Number of draws that panic.
    panicking_draws: AtomicU32,
}

impl Trap {
    fn new(inner: Env) -> Arc<Self> {
        Arc::new(Self {
            inner,
            wall: AtomicBool::default(),
            monotonic: AtomicBool::default(),
            panicking_draws: AtomicU32::default(),
        })
    }

    fn env(self: &Arc<Self>) -> Env {
        Env {
            clock: Arc::clone(self) as Arc<dyn Clock>,
            rng: Arc::clone(self) as Arc<dyn Rng>,
            ..self.inner.clone()
        }
    }
}

impl Clock for Trap {
    fn now_ms(&self) -> i64 {
        assert!(!self.wall.load(Ordering::SeqCst), "the clock failed");
        self.inner.clock.now_ms()
    }

    fn monotonic_ns(&self) -> u64 {
        assert!(!self.monotonic.load(Ordering::SeqCst), "the clock failed");
        self.inner.clock.monotonic_ns()
    }
}

impl Rng for Trap {
    fn next_u64(&self) -> u64 {
        let armed = self
            .panicking_draws
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_ok();
        assert!(!armed, "the random source failed");
        self.inner.rng.next_u64()
    }
}

fn open(env: Env) -> Arc<Engine> {
    #[cfg_attr(not(feature = "heat"), expect(unused_mut, reason = "nothing is recorded"))]
    let mut options = Options::default();
    // The clock of a trap must fail in the write, not where its duration is measured.
    #[cfg(feature = "heat")]
    (options.heat_level = halite_engine::HeatLevel::Off);
    let engine = Engine::open(env, options).unwrap();
    engine
        .create_table(
            TableDescriptor::new(name()).family(FamilyDescriptor::new("f").versions(3)),
            Vec::new(),
        )
        .unwrap();
    engine
}

fn panics<T>(work: impl FnOnce() -> T) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err()
}

fn tagged(row: &'static str, value: &[u8], tag_bytes: usize) -> CellsBuilder {
    let mut tags = Vec::new();
    write_tag(&mut tags, 65, &vec![7; tag_bytes]);
    let mut cells = CellsBuilder::default();
    let (row, family, qualifier) = (row.as_bytes(), b"f", b"q");
    cells.push_parts(CellParts {
        row,
        family,
        qualifier,
        timestamp: LATEST_TIMESTAMP,
        cell_type: CellType::Put,
        value,
        tags: &tags,
    });
    cells
}

fn one(region: &Region, op: RowOp) -> std::result::Result<(), ErrorKind> {
    let mut applied = region.apply(vec![op]);
    let result = applied.results.pop().unwrap().map(drop).map_err(|error| error.kind());
    result.and_then(|()| applied.ticket.wait().map_err(|error| error.kind()))
}

fn count(table: &Arc<Table>, scan: Scan) -> Result<usize> {
    table.scan(scan, ReadTier::Disk).map(|rows| rows.map(|rows| rows.len())).sum()
}

fn rows(engine: &Engine) -> usize {
    count(&engine.table(&name()).unwrap(), Scan::all()).unwrap()
}

#[test]
fn oversized_combined_tags_are_rejected_and_row_stays_writable() {
    let sim = SimEnv::new(1);
    let engine = open(sim.env());
    let region = region(&engine);
    let append =
        || RowOp::Append(Append::from_cells("r", tagged("r", b"x", 40_000), Durability::default()));
    let increment = || {
        RowOp::Increment(Increment::from_cells(
            "n",
            tagged("n", &1_i64.to_be_bytes(), 40_000),
            Durability::default(),
        ))
    };
    one(&region, append()).unwrap();
    one(&region, increment()).unwrap();
    assert_eq!(one(&region, append()), Err(ErrorKind::InvalidRequest));
    assert_eq!(one(&region, increment()), Err(ErrorKind::InvalidRequest));
    let both = RowMutations::new("r")
        .add(Put::new("r").add("f", "p", "v"))
        .add(Append::from_cells("r", tagged("r", b"x", 40_000), Durability::default()));
    assert_eq!(one(&region, RowOp::Mutate(both)), Err(ErrorKind::InvalidRequest));
    let checked = CheckAndMutate::if_not_exists(
        "r",
        "f",
        "absent",
        Append::from_cells("r", tagged("r", b"x", 40_000), Durability::default()),
    );
    assert_eq!(one(&region, RowOp::CheckAndMutate(checked)), Err(ErrorKind::InvalidRequest));
    assert_eq!(
        region.apply_atomically(&[append()], &[], None).err().map(|error| error.kind()),
        Some(ErrorKind::InvalidRequest)
    );
    one(&region, RowOp::Append(Append::new("r").add("f", "q", "y"))).unwrap();
    let row = engine.table(&name()).unwrap().get(&Get::new("r"), ReadTier::Disk).unwrap();
    assert_eq!(row.cells().first().unwrap().value(), b"xy");
    assert_eq!(row.cells().len(), 1, "no cell of the rejected mutation exists");
}

#[test]
fn reads_of_overlong_keys_return_nothing() {
    let sim = SimEnv::new(1);
    let engine = open(sim.env());
    put(&engine, "r", "v");
    let table = engine.table(&name()).unwrap();
    let long = "k".repeat(70_000);
    for get in [
        Get::new(long.clone()),
        Get::new("r").column("f", long.clone()),
        Get::new("r").family(long.clone()),
    ] {
        assert!(!panics(|| table.get(&get, ReadTier::Disk).map(drop)));
    }
    let filters = [Filter::Prefix(long.clone().into())];
    for filter in filters {
        for reverse in [false, true] {
            let mut scan = Scan::all().filter(filter.clone());
            scan.reverse = reverse;
            assert!(!panics(|| count(&table, scan).map(drop)));
        }
    }
    assert_eq!(count(&table, Scan::all().stop(long.clone())).unwrap(), 0, "k is before r");
    assert_eq!(count(&table, Scan::all().start(long.clone())).unwrap(), 1);
    assert_eq!(count(&table, Scan::all().start("z".repeat(70_000))).unwrap(), 0);
    for scan in [
        Scan::all().start(long.clone()),
        Scan::all().stop(long.clone()),
        Scan::all().column("f", long.clone()),
    ] {
        assert!(!panics(|| count(&table, scan).map(drop)));
    }
    assert_eq!(rows(&engine), 1);
}

#[test]
fn panic_with_row_lock_releases_row() {
    let sim = SimEnv::new(1);
    let trap = Trap::new(sim.env());
    let engine = open(trap.env());
    let region = region(&engine);
    let increment = || RowOp::Increment(Increment::new("r").add("f", "q", 1));
    one(&region, increment()).unwrap();
    trap.wall.store(true, Ordering::SeqCst);
    assert!(panics(|| one(&region, increment())));
    assert!(panics(|| region.try_apply_cached(&increment(), None).map(drop)));
    trap.wall.store(false, Ordering::SeqCst);
    one(&region, increment()).unwrap();
    assert!(region.try_apply_cached(&increment(), None).is_some());
    one(&region, RowOp::Put(Put::new("r").add("f", "p", "v"))).unwrap();
}

#[test]
fn panic_in_wal_write_fails_writers_but_no_reads() {
    let sim = SimEnv::new(1);
    let trap = Trap::new(sim.env());
    let engine = open(trap.env());
    put(&engine, "a", "v");
    let region = region(&engine);
    let waiting = region.apply(vec![RowOp::Put(Put::new("b").add("f", "q", "v"))]).ticket;
    trap.monotonic.store(true, Ordering::SeqCst);
    assert!(panics(|| waiting.wait()));
    trap.monotonic.store(false, Ordering::SeqCst);
    assert_eq!(waiting.wait().unwrap_err().kind(), ErrorKind::Stopped);
    let polled = pin!(waiting.clone()).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(_))));
    assert_eq!(one(&region, RowOp::Put(Put::new("c").add("f", "q", "v"))), Err(ErrorKind::Stopped));
    assert_eq!((rows(&engine), engine.health().panics), (1, 1));
    assert_eq!(engine.close().unwrap_err().kind(), ErrorKind::Stopped);
    sim.fs.kill();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    assert!(
        (1..=2).contains(&rows(&engine)),
        "acknowledged writes exist, and the rest completely or not at all"
    );
}

/// The writer that fills the log buffer writes it out while it holds the commit lock.
#[test]
fn panic_during_commit_hides_write_and_retires_sequence_id() {
    let sim = SimEnv::new(1);
    let trap = Trap::new(sim.env());
    let engine = open(trap.env());
    put(&engine, "a", "v");
    let region = region(&engine);
    let large = || {
        (0..3)
            .map(|i| RowOp::Put(Put::new(format!("large{i}")).add("f", "q", vec![7; 6 << 20])))
            .collect::<Vec<_>>()
    };
    trap.monotonic.store(true, Ordering::SeqCst);
    assert!(panics(|| region.apply(large()).results.len()));
    trap.monotonic.store(false, Ordering::SeqCst);
    assert_eq!(one(&region, RowOp::Put(Put::new("b").add("f", "q", "v"))), Err(ErrorKind::Stopped));
    assert_eq!(rows(&engine), 1);
    let health = engine.health();
    assert_eq!(
        (health.panics, health.last_panic.unwrap().message().contains("half-way")),
        (1, true)
    );
    drop((region, engine));
    sim.fs.kill();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    assert!([1, 4].contains(&rows(&engine)), "the change is applied completely or not at all");
    put(&engine, "b", "v");
}

#[test]
fn panic_in_flush_or_compaction_is_reported_and_retried() {
    let sim = SimEnv::new(1);
    let trap = Trap::new(sim.env());
    let engine = open(trap.env());
    for i in 0..4 {
        put(&engine, &format!("r{i}"), "v");
        engine.flush(&name()).unwrap();
    }
    region(&engine).request_compaction(None, halite_types::CompactionKind::Major).unwrap();
    trap.panicking_draws.store(1, Ordering::SeqCst);
    assert_eq!(engine.run_one_job().unwrap_err().kind(), ErrorKind::Stopped);
    let health = engine.health();
    assert_eq!((health.panics, health.last_panic), (1, engine.compaction_failure()));
    assert!(engine.compaction_failure().unwrap().message().contains("the random source failed"));
    region(&engine).request_compaction(None, halite_types::CompactionKind::Major).unwrap();
    assert!(engine.run_one_job().unwrap());
    assert!(engine.compaction_failure().is_none());
    assert_eq!(rows(&engine), 4);
    put(&engine, "r4", "v");
    trap.panicking_draws.store(1, Ordering::SeqCst);
    assert!(panics(|| engine.flush(&name())));
    put(&engine, "r5", "v");
    engine.flush(&name()).unwrap();
    assert_eq!(rows(&engine), 6);
}

/// With the engine's own threads: the writers of a full memstore wait for a flush that panics
/// first.
#[test]
fn waiting_writers_continue_after_flush_panics() {
    let directory = tempfile::tempdir().unwrap();
    let trap = Trap::new(Env::os(directory.path()).unwrap());
    let options = {
        let mut options = Options::default();
        options.memstore_flush_bytes = 64 << 10;
        options.memstore_block_multiplier = 2;
        options
    };
    let engine = Engine::open(trap.env(), options).unwrap();
    engine
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), Vec::new())
        .unwrap();
    let region = region(&engine);
    let put =
        |row: usize| RowOp::Put(Put::new(format!("r{row:03}")).add("f", "q", vec![7; 4 << 10]));
    // The first write begins a WAL segment, which draws random numbers as well.
    one(&region, put(0)).unwrap();
    trap.panicking_draws.store(2, Ordering::SeqCst);
    let mut written = 1;
    // A writer that is rejected after a failed flush retries, as clients do.
    while written < 200 {
        match one(&region, put(written)) {
            Ok(()) => written += 1,
            Err(kind) => assert_eq!(kind, ErrorKind::Busy),
        }
    }
    assert_eq!((rows(&engine), engine.health().panics), (200, 2));
    drop(region);
    engine.close().unwrap();
}
