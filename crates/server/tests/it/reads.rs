//! Gets: forms of their responses, and invalid gets.

use halite_wire::cellblock::CellBlockFormat;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc::{RequestOptions, RpcLimits};
use halite_wire::service;

use crate::client::{Client, Kind, bytes, exception_kind, format_cells};
use crate::server::Server;

fn get(server: &Server, row: &str) -> pb::GetRequest {
    pb::GetRequest {
        region: server.region(row),
        get: pb::Get { row: bytes(row), ..Default::default() },
    }
}

#[test]
fn cells_follow_or_are_inside_the_message_by_client() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    for (kind, behind) in
        [(Kind::Java, true), (Kind::Compressed, true), (Kind::Go, false), (Kind::Plain, false)]
    {
        let mut client = Client::connect(server.regionserver_port(), kind);
        let told = client.call::<service::ClientGet>(&get(&server, "a")).unwrap();
        let result = told.message.result.unwrap();
        assert_eq!(result.stale, Some(false));
        if behind {
            assert_eq!((result.associated_cell_count, result.cell.len()), (Some(1), 0));
            assert_eq!(format_cells(&told.cells.unwrap()), ["a/f:q=1"]);
        } else {
            assert_eq!((result.associated_cell_count, told.cells), (None, None));
            assert_eq!(
                (result.cell[0].row(), result.cell[0].value(), result.cell[0].cell_type),
                (&b"a"[..], &b"1"[..], Some(4))
            );
        }
    }
}

#[test]
fn missing_row_returns_empty_result() {
    let server = Server::start();
    let nothing = pb::Result { associated_cell_count: Some(0), ..Default::default() };
    for kind in [Kind::Java, Kind::Go, Kind::Plain, Kind::Compressed] {
        let mut client = Client::connect(server.regionserver_port(), kind);
        let told = client.call::<service::ClientGet>(&get(&server, "missing")).unwrap();
        assert_eq!(told.message.result.as_ref(), Some(&nothing), "{kind:?}");
        assert_eq!(told.cells.map(|cells| cells.len()), (kind == Kind::Compressed).then_some(0));
    }
}

#[test]
fn existence_is_returned_without_cells() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    let mut client = server.client();
    for (row, exists) in [("a", true), ("b", false)] {
        let mut request = get(&server, row);
        request.get.existence_only = Some(true);
        let told = client.call::<service::ClientGet>(&request).unwrap();
        let result = told.message.result.unwrap();
        assert_eq!(
            (result.exists, result.associated_cell_count, result.stale, told.cells),
            (Some(exists), Some(0), None, None)
        );
    }
}

#[test]
fn disk_reads_run_on_another_thread() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    server.engine.flush(&crate::server::name()).unwrap();
    let mut client = server.client();
    // The first reads blocks, the second finds them.
    for _ in 0..2 {
        let told = client.call::<service::ClientGet>(&get(&server, "a")).unwrap();
        assert_eq!(format_cells(&told.cells.unwrap()), ["a/f:q=1"]);
    }
}

#[test]
fn invalid_get_returns_hbase_exception_class() {
    let server = Server::start();
    let mut client = server.client();
    let mut ask = |request: pb::GetRequest| client.call::<service::ClientGet>(&request);
    let elsewhere = pb::GetRequest { region: server.region("a"), ..get(&server, "z") };
    assert_eq!(exception_kind(ask(elsewhere)), Some(ExceptionKind::WrongRegion));
    let mut family = get(&server, "a");
    family.get.column = vec![pb::Column { family: bytes("nope"), qualifier: vec![] }];
    assert_eq!(exception_kind(ask(family)), Some(ExceptionKind::NoSuchColumnFamily));
    let gone =
        pb::RegionSpecifier { r#type: 1, value: "t,,1.0123456789abcdef0123456789abcdef.".into() };
    let exception = ask(pb::GetRequest { region: gone, ..get(&server, "a") }).unwrap_err();
    assert_eq!(
        (exception.kind(), exception.is_do_not_retry()),
        (Some(ExceptionKind::NotServingRegion), false)
    );
    let place = format!(
        "t,,1.0123456789abcdef0123456789abcdef. is not online on 127.0.0.1,{},",
        server.regionserver_port().port()
    );
    assert!(exception.message().starts_with(&place), "{exception}");
    let unknown = pb::Filter { name: "foo.Bar".to_owned(), serialized_filter: None };
    let mut filter = get(&server, "a");
    filter.get.filter = Some(unknown);
    let exception = ask(filter).unwrap_err();
    assert_eq!(exception.kind(), Some(ExceptionKind::DoNotRetry));
    assert!(
        exception.message().contains("java.lang.ClassNotFoundException: foo.Bar"),
        "{exception}"
    );
}

#[test]
fn region_is_found_by_encoded_name() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    let encoded =
        pb::RegionSpecifier { r#type: 2, value: server.region_info("a").encoded_name.into() };
    let told = server
        .client()
        .call::<service::ClientGet>(&pb::GetRequest { region: encoded, ..get(&server, "a") })
        .unwrap();
    assert_eq!(told.message.result.unwrap().associated_cell_count, Some(1));
}

#[test]
fn all_calls_of_one_burst_are_answered() {
    let server = Server::start();
    server.put(&[("a", "1"), ("b", "2")]);
    let mut client = server.client();
    let ids: Vec<u32> = (0..300)
        .map(|_| {
            client.send_call::<service::ClientGet>(
                &get(&server, "b"),
                &[],
                RequestOptions::default(),
            )
        })
        .collect();
    let mut answered: Vec<u32> = Vec::new();
    for _ in &ids {
        let response = client.response().unwrap();
        let cells = response
            .result
            .unwrap()
            .cells(CellBlockFormat::default(), &RpcLimits::default())
            .unwrap()
            .unwrap();
        assert_eq!(format_cells(&cells), ["b/f:q=2"]);
        answered.push(response.call_id);
    }
    answered.sort_unstable();
    assert_eq!(answered, ids);
}

/// HBase's region server returns the same exception, and its clients do not retry.
#[test]
fn oversized_row_is_rejected_and_readable_in_parts() {
    let mut options = halite_engine::Options::default();
    options.max_row_bytes = 10_000;
    let server = Server::over(options, |_| ());
    let put = (0..20).fold(halite_types::Put::new("a"), |put, column| {
        put.add("f", format!("q{column}"), "x".repeat(1000))
    });
    server.engine.table(&crate::server::name()).unwrap().batch(vec![put.into()]).unwrap();
    let mut client = server.client();
    let refusals = [
        client.call::<service::ClientGet>(&get(&server, "a")).map(drop),
        client.call::<service::ClientScan>(&whole_rows(&server)).map(drop),
    ];
    for exception in refusals.map(Result::unwrap_err) {
        assert_eq!(exception.kind(), Some(ExceptionKind::RowTooBig));
        assert!(exception.is_do_not_retry());
        assert!(
            exception
                .message()
                .starts_with("Max row size allowed: 10000, but the row is bigger than that"),
            "{exception}"
        );
    }
    let action =
        pb::Action { index: Some(0), get: Some(get(&server, "a").get), ..Default::default() };
    let actions =
        pb::RegionAction { region: server.region("a"), action: vec![action], ..Default::default() };
    let told = client
        .call::<service::ClientMulti>(&pb::MultiRequest {
            region_action: vec![actions],
            ..Default::default()
        })
        .unwrap();
    let refused =
        told.message.region_action_result[0].result_or_exception[0].exception.as_ref().unwrap();
    assert_eq!(refused.name, ExceptionKind::RowTooBig.class());

    let mut request = whole_rows(&server);
    request.client_handles_partials = Some(true);
    request.scan.as_mut().unwrap().max_result_size = Some(3000);
    let told = client.call::<service::ClientScan>(&request).unwrap();
    assert_eq!(told.message.partial_flag_per_result, [true]);
}

/// Full scan by a client that does not assemble partial rows.
fn whole_rows(server: &Server) -> pb::ScanRequest {
    let region = Some(server.region("a"));
    pb::ScanRequest {
        region,
        scan: Some(pb::Scan::default()),
        number_of_rows: Some(9),
        ..Default::default()
    }
}
