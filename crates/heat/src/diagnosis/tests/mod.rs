//! Loads of known shapes, recorded region by region and diagnosed.

use super::*;
use crate::activity::{ColumnLimits, RegionActivity};
use crate::column::{BASE_MS, Column, Region};
use crate::column_time::ColumnTime;
use crate::history::History;
use crate::metric::Load;
use crate::recorder::{OperationKind, RegionRecorder, TablePart};

mod regions;

const SEEDS: u64 = 20;

/// Table of some regions.
struct World {
    starts: Vec<Vec<u8>>,
    recorders: Vec<RegionRecorder>,
    loads: Vec<Load>,
    /// Rows that are in store files, in rising order.
    files: Vec<Vec<u8>>,
    history: History,
    activity: Activity,
    now_ms: i64,
}

impl World {
    /// Table with rows in files, split into regions of equal numbers of rows.
    fn new(mut files: Vec<Vec<u8>>, regions: usize) -> Self {
        files.sort();
        files.dedup();
        let start = |at: usize| {
            if at == 0 { Vec::new() } else { files[at * files.len() / regions].clone() }
        };
        Self {
            starts: (0..regions).map(start).collect(),
            recorders: (0..regions).map(|_| RegionRecorder::default()).collect(),
            loads: vec![Load::default(); regions],
            files,
            history: History::default(),
            activity: Activity::default(),
            now_ms: 0,
        }
    }

    fn add(&mut self, kind: OperationKind, row: &[u8], examined: u64) {
        let region = self.starts.partition_point(|start| &**start <= row).max(1) - 1;
        let load = &mut self.loads[region];
        let (metric, bytes) = match kind {
            OperationKind::Get | OperationKind::ScannedRow => (Metric::Reads, Metric::BytesRead),
            OperationKind::Write | OperationKind::Delete => (Metric::Writes, Metric::BytesWritten),
        };
        let number = load.get(metric);
        load.add(metric, 1);
        load.add(bytes, 100);
        load.add(Metric::RowsExamined, examined);
        load.add(Metric::Deletes, u64::from(kind == OperationKind::Delete));
        self.recorders[region].record(number, kind, row, 100);
    }

    fn get(&mut self, row: &[u8]) {
        self.add(OperationKind::Get, row, 1);
    }

    fn put(&mut self, row: &[u8]) {
        self.add(OperationKind::Write, row, 0);
    }

    /// Ends a column.
    fn tick(&mut self) {
        let (from, to) = (self.now_ms, self.now_ms + BASE_MS);
        self.now_ms = to;
        let mut regions = Vec::new();
        for (at, recorder) in self.recorders.iter().enumerate() {
            let start = &self.starts[at];
            let end = self.starts.get(at + 1);
            let first = self.files.partition_point(|row| row < start);
            let last =
                end.map_or(self.files.len(), |end| self.files.partition_point(|row| row < end));
            let own = &self.files[first..last];
            let keys = || own.iter().step_by((own.len() / 64).max(1)).cloned().collect();
            let load = std::mem::take(&mut self.loads[at]);
            let column = recorder.drain(
                &load,
                TablePart { regions: self.starts.len(), key_parts: None },
                keys,
            );
            regions.push(RegionActivity { start: start.clone().into(), load, column });
        }
        let columns: Vec<Region> = regions
            .iter()
            .map(|region| Region {
                start: region.start.clone(),
                boundaries: region.column.boundaries.clone(),
                loads: region.column.loads.clone(),
            })
            .collect();
        self.history.push(&Column::of_regions(ColumnTime::exact(from, to), &columns));
        self.activity.push(ActivityColumn::new(
            ColumnTime::exact(from, to),
            &regions,
            ColumnLimits::of_tables(1),
        ));
    }

    fn diagnose(&self, columns: i64, salt: Option<Salt<'_>>) -> Finding {
        let from = self.now_ms - columns * BASE_MS;
        let packed = self.history.columns(0, from, self.now_ms);
        diagnose(&self.activity, &packed, (from, self.now_ms), salt)
    }
}

fn hashed(number: u64) -> Vec<u8> {
    format!("{:016x}-{number}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()
}

fn padded(number: u64) -> Vec<u8> {
    format!("user_{number:010}").into_bytes()
}

/// Runs a load of some columns, and expects its shape with every seed.
fn expect(
    shape: Shape,
    world: impl Fn() -> World,
    columns: i64,
    salt: Option<Salt<'_>>,
    load: impl Fn(&mut World, i64, &mut fastrand::Rng),
) {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = world();
        for at in 0..columns {
            load(&mut world, at, &mut random);
            world.tick();
        }
        let finding = world.diagnose(columns, salt);
        assert_eq!(finding.shape, shape, "seed {seed}: {finding:?}");
        assert!((0.5..=1.0).contains(&finding.confidence), "{finding:?}");
    }
}

#[test]
fn even_loads_are_even() {
    type Key = fn(u64) -> Vec<u8>;
    type Case = (&'static str, fn() -> World, Key);
    let worlds: [Case; 4] = [
        ("hashed ids", || World::new((0..20_000).map(hashed).collect(), 16), hashed),
        ("padded ids", || World::new((0..20_000).map(padded).collect(), 16), padded),
        ("one region", || World::new((0..20_000).map(padded).collect(), 1), padded),
        ("ids without padding", || World::new((0..20_000).map(plain).collect(), 4), plain),
    ];
    for (name, world, key) in worlds {
        eprintln!("{name}");
        expect(Shape::Even, world, 6, None, |world, _, random| {
            for _ in 0..2000 {
                world.get(&key(random.u64(..20_000)));
                world.put(&key(random.u64(..20_000)));
            }
        });
    }
}

fn plain(number: u64) -> Vec<u8> {
    format!("user_{number}").into_bytes()
}

#[test]
fn new_table_with_even_load_is_even() {
    expect(
        Shape::Even,
        || World::new(Vec::new(), 1),
        6,
        None,
        |world, _, random| {
            for _ in 0..2000 {
                world.put(&hashed(random.u64(..1_000_000)));
            }
        },
    );
}

#[test]
fn salted_sequence_is_even() {
    let salted = |number: u64| format!("{:02}_{number:010}", number % 16).into_bytes();
    let world = || World::new((0..16_000).map(salted).collect(), 16);
    let length = |row: &[u8]| (row.len() > 2).then_some(2);
    let salt = Some(Salt { count: 16, length: &length });
    expect(Shape::Even, world, 6, salt, |world, at, random| {
        for number in 0..4000 {
            let shuffled = 20_000 + u64::try_from(at).unwrap() * 4000 + number;
            world.put(&salted(shuffled + random.u64(..3)));
        }
    });
}

#[test]
fn even_salts_in_many_regions_are_even() {
    let salted = |number: u64| {
        let hash = number.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
        format!("{:02}{hash:08x}", number % 16).into_bytes()
    };
    let world = || World::new((0..16_000).map(salted).collect(), 96);
    let length = |row: &[u8]| (row.len() > 2).then_some(2);
    let salt = Some(Salt { count: 16, length: &length });
    expect(Shape::Even, world, 6, salt, |world, _, random| {
        (0..4000).for_each(|_| world.get(&salted(random.u64(..16_000))));
    });
}

#[test]
fn frontier_of_many_regions_beside_even_reads_is_found() {
    for (regions, at_end) in [(200, 100), (2, 97)] {
        let world = || World::new((0..20_000).map(padded).collect(), regions);
        expect(Shape::Frontier, world, 6, None, |world, at, random| {
            for number in 0..2000 {
                let next = 20_000 + u64::try_from(at).unwrap() * 2000 + number;
                let is_new = random.u64(..100) < at_end;
                world.put(&padded(if is_new { next } else { random.u64(..20_000) }));
                world.get(&padded(random.u64(..20_000)));
                world.get(&padded(random.u64(..20_000)));
            }
        });
    }
}

#[test]
fn rows_written_again_in_order_leave_doubt() {
    let mut world = World::new((0..60_000).map(padded).collect(), 16);
    for at in 0..6 {
        (0..4000).for_each(|number| world.put(&padded(at * 4000 + number)));
        world.tick();
    }
    let finding = world.diagnose(6, None);
    assert!(finding.confidence <= 0.6 && !finding.doubts.is_empty(), "{finding:?}");
}

#[test]
fn job_on_idle_table_is_periodic() {
    let world = || World::new((0..20_000).map(hashed).collect(), 16);
    expect(Shape::Periodic, world, 32, None, |world, at, random| {
        if at % 6 < 2 {
            (0..2500).for_each(|_| world.get(&hashed(random.u64(..20_000))));
        }
    });
}

#[test]
fn hot_one_of_few_rows_is_hot_row() {
    let world = || World::new((0..6).map(padded).collect(), 1);
    expect(Shape::HotRow, world, 3, None, |world, _, random| {
        for _ in 0..2000 {
            let counter = if random.u64(..10) < 9 { 3 } else { random.u64(..6) };
            world.put(&padded(counter));
        }
    });
}

#[test]
fn sequence_is_frontier() {
    for regions in [1, 16] {
        let world = || World::new((0..20_000).map(padded).collect(), regions);
        expect(Shape::Frontier, world, 6, None, |world, at, random| {
            for number in 0..3000 {
                let next = 20_000 + u64::try_from(at).unwrap() * 3000 + number;
                world.put(&padded(next - random.u64(..20)));
            }
        });
    }
}

#[test]
fn celebrity_is_hot_row() {
    let world = || World::new((0..20_000).map(hashed).collect(), 16);
    expect(Shape::HotRow, world, 6, None, |world, _, random| {
        for _ in 0..2500 {
            let user = if random.u64(..10) < 3 { 777 } else { random.u64(..20_000) };
            world.get(&hashed(user));
        }
    });
    let one = || World::new(vec![b"counter".to_vec()], 1);
    expect(Shape::HotRow, one, 3, None, |world, _, _| {
        (0..2000).for_each(|_| world.put(b"counter"));
    });
}

#[test]
fn busy_device_is_hot_prefix() {
    let key = |device: u64, time: u64| [&hashed(device)[..], &time.to_be_bytes()].concat();
    let rows = move || {
        let mut random = fastrand::Rng::with_seed(1);
        (0..20_000).map(|_| key(random.u64(..500), random.u64(..1 << 40))).collect()
    };
    expect(
        Shape::HotPrefix,
        || World::new(rows(), 8),
        6,
        None,
        |world, _, random| {
            for _ in 0..2500 {
                let device = if random.u64(..100) < 35 { 123 } else { random.u64(..500) };
                world.get(&key(device, random.u64(..1 << 40)));
            }
        },
    );
}

#[test]
fn busy_part_of_keys_is_hot_range() {
    let world = || World::new((0..20_000).map(hashed).collect(), 8);
    let mut sorted: Vec<Vec<u8>> = (0..20_000).map(hashed).collect();
    sorted.sort();
    expect(Shape::HotRange, world, 6, None, |world, _, random| {
        for _ in 0..2500 {
            // Across the boundary of two digits, so that no prefix says it.
            let inside = random.u64(..100) < 80;
            let at = if inside { random.usize(8000..10_500) } else { random.usize(..20_000) };
            world.get(&sorted[at]);
        }
    });
}

/// The tutorial's definition of a hot spot: 80 percent of the requests are for the newest fifth of
/// the rows, and 80 percent of these for its newest fifth.
#[test]
fn k37_recent_rows_leave_few_effective_regions_and_even_load_leaves_all() {
    let finding = |is_recent: bool, seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new((0..20_000).map(padded).collect(), 16);
        for _ in 0..6 {
            for _ in 0..4000 {
                let fifths = (0..2).take_while(|_| is_recent && random.u64(..100) < 80).count();
                let oldest = [0, 16_000, 19_200][fifths];
                world.get(&padded(random.u64(oldest..20_000)));
            }
            world.tick();
        }
        world.diagnose(6, None)
    };
    let measured = |finding: &Finding, name: &str| {
        finding.evidence.iter().find(|(found, _)| *found == name).unwrap().1
    };
    for seed in 0..SEEDS {
        let hot = finding(true, seed);
        assert!(matches!(hot.shape, Shape::HotRange | Shape::HotPrefix), "{hot:?}");
        let (effective, regions) = (measured(&hot, "d2"), measured(&hot, "regions"));
        assert!(effective < 0.25 * regions, "seed {seed}: {hot:?}");
        assert!(measured(&hot, "share") >= 0.6, "{hot:?}");
        let key = hot.key.as_ref().expect("the place is named");
        assert!(key.starts_with(b"user_00000"), "{hot:?}");

        let even = finding(false, seed);
        assert_eq!(even.shape, Shape::Even, "seed {seed}: {even:?}");
        assert!(measured(&even, "d2") > 0.9 * measured(&even, "regions"), "{even:?}");
    }
}

#[test]
fn batch_job_every_minute_is_periodic() {
    let world = || World::new((0..20_000).map(hashed).collect(), 16);
    expect(Shape::Periodic, world, 30, None, |world, at, random| {
        let count = if at % 6 < 2 { 4000 } else { 200 };
        for _ in 0..count {
            world.get(&hashed(random.u64(..20_000)));
        }
    });
}

/// The filling is a burst of its own, larger than those of the job and at another distance.
#[test]
fn job_after_filling_is_periodic() {
    for gap in 0..4 {
        let mut world = World::new((0..20_000).map(hashed).collect(), 16);
        let mut random = fastrand::Rng::with_seed(gap);
        (0..8000).for_each(|number| world.put(&hashed(number)));
        world.tick();
        (0..gap).for_each(|_| world.tick());
        for at in 0..24 {
            let count = if at % 6 < 2 { 1500 } else { 100 };
            for _ in 0..count {
                let row = hashed(random.u64(..20_000));
                if random.u64(..3) == 0 { world.put(&row) } else { world.get(&row) }
            }
            world.tick();
            let finding = world.diagnose(60, None);
            let expected: &[Shape] = match at {
                0..3 => &[Shape::TooFew, Shape::Even],
                3..12 => &[Shape::Even],
                // The third run has begun: two and a half periods are required.
                12..14 => &[Shape::Even, Shape::Periodic],
                _ => &[Shape::Periodic],
            };
            assert!(expected.contains(&finding.shape), "gap {gap}, {at}: {finding:?}");
        }
    }
}

#[test]
fn scan_of_all_rows_is_sweep() {
    let world = || World::new((0..60_000).map(hashed).collect(), 8);
    let mut sorted: Vec<Vec<u8>> = (0..60_000).map(hashed).collect();
    sorted.sort();
    expect(Shape::Sweep, world, 6, None, |world, at, _| {
        let first = usize::try_from(at).unwrap() * 8000;
        for row in &sorted[first..first + 8000] {
            world.add(OperationKind::ScannedRow, row, 1);
        }
    });
}

#[test]
fn declared_salt_with_unequal_values_is_salt_imbalance() {
    let salted = |salt: u64, number: u64| {
        format!("{salt:02}{:08x}", number.wrapping_mul(0x9e37_79b9) & 0xffff_ffff).into_bytes()
    };
    let rows = move || (0..16_000).map(|number| salted(number % 16, number)).collect();
    let length = |row: &[u8]| (row.len() > 2).then_some(2);
    let salt = Some(Salt { count: 16, length: &length });
    expect(
        Shape::SaltImbalance,
        || World::new(rows(), 16),
        6,
        salt,
        |world, _, random| {
            for _ in 0..2500 {
                let of = if random.u64(..10) < 4 { 5 } else { random.u64(..16) };
                world.get(&salted(of, random.u64(..16_000)));
            }
        },
    );
}

#[test]
fn queue_is_tombstone_head() {
    let world = || World::new((0..4000).map(padded).collect(), 4);
    expect(Shape::TombstoneHead, world, 6, None, |world, at, _| {
        for number in 0..1000 {
            let done = u64::try_from(at).unwrap() * 1000 + number;
            world.put(&padded(done + 4000));
            // The scan for the next task passes over all that are done.
            world.add(OperationKind::ScannedRow, &padded(done), 1 + number);
            world.add(OperationKind::Delete, &padded(done), 0);
        }
    });
}

#[test]
fn load_of_the_past_is_not_that_of_now() {
    let world = || World::new((0..20_000).map(padded).collect(), 16);
    expect(Shape::Even, world, 20, None, |world, at, random| {
        for number in 0..2000 {
            if at < 6 {
                let next = u64::try_from(at).unwrap() * 2000 + number;
                world.put(&padded(next));
            } else {
                world.get(&padded(random.u64(..20_000)));
            }
        }
    });
}

#[test]
fn few_requests_are_not_judged() {
    let mut world = World::new((0..100).map(padded).collect(), 1);
    assert_eq!(world.diagnose(6, None).shape, Shape::Idle);
    for number in 0..100 {
        world.put(&padded(number));
    }
    world.tick();
    let finding = world.diagnose(6, None);
    assert_eq!(finding.shape, Shape::TooFew);
    for (name, value) in [("requests", 100.0), ("more_requests", 900.0), ("more_s", 20.0)] {
        assert!(finding.evidence.contains(&(name, value)), "{finding:?}");
    }
}

#[test]
fn young_load_is_not_judged() {
    let world = || World::new((0..20_000).map(padded).collect(), 16);
    for columns in 1..3 {
        expect(Shape::TooFew, world, columns, None, |world, _, random| {
            (0..5000).for_each(|_| world.get(&padded(random.u64(..20_000))));
        });
    }
}

#[test]
fn filled_table_has_the_load_of_its_reads() {
    // In order, as a program fills a table.
    let fill = |world: &mut World, at: u64| {
        (at * 15_000..(at + 1) * 15_000).for_each(|number| world.put(&padded(number)));
    };
    let world = || World::new((0..30_000).map(padded).collect(), 16);
    expect(Shape::Even, world, 5, None, |world, at, random| match at {
        0 | 1 => fill(world, u64::try_from(at).unwrap()),
        _ => (0..2000).for_each(|_| world.get(&padded(random.u64(..30_000)))),
    });
    let mut table = world();
    fill(&mut table, 0);
    for _ in 0..30 {
        table.tick();
        (0..2000).for_each(|number| table.get(&padded(number * 15 % 30_000)));
    }
    let finding = table.diagnose(60, None);
    assert!(finding.shape == Shape::Even && finding.doubts.is_empty(), "{finding:?}");
    expect(Shape::Sweep, world, 6, None, |world, at, _| {
        let Some(before) = u64::try_from(at).unwrap().checked_sub(1) else {
            fill(world, 0);
            return;
        };
        for row in (before * 10_000..(before + 1) * 10_000).map(|row| padded(row % 30_000)) {
            world.add(OperationKind::ScannedRow, &row, 1);
        }
    });
}

#[test]
fn changed_load_leaves_doubt_until_it_is_judged() {
    let mut world = World::new((0..20_000).map(padded).collect(), 16);
    for at in 0..10 {
        for number in 0..2000 {
            let key = padded(number * 7 % 20_000);
            if at < 5 { world.get(&key) } else { world.put(&key) }
        }
        world.tick();
        let finding = world.diagnose(10, None);
        let is_changing = (5..7).contains(&at);
        let is_doubted = finding.doubts.iter().any(|doubt| doubt.contains("changed"));
        assert_eq!(is_doubted, is_changing, "{at}: {finding:?}");
    }
}

#[test]
fn bursts_without_period_are_not_periodic() {
    let world = || World::new((0..20_000).map(hashed).collect(), 16);
    // Columns with load, in 10 seconds each.
    let cases: [&[i64]; 5] = [
        &[0, 1, 2],
        &[0, 1, 2, 3, 20, 21, 22],
        &[0, 1, 2, 9, 10, 24, 25, 26],
        &[0, 1, 8, 9, 12, 13, 30, 31],
        // A job that ended.
        &[0, 1, 6, 7, 12, 13, 18, 19],
    ];
    for loaded in cases {
        let (mut world, mut random) = (world(), fastrand::Rng::with_seed(1));
        for at in 0..50 {
            let count = if loaded.contains(&at) { 2500 } else { 0 };
            (0..count).for_each(|_| world.get(&hashed(random.u64(..20_000))));
            world.tick();
            let shape = world.diagnose(60, None).shape;
            let is_job = loaded[2] == 6 && (14..26).contains(&at);
            assert!(is_job || shape != Shape::Periodic, "{loaded:?} at {at}");
            assert!(at < 10 || is_job || shape == Shape::Even, "{loaded:?} at {at}: {shape:?}");
        }
    }
}

#[test]
fn few_requests_of_many_regions_are_not_compared() {
    let world = || World::new((0..20_000).map(hashed).collect(), 200);
    for seed in 0..SEEDS {
        let (mut world, mut random) = (world(), fastrand::Rng::with_seed(seed));
        for _ in 0..6 {
            (0..400).for_each(|_| world.get(&hashed(random.u64(..20_000))));
            world.tick();
        }
        let finding = world.diagnose(6, None);
        assert_eq!(finding.shape, Shape::Even, "seed {seed}: {finding:?}");
        assert!(finding.confidence <= 0.5 && finding.doubts.len() == 1, "{finding:?}");
    }
}

#[test]
fn hot_prefix_is_not_a_part_of_itself() {
    let key =
        |device: u64, time: u64| [&padded(device)[..], format!(":{time:02}").as_bytes()].concat();
    let rows = move || (0..20_000).map(|row| key(row % 1000, row / 1000)).collect();
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new(rows(), 16);
        for _ in 0..4 {
            for _ in 0..2500 {
                let is_hot = random.u64(..100) < 45;
                let device = if is_hot { 42 } else { random.u64(..1000) };
                // Two of three requests are on times that begin alike.
                let time = random.u64(..10) + if random.u64(..3) < 2 { 0 } else { 10 };
                world.get(&key(device, time));
            }
            world.tick();
        }
        let finding = world.diagnose(4, None);
        let device = [&padded(42)[..], b":"].concat();
        assert_eq!(finding.key.as_deref(), Some(&device[..]), "seed {seed}: {finding:?}");
    }
}

#[test]
fn hot_prefix_in_a_hot_range_is_a_hot_prefix() {
    let key = |device: u64, time: u64| [&padded(device)[..], &time.to_be_bytes()].concat();
    let rows = move || (0..20_000).map(|row| key(row % 100, row / 100)).collect();
    for (share, others) in [(44, 100), (55, 100), (44, 20)] {
        expect(
            Shape::HotPrefix,
            || World::new(rows(), 16),
            4,
            None,
            |world, _, random| {
                for _ in 0..2500 {
                    let is_hot = random.u64(..100) < share;
                    let device = if is_hot { 42 } else { random.u64(..others) * (100 / others) };
                    world.get(&key(device, random.u64(..200)));
                }
            },
        );
    }
}

#[test]
fn keys_of_any_bytes_are_diagnosed() {
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new(Vec::new(), 1);
        for _ in 0..3 {
            for _ in 0..2000 {
                let length = if random.u64(..50) == 0 { 32_767 } else { random.usize(..40) };
                let row: Vec<u8> = (0..length).map(|_| random.u8(..3)).collect();
                world.put(&row);
            }
            world.tick();
        }
        let finding = {
            let length = |row: &[u8]| row.len().checked_sub(1);
            world.diagnose(6, Some(Salt { count: 9, length: &length }))
        };
        assert!(finding.confidence.is_finite());
    }
}
