//! Points of all series within a time: what is between is skipped where series have many rows.

use std::ops::Bound;

use halite::rowkey::dictionary::Dictionary;
use halite::rowkey::series::{Measurement, Series};
use halite::rowkey::{KeyQuery, KeyResolver as _, Predicate, Value};
use halite::{Store, TableName, block_on, declare_tables};
use halite_engine::env::sim::SimEnv;

use super::reopen;

const HOUR_MS: i64 = 3_600_000;
const DEVICES: i64 = 12;

fn open(store: &Store, declaration: &str) -> Series {
    declare_tables(store, "s", declaration).unwrap();
    let name = TableName::new("s", "points").unwrap();
    block_on(Series::for_table(&**store.cluster(), &name, None)).unwrap()
}

fn create(salts: &str, column: &str) -> String {
    format!(
        "CREATE TABLE points (p SERIES(DOUBLE) FAMILY f OFFSET OF ts,
           ROW KEY ({salts}{column}, BUCKET(ts, '1h') DESC))"
    )
}

fn point(device: i64, hour: i64) -> Measurement {
    let name = Value::Text(format!("device {device}").into());
    let fields = vec![name, Value::Signed(hour * HOUR_MS + device)];
    Measurement { fields, value: 1.0 }
}

fn between(from: i64, to: i64) -> KeyQuery {
    let [low, high] = [from, to].map(|hour| Value::Signed(hour * HOUR_MS));
    let range = Predicate::Range { low: Bound::Included(low), high: Bound::Excluded(high) };
    KeyQuery::all().with(1, range)
}

fn read(series: &Series, query: &KeyQuery) -> (Vec<Measurement>, u64) {
    let mut points = series.read(query).unwrap();
    let mut found = Vec::new();
    while let Some(point) = block_on(points.next()).unwrap() {
        found.push(point);
    }
    (found, points.examined())
}

#[test]
fn time_of_all_devices_reads_a_few_rows_of_each() {
    for salts in ["", "SALT(4 BY device), "] {
        let store = reopen(&SimEnv::new(3));
        let series = open(&store, &create(salts, "device STRING"));
        let hours = 200;
        for device in 0..DEVICES {
            let points: Vec<_> = (0..hours).map(|hour| point(device, hour)).collect();
            block_on(series.write(&points)).unwrap();
        }
        for reverse in [false, true] {
            let query = between(50, 53).reverse(reverse);
            let (mut found, examined) = read(&series, &query);
            assert!(examined <= 160 + 12 * (1 + 3), "{salts:?}: {examined} rows of 2400");
            let (everything, all) = read(&series, &KeyQuery::all().reverse(reverse));
            assert_eq!(all, 2400, "a query without a time reads no sample");
            let mut expected = everything;
            let is_in = |point: &Measurement| {
                let Value::Signed(at) = point.fields[1] else { panic!("{point:?}") };
                (50 * HOUR_MS..53 * HOUR_MS).contains(&at)
            };
            expected.retain(is_in);
            if salts.is_empty() {
                assert_eq!(found, expected, "in the order of the key");
            }
            let order = |point: &Measurement| format!("{:?}", point.fields);
            found.sort_by_key(order);
            expected.sort_by_key(order);
            assert_eq!(found, expected);
            assert_eq!(read(&series, &query.limit(5)).0.len(), 5);
        }
    }
}

#[test]
fn short_series_are_read_in_one_scan() {
    let store = reopen(&SimEnv::new(3));
    let series = open(&store, &create("", "device STRING"));
    let points: Vec<_> =
        (0..100).flat_map(|device| (0..3).map(move |hour| point(device, hour))).collect();
    block_on(series.write(&points)).unwrap();
    let (found, examined) = read(&series, &between(0, 1));
    assert_eq!(found.len(), 100);
    assert!(examined <= 300 + 40, "{examined} rows");
}

#[test]
fn series_of_one_host_are_read_without_a_sample() {
    let store = reopen(&SimEnv::new(3));
    let series = open(
        &store,
        "CREATE TABLE points (p SERIES(DOUBLE) FAMILY f OFFSET OF ts,
           ROW KEY (host STRING, metric STRING, BUCKET(ts, '1h') DESC))",
    );
    let point = |host: i64, metric: i64, hour: i64| {
        let [host, metric] = [host, metric].map(|at| Value::Text(format!("{at}").into()));
        Measurement { fields: vec![host, metric, Value::Signed(hour * HOUR_MS)], value: 1.0 }
    };
    for host in 0..4 {
        let points: Vec<_> =
            (0..5).flat_map(|metric| (0..30).map(move |hour| point(host, metric, hour))).collect();
        block_on(series.write(&points)).unwrap();
    }
    let [low, high] = [3, 5].map(|hour| Value::Signed(hour * HOUR_MS));
    let range = Predicate::Range { low: Bound::Included(low), high: Bound::Excluded(high) };
    let query = KeyQuery::all().equals(0, Value::Text("2".into())).with(2, range);
    let (found, examined) = read(&series, &query);
    assert_eq!((found.len(), examined), (10, 150));
}

#[test]
fn dictionary_that_is_opened_lazily_can_be_refreshed() {
    let store = reopen(&SimEnv::new(3));
    let series = open(&store, &create("", "DICT(device, 3)"));
    let name = TableName::new("s", "points").unwrap();
    let open = || block_on(Dictionary::open_lazily(&**store.cluster(), &name, series.key()));
    let dictionary = open().unwrap();
    block_on(dictionary.refresh()).unwrap();
    block_on(series.write(&[point(1, 1)])).unwrap();
    block_on(dictionary.refresh()).unwrap();
    assert!(dictionary.dictionary_id(0, b"device 1").is_some());
    let of_names = Dictionary::table_for(&name).unwrap();
    store.disable_table(&of_names).unwrap();
    store.drop_table(&of_names).unwrap();
    assert!(block_on(dictionary.refresh()).is_err(), "its entries are gone");
}
