//! Stores with stripes: reads as those of a store without, and what a crash leaves.

use std::sync::Arc;

use halite_engine::env::rng::SeededRng;
use halite_engine::env::sim::SimEnv;
use halite_engine::hfile::{FileInfo, Reader};
use halite_engine::{Engine, Options};
use halite_types::{
    CompactionKind, Delete, FamilyDescriptor, Put, ReadTier, Result, RowOp, Scan, TableDescriptor,
    TableName,
};

use crate::support::{apply, format_row, name, region};

const ENGINE_CLASS: &str = "hbase.hstore.engine.class";
const STRIPES: &str = "org.apache.hadoop.hbase.regionserver.StripeStoreEngine";

fn table_name(name: &str) -> TableName {
    name.parse().unwrap()
}

/// Returns a family with small stripes, which are merged from two files on.
fn striped_family() -> FamilyDescriptor {
    let set = |family: FamilyDescriptor, (name, value): (&str, &str)| {
        family.set(format!("hbase.store.stripe.{name}"), value)
    };
    let family = FamilyDescriptor::new("f").versions(3).set(ENGINE_CLASS, STRIPES);
    [
        ("initialStripeCount", "2"),
        ("compaction.minFiles", "2"),
        ("compaction.minFilesL0", "2"),
        ("sizeToSplit", "20000"),
    ]
    .into_iter()
    .fold(family, set)
}

fn striped_table(name: TableName) -> TableDescriptor {
    TableDescriptor::new(name).family(striped_family())
}

fn plain_table(name: TableName) -> TableDescriptor {
    TableDescriptor::new(name).family(FamilyDescriptor::new("f").versions(3))
}

fn run_jobs(engine: &Engine) {
    while engine.run_one_job().unwrap() {}
}

fn rows(engine: &Engine, table: &TableName, scan: &Scan) -> Vec<String> {
    let mut rows = Vec::new();
    for region in engine.table(table).unwrap().regions().iter() {
        let mut scanner = region.scan(scan, ReadTier::Disk).unwrap();
        loop {
            let batch = scanner.next_rows(halite_engine::scan::ScanLimits::default()).unwrap();
            rows.extend(batch.rows.iter().map(format_row));
            if batch.rows.is_empty() {
                break;
            }
        }
    }
    rows
}

fn all_rows(engine: &Engine, table: &TableName) -> Vec<String> {
    rows(engine, table, &Scan::all().all_versions())
}

/// Returns the bounds in the files of a table's live store files, and their numbers of cells.
fn stripes_on_disk(sim: &SimEnv, table: &TableName) -> Vec<(Option<(String, String)>, u64)> {
    let of_table = format!("data/default/{table}/");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let bounds = |info: &FileInfo| {
        Some((text(info.get("STRIPE_START_KEY")?), text(info.get("STRIPE_END_KEY")?)))
    };
    let mut found: Vec<_> = sim
        .fs
        .files()
        .into_keys()
        .filter(|path| {
            path.starts_with(&of_table) && path.contains("/f/") && !path.contains("/.tmp/")
        })
        .map(|path| {
            let file = sim.env().fs.open(&path).unwrap();
            let reader = Reader::open(file, &path).unwrap();
            (bounds(reader.info()), reader.entry_count())
        })
        .collect();
    found.sort();
    found
}

/// Applies the same random operations to two tables.
struct Pair {
    engine: Arc<Engine>,
    rng: SeededRng,
    written: u64,
}

impl Pair {
    fn tables() -> [TableName; 2] {
        [table_name("striped"), table_name("plain")]
    }

    fn write(&mut self, sim: &SimEnv, rows: u64) {
        let row = format!("r{:04}", self.rng.below(rows));
        self.written += 1;
        // Each write is newer than the ones before, whatever was compacted in between.
        sim.clock.advance_ms(1);
        let op = match self.rng.below(10) {
            0 => RowOp::Delete(Delete::new(row).family("f")),
            1 => RowOp::Delete(Delete::new(row).column("f", "q1")),
            _ => {
                let qualifier = ["q0", "q1", "q2"][self.rng.up_to(2)];
                let value = format!("v{}{}", self.written, "x".repeat(self.rng.up_to(60)));
                RowOp::Put(Put::new(row).add("f", qualifier, value))
            }
        };
        for table in Self::tables() {
            let table = self.engine.table(&table).unwrap();
            table.batch(vec![op.clone()]).unwrap().pop().unwrap().unwrap();
        }
    }

    fn compare(&self, context: &str) {
        let [striped, plain] = Self::tables();
        for scan in [Scan::all().all_versions(), Scan::range("r0100", "r0222")] {
            let of = |table| rows(&self.engine, table, &scan);
            let (found, expected) = (of(&striped), of(&plain));
            let different = found.iter().zip(&expected).find(|(one, other)| one != other);
            assert_eq!((different, found.len()), (None, expected.len()), "{context}");
        }
    }
}

#[test]
fn striped_table_reads_as_one_without_stripes() {
    for seed in 0..6 {
        let sim = SimEnv::new(seed);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let [striped, plain] = Pair::tables();
        engine.create_table(striped_table(striped.clone()), Vec::new()).unwrap();
        engine.create_table(plain_table(plain.clone()), Vec::new()).unwrap();
        let mut pair = Pair { engine, rng: SeededRng::new(seed), written: 0 };
        let mut is_striped = true;
        for round in 0..40 {
            (0..30).for_each(|_| pair.write(&sim, 300));
            let region = |engine: &Engine| {
                let regions = engine.table(&striped).unwrap().regions();
                Arc::clone(&regions[pair.rng.up_to(regions.len() - 1)])
            };
            let step = pair.rng.below(14);
            match step {
                0..8 => pair.engine.flush(&striped).unwrap(),
                8 => region(&pair.engine).compact(None, CompactionKind::Minor).unwrap(),
                9 => region(&pair.engine).compact(None, CompactionKind::Major).unwrap(),
                10 => {
                    // Too small a region has no middle.
                    let name = region(&pair.engine).info().encoded_name.clone();
                    let _ = pair.engine.split_region(&name, None);
                }
                11 => {
                    is_striped = !is_striped;
                    let table = if is_striped { striped_table } else { plain_table };
                    pair.engine.alter_table(table(striped.clone())).unwrap();
                }
                12 => {
                    pair.engine.close().unwrap();
                    pair.engine = Engine::open(sim.env(), Options::default()).unwrap();
                }
                _ => run_jobs(&pair.engine),
            }
            pair.compare(&format!("seed {seed}, round {round}, step {step}"));
        }
        run_jobs(&pair.engine);
        pair.compare(&format!("seed {seed} at the end"));
        pair.engine.close().unwrap();
    }
}

#[test]
fn flushes_and_compactions_write_files_with_bounds() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine.create_table(striped_table(name()), Vec::new()).unwrap();
    let put = |rows: std::ops::Range<u32>| {
        for row in rows {
            apply(&engine, RowOp::Put(Put::new(format!("r{row:03}")).add("f", "q", "v")));
        }
        engine.flush(&name()).unwrap();
    };
    let bounds = |start: &str, end: &str| Some((start.to_owned(), end.to_owned()));
    put(0..100);
    let halves = [(bounds("", "r050"), 50), (bounds("r050", ""), 50)];
    assert_eq!(stripes_on_disk(&sim, &name()), halves);
    put(60..70);
    assert_eq!(stripes_on_disk(&sim, &name()).len(), 3, "a stripe without cells has no new file");
    region(&engine).compact(None, CompactionKind::Minor).unwrap();
    assert_eq!(stripes_on_disk(&sim, &name()), halves);
    // A stripe without rows keeps a file, which has its bounds; a store without rows has none.
    let delete = |rows: std::ops::Range<u32>| {
        for row in rows {
            apply(&engine, RowOp::Delete(Delete::new(format!("r{row:03}")).family("f")));
        }
        engine.flush(&name()).unwrap();
    };
    delete(50..100);
    region(&engine).compact(None, CompactionKind::Minor).unwrap();
    let lower = [(bounds("", "r050"), 50), (bounds("r050", ""), 0)];
    assert_eq!(stripes_on_disk(&sim, &name()), lower);
    put(80..90);
    assert_eq!(all_rows(&engine, &name()).len(), 60);
    delete(0..100);
    region(&engine).compact(None, CompactionKind::Major).unwrap();
    assert_eq!(stripes_on_disk(&sim, &name()), []);
    engine.close().unwrap();
}

#[test]
fn grown_stripe_is_divided_and_region_split_at_border() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine.create_table(striped_table(name()), Vec::new()).unwrap();
    for value in 0..2 {
        for row in 0..200 {
            let value = format!("{value}{}", "x".repeat(60));
            apply(&engine, RowOp::Put(Put::new(format!("r{row:03}")).add("f", "q", value)));
        }
        engine.flush(&name()).unwrap();
    }
    let before = all_rows(&engine, &name());
    run_jobs(&engine);
    let stripes = stripes_on_disk(&sim, &name());
    assert!(stripes.len() > 3, "{stripes:?}");
    let is_adjacent = stripes.windows(2).all(|pair| {
        pair[0].0.as_ref().map(|(_, end)| end) == pair[1].0.as_ref().map(|(start, _)| start)
    });
    assert!(is_adjacent, "{stripes:?}");
    assert_eq!(all_rows(&engine, &name()), before);
    engine.split_region(&region(&engine).info().encoded_name.clone(), None).unwrap();
    let border = engine.table(&name()).unwrap().regions()[1].info().start.clone();
    let starts = |(bounds, _): &(Option<(String, String)>, u64)| {
        bounds.as_ref().is_some_and(|(start, _)| start.as_bytes() == border)
    };
    assert!(stripes.iter().any(starts), "{border:?} in {stripes:?}");
    assert_eq!(all_rows(&engine, &name()), before);
    run_jobs(&engine);
    let halves = engine.table(&name()).unwrap().regions();
    assert!(halves.iter().all(|region| region.is_splittable()));
    assert_eq!(all_rows(&engine, &name()), before);
    engine.close().unwrap();
}

#[test]
fn read_of_range_skips_files_of_other_stripes() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    engine.create_table(striped_table(name()), Vec::new()).unwrap();
    for row in 0..100 {
        apply(&engine, RowOp::Put(Put::new(format!("r{row:03}")).add("f", "q", "v")));
    }
    engine.flush(&name()).unwrap();
    let scan = Scan::range("r060", "r070");
    let mut scanner = region(&engine).scan(&scan, ReadTier::Disk).unwrap();
    let batch = scanner.next_rows(halite_engine::scan::ScanLimits::default()).unwrap();
    assert_eq!((batch.rows.len(), scanner.stats().files_out_of_range()), (10, 1));
}

#[test]
fn expired_stripes_are_dropped() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let family = striped_family().set("TTL", 10);
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    let put = |rows: std::ops::Range<u32>| {
        for row in rows {
            apply(&engine, RowOp::Put(Put::new(format!("r{row:03}")).add("f", "q", "v")));
        }
        engine.flush(&name()).unwrap();
    };
    put(0..100);
    sim.clock.advance_ms(20_000);
    put(50..60);
    run_jobs(&engine);
    let left = stripes_on_disk(&sim, &name());
    let cells: u64 = left.iter().map(|(_, cells)| cells).sum();
    assert_eq!((left.len(), cells), (1, 10), "{left:?}");
    assert_eq!(all_rows(&engine, &name()).len(), 10);
    engine.close().unwrap();
}

const ROWS_PER_FLUSH: usize = 40;

/// Writes, flushes, compacts and divides stripes until the disk fails. Returns the number of rows
/// that were acknowledged.
fn grow(engine: &Engine, written: &mut usize) -> Result<()> {
    let table = engine.table(&name())?;
    for flush in 0..4 {
        let put = |row| Put::new(format!("r{row:03}-{flush}")).add("f", "q", "x".repeat(100));
        let done = table.batch((0..ROWS_PER_FLUSH).map(|row| put(row).into()).collect())?;
        done.into_iter().try_for_each(|result| result.map(drop))?;
        *written += ROWS_PER_FLUSH;
        engine.flush(&name())?;
        if flush > 0 {
            table.regions()[0].compact(None, CompactionKind::Minor)?;
        }
    }
    table.regions()[0].compact(None, CompactionKind::Major)
}

#[test]
fn power_loss_at_any_call_loses_no_row_of_stripes() {
    for flushes_to_level0 in ["false", "true"] {
        for at in 1.. {
            let sim = SimEnv::new(at);
            let engine = Engine::open(sim.env(), Options::default()).unwrap();
            let setting = "hbase.store.stripe.compaction.flushToL0";
            let family = striped_family()
                .set(setting, flushes_to_level0)
                .set("hbase.store.stripe.sizeToSplit", "12000");
            engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
            sim.fs.crash_at_call(sim.fs.calls() + at);
            let mut written = 0;
            let grown = grow(&engine, &mut written);
            let is_gone = sim.fs.is_gone();
            assert!(grown.is_ok() || is_gone, "{grown:?}");
            drop(engine);
            sim.fs.crash(at);
            let engine = Engine::open(sim.env(), Options::default()).unwrap();
            let found = all_rows(&engine, &name());
            // The last batch may have reached the log unacknowledged.
            let possible = written..=written + ROWS_PER_FLUSH;
            assert!(possible.contains(&found.len()), "call {at}: {} of {written}", found.len());
            run_jobs(&engine);
            assert!(all_rows(&engine, &name()) == found, "call {at}");
            engine.close().unwrap();
            if !is_gone {
                let files = stripes_on_disk(&sim, &name()).len();
                assert!(at > 100 && files > 2, "{at} calls, {files} files");
                break;
            }
        }
    }
}
