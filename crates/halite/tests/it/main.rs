//! The library from outside: reading and writing, administration, restarts, and every kind of bad
//! input.
#![allow(clippy::type_complexity, reason = "a table of cases is read next to its use")]
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "tests are short and fail by panic"
)]

mod admin;
mod bad_input;
mod bulk_load;
mod check;
mod concurrency;
mod damage;
mod declared_tables;
mod dying_table;
mod hbase_files;
mod held_table;
mod log_damage;
mod move_row;
mod nonces;
mod older_directory;
mod older_manifest;
mod reading;
mod recovery;
mod rename_hook;
mod repair;
mod restart;
mod row_keys;
mod scatter;
mod series;
mod several_rows;
mod snapshots;
mod strict_keys;
mod writing;

use halite::{
    BlockingTable, Builder, FamilyDescriptor, Options, Row, Scan, Store, TableDescriptor,
};
use halite_engine::env::sim::SimEnv;

/// Returns a store on a simulated disk with a table `t` of the families `f` (three versions) and
/// `g`.
fn store(sim: &SimEnv) -> Store {
    let store = reopen(sim);
    let table = TableDescriptor::new("t".parse().unwrap())
        .family(FamilyDescriptor::new("f").versions(3))
        .family(FamilyDescriptor::new("g"));
    store.create_table(table, &[]).unwrap();
    store
}

fn reopen(sim: &SimEnv) -> Store {
    Builder::new().options(small()).open_with_env(sim.env()).unwrap()
}

/// Small limits, so that little data exercises every code path.
fn small() -> Options {
    let mut options = Options::default();
    options.memstore_flush_bytes = 256 << 10;
    options.in_memory_compaction_bytes = 32 << 10;
    options.wal_segment_bytes = 64 << 10;
    options
}

/// Formats a row as `column@timestamp=value`.
fn format_row(row: &Row) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    row.iter()
        .map(|cell| {
            format!(
                "{}:{}@{}={}",
                text(cell.family()),
                text(cell.qualifier()),
                cell.timestamp(),
                text(cell.value())
            )
        })
        .collect()
}

fn keys(table: &BlockingTable, scan: Scan) -> Vec<String> {
    table.scan(scan).map(|row| String::from_utf8_lossy(row.unwrap().key()).into_owned()).collect()
}
