//! Scans: opening, continuing, limits, ends, leases, and calls out of sequence.

use halite_wire::convert::result::rows_from_response;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::service;

use crate::client::{Client, DecodedResponse, Kind, bytes, exception_kind, format_rows};
use crate::server::Server;

/// Returns a request that opens a scanner, as Java's client sends it.
fn open(server: &Server, row: &str, scan: pb::Scan) -> pb::ScanRequest {
    pb::ScanRequest {
        region: Some(server.region(row)),
        scan: Some(scan),
        number_of_rows: Some(i32::MAX as u32),
        close_scanner: Some(false),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        ..Default::default()
    }
}

fn next(id: u64, rows: u32, call: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(id),
        number_of_rows: Some(rows),
        next_call_seq: Some(call),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        ..Default::default()
    }
}

fn close(id: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(id),
        number_of_rows: Some(0),
        close_scanner: Some(true),
        ..Default::default()
    }
}

fn send_scan(client: &mut Client, request: &pb::ScanRequest) -> DecodedResponse<pb::ScanResponse> {
    client.call::<service::ClientScan>(request).unwrap()
}

/// Returns `None` if the scanner has expired, as it may when the machine stops the test for longer
/// than its lease.
fn send_scan_unless_expired(
    client: &mut Client,
    request: &pb::ScanRequest,
) -> Option<DecodedResponse<pb::ScanResponse>> {
    match client.call::<service::ClientScan>(request) {
        Err(error) if error.kind() == Some(ExceptionKind::UnknownScanner) => None,
        told => Some(told.unwrap()),
    }
}

fn rows(told: &DecodedResponse<pb::ScanResponse>) -> Vec<String> {
    format_rows(
        &rows_from_response(&told.message, &mut told.cells.clone().unwrap_or_default()).unwrap(),
    )
}

/// More results, more in the region.
fn more_results(told: &DecodedResponse<pb::ScanResponse>) -> (Option<bool>, Option<bool>) {
    (told.message.more_results, told.message.more_results_in_region)
}

fn put_rows(server: &Server) {
    server.put(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5"), ("x", "9")]);
}

#[test]
fn scanner_is_closed_at_end_of_region() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let told = send_scan(&mut client, &open(&server, "a", pb::Scan::default()));
    assert_eq!(
        (rows(&told), more_results(&told)),
        (
            ["a=1", "b=2", "c=3", "d=4", "e=5"].map(str::to_owned).to_vec(),
            (Some(true), Some(false))
        )
    );
    let message = &told.message;
    assert_eq!(
        (message.ttl, message.stale, message.heartbeat_message),
        (Some(60_000), Some(false), None)
    );
    assert!(message.mvcc_read_point() > 0 && message.scanner_id() > 0);
    assert_eq!(message.partial_flag_per_result, [false; 5]);
    // A close request for the scanner, which is already closed, returns only its id.
    let closed = send_scan(&mut client, &close(message.scanner_id()));
    assert_eq!(
        closed.message,
        pb::ScanResponse { scanner_id: message.scanner_id, ..Default::default() }
    );
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(message.scanner_id(), 1, 0))),
        Some(ExceptionKind::UnknownScanner)
    );
}

#[test]
fn scan_continues_across_calls_until_closed() {
    let server = Server::start();
    put_rows(&server);
    for kind in [Kind::Java, Kind::Plain, Kind::Compressed] {
        let mut client = Client::connect(server.regionserver_port(), kind);
        let first = send_scan(
            &mut client,
            &pb::ScanRequest { number_of_rows: Some(2), ..open(&server, "a", pb::Scan::default()) },
        );
        let id = first.message.scanner_id();
        assert_eq!(
            (rows(&first), more_results(&first)),
            (vec!["a=1".to_owned(), "b=2".to_owned()], (Some(true), Some(true)))
        );
        let second = send_scan(&mut client, &next(id, 2, 0));
        assert_eq!(
            (rows(&second), second.message.ttl, second.message.mvcc_read_point),
            (vec!["c=3".to_owned(), "d=4".to_owned()], None, None)
        );
        let closed = send_scan(&mut client, &close(id));
        let expected = pb::ScanResponse {
            scanner_id: Some(id),
            more_results: Some(true),
            stale: Some(false),
            more_results_in_region: Some(true),
            ..Default::default()
        };
        assert_eq!(closed.message, expected);
        assert_eq!(
            exception_kind(client.call::<service::ClientScan>(&next(id, 2, 1))),
            Some(ExceptionKind::UnknownScanner)
        );
    }
}

#[test]
fn retried_scan_call_returns_same_rows() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let first = send_scan(
        &mut client,
        &pb::ScanRequest { number_of_rows: Some(1), ..open(&server, "a", pb::Scan::default()) },
    );
    let id = first.message.scanner_id();
    for _ in 0..2 {
        assert_eq!(rows(&send_scan(&mut client, &next(id, 2, 0))), ["b=2", "c=3"]);
    }
    // The last one too, after which the scanner is closed.
    for _ in 0..2 {
        let last = send_scan(&mut client, &next(id, 9, 1));
        assert_eq!(
            (rows(&last), more_results(&last)),
            (vec!["d=4".to_owned(), "e=5".to_owned()], (Some(true), Some(false)))
        );
    }
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(id, 2, 2))),
        Some(ExceptionKind::UnknownScanner)
    );
}

/// Opens scanners of two rows of three megabytes each.
fn eight_scanners(server: &Server, client: &mut Client) -> Vec<u64> {
    let large = "v".repeat(3 << 20);
    server.put(&[("a", &large), ("b", &large)]);
    let mut opened = || {
        send_scan(
            client,
            &pb::ScanRequest { number_of_rows: Some(0), ..open(server, "a", pb::Scan::default()) },
        )
        .message
        .scanner_id()
    };
    (0..8).map(|_| opened()).collect()
}

/// Replies of three megabytes each. At least eight megabytes are cached, whatever the memory for
/// memstores and blocks: two replies.
#[test]
fn oldest_cached_scan_replies_are_evicted() {
    let mut options = halite_engine::Options::default();
    (options.global_memstore_bytes, options.block_cache_bytes) = (64 << 20, 16 << 20);
    let server = Server::over(options, |_| ());
    let mut client = server.client();
    let ids = eight_scanners(&server, &mut client);
    for id in &ids {
        assert_eq!(rows(&send_scan(&mut client, &next(*id, 1, 0))).len(), 1);
    }
    for id in &ids[6..] {
        assert_eq!(rows(&send_scan(&mut client, &next(*id, 1, 0))).len(), 1);
    }
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(ids[5], 1, 0))),
        Some(ExceptionKind::OutOfOrderScannerNext)
    );
    // The scanner itself remains usable.
    assert_eq!(rows(&send_scan(&mut client, &next(ids[5], 1, 1))).len(), 1);
}

/// A scanner of the Java client receives two megabytes per response, and clients with many open
/// scanners may retry all of them.
#[test]
fn replies_are_cached_for_open_and_few_closed_scanners() {
    let server = Server::start();
    let mut client = server.client();
    let ids = eight_scanners(&server, &mut client);
    for call in [0, 0] {
        for id in &ids {
            assert_eq!(rows(&send_scan(&mut client, &next(*id, 1, call))).len(), 1);
        }
    }
    for id in &ids {
        let last = send_scan(&mut client, &next(*id, 9, 1));
        assert_eq!((rows(&last).len(), more_results(&last).1), (1, Some(false)));
    }
    assert_eq!(rows(&send_scan(&mut client, &next(ids[7], 9, 1))).len(), 1);
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(ids[5], 9, 1))),
        Some(ExceptionKind::UnknownScanner)
    );
}

#[test]
fn out_of_order_scan_call_keeps_scanner_open() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let id = send_scan(
        &mut client,
        &pb::ScanRequest { number_of_rows: Some(0), ..open(&server, "a", pb::Scan::default()) },
    )
    .message
    .scanner_id();
    let exception = client.call::<service::ClientScan>(&next(id, 1, 5)).unwrap_err();
    assert_eq!(exception.kind(), Some(ExceptionKind::OutOfOrderScannerNext));
    assert!(
        exception
            .message()
            .starts_with("Expected nextCallSeq: 0 But the nextCallSeq got from client: 5"),
        "{exception}"
    );
    assert_eq!(rows(&send_scan(&mut client, &next(id, 1, 0))), ["a=1"]);
    // Calls without a sequence number are not checked, and a renewal does not advance the number.
    assert_eq!(
        rows(&send_scan(&mut client, &pb::ScanRequest { next_call_seq: None, ..next(id, 1, 0) })),
        ["b=2"]
    );
    let renewed = send_scan(&mut client, &pb::ScanRequest { renew: Some(true), ..next(id, 1, 1) });
    assert_eq!(renewed.message, pb::ScanResponse { scanner_id: Some(id), ..Default::default() });
    assert_eq!(rows(&send_scan(&mut client, &next(id, 1, 1))), ["c=3"]);
}

#[test]
fn guessed_scanner_id_is_rejected() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let id = send_scan(
        &mut client,
        &pb::ScanRequest { number_of_rows: Some(1), ..open(&server, "a", pb::Scan::default()) },
    )
    .message
    .scanner_id();
    for wrong in [0, 1, id ^ 1, id + (1 << 32), u64::MAX] {
        for request in [
            next(wrong, 1, 0),
            close(wrong),
            pb::ScanRequest { renew: Some(true), ..next(wrong, 1, 0) },
        ] {
            assert_eq!(
                exception_kind(client.call::<service::ClientScan>(&request)),
                Some(ExceptionKind::UnknownScanner),
                "{wrong}"
            );
        }
    }
}

#[test]
fn scan_respects_row_and_byte_limits() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    // A limit that is reached ends the scan as a whole.
    let told = send_scan(
        &mut client,
        &pb::ScanRequest { limit_of_rows: Some(2), ..open(&server, "a", pb::Scan::default()) },
    );
    assert_eq!(
        (rows(&told), more_results(&told).0),
        (vec!["a=1".to_owned(), "b=2".to_owned()], Some(false))
    );
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(told.message.scanner_id(), 1, 0))),
        Some(ExceptionKind::UnknownScanner)
    );
    // At least one row is returned, however few bytes are allowed.
    let told = send_scan(
        &mut client,
        &open(&server, "a", pb::Scan { max_result_size: Some(1), ..Default::default() }),
    );
    assert_eq!(
        (rows(&told), more_results(&told)),
        (vec!["a=1".to_owned()], (Some(true), Some(true)))
    );
    // Without a row count the server returns one row.
    let unsaid =
        pb::ScanRequest { number_of_rows: None, ..open(&server, "a", pb::Scan::default()) };
    assert_eq!(rows(&send_scan(&mut client, &unsaid)), ["a=1"]);
    // Open, read and close in one.
    let once = pb::ScanRequest {
        close_scanner: Some(true),
        number_of_rows: Some(2),
        ..open(&server, "a", pb::Scan::default())
    };
    let told = send_scan(&mut client, &once);
    assert_eq!(
        (rows(&told), more_results(&told)),
        (vec!["a=1".to_owned(), "b=2".to_owned()], (Some(true), Some(true)))
    );
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(told.message.scanner_id(), 1, 0))),
        Some(ExceptionKind::UnknownScanner)
    );
}

/// Java's numbers have a sign, and HBase heeds a limit above 0 only.
#[test]
fn negative_row_limit_means_unlimited() {
    let server = Server::start();
    server.put(&[("a", "1"), ("b", "2")]);
    let limited = pb::ScanRequest {
        limit_of_rows: Some(u32::MAX),
        ..open(&server, "a", pb::Scan::default())
    };
    let told = send_scan(&mut server.client(), &limited);
    assert_eq!((rows(&told).len(), told.message.more_results), (2, Some(true)));
}

#[test]
fn partial_rows_are_sent_only_to_capable_clients() {
    let server = Server::start();
    let put = (0..4).fold(halite_types::Put::new("a"), |put, column| {
        put.add("f", format!("q{column}"), "x".repeat(100))
    });
    server.engine.table(&crate::server::name()).unwrap().batch(vec![put.into()]).unwrap();
    let mut client = server.client();
    let scan = || pb::Scan { max_result_size: Some(200), ..Default::default() };
    let cells = |told: &DecodedResponse<pb::ScanResponse>| {
        (told.message.cells_per_result.clone(), told.message.partial_flag_per_result.clone())
    };
    let first = send_scan(&mut client, &open(&server, "a", scan()));
    assert_eq!(cells(&first), (vec![2], vec![true]));
    let second = send_scan(&mut client, &next(first.message.scanner_id(), 9, 0));
    assert_eq!(cells(&second).0, [2]);
    let whole =
        pb::ScanRequest { client_handles_partials: Some(false), ..open(&server, "a", scan()) };
    assert_eq!(cells(&send_scan(&mut client, &whole)), (vec![4], vec![false]));
    let batch = send_scan(
        &mut client,
        &open(&server, "a", pb::Scan { batch_size: Some(3), ..Default::default() }),
    );
    assert_eq!(cells(&batch), (vec![3, 1], vec![true, false]));
}

#[test]
fn scan_range_bounds_follow_inclusive_flags() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let mut scan = |scan: pb::Scan| rows(&send_scan(&mut client, &open(&server, "a", scan)));
    let range = |start: &str, stop: &str| pb::Scan {
        start_row: Some(bytes(start)),
        stop_row: Some(bytes(stop)),
        ..Default::default()
    };
    assert_eq!(scan(range("b", "d")), ["b=2", "c=3"]);
    let other_ends = pb::Scan {
        include_start_row: Some(false),
        include_stop_row: Some(true),
        ..range("b", "d")
    };
    assert_eq!(scan(other_ends.clone()), ["c=3", "d=4"]);
    assert_eq!(
        scan(pb::Scan {
            reversed: Some(true),
            start_row: Some(bytes("d")),
            stop_row: Some(bytes("b")),
            ..other_ends
        }),
        ["c=3", "b=2"]
    );
    assert_eq!(scan(range("b", "b")), ["b=2"]);
    assert_eq!(
        scan(pb::Scan { reversed: Some(true), ..Default::default() }),
        ["e=5", "d=4", "c=3", "b=2", "a=1"]
    );
    assert_eq!(
        scan(pb::Scan { time_range: Some(pb::TimeRange::default()), ..range("a", "b") }),
        ["a=1"]
    );
    // Outside the region there are no rows, which is not an error.
    assert_eq!(scan(range("x", "y")), [""; 0]);
}

#[test]
fn exhausted_filter_ends_whole_scan() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let prefix = pb::PrefixFilter { prefix: Some(bytes("b")) };
    let filter = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.PrefixFilter".to_owned(),
        serialized_filter: Some(prost::Message::encode_to_vec(&prefix).into()),
    };
    let told = send_scan(
        &mut client,
        &open(&server, "a", pb::Scan { filter: Some(filter.clone()), ..Default::default() }),
    );
    assert_eq!(
        (rows(&told), more_results(&told)),
        (vec!["b=2".to_owned()], (Some(true), Some(false)))
    );
    // Only a response without rows ends the scan across regions.
    let told = send_scan(
        &mut client,
        &open(
            &server,
            "a",
            pb::Scan { filter: Some(filter), start_row: Some(bytes("c")), ..Default::default() },
        ),
    );
    assert_eq!((rows(&told).len(), more_results(&told)), (0, (Some(false), Some(false))));
}

/// Reads a scan without results to its end and returns the number of heartbeats; `None` if the
/// scanner has expired.
fn count_heartbeats(client: &mut Client, request: &pb::ScanRequest) -> Option<u32> {
    let mut told = send_scan(client, request);
    let (id, mut heartbeats, mut call) = (told.message.scanner_id(), 0, 0);
    while told.message.heartbeat_message() {
        assert_eq!((rows(&told).len(), more_results(&told)), (0, (Some(true), Some(true))));
        assert!(told.message.cursor.unwrap().row().starts_with(b"a0"));
        heartbeats += 1;
        told = send_scan_unless_expired(client, &next(id, 100, call))?;
        call += 1;
    }
    assert_eq!(more_results(&told).1, Some(false));
    Some(heartbeats)
}

#[test]
fn long_scan_without_results_sends_heartbeats() {
    let server = Server::with(|config| config.limits.scanner_timeout_ms = 60);
    let value = "x".repeat(200);
    let names: Vec<String> = (0..40_000).map(|row| format!("a{row:06}")).collect();
    for chunk in names.chunks(1000) {
        server.put(&chunk.iter().map(|row| (&row[..], &value[..])).collect::<Vec<_>>());
    }
    let nothing = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.FilterAllFilter".to_owned(),
        serialized_filter: None,
    };
    let scan =
        pb::Scan { filter: Some(nothing), need_cursor_result: Some(true), ..Default::default() };
    let mut client = server.client();
    let request = open(&server, "a", scan.clone());
    let heartbeats = (0..20).find_map(|_| count_heartbeats(&mut client, &request));
    let heartbeats = heartbeats.expect("a scanner that does not expire while it is used");
    // A client that does not support heartbeats receives a response only when the scan has a
    // result.
    let patient =
        pb::ScanRequest { client_handles_heartbeats: Some(false), ..open(&server, "a", scan) };
    let told = send_scan(&mut client, &patient);
    assert_eq!((told.message.heartbeat_message, more_results(&told).1), (None, Some(false)));
    assert!(heartbeats < 1000);
}

#[test]
fn scan_metrics_are_returned_on_request() {
    let server = Server::start();
    put_rows(&server);
    let told = send_scan(
        &mut server.client(),
        &pb::ScanRequest {
            track_scan_metrics: Some(true),
            ..open(&server, "a", pb::Scan::default())
        },
    );
    let metrics = told.message.scan_metrics.unwrap().metrics;
    let value =
        |name: &str| metrics.iter().find(|pair| pair.name() == name).map(pb::NameInt64Pair::value);
    assert_eq!((value("ROWS_SCANNED"), value("ROWS_FILTERED")), (Some(5), Some(0)));
    assert!(value("BYTES_READ_FROM_MEMSTORE").unwrap() > 0);
    assert_eq!((value("BYTES_READ_FROM_FS"), value("FS_READ_TIME")), (Some(0), Some(0)));
    let mut names: Vec<&str> = metrics.iter().map(pb::NameInt64Pair::name).collect();
    names.sort_unstable();
    // All that Java's `ServerSideScanMetrics` has.
    let of_hbase = [
        "BLOCK_BYTES_SCANNED",
        "BLOCK_READ_OPS_COUNT",
        "BYTES_READ_FROM_BLOCK_CACHE",
        "BYTES_READ_FROM_FS",
        "BYTES_READ_FROM_MEMSTORE",
        "FS_READ_TIME",
        "ROWS_FILTERED",
        "ROWS_SCANNED",
        "RPC_SCAN_PROCESSING_TIME",
        "RPC_SCAN_QUEUE_WAIT_TIME",
    ];
    assert_eq!(names, of_hbase);
}

/// Renews one of two scanners until the other has expired, and reads on with it; `None` if it has
/// expired too.
fn outlive_idle_scanner(client: &mut Client, request: &pb::ScanRequest) -> Option<()> {
    let mut begin = || send_scan(client, request).message.scanner_id();
    let (kept, lost) = (begin(), begin());
    // Until the one that is not renewed has expired.
    loop {
        let renewal = pb::ScanRequest { renew: Some(true), ..next(kept, 1, 0) };
        send_scan_unless_expired(client, &renewal)?;
        let asked = client.call::<service::ClientScan>(&next(lost, 1, 7));
        match exception_kind(asked) {
            // The scanner is open, but the call is out of sequence, which does not renew the lease.
            Some(ExceptionKind::OutOfOrderScannerNext) => std::thread::yield_now(),
            kind => break assert_eq!(kind, Some(ExceptionKind::UnknownScanner)),
        }
    }
    assert_eq!(rows(&send_scan_unless_expired(client, &next(kept, 1, 0))?), ["b=2"]);
    // To close the lost one does no harm.
    send_scan(client, &close(lost));
    Some(())
}

#[test]
fn idle_scanner_expires_unless_lease_is_renewed() {
    let server = Server::with(|config| config.limits.scanner_timeout_ms = 300);
    put_rows(&server);
    let mut client = server.client();
    let request =
        pb::ScanRequest { number_of_rows: Some(1), ..open(&server, "a", pb::Scan::default()) };
    (0..10)
        .find_map(|_| outlive_idle_scanner(&mut client, &request))
        .expect("a renewed scanner outlives an idle one");
}

#[test]
fn scan_of_closed_region_reports_not_serving() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let id = send_scan(
        &mut client,
        &pb::ScanRequest { number_of_rows: Some(1), ..open(&server, "a", pb::Scan::default()) },
    )
    .message
    .scanner_id();
    server.engine.disable_table(&crate::server::name()).unwrap();
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(id, 1, 0))),
        Some(ExceptionKind::NotServingRegion)
    );
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&next(id, 1, 0))),
        Some(ExceptionKind::UnknownScanner)
    );
}

#[test]
fn scan_restarts_at_its_read_point() {
    let server = Server::start();
    put_rows(&server);
    let mut client = server.client();
    let first = send_scan(
        &mut client,
        &pb::ScanRequest { number_of_rows: Some(1), ..open(&server, "a", pb::Scan::default()) },
    );
    server.put(&[("c", "changed"), ("cc", "new")]);
    let again = pb::Scan {
        start_row: Some(bytes("a")),
        include_start_row: Some(false),
        mvcc_read_point: first.message.mvcc_read_point,
        ..Default::default()
    };
    assert_eq!(
        rows(&send_scan(&mut client, &open(&server, "a", again))),
        ["b=2", "c=3", "d=4", "e=5"]
    );
}

#[test]
fn scanners_per_connection_are_limited() {
    let server = Server::with(|config| config.limits.max_scanners_per_connection = 2);
    put_rows(&server);
    let mut client = server.client();
    let request =
        pb::ScanRequest { number_of_rows: Some(1), ..open(&server, "a", pb::Scan::default()) };
    let first = send_scan(&mut client, &request).message.scanner_id();
    send_scan(&mut client, &request);
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&request)),
        Some(ExceptionKind::DoNotRetry)
    );
    send_scan(&mut client, &close(first));
    let third = send_scan(&mut client, &request).message.scanner_id();
    // Another connection has its own limit, and may take over a scanner.
    let mut other = server.client();
    assert_eq!(rows(&send_scan(&mut other, &next(third, 1, 0))), ["b=2"]);
    send_scan(&mut client, &request);
}

#[test]
fn scan_request_without_scan_or_scanner_is_rejected() {
    let server = Server::start();
    let asked = server.client().call::<service::ClientScan>(&pb::ScanRequest::default());
    assert_eq!(exception_kind(asked), Some(ExceptionKind::DoNotRetry));
}
