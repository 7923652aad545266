//! Cost of aggregates in the regions of an embedded store, beside the scans that return their rows.
//!
//! `cargo run --release -p halite --example aggregate_cost -- 3000000` alternates the calls on a
//! table of that many rows in four regions of store files, and prints the median of the rounds in
//! nanoseconds per row.
#![allow(clippy::print_stdout, reason = "it prints its measurements")]

use std::sync::Arc;
use std::time::Instant;

use halite::rowkey::KeySchema;
use halite::{
    AggregatedColumn, Aggregation, Bytes, CellValues, CompactionKind, CountedKeys,
    FamilyDescriptor, Filter, Put, Result, Scan, Store, TableDescriptor, block_on,
};

const ROUNDS: usize = 5;
const KEY: &str = "ROW KEY (id U64)";

/// Name of a call, and the call, which returns the number of rows.
type Call<'a> = (&'a str, &'a dyn Fn() -> Result<u64>);

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000_u64);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = halite::open(directory.path())?;
    fill(&store, rows)?;
    let first = || {
        let filter = Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]);
        Scan::all().filter(filter)
    };
    let only_first = || Scan::all().filter(Filter::FirstKeyOnly);
    let read = |scan: Scan| -> Result<u64> {
        let table = store.cluster().blocking_table(&"t".parse()?)?;
        let mut stream = table.scan(scan);
        let mut count = 0;
        loop {
            let rows = block_on(stream.next_rows())?;
            if rows.is_empty() {
                return Ok(count);
            }
            count += rows.len() as u64;
        }
    };
    let schema: KeySchema = KEY.parse().expect("a key");
    let keys = Arc::new(schema).counted_keys();
    let number = AggregatedColumn {
        family: Bytes::from("f"),
        qualifier: Bytes::from("n"),
        values: CellValues::Signed(8),
    };
    let add_up = |scan: Scan, columns: &[AggregatedColumn], keys: Option<CountedKeys>| {
        let table = store.cluster().blocking_table(&"t".parse()?)?;
        let aggregation = Aggregation { scan, columns: columns.to_vec(), keys };
        Ok(block_on(table.aggregate(aggregation))?.map_or(0, |sum| sum.rows))
    };
    let column = || Scan::all().column("f", "n");
    let calls: [Call<'_>; 5] = [
        ("scan of the first cells", &|| read(first())),
        ("count in the regions", &|| add_up(only_first(), &[], None)),
        ("count in the regions, of keys that are declared", &|| add_up(first(), &[], keys.clone())),
        ("scan of a column", &|| read(column())),
        ("sum of the column in the regions", &|| {
            add_up(column(), std::slice::from_ref(&number), keys.clone())
        }),
    ];
    let mut times = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        for ((name, call), times) in calls.iter().zip(&mut times) {
            let start = Instant::now();
            assert_eq!(call()?, rows, "{name}");
            times.push(start.elapsed());
        }
    }
    for ((name, _), times) in calls.iter().zip(&mut times) {
        times.sort();
        let nanoseconds = times[times.len() / 2].as_nanos() / u128::from(rows);
        println!("{name:<50} {nanoseconds:>6} ns a row");
    }
    store.close()
}

fn fill(store: &Store, rows: u64) -> Result<()> {
    let splits: Vec<Bytes> =
        (1..4).map(|part| Bytes::from((rows / 4 * part).to_be_bytes().to_vec())).collect();
    let table = TableDescriptor::new("t".parse()?).family(FamilyDescriptor::new("f"));
    let splits: Vec<&[u8]> = splits.iter().map(|key| &key[..]).collect();
    store.create_table(table, &splits)?;
    let table = store.table("t")?;
    let ids: Vec<u64> = (0..rows).collect();
    for ids in ids.chunks(2000) {
        let put = |id: &u64| {
            let number = id.cast_signed().to_be_bytes();
            Put::new(id.to_be_bytes().to_vec()).add("f", "n", number).add("f", "text", "abc").into()
        };
        for result in table.batch(ids.iter().map(put).collect())? {
            result?;
        }
    }
    store.flush("t")?;
    store.compact("t", None, CompactionKind::Major)
}
