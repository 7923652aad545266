//! Slow and large calls as the shell and the Java client ask for them.

use halite_wire::proto as pb;
use halite_wire::service::{self, Service};
use pb::slow_log_response_request::{FilterByOperator, LogType};
use prost::Message as _;

use crate::client::{Client, Kind, bytes};
use crate::server::Server;

const REQUEST: &str =
    "org.apache.hadoop.hbase.shaded.protobuf.generated.AdminProtos$SlowLogResponseRequest";

fn get(server: &Server, row: &str) -> pb::GetRequest {
    let get = pb::Get { row: bytes(row), ..pb::Get::default() };
    pb::GetRequest { region: server.region(row), get }
}

fn scan(server: &Server) -> pb::ScanRequest {
    pb::ScanRequest {
        region: Some(server.region("a")),
        scan: Some(pb::Scan { start_row: Some(bytes("a")), ..pb::Scan::default() }),
        number_of_rows: Some(0),
        close_scanner: Some(false),
        ..pb::ScanRequest::default()
    }
}

/// Returns the recorded calls, newest first, as clients of 2.5 and later ask for them.
fn recorded(admin: &mut Client, request: &pb::SlowLogResponseRequest) -> Vec<pb::SlowLogPayload> {
    let request = pb::LogRequest {
        log_class_name: REQUEST.to_owned(),
        log_message: request.encode_to_vec().into(),
    };
    let entry = admin.call::<service::AdminGetLogEntries>(&request).unwrap().message;
    assert_eq!(entry.log_class_name, REQUEST.replace("ResponseRequest", "Responses"));
    let decoded = pb::SlowLogResponses::decode(entry.log_message).unwrap().slow_log_payloads;
    // The calls of this client are recorded too.
    let own = ["GetLogEntries", "ClearSlowLogsResponses"];
    decoded.into_iter().filter(|call| !own.contains(&call.method_name.as_str())).collect()
}

fn slow(change: impl FnOnce(&mut pb::SlowLogResponseRequest)) -> pb::SlowLogResponseRequest {
    let mut request =
        pb::SlowLogResponseRequest { limit: Some(100), ..pb::SlowLogResponseRequest::default() };
    request.set_log_type(LogType::SlowLog);
    change(&mut request);
    request
}

fn methods(calls: &[pb::SlowLogPayload]) -> Vec<&str> {
    calls.iter().map(|call| call.method_name.as_str()).collect()
}

#[test]
fn slow_calls_are_described_filtered_and_cleared() {
    let server = Server::with(|config| config.slow_calls.slow_call_ms = 0);
    let mut client = server.client();
    client.call::<service::ClientGet>(&get(&server, "x")).unwrap();
    let opened = client.call::<service::ClientScan>(&scan(&server)).unwrap().message;
    let more = pb::ScanRequest {
        scanner_id: opened.scanner_id,
        number_of_rows: Some(5),
        next_call_seq: Some(0),
        ..pb::ScanRequest::default()
    };
    client.call::<service::ClientScan>(&more).unwrap();
    let mut admin = Client::to(server.regionserver_port(), Service::Admin, Kind::Java);
    let all = recorded(&mut admin, &slow(|_| ()));
    assert_eq!(methods(&all), ["Scan", "Scan", "Get"]);
    let region = |row: &str| server.region_info(row).display_name();
    assert_eq!(all[2].param(), "row=x");
    assert_eq!((all[2].region_name(), all[2].user_name.as_str()), (&*region("x"), "root"));
    assert_eq!((all[2].server_class.as_str(), all[2].r#type), ("HRegionServer", 0));
    assert!(all[1].param().starts_with("start=a stop="), "{}", all[1].param());
    // The region of a scanner that is continued is that of its first call.
    assert_eq!((all[0].region_name(), all[1].region_name()), (&*region("a"), &*region("a")));

    let of_region = slow(|request| request.region_name = Some(region("x")));
    assert_eq!(methods(&recorded(&mut admin, &of_region)), ["Get"]);
    let of_table = slow(|request| request.table_name = Some("t".to_owned()));
    assert_eq!(recorded(&mut admin, &of_table).len(), 3);
    let of_none = slow(|request| request.table_name = Some("other".to_owned()));
    assert!(recorded(&mut admin, &of_none).is_empty());
    let either = |operator| {
        slow(|request| {
            request.region_name = Some(region("x"));
            request.table_name = Some("other".to_owned());
            request.set_filter_by_operator(operator);
        })
    };
    assert_eq!(recorded(&mut admin, &either(FilterByOperator::Or)).len(), 1);
    assert!(recorded(&mut admin, &either(FilterByOperator::And)).is_empty());
    let large = slow(|request| request.set_log_type(LogType::LargeLog));
    assert!(recorded(&mut admin, &large).is_empty());

    let clear = pb::ClearSlowLogResponseRequest {};
    let cleared = admin.call::<service::AdminClearSlowLogsResponses>(&clear).unwrap().message;
    assert!(cleared.is_cleaned);
    assert!(recorded(&mut admin, &slow(|_| ())).is_empty());
}

#[test]
fn large_responses_are_recorded_apart_from_slow_calls() {
    let server = Server::with(|config| {
        // No call is slow, even one during which the machine stops the test.
        let calls = &mut config.slow_calls;
        (calls.large_response_bytes, calls.slow_call_ms) = (1000, 600_000);
    });
    let value = "v".repeat(5000);
    server.put(&[("a", &value), ("b", "short")]);
    let mut client = server.client();
    for row in ["a", "b"] {
        client.call::<service::ClientGet>(&get(&server, row)).unwrap();
    }
    let mut admin = Client::to(server.regionserver_port(), Service::Admin, Kind::Java);
    let request = pb::SlowLogResponseRequest::default();
    let large = admin.call::<service::AdminGetLargeLogResponses>(&request).unwrap().message;
    let large = large.slow_log_payloads;
    assert_eq!((large.len(), large[0].param(), large[0].r#type), (1, "row=a", 1));
    assert!(large[0].response_size > 5000);
    assert!(recorded(&mut admin, &slow(|_| ())).is_empty());
}

#[test]
fn nothing_is_recorded_without_slow_log() {
    let server = Server::with(|config| {
        (config.slow_calls.slow_call_ms, config.slow_calls.is_enabled) = (0, false);
    });
    server.client().call::<service::ClientGet>(&get(&server, "x")).unwrap();
    let mut admin = Client::to(server.regionserver_port(), Service::Admin, Kind::Java);
    assert!(recorded(&mut admin, &slow(|_| ())).is_empty());
    let clear = pb::ClearSlowLogResponseRequest {};
    let cleared = admin.call::<service::AdminClearSlowLogsResponses>(&clear).unwrap().message;
    assert!(!cleared.is_cleaned);
}
