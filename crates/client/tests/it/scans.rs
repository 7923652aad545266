//! Scans over regions, forward and reversed, with whole and partial rows, through splits.

use std::sync::Arc;

use halite_types::{
    Cluster as _, ErrorKind, Filter, Put, Result, Row, RowStream, Scan, ScanMeter, Table,
};

use crate::server::{Server, name, spread};

async fn all(mut rows: RowStream) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    while let Some(row) = rows.next().await? {
        all.push(row);
    }
    Ok(all)
}

fn keys(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| String::from_utf8_lossy(row.key()).into_owned()).collect()
}

fn filled(rows: usize) -> (Server, Vec<String>) {
    let server = Server::start();
    let mut rows: Vec<String> = (0..rows).map(spread).collect();
    server.fill(rows.clone());
    rows.sort();
    (server, rows)
}

fn read(server: &Server, table: &Arc<dyn Table>, scan: Scan) -> Vec<String> {
    keys(&server.run(all(table.scan(scan))).unwrap())
}

#[test]
fn scan_reads_all_regions_in_both_directions() {
    let (server, mut rows) = filled(500);
    let table = server.table();
    let small = || Scan::all().max_result_bytes(500);
    assert_eq!(read(&server, &table, small()), rows);
    assert_eq!(read(&server, &table, Scan::all().limit(123)), rows[..123]);
    let between = |from: &str, to: &str| {
        rows.iter().filter(|row| &row[..] >= from && &row[..] < to).cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        read(&server, &table, Scan::range("c", "q").max_result_bytes(300)),
        between("c", "q")
    );
    assert_eq!(read(&server, &table, Scan::range("h", "p")), between("h", "p"));
    let mut backward = between("c", "q");
    backward.reverse();
    assert_eq!(
        read(&server, &table, Scan::range("c", "q").reverse(true).max_result_bytes(300)),
        backward
    );
    assert_eq!(
        read(&server, &table, Scan::range("h", "p").reverse(true).limit(3)),
        between("h", "p").into_iter().rev().take(3).collect::<Vec<_>>()
    );
    rows.reverse();
    assert_eq!(read(&server, &table, small().reverse(true)), rows);
    assert!(read(&server, &table, Scan::range("b", "a")).is_empty());
}

#[test]
fn meter_counts_rows_that_servers_leave_out_and_ends_the_scan() {
    let (server, rows) = filled(500);
    let table = server.table();
    let none =
        || Scan::all().filter(Filter::parse_bytes(b"RowFilter(=, 'binary:nothing')").unwrap());
    let meter = Arc::new(ScanMeter::default());
    assert!(read(&server, &table, none().meter(Arc::clone(&meter))).is_empty());
    assert_eq!(meter.examined(), 500);
    assert!(meter.calls().is_some_and(|calls| calls >= meter.regions()) && meter.regions() > 0);
    // A server of Halite tells the blocks that it read from files, and not those of the cache.
    assert!(meter.blocks_read().is_some() && meter.blocks_cached().is_none());
    assert_eq!(read(&server, &table, Scan::all().meter(Arc::clone(&meter))), rows);
    assert_eq!(meter.examined(), 1000);
    let least = Arc::new(ScanMeter::new(10));
    let error = server.run(all(table.scan(none().meter(Arc::clone(&least))))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    assert!(least.is_exceeded());
}

#[test]
fn scan_continues_after_concurrent_splits_and_merges() {
    for reverse in [false, true] {
        let (server, mut rows) = filled(500);
        let table = server.table();
        if reverse {
            rows.reverse();
        }
        let mut stream = table.scan(Scan::all().max_result_bytes(400).reverse(reverse));
        let read: Result<Vec<Row>> = server.run(async {
            let mut read = Vec::new();
            while let Some(row) = stream.next().await? {
                read.push(row);
                match read.len() {
                    20 => server.engine.split_region(&server.region("a"), Some("d".into()))?,
                    100 => server.engine.split_region(&server.region("y"), Some("v".into()))?,
                    200 => server.engine.merge_regions(
                        &server.region("d"),
                        &server.region("h"),
                        false,
                    )?,
                    _ => {}
                }
            }
            Ok(read)
        });
        assert_eq!(keys(&read.unwrap()), rows);
    }
}

fn filter(text: &str) -> Filter {
    text.parse().unwrap()
}

/// Returns the cells of a row, by their qualifiers.
fn qualifiers(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .flat_map(Row::iter)
        .map(|cell| String::from_utf8_lossy(cell.qualifier()).into_owned())
        .collect()
}

#[test]
fn wide_row_is_complete_unless_partial_rows_are_requested() {
    let server = Server::start();
    let put = |row: &'static str| {
        (0..300)
            .fold(Put::new(row), |put, column| put.add("f", format!("{column:03}"), "value"))
            .into()
    };
    server
        .run(server.table().batch(vec![put("a"), put("k"), put("z")]))
        .unwrap()
        .into_iter()
        .for_each(|result| drop(result.unwrap()));
    let table = server.table();
    for reverse in [false, true] {
        let rows = server
            .run(all(table.scan(Scan::all().max_result_bytes(700).reverse(reverse))))
            .unwrap();
        assert_eq!(rows.iter().map(Row::len).collect::<Vec<_>>(), [300, 300, 300]);
    }
    let pieces = server.run(all(table.scan(Scan::all().batch(7).max_result_bytes(700)))).unwrap();
    assert!(pieces.iter().all(|piece| piece.len() <= 7));
    assert_eq!(qualifiers(&pieces).len(), 900);
    assert!(pieces.windows(2).all(|pair| pair[0].key() != pair[1].key() || pair[0].is_partial()));
    let limited = server.run(all(table.scan(Scan::all().batch(7).limit(2)))).unwrap();
    assert_eq!((qualifiers(&limited).len(), limited.last().unwrap().key()), (600, &b"k"[..]));
}

#[test]
fn partial_row_continues_after_region_split() {
    let server = Server::start();
    let put =
        (0..300).fold(Put::new("k"), |put, column| put.add("f", format!("{column:03}"), "value"));
    server.run(server.table().batch(vec![put.into()])).unwrap();
    let table = server.table();
    let mut stream = table.scan(Scan::all().batch(10).max_result_bytes(500));
    let pieces: Result<Vec<Row>> = server.run(async {
        let mut pieces = Vec::new();
        while let Some(piece) = stream.next().await? {
            pieces.push(piece);
            if pieces.len() == 5 {
                server.engine.split_region(&server.region("k"), Some("j".into()))?;
            }
        }
        Ok(pieces)
    });
    let expected: Vec<String> = (0..300).map(|column| format!("{column:03}")).collect();
    assert_eq!(qualifiers(&pieces.unwrap()), expected);
}

#[test]
fn sparse_and_empty_scans_end() {
    let (server, rows) = filled(2000);
    let table = server.table();
    let last = filter(&format!("RowFilter(=, 'binary:{}')", rows[1999]));
    assert_eq!(read(&server, &table, Scan::all().filter(last)), rows[1999..]);
    let none = filter("ValueFilter(=, 'binary:nothing')");
    assert!(read(&server, &table, Scan::all().filter(none)).is_empty());
    let page = filter("PrefixFilter('c')");
    assert_eq!(read(&server, &table, Scan::all().filter(page)).len(), 77);
}

#[test]
fn read_ahead_does_not_change_rows() {
    let (server, rows) = filled(3000);
    for key in ["c", "e", "k", "m", "s", "u", "x"] {
        server.engine.split_region(&server.region(key), Some(key.into())).unwrap();
    }
    let read_with = |ahead: usize, bytes: usize, scan: Scan| {
        let cluster = server.connect_with(|config| {
            (config.scan_prefetch_regions, config.scan_prefetch_bytes) = (ahead, bytes);
        });
        read(&server, &cluster.table(&name()), scan)
    };
    let scans: [fn() -> Scan; 6] = [
        Scan::all,
        || Scan::range("b7", "v3"),
        || Scan::range("d", "e"),
        || Scan::prefix("k"),
        || Scan::all().filter(filter("WHILE RowFilter(<, 'binary:l')")),
        || Scan::all().filter(filter("PageFilter(50)")),
    ];
    for scan in scans {
        for scan in [scan().max_result_bytes(300), scan().max_result_bytes(300).reverse(true)] {
            let one_by_one = read_with(0, 0, scan.clone());
            assert_eq!(read_with(1, 0, scan.clone()), one_by_one, "{scan:?}");
            assert_eq!(read_with(5, 1 << 20, scan.clone()), one_by_one, "{scan:?}");
        }
    }
    assert_eq!(read_with(3, 1000, Scan::all()), rows);
}

#[test]
fn dropped_scan_closes_its_scanners() {
    let (server, _) = filled(3000);
    let table = server.connect_with(|config| config.scan_prefetch_bytes = 0).table(&name());
    let mut stream = table.scan(Scan::all().max_result_bytes(300));
    server.run(async {
        for _ in 0..100 {
            stream.next().await.unwrap().unwrap();
        }
    });
    assert!(server.open_scanners() > 1, "nothing is read ahead");
    drop(stream);
    let until = std::time::Instant::now() + std::time::Duration::from_mins(2);
    while server.open_scanners() > 0 {
        assert!(
            std::time::Instant::now() < until,
            "{} scanners are still open",
            server.open_scanners()
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
