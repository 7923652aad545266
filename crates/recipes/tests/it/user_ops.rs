//! User operations: the table equals the model, and the check fails for the mistakes of the
//! tutorials.

use std::ops::Range;

use anyhow::Result;
use halite::rowkey::Page;
use halite::{BlockingTable, FamilyDescriptor, Put, Row, Scan, TableDescriptor};
use halite_recipes::paging::{Lists, Position};
use halite_recipes::user_ops::{Design, USER_OPS};
use halite_recipes::{InProcessTarget, Load, Recipe as _, Site, check};
use user_ops::{History, Operation};

use crate::backends;
use crate::tables::any_token;

const LOAD: Load = Load { seed: 5, items: 400 };

#[test]
fn p08_histories_equal_model_after_crash() {
    let report = backends::check_embedded(&USER_OPS, LOAD, 77).unwrap();
    assert_eq!((report.acknowledged, report.repaired), (77, 0));
    assert!(report.at_end.rows > 800, "{report:?}");
    assert_eq!(report.at_end.rows, report.at_end.examined);
}

#[test]
fn p08_recipe_runs_through_client_and_server() {
    let load = Load { items: 200, ..LOAD };
    check(&USER_OPS, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 40)).unwrap();
}

/// Returns flights of five days, some aircraft more often than others.
fn flights() -> String {
    let header = "dep_delay,carrier,flight,tailnum,origin,dest,air_time,minute,time_hour\n";
    let line = |number: u32| {
        let (aircraft, delay) = (number * number % 19 % 10, i64::from(number % 7) - 2);
        let (day, hour, minute) = (1 + number / 40, number / 2 % 20, number % 2 * 30);
        format!(
            "{delay},AA,{number},N6{aircraft}AA,JFK,MIA,160,{minute},\
             2013-01-{day:02}T{hour:02}:00:00Z\n"
        )
    };
    std::iter::once(header.to_owned()).chain((0..200).map(line)).collect()
}

#[test]
fn p08_flights_are_operations_of_aircraft() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("flights.csv");
    std::fs::write(&file, flights()).unwrap();
    let recipe = USER_OPS.with_data(&file).unwrap();
    assert_eq!((recipe.default_items(), recipe.about().namespace), (400, "user_ops_flights"));
    let load = Load { seed: 1, items: recipe.default_items() };
    let report = backends::check_embedded(&*recipe, load, 77).unwrap();
    assert_eq!((report.acknowledged, report.at_end.rows), (77, report.at_end.examined));
}

/// Mistake in a design with binary keys, as the tutorials compute them.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// E01: a time range from its earlier to its later end, reversed.
    ReversedBounds,
    /// E03: all operations are those between twelve zeros and the reversed present time.
    StopAtNow,
    /// K25: ids of several lengths are reversed without zeros or a terminator.
    ShortIds,
    /// E32: the key has no sequence.
    NoSequence,
}

struct Naive {
    mistake: Mistake,
    history: History,
    table: BlockingTable,
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        let history = History::open(&site.cluster, &site.namespace)?;
        let name = format!("{}:naive", site.namespace);
        if !site.cluster.table_exists(&name)? {
            let table = TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("o"));
            site.cluster.create_table(table, &[])?;
        }
        Ok(Box::new(Self { mistake, history, table: site.cluster.table(&name)? }))
    }

    fn user_part(&self, user: &str) -> Vec<u8> {
        let user = match self.mistake {
            Mistake::ShortIds => user.trim_start_matches('0'),
            _ => user,
        };
        user.bytes().rev().collect()
    }

    fn scan(&self, user: &str, at_ms: &Range<i64>) -> Scan {
        let user = self.user_part(user);
        let reversed = |ms: i64| [&user[..], &(i64::MAX - ms).to_be_bytes()].concat();
        match self.mistake {
            Mistake::ReversedBounds if at_ms.end != i64::MAX => {
                Scan::range(reversed(at_ms.start), reversed(at_ms.end))
            }
            Mistake::StopAtNow => {
                // The present is after the last operation.
                let now = 1_900_000_000_000;
                Scan::range([&user[..], b"000000000000"].concat(), reversed(now))
            }
            _ => Scan::prefix(user),
        }
    }
}

fn operation(row: &Row) -> Operation {
    let text = |column: &str| {
        String::from_utf8(row.value("o", column).unwrap_or_default().to_vec()).unwrap()
    };
    Operation {
        user: text("user"),
        at_ms: row.cell("o", "user").unwrap().timestamp(),
        sequence: u32::from_be_bytes(row.value("o", "n").unwrap().try_into().unwrap()),
        kind: text("k"),
        detail: text("d"),
    }
}

impl Lists for Naive {
    type List = String;
    type Item = Operation;

    fn page(
        &self,
        user: &String,
        at_ms: Range<i64>,
        limit: usize,
        position: &Position,
    ) -> Result<Page<Operation>> {
        let rows = self.table.scan(self.scan(user, &at_ms)).collect::<halite::Result<Vec<_>>>()?;
        let items: Vec<_> = rows
            .iter()
            .map(operation)
            .filter(|operation| at_ms.contains(&operation.at_ms))
            .skip(position.read)
            .take(limit)
            .collect();
        let next = (items.len() == limit).then(any_token);
        Ok(Page { examined: items.len() as u64, items, next })
    }

    fn identity(&self, operation: &Operation) -> (i64, u64) {
        self.history.identity(operation)
    }
}

impl Design for Naive {
    fn record(&self, operations: &[Operation]) -> Result<()> {
        for Operation { user, at_ms, sequence, kind, detail } in operations {
            let mut key = self.user_part(user);
            key.extend((i64::MAX - at_ms).to_be_bytes());
            if self.mistake != Mistake::NoSequence {
                key.extend(sequence.to_be_bytes());
            }
            let put = Put::new(key)
                .add_at("o", "user", *at_ms, user)
                .add_at("o", "n", *at_ms, sequence.to_be_bytes())
                .add_at("o", "k", *at_ms, kind)
                .add_at("o", "d", *at_ms, detail);
            self.table.put(put)?;
        }
        Ok(())
    }
}

/// Checks a design and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>) -> String {
    let checked = backends::check_embedded(&USER_OPS.with_design(design), LOAD, 100);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn e01_reversed_bounds_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::ReversedBounds));
    assert!(why.contains("0 items, expected"), "{why}");
}

#[test]
fn e03_range_to_the_present_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::StopAtNow));
    assert!(why.contains("all times: 0 items, expected"), "{why}");
}

#[test]
fn k25_ids_without_fixed_length_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::ShortIds));
    assert!(why.contains("\"00012345\""), "{why}");
}

#[test]
fn e32_key_without_sequence_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoSequence));
    assert!(why.contains("items, expected"), "{why}");
}
