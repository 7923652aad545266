//! Merged columns: a contribution counts once, whatever was flushed, compacted, split or lost.
#![expect(clippy::cast_possible_truncation, reason = "random numbers below small ones")]

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options};
use halite_types::rng::SplitMix64;
use halite_types::{
    Append, Bitmap, CompactionKind, Delete, ErrorKind, FamilyDescriptor, Get, Hll, Increment,
    MergeOperator, Put, ReadTier, RowOp, Scan, TableDescriptor, TimeRange,
};

use crate::support::{apply, name, region};

const OPERATORS: [MergeOperator; 5] = MergeOperator::ALL;

fn open(sim: &SimEnv) -> Result<Arc<Engine>, halite_types::Error> {
    let mut options = Options::default();
    (options.in_memory_compaction_bytes, options.memstore_chunk_bytes) = (8 << 10, 4096);
    Engine::open(sim.env(), options)
}

fn table() -> TableDescriptor {
    OPERATORS.into_iter().fold(TableDescriptor::new(name()), |table, operator| {
        let family = operator.name().to_lowercase();
        table.family(FamilyDescriptor::new(family).set("MERGE", operator))
    })
}

fn engine(sim: &SimEnv) -> Arc<Engine> {
    let engine = open(sim).unwrap();
    engine.create_table(table(), Vec::new()).unwrap();
    engine
}

fn family(operator: MergeOperator) -> String {
    operator.name().to_lowercase()
}

/// Returns the contribution of a number.
fn contribution(operator: MergeOperator, number: u32) -> Vec<u8> {
    match operator {
        MergeOperator::Hll => Hll::of(&number.to_be_bytes()).to_bytes(),
        MergeOperator::Bitmap => Bitmap::of(number).to_bytes(),
        _ => i64::from(number).to_be_bytes().to_vec(),
    }
}

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }
}

/// Contributions of columns: row, family and qualifier.
type Model = BTreeMap<(String, String, String), Vec<(MergeOperator, u32)>>;

fn expected(model: &Model) -> Vec<(String, Vec<u8>)> {
    model
        .iter()
        .filter_map(|((row, family, qualifier), numbers)| {
            let merged = numbers
                .iter()
                .map(|(operator, number)| (*operator, contribution(*operator, *number)));
            let merged = merged.reduce(|(operator, all), (_, more)| {
                (operator, operator.merge(&all, &more).unwrap())
            })?;
            Some((format!("{row}/{family}:{qualifier}"), merged.1))
        })
        .collect()
}

fn found(engine: &Engine, scan: Scan) -> Vec<(String, Vec<u8>)> {
    try_found(engine, scan).unwrap()
}

fn try_found(engine: &Engine, scan: Scan) -> Result<Vec<(String, Vec<u8>)>, halite_types::Error> {
    let mut scanner = engine.table(&name()).unwrap().scan(scan, ReadTier::Disk);
    let mut found = Vec::new();
    loop {
        let rows = scanner.next_rows()?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            found.extend(row.iter().map(|cell| {
                let column = format!("{}:{}", text(cell.family()), text(cell.qualifier()));
                (format!("{}/{column}", text(row.key())), cell.value().to_vec())
            }));
        }
    }
    found.sort();
    Ok(found)
}

fn try_apply(engine: &Engine, op: RowOp) -> Result<(), halite_types::Error> {
    engine.table(&name())?.batch(vec![op])?.pop().unwrap().map(drop)
}

/// Effect of a write on the model.
type Effect = Box<dyn Fn(&mut Model)>;

/// Returns a random write, and its effect.
fn random_write(rng: &mut Random) -> (RowOp, Effect) {
    let row = format!("r{}", rng.below(3));
    let qualifier = ["", "p", "q"][rng.below(3) as usize].to_owned();
    let operator = OPERATORS[rng.below(5) as usize];
    let (family, number) = (family(operator), rng.below(50) as u32);
    let key = (row.clone(), family.clone(), qualifier.clone());
    match rng.below(20) {
        0 => {
            let op = Delete::new(row.clone());
            (op.into(), Box::new(move |model| model.retain(|(known, _, _), _| *known != row)))
        }
        1 => {
            let op = Delete::new(row.clone()).family(family.clone());
            let keep = move |model: &mut Model| {
                model.retain(|key, _| (&key.0, &key.1) != (&row, &family));
            };
            (op.into(), Box::new(keep))
        }
        2 => {
            let op = Delete::new(row).column(family, qualifier);
            (op.into(), Box::new(move |model| drop(model.remove(&key))))
        }
        3..=6 => {
            let op = Increment::new(row.clone()).add("sum", qualifier.clone(), i64::from(number));
            let key = (row, "sum".to_owned(), qualifier);
            let add = move |model: &mut Model| {
                model.entry(key.clone()).or_default().push((MergeOperator::Sum, number));
            };
            (op.into(), Box::new(add))
        }
        _ => {
            // Two contributions of one operation, in one column.
            let value = contribution(operator, number);
            let op = Put::new(row)
                .add(family.clone(), qualifier.clone(), value.clone())
                .add(family, qualifier, value);
            let add = move |model: &mut Model| {
                let numbers = model.entry(key.clone()).or_default();
                numbers.extend([(operator, number); 2]);
            };
            (op.into(), Box::new(add))
        }
    }
}

fn random_maintenance(engine: &Arc<Engine>, rng: &mut Random) -> Result<(), halite_types::Error> {
    let regions = engine.table(&name())?.regions();
    let region = &regions[rng.below(regions.len() as u64) as usize];
    match rng.below(8) {
        0 | 1 => region.flush().map(drop),
        2 => region.compact_retaining_deletes(),
        3 => engine.compact(&name(), None, CompactionKind::Major),
        4 if regions.len() == 1 => {
            engine.split_region(&region.info().encoded_name, Some("r1".into()))
        }
        4 => engine.merge_regions(
            &regions[0].info().encoded_name,
            &regions[1].info().encoded_name,
            false,
        ),
        _ => {
            while engine.run_one_job()? {}
            Ok(())
        }
    }
}

/// Applies random writes with flushes, compactions, splits, merges and power losses at any call of
/// the disk. Reads agree with the contributions after each step.
fn run(seed: u64) -> usize {
    let (sim, mut rng) = (SimEnv::new(seed), Random(SplitMix64::new(seed)));
    let (mut engine, mut model, mut crashes) = (engine(&sim), Model::new(), 0);
    sim.fs.crash_at_call(sim.fs.calls() + rng.below(300));
    for step in 0..150 {
        if rng.below(3) == 0 {
            sim.clock.advance_ms(rng.below(3) as u32);
        }
        let (mut done, mut change): (_, Option<Effect>) = (Ok(()), None);
        if rng.below(4) > 0 {
            let (op, effect) = random_write(&mut rng);
            let is_delete = matches!(op, RowOp::Delete(_));
            done = try_apply(&engine, op);
            // A real clock is waited for.
            sim.clock.advance_ms(u32::from(is_delete));
            change = Some(effect);
        } else {
            let result = random_maintenance(&engine, &mut rng);
            assert!(result.is_ok() || sim.fs.is_gone(), "seed {seed} step {step}: {result:?}");
        }
        let mut changed = model.clone();
        if let Some(change) = change {
            change(&mut changed);
        }
        if sim.fs.is_gone() {
            drop(engine);
            sim.fs.crash(rng.0.next_u64());
            // A restart takes longer than a millisecond: a put in that of a delete before would be
            // hidden by it, as in HBase.
            sim.clock.advance_ms(1);
            engine = open(&sim).unwrap();
            crashes += 1;
            let now = found(&engine, Scan::all());
            // A write that was not acknowledged is there as a whole or not at all.
            let is_new = now == expected(&changed);
            assert!(
                is_new || (done.is_err() && now == expected(&model)),
                "seed {seed} step {step}: {done:?}"
            );
            model = if is_new { changed } else { model };
            sim.fs.crash_at_call(sim.fs.calls() + rng.below(300));
        } else {
            done.unwrap();
            model = changed;
            match try_found(&engine, Scan::all()) {
                Ok(found) => assert_eq!(found, expected(&model), "seed {seed} step {step}"),
                Err(error) => assert!(sim.fs.is_gone(), "seed {seed} step {step}: {error}"),
            }
        }
    }
    crashes
}

#[test]
fn contributions_count_once_through_crashes_and_compactions() {
    let crashes: usize = (0..120).map(run).sum();
    assert!(crashes > 200, "{crashes}");
}

fn sum(engine: &Engine, get: &Get) -> Option<i64> {
    let row = region(engine).get(get, ReadTier::Disk, &Arc::default()).unwrap();
    row.iter().next().map(|cell| i64::from_be_bytes(cell.value().try_into().unwrap()))
}

fn add(engine: &Engine, number: i64) {
    apply(engine, Put::new("r").add("sum", "q", number.to_be_bytes()).into());
}

#[test]
fn read_answers_one_cell_in_every_kind_of_read() {
    let sim = SimEnv::new(1);
    let engine = engine(&sim);
    let start = 1_000_000_000_000;
    for number in [1, 2, 4, 8] {
        sim.clock.advance_ms(10);
        add(&engine, number);
        if number != 8 {
            region(&engine).flush().unwrap();
        }
    }
    let get = || Get::new("r").column("sum", "q");
    assert_eq!(sum(&engine, &get()), Some(15));
    assert_eq!(sum(&engine, &get().versions(9)), Some(15));
    let all = found(&engine, Scan::all().reverse(true).versions(9));
    assert_eq!(all, [("r/sum:q".to_owned(), 15_i64.to_be_bytes().to_vec())]);
    // By the newest contribution, before and after they are merged.
    let old = TimeRange::new(0, start + 30).unwrap();
    let new = TimeRange::new(start + 40, start + 50).unwrap();
    let ranges = |engine: &Engine| {
        [sum(engine, &get().time_range(old)), sum(engine, &get().time_range(new))]
    };
    assert_eq!(ranges(&engine), [None, Some(15)]);
    let mut raw = Scan::all();
    raw.raw = true;
    assert_eq!(found(&engine, raw.clone().versions(9)).len(), 4, "a raw scan shows contributions");
    region(&engine).flush().unwrap();
    engine.compact(&name(), None, CompactionKind::Major).unwrap();
    assert_eq!((ranges(&engine), found(&engine, raw.versions(9)).len()), ([None, Some(15)], 1));
}

#[test]
fn expired_contributions_are_not_merged_into_later_ones() {
    let sim = SimEnv::new(1);
    let engine = open(&sim).unwrap();
    let family = FamilyDescriptor::new("sum").set("MERGE", "sum").ttl_seconds(10);
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::new()).unwrap();
    add(&engine, 1);
    sim.clock.advance_ms(8_000);
    add(&engine, 2);
    let get = Get::new("r").column("sum", "q");
    assert_eq!(sum(&engine, &get), Some(3));
    sim.clock.advance_ms(8_000);
    assert_eq!(sum(&engine, &get), Some(2));
    region(&engine).flush().unwrap();
    assert_eq!(sum(&engine, &get), Some(2));
    sim.clock.advance_ms(8_000);
    assert_eq!(sum(&engine, &get), None);
}

#[test]
fn increment_returns_the_merged_sum() {
    let engine = engine(&SimEnv::new(1));
    add(&engine, 40);
    let op = Increment::new("r").add("sum", "q", 2);
    let result = engine.table(&name()).unwrap().batch(vec![op.into()]).unwrap().remove(0).unwrap();
    assert_eq!(result.row.iter().next().unwrap().value(), 42_i64.to_be_bytes());
    assert_eq!(sum(&engine, &Get::new("r").column("sum", "q")), Some(42));
}

#[test]
fn operations_that_would_depend_on_compactions_are_refused() {
    let engine = engine(&SimEnv::new(1));
    let one = || 1_i64.to_be_bytes().to_vec();
    let refused: Vec<RowOp> = vec![
        Put::new("r").add_at("sum", "q", 5, one()).into(),
        Put::new("r").add("sum", "q", "text").into(),
        Put::new("r").add("hll", "q", one()).into(),
        Put::new("r").add("bitmap", "q", one()).into(),
        Increment::new("r").add("max", "q", 1).into(),
        Append::new("r").add("sum", "q", one()).into(),
        Delete::new("r").newest("sum", "q").into(),
        Delete::new("r").column_up_to("sum", "q", 5).into(),
        Delete::new("r").up_to(5).into(),
    ];
    for op in refused {
        let error = try_apply(&engine, op.clone()).expect_err(&format!("{op:?}"));
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    }
    assert_eq!(found(&engine, Scan::all()), []);
}

#[test]
fn attribute_is_checked_when_a_table_is_created_or_altered() {
    let engine = engine(&SimEnv::new(1));
    let other =
        |family: FamilyDescriptor| TableDescriptor::new("u".parse().unwrap()).family(family);
    let unknown = other(FamilyDescriptor::new("f").set("MERGE", "SUMM"));
    let error = engine.create_table(unknown, Vec::new()).unwrap_err();
    assert!(error.message().contains("SUM, MIN, MAX, HLL, BITMAP"), "{error}");
    let versions = other(FamilyDescriptor::new("f").set("MERGE", "SUM").versions(3));
    assert!(engine.create_table(versions, Vec::new()).unwrap_err().message().contains("VERSIONS"));
    let mut altered = table();
    altered.set_family(FamilyDescriptor::new("sum").set("MERGE", "MAX"));
    assert!(engine.alter_table(altered).unwrap_err().message().contains("cannot become MAX"));
    let mut altered = table();
    altered.set_family(FamilyDescriptor::new("sum"));
    assert!(engine.alter_table(altered).unwrap_err().message().contains("cannot become none"));
}

#[test]
fn hot_column_takes_the_memory_of_one_cell() {
    let engine = engine(&SimEnv::new(1));
    for _ in 0..20_000 {
        add(&engine, 1);
        while engine.run_one_job().unwrap() {}
    }
    assert!(region(&engine).load().memstore_bytes < 64 << 10);
    assert_eq!(sum(&engine, &Get::new("r").column("sum", "q")), Some(20_000));
}
