//! Cost of a get of an embedded store: the engine's own call, and the calls of `BlockingTable` that
//! lead to it with and without a boxed future.
//!
//! `cargo run --release -p halite --example get_cost` alternates the calls on rows in memory and in
//! a cached store file, and prints the median of the rounds in nanoseconds per get.
#![allow(clippy::print_stdout, reason = "it prints its measurements")]

use std::time::Instant;

use halite::{Bytes, FamilyDescriptor, Get, Put, ReadTier, Result, Store, TableDescriptor};

const ROWS: u32 = 20_000;
const ROUNDS: usize = 101;

/// Name of a call, and the call, which returns whether the row is empty.
type Call<'a> = (&'a str, &'a dyn Fn(Get) -> Result<bool>);

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = halite::open(directory.path())?;
    store
        .create_table(TableDescriptor::new("t".parse()?).family(FamilyDescriptor::new("f")), &[])?;
    let keys: Vec<Bytes> = (0..ROWS).map(|i| Bytes::from(format!("row{i:08}"))).collect();
    for keys in keys.chunks(1000) {
        let puts = keys.iter().map(|key| Put::new(key.clone()).add("f", "q", "0123456789").into());
        for result in store.table("t")?.batch(puts.collect())? {
            result?;
        }
    }
    println!("memstore");
    measure(&store, &keys)?;
    store.flush("t")?;
    println!("store file in the block cache");
    measure(&store, &keys)
}

/// Prints what each call costs per get.
fn measure(store: &Store, keys: &[Bytes]) -> Result<()> {
    let engine = store.engine().table(&"t".parse()?)?;
    let table = store.table("t")?;
    let calls: [Call<'_>; 3] = [
        ("engine", &|get| Ok(engine.get(&get, ReadTier::Disk)?.is_empty())),
        ("BlockingTable::get", &|get| Ok(table.get(get)?.is_empty())),
        ("BlockingTable::get_all of one", &|get| Ok(table.get_all(vec![get])?[0].is_empty())),
    ];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for ((_, call), times) in calls.iter().zip(&mut times) {
            let start = Instant::now();
            // A step without a common divisor visits all keys in scattered order.
            for i in 0..keys.len() {
                assert!(!call(Get::new(keys[i * 7919 % keys.len()].clone()))?, "the row exists");
            }
            times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROWS));
        }
    }
    let medians = times.each_mut().map(|times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    for ((name, _), median) in calls.iter().zip(medians) {
        let over = (median / medians[0] - 1.0) * 100.0;
        println!("  {name:30} {median:7.1} ns per get {over:+6.1} %");
    }
    Ok(())
}
