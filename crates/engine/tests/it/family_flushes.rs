//! Flushes of some families of a region: by the table's policy, by name, for the log; and what a
//! crash leaves of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind::StorageFull;
use std::sync::Arc;

use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_engine::{Engine, Nonce, Options, Region};
use halite_types::key::to_string_binary;
use halite_types::{
    Bytes, CompactionKind, Delete, FamilyDescriptor, Get, Increment, Put, ReadTier, Result, RowOp,
    Scan, SnapshotDescriptor, TableDescriptor,
};

use crate::support::{apply, name, region};

const LOWER_BOUND: &str = "hbase.hregion.percolumnfamilyflush.size.lower.bound";
const FAMILIES: [&str; 3] = ["a", "b", "c"];

fn options() -> Options {
    let mut options = Options::default();
    options.wal_segment_bytes = 4096;
    options.memstore_chunk_bytes = 4096;
    options
}

/// Returns a table of three families that retain every cell.
fn table() -> TableDescriptor {
    FAMILIES.iter().fold(TableDescriptor::new(name()), |table, family| {
        let family = FamilyDescriptor::new(*family).versions(1000);
        table.family(family.set("KEEP_DELETED_CELLS", "TRUE").set("IN_MEMORY_COMPACTION", "NONE"))
    })
}

fn create(sim: &SimEnv, options: Options, table: TableDescriptor) -> Arc<Engine> {
    let engine = Engine::open(sim.env(), options).unwrap();
    engine.create_table(table, Vec::new()).unwrap();
    engine
}

fn put(row: &str, families: &[&'static str], value: &str) -> RowOp {
    let put =
        families.iter().fold(Put::new(row.to_owned()), |put, family| put.add(*family, "q", value));
    put.into()
}

fn flush(region: &Arc<Region>, families: &[&'static str]) -> Result<bool> {
    let families: Vec<Bytes> = families.iter().map(|family| Bytes::from(*family)).collect();
    region.flush_families(&families)
}

/// Keys of cells, their values, and how often each is found.
type Cells = BTreeMap<String, (String, usize)>;

/// Returns every stored cell except markers, which a compaction may drop, and every visible one.
fn stored(engine: &Engine) -> Result<Cells> {
    let mut cells = BTreeMap::new();
    for raw in [true, false] {
        let mut scan = Scan::all().all_versions();
        scan.raw = raw;
        let mut scanner = engine.table(&name())?.scan(scan, ReadTier::Disk);
        loop {
            let rows = scanner.next_rows()?;
            if rows.is_empty() {
                break;
            }
            for cell in rows.iter().flat_map(|row| row.iter()).filter(|cell| !cell.is_delete()) {
                let key = format!("raw: {raw} {}", to_string_binary(cell.key()));
                // Only the end of a long value differs from others.
                let value = cell.value();
                let end = to_string_binary(&value[value.len().saturating_sub(8)..]);
                let value = format!("{} bytes, ..{end}", value.len());
                cells.entry(key).or_insert((value, 0)).1 += 1;
            }
        }
    }
    Ok(cells)
}

fn values(engine: &Engine, row: &str) -> String {
    let row =
        engine.table(&name()).unwrap().get(&Get::new(row.to_owned()), ReadTier::Disk).unwrap();
    row.iter()
        .map(|cell| String::from_utf8_lossy(cell.value()).into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the number of files of each family.
fn files(engine: &Engine) -> [usize; 3] {
    let encoded = engine.regions(&name()).unwrap().remove(0).encoded_name;
    FAMILIES.map(|family| engine.store_files(&encoded, &[Bytes::from(family)]).unwrap().len())
}

fn run_jobs(engine: &Engine) {
    while engine.run_one_job().unwrap() {}
}

fn reopened(sim: &SimEnv) -> Arc<Engine> {
    sim.fs.drop_unsynced();
    Engine::open(sim.env(), options()).unwrap()
}

#[test]
fn named_families_are_flushed_and_others_replayed() {
    let sim = SimEnv::new(1);
    let engine = create(&sim, options(), table());
    apply(&engine, put("r", &["a", "b"], "one"));
    apply(&engine, put("s", &["b"], "two"));
    assert!(flush(&region(&engine), &["a", "c"]).unwrap());
    assert_eq!(files(&engine), [1, 0, 0]);
    assert!(!flush(&region(&engine), &["a"]).unwrap(), "there is nothing to write");
    assert!(flush(&region(&engine), &["x"]).unwrap_err().message().contains("no family x"));
    sim.clock.advance_ms(1);
    apply(&engine, put("r", &["a", "b", "c"], "three"));
    let before = stored(&engine).unwrap();
    drop(engine);
    let engine = reopened(&sim);
    assert_eq!(stored(&engine).unwrap(), before);
    assert!(before.values().all(|(_, count)| *count == 1), "each cell once");
    let load = region(&engine).load();
    assert_eq!((load.store_file_cells, load.flushed_sequence), (1, None));
    engine.flush(&name()).unwrap();
    assert_eq!(files(&engine), [2, 1, 1]);
    assert_eq!(region(&engine).load().store_file_cells, 6, "no cell is in two files");
    assert_eq!(region(&engine).load().flushed_sequence, Some(3));
    drop(engine);
    let engine = reopened(&sim);
    assert_eq!(stored(&engine).unwrap(), before);
    assert_eq!(engine.open_report().replayed_writes, 3, "the log has them, the region skips them");
    assert_eq!(region(&engine).load().memstore_bytes, 0);
    engine.close().unwrap();
}

#[test]
fn full_region_flushes_large_families_only() {
    let sim = SimEnv::new(1);
    let mut options = options();
    options.memstore_flush_bytes = 64 << 10;
    options.min_compaction_files = 10;
    let engine = create(&sim, options, table().set(LOWER_BOUND, 16 << 10));
    apply(&engine, put("small", &["b"], "b"));
    for row in 0..100 {
        apply(&engine, put(&format!("{row}"), &["a"], &"a".repeat(1000)));
        run_jobs(&engine);
    }
    let [a, b, c] = files(&engine);
    assert!(a > 0 && (b, c) == (0, 0), "{a} {b} {c}");
    // All families grow slowly: none is large when the region is full.
    let altered = table().set(LOWER_BOUND, 1 << 30);
    engine.alter_table(altered).unwrap();
    let before = files(&engine);
    for row in 0..100 {
        apply(&engine, put(&format!("{row}"), &FAMILIES, &"a".repeat(400)));
        run_jobs(&engine);
    }
    assert!((0..3).all(|family| files(&engine)[family] > before[family]));
    engine.close().unwrap();
}

#[test]
fn log_pressure_flushes_families_that_need_oldest_segment() {
    let sim = SimEnv::new(1);
    let mut options = options();
    options.memstore_flush_bytes = 64 << 10;
    options.max_wal_segments = 40;
    let engine = create(&sim, options, table().set(LOWER_BOUND, 8 << 10));
    // It is written once, and would retain the whole log.
    apply(&engine, put("small", &["b"], "b"));
    let segments =
        |sim: &SimEnv| sim.fs.files().keys().filter(|path| path.starts_with("halite/wal/")).count();
    let mut most = 0;
    for row in 0..400 {
        apply(&engine, put(&format!("{row}"), &["a"], &"a".repeat(1000)));
        run_jobs(&engine);
        most = most.max(segments(&sim));
        if files(&engine)[1] == 0 {
            assert!(segments(&sim) >= row / 4, "the segments with the cell of b stay");
        }
    }
    assert_eq!(files(&engine)[1..], [1, 0]);
    assert!((40..60).contains(&most), "{most}");
    let before = stored(&engine).unwrap();
    drop(engine);
    let engine = reopened(&sim);
    assert_eq!(stored(&engine).unwrap(), before);
    engine.close().unwrap();
}

#[test]
fn full_memory_is_freed_though_all_families_are_small() {
    let sim = SimEnv::new(1);
    let mut options = options();
    options.global_memstore_bytes = 64 << 10;
    let engine = Engine::open(sim.env(), options).unwrap();
    let splits = (1..10).map(|region| Bytes::from(region.to_string())).collect();
    // Neither a region nor a family becomes large.
    engine.create_table(table(), splits).unwrap();
    let mut most = 0;
    for row in 0..1000 {
        apply(&engine, put(&format!("{}{row}", row % 10), &FAMILIES, &"a".repeat(200)));
        run_jobs(&engine);
        let regions = engine.status().regions;
        most = most.max(regions.iter().map(|region| region.memstore_bytes).sum::<u64>());
    }
    assert!(most < 100 << 10, "{most} bytes are in memstores");
    engine.close().unwrap();
}

#[test]
fn memstore_of_failed_flush_waits_for_its_family() {
    for reopens in [false, true] {
        let sim = SimEnv::new(1);
        let engine = create(&sim, options(), table());
        apply(&engine, put("r", &FAMILIES, "one"));
        sim.fs.inject(InjectedFault::next(FsCall::Create, "/.tmp/", StorageFull));
        flush(&region(&engine), &["a"]).unwrap_err();
        apply(&engine, put("s", &FAMILIES, "two"));
        flush(&region(&engine), &["b"]).unwrap();
        assert_eq!(files(&engine), [0, 1, 0]);
        let before = stored(&engine).unwrap();
        let engine = if reopens {
            drop(engine);
            reopened(&sim)
        } else {
            engine
        };
        assert_eq!(stored(&engine).unwrap(), before);
        flush(&region(&engine), &["a"]).unwrap();
        assert_eq!(region(&engine).load().store_file_cells, 4);
        engine.close().unwrap();
        let engine = Engine::open(sim.env(), options()).unwrap();
        assert_eq!(stored(&engine).unwrap(), before);
        assert_eq!((files(&engine), region(&engine).load().store_file_cells), ([1, 1, 1], 6));
        engine.close().unwrap();
    }
}

#[test]
fn cells_of_dropped_family_do_not_return() {
    let sim = SimEnv::new(1);
    let engine = create(&sim, options(), table());
    apply(&engine, put("r", &["a", "b"], "old"));
    flush(&region(&engine), &["a"]).unwrap();
    let without_b = FAMILIES.iter().filter(|family| **family != "b");
    let without_b = without_b.fold(TableDescriptor::new(name()), |table, family| {
        table.family(FamilyDescriptor::new(*family))
    });
    engine.alter_table(without_b).unwrap();
    apply(&engine, put("s", &["c"], "new"));
    engine.alter_table(table()).unwrap();
    apply(&engine, put("t", &["a", "b"], "newest"));
    flush(&region(&engine), &["c", "a"]).unwrap();
    drop(engine);
    let engine = reopened(&sim);
    assert_eq!(["r", "s", "t"].map(|row| values(&engine, row)), ["old", "new", "newest newest"]);
    engine.close().unwrap();
}

#[test]
fn partly_flushed_region_is_split_merged_and_copied_whole() {
    let sim = SimEnv::new(1);
    let engine = create(&sim, options(), table());
    for row in ["1", "5"] {
        apply(&engine, put(row, &FAMILIES, "v"));
    }
    flush(&region(&engine), &["b"]).unwrap();
    engine.create_snapshot(&SnapshotDescriptor::new("s", name())).unwrap();
    assert_eq!(files(&engine), [1, 1, 1]);
    sim.clock.advance_ms(1);
    apply(&engine, put("5", &["c"], "w"));
    flush(&region(&engine), &["a", "c"]).unwrap();
    let before = stored(&engine).unwrap();
    assert_eq!(before.len(), 14, "stored and visible");
    let encoded = engine.regions(&name()).unwrap().remove(0).encoded_name;
    engine.split_region(&encoded, Some(Bytes::from("3"))).unwrap();
    let regions = engine.regions(&name()).unwrap();
    apply(&engine, put("1", &["a", "b"], "x"));
    flush(&region(&engine), &["b"]).unwrap();
    engine.merge_regions(&regions[0].encoded_name, &regions[1].encoded_name, false).unwrap();
    assert_eq!(stored(&engine).unwrap().len(), before.len() + 4);
    engine.clone_snapshot("s", &"copy".parse().unwrap()).unwrap();
    let copy = engine.table(&"copy".parse().unwrap()).unwrap();
    for row in ["1", "5"] {
        assert_eq!(copy.get(&Get::new(row), ReadTier::Disk).unwrap().len(), 3);
    }
    engine.close().unwrap();
}

/// Steps of a run that dies somewhere.
#[derive(Clone, Debug)]
enum Step {
    Write(RowOp),
    Flush(Vec<&'static str>),
    FlushAll,
    Compact,
    Job,
}

/// Performs the steps until one fails. `state` is called with the number of writes after each of
/// them.
fn perform(
    sim: &SimEnv,
    engine: &Engine,
    steps: &[Step],
    mut written: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    let mut writes = 0;
    for step in steps {
        sim.clock.advance_ms(1);
        let region = engine.table(&name())?.region_for_row(b"")?;
        match step {
            Step::Write(op) => {
                writes += 1;
                let nonce = Nonce { group: 1, number: writes as u64 };
                let applied = region.apply_with_nonce(op.clone(), Some(nonce));
                applied.results.into_iter().try_for_each(|result| result.map(drop))?;
                applied.ticket.wait()?;
                written(writes)?;
            }
            Step::Flush(families) => drop(flush(&region, families)?),
            Step::FlushAll => drop(region.flush()?),
            Step::Compact => drop(region.compact(None, CompactionKind::Minor)?),
            Step::Job => drop(engine.run_one_job()?),
        }
    }
    Ok(())
}

/// Run without a crash.
struct CleanRun {
    sequence: Vec<Step>,
    seed: u64,
    table: TableDescriptor,
    /// Numbers of the writes that have nonces.
    nonces: Vec<u64>,
    /// Stored cells after 0, 1, 2, ... writes.
    states: Vec<Cells>,
    calls: std::ops::Range<u64>,
    flushes: u64,
}

impl CleanRun {
    fn new(steps: Vec<Step>, seed: u64, table: TableDescriptor) -> Self {
        let sim = SimEnv::new(seed);
        let engine = create(&sim, crash_options(), table.clone());
        let from = sim.fs.calls();
        let mut states = vec![Cells::new()];
        perform(&sim, &engine, &steps, |_| {
            states.push(stored(&engine)?);
            Ok(())
        })
        .unwrap();
        assert!(states.iter().flat_map(BTreeMap::values).all(|(_, count)| *count == 1));
        let writes = steps.iter().filter(|step| matches!(step, Step::Write(_))).zip(1..);
        let has_nonce = |step: &Step| matches!(step, Step::Write(RowOp::Increment(_)));
        let nonces = writes.filter(|(step, _)| has_nonce(step)).map(|(_, number)| number).collect();
        let flushes = engine.status().regions[0].flushes;
        Self { sequence: steps, seed, table, nonces, states, calls: from..sim.fs.calls(), flushes }
    }

    /// Lets the machine lose power at a call, and checks what the next start finds: every
    /// acknowledged write, and the next one or not, once and whole; and their nonces.
    fn check_power_loss(&self, call: u64) {
        let at = format!("seed {}, call {call}", self.seed);
        let sim = SimEnv::new(self.seed);
        let engine = create(&sim, crash_options(), self.table.clone());
        sim.fs.crash_at_call(call);
        let mut acknowledged = 0;
        let done = perform(&sim, &engine, &self.sequence, |writes| {
            acknowledged = writes;
            Ok(())
        });
        drop(engine);
        if call.is_multiple_of(2) {
            sim.fs.crash(self.seed ^ call);
        } else {
            sim.fs.drop_unsynced();
        }
        let engine = Engine::open(sim.env(), crash_options())
            .unwrap_or_else(|error| panic!("{at}: {error}"));
        let found = stored(&engine).unwrap();
        let may_survive = acknowledged..=(acknowledged + 1).min(self.states.len() - 1);
        let survived = may_survive.clone().find(|writes| self.states[*writes] == found);
        let survived = survived.unwrap_or_else(|| {
            let last = &self.states[*may_survive.start()];
            let missing: Vec<_> = last.iter().filter(|(key, _)| !found.contains_key(*key)).collect();
            let more: Vec<_> = found.iter().filter(|(key, value)| last.get(*key) != Some(*value)).collect();
            panic!("{at} ({done:?}): {may_survive:?} writes may survive; of the last state {missing:?} are missing, and there is {more:?}")
        }) as u64;
        let nonces: BTreeSet<u64> =
            engine.take_replayed_nonces().iter().map(|nonce| nonce.number).collect();
        let expected: BTreeSet<u64> =
            self.nonces.iter().copied().filter(|number| *number <= survived).collect();
        assert_eq!(nonces, expected, "{at}: of {survived} writes");
        engine.close().unwrap();
        let engine = Engine::open(sim.env(), crash_options()).unwrap();
        assert_eq!(stored(&engine).unwrap(), found, "{at}: after a clean close");
        engine.close().unwrap();
    }
}

/// Returns options with which a write never waits for memory.
fn crash_options() -> Options {
    let mut options = options();
    options.memstore_flush_bytes = 16 << 10;
    options.memstore_block_multiplier = 1000;
    options.min_compaction_files = 2;
    options
}

#[test]
fn power_loss_at_any_call_keeps_whole_writes_once() {
    let add = |amount| Step::Write(Increment::new("n").add("b", "n", amount).into());
    let steps = vec![
        Step::Write(put("r", &["a", "b"], "1")),
        add(5),
        Step::Flush(vec!["a"]),
        Step::Write(put("r", &FAMILIES, "2")),
        add(7),
        Step::Flush(vec!["c", "b"]),
        Step::Write(Delete::new("r").into()),
        Step::Write(put("r", &["b"], &"3".repeat(3000))),
        Step::Flush(vec!["a", "b"]),
        add(1),
        Step::Write(Delete::new("n").family("b").into()),
        add(2),
        Step::Write(put("s", &["a", "c"], &"4".repeat(3000))),
        Step::Flush(vec!["c"]),
        Step::Compact,
        Step::Write(put("s", &FAMILIES, "5")),
        Step::FlushAll,
        Step::Write(put("s", &["c", "a"], "6")),
        Step::Flush(vec!["a"]),
    ];
    let clean = CleanRun::new(steps, 1, table());
    assert!(clean.flushes == 6 && clean.calls.end - clean.calls.start > 100, "{:?}", clean.calls);
    clean.calls.clone().for_each(|call| clean.check_power_loss(call));
}

/// Returns a random number below `below`, and advances the state.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

fn random_steps(seed: u64) -> Vec<Step> {
    let mut state = seed;
    let mut steps = Vec::new();
    for number in 0..60 {
        let mut below = |below| random(&mut state, below);
        let row = format!("{}", below(3));
        let chosen = 1 + below(7);
        let families: Vec<&'static str> =
            (0..3).filter(|bit| chosen >> bit & 1 == 1).map(|bit| FAMILIES[bit]).collect();
        let size = if below(4) == 0 { 4000 } else { 10 };
        steps.push(match below(20) {
            0..9 => Step::Write(put(&row, &families, &format!("{number:size$}"))),
            9..12 => Step::Write(Increment::new(row).add(families[0], "n", number).into()),
            12 => Step::Write(Delete::new(row).into()),
            13 => Step::Write(Delete::new(row).family(families[0]).into()),
            14..16 => Step::Flush(families),
            16 => Step::FlushAll,
            17 => Step::Compact,
            _ => Step::Job,
        });
    }
    steps
}

#[test]
fn random_flushes_and_power_losses_keep_whole_writes_once() {
    let mut flushes = 0;
    for seed in 0..60 {
        // The policy flushes families in some of the jobs.
        let clean = CleanRun::new(random_steps(seed), seed, table().set(LOWER_BOUND, 6 << 10));
        flushes += clean.flushes;
        let mut state = seed ^ 0xbad;
        for _ in 0..5 {
            let calls = clean.calls.end - clean.calls.start;
            clean.check_power_loss(clean.calls.start + random(&mut state, calls));
        }
    }
    assert!(flushes > 300, "{flushes} flushes");
}
