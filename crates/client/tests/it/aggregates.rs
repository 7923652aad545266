//! Aggregates in the regions of a Halite server: those of the rows that a scan returns, also while
//! regions split and the server restarts; and clusters whose regions have none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use halite_types::rng::SplitMix64;
use halite_types::{
    AggregatedColumn, Aggregates, Aggregation, Bytes, CellValues, CountedKeys, Delete, Error,
    ErrorKind, Filter, Put, Result, RowCheck, RowOp, Scan, ScanMeter, Table, TimeRange,
};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::service::Method;

use crate::fake::{Fake, Reply};
use crate::server::{Server, name, spread};

fn column(qualifier: &'static str, values: CellValues) -> AggregatedColumn {
    AggregatedColumn { family: "f".into(), qualifier: qualifier.into(), values }
}

/// Keys of this many letters.
#[derive(Debug)]
struct Letters(usize);

impl RowCheck for Letters {
    fn check(&self, row: &[u8]) -> Result<()> {
        if row.len() == self.0 { Ok(()) } else { Err(Error::invalid("another length")) }
    }
}

fn letters(count: usize) -> CountedKeys {
    let declaration = format!("ROW KEY (k CHAR({count}))");
    CountedKeys { declaration, check: Arc::new(Letters(count)) }
}

fn below(rng: &mut SplitMix64, most: usize) -> usize {
    usize::try_from(rng.next_u64() % most as u64).unwrap()
}

fn all() -> Aggregation {
    let columns = vec![
        column("n", CellValues::Signed(8)),
        column("s", CellValues::Signed(2)),
        column("t", CellValues::Text),
        column("n", CellValues::Bytes),
    ];
    Aggregation { scan: Scan::all(), columns, keys: None }
}

/// Adds up the rows that a scan returns.
async fn by_rows(table: &dyn Table, aggregation: &Aggregation) -> Result<Aggregates> {
    let mut sum = aggregation.of_nothing();
    let mut rows = table.scan(aggregation.scan.clone());
    while let Some(row) = rows.next().await? {
        aggregation.add_row(row.key(), row.iter(), &mut sum);
    }
    Ok(sum)
}

/// Writes and deletes cells of random rows, some of them no numbers.
fn fill(server: &Server, rng: &mut SplitMix64, operations: usize) {
    let table = server.engine.table(&name()).unwrap();
    let op = |rng: &mut SplitMix64| -> RowOp {
        let row = spread(below(rng, 400));
        match below(rng, 10) {
            0 => Delete::new(row).into(),
            1 => Delete::new(row).column("f", "n").into(),
            2 => Delete::new(row).family("f").into(),
            3 => Put::new(row).add("f", "n", "odd").into(),
            4 => Put::new(row).add("f", "t", vec![0xc3]).into(),
            5 => Put::new(row).add("g", "n", "another family").into(),
            6 => Put::new(row).add("f", "s", [0xff, u8::try_from(below(rng, 256)).unwrap()]).into(),
            _ => {
                let number = [i64::MIN, i64::MAX, -1, 0, 7][below(rng, 5)];
                Put::new(row).add("f", "n", number.to_be_bytes()).add("f", "t", "text").into()
            }
        }
    };
    for _ in 0..operations / 50 {
        let ops: Vec<RowOp> = (0..50).map(|_| op(rng)).collect();
        table.batch(ops).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
        if below(rng, 5) == 0 {
            server.engine.flush(&name()).unwrap();
        }
    }
}

/// Returns aggregations of many kinds.
fn questions() -> Vec<Aggregation> {
    let text = |text: &str| Filter::parse_bytes(text.as_bytes()).unwrap();
    let first = || text("FirstKeyOnlyFilter() AND KeyOnlyFilter()");
    let positive = "SingleColumnValueFilter('f', 'n', <, 'binary:\\x80', true, true)";
    let with = |scan: Scan| Aggregation { scan, ..all() };
    vec![
        all(),
        Aggregation { columns: Vec::new(), ..with(Scan::all().filter(first())) },
        with(Scan::range("c", "q").column("f", "n").column("f", "t")),
        with(Scan::all().start_exclusive(spread(3)).stop_inclusive(spread(25))),
        with(Scan::prefix("h")),
        with(Scan::prefix("nothing")),
        with(Scan::all().family("f").filter(text(positive))),
        with(Scan::all().time_range(TimeRange::new(0, 1).unwrap())),
        Aggregation { keys: Some(letters(6)), ..all() },
        Aggregation { keys: Some(letters(5)), ..all() },
    ]
}

#[test]
fn regions_add_up_what_scans_return() {
    for seed in 0..6 {
        let server = Server::start();
        let mut rng = SplitMix64::new(seed);
        fill(&server, &mut rng, 1500);
        let table = server.table();
        for (at, question) in questions().into_iter().enumerate() {
            let expected = server.run(by_rows(table.as_ref(), &question)).unwrap();
            let sum = server.run(table.aggregate(question)).unwrap();
            assert_eq!(sum.as_ref(), Some(&expected), "seed {seed}, question {at}");
            assert!(expected.rows > 0 || [5, 7, 9].contains(&at), "question {at}: {expected:?}");
        }
    }
}

#[test]
fn no_row_counts_twice_while_regions_split_and_the_server_restarts() {
    let mut server = Server::start();
    server.fill((0..5000).map(spread));
    let table = server.table();
    let done = AtomicBool::new(false);
    let rows = || Aggregation { columns: Vec::new(), ..all() };
    let (engine, runtime) = (Arc::clone(&server.engine), server.runtime.handle().clone());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for letter in b'b'..=b'z' {
                let at = Bytes::copy_from_slice(&[letter]);
                let regions = engine.regions(&name()).unwrap();
                let region = regions.iter().find(|region| region.contains(&at)).unwrap();
                let _ = engine.split_region(&region.encoded_name, Some(at));
            }
            done.store(true, Ordering::Release);
        });
        let mut answers = 0;
        while !done.load(Ordering::Acquire) || answers < 5 {
            let sum = runtime.block_on(table.aggregate(rows())).unwrap().unwrap();
            assert_eq!(sum.rows, 5000, "answer {answers}");
            answers += 1;
        }
    });
    assert!(server.engine.regions(&name()).unwrap().len() > 20);
    server.restart();
    assert_eq!(server.run(table.aggregate(rows())).unwrap().unwrap().rows, 5000);
}

#[test]
fn meter_counts_what_regions_examine_and_ends_them() {
    let server = Server::start();
    server.fill((0..1000).map(spread));
    let table = server.table();
    let metered = |meter: &Arc<ScanMeter>| {
        let none = Filter::parse_bytes(b"PrefixFilter('none')").unwrap();
        let scan = Scan::all().filter(none).meter(Arc::clone(meter));
        server.run(table.aggregate(Aggregation { scan, ..all() }))
    };
    let meter = Arc::new(ScanMeter::default());
    assert_eq!(metered(&meter).unwrap().unwrap(), all().of_nothing());
    let examined = meter.examined();
    assert!(examined > 0);
    let least = Arc::new(ScanMeter::new(examined - 1));
    assert_eq!(metered(&least).unwrap_err().kind(), ErrorKind::InvalidRequest);
    meter.stop();
    assert_eq!(metered(&meter).unwrap_err().kind(), ErrorKind::Stopped);
}

#[test]
fn long_regions_are_added_up_in_steps() {
    let server = Server::start();
    server.fill((0..60_000).map(|number| format!("a{number:06}")));
    let table = server.table();
    // Each row takes long, so that a step ends before the region.
    let slow = vec!["RowFilter(=, 'regexstring:(a|b|c)+x?[0-9]*[0-9]$')"; 50].join(" AND ");
    let scan = Scan::all().filter(Filter::parse_bytes(slow.as_bytes()).unwrap());
    let aggregation = Aggregation { scan, ..all() };
    let rows = server.run(table.aggregate(aggregation.clone())).unwrap().unwrap().rows;
    assert_eq!(rows, 60_000);
    let meter = Arc::new(ScanMeter::new(1));
    let scan = aggregation.scan.clone().meter(Arc::clone(&meter));
    let ended = server.run(table.aggregate(Aggregation { scan, ..aggregation }));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::InvalidRequest);
    assert!((2..60_000).contains(&meter.examined()), "{} rows in a step", meter.examined());
}

#[test]
fn aggregations_that_need_an_order_are_refused() {
    let server = Server::start();
    let table = server.table();
    let kind = |scan| {
        let refused: Result<_, Error> = server.run(table.aggregate(Aggregation { scan, ..all() }));
        refused.unwrap_err().kind()
    };
    for scan in [Scan::all().reverse(true), Scan::all().limit(1), Scan::all().batch(1)] {
        assert_eq!(kind(scan), ErrorKind::InvalidRequest);
    }
    assert_eq!(kind(Scan::all().family("nope")), ErrorKind::NoSuchFamily);
}

#[test]
fn cluster_without_the_endpoint_is_asked_once() {
    let fake = Fake::start(|call| {
        assert!(matches!(
            call.method,
            Method::ClientExecService | Method::MasterGetTableDescriptors
        ));
        let kind = ExceptionKind::UnknownProtocol;
        let text = "No registered coprocessor service found for AggregateService in region t,,7.";
        Reply::Exception(Exception::new(kind, text))
    });
    let table = fake.table(|_| ());
    assert_eq!(fake.run(table.aggregate(all())).unwrap(), None);
    assert_eq!(fake.run(table.aggregate(all())).unwrap(), None);
    assert_eq!(fake.count(Method::ClientExecService), 1);
}
