//! Engines on a simulated disk, and rows as text.

use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options, Region};
use halite_types::{Bytes, FamilyDescriptor, Put, Row, RowOp, TableDescriptor, TableName};

/// Returns the name of the one table.
pub(crate) fn name() -> TableName {
    "t".parse().unwrap()
}

/// Returns an engine with a table of the families `f` (three versions) and `g`.
pub(crate) fn engine(sim: &SimEnv, splits: &[&'static str]) -> Arc<Engine> {
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let table = TableDescriptor::new(name())
        .family(FamilyDescriptor::new("f").versions(3))
        .family(FamilyDescriptor::new("g"));
    engine.create_table(table, splits.iter().map(|&key| Bytes::from(key)).collect()).unwrap();
    engine
}

/// Returns the table's first region.
pub(crate) fn region(engine: &Engine) -> Arc<Region> {
    engine.table(&name()).unwrap().region_for_row(b"").unwrap()
}

/// Puts a value into `f:q` of a row.
pub(crate) fn put(engine: &Engine, row: &str, value: &str) {
    apply(engine, RowOp::Put(Put::new(row.to_owned()).add("f", "q", value)));
}

/// Applies an operation that must succeed.
pub(crate) fn apply(engine: &Engine, op: RowOp) {
    engine.table(&name()).unwrap().batch(vec![op]).unwrap().pop().unwrap().unwrap();
}

/// Formats a row or partial row: its key, the values of its cells, and `..` if the row continues.
pub(crate) fn format_row(row: &Row) -> String {
    let values: Vec<_> =
        row.iter().map(|cell| String::from_utf8_lossy(cell.value()).into_owned()).collect();
    format!(
        "{}={}{}",
        String::from_utf8_lossy(row.key()),
        values.join(","),
        if row.is_partial() { ".." } else { "" }
    )
}

/// Returns a store file of the family `f`: its path and its bytes.
pub(crate) fn store_file(sim: &SimEnv) -> (String, Vec<u8>) {
    sim.fs
        .files()
        .into_iter()
        .find(|(path, _)| path.starts_with("data/") && path.contains("/f/") && !path.contains("/."))
        .unwrap()
}
