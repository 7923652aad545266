//! Resident memory while a gigabyte goes through many tables, which are flushed and then dropped.
//! The limit is 1.5 times the sum of the block cache's capacity, the memstores and 20 MB.
//!
//! `cargo run --release -p halite-engine --example memory [MEGABYTES]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "it is a program that prints small numbers and ends at an error"
)]

use halite_engine::env::Env;
use halite_engine::{Engine, Options, WalSync};
use halite_types::{FamilyDescriptor, Put, RowOp, TableDescriptor, TableName};

const TABLES: u64 = 40;
const VALUE_BYTES: usize = 1000;
const BATCH: usize = 100;

fn main() {
    let megabytes: u64 = std::env::args().nth(1).map_or(1000, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    options.block_cache_bytes = 64 << 20;
    let cache = options.block_cache_bytes;
    let engine = Engine::open(Env::os(directory.path()).unwrap(), options).unwrap();
    let names: Vec<TableName> =
        (0..TABLES).map(|number| format!("t{number}").parse().unwrap()).collect();
    for name in &names {
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, Vec::new()).unwrap();
    }
    let report = |step: &str| {
        let memstores = names
            .iter()
            .filter_map(|name| engine.table(name).ok())
            .flat_map(|table| {
                table.regions().iter().map(|region| region.load()).collect::<Vec<_>>()
            })
            .map(|load| load.memstore_bytes)
            .sum::<u64>();
        let limit = (cache + memstores + (20 << 20)) * 3 / 2;
        let resident = resident_bytes();
        println!(
            "{step:<8} {:>6.1} MB resident, {:>6.1} MB in memstores; limit {:>6.1} MB{}",
            megabytes_of(resident),
            megabytes_of(memstores),
            megabytes_of(limit),
            if resident <= limit { "" } else { ": MISSED" }
        );
    };
    report("open");
    let rows = megabytes * 1_000_000 / VALUE_BYTES as u64;
    let value = vec![b'v'; VALUE_BYTES];
    for first in (0..rows).step_by(BATCH) {
        let name = &names[(first / BATCH as u64 % TABLES) as usize];
        let puts = (first..first + BATCH as u64)
            .map(|row| {
                let key = row.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec();
                RowOp::Put(Put::new(key).add("f", "q", value.clone()))
            })
            .collect();
        for result in engine.table(name).unwrap().batch(puts).unwrap() {
            result.unwrap();
        }
    }
    report("written");
    for name in &names {
        engine.flush(name).unwrap();
    }
    report("flushed");
    for name in &names {
        engine.disable_table(name).unwrap();
        engine.drop_table(name).unwrap();
    }
    report("dropped");
}

fn megabytes_of(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}
