//! Limits per client, and the handling of clients that exceed them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::Options;
use halite_engine::env::Clock;
use halite_types::{Comparator, CompareOp, Filter, Increment, Put, RegexString, RowOp};
use halite_wire::convert::filter::to_proto as to_filter;
use halite_wire::convert::mutate::{to_counted, to_proto};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc::{RequestOptions, encode_request};
use halite_wire::service;

use crate::client::{Client, Kind, bytes, exception_kind};
use crate::server::{Server, name};

fn get(server: &Server, row: &str) -> pb::GetRequest {
    pb::GetRequest {
        region: server.region(row),
        get: pb::Get { row: bytes(row), ..Default::default() },
    }
}

#[test]
fn oversized_frame_is_rejected_by_its_header() {
    let server = Server::with(|config| config.limits.max_request_bytes = 100_000);
    for (kind, class) in
        [(Kind::Java, ExceptionKind::RequestTooBig), (Kind::Go, ExceptionKind::DoNotRetry)]
    {
        let mut client = Client::connect(server.regionserver_port(), kind);
        // The length prefix specifies 200,000 bytes; only a header and a few more bytes arrive.
        client.send(&crate::client::hex("00030d40 0a 08ac02 1a034765742001 ffff"));
        let response = client.response().unwrap();
        assert_eq!((response.call_id, response.result.unwrap_err().kind()), (300, Some(class)));
        assert!(client.response().is_none());
    }
}

#[test]
fn client_that_reads_nothing_is_disconnected_after_timeout() {
    let server = Server::with(|config| config.limits.send_timeout_ms = 400);
    server.put(&[("a", &"x".repeat(1 << 20))]);
    let mut client = server.client();
    // The client requests more than all buffers on the path hold, until the server closes the
    // connection.
    let mut asked = 0;
    while client.try_send_call::<service::ClientGet>(&get(&server, "a")) {
        asked += 1;
    }
    assert!(asked > 4, "{asked}");
    // Others were served all the time.
    server.client().call::<service::ClientGet>(&get(&server, "a")).unwrap();
}

#[test]
fn slow_reader_receives_all_responses() {
    let server = Server::start();
    server.put(&[("a", &"x".repeat(1 << 20))]);
    let mut client = server.client();
    let (requests, region) = (60, get(&server, "a"));
    for _ in 0..requests {
        client.send_call::<service::ClientGet>(&region, &[], RequestOptions::default());
    }
    for _ in 0..requests {
        assert!(client.response().unwrap().result.is_ok());
    }
}

#[test]
fn calls_over_connection_limit_wait_in_socket() {
    let server = Server::with(|config| config.limits.max_calls_per_connection = 2);
    let mut client = server.client();
    let scan = pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(10),
        ..Default::default()
    };
    let ids: Vec<u32> = (0..50)
        .map(|_| client.send_call::<service::ClientScan>(&scan, &[], RequestOptions::default()))
        .collect();
    let mut answered: Vec<u32> = ids.iter().map(|_| client.response().unwrap().call_id).collect();
    answered.sort_unstable();
    assert_eq!(answered, ids);
}

#[test]
fn connection_over_limit_is_closed_immediately() {
    let server = Server::with(|config| config.limits.max_connections = 1);
    let mut first = server.client();
    first.call::<service::ClientGet>(&get(&server, "a")).unwrap();
    assert_eq!(Client::silent(server.regionserver_port()).rest(), b"");
    // The other port has its own limit, and a released slot is reused.
    let mut other = Client::connect(server.master_port(), Kind::Java);
    other.call::<service::ClientGet>(&get(&server, "a")).unwrap();
    drop(first);
    loop {
        let mut next = Client::silent(server.regionserver_port());
        next.send(b"Securi");
        if next.response().is_some() {
            break;
        }
    }
}

#[test]
fn idle_connection_is_closed() {
    let server = Server::with(|config| config.limits.handshake_timeout_ms = 50);
    assert_eq!(Client::silent(server.regionserver_port()).rest(), b"");
    // Another server, so that the short time for the handshake does not end this client's.
    let server = Server::with(|config| config.limits.connection_idle_timeout_ms = 100);
    let mut frame = BytesMut::new();
    let request = get(&server, "a");
    encode_request::<service::ClientGet>(1, &request, RequestOptions::default(), None, &mut frame)
        .unwrap();
    // A connection may be closed before its call if the machine stops the test in between.
    let mut answered = (0..100).map(|_| server.client()).find_map(|mut client| {
        let response = client.try_send(&frame).then(|| client.response()).flatten()?;
        assert!(response.result.is_ok());
        Some(client)
    });
    assert_eq!(answered.as_mut().expect("a call that is answered").rest(), b"");
}

/// Returns the frame of a get with an unused attribute of `bytes` bytes.
fn large_get(server: &Server, bytes: usize) -> BytesMut {
    let mut request = get(server, "a");
    request.get.attribute =
        vec![pb::NameBytesPair { name: "x".to_owned(), value: Some(vec![0; bytes].into()) }];
    let mut frame = BytesMut::new();
    encode_request::<service::ClientGet>(1, &request, RequestOptions::default(), None, &mut frame)
        .unwrap();
    frame
}

#[test]
fn connection_with_stalled_request_is_closed() {
    let server = Server::with(|config| config.limits.receive_timeout_ms = 500);
    let mut silent = server.client();
    silent.call::<service::ClientGet>(&get(&server, "a")).unwrap();
    // The client sends single bytes at intervals.
    let mut client = server.client();
    let mut sent = 0;
    for byte in large_get(&server, 100_000).chunks(1).take(500) {
        if !client.try_send(byte) {
            break;
        }
        sent += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!((5..500).contains(&sent), "{sent}");
    // A client that sends slowly and steadily is answered, and one without a started request may be
    // silent. If the machine stops the test for longer than the timeout, the client is not steady,
    // and another one tries.
    let frame = large_get(&server, 4 << 20);
    let response = (0..5).map(|_| server.client()).find_map(|mut slow| {
        for piece in frame.chunks(100_000) {
            if !slow.try_send(piece) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        slow.response()
    });
    assert!(response.expect("a steady client is answered").result.is_ok());
    silent.call::<service::ClientGet>(&get(&server, "a")).unwrap();
}

#[test]
fn partial_requests_over_share_wait_without_blocking_others() {
    let server = Server::with(|config| {
        config.limits.max_request_bytes = 1 << 20;
        (config.limits.max_network_buffer_bytes, config.limits.max_address_buffer_bytes) =
            (4 << 20, 2 << 20);
    });
    // Nine tenths of a large request each: more together than their address may hold.
    let frame = large_get(&server, 1_000_000);
    let mut clients: Vec<Client> = (0..6).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.send(&frame[..900_000]));
    let peak = server.wait_for_buffers(|bytes| bytes > 1 << 20);
    // The share of the address, the request that has the turn, and a read of each connection.
    assert!(peak <= (3 << 20) + (512 << 10), "{peak}");
    // Small calls need no share.
    server.client().call::<service::ClientGet>(&get(&server, "a")).unwrap();
    // They are received one by one as their clients continue.
    clients.iter_mut().for_each(|client| client.send(&frame[900_000..]));
    for client in &mut clients {
        client.response().unwrap().result.unwrap();
    }
    drop(clients);
    server.wait_for_buffers(|bytes| bytes == 0);
}

#[test]
fn partial_request_without_buffer_space_times_out() {
    let server = Server::with(|config| {
        (config.limits.max_request_bytes, config.limits.receive_timeout_ms) = (1 << 20, 400);
        (config.limits.max_network_buffer_bytes, config.limits.max_address_buffer_bytes) =
            (4 << 20, 2 << 20);
    });
    let frame = large_get(&server, 1_000_000);
    let mut clients: Vec<Client> = (0..6).map(|_| server.client()).collect();
    for client in &mut clients {
        // A connection may be closed before all is sent if the machine stops the test.
        let _ = client.try_send(&frame[..900_000]);
    }
    // No client continues, neither the one that has the turn nor those that wait for it.
    for client in &mut clients {
        assert!(client.response().is_none());
    }
    server.wait_for_buffers(|bytes| bytes == 0);
}

/// Gets of the same large row.
fn multi_get(server: &Server, row: &str, count: u32) -> pb::MultiRequest {
    let get = pb::Get { row: bytes(row), ..Default::default() };
    let action = (0..count)
        .map(|index| pb::Action {
            index: Some(index),
            get: Some(get.clone()),
            ..Default::default()
        })
        .collect();
    pb::MultiRequest {
        region_action: vec![pb::RegionAction {
            region: server.region(row),
            action,
            ..Default::default()
        }],
        ..Default::default()
    }
}

const BUFFERS: usize = 64 << 20;

/// Returns a server with 64 MiB of network buffers and a row of 4 MiB.
fn server_with_a_large_row(
    reader_threads: usize,
    change: impl FnOnce(&mut halite_server::Config),
) -> Server {
    let server = Server::with(|config| {
        let limits = &mut config.limits;
        (limits.max_request_bytes, limits.handler_threads) = (1 << 20, reader_threads);
        (limits.max_network_buffer_bytes, limits.max_address_buffer_bytes) = (BUFFERS, BUFFERS);
        change(config);
    });
    server.put(&[("large", &"x".repeat(4 << 20)), ("a", "1")]);
    server
}

#[test]
fn unread_responses_stay_within_network_buffer_limit() {
    let server = server_with_a_large_row(2, |_| ());
    // Each requests 100 MiB, and reads none of it.
    let mut hogs: Vec<Client> = (0..22)
        .map(|number| {
            Client::connect(server.regionserver_port(), [Kind::Java, Kind::Go][number % 2])
        })
        .collect();
    for hog in &mut hogs {
        hog.send_call::<service::ClientMulti>(
            &multi_get(&server, "large", 25),
            &[],
            RequestOptions::default(),
        );
    }
    // Others are served at any time.
    let mut honest = server.client();
    let mut peak = 0;
    for _ in 0..200 {
        assert!(honest.call::<service::ClientGet>(&get(&server, "a")).is_ok());
        peak = peak.max(server.buffer_bytes());
        std::thread::sleep(Duration::from_millis(5));
    }
    // Half is the address's, and each of two threads may exceed it by the row it reads.
    assert!((BUFFERS / 8..BUFFERS / 2 + 2 * (9 << 20)).contains(&peak), "{peak}");
    // A client that reads now receives a result for each action: the row, or an exception that
    // requests a retry.
    for hog in &mut hogs {
        match hog.response().unwrap().result {
            Ok(answer) => {
                let told = hog.decode::<service::ClientMulti>(&answer);
                let entries = &told.message.region_action_result[0].result_or_exception;
                assert_eq!(entries.len(), 25);
                for exception in entries.iter().filter_map(|entry| entry.exception.as_ref()) {
                    let kind = halite_wire::exception::Exception::from_pair(exception).kind();
                    assert!(
                        matches!(
                            kind,
                            Some(
                                ExceptionKind::MultiActionResultTooLarge
                                    | ExceptionKind::CallQueueTooBig
                            )
                        ),
                        "{kind:?}"
                    );
                }
            }
            Err(exception) => assert_eq!(exception.kind(), Some(ExceptionKind::CallQueueTooBig)),
        }
    }
    drop(hogs);
    server.wait_for_buffers(|bytes| bytes == 0);
}

/// Wait of a call for network buffers that no test reaches, however long the machine stops it:
/// calls that are to wait must not be answered with an error.
const PATIENT_WAIT_MS: u64 = 600_000;

/// Starts clients that request all buffers of their address, and read no response. The server holds
/// the part of the first responses that the sockets do not accept, and all other responses.
fn hogs(server: &Server) -> Vec<Client> {
    let mut hogs: Vec<Client> = (0..40).map(|_| server.client()).collect();
    hogs.iter_mut()
        .for_each(|hog| hog.send_calls::<service::ClientMulti>(&multi_get(server, "large", 25), 3));
    server.wait_for_waiters(|waiters| waiters > 80);
    hogs
}

#[test]
fn read_waits_for_network_buffers_without_thread() {
    let server = server_with_a_large_row(1, |config| {
        config.limits.buffer_wait_timeout_ms = PATIENT_WAIT_MS;
    });
    // One address gets at most half of the buffers, however many connections it has.
    let hogs = hogs(&server);
    // The only handler thread is free for calls that fit, and waiting calls continue after clients
    // disconnect.
    let mut waiting = server.client();
    waiting.send_call::<service::ClientMulti>(
        &multi_get(&server, "large", 1),
        &[],
        RequestOptions::default(),
    );
    drop(hogs);
    assert!(waiting.response().unwrap().result.is_ok());
    server.wait_for_waiters(|waiters| waiters == 0);
}

#[test]
fn calls_waiting_for_network_buffers_are_limited() {
    let server = Server::with(|config| {
        let limits = &mut config.limits;
        (limits.max_request_bytes, limits.handler_threads, limits.max_call_queue_length) =
            (1 << 20, 1, 200);
        limits.buffer_wait_timeout_ms = PATIENT_WAIT_MS;
        (limits.max_network_buffer_bytes, limits.max_address_buffer_bytes) = (BUFFERS, BUFFERS);
    });
    server.put(&[("large", &"x".repeat(4 << 20)), ("a", "1")]);
    let hogs = hogs(&server);
    let service_call =
        pb::CoprocessorServiceCall { service_name: "None".to_owned(), ..Default::default() };
    let exec = pb::CoprocessorServiceRequest { region: server.region("a"), call: service_call };
    let mut others: Vec<Client> = (0..3).map(|_| server.client()).collect();
    let mut peak = 0;
    for other in &mut others {
        // Repeatedly sends as many calls as the lane may hold.
        for _ in 0..6 {
            other.send_calls::<service::ClientExecService>(&exec, 100);
            peak = peak.max(server.waiters());
            std::thread::sleep(Duration::from_millis(20));
        }
        // The first may find a little room, which the sockets have made.
        let mut told =
            std::iter::from_fn(|| other.response()).map(|response| response.result.unwrap_err());
        let refused =
            told.find(|refused| refused.kind() == Some(ExceptionKind::CallQueueTooBig)).unwrap();
        assert!(refused.message().starts_with("Call queue is full"), "{refused}");
    }
    peak = peak.max(server.waiters());
    assert!(peak <= 200 + hogs.len() + others.len(), "{peak}");
    drop((hogs, others));
    server.wait_for_waiters(|waiters| waiters == 0);
}

#[test]
fn error_does_not_repeat_long_client_input() {
    let server = Server::start();
    let mut client = server.client();
    let name = [b"t,", &vec![0xff; 4 << 20][..], b",1.33b36c58f0da118f6c22fc0c24d60bf4."].concat();
    let region = pb::RegionSpecifier { r#type: 1, value: name.into() };
    let column = vec![pb::Column { family: vec![0xff; 4 << 20].into(), ..Default::default() }];
    let service_call =
        pb::CoprocessorServiceCall { service_name: "x".repeat(4 << 20), ..Default::default() };
    let told = [
        client
            .call::<service::ClientGet>(&pb::GetRequest { region, ..get(&server, "a") })
            .map(drop),
        client
            .call::<service::ClientGet>(&pb::GetRequest {
                get: pb::Get { column, ..get(&server, "a").get },
                ..get(&server, "a")
            })
            .map(drop),
        client
            .call::<service::ClientExecService>(&pb::CoprocessorServiceRequest {
                region: server.region("a"),
                call: service_call,
            })
            .map(drop),
    ];
    for exception in told {
        let length = exception.unwrap_err().to_string().len();
        assert!(length < 100_000, "{length}");
    }
}

#[test]
fn frame_shorter_than_its_header_closes_connection() {
    let server = Server::with(|config| config.limits.max_request_bytes = 1024);
    let mut client = server.client();
    client.send(&[crate::client::hex("000007d0 e0d403"), vec![0; 1997]].concat());
    assert_eq!(client.rest(), b"");
}

#[test]
fn scanners_with_large_filters_share_byte_limit() {
    let server = Server::with(|config| config.limits.max_scanner_bytes = 1 << 20);
    server.put(&[("a", "1"), ("b", "2")]);
    // Each is estimated at half a megabyte and more.
    let prefix = pb::PrefixFilter { prefix: Some(bytes(&"a".repeat(18 << 10))) };
    let filter = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.PrefixFilter".to_owned(),
        serialized_filter: Some(prost::Message::encode_to_vec(&prefix).into()),
    };
    let not = pb::SkipFilter { filter };
    let scan = |filter| pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(pb::Scan { filter, ..Default::default() }),
        number_of_rows: Some(0),
        ..Default::default()
    };
    let skip = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.SkipFilter".to_owned(),
        serialized_filter: Some(prost::Message::encode_to_vec(&not).into()),
    };
    let (large, small) = (scan(Some(skip)), scan(None));
    let (mut first, mut second) = (server.client(), server.client());
    let open = first.call::<service::ClientScan>(&large).unwrap().message;
    for client in [&mut first, &mut second] {
        assert_eq!(
            exception_kind(client.call::<service::ClientScan>(&large)),
            Some(ExceptionKind::CallQueueTooBig)
        );
    }
    second.call::<service::ClientScan>(&small).unwrap();
    // A closed scanner frees its memory.
    first
        .call::<service::ClientScan>(&pb::ScanRequest {
            scanner_id: open.scanner_id,
            close_scanner: Some(true),
            number_of_rows: Some(0),
            ..Default::default()
        })
        .unwrap();
    second.call::<service::ClientScan>(&large).unwrap();
}

#[test]
fn retained_memstore_counts_as_scanner_memory() {
    let server = Server::with(|config| config.limits.max_scanner_bytes = 4 << 20);
    let large = "x".repeat(1 << 20);
    server.put(&[("a", &large), ("b", &large), ("c", &large)]);
    let scan = pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(1),
        ..Default::default()
    };
    let (mut first, mut second) = (server.client(), server.client());
    let open = first.call::<service::ClientScan>(&scan).unwrap().message;
    let next = |close: bool| pb::ScanRequest {
        scanner_id: open.scanner_id,
        number_of_rows: Some(u32::from(!close)),
        close_scanner: Some(close),
        ..Default::default()
    };
    // Memory of the region itself is not counted twice.
    first.call::<service::ClientScan>(&scan).unwrap();
    server.engine.flush(&name()).unwrap();
    first.call::<service::ClientScan>(&next(false)).unwrap();
    assert_eq!(
        exception_kind(first.call::<service::ClientScan>(&scan)),
        Some(ExceptionKind::CallQueueTooBig)
    );
    second.call::<service::ClientScan>(&scan).unwrap();
    first.call::<service::ClientScan>(&next(true)).unwrap();
    first.call::<service::ClientScan>(&scan).unwrap();
}

#[test]
fn connections_per_address_are_limited() {
    let server = Server::with(|config| config.limits.max_connections_per_address = 2);
    let mut clients = [server.client(), Client::connect(server.master_port(), Kind::Java)];
    clients
        .iter_mut()
        .for_each(|client| drop(client.call::<service::ClientGet>(&get(&server, "a")).unwrap()));
    assert_eq!(Client::silent(server.regionserver_port()).rest(), b"");
    drop(clients);
    loop {
        let mut next = Client::silent(server.regionserver_port());
        next.send(b"Securi");
        if next.response().is_some() {
            break;
        }
    }
}

#[test]
fn full_region_reports_region_too_busy() {
    let mut options = Options::default();
    (options.memstore_flush_bytes, options.memstore_block_multiplier) = (1 << 30, 1);
    options.global_memstore_bytes = 1 << 20;
    let server = Server::over(options, |_| ());
    // A write before the flush frees memory is rejected; the client retries.
    let mut client = server.client();
    let put = Put::new("a").add("f", "q", "x".repeat(1 << 20));
    let request = pb::MutateRequest {
        region: server.region("a"),
        mutation: to_proto(&put.into()).unwrap(),
        ..Default::default()
    };
    let mut refused = 0;
    for _ in 0..50 {
        match client.call::<service::ClientMutate>(&request) {
            Ok(_) => {}
            Err(exception) => {
                assert_eq!(
                    (exception.kind(), exception.is_do_not_retry()),
                    (Some(ExceptionKind::RegionTooBusy), false)
                );
                refused += 1;
            }
        }
    }
    assert!(refused < 50, "flushes make room");
}

/// Scan that examines all rows and returns none, on a handler thread.
fn scan_for_nothing(server: &Server) -> pb::ScanRequest {
    let nothing = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.FilterAllFilter".to_owned(),
        serialized_filter: None,
    };
    let scan = pb::Scan { filter: Some(nothing), ..Default::default() };
    pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(scan),
        number_of_rows: Some(1),
        ..Default::default()
    }
}

#[test]
fn call_bytes_over_connection_limit_wait_in_socket() {
    // Whatever the first call is, it is one too many for another.
    let server = Server::with(|config| config.limits.max_bytes_per_connection = 1);
    server.put(&[("a", "1")]);
    let mut client = server.client();
    let (scan, get) = (scan_for_nothing(&server), get(&server, "a"));
    let mut asked = Vec::new();
    for _ in 0..30 {
        asked.push(client.send_call::<service::ClientScan>(&scan, &[], RequestOptions::default()));
        // Memory has it, so it would be answered before the scan.
        asked.push(client.send_call::<service::ClientGet>(&get, &[], RequestOptions::default()));
    }
    let answered: Vec<u32> = asked
        .iter()
        .map(|_| {
            let response = client.response().unwrap();
            response.result.unwrap();
            response.call_id
        })
        .collect();
    assert_eq!(answered, asked);
}

#[test]
fn calls_of_client_with_unread_responses_are_rejected() {
    let server = Server::with(|config| {
        (config.limits.max_bytes_per_connection, config.limits.handler_threads) = (100_000, 1);
    });
    server.put(&[("a", &"x".repeat(1 << 20))]);
    // Runs on a handler thread, because filters may be slow.
    let all = pb::Filter {
        name: "org.apache.hadoop.hbase.filter.PageFilter".to_owned(),
        serialized_filter: Some(bytes("\u{8}\u{64}")),
    };
    let scan = pb::Scan { filter: Some(all), ..Default::default() };
    let request = pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(scan),
        number_of_rows: Some(1),
        ..Default::default()
    };
    let mut client = server.client();
    // Forty times a megabyte: more than the sockets on the way hold.
    client.send_calls::<service::ClientScan>(&request, 40);
    // Later calls are answered after them.
    for _ in 0..3 {
        server.client().call::<service::ClientScan>(&scan_for_nothing(&server)).unwrap();
    }
    let mut refused = 0;
    for _ in 0..40 {
        match client.response().unwrap().result {
            Ok(_) => {}
            Err(exception) => {
                assert_eq!(exception.kind(), Some(ExceptionKind::CallQueueTooBig), "{exception}");
                refused += 1;
            }
        }
    }
    assert!((1..40).contains(&refused), "{refused}");
    // The responses that the client has read free their buffers.
    client.call::<service::ClientScan>(&request).unwrap();
}

#[test]
fn queued_calls_are_limited_by_bytes() {
    let server = Server::with(|config| config.limits.max_call_queue_bytes = 1);
    server.put(&[("a", "1")]);
    let mut client = server.client();
    assert_eq!(
        exception_kind(client.call::<service::ClientScan>(&scan_for_nothing(&server))),
        Some(ExceptionKind::CallQueueTooBig)
    );
    // Calls that need not wait are answered.
    client.call::<service::ClientGet>(&get(&server, "a")).unwrap();

    let server = Server::with(|config| {
        (config.limits.max_call_queue_bytes, config.limits.handler_threads) = (2_000, 1);
    });
    let value = "x".repeat(1 << 10);
    let names: Vec<String> = (0..2000).map(|row| format!("a{row:06}")).collect();
    server.put(&names.iter().map(|row| (&row[..], &value[..])).collect::<Vec<_>>());
    let mut client = server.client();
    let request = scan_for_nothing(&server);
    // A few of them fit, and rejected or finished calls free their share.
    for _ in 0..2 {
        client.send_calls::<service::ClientScan>(&request, 100);
        let refused =
            (0..100).filter_map(|_| client.response().unwrap().result.err()).collect::<Vec<_>>();
        assert!((1..100).contains(&refused.len()), "{}", refused.len());
        assert!(
            refused
                .iter()
                .all(|exception| exception.kind() == Some(ExceptionKind::CallQueueTooBig))
        );
    }
}

#[test]
fn full_queue_returns_call_queue_too_big() {
    let server = Server::with(|config| {
        (config.limits.max_call_queue_length, config.limits.handler_threads) = (1, 1);
    });
    let value = "x".repeat(1 << 10);
    let names: Vec<String> = (0..2000).map(|row| format!("a{row:06}")).collect();
    server.put(&names.iter().map(|row| (&row[..], &value[..])).collect::<Vec<_>>());
    let mut client = server.client();
    let request = scan_for_nothing(&server);
    for _ in 0..200 {
        client.send_call::<service::ClientScan>(&request, &[], RequestOptions::default());
    }
    let refused =
        (0..200).filter_map(|_| client.response().unwrap().result.err()).collect::<Vec<_>>();
    assert!(
        !refused.is_empty()
            && refused
                .iter()
                .all(|exception| exception.kind() == Some(ExceptionKind::CallQueueTooBig))
    );
    assert_eq!(exception_kind(client.call::<service::ClientGet>(&get(&server, "a"))), None);
}

/// Sends a put of `bytes` highly compressible bytes in a compressed cell block, alone and in a
/// multi.
fn compressed(client: &mut Client, server: &Server, bytes: usize) -> [Option<ExceptionKind>; 2] {
    let put: RowOp = Put::new("a").add("f", "q", "x".repeat(bytes)).into();
    let (mutation, cells) = to_counted(&put).unwrap();
    let cells = [cells];
    let action = pb::Action { mutation: Some(mutation.clone()), ..Default::default() };
    let region_action = vec![pb::RegionAction {
        region: server.region("a"),
        action: vec![action],
        ..Default::default()
    }];
    let mutate = pb::MutateRequest { region: server.region("a"), mutation, ..Default::default() };
    let multi = pb::MultiRequest { region_action, ..Default::default() };
    [
        exception_kind(client.call_with::<service::ClientMutate>(
            &mutate,
            &cells,
            RequestOptions::default(),
        )),
        exception_kind(client.call_with::<service::ClientMulti>(
            &multi,
            &cells,
            RequestOptions::default(),
        )),
    ]
}

#[test]
fn cell_block_of_large_decompressed_size_is_queued() {
    // No call may wait here, so a call that would have to is rejected.
    let server = Server::with(|config| config.limits.max_call_queue_bytes = 1);
    let mut client = Client::connect(server.regionserver_port(), Kind::Compressed);
    assert_eq!(compressed(&mut client, &server, 100_000), [None; 2]);
    for bytes in [200_000, 2 << 20] {
        assert_eq!(
            compressed(&mut client, &server, bytes),
            [Some(ExceptionKind::CallQueueTooBig); 2]
        );
    }
    let server = Server::start();
    let mut client = Client::connect(server.regionserver_port(), Kind::Compressed);
    assert_eq!(compressed(&mut client, &server, 2 << 20), [None; 2]);
    assert_eq!(server.value("a").map(|value| value.len()), Some(2 << 20));
}

#[test]
fn queued_call_is_charged_decompressed_bytes() {
    let row = "a".repeat(30_000);
    let increments = (0..20)
        .fold(Increment::new(row.clone()), |all, number| all.add("f", format!("q{number:02}"), 1));
    let request = |server: &Server| {
        let mutation = to_proto(&increments.clone().into()).unwrap();
        pb::MutateRequest { region: server.region("a"), mutation, ..Default::default() }
    };
    for (max_queue_bytes, told) in
        [(300_000, Some(ExceptionKind::CallQueueTooBig)), (1 << 30, None)]
    {
        let server = Server::with(|config| config.limits.max_call_queue_bytes = max_queue_bytes);
        // The call has to read a file.
        server.put(&[(&row, "1")]);
        server.engine.flush(&name()).unwrap();
        assert_eq!(
            exception_kind(server.client().call::<service::ClientMutate>(&request(&server))),
            told
        );
    }
}

#[test]
fn message_with_excessive_decoded_size_is_rejected() {
    let server = Server::with(|config| config.limits.max_request_bytes = 1 << 20);
    let mut client = server.client();
    let header = pb::RequestHeader {
        call_id: Some(7),
        method_name: Some("Multi".to_owned()),
        request_param: Some(true),
        ..Default::default()
    };
    // 200,000 empty actions of two bytes each.
    let region = prost::Message::encode_to_vec(&pb::RegionAction {
        region: server.region("a"),
        ..Default::default()
    });
    let actions = [region, [0x1a, 0].repeat(200_000)].concat();
    let mut message = BytesMut::from(&[0x0a][..]);
    prost::encode_length_delimiter(actions.len(), &mut message).unwrap();
    message.extend_from_slice(&actions);
    let mut frame = BytesMut::new();
    prost::Message::encode_length_delimited(&header, &mut frame).unwrap();
    prost::encode_length_delimiter(message.len(), &mut frame).unwrap();
    frame.extend_from_slice(&message);
    client.send(&u32::try_from(frame.len()).unwrap().to_be_bytes());
    client.send(&frame);
    let response = client.response().unwrap();
    let refused = response.result.unwrap_err();
    assert_eq!((response.call_id, refused.is_do_not_retry()), (7, true));
    assert!(refused.message().contains("limit 67108864"), "{refused}");
    // The connection remains open.
    client.call::<service::ClientGet>(&get(&server, "a")).unwrap();
}

#[test]
fn queued_call_is_not_answered_after_its_timeout() {
    let (directory, mut env) = Server::env();
    let clock = Arc::new(GatedClock::new(env.clock));
    env.clock = Arc::<GatedClock>::clone(&clock);
    let server = Server::in_env((directory, env), |config| config.limits.handler_threads = 1);
    server.put(&[("a", "1")]);
    let mut client = server.client();
    // A call with a regular expression is never answered on the connection's task.
    let expression = Comparator::Regex(RegexString::new("z".to_owned()));
    let filter = to_filter(&Filter::Row(CompareOp::Equal, expression)).unwrap();
    let filtered = pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(pb::Scan { filter: Some(filter), ..Default::default() }),
        number_of_rows: Some(1),
        ..Default::default()
    };
    let mut send = |timeout_ms| {
        client.send_call::<service::ClientScan>(
            &filtered,
            &[],
            RequestOptions { timeout_ms, ..Default::default() },
        )
    };
    // The only handler is busy while the others wait.
    clock.is_closed.store(true, Relaxed);
    let first = send(None);
    clock.reached.wait();
    let (_hurried, behind) = (send(Some(1)), send(None));
    // This answer shows that the server has read all calls.
    client.call::<service::ClientGet>(&get(&server, "a")).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    clock.passed.wait();
    let answered = [(); 2].map(|()| client.response().unwrap().call_id);
    assert_eq!(answered, [first, behind]);
    // The next answer is that of the next call.
    client.call::<service::ClientGet>(&get(&server, "a")).unwrap();
}

/// Clock that stops a handler once, until the test lets it pass.
struct GatedClock {
    clock: Arc<dyn Clock>,
    is_closed: AtomicBool,
    reached: Barrier,
    passed: Barrier,
}

impl GatedClock {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            is_closed: AtomicBool::new(false),
            reached: Barrier::new(2),
            passed: Barrier::new(2),
        }
    }
}

impl Clock for GatedClock {
    fn now_ms(&self) -> i64 {
        let is_handler = std::thread::current().name() == Some("halite-reader-0");
        if is_handler && self.is_closed.swap(false, Relaxed) {
            self.reached.wait();
            self.passed.wait();
        }
        self.clock.now_ms()
    }

    fn monotonic_ns(&self) -> u64 {
        self.clock.monotonic_ns()
    }
}

#[test]
fn disk_below_reserve_delays_writes_but_not_reads() {
    let server = Server::on_a_full_disk();
    let mut client = server.client();
    let mutation = |op: RowOp| pb::MutateRequest {
        region: server.region("a"),
        mutation: to_proto(&op).unwrap(),
        nonce_group: Some(1),
        ..Default::default()
    };
    let put = mutation(Put::new("a").add("f", "q", "v").into());
    let increment = mutation(Increment::new("a").add("f", "n", 1).into());
    for request in [&put, &increment] {
        let exception = client.call::<service::ClientMutate>(request).unwrap_err();
        assert_eq!(
            (exception.kind(), exception.is_do_not_retry()),
            (Some(ExceptionKind::RegionTooBusy), false)
        );
        assert!(
            exception.to_string().contains("writes are refused")
                && exception.to_string().contains("make room"),
            "{exception}"
        );
    }
    let action = vec![pb::Action { mutation: Some(put.mutation.clone()), ..Default::default() }];
    let region_action =
        vec![pb::RegionAction { region: server.region("a"), action, ..Default::default() }];
    let told = client
        .call::<service::ClientMulti>(&pb::MultiRequest { region_action, ..Default::default() })
        .unwrap()
        .message;
    let exception = told.region_action_result[0]
        .exception
        .as_ref()
        .or_else(|| told.region_action_result[0].result_or_exception[0].exception.as_ref());
    assert_eq!(exception.unwrap().name, "org.apache.hadoop.hbase.RegionTooBusyException");
    let get = pb::GetRequest {
        region: server.region("a"),
        get: pb::Get { row: "a".into(), ..Default::default() },
    };
    assert!(client.call::<service::ClientGet>(&get).unwrap().message.result.is_some());
    let name = "t".parse().unwrap();
    server.engine.flush(&name).unwrap();
    server.engine.disable_table(&name).unwrap();
    server.engine.drop_table(&name).unwrap();
}
