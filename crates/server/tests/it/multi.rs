//! Several actions in one call: order, indexes, cells, failures of single actions, and atomicity.

use halite_types::{Cells, Delete, Increment, Put, RowOp};
use halite_wire::convert::mutate::{to_counted, to_proto};
use halite_wire::convert::result;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::rpc::RequestOptions;
use halite_wire::service;

use crate::client::{Client, DecodedResponse, Kind, bytes, format_cells};
use crate::server::{Server, name};

fn put(row: &str, value: &str) -> RowOp {
    Put::new(row.to_owned()).add("f", "q", value).into()
}

fn get(row: &str) -> pb::Action {
    pb::Action {
        get: Some(pb::Get { row: bytes(row), ..Default::default() }),
        ..Default::default()
    }
}

/// Returns an action with its cells in the block.
fn counted(op: impl Into<RowOp>, block: &mut Vec<Cells>) -> pb::Action {
    let (mutation, cells) = to_counted(&op.into()).unwrap();
    block.push(cells);
    pb::Action { mutation: Some(mutation), ..Default::default() }
}

/// Returns an action with its cells inside.
fn inline(op: impl Into<RowOp>) -> pb::Action {
    pb::Action { mutation: Some(to_proto(&op.into()).unwrap()), ..Default::default() }
}

/// Actions with the indexes they are known by.
fn numbered(first: u32, actions: Vec<pb::Action>) -> Vec<pb::Action> {
    (first..)
        .zip(actions)
        .map(|(index, action)| pb::Action { index: Some(index), ..action })
        .collect()
}

fn region_action(server: &Server, row: &str, action: Vec<pb::Action>) -> pb::RegionAction {
    pb::RegionAction { region: server.region(row), action, ..Default::default() }
}

fn send_multi(
    client: &mut Client,
    region_action: Vec<pb::RegionAction>,
    cells: &[Cells],
) -> DecodedResponse<pb::MultiResponse> {
    let request = pb::MultiRequest { region_action, ..Default::default() };
    client.call_with::<service::ClientMulti>(&request, cells, RequestOptions::default()).unwrap()
}

/// Formats the results of each region as `index=cells` or `index!class`, or `index` for an entry
/// without either.
fn format_results(told: &DecodedResponse<pb::MultiResponse>) -> Vec<Vec<String>> {
    let mut cells = told.cells.clone().unwrap_or_default();
    let mut entry = |entry: &pb::ResultOrException| {
        let index = entry.index();
        match (&entry.result, &entry.exception) {
            (_, Some(pair)) => format!("{index}!{:?}", Exception::from_pair(pair).kind().unwrap()),
            (Some(found), None) => format!(
                "{index}={}",
                format_cells(result::from_proto(found, &mut cells).unwrap().cells()).join(" ")
            ),
            (None, None) => index.to_string(),
        }
    };
    let region = |result: &pb::RegionActionResult| match &result.exception {
        Some(pair) => vec![format!("!{:?}", Exception::from_pair(pair).kind().unwrap())],
        None => result.result_or_exception.iter().map(&mut entry).collect(),
    };
    told.message.region_action_result.iter().map(region).collect()
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
fn multi_results_keep_region_order_and_action_index() {
    let server = Server::start();
    server.put(&[("a", "1"), ("x", "9")]);
    let mut block = Vec::new();
    let first = vec![
        counted(put("b", "2"), &mut block),
        get("a"),
        get("bb"),
        inline(Delete::new("c")),
        counted(put("d", "4"), &mut block),
    ];
    let second = vec![get("x"), counted(put("y", "8"), &mut block)];
    for client in [&mut server.client(), &mut Client::connect(server.regionserver_port(), Kind::Go)]
    {
        let regions = vec![
            region_action(&server, "a", numbered(1, first.clone())),
            region_action(&server, "x", numbered(6, second.clone())),
        ];
        let told = send_multi(client, regions, &block);
        // Reads are answered before the collected writes, as in HBase.
        assert_eq!(
            format_results(&told),
            [vec!["2=a/f:q=1", "3=", "1=", "4=", "5="], vec!["6=x/f:q=9", "7="]]
        );
        assert_eq!(told.message.region_statistics, Some(pb::MultiRegionLoadStats::default()));
    }
    assert_eq!(["b", "d", "y"].map(|row| server.value(row).unwrap()), ["2", "4", "8"]);
}

#[test]
fn large_gets_are_returned_whole_and_in_order() {
    let server = Server::start();
    let rows = ["a", "b", "c", "d"];
    for (row, cells) in rows.into_iter().zip([1500, 1500, 2500, 1]) {
        let put = (0..cells).fold(Put::new(row), |put, at| put.add("f", format!("{at:06}"), "v"));
        server.engine.table(&name()).unwrap().batch(vec![put.into()]).unwrap();
    }
    let told = send_multi(
        &mut server.client(),
        vec![region_action(&server, "a", numbered(0, rows.map(get).to_vec()))],
        &[],
    );
    let cells: Vec<usize> =
        format_results(&told)[0].iter().map(|entry| entry.split(' ').count()).collect();
    assert_eq!(cells, [1500, 1500, 2500, 1]);
    let indexes: Vec<u32> = told.message.region_action_result[0]
        .result_or_exception
        .iter()
        .map(pb::ResultOrException::index)
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3]);
}

#[test]
fn cells_are_inline_without_codec() {
    let server = Server::start();
    let mut client = Client::connect(server.regionserver_port(), Kind::Plain);
    send_multi(&mut client, vec![region_action(&server, "a", vec![inline(put("a", "1"))])], &[]);
    let told = send_multi(&mut client, vec![region_action(&server, "a", vec![get("a")])], &[]);
    assert_eq!((format_results(&told), told.cells), (vec![vec!["0=a/f:q=1".to_owned()]], None));
}

#[test]
fn failed_region_keeps_cell_positions_of_others() {
    let server = Server::start();
    let mut block = Vec::new();
    let gone =
        pb::RegionSpecifier { r#type: 1, value: "t,,1.0123456789abcdef0123456789abcdef.".into() };
    let family = Put::new("a").add("nope", "q", "lost");
    let first = vec![counted(put("a", "lost"), &mut block), counted(put("b", "lost"), &mut block)];
    let second = vec![
        counted(family, &mut block),
        counted(put("z", "elsewhere"), &mut block),
        counted(put("c", "3"), &mut block),
    ];
    let third = vec![counted(put("x", "9"), &mut block)];
    let regions = vec![
        pb::RegionAction { region: gone, action: numbered(0, first), ..Default::default() },
        region_action(&server, "a", numbered(2, second)),
        region_action(&server, "x", numbered(5, third)),
    ];
    let told = send_multi(&mut server.client(), regions, &block);
    let second = ["2!NoSuchColumnFamily", "3!FailedSanityCheck", "4="];
    assert_eq!(format_results(&told), [vec!["!NotServingRegion"], second.to_vec(), vec!["5="]]);
    assert_eq!(
        ["a", "b", "c", "x"].map(|row| server.value(row)),
        [None, None, Some("3".to_owned()), Some("9".to_owned())]
    );
}

#[test]
fn increment_with_nonce_returns_value_and_applies_once() {
    let server = Server::start();
    let mut client = server.client();
    let mut action = inline(Increment::new("a").add("f", "n", 3));
    action.mutation.as_mut().unwrap().nonce = Some(11);
    let request = pb::MultiRequest {
        region_action: vec![region_action(&server, "a", vec![action])],
        nonce_group: Some(5),
        ..Default::default()
    };
    for _ in 0..2 {
        let told = client.call::<service::ClientMulti>(&request).unwrap();
        assert_eq!(told.cells.unwrap().first().unwrap().value(), 3_i64.to_be_bytes());
    }
}

#[test]
fn retried_atomic_actions_apply_once_and_return_results() {
    let server = Server::start();
    let mut client = server.client();
    let mut add = inline(Increment::new("a").add("f", "n", 3));
    add.mutation.as_mut().unwrap().nonce = Some(11);
    let action = pb::RegionAction {
        atomic: Some(true),
        ..region_action(&server, "a", vec![inline(put("a", "1")), add])
    };
    let conditional = pb::RegionAction { condition: Some(equals("a", "1")), ..action.clone() };
    let mut ask = |action: &pb::RegionAction| {
        let request = pb::MultiRequest {
            region_action: vec![action.clone()],
            nonce_group: Some(5),
            ..Default::default()
        };
        let told = client.call::<service::ClientMulti>(&request).unwrap();
        (
            told.message.processed,
            told.cells.and_then(|cells| cells.first().map(|cell| cell.value().to_vec())),
        )
    };
    let three = Some(3_i64.to_be_bytes().to_vec());
    assert_eq!(ask(&conditional), (Some(false), None));
    for _ in 0..2 {
        assert_eq!(ask(&action), (Some(true), three.clone()));
    }
    assert_eq!(ask(&conditional), (Some(true), three), "it is the same operation");
}

#[test]
fn atomic_actions_apply_all_or_none() {
    let server = Server::start();
    server.put(&[("a", "old")]);
    let mut client = server.client();
    let atomic =
        |actions| pb::RegionAction { atomic: Some(true), ..region_action(&server, "a", actions) };
    let good = atomic(vec![
        inline(Put::new("a").add("f", "x", "1")),
        inline(Delete::new("a").column("f", "q")),
    ]);
    let told = send_multi(&mut client, vec![good], &[]);
    assert_eq!(
        (format_results(&told), told.message.processed),
        (vec![vec!["0=".to_owned(), "1=".to_owned()]], Some(true))
    );
    assert_eq!(told.message.region_action_result[0].processed, Some(true));
    assert_eq!(server.value("a"), None);

    let mut block = Vec::new();
    let bad = atomic(vec![
        counted(put("a", "half"), &mut block),
        counted(Put::new("a").add("nope", "q", "1"), &mut block),
    ]);
    let behind = region_action(&server, "b", vec![counted(put("b", "2"), &mut block)]);
    assert_eq!(
        format_results(&send_multi(&mut client, vec![bad, behind], &block)),
        [vec!["!NoSuchColumnFamily"], vec!["0="]]
    );
    assert_eq!((server.value("a"), server.value("b").as_deref()), (None, Some("2")));

    let told = send_multi(&mut client, vec![atomic(vec![inline(put("a", "1")), get("a")])], &[]);
    let exception =
        Exception::from_pair(told.message.region_action_result[0].exception.as_ref().unwrap());
    assert_eq!(exception.kind(), Some(ExceptionKind::DoNotRetry));
    assert!(
        exception.message().starts_with("Atomic put and/or delete only, not a Get="),
        "{exception}"
    );

    // Rows of one region count like one row.
    assert_eq!(
        format_results(&send_multi(
            &mut client,
            vec![atomic(vec![inline(put("a", "1")), inline(put("c", "3"))])],
            &[]
        )),
        [["0=", "1="]]
    );
    assert_eq!(
        (server.value("a").as_deref(), server.value("c").as_deref()),
        (Some("1"), Some("3"))
    );
}

#[test]
fn condition_governs_all_actions_of_its_region() {
    let server = Server::start();
    server.put(&[("a", "1")]);
    let mut client = server.client();
    let actions = || vec![inline(put("a", "2")), inline(Put::new("a").add("f", "x", "y"))];
    for (expected, processed) in [("0", false), ("1", true)] {
        let action = pb::RegionAction {
            condition: Some(equals("a", expected)),
            atomic: Some(true),
            ..region_action(&server, "a", actions())
        };
        let told = send_multi(&mut client, vec![action], &[]);
        assert_eq!(format_results(&told), [["0", "1"]]);
        assert_eq!(told.message.region_action_result[0].processed, Some(processed));
    }
    assert_eq!(server.value("a").as_deref(), Some("2"));

    // As older clients encode it.
    for (expected, processed) in [("0", false), ("2", true)] {
        let region_action =
            vec![pb::RegionAction { atomic: Some(true), ..region_action(&server, "a", actions()) }];
        let request = pb::MultiRequest {
            region_action,
            condition: Some(equals("a", expected)),
            ..Default::default()
        };
        assert_eq!(
            client.call::<service::ClientMulti>(&request).unwrap().message.processed,
            Some(processed)
        );
    }
}

#[test]
fn multi_resumes_after_disk_read_between_actions() {
    let server = Server::start();
    server.put(&[("a", "1"), ("x", "9")]);
    server.engine.flush(&name()).unwrap();
    let mut block = Vec::new();
    let first = vec![
        counted(put("b", "2"), &mut block),
        get("a"),
        inline(Increment::new("n").add("f", "n", 1)),
        counted(put("c", "3"), &mut block),
    ];
    let regions = vec![
        region_action(&server, "a", numbered(0, first)),
        region_action(&server, "x", vec![get("x")]),
    ];
    let told = send_multi(&mut server.client(), regions, &block);
    let shown = format_results(&told);
    assert_eq!(shown[0][0], "1=a/f:q=1");
    assert_eq!(
        (&shown[0][2..], &shown[1][..]),
        (&["0=".to_owned(), "3=".to_owned()][..], &["0=x/f:q=9".to_owned()][..])
    );
    assert_eq!(
        (server.value("b").as_deref(), server.value("c").as_deref()),
        (Some("2"), Some("3"))
    );
}

#[test]
fn actions_over_result_limit_are_retryable() {
    let server = Server::with(|config| config.limits.max_result_bytes = 150);
    server.put(&[("a", &"x".repeat(100)), ("b", &"y".repeat(100)), ("c", "z")]);
    let actions = || numbered(0, vec![get("a"), get("b"), get("c"), inline(put("d", "late"))]);
    let told = send_multi(&mut server.client(), vec![region_action(&server, "a", actions())], &[]);
    let shown = format_results(&told);
    assert_eq!(&shown[0][2..], ["2!MultiActionResultTooLarge", "3!MultiActionResultTooLarge"]);
    assert_eq!(server.value("d"), None);
    // A client that does not send its version may not know the exception class.
    let told = send_multi(
        &mut Client::connect(server.regionserver_port(), Kind::Go),
        vec![region_action(&server, "a", actions())],
        &[],
    );
    assert_eq!(&format_results(&told)[0][2..], ["2=c/f:q=z", "3="]);
}

#[test]
fn response_never_exceeds_frame_limit() {
    let server = Server::with(|config| {
        (config.limits.max_result_bytes, config.limits.max_request_bytes) = (100, 1024);
    });
    server.put(&[("a", &"x".repeat(600)), ("b", &"y".repeat(600)), ("c", "z")]);
    for kind in [Kind::Go, Kind::Plain] {
        let mut client = Client::connect(server.regionserver_port(), kind);
        let actions = numbered(0, vec![get("a"), get("b"), get("c"), inline(put("d", "late"))]);
        let atomic = pb::RegionAction {
            atomic: Some(true),
            ..region_action(&server, "e", vec![inline(put("e", "late"))])
        };
        let told = send_multi(&mut client, vec![region_action(&server, "a", actions), atomic], &[]);
        let shown = format_results(&told);
        assert_eq!(
            (&shown[0][2..], &shown[1][..]),
            (
                &["2!DoNotRetry".to_owned(), "3!DoNotRetry".to_owned()][..],
                &["!DoNotRetry".to_owned()][..]
            )
        );
        assert!(shown[0][1].starts_with("1=b/f:q=yyy"), "{}", shown[0][1]);
        assert_eq!((server.value("d"), server.value("e")), (None, None));
    }
}

#[test]
fn inline_cells_of_all_mutations_share_limit() {
    let server = Server::start();
    let mut client = server.client();
    // Each cell takes five bytes in the request; in the store it would contain the row key as well.
    let unfolding = |row: &str, cells: usize| {
        let value = pb::mutation_proto::column_value::QualifierValue {
            value: Some(bytes("")),
            ..Default::default()
        };
        let column_value = vec![pb::mutation_proto::ColumnValue {
            family: bytes("f"),
            qualifier_value: vec![value; cells],
        }];
        let row = Some(bytes(&row.repeat(32_000)));
        pb::Action {
            mutation: Some(pb::MutationProto {
                row,
                mutate_type: Some(2),
                column_value,
                ..Default::default()
            }),
            ..Default::default()
        }
    };
    let told = send_multi(
        &mut client,
        vec![region_action(
            &server,
            "a",
            numbered(0, vec![unfolding("a", 10), unfolding("b", 8_385), inline(put("c", "1"))]),
        )],
        &[],
    );
    assert_eq!(format_results(&told), [["1!DoNotRetry", "0=", "2="]]);
    let refused = Exception::from_pair(
        told.message.region_action_result[0].result_or_exception[0].exception.as_ref().unwrap(),
    );
    assert!(
        refused.message().starts_with("the cells of the call's mutations take 268"),
        "{refused}"
    );
    // The mutations of atomic region actions are not collected.
    let atomic = pb::RegionAction {
        atomic: Some(true),
        ..region_action(&server, "d", vec![unfolding("d", 5_000), unfolding("d", 5_000)])
    };
    let told = send_multi(
        &mut client,
        vec![atomic, region_action(&server, "e", vec![inline(put("e", "1"))])],
        &[],
    );
    assert_eq!(format_results(&told), [["!DoNotRetry"], ["0="]]);
    let refused =
        Exception::from_pair(told.message.region_action_result[0].exception.as_ref().unwrap());
    assert!(
        refused.message().starts_with("the cells of the call's mutations take 320"),
        "{refused}"
    );
    // Nor of those of an endpoint.
    let mutation_request: Vec<_> = [unfolding("g", 5_000), unfolding("h", 5_000)]
        .into_iter()
        .filter_map(|action| action.mutation)
        .collect();
    let rows = prost::Message::encode_to_vec(&pb::MutateRowsRequest {
        mutation_request,
        ..Default::default()
    });
    let call = pb::CoprocessorServiceCall {
        row: bytes("g"),
        service_name: "MultiRowMutationService".to_owned(),
        method_name: "MutateRows".to_owned(),
        request: rows.into(),
    };
    let refused = client
        .call::<service::ClientExecService>(&pb::CoprocessorServiceRequest {
            region: server.region("g"),
            call,
        })
        .unwrap_err();
    assert!(
        refused.message().starts_with("the cells of the call's mutations take 320"),
        "{refused}"
    );
}

#[test]
fn empty_multi_returns_empty_response() {
    let server = Server::start();
    let told = send_multi(&mut server.client(), vec![], &[]);
    assert_eq!(
        told.message,
        pb::MultiResponse {
            region_statistics: Some(pb::MultiRegionLoadStats::default()),
            ..Default::default()
        }
    );
}

/// HBase reads as many cells as the actions count and ignores the rest (`ProtobufUtil.toPut`,
/// `RSRpcServices.multi`).
#[test]
fn cells_after_the_counted_ones_are_ignored() {
    let server = Server::start();
    let mut client = server.client();
    let (mut block, mut others) = (Vec::new(), Vec::new());
    let actions =
        numbered(0, vec![counted(put("a", "1"), &mut block), counted(put("b", "2"), &mut block)]);
    drop(counted(put("c", "3"), &mut others));
    block.append(&mut others);
    let told = send_multi(&mut client, vec![region_action(&server, "a", actions)], &block);
    assert_eq!(format_results(&told), [["0=", "1="]]);
    assert_eq!(
        (server.value("a").as_deref(), server.value("b").as_deref(), server.value("c")),
        (Some("1"), Some("2"), None)
    );

    let (mutation, cells) = to_counted(&put("d", "4")).unwrap();
    let (_, more) = to_counted(&put("e", "5")).unwrap();
    let request = pb::MutateRequest { region: server.region("d"), mutation, ..Default::default() };
    let told = client
        .call_with::<service::ClientMutate>(
            &request,
            &[cells, more.clone()],
            RequestOptions::default(),
        )
        .unwrap();
    assert_eq!(told.message.processed, Some(true));
    assert_eq!((server.value("d").as_deref(), server.value("e")), (Some("4"), None));

    // The same holds for a call without counted cells, and the connection remains open.
    let told = send_multi(
        &mut client,
        vec![region_action(&server, "a", numbered(0, vec![get("a")]))],
        &[more],
    );
    assert_eq!(format_results(&told), [["0=a/f:q=1"]]);
}
