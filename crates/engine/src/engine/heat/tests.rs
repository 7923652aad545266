//! Recording of the load of a store whose clock the tests advance.

use halite_heat::{BASE_MS, HeatMap, HeatQuery, Metric, PrefixLevel, Shape};
use halite_types::{
    Bytes, Delete, ErrorKind, FamilyDescriptor, Get, Put, ReadTier, RowOp, Scan, TableDescriptor,
    TableName,
};

use crate::env::Clock as _;
use crate::env::os::OsClock;
use crate::env::sim::{FsCall, InjectedFault, SimEnv};
use crate::options::HeatLevel;
use crate::{Engine, EventFilter, EventKind, Options};

const COLUMN_MS: u32 = 10_000;
/// Time at which the simulated clock begins.
const START_MS: i64 = 1_000_000_000_000;

fn name() -> TableName {
    "t".parse().unwrap()
}

fn open(sim: &SimEnv, heat_level: HeatLevel) -> std::sync::Arc<Engine> {
    Engine::open(sim.env(), Options { heat_level, ..Options::default() }).unwrap()
}

fn engine_with_table(sim: &SimEnv, heat_level: HeatLevel) -> std::sync::Arc<Engine> {
    let engine = open(sim, heat_level);
    let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
    engine.create_table(table, vec![Bytes::from("m")]).unwrap();
    engine.record_heat();
    engine
}

fn put(engine: &Engine, row: &str) {
    let put = Put::new(row.to_owned()).add("f", "q", "value");
    drop(engine.table(&name()).unwrap().batch(vec![RowOp::Put(put)]).unwrap());
}

fn tick(sim: &SimEnv, engine: &Engine) {
    sim.clock.advance_ms(COLUMN_MS);
    engine.record_heat();
    assert_eq!(engine.heat_failure(), None);
}

fn map(engine: &Engine, metric: Metric) -> HeatMap {
    let query = HeatQuery {
        from_ms: START_MS - 4_000_000,
        to_ms: START_MS + 1_000_000,
        metric,
        start: Box::default(),
        end: None,
        max_rows: 1024,
        max_columns: 1024,
    };
    engine.heat_map(&name(), &query).unwrap()
}

/// Amount of each metric in the whole map.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are small and not negative"
)]
fn total(engine: &Engine, metric: Metric) -> u64 {
    let map = map(engine, metric);
    let seconds = f64::from(i32::try_from(map.column_ms).unwrap()) / 1000.0;
    map.mean.iter().map(|mean| f64::from(*mean) * seconds).sum::<f64>().round() as u64
}

#[test]
fn first_write_of_new_table_is_in_first_column() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    put(&engine, "a");
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Writes), 1);
    let newest = map(&engine, Metric::Writes);
    assert!(newest.bounds.iter().any(|bound| **bound == b"m"[..]), "{:?}", newest.bounds);
    let times = (i64::MIN, i64::MAX);
    let (rows, requests) = engine.hot_rows(&name(), times, 9).unwrap();
    assert_eq!((rows[0].row.as_slice(), rows[0].count, requests), (&b"a"[..], 1, 1));
}

#[test]
fn gets_scans_and_deletes_are_counted() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    (0..20).for_each(|row| put(&engine, &format!("row{row:02}")));
    let table = engine.table(&name()).unwrap();
    table.get(&Get::new("row03"), ReadTier::Disk).unwrap();
    assert!(table.get(&Get::new("none"), ReadTier::Disk).unwrap().is_empty());
    let mut scanner = table.scan(Scan::all(), ReadTier::Disk);
    while !scanner.next_rows().unwrap().is_empty() {}
    drop(scanner);
    let delete = RowOp::Delete(Delete::new("row05"));
    drop(table.batch(vec![delete]).unwrap());
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Writes), 21);
    assert_eq!(total(&engine, Metric::Deletes), 1);
    assert_eq!(total(&engine, Metric::Reads), 22);
    assert_eq!(total(&engine, Metric::RowsExamined), 22);
    assert!(total(&engine, Metric::BytesRead) > 400);
}

#[test]
fn regions_have_durations_and_rows() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    (0..20).for_each(|row| put(&engine, &format!("row{row:02}")));
    put(&engine, "row03");
    let table = engine.table(&name()).unwrap();
    table.get(&Get::new("row03"), ReadTier::Disk).unwrap();
    let loads = || {
        let regions = engine.status().regions.into_iter();
        regions.filter(|load| load.region.table == name()).collect::<Vec<_>>()
    };
    let count = |of: fn(&halite_types::RegionLoad) -> u64| loads().iter().map(of).sum::<u64>();
    assert_eq!(count(|load| load.rows.unwrap()), 20);
    assert_eq!(count(|load| load.read_latencies.count()), 1);
    assert_eq!(count(|load| load.write_latencies.count()), 21);
    // The operations of a batch end together; those that are timed count when they begin.
    let increments = (0..1000).map(|_| halite_types::Increment::new("n").add("f", "q", 1).into());
    drop(table.batch(increments.collect()).unwrap());
    let timed = count(|load| load.write_latencies.count());
    assert!((512..700).contains(&timed), "one of eight after the first 512: {timed}");
    engine.flush(&name()).unwrap();
    // The file knows its rows by its bloom filter; the row of the memstore is one of them.
    put(&engine, "row05");
    assert_eq!(count(|load| load.rows.unwrap()), 22);
    (0..7).for_each(|_| tick(&sim, &engine));
    assert_eq!(count(|load| load.write_latencies.count()), 0, "older than a minute");
}

#[test]
fn frequent_prefixes_are_counted() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    (0..30).for_each(|row| {
        put(&engine, &format!("{}{row:02}", if row < 20 { "user" } else { "item" }));
    });
    tick(&sim, &engine);
    let times = (i64::MIN, i64::MAX);
    let (rows, requests) = engine.hot_prefixes(&name(), PrefixLevel::Bytes(4), times, 9).unwrap();
    let counts: Vec<_> =
        rows.iter().map(|row| (row.row.as_slice(), row.count, row.error)).collect();
    assert_eq!(counts, [(&b"user"[..], 20, 0), (&b"item"[..], 10, 0)]);
    assert_eq!(requests, 30);
    assert_eq!(engine.prefix_levels(&name(), times).unwrap(), [PrefixLevel::Bytes(4)]);
    assert_eq!(engine.sampled_keys(&name(), times).unwrap().len(), 30);
    assert_eq!(engine.window_skew(&name(), times).unwrap(), Some(4.0 / 3.0));
}

#[test]
fn scan_in_progress_is_counted() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    (0..20).for_each(|row| put(&engine, &format!("row{row:02}")));
    tick(&sim, &engine);
    let table = engine.table(&name()).unwrap();
    let mut scanner = table.scan(Scan::all(), ReadTier::Disk);
    let rows = scanner.next_rows().unwrap().len();
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Reads), rows as u64, "the scanner is still open");
}

#[test]
fn load_is_attributed_to_its_rows() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    for _ in 0..4 {
        (0..500).for_each(|row| {
            put(&engine, &format!("{}{row:04}", if row % 5 == 0 { 'a' } else { 'x' }));
        });
        tick(&sim, &engine);
    }
    let map = map(&engine, Metric::Writes);
    let (mut low, mut high) = (0.0, 0.0);
    for (row, bound) in map.bounds.iter().enumerate() {
        let sum: f32 = map.mean[row * map.columns..(row + 1) * map.columns].iter().sum();
        if **bound < b"m"[..] { low += sum } else { high += sum }
    }
    assert!((high / low - 4.0).abs() < 0.01, "{low} {high}");
    assert!(map.bounds.len() > 20, "sub-ranges are found: {}", map.bounds.len());
}

#[test]
fn history_outlives_process() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    for _ in 0..7 {
        put(&engine, "a");
        tick(&sim, &engine);
    }
    let before = map(&engine, Metric::Writes);
    engine.close().unwrap();
    let engine = open(&sim, HeatLevel::Sub);
    engine.record_heat();
    let after = map(&engine, Metric::Writes);
    assert_eq!(after.bounds, before.bounds);
    assert!(after.mean == before.mean, "the amounts differ");
    assert_eq!(engine.heat_failure(), None);
    // The time without a process is a gap.
    sim.clock.advance_ms(3 * COLUMN_MS);
    engine.close().unwrap();
    let engine = open(&sim, HeatLevel::Sub);
    engine.record_heat();
    put(&engine, "b");
    tick(&sim, &engine);
    let map = map(&engine, Metric::Writes);
    assert!(map.gaps.iter().any(|gap| gap.len() >= 2), "{:?}", map.gaps);
    assert_eq!(total(&engine, Metric::Writes), 8);
}

#[test]
fn crash_loses_at_most_newest_columns() {
    for seed in 0..20 {
        let sim = SimEnv::new(seed);
        let engine = engine_with_table(&sim, HeatLevel::Sub);
        for _ in 0..7 {
            put(&engine, "a");
            tick(&sim, &engine);
        }
        sim.fs.kill();
        drop(engine);
        let engine = open(&sim, HeatLevel::Sub);
        engine.record_heat();
        assert!(total(&engine, Metric::Writes) <= 7);
        assert_eq!(engine.heat_failure(), None);
        put(&engine, "b");
        tick(&sim, &engine);
        assert!(total(&engine, Metric::Writes) >= 1);
    }
}

#[test]
fn table_of_history_is_hidden() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    tick(&sim, &engine);
    assert_eq!(engine.descriptors().len(), 1);
    assert_eq!(engine.status().regions.len(), 2);
    assert!(engine.namespaces().iter().all(|(name, _)| name != "halite"));
}

#[test]
fn dropped_table_has_no_history() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    put(&engine, "a");
    tick(&sim, &engine);
    engine.disable_table(&name()).unwrap();
    engine.drop_table(&name()).unwrap();
    tick(&sim, &engine);
    let query = HeatQuery {
        from_ms: 0,
        to_ms: 1,
        metric: Metric::Reads,
        start: Box::default(),
        end: None,
        max_rows: 1,
        max_columns: 1,
    };
    assert!(engine.heat_map(&name(), &query).is_err());
}

/// The load of a region between the last column and its end was in no column.
#[test]
fn load_of_replaced_regions_is_in_the_next_column() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    let region_of = |row: &str| {
        let region = engine.table(&name()).unwrap().region_for_row(row.as_bytes()).unwrap();
        region.info().encoded_name.clone()
    };
    (0..30).for_each(|row| put(&engine, &format!("a{row:02}")));
    (0..10).for_each(|row| put(&engine, &format!("x{row:02}")));
    engine.split_region(&region_of("a"), Some(Bytes::from("a10"))).unwrap();
    put(&engine, "a05");
    engine.split_region(&region_of("a10"), Some(Bytes::from("a20"))).unwrap();
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Writes), 41);
    let (rows, requests) = engine.hot_rows(&name(), (i64::MIN, i64::MAX), 1).unwrap();
    assert_eq!((rows[0].row.as_slice(), rows[0].count, requests), (&b"a05"[..], 2, 41));
    assert_eq!(engine.sampled_keys(&name(), (i64::MIN, i64::MAX)).unwrap().len(), 41);

    (0..5).for_each(|row| put(&engine, &format!("a{row:02}")));
    engine.merge_regions(&region_of("a00"), &region_of("a10"), false).unwrap();
    engine.truncate_region(&region_of("x")).unwrap();
    put(&engine, "x");
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Writes), 47);

    put(&engine, "a");
    engine.disable_table(&name()).unwrap();
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Writes), 48);
    engine.enable_table(&name()).unwrap();
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Writes), 48);
}

/// A table that was created with the name of a dropped one, before the next column, had its
/// history.
#[test]
fn new_table_has_no_history_of_a_dropped_one() {
    for (is_recorded, is_killed) in [(false, false), (true, false), (false, true), (true, true)] {
        let sim = SimEnv::new(1);
        let mut engine = engine_with_table(&sim, HeatLevel::Sub);
        for _ in 0..7 {
            put(&engine, "old");
            tick(&sim, &engine);
        }
        put(&engine, "old");
        engine.disable_table(&name()).unwrap();
        engine.drop_table(&name()).unwrap();
        let table = TableDescriptor::new(name()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, Vec::new()).unwrap();
        assert_eq!(total(&engine, Metric::Writes), 0);
        put(&engine, "new");
        if is_recorded {
            tick(&sim, &engine);
        }
        if is_killed {
            sim.fs.kill();
            drop(engine);
        } else {
            engine.close().unwrap();
        }
        engine = open(&sim, HeatLevel::Sub);
        engine.record_heat();
        let found = total(&engine, Metric::Writes);
        assert!(found <= u64::from(is_recorded), "{found}, {is_recorded}, {is_killed}");
        put(&engine, "new");
        tick(&sim, &engine);
        assert!((1..=2).contains(&total(&engine, Metric::Writes)));
    }
}

/// Columns of a table that was dropped in the last seconds of a process stayed, for a table that
/// was created with its name by the next one.
#[test]
fn columns_of_a_dropped_table_are_deleted_by_the_next_process() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    put(&engine, "a");
    tick(&sim, &engine);
    engine.disable_table(&name()).unwrap();
    // Without the deletion before it, as if that had failed.
    engine.drop_locked(&name()).unwrap();
    drop(engine);
    sim.fs.kill();
    let engine = open(&sim, HeatLevel::Sub);
    engine.record_heat();
    tick(&sim, &engine);
    let mut stored = Vec::new();
    engine.stored_columns(|table, _, _| stored.push(table.clone())).unwrap();
    assert!(!stored.contains(&name()), "{stored:?}");
}

#[test]
fn level_off_records_nothing_and_says_so() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Off);
    put(&engine, "a");
    tick(&sim, &engine);
    let error = engine.hot_rows(&name(), (0, i64::MAX), 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("heat_level"), "{error}");
}

#[test]
fn level_region_has_exact_load_of_regions() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Region);
    (0..100).for_each(|row| put(&engine, &format!("z{row}")));
    tick(&sim, &engine);
    let map = map(&engine, Metric::Writes);
    assert_eq!(map.bounds.len(), 2);
    assert_eq!(total(&engine, Metric::Writes), 100);
}

/// The recorder was late by almost a column: none of the two is shown without load.
#[test]
fn late_column_takes_the_time_of_its_load() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    let second = |engine: &Engine| {
        put(engine, "a");
        sim.clock.advance_ms(1000);
    };
    (0..10).for_each(|_| second(&engine));
    engine.record_heat();
    (0..19).for_each(|_| second(&engine));
    engine.record_heat();
    second(&engine);
    engine.record_heat();
    (0..10).for_each(|_| second(&engine));
    engine.record_heat();
    let query = HeatQuery {
        from_ms: START_MS,
        to_ms: START_MS + 40_000,
        metric: Metric::Writes,
        start: Box::default(),
        end: None,
        max_rows: 1,
        max_columns: 4,
    };
    let map = engine.heat_map(&name(), &query).unwrap();
    assert_eq!((&map.mean, &map.max), (&vec![1.0; 4], &vec![1.0; 4]));
    assert!(map.gaps.is_empty());
}

/// Tables of thousands of regions take seconds to create, and the recorder needs a table, too.
#[test]
fn recorder_does_not_wait_for_changes_of_tables() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    let other: TableName = "other".parse().unwrap();
    let table = TableDescriptor::new(other.clone()).family(FamilyDescriptor::new("f"));
    engine.create_table(table, Vec::new()).unwrap();
    let change = engine.lock_ddl().unwrap();
    let has_ended = std::thread::scope(|scope| {
        let ticks = scope.spawn(|| {
            for row in ["a", "b"] {
                put(&engine, row);
                let put = Put::new(row).add("f", "q", "value");
                engine.table(&other).unwrap().batch(vec![RowOp::Put(put)]).unwrap();
                tick(&sim, &engine);
            }
        });
        let clock = OsClock::default();
        while !ticks.is_finished() && clock.monotonic_ns() < 120_000_000_000 {
            std::thread::yield_now();
        }
        let has_ended = ticks.is_finished();
        drop(change);
        ticks.join().unwrap();
        has_ended
    });
    assert!(has_ended);
    assert_eq!(total(&engine, Metric::Writes), 2);
    // What waits of a table that is dropped is not stored.
    engine.disable_table(&other).unwrap();
    engine.drop_table(&other).unwrap();
    put(&engine, "c");
    tick(&sim, &engine);
    let stored = engine.heat_table().unwrap().unwrap();
    let mut scanner = stored.scan(Scan::prefix("other"), ReadTier::Disk);
    assert!(scanner.next_rows().unwrap().is_empty());
    drop((scanner, stored));
    engine.close().unwrap();
    let engine = open(&sim, HeatLevel::Sub);
    engine.record_heat();
    assert_eq!(total(&engine, Metric::Writes), 3);
}

#[test]
fn clock_set_back_keeps_recording() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    put(&engine, "a");
    tick(&sim, &engine);
    sim.clock.jump_ms(-3_600_000);
    engine.record_heat();
    put(&engine, "b");
    tick(&sim, &engine);
    assert_eq!(total(&engine, Metric::Writes), 2);
}

#[test]
fn shape_of_load_is_named() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    for column in 0..6 {
        (0..400).for_each(|row| put(&engine, &format!("n{:06}", column * 400 + row)));
        tick(&sim, &engine);
    }
    let finding = engine.diagnose_load(&name(), (0, i64::MAX), None).unwrap();
    assert_eq!(finding.shape, Shape::Frontier, "{finding:?}");
    assert_eq!(BASE_MS, i64::from(COLUMN_MS));
}

#[test]
fn events_are_recorded_and_survive_restart() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    put(&engine, "a");
    let region = engine.table(&name()).unwrap().region_for_row(b"a").unwrap();
    region.flush().unwrap();
    let split_at = Bytes::from("b");
    engine.split_region(&region.info().encoded_name, Some(split_at.clone())).unwrap();
    let marked = engine.mark_deploy(Some(&name()), "release 2").unwrap();
    assert!(engine.mark_deploy(Some(&"nope".parse().unwrap()), "release 2").is_err());
    tick(&sim, &engine);
    let kinds = |engine: &Engine, filter: &EventFilter| {
        engine.events(filter, 100).iter().map(|event| event.kind.name()).collect::<Vec<_>>()
    };
    let of_table = EventFilter { table: Some(name()), ..EventFilter::default() };
    assert_eq!(kinds(&engine, &of_table), ["deploy", "split", "flush", "schema"]);
    let before = engine.events(&of_table, 100);
    assert_eq!((before[0].time_ms, before[0].text.as_str()), (marked, "release 2"));
    assert_eq!(before[1].key, Some(split_at));
    assert_eq!(before[1].region, Some(region.info().encoded_name.clone()));
    assert!(before[2].bytes > Some(0) && before[2].duration_ms.is_some());
    drop(region);
    engine.close().unwrap();
    sim.clock.advance_ms(60_000);

    let engine = open(&sim, HeatLevel::Sub);
    engine.record_heat();
    let known = engine.events(&of_table, 100);
    assert_eq!(known[known.len() - before.len()..], before);
    let all = EventFilter::default();
    let restarts = kinds(&engine, &all).into_iter().filter(|kind| *kind == "restart").count();
    assert_eq!(restarts, 2);
    assert!(engine.events(&all, 100).is_sorted_by(|a, b| a.number > b.number));
    // The last page has what the first has not.
    let first = engine.events(&all, 2);
    let rest = EventFilter { before: Some(first[1].number), ..all.clone() };
    assert_eq!([first, engine.events(&rest, 100)].concat(), engine.events(&all, 100));
}

/// Events have numbers of their time, and those of a process whose clock was set back had numbers
/// below the stored ones: they were taken for stored, and lost at the next start.
#[test]
fn events_of_a_clock_that_was_set_back_are_stored() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    put(&engine, "a");
    tick(&sim, &engine);
    engine.close().unwrap();
    sim.clock.jump_ms(-3_600_000);
    let engine = open(&sim, HeatLevel::Sub);
    engine.mark_deploy(None, "before the first column").unwrap();
    put(&engine, "b");
    tick(&sim, &engine);
    engine.mark_deploy(None, "after it").unwrap();
    tick(&sim, &engine);
    let known = engine.events(&EventFilter::default(), 100);
    engine.close().unwrap();

    let engine = open(&sim, HeatLevel::Sub);
    engine.record_heat();
    let found = engine.events(&EventFilter::default(), 100);
    let texts: Vec<&str> = found.iter().map(|event| event.text.as_str()).collect();
    assert_eq!(found[1..], known, "{texts:?}");
    assert!(texts.contains(&"before the first column") && texts.contains(&"after it"), "{texts:?}");
    assert!(found.is_sorted_by(|a, b| a.number > b.number));
}

#[test]
fn flush_that_fails_again_is_one_event_a_minute() {
    let sim = SimEnv::new(1);
    let engine = engine_with_table(&sim, HeatLevel::Sub);
    put(&engine, "a");
    let region = engine.table(&name()).unwrap().region_for_row(b"a").unwrap();
    for _ in 0..2 {
        sim.fs.inject(InjectedFault::next(FsCall::Create, "data", std::io::ErrorKind::Other));
        engine.shared.scheduler.request_flush(&region);
        assert!(engine.run_one_job().is_err());
    }
    let errors = EventFilter { kinds: vec![EventKind::Error], ..EventFilter::default() };
    let found = engine.events(&errors, 10);
    assert_eq!(found.len(), 1, "{found:?}");
    sim.clock.advance_ms(60_000);
    sim.fs.inject(InjectedFault::next(FsCall::Create, "data", std::io::ErrorKind::Other));
    engine.shared.scheduler.request_flush(&region);
    assert!(engine.run_one_job().is_err());
    assert_eq!(engine.events(&errors, 10).len(), 2);
    assert_eq!(found[0].region, Some(region.info().encoded_name.clone()));
    assert!(found[0].text.starts_with("flushing region "), "{}", found[0].text);
}
