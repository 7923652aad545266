//! Dictionaries of a table whose points are written by name.

use halite::rowkey::dictionary::Dictionary;
use halite::rowkey::series::{Measurement, Series};
use halite::rowkey::{KeyResolver as _, Value};
use halite::{TableName, block_on, declare_tables};
use halite_engine::env::sim::SimEnv;

use super::reopen;

const TABLE: &str = "CREATE TABLE points (p SERIES(DOUBLE) FAMILY f OFFSET OF ts,
    ROW KEY (DICT(device, 3), BUCKET(ts, '1h') DESC))";

#[test]
fn dictionary_that_is_opened_lazily_can_be_refreshed() {
    let store = reopen(&SimEnv::new(3));
    declare_tables(&store, "s", TABLE).unwrap();
    let name = TableName::new("s", "points").unwrap();
    let series = block_on(Series::for_table(&**store.cluster(), &name, None)).unwrap();
    let open = || block_on(Dictionary::open_lazily(&**store.cluster(), &name, series.key()));
    let dictionary = open().unwrap();
    block_on(dictionary.refresh()).unwrap();
    let fields = vec![Value::Text("device 1".into()), Value::Signed(5)];
    block_on(series.write(&[Measurement { fields, value: 1.0 }])).unwrap();
    block_on(dictionary.refresh()).unwrap();
    assert!(dictionary.dictionary_id(0, b"device 1").is_some());
    let of_names = Dictionary::table_for(&name).unwrap();
    store.disable_table(&of_names).unwrap();
    store.drop_table(&of_names).unwrap();
    assert!(block_on(dictionary.refresh()).is_err(), "its entries are gone");
}
