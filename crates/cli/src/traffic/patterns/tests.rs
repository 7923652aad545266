//! The property that defines each shape, and equal operations for equal seeds.

use std::collections::HashMap;

use halite::Bytes;
use halite::rowkey::language::{Statement, statements};

use super::*;

const ROWS: u64 = 4000;
const DRAWS: usize = 20_000;

fn key(shape: Shape) -> KeySchema {
    match statements(&shape.statement(16)).unwrap().into_iter().next() {
        Some(Statement::CreateTable(declaration)) => declaration.key,
        other => panic!("{other:?}"),
    }
}

fn config(shape: Shape, seed: u64) -> PatternConfig {
    PatternConfig { shape, seed, rows: ROWS, rate: 1000, numbers: 0..0 }
}

fn pattern(shape: Shape, seed: u64) -> Box<dyn Pattern> {
    build(&config(shape, seed), &key(shape))
}

fn operations(shape: Shape, seed: u64) -> Vec<Operation> {
    let mut pattern = pattern(shape, seed);
    (0..DRAWS).map(|_| pattern.next()).collect()
}

fn row(operation: &Operation) -> &Bytes {
    match operation {
        Operation::Get(row) | Operation::Increment(row, _) | Operation::Delete(row) => row,
        Operation::Put(put) => &put.row,
        Operation::Scan { start, .. } => start,
    }
}

/// Part of the operations, from 0 to 1, for which something holds.
fn share(operations: &[Operation], holds: impl Fn(&Operation) -> bool) -> f64 {
    let count = operations.iter().filter(|operation| holds(operation)).count();
    f64::from(u32::try_from(count).unwrap()) / f64::from(u32::try_from(operations.len()).unwrap())
}

/// Operations on each row, most first.
fn counts<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Vec<(Bytes, usize)> {
    let mut counts: HashMap<Bytes, usize> = HashMap::new();
    operations.into_iter().for_each(|one| *counts.entry(row(one).clone()).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    counts
}

fn loaded_rows(pattern: &dyn Pattern) -> Vec<Bytes> {
    let mut rows: Vec<Bytes> = (0..ROWS).map(|number| pattern.row(number).row).collect();
    rows.sort();
    rows
}

#[test]
fn equal_seeds_give_equal_operations() {
    for shape in Shape::ALL {
        assert_eq!(operations(shape, 7), operations(shape, 7), "{}", shape.name());
        let is_random = shape != Shape::TombstoneHead;
        assert_eq!(operations(shape, 7) != operations(shape, 8), is_random, "{}", shape.name());
    }
}

#[test]
fn keys_are_those_of_the_declaration() {
    for shape in Shape::ALL {
        let (key, pattern) = (key(shape), pattern(shape, 1));
        let rows = loaded_rows(&*pattern);
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]), "{}: a row twice", shape.name());
        for operation in operations(shape, 1) {
            let row = row(&operation);
            if !row.is_empty() {
                key.decode(row).unwrap_or_else(|error| panic!("{}: {error}", shape.name()));
            }
        }
    }
}

#[test]
fn even_load_has_no_hot_row() {
    for shape in [Shape::Even, Shape::Periodic] {
        let operations = operations(shape, 3);
        let counts = counts(&operations);
        assert!(counts[0].1 < 25, "{}: {:?}", shape.name(), counts[0]);
        assert!(counts.len() > 3900, "{}", shape.name());
        for kind in [OperationKind::Get, OperationKind::Put, OperationKind::Scan] {
            assert!(share(&operations, |one| one.kind() == kind) > 0.03);
        }
    }
}

#[test]
fn frontier_puts_rise_and_gets_are_past_events() {
    let mut newest = Bytes::new();
    let mut first = None;
    for operation in operations(Shape::Frontier, 3) {
        match operation {
            Operation::Put(put) => {
                assert!(put.row > newest, "{:?}", put.row);
                first.get_or_insert_with(|| put.row.clone());
                newest = put.row;
            }
            Operation::Get(row) => assert!(row <= newest || newest.is_empty()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(first.unwrap(), "evt_000000004000");
    let puts = share(&operations(Shape::Frontier, 3), |one| one.kind() == OperationKind::Put);
    assert!((puts - 0.85).abs() < 0.02, "{puts}");
}

#[test]
fn frontier_and_queue_continue_after_existing_rows() {
    let mut events = build(
        &PatternConfig { numbers: 0..70_000, ..config(Shape::Frontier, 1) },
        &key(Shape::Frontier),
    );
    let first_put = std::iter::repeat_with(|| events.next())
        .find(|operation| operation.kind() == OperationKind::Put)
        .unwrap();
    assert_eq!(row(&first_put), "evt_000000070000");
    let shape = Shape::TombstoneHead;
    let mut tasks = build(&PatternConfig { numbers: 900..5000, ..config(shape, 1) }, &key(shape));
    let operations: Vec<Operation> = (0..3).map(|_| tasks.next()).collect();
    assert_eq!(row(&operations[1]), "task_000000005000");
    assert_eq!(operations[2], Operation::Delete("task_000000000900".into()));
}

#[test]
fn celebrity_has_thirty_percent_of_reads_and_counters() {
    let operations = operations(Shape::HotRow, 3);
    for kind in [OperationKind::Get, OperationKind::Increment] {
        let of_kind: Vec<&Operation> =
            operations.iter().filter(|operation| operation.kind() == kind).collect();
        let counts = counts(of_kind.iter().copied());
        let hot = share(&of_kind.iter().map(|one| (*one).clone()).collect::<Vec<_>>(), |one| {
            *row(one) == counts[0].0
        });
        assert!((hot - 0.3).abs() < 0.02, "{kind:?}: {hot}");
        assert!(counts[1].1 * 50 < counts[0].1, "{kind:?}: {:?}", &counts[..2]);
    }
}

#[test]
fn one_device_has_its_share_but_no_row_is_hot() {
    let operations = operations(Shape::HotPrefix, 3);
    let mut devices: HashMap<Bytes, usize> = HashMap::new();
    for operation in &operations {
        *devices.entry(row(operation).slice(..12)).or_default() += 1;
    }
    let (hot, _) = devices.iter().max_by_key(|(_, count)| **count).unwrap();
    let of_hot = share(&operations, |one| row(one).starts_with(hot));
    assert!((of_hot - 0.35).abs() < 0.02, "{of_hot}");
    let writes =
        share(&operations, |one| one.kind() == OperationKind::Put && row(one).starts_with(hot));
    assert!(writes < 0.01, "the device does not grow faster than others: {writes}");
    assert!(counts(&operations)[0].1 < DRAWS / 50, "{:?}", counts(&operations)[0]);
}

#[test]
fn hot_range_is_a_tenth_that_no_prefix_describes() {
    let operations = operations(Shape::HotRange, 3);
    let pattern = pattern(Shape::HotRange, 3);
    let rows = loaded_rows(&*pattern);
    let hot = numbered::hot_tenth(ROWS);
    let rank = |operation: &Operation| rows.binary_search(row(operation)).unwrap() as u64;
    let gets: Vec<Operation> =
        operations.into_iter().filter(|one| one.kind() == OperationKind::Get).collect();
    assert_eq!(hot.end - hot.start, ROWS / 10);
    let inside = share(&gets, |get| hot.contains(&rank(get)));
    assert!((inside - 0.8).abs() < 0.02, "{inside}");
    // A prefix that has nearly all of the range has half of the table, or more.
    let in_hot = |get: &&Operation| hot.contains(&rank(get));
    let hot_gets: Vec<Operation> = gets.iter().filter(in_hot).cloned().collect();
    for length in 1..=rows[0].len() {
        let mut prefixes: HashMap<&[u8], usize> = HashMap::new();
        hot_gets.iter().for_each(|get| *prefixes.entry(&row(get)[..length]).or_default() += 1);
        let (prefix, count) = prefixes.into_iter().max_by_key(|(_, count)| *count).unwrap();
        let of_rows = rows.iter().filter(|row| row.starts_with(prefix)).count();
        assert!(count * 3 < hot_gets.len() * 2 || of_rows * 2 > rows.len(), "{prefix:?}");
    }
}

#[test]
fn hot_tenth_is_inside_the_table() {
    for rows in [100, 101, 999, 1000, 4000, 12_345, 19_999, 20_000, 1_000_000] {
        let hot = numbered::hot_tenth(rows);
        assert!(hot.end <= rows && hot.end - hot.start == rows / 10, "{rows}: {hot:?}");
        // The first and the last differ in the first digit that the last one has.
        let last = hot.end - 1;
        let unit = 10_u64.pow(last.ilog10());
        assert_ne!(hot.start / unit, last / unit, "{rows}: {hot:?}");
    }
}

#[test]
fn sweep_reads_all_rows_in_order_again_and_again() {
    let mut pattern = pattern(Shape::Sweep, 3);
    let rows = loaded_rows(&*pattern);
    let (mut next, mut passes, mut units, mut puts) = (0, 0, 0, 0);
    while passes < 3 {
        let operation = pattern.next();
        units += pattern.units(&operation);
        let Operation::Scan { start, rows: count } = operation else {
            puts += 1;
            continue;
        };
        assert_eq!(start, rows[next]);
        next += count;
        if next == rows.len() {
            (next, passes) = (0, passes + 1);
        }
    }
    assert_eq!(units, 3 * ROWS + puts);
    assert!(puts < 30, "{puts}");
}

#[test]
fn some_salts_have_several_countries() {
    let operations = operations(Shape::SaltImbalance, 3);
    let mut salts = [0_usize; 16];
    operations.iter().for_each(|operation| salts[usize::from(row(operation)[0])] += 1);
    let (most, none) = (salts.iter().max().unwrap(), salts.iter().filter(|count| **count == 0));
    assert!(*most > 3 * DRAWS / 16, "{salts:?}");
    assert!(none.count() >= 8, "{salts:?}");
    let countries: Vec<usize> = countries::COUNTRIES
        .iter()
        .map(|country| {
            let is_of = |one: &&Operation| row(one)[1..].starts_with(country.as_bytes());
            operations.iter().filter(is_of).count()
        })
        .collect();
    assert!(countries.iter().all(|count| count.abs_diff(DRAWS / 8) < 300), "{countries:?}");
}

#[test]
fn queue_deletes_what_scans_from_the_start_find() {
    let mut pattern = pattern(Shape::TombstoneHead, 1);
    let mut queue = loaded_rows(&*pattern);
    let mut found: Vec<Bytes> = Vec::new();
    for _ in 0..DRAWS {
        match pattern.next() {
            Operation::Scan { start, rows } => {
                assert!(start.is_empty() && found.is_empty());
                found = queue[..rows].to_vec();
            }
            Operation::Put(put) => {
                assert!(put.row > *queue.last().unwrap());
                queue.push(put.row);
            }
            Operation::Delete(row) => {
                assert_eq!((&row, &row), (&queue[0], &found[0]));
                queue.remove(0);
                found.remove(0);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(queue.len(), usize::try_from(ROWS).unwrap(), "the backlog is constant");
}

#[test]
fn regions_have_equal_parts_of_numbered_rows() {
    for shape in [Shape::Frontier, Shape::HotRange, Shape::Sweep, Shape::HotPrefix] {
        let pattern = pattern(shape, 1);
        let (rows, splits) = (loaded_rows(&*pattern), pattern.splits(16).unwrap());
        assert_eq!(splits.len(), 15);
        let ranks: Vec<usize> =
            splits.iter().map(|split| rows.partition_point(|row| row < split)).collect();
        for (at, rank) in (1..).zip(ranks) {
            assert!(rank.abs_diff(at * rows.len() / 16) <= 40, "{}: {at} {rank}", shape.name());
        }
        assert!(pattern.splits(1).unwrap().is_empty());
        assert!(pattern.splits(5000).unwrap().windows(2).all(|pair| pair[0] < pair[1]));
    }
}
