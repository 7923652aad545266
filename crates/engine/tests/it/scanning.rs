//! Region scanners with bounded work per call: every limit, stop reasons, read points, and cut
//! rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_engine::env::sim::SimEnv;
use halite_engine::env::{Clock, Env};
use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};
use halite_engine::scan::{
    MAX_MEMORY_BYTES, MAX_MEMORY_CELLS, ReadAt, ReadStats, RegionScanner, ScanBatch, ScanLimits,
    StopReason, counted_bytes,
};
use halite_engine::{Engine, Options};
use halite_types::cell::make_key;
use halite_types::{
    BulkLoad, CellRef, CellType, CompactionKind, Comparator, CompareOp, Delete, ErrorKind,
    FamilyDescriptor, Filter, Get, Put, ReadTier, RowOp, Scan, TableDescriptor, TableName,
};

use crate::support::{apply, engine, format_row, name, put, region};

fn open(engine: &Engine, scan: &Scan) -> RegionScanner {
    region(engine).scan(scan, ReadTier::Disk).unwrap()
}

fn rows(batch: &ScanBatch) -> String {
    batch.rows.iter().map(format_row).collect::<Vec<_>>().join(" ")
}

/// Runs a scan with the same limits for each batch; returns the batches as `rows : reason`.
fn format_batches(mut scanner: RegionScanner, budget: ScanLimits) -> Vec<String> {
    let mut out = Vec::new();
    loop {
        let batch = scanner.next_rows(budget).unwrap();
        out.push(format!("{} : {:?}", rows(&batch), batch.stopped));
        if !batch.more() {
            return out;
        }
        assert!(out.len() < 100, "{out:?}");
    }
}

/// Rows `a` to `d`, three columns each in both families.
fn wide(engine: &Engine) {
    for row in ["a", "b", "c", "d"] {
        let columns = ["1", "2", "3"];
        let put = columns.iter().fold(Put::new(row), |put, column| {
            put.add("f", *column, format!("f{column}")).add("g", *column, format!("g{column}"))
        });
        apply(engine, RowOp::Put(put));
    }
}

/// The encoded length of a cell of [`wide`].
const CELL: usize = 12 + 12 + 1 + 1 + 1 + 2;

#[test]
fn unlimited_call_returns_all_rows_and_region_end() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let all = format_batches(open(&engine, &Scan::range("b", "d")), ScanLimits::default());
    assert_eq!(all, ["b=f1,f2,f3,g1,g2,g3 c=f1,f2,f3,g1,g2,g3 : RegionEnd"]);
    assert_eq!(
        format_batches(open(&engine, &Scan::range("x", "")), ScanLimits::default()),
        [" : RegionEnd"]
    );
    assert_eq!(
        format_batches(open(&engine, &Scan::range("d", "b")), ScanLimits::default()),
        [" : RegionEnd"]
    );
}

#[test]
fn results_count_rows_and_partial_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let budget = ScanLimits { results: 2, ..ScanLimits::default() };
    let scan = Scan::range("a", "d").family("f");
    assert_eq!(
        format_batches(open(&engine, &scan), budget),
        ["a=f1,f2,f3 b=f1,f2,f3 : Results", "c=f1,f2,f3 : RegionEnd"]
    );
    let pieces = format_batches(open(&engine, &scan.clone().batch(2)), budget);
    assert_eq!(
        pieces,
        ["a=f1,f2.. a=f3 : Results", "b=f1,f2.. b=f3 : Results", "c=f1,f2.. c=f3 : RegionEnd"]
    );
    // The scan detects the end of the range immediately if the stores reveal it; in reverse, if the
    // range begins with the row.
    let reversed = |start: &'static str| {
        format_batches(open(&engine, &Scan::range(start, "").family("f").reverse(true)), budget)
    };
    assert_eq!(reversed("c"), ["d=f1,f2,f3 c=f1,f2,f3 : RegionEnd"]);
    assert_eq!(reversed("bb"), ["d=f1,f2,f3 c=f1,f2,f3 : Results", " : RegionEnd"]);
}

#[test]
fn rows_are_counted_at_their_end_across_calls() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let mut scanner = open(&engine, &Scan::all().family("f").batch(2));
    let mut next = |results, rows| {
        scanner.next_rows(ScanLimits { results, rows, ..ScanLimits::default() }).unwrap()
    };
    let first = next(1, 2);
    assert_eq!(
        (rows(&first), first.rows_ended, first.in_row, first.stopped),
        ("a=f1,f2..".into(), 0, true, StopReason::Results)
    );
    let second = next(usize::MAX, 2);
    assert_eq!(
        (rows(&second), second.rows_ended, second.in_row, second.stopped),
        ("a=f3 b=f1,f2.. b=f3".into(), 2, false, StopReason::Rows)
    );
    assert_eq!(rows(&next(usize::MAX, 1)), "c=f1,f2.. c=f3");
}

#[test]
fn byte_limit_ends_call_between_or_inside_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    assert_eq!(counted_bytes(3, 3 * CELL), 3 * (CELL + 32));
    let budget = ScanLimits { bytes: counted_bytes(1, CELL) + 1, ..ScanLimits::default() };
    let scan = Scan::range("a", "c").family("f");
    assert_eq!(
        format_batches(open(&engine, &scan), budget),
        ["a=f1,f2,f3 : Bytes", "b=f1,f2,f3 : RegionEnd"]
    );
    let cut = format_batches(open(&engine, &scan), ScanLimits { cut_rows: true, ..budget });
    assert_eq!(
        cut,
        ["a=f1,f2.. : Bytes", "a=f3 b=f1.. : Bytes", "b=f2,f3 : Bytes", " : RegionEnd"],
        "that it was the last cell shows in the next call"
    );
    // At least one cell is returned, however small the limit; a row may be cut between families.
    let one = format_batches(
        open(&engine, &Scan::range("a", "b")),
        ScanLimits { bytes: 1, cut_rows: true, ..budget },
    );
    let cells = ["f1", "f2", "f3", "g1", "g2"].map(|value| format!("a={value}.. : Bytes"));
    assert_eq!(one, [&cells[..], &["a=g3 : Bytes".to_owned(), " : RegionEnd".to_owned()]].concat());
    // A batch is not filled up with the next call's cells.
    let batch = format_batches(
        open(&engine, &scan.clone().batch(2)),
        ScanLimits { bytes: 1, cut_rows: true, ..budget },
    );
    assert_eq!(batch[..3], ["a=f1.. : Bytes", "a=f2.. : Bytes", "a=f3 : Bytes"]);
}

#[test]
fn whole_row_filter_disables_partial_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let equal = |value: &'static str| Filter::SingleColumnValue {
        family: "f".into(),
        qualifier: "3".into(),
        op: CompareOp::Equal,
        comparator: Comparator::Binary(value.into()),
        filter_if_missing: true,
        latest_version_only: true,
        exclude: false,
    };
    let budget = ScanLimits { bytes: 1, cut_rows: true, ..ScanLimits::default() };
    let scan = Scan::range("a", "c").family("f").filter(equal("f3"));
    assert_eq!(
        format_batches(open(&engine, &scan), budget),
        ["a=f1,f2,f3 : Bytes", "b=f1,f2,f3 : RegionEnd"]
    );
    let refused = region(&engine).scan(&scan.batch(10), ReadTier::Disk).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::IncompatibleFilter);
}

#[test]
fn call_without_results_stops_at_examined_cells_limit() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let nothing = Filter::Value(CompareOp::Equal, Comparator::Binary("no".into()));
    let mut scanner = open(&engine, &Scan::all().filter(nothing));
    let batch =
        scanner.next_rows(ScanLimits { cells_examined: 7, ..ScanLimits::default() }).unwrap();
    assert_eq!(
        (batch.rows.len(), batch.stopped, scanner.last_row()),
        (0, StopReason::Cells, Some(&b"b"[..]))
    );
    let batch = scanner
        .next_rows(ScanLimits { cells_examined: 2, cut_rows: true, ..ScanLimits::default() })
        .unwrap();
    assert_eq!(
        (batch.rows.len(), batch.in_row, batch.stopped, scanner.last_row()),
        (0, false, StopReason::Cells, Some(&b"c"[..]))
    );
    let batch = scanner.next_rows(ScanLimits::default()).unwrap();
    assert_eq!(
        (batch.rows.len(), batch.stopped, scanner.last_row()),
        (0, StopReason::RegionEnd, Some(&b"d"[..]))
    );
    assert_eq!(
        (
            scanner.stats().rows_examined(),
            scanner.stats().rows_filtered(),
            scanner.stats().cells_examined()
        ),
        (4, 4, 24)
    );
}

/// Clock that advances by a millisecond on every read.
struct TickingClock(AtomicU64);

impl Clock for TickingClock {
    fn now_ms(&self) -> i64 {
        1_000_000
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.fetch_add(1_000_000, Ordering::Relaxed)
    }
}

#[test]
fn time_limit_ends_scan_call_at_any_point() {
    let sim = SimEnv::new(1);
    let env = Env { clock: Arc::new(TickingClock(AtomicU64::new(0))), ..sim.env() };
    let engine = Engine::open(env, Options::default()).unwrap();
    engine
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), Vec::new())
        .unwrap();
    for row in ["a", "b"] {
        let put =
            (0..3000).fold(Put::new(row), |put, column| put.add("f", format!("{column:04}"), "v"));
        apply(&engine, RowOp::Put(put));
    }
    let nothing = Filter::Value(CompareOp::Equal, Comparator::Binary("no".into()));
    let scan = Scan::all().filter(nothing);
    let budget = ScanLimits { time_ms: Some(2), ..ScanLimits::default() };
    // The scanner reads the clock every thousand cells; without cut rows it finishes the row first.
    let mut scanner = open(&engine, &scan);
    let batch = scanner.next_rows(ScanLimits { cut_rows: true, ..budget }).unwrap();
    assert_eq!(
        (batch.stopped, scanner.stats().cells_examined(), scanner.last_row()),
        (StopReason::Time, 2000, Some(&b"a"[..]))
    );
    let mut scanner = open(&engine, &scan);
    let batch = scanner.next_rows(ScanLimits { time_ms: Some(1), ..budget }).unwrap();
    assert_eq!((batch.stopped, scanner.stats().cells_examined()), (StopReason::Time, 3000));
    assert_eq!(format_batches(open(&engine, &Scan::all()), budget).len(), 1);
}

#[test]
fn finished_filter_is_distinguished_from_region_end() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let scan = |filter| Scan::all().column("f", "1").filter(filter);
    let page = format_batches(
        open(&engine, &scan(Filter::Page(2))),
        ScanLimits { results: 2, ..ScanLimits::default() },
    );
    assert_eq!(page, ["a=f1 b=f1 : FilterEnd"], "with the last row at once, as in HBase");
    let mut prefix = open(&engine, &scan(Filter::Prefix("b".into())));
    assert_eq!(
        rows(&prefix.next_rows(ScanLimits { results: 1, ..ScanLimits::default() }).unwrap()),
        "b=f1"
    );
    let last = prefix.next_rows(ScanLimits::default()).unwrap();
    assert_eq!((last.rows.len(), last.stopped), (0, StopReason::FilterEnd));
    assert_eq!(
        format_batches(open(&engine, &scan(Filter::Prefix("d".into()))), ScanLimits::default()),
        ["d=f1 : RegionEnd"]
    );
}

/// Rows, columns and answers are those of HBase 2.6.4.
#[test]
fn finished_filter_ends_only_the_current_family() {
    let engine = engine(&SimEnv::new(1), &[]);
    for line in ["a fa fb", "b fa fb fc ga", "c fa ga", "d ga gb gc", "e ga", "f fa"] {
        let (row, columns) = line.split_once(' ').unwrap();
        let add = |put: Put, column: &str| put.add(&column[..1], &column[1..], column);
        apply(&engine, RowOp::Put(columns.split(' ').fold(Put::new(row.to_owned()), add)));
    }
    let of = |limit, reverse| {
        let scan = Scan { reverse, ..Scan::all() }.filter(Filter::ColumnCountGet(limit));
        format_batches(open(&engine, &scan), ScanLimits::default()).concat()
    };
    for _ in 0..2 {
        assert_eq!(of(1, false), "a=fa b=ga c=ga d=ga : RegionEnd");
        assert_eq!(of(1, true), "f=fa e=ga d=ga c=fa b=fa : RegionEnd");
        assert_eq!(of(2, false), "a=fa,fb b=fa,fb : RegionEnd");
        assert_eq!(of(2, true), "f=fa e=ga d=ga,gb c=fa b=fa,fb : RegionEnd");
        assert_eq!(of(3, false), "a=fa,fb b=fa,fb,fc c=fa f=fa : RegionEnd");
        assert_eq!(of(3, true), "f=fa e=ga d=ga,gb,gc c=fa,ga b=fa,fb,fc a=fa,fb : RegionEnd");
        region(&engine).flush().unwrap();
    }
}

#[test]
fn row_ending_at_limit_is_complete_when_known() {
    let engine = engine(&SimEnv::new(1), &[]);
    put(&engine, "a", "1");
    apply(&engine, RowOp::Put(Put::new("a").add("f", "r", "2")));
    apply(&engine, RowOp::Delete(Delete::new("a").column("f", "r")));
    // Only hidden cells follow the first cell.
    assert_eq!(
        format_batches(open(&engine, &Scan::all().batch(1)), ScanLimits::default()),
        ["a=1 : RegionEnd"]
    );
    let pieces = format_batches(
        open(&engine, &Scan::all().batch(1)),
        ScanLimits { results: 1, ..ScanLimits::default() },
    );
    assert_eq!(pieces, ["a=1.. : Results", " : RegionEnd"]);
}

#[test]
fn scan_restarted_at_read_point_sees_nothing_newer() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim, &[]);
    put(&engine, "a", "old");
    put(&engine, "c", "old");
    let point = open(&engine, &Scan::all()).read_point();
    assert_eq!(point, 2);
    sim.clock.advance_ms(1);
    put(&engine, "b", "new");
    put(&engine, "c", "new");
    put(&engine, "d", "new");
    let at = |at, reverse| {
        format_batches(
            region(&engine)
                .scan_at(&Scan::all().family("f").reverse(reverse), ReadTier::Disk, at)
                .unwrap(),
            ScanLimits::default(),
        )
    };
    for (flushed, compacted) in [(false, false), (true, false), (true, true)] {
        if flushed {
            engine.flush(&name()).unwrap();
        }
        if compacted {
            engine.compact(&name(), None, CompactionKind::Major).unwrap();
        }
        assert_eq!(
            at(ReadAt::Point(point), false),
            ["a=old c=old : RegionEnd"],
            "{flushed} {compacted}"
        );
        assert_eq!(
            at(ReadAt::Point(point), true),
            ["c=old a=old : RegionEnd"],
            "{flushed} {compacted}"
        );
        assert_eq!(at(ReadAt::Point(99), false), ["a=old b=new c=new d=new : RegionEnd"]);
        assert_eq!(at(ReadAt::Committed, false), at(ReadAt::Point(99), false));
    }
    let clamped = region(&engine).scan_at(&Scan::all(), ReadTier::Disk, ReadAt::Point(99)).unwrap();
    assert_eq!(clamped.read_point(), 5);
}

#[test]
fn restarted_scan_sees_whole_rows_after_versions_are_dropped() {
    let sim = SimEnv::new(1);
    let name = TableName::new("default", "one").unwrap();
    // Ways in which overwritten cells are dropped: flush, compaction, in-memory compaction,
    // restart.
    for way in ["flush", "compaction", "in-memory compaction", "opening"] {
        let mut options = Options::default();
        options.in_memory_compaction_bytes = usize::from(way == "in-memory compaction");
        let mut engine = Engine::open(sim.env(), options).unwrap();
        let table =
            TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f").versions(1));
        engine.create_table(table, Vec::new()).unwrap();
        let put = |engine: &Engine, row: &str, value: &str| {
            let put = Put::new(row.to_owned()).add("f", "q", value).add("f", "r", value);
            engine.table(&name).unwrap().batch(vec![put.into()]).unwrap().remove(0).unwrap();
        };
        put(&engine, "a", "old");
        put(&engine, "b", "old");
        let region = |engine: &Engine| engine.table(&name).unwrap().region_for_row(b"a").unwrap();
        let point = region(&engine).scan(&Scan::all(), ReadTier::Disk).unwrap().read_point();
        if way == "compaction" {
            engine.flush(&name).unwrap();
        }
        sim.clock.advance_ms(1);
        (0..4).for_each(|_| put(&engine, "b", "new"));
        match way {
            "in-memory compaction" => assert!(engine.run_one_job().unwrap(), "nothing to compact"),
            "opening" => {
                engine.close().unwrap();
                engine = Engine::open(sim.env(), Options::default()).unwrap();
            }
            _ => engine.flush(&name).unwrap(),
        }
        if way == "compaction" {
            engine.compact(&name, None, CompactionKind::Major).unwrap();
        }
        let seen = format_batches(
            region(&engine).scan_at(&Scan::all(), ReadTier::Disk, ReadAt::Point(point)).unwrap(),
            ScanLimits::default(),
        );
        assert_eq!(seen, ["a=old,old b=new,new : RegionEnd"], "{way}");
        engine.disable_table(&name).unwrap();
        engine.drop_table(&name).unwrap();
        engine.close().unwrap();
    }
}

#[test]
fn applied_writes_are_visible_before_durability_only_on_request() {
    let engine = engine(&SimEnv::new(1), &[]);
    put(&engine, "a", "durable");
    let pending = engine
        .table(&name())
        .unwrap()
        .submit(vec![RowOp::Put(Put::new("b").add("f", "q", "applied"))]);
    let at = |at| {
        format_batches(
            region(&engine).scan_at(&Scan::all(), ReadTier::Disk, at).unwrap(),
            ScanLimits::default(),
        )
    };
    assert_eq!(at(ReadAt::Committed), ["a=durable : RegionEnd"]);
    assert_eq!(at(ReadAt::Applied), ["a=durable b=applied : RegionEnd"]);
    pending.ticket.wait().unwrap();
    assert_eq!(at(ReadAt::Committed), ["a=durable b=applied : RegionEnd"]);
}

#[test]
fn open_scanner_keeps_read_point_across_maintenance() {
    let engine = engine(&SimEnv::new(1), &[]);
    for row in ["a", "b", "c"] {
        put(&engine, row, "old");
    }
    engine.flush(&name()).unwrap();
    let mut scanner = open(&engine, &Scan::all());
    let next = ScanLimits { results: 1, ..ScanLimits::default() };
    assert_eq!(rows(&scanner.next_rows(next).unwrap()), "a=old");
    for round in 0..4 {
        put(&engine, "b", &format!("new{round}"));
        engine.flush(&name()).unwrap();
    }
    engine.compact(&name(), None, CompactionKind::Major).unwrap();
    assert_eq!(rows(&scanner.next_rows(next).unwrap()), "b=old");
    engine.split_region(&region(&engine).info().encoded_name, Some("b".into())).unwrap();
    while engine.run_one_job().unwrap() {}
    assert_eq!(rows(&scanner.next_rows(next).unwrap()), "c=old");
}

#[test]
fn read_stats_report_source_of_bytes() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let mut memstore = open(&engine, &Scan::all());
    memstore.next_rows(ScanLimits::default()).unwrap();
    assert_eq!(
        (memstore.stats().memstore_bytes_read(), memstore.stats().data_block_bytes()),
        (24 * CELL as u64, 0)
    );
    engine.flush(&name()).unwrap();
    let scanned = || {
        let mut scanner = open(&engine, &Scan::all());
        scanner.next_rows(ScanLimits::default()).unwrap();
        let trace = scanner.stats();
        (
            trace.blocks_read(),
            trace.block_bytes_read() > 0,
            trace.block_bytes_cached() > 0,
            trace.data_block_bytes(),
            trace.memstore_bytes_read(),
        )
    };
    let (first, second) = (scanned(), scanned());
    assert_eq!((first.0, first.1, first.2, first.4), (2, true, false, 0));
    assert_eq!((second.0, second.1, second.2, second.4), (0, false, true, 0));
    assert_eq!(first.3, second.3);
    assert!(first.3 >= 24 * (CELL as u64 - 4), "{}", first.3);
}

#[test]
fn disk_read_time_is_measured_only_on_request() {
    let clock = Arc::new(TickingClock(AtomicU64::new(0)));
    let env = Env { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..SimEnv::new(1).env() };
    let mut options = Options::default();
    options.block_cache_bytes = 0;
    // Recorded durations would be further looks at the clock.
    #[cfg(feature = "heat")]
    (options.heat_level = halite_engine::HeatLevel::Off);
    let engine = Engine::open(env, options).unwrap();
    engine
        .create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), Vec::new())
        .unwrap();
    put(&engine, "a", "1");
    let scanned = |is_wanted: bool| {
        let mut scanner = open(&engine, &Scan::all());
        scanner.time_block_reads(is_wanted);
        let looks = clock.0.load(Ordering::Relaxed);
        scanner.next_rows(ScanLimits::default()).unwrap();
        let looks = clock.0.load(Ordering::Relaxed) - looks;
        (scanner.stats().blocks_read(), scanner.stats().block_read_ns(), looks / 1_000_000)
    };
    assert_eq!(scanned(true), (0, 0, 0));
    engine.flush(&name()).unwrap();
    let (blocks, nanoseconds, looks) = scanned(true);
    assert!(blocks > 0);
    assert_eq!((nanoseconds, looks), (blocks * 1_000_000, blocks * 2));
    assert_eq!(scanned(false), (blocks, 0, 0));
}

/// Rows in two files of small blocks and a memstore, with rows that are in several of them.
fn layered(sim: &SimEnv) -> Arc<Engine> {
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let family = FamilyDescriptor::new("f").set("BLOCKSIZE", 256);
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    for layer in 0..3 {
        (0..200)
            .filter(|row| row % (layer + 1) == 0)
            .for_each(|row| put(&engine, &format!("{row:03}"), &format!("{layer}")));
        if layer < 2 {
            engine.flush(&name()).unwrap();
        }
    }
    engine
}

#[test]
fn memory_only_scan_returns_rows_or_keeps_position() {
    let engine = layered(&SimEnv::new(1));
    let region = region(&engine);
    for reverse in [false, true] {
        let scan = Scan::all().reverse(reverse);
        let budget = ScanLimits { results: 7, ..ScanLimits::default() };
        let all = format_batches(open(&engine, &scan), budget);
        let mut scanner = open(&engine, &scan);
        let (mut found, mut tried, mut in_vain) = (Vec::new(), 0, 0);
        while found.len() < all.len() {
            if found.len() % 3 == 0 {
                engine.evict_blocks(&region.info().encoded_name).unwrap();
            }
            let batch = scanner.try_rows(budget).unwrap();
            tried += usize::from(batch.is_some());
            in_vain += usize::from(batch.is_none());
            let batch = batch.unwrap_or_else(|| scanner.next_rows(budget).unwrap());
            found.push(format!("{} : {:?}", rows(&batch), batch.stopped));
        }
        assert_eq!(found, all);
        assert!(tried > 5 && in_vain > 5, "{tried} reads from memory, {in_vain} failed");
        assert_eq!(
            scanner.stats().rows_examined(),
            200,
            "a row is counted once, however often it was tried"
        );
        assert_eq!(scanner.stats().rows_returned(), 200);
    }
}

#[test]
fn memory_only_scan_ending_inside_row_returns_nothing() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let mut scanner = open(&engine, &Scan::range("a", "c").family("f"));
    let budget = ScanLimits { cells_examined: 2, cut_rows: true, ..ScanLimits::default() };
    assert_eq!(scanner.try_rows(budget).unwrap(), None);
    assert_eq!(scanner.stats().cells_examined(), 0, "a repeated read is counted once");
    assert_eq!(rows(&scanner.next_rows(budget).unwrap()), "a=f1,f2..");
    assert_eq!(
        (
            scanner.stats().rows_examined(),
            scanner.stats().cells_examined(),
            scanner.stats().cells_returned()
        ),
        (1, 2, 2)
    );
    assert_eq!(
        scanner.try_rows(ScanLimits::default()).unwrap(),
        None,
        "the position is inside a row"
    );
    assert_eq!(rows(&scanner.next_rows(ScanLimits::default()).unwrap()), "a=f3 b=f1,f2,f3");
}

#[test]
fn memory_only_scan_does_not_return_long_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    for (row, cells) in [("a", MAX_MEMORY_CELLS), ("b", 2 * MAX_MEMORY_CELLS)] {
        apply(
            &engine,
            RowOp::Put(
                (0..cells).fold(Put::new(row), |put, at| put.add("f", format!("{at:06}"), "v")),
            ),
        );
    }
    let budget = ScanLimits { cells_examined: 10, ..ScanLimits::default() };
    let mut scanner = open(&engine, &Scan::all());
    let cells =
        |batch: &ScanBatch| batch.rows.iter().map(|row| row.len() as u64).collect::<Vec<_>>();
    assert_eq!(
        scanner.try_rows(budget).unwrap().map(|batch| cells(&batch)),
        Some(vec![MAX_MEMORY_CELLS])
    );
    assert_eq!(scanner.try_rows(budget).unwrap(), None);
    assert_eq!(cells(&scanner.next_rows(budget).unwrap()), [2 * MAX_MEMORY_CELLS]);
}

#[test]
fn scan_try_stops_at_bytes_and_leaves_large_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    let put = |row: String, bytes: usize| {
        apply(
            &engine,
            RowOp::Put(Put::new(row).add("f", "a", "x".repeat(bytes)).add("f", "b", "v")),
        );
    };
    (0..8).for_each(|row| put(format!("a{row}"), MAX_MEMORY_BYTES / 3));
    put("b".to_owned(), 3 * MAX_MEMORY_BYTES);
    for cut_rows in [false, true] {
        let budget = ScanLimits { cut_rows, ..ScanLimits::default() };
        let mut scanner = open(&engine, &Scan::all());
        let mut tried =
            || scanner.try_rows(budget).unwrap().map(|batch| (batch.rows.len(), batch.stopped));
        // Each call ends at the first row that reaches the limit.
        assert_eq!([tried(), tried()], [Some((3, StopReason::Cells)); 2]);
        // The last two rows fit, and the large one is not begun.
        assert_eq!(tried(), Some((2, StopReason::Cells)));
        assert_eq!(tried(), None);
        let batch = scanner.next_rows(budget).unwrap();
        assert_eq!(
            (
                batch.rows.len(),
                batch.rows[0].cells().bytes().len() > 3 * MAX_MEMORY_BYTES,
                batch.more()
            ),
            (1, true, false)
        );
    }
}

/// Responses are stored for clients that retry, and counted in bytes.
#[test]
fn small_response_does_not_retain_large_buffer() {
    let engine = engine(&SimEnv::new(1), &[]);
    put(&engine, "a", &"x".repeat(1 << 20));
    put(&engine, "b", "small");
    put(&engine, "c", "small");
    let mut scanner = open(&engine, &Scan::all());
    let budget = ScanLimits { results: 1, ..ScanLimits::default() };
    assert!(scanner.next_rows(budget).unwrap().rows[0].cells().bytes().len() > 1 << 20);
    let row = scanner.next_rows(budget).unwrap().rows.remove(0);
    let bytes = row.into_cells().bytes().clone();
    let (len, capacity) = (bytes.len(), bytes.try_into_mut().unwrap().capacity());
    assert!(capacity <= 2 * len, "{capacity} bytes are retained for {len}");
}

#[test]
fn cached_blocks_are_evicted_with_last_reader_of_file() {
    let engine = layered(&SimEnv::new(1));
    engine.flush(&name()).unwrap();
    let mut reading = open(&engine, &Scan::all());
    reading.next_rows(ScanLimits { rows: 1, ..ScanLimits::default() }).unwrap();
    format_batches(open(&engine, &Scan::all()), ScanLimits::default());
    let cached = engine.status().block_cache_bytes;
    assert!(cached > 0);
    engine.compact(&name(), None, CompactionKind::Major).unwrap();
    assert!(engine.status().block_cache_bytes >= cached, "old files are still open for reading");
    drop(reading);
    assert_eq!(engine.status().block_cache_bytes, 0, "of the new file nothing has been read");
}

/// HBase counts the encoded cells of one family that a read puts together (`StoreScanner`), and
/// fails with the first too many.
#[test]
fn row_over_size_limit_is_rejected_unless_partial() {
    let mut options = Options::default();
    options.max_row_bytes = 3 * CELL as u64;
    let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
    let table = || {
        TableDescriptor::new(name())
            .family(FamilyDescriptor::new("f"))
            .family(FamilyDescriptor::new("g"))
    };
    engine.create_table(table(), Vec::new()).unwrap();
    wide(&engine);
    let trace = Arc::new(ReadStats::default());
    let get = |get: Get| {
        region(&engine)
            .get(&get, ReadTier::Disk, &trace)
            .map(|row| row.len())
            .map_err(|error| error.kind())
    };
    // Each family may have as many.
    assert_eq!(get(Get::new("a")), Ok(6));
    apply(
        &engine,
        RowOp::Put(
            (4..100).fold(Put::new("b"), |put, column| put.add("f", column.to_string(), "v")),
        ),
    );
    assert_eq!(get(Get::new("b")), Err(ErrorKind::RowTooBig));
    assert_eq!(
        (get(Get::new("b").family("g")), get(Get::new("b").column("f", "99"))),
        (Ok(3), Ok(1))
    );
    // A cell that a filter shortens counts in full; a skipped cell does not count.
    assert_eq!(get(Get::new("b").filter(Filter::KeyOnly(false))), Err(ErrorKind::RowTooBig));
    assert_eq!(
        get(Get::new("b").filter(Filter::ColumnRange {
            min: Some("97".into()),
            min_inclusive: true,
            max: None,
            max_inclusive: false
        })),
        Ok(3)
    );

    let scan = |scan: &Scan, budget: ScanLimits| {
        open(&engine, scan)
            .next_rows(budget)
            .map(|batch| batch.rows.len())
            .map_err(|error| error.kind())
    };
    assert_eq!(scan(&Scan::all(), ScanLimits::default()), Err(ErrorKind::RowTooBig));
    let raw = Scan::all().raw(true);
    assert_eq!(
        scan(&raw, ScanLimits { cut_rows: true, ..ScanLimits::default() }),
        Err(ErrorKind::RowTooBig)
    );
    let cut =
        ScanLimits { cut_rows: true, bytes: 2 * counted_bytes(1, CELL), ..ScanLimits::default() };
    assert!(
        format_batches(open(&engine, &Scan::all()), cut).iter().any(|answer| answer.contains("b="))
    );
    assert_eq!(
        format_batches(open(&engine, &Scan::all().batch(3)), ScanLimits::default()).len(),
        1
    );

    // The rest of the row is not read: only one of its twenty blocks, and the index blocks for it.
    apply(
        &engine,
        RowOp::Put((0..200).fold(Put::new("z"), |put, column| {
            put.add("f", format!("{column:03}"), vec![7; 6000])
        })),
    );
    engine.flush(&name()).unwrap();
    let before = trace.blocks_read();
    assert_eq!(get(Get::new("z").family("f")), Err(ErrorKind::RowTooBig));
    assert!(trace.blocks_read() - before < 5, "{}", trace.blocks_read() - before);

    // The table overrides the default, and one family overrides the table.
    let mut small = FamilyDescriptor::new("g");
    small.configuration.insert("hbase.table.max.rowsize".to_owned(), CELL.to_string());
    engine
        .alter_table(
            TableDescriptor::new(name())
                .set("hbase.table.max.rowsize", 0)
                .family(FamilyDescriptor::new("f"))
                .family(small),
        )
        .unwrap();
    assert_eq!(
        (get(Get::new("b").family("f")), get(Get::new("b"))),
        (Ok(99), Err(ErrorKind::RowTooBig))
    );
}

#[test]
fn scanners_share_their_memory_limit() {
    const LARGE: usize = 1 << 20;
    let engine = engine(&SimEnv::new(1), &[]);
    ["a", "b", "c"].into_iter().for_each(|row| put(&engine, row, &"v".repeat(LARGE)));
    let next = |scanner: &mut RegionScanner| {
        drop(scanner.next_rows(ScanLimits { results: 1, ..ScanLimits::default() }).unwrap());
    };
    let (mut one, mut two) = (open(&engine, &Scan::all()), open(&engine, &Scan::all()));
    next(&mut one);
    next(&mut two);
    let held = |scanner: &RegionScanner| scanner.held_bytes() * 10 / LARGE;
    assert_eq!((held(&one), held(&two)), (0, 0), "the memstore is the region's");
    engine.flush(&name()).unwrap();
    assert_eq!((held(&one), held(&two)), (15, 15), "it is theirs now");
    drop(two);
    assert_eq!(held(&one), 30);
    // A scanner opened later is positioned in a block of the file, which it shares with the block
    // cache.
    let mut three = open(&engine, &Scan::all());
    next(&mut three);
    assert_eq!(held(&three), 5);
    next(&mut one);
    assert_eq!(rows(&one.next_rows(ScanLimits::default()).unwrap()).len(), "c=".len() + LARGE);
}

/// Cells of one key and sequence id in two files that were loaded together.
#[test]
fn scan_and_get_read_same_of_equal_cells() {
    // The names of the files, and with them their order, are random.
    for seed in 1..=8 {
        let sim = SimEnv::new(seed);
        let engine = engine(&sim, &[]);
        let fs = sim.env().fs;
        fs.create_dir_all("outside/in").unwrap();
        let files = ["a", "b"].map(|first| {
            let path = format!("outside/in/{first}");
            let options = WriterOptions { include_sequence_ids: false, ..WriterOptions::default() };
            let mut writer = Writer::create(fs.create(&path).unwrap(), &path, options).unwrap();
            for row in [first, "shared"] {
                let key = make_key(row.as_bytes(), b"f", b"q", 1, CellType::Put.code());
                writer.append(CellRef::new(&key, first.as_bytes(), b"", 0)).unwrap();
            }
            writer.finish(StoreFileInfo::default()).unwrap();
            ("f".into(), format!("/in/{first}"))
        });
        engine.bulk_load(&name(), &BulkLoad { files: files.into(), ..BulkLoad::new() }).unwrap();
        let scanned = open(&engine, &Scan::all()).next_rows(ScanLimits::default()).unwrap();
        let get = Get::new("shared");
        let read = region(&engine).get(&get, ReadTier::Disk, &Arc::default()).unwrap();
        assert_eq!(rows(&scanned), format!("a=a b=b {}", format_row(&read)), "seed {seed}");
    }
}
