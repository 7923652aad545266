//! Region scanners in bounded pieces of work: every limit, what stopped, read points, and where rows are cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_engine::env::sim::SimEnv;
use halite_engine::env::{Clock, Env};
use halite_engine::scan::{MEMORY_BYTES_MAX, MEMORY_CELLS_MAX, ReadAt, ReadTrace, RegionScanner, ScanBatch, ScanBudget, StopReason, counted_bytes};
use halite_engine::{Engine, Options};
use halite_types::{
    CompactionKind, Comparator, CompareOp, Delete, ErrorKind, FamilyDescriptor, Filter, Get, Put, RowOp, Scan, TableDescriptor, TableName, Tier,
};

use crate::support::{apply, engine, name, put, region, show};

fn open(engine: &Engine, scan: &Scan) -> RegionScanner {
    region(engine).scan(scan, Tier::Disk).unwrap()
}

fn rows(batch: &ScanBatch) -> String {
    batch.rows.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Every answer of a scan as `rows : reason`, with the same budget for each.
fn answers(mut scanner: RegionScanner, budget: ScanBudget) -> Vec<String> {
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
        let put =
            columns.iter().fold(Put::new(row), |put, column| put.add("f", *column, format!("f{column}")).add("g", *column, format!("g{column}")));
        apply(engine, RowOp::Put(put));
    }
}

/// The encoded length of a cell of [`wide`].
const CELL: usize = 12 + 12 + 1 + 1 + 1 + 2;

#[test]
fn an_unlimited_call_returns_everything_and_says_that_the_region_ends() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let all = answers(open(&engine, &Scan::range("b", "d")), ScanBudget::default());
    assert_eq!(all, ["b=f1,f2,f3,g1,g2,g3 c=f1,f2,f3,g1,g2,g3 : RegionEnd"]);
    assert_eq!(answers(open(&engine, &Scan::range("x", "")), ScanBudget::default()), [" : RegionEnd"]);
    assert_eq!(answers(open(&engine, &Scan::range("d", "b")), ScanBudget::default()), [" : RegionEnd"]);
}

#[test]
fn results_count_rows_and_pieces_of_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let budget = ScanBudget { results: 2, ..ScanBudget::default() };
    let scan = Scan::range("a", "d").family("f");
    assert_eq!(answers(open(&engine, &scan), budget), ["a=f1,f2,f3 b=f1,f2,f3 : Results", "c=f1,f2,f3 : RegionEnd"]);
    let pieces = answers(open(&engine, &scan.clone().batch(2)), budget);
    assert_eq!(pieces, ["a=f1,f2.. a=f3 : Results", "b=f1,f2.. b=f3 : Results", "c=f1,f2.. c=f3 : RegionEnd"]);
    // The end of the range is seen at once where the stores show it, in reverse where the range begins with the row.
    let reversed = |start: &'static str| answers(open(&engine, &Scan::range(start, "").family("f").reverse(true)), budget);
    assert_eq!(reversed("c"), ["d=f1,f2,f3 c=f1,f2,f3 : RegionEnd"]);
    assert_eq!(reversed("bb"), ["d=f1,f2,f3 c=f1,f2,f3 : Results", " : RegionEnd"]);
}

#[test]
fn rows_are_counted_at_their_end_across_calls() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let mut scanner = open(&engine, &Scan::all().family("f").batch(2));
    let mut next = |results, rows| scanner.next_rows(ScanBudget { results, rows, ..ScanBudget::default() }).unwrap();
    let first = next(1, 2);
    assert_eq!((rows(&first), first.rows_ended, first.in_row, first.stopped), ("a=f1,f2..".into(), 0, true, StopReason::Results));
    let second = next(usize::MAX, 2);
    assert_eq!((rows(&second), second.rows_ended, second.in_row, second.stopped), ("a=f3 b=f1,f2.. b=f3".into(), 2, false, StopReason::Rows));
    assert_eq!(rows(&next(usize::MAX, 1)), "c=f1,f2.. c=f3");
}

#[test]
fn bytes_end_a_call_between_rows_or_inside_one() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    assert_eq!(counted_bytes(3, 3 * CELL), 3 * (CELL + 32));
    let budget = ScanBudget { bytes: counted_bytes(1, CELL) + 1, ..ScanBudget::default() };
    let scan = Scan::range("a", "c").family("f");
    assert_eq!(answers(open(&engine, &scan), budget), ["a=f1,f2,f3 : Bytes", "b=f1,f2,f3 : RegionEnd"]);
    let cut = answers(open(&engine, &scan), ScanBudget { cut_rows: true, ..budget });
    assert_eq!(
        cut,
        ["a=f1,f2.. : Bytes", "a=f3 b=f1.. : Bytes", "b=f2,f3 : Bytes", " : RegionEnd"],
        "that it was the last cell shows in the next call"
    );
    // At least one cell comes, however small the limit; a cut may fall between families.
    let one = answers(open(&engine, &Scan::range("a", "b")), ScanBudget { bytes: 1, cut_rows: true, ..budget });
    let cells = ["f1", "f2", "f3", "g1", "g2"].map(|value| format!("a={value}.. : Bytes"));
    assert_eq!(one, [&cells[..], &["a=g3 : Bytes".to_owned(), " : RegionEnd".to_owned()]].concat());
    // A batch is not filled up with the next call's cells.
    let batch = answers(open(&engine, &scan.clone().batch(2)), ScanBudget { bytes: 1, cut_rows: true, ..budget });
    assert_eq!(batch[..3], ["a=f1.. : Bytes", "a=f2.. : Bytes", "a=f3 : Bytes"]);
}

#[test]
fn a_filter_over_whole_rows_keeps_rows_whole() {
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
    let budget = ScanBudget { bytes: 1, cut_rows: true, ..ScanBudget::default() };
    let scan = Scan::range("a", "c").family("f").filter(equal("f3"));
    assert_eq!(answers(open(&engine, &scan), budget), ["a=f1,f2,f3 : Bytes", "b=f1,f2,f3 : RegionEnd"]);
    let refused = region(&engine).scan(&scan.batch(10), Tier::Disk).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::IncompatibleFilter);
}

#[test]
fn a_call_that_finds_nothing_ends_by_the_cells_it_looked_at() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let nothing = Filter::Value(CompareOp::Equal, Comparator::Binary("no".into()));
    let mut scanner = open(&engine, &Scan::all().filter(nothing));
    let batch = scanner.next_rows(ScanBudget { cells_examined: 7, ..ScanBudget::default() }).unwrap();
    assert_eq!((batch.rows.len(), batch.stopped, scanner.last_row()), (0, StopReason::Cells, Some(&b"b"[..])));
    let batch = scanner.next_rows(ScanBudget { cells_examined: 2, cut_rows: true, ..ScanBudget::default() }).unwrap();
    assert_eq!((batch.rows.len(), batch.in_row, batch.stopped, scanner.last_row()), (0, false, StopReason::Cells, Some(&b"c"[..])));
    let batch = scanner.next_rows(ScanBudget::default()).unwrap();
    assert_eq!((batch.rows.len(), batch.stopped, scanner.last_row()), (0, StopReason::RegionEnd, Some(&b"d"[..])));
    assert_eq!((scanner.trace().rows_examined(), scanner.trace().rows_filtered(), scanner.trace().cells_examined()), (4, 4, 24));
}

/// A clock on which every look takes a millisecond.
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now_ms(&self) -> i64 {
        1_000_000
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.fetch_add(1_000_000, Ordering::Relaxed)
    }
}

#[test]
fn time_ends_a_call_wherever_it_is() {
    let sim = SimEnv::new(1);
    let env = Env { clock: Arc::new(Ticking(AtomicU64::new(0))), ..sim.env() };
    let engine = Engine::open(env, Options::default()).unwrap();
    engine.create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), Vec::new()).unwrap();
    for row in ["a", "b"] {
        let put = (0..3000).fold(Put::new(row), |put, column| put.add("f", format!("{column:04}"), "v"));
        apply(&engine, RowOp::Put(put));
    }
    let nothing = Filter::Value(CompareOp::Equal, Comparator::Binary("no".into()));
    let scan = Scan::all().filter(nothing);
    let budget = ScanBudget { time_ms: Some(2), ..ScanBudget::default() };
    // The clock is looked at after a thousand cells; whole rows come to their end first.
    let mut scanner = open(&engine, &scan);
    let batch = scanner.next_rows(ScanBudget { cut_rows: true, ..budget }).unwrap();
    assert_eq!((batch.stopped, scanner.trace().cells_examined(), scanner.last_row()), (StopReason::Time, 2000, Some(&b"a"[..])));
    let mut scanner = open(&engine, &scan);
    let batch = scanner.next_rows(ScanBudget { time_ms: Some(1), ..budget }).unwrap();
    assert_eq!((batch.stopped, scanner.trace().cells_examined()), (StopReason::Time, 3000));
    assert_eq!(answers(open(&engine, &Scan::all()), budget).len(), 1);
}

#[test]
fn a_filter_that_is_done_is_told_from_the_end_of_the_region() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let scan = |filter| Scan::all().column("f", "1").filter(filter);
    let page = answers(open(&engine, &scan(Filter::Page(2))), ScanBudget { results: 2, ..ScanBudget::default() });
    assert_eq!(page, ["a=f1 b=f1 : FilterEnd"], "with the last row at once, as in HBase");
    let mut prefix = open(&engine, &scan(Filter::Prefix("b".into())));
    assert_eq!(rows(&prefix.next_rows(ScanBudget { results: 1, ..ScanBudget::default() }).unwrap()), "b=f1");
    let last = prefix.next_rows(ScanBudget::default()).unwrap();
    assert_eq!((last.rows.len(), last.stopped), (0, StopReason::FilterEnd));
    assert_eq!(answers(open(&engine, &scan(Filter::Prefix("d".into()))), ScanBudget::default()), ["d=f1 : RegionEnd"]);
}

/// Rows, columns and answers are those of HBase 2.6.4.
#[test]
fn a_filter_that_has_enough_of_a_row_ends_the_family_it_was_shown_a_cell_of() {
    let engine = engine(&SimEnv::new(1), &[]);
    for line in ["a fa fb", "b fa fb fc ga", "c fa ga", "d ga gb gc", "e ga", "f fa"] {
        let (row, columns) = line.split_once(' ').unwrap();
        let add = |put: Put, column: &str| put.add(&column[..1], &column[1..], column);
        apply(&engine, RowOp::Put(columns.split(' ').fold(Put::new(row.to_owned()), add)));
    }
    let of = |limit, reverse| {
        let scan = Scan { reverse, ..Scan::all() }.filter(Filter::ColumnCountGet(limit));
        answers(open(&engine, &scan), ScanBudget::default()).concat()
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
fn a_row_that_ends_at_its_limit_is_told_whole_when_that_is_known() {
    let engine = engine(&SimEnv::new(1), &[]);
    put(&engine, "a", "1");
    apply(&engine, RowOp::Put(Put::new("a").add("f", "r", "2")));
    apply(&engine, RowOp::Delete(Delete::new("a").column("f", "r")));
    // Behind the first cell there is only what nobody sees.
    assert_eq!(answers(open(&engine, &Scan::all().batch(1)), ScanBudget::default()), ["a=1 : RegionEnd"]);
    let pieces = answers(open(&engine, &Scan::all().batch(1)), ScanBudget { results: 1, ..ScanBudget::default() });
    assert_eq!(pieces, ["a=1.. : Results", " : RegionEnd"]);
}

#[test]
fn a_scan_begun_anew_at_its_read_point_sees_nothing_newer() {
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
    let at =
        |at, reverse| answers(region(&engine).scan_at(&Scan::all().family("f").reverse(reverse), Tier::Disk, at).unwrap(), ScanBudget::default());
    for (flushed, compacted) in [(false, false), (true, false), (true, true)] {
        if flushed {
            engine.flush(&name()).unwrap();
        }
        if compacted {
            engine.compact(&name(), None, CompactionKind::Major).unwrap();
        }
        assert_eq!(at(ReadAt::Point(point), false), ["a=old c=old : RegionEnd"], "{flushed} {compacted}");
        assert_eq!(at(ReadAt::Point(point), true), ["c=old a=old : RegionEnd"], "{flushed} {compacted}");
        assert_eq!(at(ReadAt::Point(99), false), ["a=old b=new c=new d=new : RegionEnd"]);
        assert_eq!(at(ReadAt::Committed, false), at(ReadAt::Point(99), false));
    }
    let clamped = region(&engine).scan_at(&Scan::all(), Tier::Disk, ReadAt::Point(99)).unwrap();
    assert_eq!(clamped.read_point(), 5);
}

#[test]
fn a_scan_begun_anew_sees_whole_rows_when_what_it_saw_at_first_is_gone() {
    let sim = SimEnv::new(1);
    let name = TableName::new("default", "one").unwrap();
    // How what newer writes have displaced goes: written to a file, from file to file, from memory to memory, with the process.
    for way in ["flush", "compaction", "condensing", "opening"] {
        let mut options = Options::default();
        options.memstore_condense_bytes = usize::from(way == "condensing");
        let mut engine = Engine::open(sim.env(), options).unwrap();
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f").versions(1));
        engine.create_table(table, Vec::new()).unwrap();
        let put = |engine: &Engine, row: &str, value: &str| {
            let put = Put::new(row.to_owned()).add("f", "q", value).add("f", "r", value);
            engine.table(&name).unwrap().apply(vec![put.into()]).unwrap().remove(0).unwrap();
        };
        put(&engine, "a", "old");
        put(&engine, "b", "old");
        let region = |engine: &Engine| engine.table(&name).unwrap().region_of(b"a").unwrap();
        let point = region(&engine).scan(&Scan::all(), Tier::Disk).unwrap().read_point();
        if way == "compaction" {
            engine.flush(&name).unwrap();
        }
        sim.clock.advance_ms(1);
        (0..4).for_each(|_| put(&engine, "b", "new"));
        match way {
            "condensing" => assert!(engine.step().unwrap(), "nothing to condense"),
            "opening" => {
                engine.close().unwrap();
                engine = Engine::open(sim.env(), Options::default()).unwrap();
            }
            _ => engine.flush(&name).unwrap(),
        }
        if way == "compaction" {
            engine.compact(&name, None, CompactionKind::Major).unwrap();
        }
        let seen = answers(region(&engine).scan_at(&Scan::all(), Tier::Disk, ReadAt::Point(point)).unwrap(), ScanBudget::default());
        assert_eq!(seen, ["a=old,old b=new,new : RegionEnd"], "{way}");
        engine.disable_table(&name).unwrap();
        engine.drop_table(&name).unwrap();
        engine.close().unwrap();
    }
}

#[test]
fn what_is_applied_and_not_durable_is_seen_only_by_those_who_ask_for_it() {
    let engine = engine(&SimEnv::new(1), &[]);
    put(&engine, "a", "durable");
    let pending = engine.table(&name()).unwrap().submit(vec![RowOp::Put(Put::new("b").add("f", "q", "applied"))]);
    let at = |at| answers(region(&engine).scan_at(&Scan::all(), Tier::Disk, at).unwrap(), ScanBudget::default());
    assert_eq!(at(ReadAt::Committed), ["a=durable : RegionEnd"]);
    assert_eq!(at(ReadAt::Applied), ["a=durable b=applied : RegionEnd"]);
    pending.ticket.wait().unwrap();
    assert_eq!(at(ReadAt::Committed), ["a=durable b=applied : RegionEnd"]);
}

#[test]
fn an_open_scanner_sees_its_read_point_through_flush_compaction_and_split() {
    let engine = engine(&SimEnv::new(1), &[]);
    for row in ["a", "b", "c"] {
        put(&engine, row, "old");
    }
    engine.flush(&name()).unwrap();
    let mut scanner = open(&engine, &Scan::all());
    let next = ScanBudget { results: 1, ..ScanBudget::default() };
    assert_eq!(rows(&scanner.next_rows(next).unwrap()), "a=old");
    for round in 0..4 {
        put(&engine, "b", &format!("new{round}"));
        engine.flush(&name()).unwrap();
    }
    engine.compact(&name(), None, CompactionKind::Major).unwrap();
    assert_eq!(rows(&scanner.next_rows(next).unwrap()), "b=old");
    engine.split_region(&region(&engine).info().encoded_name, Some("b".into())).unwrap();
    while engine.step().unwrap() {}
    assert_eq!(rows(&scanner.next_rows(next).unwrap()), "c=old");
}

#[test]
fn the_trace_tells_where_the_bytes_came_from() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let mut memstore = open(&engine, &Scan::all());
    memstore.next_rows(ScanBudget::default()).unwrap();
    assert_eq!((memstore.trace().memstore_bytes_read(), memstore.trace().data_block_bytes()), (24 * CELL as u64, 0));
    engine.flush(&name()).unwrap();
    let scanned = || {
        let mut scanner = open(&engine, &Scan::all());
        scanner.next_rows(ScanBudget::default()).unwrap();
        let trace = scanner.trace();
        (trace.blocks_read(), trace.block_bytes_read() > 0, trace.block_bytes_cached() > 0, trace.data_block_bytes(), trace.memstore_bytes_read())
    };
    let (first, second) = (scanned(), scanned());
    assert_eq!((first.0, first.1, first.2, first.4), (2, true, false, 0));
    assert_eq!((second.0, second.1, second.2, second.4), (0, false, true, 0));
    assert_eq!(first.3, second.3);
    assert!(first.3 >= 24 * (CELL as u64 - 4), "{}", first.3);
}

#[test]
fn how_long_the_disk_takes_is_measured_for_those_who_ask_and_only_of_what_comes_from_it() {
    let clock = Arc::new(Ticking(AtomicU64::new(0)));
    let env = Env { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..SimEnv::new(1).env() };
    let mut options = Options::default();
    options.block_cache_bytes = 0;
    let engine = Engine::open(env, options).unwrap();
    engine.create_table(TableDescriptor::new(name()).family(FamilyDescriptor::new("f")), Vec::new()).unwrap();
    put(&engine, "a", "1");
    let scanned = |is_wanted: bool| {
        let mut scanner = open(&engine, &Scan::all());
        scanner.time_block_reads(is_wanted);
        let looks = clock.0.load(Ordering::Relaxed);
        scanner.next_rows(ScanBudget::default()).unwrap();
        let looks = clock.0.load(Ordering::Relaxed) - looks;
        (scanner.trace().blocks_read(), scanner.trace().block_read_ns(), looks / 1_000_000)
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
        (0..200).filter(|row| row % (layer + 1) == 0).for_each(|row| put(&engine, &format!("{row:03}"), &format!("{layer}")));
        if layer < 2 {
            engine.flush(&name()).unwrap();
        }
    }
    engine
}

#[test]
fn a_try_in_memory_gives_what_is_there_or_leaves_the_scan_where_it_was() {
    let engine = layered(&SimEnv::new(1));
    let region = region(&engine);
    for reverse in [false, true] {
        let scan = Scan::all().reverse(reverse);
        let budget = ScanBudget { results: 7, ..ScanBudget::default() };
        let all = answers(open(&engine, &scan), budget);
        let mut scanner = open(&engine, &scan);
        let (mut found, mut tried, mut in_vain) = (Vec::new(), 0, 0);
        while found.len() < all.len() {
            if found.len() % 3 == 0 {
                engine.forget_blocks(&region.info().encoded_name).unwrap();
            }
            let batch = scanner.try_rows(budget).unwrap();
            tried += usize::from(batch.is_some());
            in_vain += usize::from(batch.is_none());
            let batch = batch.unwrap_or_else(|| scanner.next_rows(budget).unwrap());
            found.push(format!("{} : {:?}", rows(&batch), batch.stopped));
        }
        assert_eq!(found, all);
        assert!(tried > 5 && in_vain > 5, "{tried} answers from memory, {in_vain} not");
        assert_eq!(scanner.trace().rows_examined(), 200, "a row is counted once, however often it was tried");
        assert_eq!(scanner.trace().rows_returned(), 200);
    }
}

#[test]
fn a_try_that_would_end_inside_a_row_comes_to_nothing() {
    let engine = engine(&SimEnv::new(1), &[]);
    wide(&engine);
    let mut scanner = open(&engine, &Scan::range("a", "c").family("f"));
    let budget = ScanBudget { cells_examined: 2, cut_rows: true, ..ScanBudget::default() };
    assert_eq!(scanner.try_rows(budget).unwrap(), None);
    assert_eq!(scanner.trace().cells_examined(), 0, "what is looked at again counts once");
    assert_eq!(rows(&scanner.next_rows(budget).unwrap()), "a=f1,f2..");
    assert_eq!((scanner.trace().rows_examined(), scanner.trace().cells_examined(), scanner.trace().cells_returned()), (1, 2, 2));
    assert_eq!(scanner.try_rows(ScanBudget::default()).unwrap(), None, "it stands in a row");
    assert_eq!(rows(&scanner.next_rows(ScanBudget::default()).unwrap()), "a=f3 b=f1,f2,f3");
}

#[test]
fn a_try_leaves_a_long_row_to_a_thread_with_time_even_if_it_is_not_to_be_cut() {
    let engine = engine(&SimEnv::new(1), &[]);
    for (row, cells) in [("a", MEMORY_CELLS_MAX), ("b", 2 * MEMORY_CELLS_MAX)] {
        apply(&engine, RowOp::Put((0..cells).fold(Put::new(row), |put, at| put.add("f", format!("{at:06}"), "v"))));
    }
    let budget = ScanBudget { cells_examined: 10, ..ScanBudget::default() };
    let mut scanner = open(&engine, &Scan::all());
    let cells = |batch: &ScanBatch| batch.rows.iter().map(|row| row.len() as u64).collect::<Vec<_>>();
    assert_eq!(scanner.try_rows(budget).unwrap().map(|batch| cells(&batch)), Some(vec![MEMORY_CELLS_MAX]));
    assert_eq!(scanner.try_rows(budget).unwrap(), None);
    assert_eq!(cells(&scanner.next_rows(budget).unwrap()), [2 * MEMORY_CELLS_MAX]);
}

#[test]
fn scan_try_stops_at_bytes_and_leaves_large_rows() {
    let engine = engine(&SimEnv::new(1), &[]);
    let put = |row: String, bytes: usize| apply(&engine, RowOp::Put(Put::new(row).add("f", "a", "x".repeat(bytes)).add("f", "b", "v")));
    (0..8).for_each(|row| put(format!("a{row}"), MEMORY_BYTES_MAX / 3));
    put("b".to_owned(), 3 * MEMORY_BYTES_MAX);
    for cut_rows in [false, true] {
        let budget = ScanBudget { cut_rows, ..ScanBudget::default() };
        let mut scanner = open(&engine, &Scan::all());
        let mut tried = || scanner.try_rows(budget).unwrap().map(|batch| (batch.rows.len(), batch.stopped));
        // Each call ends at the first row that reaches the limit.
        assert_eq!([tried(), tried()], [Some((3, StopReason::Cells)); 2]);
        // The last two rows fit, and the large one is not begun.
        assert_eq!(tried(), Some((2, StopReason::Cells)));
        assert_eq!(tried(), None);
        let batch = scanner.next_rows(budget).unwrap();
        assert_eq!((batch.rows.len(), batch.rows[0].cells().bytes().len() > 3 * MEMORY_BYTES_MAX, batch.more()), (1, true, false));
    }
}

/// Answers are kept for clients that ask again, and counted by their bytes.
#[test]
fn a_small_answer_does_not_keep_the_room_of_a_large_one_before() {
    let engine = engine(&SimEnv::new(1), &[]);
    put(&engine, "a", &"x".repeat(1 << 20));
    put(&engine, "b", "small");
    put(&engine, "c", "small");
    let mut scanner = open(&engine, &Scan::all());
    let budget = ScanBudget { results: 1, ..ScanBudget::default() };
    assert!(scanner.next_rows(budget).unwrap().rows[0].cells().bytes().len() > 1 << 20);
    let row = scanner.next_rows(budget).unwrap().rows.remove(0);
    let bytes = row.into_cells().bytes().clone();
    let (len, room) = (bytes.len(), bytes.try_into_mut().unwrap().capacity());
    assert!(room <= 2 * len, "{room} bytes are kept for {len}");
}

#[test]
fn the_blocks_of_a_file_go_from_the_cache_with_its_last_reader() {
    let engine = layered(&SimEnv::new(1));
    engine.flush(&name()).unwrap();
    let mut reading = open(&engine, &Scan::all());
    reading.next_rows(ScanBudget { rows: 1, ..ScanBudget::default() }).unwrap();
    answers(open(&engine, &Scan::all()), ScanBudget::default());
    let cached = engine.status().block_cache_bytes;
    assert!(cached > 0);
    engine.compact(&name(), None, CompactionKind::Major).unwrap();
    assert!(engine.status().block_cache_bytes >= cached, "the old files are still being read");
    drop(reading);
    assert_eq!(engine.status().block_cache_bytes, 0, "of the new file nothing has been read");
}

/// HBase counts the encoded cells of one family that a read puts together (`StoreScanner`), and fails with the first too many.
#[test]
fn a_row_with_more_bytes_than_are_put_together_is_refused_unless_it_is_cut() {
    let mut options = Options::default();
    options.row_bytes_max = 3 * CELL as u64;
    let engine = Engine::open(SimEnv::new(1).env(), options).unwrap();
    let table = || TableDescriptor::new(name()).family(FamilyDescriptor::new("f")).family(FamilyDescriptor::new("g"));
    engine.create_table(table(), Vec::new()).unwrap();
    wide(&engine);
    let trace = Arc::new(ReadTrace::default());
    let get = |get: Get| region(&engine).get(&get, Tier::Disk, &trace).map(|row| row.len()).map_err(|error| error.kind());
    // Each family may have as many.
    assert_eq!(get(Get::new("a")), Ok(6));
    apply(&engine, RowOp::Put((4..100).fold(Put::new("b"), |put, column| put.add("f", column.to_string(), "v"))));
    assert_eq!(get(Get::new("b")), Err(ErrorKind::RowTooBig));
    assert_eq!((get(Get::new("b").family("g")), get(Get::new("b").column("f", "99"))), (Ok(3), Ok(1)));
    // What a filter takes of a cell counts whole; what is passed over does not count.
    assert_eq!(get(Get::new("b").filter(Filter::KeyOnly(false))), Err(ErrorKind::RowTooBig));
    assert_eq!(
        get(Get::new("b").filter(Filter::ColumnRange { min: Some("97".into()), min_inclusive: true, max: None, max_inclusive: false })),
        Ok(3)
    );

    let scan = |scan: &Scan, budget: ScanBudget| open(&engine, scan).next_rows(budget).map(|batch| batch.rows.len()).map_err(|error| error.kind());
    assert_eq!(scan(&Scan::all(), ScanBudget::default()), Err(ErrorKind::RowTooBig));
    let raw = Scan::all().raw(true);
    assert_eq!(scan(&raw, ScanBudget { cut_rows: true, ..ScanBudget::default() }), Err(ErrorKind::RowTooBig));
    let cut = ScanBudget { cut_rows: true, bytes: 2 * counted_bytes(1, CELL), ..ScanBudget::default() };
    assert!(answers(open(&engine, &Scan::all()), cut).iter().any(|answer| answer.contains("b=")));
    assert_eq!(answers(open(&engine, &Scan::all().batch(3)), ScanBudget::default()).len(), 1);

    // The rest of the row is not even read: of its twenty blocks one, and what leads there.
    apply(&engine, RowOp::Put((0..200).fold(Put::new("z"), |put, column| put.add("f", format!("{column:03}"), vec![7; 6000]))));
    engine.flush(&name()).unwrap();
    let before = trace.blocks_read();
    assert_eq!(get(Get::new("z").family("f")), Err(ErrorKind::RowTooBig));
    assert!(trace.blocks_read() - before < 5, "{}", trace.blocks_read() - before);

    // The table says otherwise, and one family of it otherwise again.
    let mut small = FamilyDescriptor::new("g");
    small.configuration.insert("hbase.table.max.rowsize".to_owned(), CELL.to_string());
    engine.alter_table(TableDescriptor::new(name()).set("hbase.table.max.rowsize", 0).family(FamilyDescriptor::new("f")).family(small)).unwrap();
    assert_eq!((get(Get::new("b").family("f")), get(Get::new("b"))), (Ok(99), Err(ErrorKind::RowTooBig)));
}

#[test]
fn scanners_share_the_memory_that_is_kept_for_them() {
    const LARGE: usize = 1 << 20;
    let engine = engine(&SimEnv::new(1), &[]);
    ["a", "b", "c"].into_iter().for_each(|row| put(&engine, row, &"v".repeat(LARGE)));
    let next = |scanner: &mut RegionScanner| drop(scanner.next_rows(ScanBudget { results: 1, ..ScanBudget::default() }).unwrap());
    let (mut one, mut two) = (open(&engine, &Scan::all()), open(&engine, &Scan::all()));
    next(&mut one);
    next(&mut two);
    let held = |scanner: &RegionScanner| scanner.held_bytes() * 10 / LARGE;
    assert_eq!((held(&one), held(&two)), (0, 0), "the memstore is the region's");
    engine.flush(&name()).unwrap();
    assert_eq!((held(&one), held(&two)), (15, 15), "it is theirs now");
    drop(two);
    assert_eq!(held(&one), 30);
    // One that began later stands in a block of the file, which has the cache to share it with.
    let mut three = open(&engine, &Scan::all());
    next(&mut three);
    assert_eq!(held(&three), 5);
    next(&mut one);
    assert_eq!(rows(&one.next_rows(ScanBudget::default()).unwrap()).len(), "c=".len() + LARGE);
}
