//! Gets of named columns, which skip files that newer cells make unnecessary: they return the same
//! as a scan of the row.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::scan::{MAX_MEMORY_BYTES, MAX_MEMORY_CELLS, ReadStats, ScanLimits};
use halite_engine::{Engine, Options};
use halite_types::{
    CompactionKind, Comparator, CompareOp, Delete, ErrorKind, FamilyDescriptor, Filter, Get, Put,
    ReadTier, Row, RowOp, Scan, TableDescriptor, TimeRange,
};
use proptest::prelude::*;

use crate::support::{apply, engine, format_row, name, region};

/// Runs a get; returns its row and its read statistics.
fn get(engine: &Engine, get: &Get) -> (Row, Arc<ReadStats>) {
    let trace = Arc::new(ReadStats::default());
    (region(engine).get(get, ReadTier::Disk, &trace).unwrap(), trace)
}

/// Returns the row's values, the number of files read, and the number of files skipped.
fn format_get(engine: &Engine, wanted: &Get) -> (String, u64, u64) {
    let (row, trace) = get(engine, wanted);
    assert_eq!(
        trace.files_read() == 0,
        trace.blocks_read() + trace.blocks_cached() == 0,
        "{trace:?}"
    );
    (format_row(&row), trace.files_read(), trace.files_not_reached())
}

fn flush(engine: &Engine) {
    region(engine).flush().unwrap();
}

/// Returns an engine with three files that contain `f:a` and `f:b` of row `r`, each newer than the
/// one before; bloom filters would not exclude any of them.
fn three_files() -> Arc<Engine> {
    let mut options = Options::default();
    options.block_cache_bytes = 0;
    let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
    let family = FamilyDescriptor::new("f").versions(3).set("BLOOMFILTER", "NONE");
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    for round in 1..=3 {
        apply(
            &engine,
            RowOp::Put(Put::new("r").add_at("f", "a", round * 10, format!("a{round}")).add_at(
                "f",
                "b",
                round * 10,
                format!("b{round}"),
            )),
        );
        flush(&engine);
    }
    engine
}

#[test]
fn get_reads_only_needed_files() {
    let engine = three_files();
    let of = |column: &'static str| Get::new("r").column("f", column);
    assert_eq!(format_get(&engine, &of("a")), ("r=a3".into(), 1, 2));
    assert_eq!(format_get(&engine, &of("b")), ("r=b3".into(), 1, 2));
    assert_eq!(format_get(&engine, &of("a").column("f", "b")), ("r=a3,b3".into(), 1, 2));
    assert_eq!(format_get(&engine, &of("a").versions(2)), ("r=a3,a2".into(), 2, 1));
    assert_eq!(format_get(&engine, &of("a").versions(3)), ("r=a3,a2,a1".into(), 3, 0));
    // A missing column requires all files, and so does a whole family.
    assert_eq!(format_get(&engine, &of("c")), ("=".into(), 3, 0));
    assert_eq!(format_get(&engine, &Get::new("r").family("f")), ("r=a3,b3".into(), 3, 0));
    // The memstore contains all requested cells.
    apply(&engine, RowOp::Put(Put::new("r").add_at("f", "a", 40, "a4")));
    assert_eq!(format_get(&engine, &of("a")), ("r=a4".into(), 0, 3));
    assert_eq!(format_get(&engine, &of("a").column("f", "b")), ("r=a4,b3".into(), 1, 2));
}

#[test]
fn files_that_may_hide_newer_cells_are_read() {
    let engine = three_files();
    let of = |column: &'static str| Get::new("r").column("f", column);
    // Written last, but of a time the files reach.
    apply(&engine, RowOp::Put(Put::new("r").add_at("f", "a", 25, "late")));
    assert_eq!(format_get(&engine, &of("a")), ("r=a3".into(), 1, 2));
    apply(&engine, RowOp::Delete(Delete::new("r").column_up_to("f", "a", 30)));
    assert_eq!(format_get(&engine, &of("a")).0, "=");
    flush(&engine);
    // The marker's file has the time of the marker.
    apply(&engine, RowOp::Put(Put::new("r").add_at("f", "a", 30, "hidden")));
    assert_eq!(format_get(&engine, &of("a")).0, "=");
    apply(&engine, RowOp::Put(Put::new("r").add_at("f", "a", 31, "seen")));
    assert_eq!(format_get(&engine, &of("a")), ("r=seen".into(), 0, 4));
    // A file with a marker for the family is always read.
    apply(&engine, RowOp::Delete(Delete::new("r").family_up_to("f", 50)));
    flush(&engine);
    apply(&engine, RowOp::Put(Put::new("r").add_at("f", "a", 49, "hidden")));
    assert_eq!(format_get(&engine, &of("a")).0, "=");
    apply(&engine, RowOp::Put(Put::new("r").add_at("f", "a", 51, "seen")));
    assert_eq!(format_get(&engine, &of("a")), ("r=seen".into(), 1, 4));
}

#[test]
fn memory_only_read_succeeds_despite_uncached_files() {
    let engine = three_files();
    apply(&engine, RowOp::Put(Put::new("r").add_at("f", "a", 40, "a4")));
    let read = |wanted: &Get| region(&engine).get(wanted, ReadTier::Memory, &Arc::default());
    assert_eq!(format_row(&read(&Get::new("r").column("f", "a")).unwrap()), "r=a4");
    assert_eq!(read(&Get::new("r").column("f", "b")).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn memory_only_read_does_not_return_long_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    let of_family = |row: &'static str, family: &'static str, cells: u64| {
        let put =
            (0..cells).fold(Put::new(row), |put, at| put.add(family, format!("{at:06}"), "v"));
        apply(&engine, RowOp::Put(put));
    };
    of_family("short", "f", MAX_MEMORY_CELLS / 2);
    of_family("short", "g", MAX_MEMORY_CELLS / 2);
    of_family("long", "f", MAX_MEMORY_CELLS);
    of_family("long", "g", 1);
    of_family("deleted", "f", MAX_MEMORY_CELLS + 1);
    apply(&engine, RowOp::Delete(Delete::new("deleted").family("f")));
    let get = |wanted: &Get, tier| {
        region(&engine).get(wanted, tier, &Arc::default()).map(|row| row.len() as u64)
    };
    let exists = |wanted: &Get, tier| region(&engine).exists(wanted, tier, &Arc::default());
    let (short, long, deleted) = (Get::new("short"), Get::new("long"), Get::new("deleted"));
    assert_eq!(get(&short, ReadTier::Memory).unwrap(), MAX_MEMORY_CELLS);
    assert_eq!(get(&long, ReadTier::Memory).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(get(&long, ReadTier::Disk).unwrap(), MAX_MEMORY_CELLS + 1);
    // The limit applies to the requested cells, not to all cells of the row.
    assert_eq!(get(&Get::new("long").family("f"), ReadTier::Memory).unwrap(), MAX_MEMORY_CELLS);
    assert_eq!(get(&Get::new("long").column("f", "001999"), ReadTier::Memory).unwrap(), 1);
    assert!(exists(&long, ReadTier::Memory).unwrap());
    assert_eq!(get(&deleted, ReadTier::Memory).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(exists(&deleted, ReadTier::Memory).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(
        (get(&deleted, ReadTier::Disk).unwrap(), exists(&deleted, ReadTier::Disk).unwrap()),
        (0, false)
    );
}

#[test]
fn memory_reads_leave_large_rows_to_other_threads() {
    let engine = engine(&SimEnv::new(1), &[]);
    let half = "x".repeat(MAX_MEMORY_BYTES / 2 - 1000);
    let row = |name: &'static str, values: [&str; 2]| {
        apply(
            &engine,
            RowOp::Put(Put::new(name).add("f", "a", values[0]).add("g", "b", values[1])),
        );
    };
    row("fits", [&half, &half]);
    row("large", [&"x".repeat(MAX_MEMORY_BYTES), "v"]);
    row("together", [&half, &half]);
    apply(&engine, RowOp::Put(Put::new("together").add("g", "c", "x".repeat(3000))));
    let get = |wanted: &Get, tier| {
        region(&engine).get(wanted, tier, &Arc::default()).map(|row| row.len())
    };
    assert_eq!(get(&Get::new("fits"), ReadTier::Memory).unwrap(), 2);
    for (name, cells) in [("large", 2), ("together", 3)] {
        assert_eq!(
            get(&Get::new(name), ReadTier::Memory).unwrap_err().kind(),
            ErrorKind::WouldBlock,
            "{name}"
        );
        assert_eq!(get(&Get::new(name), ReadTier::Disk).unwrap(), cells);
    }
    // Existence and other columns do not copy the large cell.
    assert!(region(&engine).exists(&Get::new("large"), ReadTier::Memory, &Arc::default()).unwrap());
    assert_eq!(get(&Get::new("large").column("g", "b"), ReadTier::Memory).unwrap(), 1);
    // A filter examines the cells that it drops.
    let none = Filter::Value(CompareOp::Equal, Comparator::Binary("none".into()));
    assert_eq!(
        get(&Get::new("together").family("f").filter(none.clone()), ReadTier::Memory).unwrap(),
        0
    );
    assert_eq!(
        get(&Get::new("large").family("f").filter(none), ReadTier::Memory).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

/// Returns the families of the table that is compared: `f`, `g`, `h` and `i`.
fn families() -> TableDescriptor {
    TableDescriptor::new(name())
        .family(FamilyDescriptor::new("f").versions(3))
        .family(FamilyDescriptor::new("g").set("BLOOMFILTER", "ROWCOL"))
        .family(
            FamilyDescriptor::new("h")
                .versions(4)
                .set("BLOOMFILTER", "NONE")
                .set("KEEP_DELETED_CELLS", "TRUE"),
        )
        .family(FamilyDescriptor::new("i").versions(2).set("NEW_VERSION_BEHAVIOR", "true"))
}

const ROWS: [&str; 2] = ["r", "s"];
const FAMILIES: [&str; 4] = ["f", "g", "h", "i"];
const COLUMNS: [&str; 4] = ["", "a", "b", "c"];

#[derive(Clone, Copy, Debug)]
enum Step {
    Flush,
    Compact(CompactionKind),
    /// A put or delete of some kind: row, family, column, timestamp.
    Write(u8, &'static str, &'static str, &'static str, i64),
}

fn step() -> impl Strategy<Value = Step> {
    let pick = |of: &'static [&'static str]| prop::sample::select(of);
    let write = (0_u8..9, pick(&ROWS), pick(&FAMILIES), pick(&COLUMNS), 1_i64..12).prop_map(
        |(kind, row, family, column, stamp)| Step::Write(kind, row, family, column, stamp),
    );
    prop_oneof![
        8 => write,
        2 => Just(Step::Flush),
        1 => prop::sample::select(vec![CompactionKind::Minor, CompactionKind::Major]).prop_map(Step::Compact),
    ]
}

fn take(engine: &Engine, step: Step, number: usize) {
    match step {
        Step::Flush => flush(engine),
        Step::Compact(kind) => region(engine).compact(None, kind).unwrap(),
        Step::Write(kind, row, family, column, stamp) => apply(
            engine,
            match kind {
                0 => RowOp::Delete(Delete::new(row).version(family, column, stamp)),
                1 => RowOp::Delete(Delete::new(row).column_up_to(family, column, stamp)),
                2 => RowOp::Delete(Delete::new(row).family_up_to(family, stamp)),
                3 => RowOp::Delete(Delete::new(row).family_version(family, stamp)),
                _ => RowOp::Put(Put::new(row).add_at(family, column, stamp, format!("{number}"))),
            },
        ),
    }
}

/// Parameters of a get: bits for the four columns of every family, versions, and exclusive upper
/// time bounds.
type GetCase = (u8, u32, i64);

fn scanned(engine: &Engine, row: &'static str, wanted: impl Fn(Scan) -> Scan) -> Row {
    let scan = wanted(Scan::all().start(row).stop_inclusive(row));
    let mut scanner = region(engine).scan(&scan, ReadTier::Disk).unwrap();
    scanner.next_rows(ScanLimits::default()).unwrap().rows.pop().unwrap_or_default()
}

fn compare(
    engine: &Engine,
    row: &'static str,
    (columns, versions, before): GetCase,
) -> Result<(), TestCaseError> {
    let named = || {
        FAMILIES
            .iter()
            .flat_map(|family| (0..4).map(move |at| (family, at)))
            .filter(|(_, at)| columns & (1 << at) != 0)
    };
    let times = TimeRange::new(0, before).unwrap();
    let of_get = named()
        .fold(Get::new(row), |get, (family, at)| get.column(*family, COLUMNS[at]))
        .versions(versions)
        .time_range(times);
    let of_scan = |scan: Scan| {
        named()
            .fold(scan, |scan, (family, at)| scan.column(*family, COLUMNS[at]))
            .versions(versions)
            .time_range(times)
    };
    let (found, expected) = (get(engine, &of_get).0, scanned(engine, row, of_scan));
    let cells = |row: &Row| {
        row.iter().map(|cell| (cell.key().to_vec(), cell.value().to_vec())).collect::<Vec<_>>()
    };
    prop_assert_eq!(cells(&found), cells(&expected));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn get_of_columns_equals_scan(
        steps in prop::collection::vec(step(), 1..60),
        wanted in prop::collection::vec((1_u8..16, 1_u32..4, prop_oneof![Just(i64::MAX), 1_i64..14]), 1..12),
    ) {
        let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
        engine.create_table(families(), Vec::new()).unwrap();
        for (number, step) in steps.into_iter().enumerate() {
            take(&engine, step, number);
            compare(&engine, ROWS[number % 2], wanted[number % wanted.len()])?;
        }
        for wanted in wanted {
            ROWS.iter().try_for_each(|row| compare(&engine, row, wanted))?;
        }
    }
}

/// Returns an engine whose data is several times its block cache: rows `0000`... of one value of
/// 200 bytes each, and the row `wide` of 1,000 columns.
fn larger_than_cache() -> Arc<Engine> {
    let mut options = Options::default();
    options.block_cache_bytes = 1 << 20;
    let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
    let family = FamilyDescriptor::new("f");
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    let value = |number: u32| format!("{number:0200}");
    let rows = (0..30_000).map(|n| RowOp::Put(Put::new(format!("{n:05}")).add("f", "q", value(n))));
    engine.table(&name()).unwrap().batch(rows.collect()).unwrap();
    let wide = (0..1000).fold(Put::new("wide"), |put, n| put.add("f", format!("{n:04}"), value(n)));
    apply(&engine, RowOp::Put(wide));
    flush(&engine);
    engine
}

#[test]
fn gets_read_parts_of_blocks_when_the_cache_is_full() {
    let engine = larger_than_cache();
    let row = |n: u32| format!("{:05}", n.wrapping_mul(2_654_435_761) % 30_000);
    let mut read = [0, 0];
    for n in 0..4_000 {
        let (found, stats) = get(&engine, &Get::new(row(n)));
        let values: Vec<_> = found.iter().map(|cell| cell.value().len()).collect();
        assert_eq!((found.key(), values), (row(n).as_bytes(), vec![200]));
        if n >= 2_000 {
            read = [read[0] + stats.blocks_read(), read[1] + stats.block_bytes_read()];
        }
    }
    let [reads, bytes] = read;
    assert!(reads > 1_000, "the data does not fit the cache: {reads}");
    assert!(bytes / reads < 8_000, "{bytes} bytes in {reads} reads");
}

#[test]
fn row_over_many_parts_and_blocks_is_read_whole() {
    let engine = larger_than_cache();
    for _ in 0..3 {
        for n in 0..600_u32 {
            get(&engine, &Get::new(format!("{:05}", n * 50)));
        }
        let (wide, _) = get(&engine, &Get::new("wide"));
        assert_eq!(wide.iter().count(), 1000);
        for n in [0, 17, 333, 999] {
            let column = format!("{n:04}");
            let (found, stats) = get(&engine, &Get::new("wide").column("f", column.clone()));
            assert_eq!(format_row(&found), format!("wide={n:0200}"));
            assert!(stats.block_bytes_read() < 100_000, "{stats:?}");
        }
        let (absent, _) = get(&engine, &Get::new("wide").column("f", "0333x"));
        assert!(absent.is_empty());
    }
}
