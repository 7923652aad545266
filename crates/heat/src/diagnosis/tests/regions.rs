//! Loads that are uneven over few regions, and frontiers that fall.

use super::*;

fn digit_rows() -> Vec<Vec<u8>> {
    (0..20_000_u64).map(|number| format!("{:05}", number * 5).into_bytes()).collect()
}

/// Table with regions that begin at these rows, beside the first one.
fn world_of(starts: &[&str]) -> World {
    let mut world = World::new(digit_rows(), starts.len() + 1);
    for (start, at) in starts.iter().zip(1..) {
        world.starts[at] = start.as_bytes().to_vec();
    }
    world
}

fn number(random: &mut fastrand::Rng, of: std::ops::Range<u64>) -> Vec<u8> {
    format!("{:05}", random.u64(of)).into_bytes()
}

/// Runs a load of six columns with each seed, and returns the findings.
fn findings(
    world: impl Fn() -> World,
    mut load: impl FnMut(&mut World, u64, &mut fastrand::Rng),
) -> Vec<Finding> {
    let of_seed = |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = world();
        for at in 0..6 {
            load(&mut world, at, &mut random);
            world.tick();
        }
        world.diagnose(6, None)
    };
    (0..SEEDS).map(of_seed).collect()
}

/// It was even: the most loaded region has no more than the mean times the number of regions.
#[test]
fn load_of_one_of_two_regions_is_a_hot_range() {
    let found = findings(
        || world_of(&["5"]),
        |world, _, random| (0..800).for_each(|_| world.put(&number(random, 0..50_000))),
    );
    for finding in found {
        assert_eq!(finding.shape, Shape::HotRange, "{finding:?}");
        assert_eq!(
            (finding.key.as_deref(), finding.evidence("share")),
            (Some(&b""[..]), Some(1.0))
        );
        assert_eq!(finding.split_helps(), Some(true));
    }
}

#[test]
fn most_load_in_one_of_three_regions_is_a_hot_range() {
    let found = findings(
        || world_of(&["3", "6"]),
        |world, _, random| {
            for _ in 0..800 {
                let of = match random.u64(..100) {
                    0..15 => 0..30_000,
                    15..85 => 30_000..60_000,
                    _ => 60_000..100_000,
                };
                world.put(&number(random, of));
            }
        },
    );
    for finding in found {
        assert_eq!(finding.shape, Shape::HotRange, "{finding:?}");
        assert_eq!(finding.key.as_deref(), Some(&b"3"[..]), "{finding:?}");
    }
}

/// Each of two rows has less than the share of a hot row of the table, and most of its region.
#[test]
fn row_with_most_of_an_uneven_region_is_a_hot_row() {
    let found = findings(
        || World::new(digit_rows(), 16),
        |world, _, random| {
            for _ in 0..800 {
                match random.u64(..100) {
                    0..14 => world.get(b"20003"),
                    14..28 => world.get(b"70003"),
                    _ => world.get(&number(random, 0..100_000)),
                }
            }
        },
    );
    for finding in found {
        assert_eq!(finding.shape, Shape::HotRow, "{finding:?}");
        let row = finding.key.as_deref();
        assert!(row == Some(b"20003") || row == Some(b"70003"), "{finding:?}");
        assert_eq!(finding.split_helps(), Some(false));
    }
}

#[test]
fn even_load_of_few_regions_is_even() {
    for starts in [&["5"][..], &["4"], &["3", "6"], &["2", "5", "7"]] {
        let found = findings(
            || world_of(starts),
            |world, _, random| (0..400).for_each(|_| world.put(&number(random, 0..100_000))),
        );
        for finding in found {
            assert_eq!(finding.shape, Shape::Even, "{starts:?}: {finding:?}");
            assert!(finding.doubts.is_empty(), "{finding:?}");
        }
    }
}

/// A few scans of 50 rows load other regions in each column, by accident, and each has an order.
#[test]
fn few_scans_of_many_rows_are_even() {
    for (scans, rows, regions) in
        [(6, 50, 16), (12, 20, 16), (20, 50, 16), (40, 5, 16), (100, 2, 16), (4, 50, 100)]
    {
        let load = |world: &mut World, _: u64, random: &mut fastrand::Rng| {
            for _ in 0..scans {
                let first = random.usize(..world.files.len() - rows);
                for at in first..first + rows {
                    let row = world.files[at].clone();
                    world.add(OperationKind::ScannedRow, &row, 1);
                }
                world.put(&number(random, 0..100_000));
            }
        };
        for finding in findings(|| World::new(digit_rows(), regions), load) {
            let case = (scans, rows, regions);
            assert_eq!(finding.shape, Shape::Even, "{case:?}: {finding:?}");
        }
    }
}

/// No verdict is even if the load moves from region to region.
#[test]
fn load_that_moves_over_regions_is_not_even() {
    let moving = |world: &mut World, at: u64, random: &mut fastrand::Rng| {
        let first = [5, 2, 14, 9, 0, 11][usize::try_from(at).unwrap()] * 6250;
        (0..800).for_each(|_| world.get(&number(random, first..first + 6250)));
    };
    for finding in findings(|| World::new(digit_rows(), 16), moving) {
        assert_eq!((finding.shape, finding.key.as_deref()), (Shape::HotRange, None), "{finding:?}");
        assert_eq!(finding.split_helps(), Some(false));
        assert!(finding.confidence <= 0.5, "{finding:?}");
    }
    let in_order = |world: &mut World, at: u64, _: &mut fastrand::Rng| {
        (0..800).for_each(|number| {
            world.get(format!("{:05}", (at * 800 + number) * 20).as_bytes());
        });
    };
    for finding in findings(|| World::new(digit_rows(), 16), in_order) {
        assert_eq!(finding.shape, Shape::Sweep, "{finding:?}");
    }
}

/// Rows of a time that is subtracted from a large one, from two clients of which one is late.
#[test]
fn falling_keys_are_a_frontier() {
    let falling = |number: u64| format!("00{:010}", 1_000_000_000 - number).into_bytes();
    let starts: Vec<String> = (1..16).map(|at| format!("{at:02}")).collect();
    let starts: Vec<&str> = starts.iter().map(String::as_str).collect();
    for late in [0, 500, 1200] {
        let load = |world: &mut World, at: u64, _: &mut fastrand::Rng| {
            for number in (at * 800..(at + 1) * 800).map(|number| number + 10_000) {
                let is_late = number % 2 == 1;
                world.put(&falling(if is_late { number - late } else { number }));
            }
        };
        let world = || {
            let mut world = world_of(&starts);
            world.files.retain(|row| !row.starts_with(b"00"));
            world
        };
        for finding in findings(world, load) {
            assert_eq!(finding.shape, Shape::Frontier, "{late}: {finding:?}");
            assert_eq!(finding.split_helps(), Some(false));
            assert!(finding.words().text.starts_with("Keys fall with time"), "{finding:?}");
            assert!(finding.confidence > 0.6, "{late}: {finding:?}");
        }
    }
}

#[test]
fn rising_new_rows_leave_no_doubt() {
    let load = |world: &mut World, at: u64, random: &mut fastrand::Rng| {
        for number in at * 800..(at + 1) * 800 {
            world.put(&padded(20_000 + number));
            world.get(&padded(random.u64(..20_000)));
        }
    };
    for finding in findings(|| World::new((0..20_000).map(padded).collect(), 16), load) {
        assert_eq!(finding.shape, Shape::Frontier, "{finding:?}");
        assert!(finding.doubts.is_empty() && finding.confidence > 0.9, "{finding:?}");
    }
}

/// Rising numbers after seven prefixes: it was said that one region takes all new rows.
#[test]
fn frontiers_of_several_prefixes_are_not_one_region() {
    let starts: Vec<String> =
        ('a'..='g').flat_map(|prefix| [prefix.to_string(), format!("{prefix}5")]).collect();
    let starts: Vec<&str> = starts[1..].iter().map(String::as_str).collect();
    let load = |world: &mut World, at: u64, _: &mut fastrand::Rng| {
        for number in at * 2100..(at + 1) * 2100 {
            let prefix = b"abcdefg"[usize::try_from(number % 7).unwrap()] as char;
            world.put(format!("{prefix}{number:08}").as_bytes());
        }
    };
    for finding in findings(|| world_of(&starts), load) {
        assert_eq!(finding.shape, Shape::Frontier, "{finding:?}");
        assert_eq!(finding.words().text, "Keys rise with time, so few regions take all new rows");
    }
}

/// Load of regions without recorded keys, as of a cluster that does not record them.
fn without_keys(loads: &[u64]) -> Finding {
    let (mut activity, mut history) = (Activity::default(), History::default());
    let start = |at: usize| if at == 0 { String::new() } else { format!("{at:02}") };
    for column in 0..6 {
        let region = |(at, load): (usize, &u64)| RegionActivity {
            start: start(at).into_bytes().into(),
            load: Load::new([0, *load, 0, 0, 0, 0]),
            column: crate::recorder::RegionColumn::default(),
        };
        let mut regions: Vec<_> = loads.iter().enumerate().map(region).collect();
        let (from, to) = (column * BASE_MS, (column + 1) * BASE_MS);
        activity.push(ActivityColumn::new(
            ColumnTime::exact(from, to),
            &regions,
            ColumnLimits::of_tables(1),
        ));
        let regions: Vec<_> = regions.iter_mut().map(RegionActivity::take_region).collect();
        history.push(&Column::of_regions(ColumnTime::exact(from, to), &regions));
    }
    let packed = history.columns(0, 0, 6 * BASE_MS);
    diagnose(&activity, &packed, (0, 6 * BASE_MS), None)
}

/// A last region with all writes was a hot range that a split divides, with the confidence 0.99.
#[test]
fn writes_to_the_last_region_without_keys_are_a_frontier_with_doubt() {
    let mut loads = [0; 16];
    loads[15] = 2000;
    let finding = without_keys(&loads);
    assert_eq!(finding.shape, Shape::Frontier, "{finding:?}");
    assert!(finding.confidence <= 0.6 && !finding.doubts.is_empty(), "{finding:?}");
    loads = [0; 16];
    loads[7] = 2000;
    let finding = without_keys(&loads);
    assert_eq!(finding.shape, Shape::HotRange, "{finding:?}");
    assert!(finding.confidence <= 0.6 && !finding.doubts.is_empty(), "{finding:?}");
    assert_eq!(without_keys(&[500; 16]).shape, Shape::Even);
}
