//! Built-in endpoints, called through `ExecService`.

use halite_types::{Put, RowOp};
use halite_wire::convert::mutate::to_proto;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service;
use prost::Message;

use crate::client::{bytes, exception_kind};
use crate::server::Server;

const LONG: &str = "org.apache.hadoop.hbase.client.coprocessor.LongColumnInterpreter";

fn exec(
    server: &Server,
    service: &str,
    method: &str,
    request: &impl Message,
) -> Result<Vec<u8>, Exception> {
    let call = pb::CoprocessorServiceCall {
        row: bytes(""),
        service_name: service.to_owned(),
        method_name: method.to_owned(),
        request: request.encode_to_vec().into(),
    };
    let request = pb::CoprocessorServiceRequest { region: server.region("a"), call };
    let told = server.client().call::<service::ClientExecService>(&request)?;
    assert_eq!(told.message.region, server.region("a"));
    Ok(told.message.value.value().to_vec())
}

fn aggregate(
    server: &Server,
    method: &str,
    qualifier: Option<&str>,
) -> Result<pb::AggregateResponse, Exception> {
    let column =
        pb::Column { family: bytes("f"), qualifier: qualifier.map(bytes).into_iter().collect() };
    let scan = pb::Scan { column: vec![column], ..Default::default() };
    let request = pb::AggregateRequest {
        interpreter_class_name: LONG.to_owned(),
        scan,
        interpreter_specific_bytes: None,
    };
    exec(server, "AggregateService", method, &request)
        .map(|value| pb::AggregateResponse::decode(&value[..]).unwrap())
}

fn numbers(server: &Server, numbers: &[(&'static str, i64)]) {
    let put = |(row, number): &(&'static str, i64)| {
        RowOp::from(Put::new(*row).add("f", "n", number.to_be_bytes()))
    };
    server
        .engine
        .table(&crate::server::name())
        .unwrap()
        .batch(numbers.iter().map(put).collect())
        .unwrap();
}

fn long(bytes: &[u8]) -> i64 {
    pb::LongMsg::decode(bytes).unwrap().long_msg
}

#[test]
fn aggregate_returns_partial_result_of_region() {
    let server = Server::start();
    numbers(&server, &[("a", 3), ("b", -5), ("c", 10), ("x", 1000)]);
    let ask = |method| aggregate(&server, method, Some("n")).unwrap();
    let first = |method| ask(method).first_part.iter().map(|part| long(part)).collect::<Vec<_>>();
    assert_eq!((first("GetMax"), first("GetMin"), first("GetSum")), (vec![10], vec![-5], vec![8]));
    assert_eq!(ask("GetRowNum").first_part, [3_i64.to_be_bytes().to_vec()]);
    let average = ask("GetAvg");
    assert_eq!(
        (long(&average.first_part[0]), average.second_part()),
        (8, &3_i64.to_be_bytes()[..])
    );
    let deviation = ask("GetStd");
    assert_eq!((long(&deviation.first_part[0]), long(&deviation.first_part[1])), (8, 9 + 25 + 100));
    assert_eq!(first("GetMedian"), [8, i64::MIN]);
}

#[test]
fn region_without_numbers_returns_no_aggregate() {
    let server = Server::start();
    assert_eq!(aggregate(&server, "GetMax", Some("n")).unwrap(), pb::AggregateResponse::default());
    assert_eq!(aggregate(&server, "GetAvg", Some("n")).unwrap(), pb::AggregateResponse::default());
    assert_eq!(
        aggregate(&server, "GetRowNum", None).unwrap().first_part,
        [0_i64.to_be_bytes().to_vec()]
    );
}

#[test]
fn row_mutations_are_atomic() {
    let server = Server::start();
    let mutation = |row: &'static str, family: &'static str| {
        to_proto(&Put::new(row).add(family, "q", "1").into()).unwrap()
    };
    let request =
        |mutations| pb::MutateRowsRequest { mutation_request: mutations, ..Default::default() };
    let done = exec(
        &server,
        "MultiRowMutationService",
        "MutateRows",
        &request(vec![mutation("a", "f"), mutation("b", "f")]),
    )
    .unwrap();
    assert_eq!(pb::MutateRowsResponse::decode(&done[..]).unwrap().processed, Some(true));
    assert_eq!(
        (server.value("a").as_deref(), server.value("b").as_deref()),
        (Some("1"), Some("1"))
    );
    let refused = exec(
        &server,
        "MultiRowMutationService",
        "MutateRows",
        &request(vec![mutation("c", "f"), mutation("d", "nope")]),
    );
    assert_eq!(
        (exception_kind(refused), server.value("c")),
        (Some(ExceptionKind::NoSuchColumnFamily), None)
    );
}

#[test]
fn unknown_service_and_method_errors_differ() {
    let server = Server::start();
    let exception = exec(&server, "Foo", "Bar", &pb::GetClusterIdRequest {}).unwrap_err();
    let region = server.region_info("a").display_name();
    assert_eq!(exception.kind(), Some(ExceptionKind::UnknownProtocol));
    assert_eq!(
        exception.message(),
        format!("No registered coprocessor service found for Foo in region {region}")
    );
    let method = exec(&server, "AggregateService", "GetNothing", &pb::GetClusterIdRequest {});
    assert_eq!(exception_kind(method), Some(ExceptionKind::UnknownProtocol));
    let call = pb::CoprocessorServiceCall { service_name: "Foo".to_owned(), ..Default::default() };
    let request = pb::CoprocessorServiceRequest { region: server.region("a"), call };
    let exception =
        server.client().call::<service::ClientExecRegionServerService>(&request).unwrap_err();
    assert_eq!(exception.message(), "No registered coprocessor executorService found for Foo");
}

#[test]
fn only_row_count_spans_all_families() {
    let server = Server::start();
    numbers(&server, &[("a", 3), ("b", -5), ("c", 10)]);
    let ask = |method: &str| {
        let request =
            pb::AggregateRequest { interpreter_class_name: LONG.to_owned(), ..Default::default() };
        exec(&server, "AggregateService", method, &request)
            .map(|value| pb::AggregateResponse::decode(&value[..]).unwrap())
    };
    assert_eq!(ask("GetRowNum").unwrap().first_part, [3_i64.to_be_bytes().to_vec()]);
    assert_eq!(exception_kind(ask("GetSum")), Some(ExceptionKind::DoNotRetry));
}

#[test]
fn oversized_aggregation_is_rejected_before_decoding() {
    let server = Server::with(|config| config.limits.max_request_bytes = 32 << 20);
    let column = vec![pb::Column::default(); 1_500_000];
    let scan = pb::Scan { column, ..Default::default() };
    let request = pb::AggregateRequest {
        interpreter_class_name: LONG.to_owned(),
        scan,
        interpreter_specific_bytes: None,
    };
    let refused = exec(&server, "AggregateService", "GetRowNum", &request).unwrap_err();
    assert!(
        refused.is_do_not_retry() && refused.message().contains("message too large"),
        "{refused}"
    );
}
