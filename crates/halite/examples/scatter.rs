//! Speed of merged scans over salts, compared with one scan of the same rows without salts and with
//! salts read one after the other.
//!
//!     cargo run --release -p halite --example scatter [rows]
//!     cargo run --release -p halite --features client --example scatter rows rpc://localhost:16020
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its measurements")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use halite::rowkey::{KeyQuery, KeySchema, Plan, PlanOptions, Scatter, ScatterOptions, Value};
use halite::{
    Bytes, Cluster, CompactionKind, FamilyDescriptor, Get, Put, Result, RowOp, Scan, Table,
    TableDescriptor, TableExt, TableName, block_on,
};

const T0: i64 = 1_710_460_800_000;
const DEVICES: usize = 1000;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(500_000);
    let directory =
        tempfile::tempdir().map_err(|error| halite::Error::io("a temporary directory", error))?;
    let store: Arc<dyn Cluster> = match std::env::args().nth(2) {
        None => Arc::clone(halite::open(directory.path())?.cluster()),
        Some(uri) => connect(&uri)?,
    };
    let unsalted = Salted::load(&store, 1, rows)?;
    println!("{rows} rows, best of {ROUNDS} rounds; one scan without salts is 1.00");
    for salts in [16, 1000] {
        let salted = Salted::load(&store, salts, rows)?;
        let mut best = [Duration::MAX; 4];
        // Taken in turns, so that whatever else the machine does meets all of them.
        for _ in 0..ROUNDS {
            let ways = [
                unsalted.scan(rows)?,
                salted.merged(rows)?,
                salted.one_after_the_other(rows)?,
                salted.unordered(rows)?,
            ];
            best.iter_mut().zip(ways).for_each(|(best, took)| *best = took.min(*best));
        }
        let of = |took: Duration| best[0].as_secs_f64() / took.as_secs_f64();
        println!("{salts:>5} salts: {:>9.0} rows/s unsalted", rows as f64 / best[0].as_secs_f64());
        println!(
            "             merged {:.2}, salts one after the other {:.2} (no order), all at once without order {:.2}",
            of(best[1]),
            of(best[2]),
            of(best[3])
        );
        let [get, known, all] = salted.first_rows()?;
        let times = |took: Duration| took.as_secs_f64() / get.as_secs_f64();
        println!(
            "             get {get:?}; first row of LIMIT 100: one device {known:?} ({:.1} gets), every salt {all:?} ({:.1} gets)",
            times(known),
            times(all)
        );
    }
    Ok(())
}

#[cfg(feature = "client")]
fn connect(uri: &str) -> Result<Arc<dyn Cluster>> {
    Ok(Arc::new(block_on(halite::connect(uri))?))
}

#[cfg(not(feature = "client"))]
fn connect(_: &str) -> Result<Arc<dyn Cluster>> {
    Err(halite::Error::invalid(
        "this was built without the client; build it with --features client",
    ))
}

/// Table with one number of salts, in one region.
struct Salted {
    schema: Arc<KeySchema>,
    table: Arc<dyn Table>,
}

impl Salted {
    fn load(store: &Arc<dyn Cluster>, salts: u32, rows: usize) -> Result<Self> {
        let schema: KeySchema =
            format!("ROW KEY (SALT({salts} BY device_id), device_id STRING, ts TIMESTAMP DESC)")
                .parse()
                .map_err(|error| halite::Error::invalid(format!("{error}")))?;
        let name: TableName = format!("salted_{salts}").parse()?;
        block_on(store.admin().create_table(
            TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("d")),
            Vec::new(),
        ))?;
        let table = store.table(&name);
        for first in (0..rows).step_by(2000) {
            let put = |row| {
                Ok(RowOp::Put(Put::new(Bytes::from(schema.encode(&values(row))?)).add(
                    "d",
                    "v",
                    (row as f64).to_be_bytes(),
                )))
            };
            let ops: Result<Vec<_>> = (first..rows.min(first + 2000)).map(put).collect();
            block_on(table.batch(ops?))?.into_iter().try_for_each(|result| result.map(drop))?;
        }
        block_on(store.admin().flush(&name))?;
        block_on(store.admin().compact(&name, None, CompactionKind::Major))?;
        Ok(Self { schema: Arc::new(schema), table })
    }

    fn scatter(&self, query: &KeyQuery) -> Result<Scatter> {
        let plan = Arc::new(Plan::new(&self.schema, query, &PlanOptions::default())?);
        Scatter::new(Arc::clone(&self.table), plan, Scan::all(), &ScatterOptions::default(), None)
    }

    fn scan(&self, rows: usize) -> Result<Duration> {
        timed(rows, || count(&self.table, Scan::all()))
    }

    fn merged(&self, rows: usize) -> Result<Duration> {
        timed(rows, || drain(self.scatter(&KeyQuery::all())?))
    }

    fn unordered(&self, rows: usize) -> Result<Duration> {
        timed(rows, || drain(self.scatter(&KeyQuery::all().ordered(false))?))
    }

    fn one_after_the_other(&self, rows: usize) -> Result<Duration> {
        let plan = Plan::new(&self.schema, &KeyQuery::all(), &PlanOptions::default())?;
        timed(rows, || {
            plan.ranges()
                .map(|range| count(&self.table, Scan { range: range.range.clone(), ..Scan::all() }))
                .sum()
        })
    }

    /// Measures a get and the first row of a scan of a hundred: of one device in one salt, and of
    /// all keys in all salts. Returns the medians.
    fn first_rows(&self) -> Result<[Duration; 3]> {
        let key = Bytes::from(self.schema.encode(&values(7))?);
        let first = |query: &KeyQuery| block_on(self.scatter(query)?.next()).map(drop);
        let [device, _] = values(7);
        let one = KeyQuery::all().equals(0, device).limit(100);
        let all = KeyQuery::all().limit(100);
        Ok([
            median(1000, || block_on(self.table.get(Get::new(key.clone()))).map(drop))?,
            median(1000, || first(&one))?,
            median(200, || first(&all))?,
        ])
    }
}

fn values(row: usize) -> [Value<'static>; 2] {
    let at = i64::try_from(row / DEVICES).unwrap_or(0);
    [Value::Text(format!("sensor_{:05}", row % DEVICES).into()), Value::Signed(T0 + at * 10_000)]
}

fn drain(mut scatter: Scatter) -> Result<usize> {
    let mut count = 0;
    while block_on(scatter.next())?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn count(table: &Arc<dyn Table>, scan: Scan) -> Result<usize> {
    let mut stream = table.scan(scan);
    let mut count = 0;
    while block_on(stream.next())?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn timed(rows: usize, read: impl FnOnce() -> Result<usize>) -> Result<Duration> {
    let began = Instant::now();
    let found = read()?;
    if found == rows {
        Ok(began.elapsed())
    } else {
        Err(halite::Error::corrupt(format!(
            "{found} rows of {rows} came; the measurements are invalid"
        )))
    }
}

fn median(times: usize, mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let began = Instant::now();
        call()?;
        took.push(began.elapsed());
    }
    took.sort_unstable();
    Ok(took[times / 2])
}
