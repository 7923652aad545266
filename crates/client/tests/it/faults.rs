//! Servers that are unreachable, send nothing, send too much, or crash: each call fails within its
//! deadline, with a helpful message.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use halite_client::{Config, RegistryKind, connect, connect_with};
use halite_types::{
    CheckAndMutate, Cluster, Condition, Error, ErrorKind, Get, Increment, Put, Result, RowOp,
    RowStream, Scan, TableExt,
};
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::exception::{Exception, ExceptionKind, MovedTo};
use halite_wire::proto as pb;
use halite_wire::service::Method;

use crate::fake::{Fake, ReceivedCall, Reply, row};

fn value(text: &str) -> Reply {
    Reply::Rows(vec![row("r", &[("f", "q", text.as_bytes())])], pb::ScanResponse::default())
}

fn exception(kind: ExceptionKind) -> Reply {
    Reply::Exception(Exception::new(kind, "because"))
}

fn get(fake: &Fake, change: impl FnOnce(&mut Config)) -> Result<Option<String>> {
    let table = fake.table(change);
    let row = fake.run(table.get(Get::new("r")))?;
    Ok(row.value("f", "q").map(|value| String::from_utf8_lossy(value).into_owned()))
}

/// Returns an address without a listener.
fn unused_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn assert_message(error: &Error, parts: &[&str]) {
    let missing: Vec<_> = parts.iter().filter(|part| !error.message().contains(**part)).collect();
    assert!(missing.is_empty(), "{missing:?} is not in: {error}");
}

#[test]
fn unreachable_registry_is_named_immediately() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let unused = unused_address();
    for scheme in ["zk", "rpc"] {
        let error = runtime.block_on(connect(&format!("{scheme}://{unused}"))).unwrap_err();
        assert_message(&error, &[&unused.to_string(), "no connection", "refused"]);
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}

#[test]
fn port_of_other_service_is_not_taken_for_registry() {
    let fake = Fake::start(|_| Reply::Silence);
    let quorum = vec![fake.address.to_string()];
    let mut config =
        Config::new(RegistryKind::ZooKeeper { quorum, znode_parent: "/hbase".to_string() });
    config.connect_timeout_ms = 300;
    let error = fake.run(connect_with(config)).unwrap_err();
    assert_message(
        &error,
        &[
            "ZooKeeper",
            &fake.address.to_string(),
            "/hbase/hbaseid",
            "look whether this is a ZooKeeper server",
        ],
    );
}

#[test]
fn silent_server_costs_one_call_timeout() {
    let fake = Fake::start(|_| Reply::Silence);
    let begun = Instant::now();
    // The operation's own time is far away, so that the timeouts of its calls end it.
    let error = get(&fake, |config| {
        (config.rpc_timeout_ms, config.operation_timeout_ms) = (1_000, 600_000);
        config.max_retries = 1;
    })
    .unwrap_err();
    assert!(begun.elapsed() < Duration::from_mins(5));
    assert_message(
        &error,
        &[
            "table t, region t,,7.",
            "server 127.0.0.1,",
            "no answer in 1000 ms",
            "given up after 2 tries",
        ],
    );
    assert_eq!(fake.count(Method::ClientGet), 2);
    let error =
        get(&fake, |config| (config.rpc_timeout_ms, config.operation_timeout_ms) = (60_000, 1_000))
            .unwrap_err();
    assert_message(&error, &["no answer in"]);
}

#[test]
fn call_is_retried_after_partial_response() {
    let fake =
        Fake::start(
            |call: &ReceivedCall| {
                if call.before == 0 { Reply::Raw(vec![0, 0, 1, 0, 1, 2]) } else { value("v") }
            },
        );
    assert_eq!(get(&fake, |_| ()).unwrap().as_deref(), Some("v"));
}

#[test]
fn invalid_frame_closes_connection_without_allocation() {
    for (bytes, text) in [
        (vec![0x7f, 0xff, 0xff, 0xff], "2147483647 bytes"),
        (vec![0xff, 0xff, 0xff, 0xf0], "invalid frame length"),
    ] {
        let fake = Fake::start(move |_| Reply::Raw(bytes.clone()));
        let error = get(&fake, |config| config.max_retries = 2).unwrap_err();
        assert_message(&error, &["table t", text, "given up after 3 tries"]);
    }
}

#[test]
fn damaged_message_is_rejected() {
    // A response to the first call: a valid header, followed by an invalid message of 3 bytes.
    let fake = Fake::start(|call: &ReceivedCall| {
        let id = u8::try_from(call.request.call_id).unwrap();
        Reply::Raw(vec![0, 0, 0, 7, 2, 8, id, 3, 0xff, 0xff, 0xff])
    });
    let error = get(&fake, |config| config.max_retries = 0).unwrap_err();
    assert_message(&error, &["table t", "what cannot be read"]);
}

#[test]
fn call_to_unopened_region_is_located_and_retried() {
    let fake = Fake::start(|call: &ReceivedCall| {
        if call.before < 3 { exception(ExceptionKind::NotServingRegion) } else { value("v") }
    });
    assert_eq!(get(&fake, |_| ()).unwrap().as_deref(), Some("v"));
    let fake = Fake::start(|_| exception(ExceptionKind::NotServingRegion));
    let error = get(&fake, |config| config.max_retries = 3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchRegion);
    assert_message(
        &error,
        &["table t, region t,,7.", "NotServingRegionException: because", "given up after 4 tries"],
    );
    assert_eq!(fake.count(Method::ClientGet), 4);
}

#[test]
fn call_follows_moved_region() {
    let there = Fake::start(|_| value("there"));
    let (host, port) = (there.address.ip().to_string(), there.address.port());
    let fake = Fake::start(move |_| {
        Reply::Exception(Exception::region_moved(MovedTo {
            host: host.clone(),
            port,
            start_code: 5,
            sequence: 8,
        }))
    });
    assert_eq!(get(&fake, |_| ()).unwrap().as_deref(), Some("there"));
    assert_eq!(fake.count(Method::ClientGet), 1);
}

#[test]
fn unreachable_server_from_meta_is_named() {
    let unused = unused_address();
    let fake = Fake::with_region_at(Some(unused), |_| Reply::Silence);
    let error = get(&fake, |config| config.max_retries = 2).unwrap_err();
    assert_message(
        &error,
        &[
            "table t, region t,,7.",
            &format!("server 127.0.0.1,{},1", unused.port()),
            "no connection",
            "given up after 3 tries",
        ],
    );
}

#[test]
fn region_of_other_table_or_empty_range_is_rejected() {
    let region = |table: &str, start: &'static str, end: &'static str| pb::RegionInfo {
        region_id: 7,
        table_name: table_name_to_proto(&table.parse().unwrap()),
        start_key: Some(start.into()),
        end_key: Some(end.into()),
        ..pb::RegionInfo::default()
    };
    for region in [region("u", "", ""), region("t", "z", "a")] {
        let fake = Fake::with_region(None, region, |_| value("v"));
        let error = get(&fake, |config| config.max_retries = 1).unwrap_err();
        assert_eq!((error.kind(), fake.count(Method::ClientGet)), (ErrorKind::NoSuchRegion, 0));
    }
}

#[test]
fn answer_larger_than_limit_is_not_requested_again() {
    let fake = Fake::with_region_at(None, |_| value(&"v".repeat(100_000)));
    let error = get(&fake, |config| config.max_frame_bytes = 10_000).unwrap_err();
    assert_message(&error, &["table t, region t,,7.", "raise max_frame_bytes"]);
    assert_eq!((error.kind(), fake.count(Method::ClientGet)), (ErrorKind::InvalidRequest, 1));
}

#[test]
fn closing_and_http_servers_are_reported_as_such() {
    for (bytes, text) in [
        (Vec::new(), "without a word"),
        (b"HTTP/1.1 400 Bad Request".to_vec(), "a web server answers"),
    ] {
        let fake = Fake::with_region_at(Some(raw_server(bytes)), |_| Reply::Silence);
        let error = get(&fake, |config| config.max_retries = 1).unwrap_err();
        assert_message(&error, &["table t, region t,,7.", text]);
    }
}

/// Starts a server that answers any input with these bytes and closes the connection.
fn raw_server(bytes: Vec<u8>) -> SocketAddr {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _ = socket.read(&mut [0; 1024]);
            let _ = socket.write_all(&bytes);
        }
    });
    address
}

#[test]
fn server_that_does_not_read_costs_one_timeout() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let fake = Fake::with_region_at(Some(listener.local_addr().unwrap()), |_| Reply::Silence);
    let table = fake.table(|config| (config.rpc_timeout_ms, config.max_retries) = (2_000, 1));
    let put = || Put::new("r").add("f", "q", vec![0; 9 << 20]).into();
    let results = fake.run(table.batch((0..4).map(|_| put()).collect()));
    assert_message(&results.unwrap_err(), &["table t, region t,,7.", "given up after 2 tries"]);
}

#[test]
fn final_errors_are_reported_immediately() {
    let fake = Fake::start(|_| exception(ExceptionKind::NoSuchColumnFamily));
    assert_eq!(get(&fake, |_| ()).unwrap_err().kind(), ErrorKind::NoSuchFamily);
    assert_eq!(fake.count(Method::ClientGet), 1);
}

#[test]
fn hbase_without_conditions_by_filter_is_named_at_once() {
    // HBase 2.3 requires fields of a condition that one by filter has not.
    let fake = Fake::start(|_| {
        let class = "org.apache.hbase.thirdparty.com.google.protobuf.UninitializedMessageException";
        let text = "127.0.0.1:16020 is unable to read call parameter from client 127.0.0.1; \
                    Message missing required fields: condition.family, condition.qualifier";
        Reply::Exception(Exception::from_response(&pb::ExceptionResponse {
            exception_class_name: Some(class.to_owned()),
            stack_trace: Some(format!("{class}: {text}")),
            ..pb::ExceptionResponse::default()
        }))
    });
    let table = fake.table(|_| ());
    let by_filter = |row: &'static str| -> RowOp {
        let condition = Condition::Filter("FirstKeyOnlyFilter()".parse().unwrap());
        CheckAndMutate::new(row, condition, Put::new(row).add("f", "q", "v")).into()
    };
    let alone = fake.run(table.mutate(by_filter("r"))).unwrap_err();
    let of_many = fake.run(table.batch(vec![by_filter("r"), by_filter("s")]));
    let of_many = of_many.and_then(|results| results.into_iter().collect::<Result<Vec<_>>>());
    for error in [alone, of_many.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_message(&error, &["before 2.4", "condition.family", "table t"]);
    }
    assert_eq!(fake.count(Method::ClientMutate) + fake.count(Method::ClientMulti), 2);
}

#[test]
fn fatal_exception_closes_connection_and_calls_are_retried() {
    let fake = Fake::start(|call: &ReceivedCall| match call.before {
        0 => Reply::Silence,
        1 => Reply::Fatal(Exception::new(ExceptionKind::FatalConnection, "enough")),
        _ => value("v"),
    });
    let table = fake.table(|config| config.rpc_timeout_ms = 60_000);
    // The first call is retried without waiting for its timeout when the second one ends their
    // connection.
    let both = async { tokio::join!(table.get(Get::new("r")), table.get(Get::new("s"))) };
    let (first, second) = fake.runtime.block_on(both);
    assert!(!first.unwrap().is_empty() && !second.unwrap().is_empty());
}

#[test]
fn kerberos_and_tls_clusters_are_reported_as_unsupported() {
    let fake = Fake::start(|_| {
        Reply::Fatal(Exception::new(ExceptionKind::AccessDenied, "Authentication is required"))
    });
    let error = get(&fake, |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_message(&error, &["not supported yet", "Kerberos", "Authentication is required"]);
    let fake = Fake::start(|_| Reply::Raw(vec![0x15, 0x03, 0x01, 0, 2, 2, 0x46]));
    let error = get(&fake, |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_message(&error, &["not supported yet", "TLS"]);
}

#[test]
fn retried_increment_has_same_nonce() {
    let nonces = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&nonces);
    let fake = Fake::start(move |call: &ReceivedCall| {
        let request: pb::MutateRequest = call.request.message().unwrap();
        seen.lock().unwrap().push((request.nonce_group, request.mutation.nonce));
        if call.before == 0 { Reply::Raw(Vec::new()) } else { value("5") }
    });
    let table = fake.table(|_| ());
    fake.run(table.mutate(Increment::new("r").add("f", "q", 5).into())).unwrap();
    fake.run(table.mutate(Increment::new("r").add("f", "q", 5).into())).unwrap();
    let nonces = nonces.lock().unwrap();
    assert!(nonces[0].0.is_some() && nonces[0].1.is_some());
    assert!(nonces[0] == nonces[1] && nonces[0] != nonces[2]);
}

#[test]
fn throttled_put_waits_for_time_in_exception() {
    let fake = Fake::start(|call: &ReceivedCall| match call.before {
        0 => Reply::Exception(Exception::throttled(
            halite_wire::exception::ThrottleType::NumberOfRequests,
            120,
        )),
        _ => value(""),
    });
    let table = fake.table(|_| ());
    let begun = Instant::now();
    fake.run(table.mutate(Put::new("r").add("f", "q", "v").into())).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(120));
}

/// Response with rows of one cell; `more` sets `more_results_in_region`.
fn rows(keys: &[&str], more: bool) -> Reply {
    let rows = keys.iter().map(|key| row(key, &[("f", "q", b"v")])).collect();
    Reply::Rows(
        rows,
        pb::ScanResponse {
            more_results_in_region: Some(more),
            ttl: Some(60),
            ..pb::ScanResponse::default()
        },
    )
}

async fn keys(mut stream: RowStream) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    while let Some(row) = stream.next().await? {
        keys.push(String::from_utf8_lossy(row.key()).into_owned());
    }
    Ok(keys)
}

#[test]
fn lost_scanner_is_reopened_after_last_row() {
    for lost in [
        ExceptionKind::UnknownScanner,
        ExceptionKind::Lease,
        ExceptionKind::OutOfOrderScannerNext,
        ExceptionKind::NotServingRegion,
    ] {
        let fake = Fake::start(move |call: &ReceivedCall| match call.before {
            0 => rows(&["a", "b"], true),
            1 => exception(lost),
            2 => {
                let scan = call.scan().scan.unwrap();
                assert_eq!(scan.start_row.as_deref(), Some(&b"b\0"[..]));
                rows(&["c"], false)
            }
            _ => Reply::Silence,
        });
        let table = fake.table(|_| ());
        assert_eq!(fake.run(keys(table.scan(Scan::all()))).unwrap(), ["a", "b", "c"], "{lost:?}");
    }
}

/// Heartbeat response with these rows and the server's cursor.
fn heartbeat(keys: &[&str], cursor: &'static str) -> Reply {
    let rows = keys.iter().map(|key| row(key, &[("f", "q", b"v")])).collect();
    let cursor = Some(pb::Cursor { row: Some(cursor.into()) });
    Reply::Rows(
        rows,
        pb::ScanResponse {
            more_results_in_region: Some(true),
            heartbeat_message: Some(true),
            cursor,
            ..pb::ScanResponse::default()
        },
    )
}

#[test]
fn scan_continues_after_heartbeat_and_resumes_at_cursor() {
    let fake = Fake::start(move |call: &ReceivedCall| match call.before {
        0 => heartbeat(&[], "g"),
        1 => heartbeat(&[], "m"),
        2 => Reply::Raw(Vec::new()),
        _ => {
            assert_eq!(call.scan().scan.unwrap().start_row.as_deref(), Some(&b"m"[..]));
            rows(&["z"], false)
        }
    });
    let table = fake.table(|_| ());
    assert_eq!(fake.run(keys(table.scan(Scan::all().family("f")))).unwrap(), ["z"]);
}

#[test]
fn row_returned_with_cursor_is_not_repeated() {
    let fake = Fake::start(move |call: &ReceivedCall| match call.before {
        0 => heartbeat(&["a"], "a"),
        1 => Reply::Raw(Vec::new()),
        _ if call.scan().scan.unwrap().start_row.as_deref() == Some(&b"a"[..]) => {
            rows(&["a", "b"], false)
        }
        _ => rows(&["b"], false),
    });
    let table = fake.table(|_| ());
    assert_eq!(fake.run(keys(table.scan(Scan::all().family("f")))).unwrap(), ["a", "b"]);
}

#[test]
fn scan_without_scanner_id_continues_after_last_row() {
    let fake = Fake::start(move |call: &ReceivedCall| match call.before {
        0 => {
            let response = pb::ScanResponse {
                more_results_in_region: Some(true),
                ..pb::ScanResponse::default()
            };
            Reply::Bare(vec![row("a", &[("f", "q", b"v")])], response)
        }
        _ if call.scan().scan.unwrap().start_row.as_deref() == Some(&b"a\0"[..]) => {
            rows(&["b"], false)
        }
        _ => rows(&["a", "b"], false),
    });
    let table = fake.table(|_| ());
    assert_eq!(fake.run(keys(table.scan(Scan::all()))).unwrap(), ["a", "b"]);
}

#[test]
fn scanner_is_renewed_while_used_and_closed_when_dropped() {
    let (renewed, wait_renewed) = std::sync::mpsc::channel();
    let (closed, wait_closed) = std::sync::mpsc::channel();
    let fake = Fake::start(move |call: &ReceivedCall| {
        let request = call.scan();
        if request.renew() {
            renewed.send(request.scanner_id()).unwrap();
            return Reply::Silence;
        }
        if request.close_scanner() {
            closed.send(request.scanner_id()).unwrap();
            return Reply::Silence;
        }
        if call.before == 0 { rows(&["a"], true) } else { Reply::Silence }
    });
    let table = fake.table(|_| ());
    let mut stream = table.scan(Scan::all());
    assert_eq!(fake.run(stream.next()).unwrap().unwrap().key(), b"a");
    assert_eq!(wait_renewed.recv_timeout(Duration::from_mins(2)).unwrap(), 9);
    assert_eq!(wait_renewed.recv_timeout(Duration::from_mins(2)).unwrap(), 9);
    drop(stream);
    assert_eq!(wait_closed.recv_timeout(Duration::from_mins(2)).unwrap(), 9);
}

#[test]
fn very_short_lease_is_renewed_with_pauses() {
    let fake = Fake::start(move |call: &ReceivedCall| match call.before {
        0 => {
            let response = pb::ScanResponse {
                more_results_in_region: Some(true),
                ttl: Some(0),
                ..pb::ScanResponse::default()
            };
            Reply::Rows(vec![row("a", &[("f", "q", b"v")])], response)
        }
        _ => Reply::Silence,
    });
    let table = fake.table(|_| ());
    let mut stream = table.scan(Scan::all());
    let begun = Instant::now();
    assert_eq!(fake.run(stream.next()).unwrap().unwrap().key(), b"a");
    let mut calls = 0;
    while calls < 5 {
        assert!(begun.elapsed() < Duration::from_mins(2), "{calls} calls");
        std::thread::sleep(Duration::from_millis(20));
        calls = fake.count(Method::ClientScan);
    }
    // The time is measured after the calls were counted, so that a pause between the two does no
    // harm: one renewal in 100 ms, and the few calls that open the scanner and read on.
    let elapsed = begun.elapsed();
    assert!(calls as u128 <= 4 + elapsed.as_millis() / 100, "{calls} calls in {elapsed:?}");
}

#[test]
fn concurrent_lookups_of_region_send_one_request() {
    let fake = Fake::start(|call: &ReceivedCall| {
        if call.before == 50 { exception(ExceptionKind::NotServingRegion) } else { value("v") }
    });
    let table = fake.table(|_| ());
    let all = (0..100).map(|_| {
        let table = std::sync::Arc::clone(&table);
        fake.runtime.spawn(async move { table.get(Get::new("r")).await.unwrap() })
    });
    let all: Vec<_> = all.collect();
    fake.runtime.block_on(async {
        for one in all {
            assert!(!one.await.unwrap().is_empty());
        }
    });
    assert!(fake.lookups() <= 2, "{} look-ups", fake.lookups());
}

#[test]
fn cancelled_calls_release_their_capacity() {
    let fake = Fake::start(
        |call: &ReceivedCall| if call.before < 3 { Reply::Silence } else { value("v") },
    );
    // A call that was cancelled before it was sent leaves its silence to the last one, which is
    // then repeated after this timeout.
    let table =
        fake.table(|config| (config.max_calls_in_flight, config.rpc_timeout_ms) = (1, 2_000));
    fake.runtime.block_on(async {
        for _ in 0..3 {
            let late =
                tokio::time::timeout(Duration::from_millis(50), table.get(Get::new("r"))).await;
            assert!(late.is_err());
        }
        assert!(!table.get(Get::new("r")).await.unwrap().is_empty());
    });
}

#[test]
fn moved_master_is_located_again() {
    let fake = Fake::start(|call: &ReceivedCall| match (call.method, call.before) {
        (Method::MasterGetTableState, 0) => exception(ExceptionKind::MasterStopped),
        (Method::MasterGetTableState, 1) => exception(ExceptionKind::PleaseHold),
        _ => exception(ExceptionKind::TableNotFound),
    });
    let admin = fake.connect(|_| ()).admin();
    let error = fake.run(admin.is_enabled(&crate::server::name())).unwrap_err();
    assert_eq!(
        (error.kind(), fake.count(Method::MasterGetTableState)),
        (ErrorKind::NoSuchTable, 3)
    );
    assert_message(&error, &["master 127.0.0.1,", "GetTableState"]);
}
