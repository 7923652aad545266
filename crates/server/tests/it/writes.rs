//! Single mutations: both forms of cells, conditions, nonces, and invalid mutations.

use bytes::Bytes;
use halite_types::cell::{CellParts, LATEST_TIMESTAMP};
use halite_types::{CellType, Cells, CellsBuilder, CheckAndMutate, Durability};
use halite_wire::convert::mutate::{to_counted, to_proto};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc::RequestOptions;
use halite_wire::service;
use pb::mutation_proto::MutationType;

use crate::client::{Client, Kind, bytes, exception_kind, format_cells};
use crate::server::Server;

fn mutate(server: &Server, op: impl Into<halite_types::RowOp>) -> pb::MutateRequest {
    let mutation = to_proto(&op.into()).unwrap();
    let row = String::from_utf8(mutation.row().to_vec()).unwrap();
    pb::MutateRequest { region: server.region(&row), mutation, ..Default::default() }
}

fn put(row: &str, value: &str) -> halite_types::Put {
    halite_types::Put::new(row.to_owned()).add("f", "q", value)
}

fn increment(row: &str, by: i64) -> halite_types::Increment {
    halite_types::Increment::new(row.to_owned()).add("f", "n", by)
}

fn equals(row: &str, value: &str) -> pb::Condition {
    let comparator =
        pb::BinaryComparator { comparable: pb::ByteArrayComparable { value: Some(bytes(value)) } };
    pb::Condition {
        row: bytes(row),
        family: Some(bytes("f")),
        qualifier: Some(bytes("q")),
        compare_type: Some(pb::CompareType::Equal.into()),
        comparator: Some(pb::Comparator {
            name: "org.apache.hadoop.hbase.filter.BinaryComparator".to_owned(),
            serialized_comparator: Some(prost::Message::encode_to_vec(&comparator).into()),
        }),
        ..Default::default()
    }
}

#[test]
fn put_accepts_cells_inside_and_after_the_message() {
    let server = Server::start();
    for (kind, row) in
        [(Kind::Java, "a"), (Kind::Go, "b"), (Kind::Plain, "c"), (Kind::Compressed, "d")]
    {
        let mut client = Client::connect(server.regionserver_port(), kind);
        let told = client
            .call::<service::ClientMutate>(&mutate(&server, put(row, "inside")))
            .unwrap()
            .message;
        assert_eq!(told, pb::MutateResponse { processed: Some(true), ..Default::default() });
        assert_eq!(server.value(row).as_deref(), Some("inside"));
        if kind != Kind::Plain {
            let (mutation, cells) = to_counted(&put(row, "behind").into()).unwrap();
            let request = pb::MutateRequest { mutation, ..mutate(&server, put(row, "")) };
            client
                .call_with::<service::ClientMutate>(&request, &[cells], RequestOptions::default())
                .unwrap();
            assert_eq!(server.value(row).as_deref(), Some("behind"));
        }
    }
}

#[test]
fn deletes_are_applied_and_later_put_is_visible() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    let mut client = server.client();
    client.call::<service::ClientMutate>(&mutate(&server, halite_types::Delete::new("a"))).unwrap();
    assert_eq!(server.value("a"), None);
    client.call::<service::ClientMutate>(&mutate(&server, put("a", "2"))).unwrap();
    assert_eq!(server.value("a").as_deref(), Some("2"));
    client
        .call::<service::ClientMutate>(&mutate(
            &server,
            halite_types::Delete::new("a").newest("f", "q"),
        ))
        .unwrap();
    assert_eq!(server.value("a"), None);
}

#[test]
fn increments_and_appends_return_new_values() {
    let server = Server::start();
    let mut client = server.client();
    let value = |told: &crate::client::DecodedResponse<pb::MutateResponse>| {
        let cells = told.cells.clone().unwrap();
        i64::from_be_bytes(cells.first().unwrap().value().try_into().unwrap())
    };
    let first = client.call::<service::ClientMutate>(&mutate(&server, increment("a", 5))).unwrap();
    assert_eq!((value(&first), first.message.processed), (5, None));
    let result = first.message.result.clone().unwrap();
    assert_eq!((result.associated_cell_count, result.stale), (Some(1), Some(false)));
    assert_eq!(
        value(&client.call::<service::ClientMutate>(&mutate(&server, increment("a", -2))).unwrap()),
        3
    );

    let append = halite_types::Append::new("b").add("f", "q", "xy");
    client.call::<service::ClientMutate>(&mutate(&server, append.clone())).unwrap();
    let told = client.call::<service::ClientMutate>(&mutate(&server, append.clone())).unwrap();
    assert_eq!(format_cells(&told.cells.unwrap()), ["b/f:q=xyxy"]);
    let mut quiet = append;
    quiet.return_results = false;
    let told = client.call::<service::ClientMutate>(&mutate(&server, quiet)).unwrap();
    assert_eq!((told.message.result.unwrap().associated_cell_count, told.cells), (Some(0), None));
}

#[test]
fn retried_increment_applies_once_and_returns_current_value() {
    let server = Server::start();
    let mut client = server.client();
    let mut request = mutate(&server, increment("a", 5));
    (request.nonce_group, request.mutation.nonce) = (Some(7), Some(9));
    let mut ask = |request: &pb::MutateRequest| {
        let told = client.call::<service::ClientMutate>(request).unwrap();
        i64::from_be_bytes(told.cells.unwrap().first().unwrap().value().try_into().unwrap())
    };
    assert_eq!(ask(&request), 5);
    assert_eq!(ask(&mutate(&server, increment("a", 1))), 6);
    assert_eq!(ask(&request), 6);
    request.mutation.nonce = Some(10);
    assert_eq!(ask(&request), 11);
}

/// HBase checks the nonces of increments and appends only; a client may send one with every
/// mutation.
#[test]
fn put_applies_regardless_of_nonce() {
    let server = Server::start();
    let mut client = server.client();
    client
        .call::<service::ClientMutate>(&under_nonce(mutate(&server, increment("a", 3)), 7))
        .unwrap();
    for value in ["1", "2"] {
        client
            .call::<service::ClientMutate>(&under_nonce(mutate(&server, put("a", value)), 7))
            .unwrap();
        assert_eq!(server.value("a").as_deref(), Some(value));
    }
    client
        .call::<service::ClientMutate>(&under_nonce(
            mutate(&server, halite_types::Delete::new("a")),
            7,
        ))
        .unwrap();
    assert_eq!(server.value("a"), None);
    for value in ["3", "4"] {
        let mutation = under_nonce(mutate(&server, put("a", value)), 7).mutation;
        let action = vec![pb::Action { mutation: Some(mutation), ..Default::default() }];
        let actions = pb::RegionAction {
            region: server.region("a"),
            atomic: Some(true),
            action,
            ..Default::default()
        };
        let request = pb::MultiRequest {
            region_action: vec![actions],
            nonce_group: Some(5),
            ..Default::default()
        };
        client.call::<service::ClientMulti>(&request).unwrap();
        assert_eq!(server.value("a").as_deref(), Some(value));
    }
}

#[test]
fn retried_increment_applies_once_after_crash() {
    let server = Server::start();
    let request = under_nonce(mutate(&server, increment("a", 5)), 9);
    let ask = |server: &Server| {
        new_value(&server.client().call::<service::ClientMutate>(&request).unwrap())
    };
    assert_eq!(ask(&server), Some(5));
    let next = server.restart_after_kill();
    assert_eq!(ask(&next), Some(5));
    assert_eq!(
        new_value(
            &next
                .client()
                .call::<service::ClientMutate>(&mutate(&next, increment("a", 1)))
                .unwrap()
        ),
        Some(6)
    );
}

#[test]
fn retried_increment_applies_once_after_flushes_and_restarts() {
    let server = Server::start();
    let request = under_nonce(mutate(&server, increment("a", 5)), 9);
    let ask = |server: &Server| {
        new_value(&server.client().call::<service::ClientMutate>(&request).unwrap())
    };
    assert_eq!(ask(&server), Some(5));
    server.engine.flush(&crate::server::name()).unwrap();
    // The log has lost the segment by now.
    server.engine.roll_wal().unwrap();
    let flushed = server.restart_after_kill();
    assert_eq!(ask(&flushed), Some(5));
    let closed = flushed.restart_after_close();
    assert_eq!(ask(&closed), Some(5));
    let closed_again = closed.restart_after_close();
    assert_eq!(ask(&closed_again), Some(5));
    assert_eq!(
        new_value(
            &closed_again
                .client()
                .call::<service::ClientMutate>(&mutate(&closed_again, increment("a", 1)))
                .unwrap()
        ),
        Some(6)
    );
}

#[test]
fn failed_condition_is_rechecked_and_applied_one_counts_once() {
    let server = Server::start();
    let mut client = server.client();
    let request = pb::MutateRequest {
        condition: Some(equals("a", "1")),
        ..under_nonce(mutate(&server, increment("a", 5)), 9)
    };
    let mut ask = || {
        let told = client.call::<service::ClientMutate>(&request).unwrap();
        (told.message.processed, new_value(&told))
    };
    assert_eq!((ask(), ask()), ((Some(false), None), (Some(false), None)));
    server.put(&[("a", "1")]);
    assert_eq!((ask(), ask()), ((Some(true), Some(5)), (Some(true), Some(5))));
    server.put(&[("a", "2")]);
    assert_eq!(ask(), (Some(true), Some(5)), "it has been done, whatever holds now");
}

fn under_nonce(mut request: pb::MutateRequest, nonce: u64) -> pb::MutateRequest {
    (request.nonce_group, request.mutation.nonce) = (Some(7), Some(nonce));
    request
}

/// Returns the value in the response to an increment, if there is one.
fn new_value(told: &crate::client::DecodedResponse<pb::MutateResponse>) -> Option<i64> {
    Some(i64::from_be_bytes(told.cells.as_ref()?.first()?.value().try_into().unwrap()))
}

#[test]
fn condition_decides_whether_mutation_applies() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    let mut client = server.client();
    let mut ask = |value: &str, condition: pb::Condition| {
        let request =
            pb::MutateRequest { condition: Some(condition), ..mutate(&server, put("a", value)) };
        client.call::<service::ClientMutate>(&request).map(|told| told.message)
    };
    let processed =
        |processed| pb::MutateResponse { processed: Some(processed), ..Default::default() };
    assert_eq!(ask("2", equals("a", "0")).unwrap(), processed(false));
    assert_eq!(ask("2", equals("a", "1")).unwrap(), processed(true));
    // The given value is the left operand: "1" is less than "2", which is stored.
    let less =
        pb::Condition { compare_type: Some(pb::CompareType::Less.into()), ..equals("a", "1") };
    assert_eq!(ask("3", less).unwrap(), processed(true));
    // A missing column compares equal to an empty value.
    let absent = pb::Condition { qualifier: Some(bytes("other")), ..equals("a", "") };
    assert_eq!(ask("4", absent).unwrap(), processed(true));
    assert_eq!(server.value("a").as_deref(), Some("4"));
    assert_eq!(exception_kind(ask("5", equals("b", "4"))), Some(ExceptionKind::DoNotRetry));
}

#[test]
fn conditional_increment_returns_outcome_and_value() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    let mut client = server.client();
    let mut ask = |condition| {
        let request =
            pb::MutateRequest { condition: Some(condition), ..mutate(&server, increment("a", 1)) };
        client.call::<service::ClientMutate>(&request).unwrap()
    };
    let told = ask(equals("a", "1"));
    assert_eq!(
        (told.message.processed, told.cells.map(|cells| cells.len())),
        (Some(true), Some(1))
    );
    let told = ask(equals("a", "2"));
    assert_eq!(
        (told.message.processed, told.message.result, told.cells),
        (Some(false), None, None)
    );
}

#[test]
fn empty_mutations_succeed_as_in_hbase() {
    let server = Server::start();
    let mut client = server.client();
    let mut ask = |kind: MutationType| {
        let mutation = pb::MutationProto {
            row: Some(bytes("a")),
            mutate_type: Some(kind.into()),
            ..Default::default()
        };
        client
            .call::<service::ClientMutate>(&pb::MutateRequest {
                region: server.region("a"),
                mutation,
                ..Default::default()
            })
            .unwrap()
            .message
    };
    assert_eq!(ask(MutationType::Put).processed, Some(true));
    assert_eq!(
        ask(MutationType::Increment).result.and_then(|result| result.associated_cell_count),
        Some(0)
    );
}

#[test]
fn invalid_mutation_returns_hbase_exception_class() {
    let server = Server::start();
    let mut client = server.client();
    let mut ask = |request: pb::MutateRequest, cells: &[Cells]| {
        client.call_with::<service::ClientMutate>(&request, cells, RequestOptions::default())
    };

    let elsewhere =
        pb::MutateRequest { region: server.region("a"), ..mutate(&server, put("z", "1")) };
    assert_eq!(exception_kind(ask(elsewhere, &[])), Some(ExceptionKind::FailedSanityCheck));
    let counted =
        pb::MutateRequest { region: server.region("a"), ..mutate(&server, increment("z", 1)) };
    assert_eq!(exception_kind(ask(counted, &[])), Some(ExceptionKind::WrongRegion));
    let family = halite_types::Put::new("a").add("nope", "q", "1");
    assert_eq!(
        exception_kind(ask(mutate(&server, family), &[])),
        Some(ExceptionKind::NoSuchColumnFamily)
    );
    let large = halite_types::Put::new("a").add("f", "q", vec![0; 11 << 20]);
    assert_eq!(exception_kind(ask(mutate(&server, large), &[])), Some(ExceptionKind::DoNotRetry));

    let mut cells = CellsBuilder::default();
    let parts = CellParts {
        row: b"b",
        family: b"f",
        qualifier: b"q",
        timestamp: LATEST_TIMESTAMP,
        cell_type: CellType::Put,
        value: b"1",
        tags: b"",
    };
    cells.push_parts(parts);
    let cells = cells.finish();
    let (mut mutation, _) = to_counted(
        &halite_types::Put::from_cells("a", CellsBuilder::default(), Durability::default()).into(),
    )
    .unwrap();
    mutation.associated_cell_count = Some(1);
    let other_row = pb::MutateRequest {
        region: server.region("a"),
        mutation: mutation.clone(),
        ..Default::default()
    };
    assert_eq!(
        exception_kind(ask(other_row.clone(), std::slice::from_ref(&cells))),
        Some(ExceptionKind::WrongRow)
    );
    let too_few = pb::MutateRequest {
        mutation: pb::MutationProto { associated_cell_count: Some(2), ..mutation },
        ..other_row
    };
    assert_eq!(exception_kind(ask(too_few, &[cells])), Some(ExceptionKind::DoNotRetry));

    let wide = pb::mutation_proto::column_value::QualifierValue {
        qualifier: Some(bytes("n")),
        value: Some(Bytes::from_static(b"12345")),
        ..Default::default()
    };
    let mut amount = mutate(&server, increment("a", 1));
    amount.mutation.column_value[0].qualifier_value = vec![wide];
    let exception = ask(amount, &[]).unwrap_err();
    assert!(
        exception.message().starts_with("Field is not a long, it's 5 bytes wide"),
        "{exception}"
    );
    assert_eq!(exception.kind(), Some(ExceptionKind::DoNotRetry));
    assert_eq!(server.value("a"), None);
}

#[test]
fn condition_reports_scanned_block_bytes_on_request() {
    let server = Server::start();
    server.put(&[("a", "v")]);
    let mut client = server.client();
    let condition = |wants: bool| {
        let check = CheckAndMutate::if_equals(
            "a",
            "f",
            "q",
            "v",
            halite_types::Put::new("a").add("f", "z", "1"),
        );
        pb::Condition {
            query_metrics_enabled: Some(wants),
            ..halite_wire::convert::condition::to_proto(&check).unwrap()
        }
    };
    let mutation = || to_proto(&halite_types::Put::new("a").add("f", "z", "1").into()).unwrap();
    let mut ask = |wants| {
        let request = pb::MutateRequest {
            region: server.region("a"),
            mutation: mutation(),
            condition: Some(condition(wants)),
            nonce_group: None,
        };
        client.call::<service::ClientMutate>(&request).unwrap().message
    };
    assert_eq!(
        (ask(false).metrics, ask(true).metrics),
        (None, Some(pb::QueryMetrics { block_bytes_scanned: Some(0) })),
        "in memory there is no block"
    );
    server.engine.flush(&crate::server::name()).unwrap();
    let told = ask(true);
    assert!(told.processed() && told.metrics.unwrap().block_bytes_scanned() > 0);
    let action = pb::Action { index: Some(0), mutation: Some(mutation()), ..Default::default() };
    let of = |actions: Vec<pb::Action>| {
        let region_action = pb::RegionAction {
            region: server.region("a"),
            atomic: Some(true),
            action: actions,
            condition: Some(condition(true)),
        };
        let request = pb::MultiRequest { region_action: vec![region_action], ..Default::default() };
        let told = server.client().call::<service::ClientMulti>(&request).unwrap().message;
        told.region_action_result[0]
            .result_or_exception
            .iter()
            .map(|entry| entry.metrics.is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of(vec![action.clone()]), of(vec![action.clone(), action.clone()])),
        (vec![true], vec![false, false])
    );
}
