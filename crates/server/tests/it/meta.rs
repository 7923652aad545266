//! Region lookup in `hbase:meta` as clients perform it.

use halite_wire::convert::result::rows_from_response;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::service;

use crate::client::{Client, Kind, bytes, exception_kind};
use crate::server::Server;

fn meta() -> pb::RegionSpecifier {
    pb::RegionSpecifier { r#type: 1, value: "hbase:meta,,1".into() }
}

fn scan(client: &mut Client, rows: u32, scan: pb::Scan) -> Vec<halite_types::Row> {
    let request = pb::ScanRequest {
        region: Some(meta()),
        scan: Some(scan),
        number_of_rows: Some(rows),
        ..Default::default()
    };
    let told = client.call::<service::ClientScan>(&request).unwrap();
    rows_from_response(&told.message, &mut told.cells.unwrap_or_default()).unwrap()
}

#[test]
fn region_of_row_is_found_by_each_client_lookup() {
    let server = Server::start();
    let reversed = |start: &str, stop: &str| pb::Scan {
        reversed: Some(true),
        start_row: Some(bytes(start)),
        stop_row: Some(bytes(stop)),
        column: vec![pb::Column { family: bytes("info"), qualifier: vec![] }],
        ..Default::default()
    };
    let java = pb::Scan { include_stop_row: Some(true), ..reversed("t,p,99999999999999", "t,,") };
    for (kind, asked) in
        [(Kind::Java, java), (Kind::Go, reversed("t,p,:", "t")), (Kind::Go, reversed("t,p,:", ""))]
    {
        let mut client = Client::connect(server.regionserver_port(), kind);
        let rows = scan(&mut client, 1, asked);
        let row = &rows[0];
        assert_eq!(row.key(), server.region_info("p").full_name());
        let place = server.regionserver_port().to_string();
        assert_eq!(row.value("info", "server"), Some(place.as_bytes()));
        assert_eq!(row.value("info", "state"), Some(&b"OPEN"[..]));
        assert_eq!(row.value("info", "serverstartcode").map(<[u8]>::len), Some(8));
    }
}

#[test]
fn table_regions_sort_before_space_after_table_name() {
    let server = Server::start();
    let asked = pb::Scan {
        start_row: Some(bytes("t,,")),
        stop_row: Some(bytes("t ,,")),
        ..Default::default()
    };
    assert_eq!(scan(&mut server.client(), 100, asked).len(), 2);
}

#[test]
fn table_state_is_in_meta_row() {
    let server = Server::start();
    let mut client = server.client();
    let mut state = |table: &str| {
        let column = vec![pb::Column { family: bytes("table"), qualifier: vec![bytes("state")] }];
        let get = pb::Get { row: bytes(table), column, ..Default::default() };
        let told =
            client.call::<service::ClientGet>(&pb::GetRequest { region: meta(), get }).unwrap();
        told.cells.and_then(|cells| cells.first().map(|cell| cell.value().to_vec()))
    };
    assert_eq!((state("t"), state("nope")), (Some(vec![8, 0]), None));
    server.engine.disable_table(&crate::server::name()).unwrap();
    assert_eq!(state("t"), Some(vec![8, 1]));
    let get = pb::Get { row: bytes("a"), ..Default::default() };
    let asked =
        client.call::<service::ClientGet>(&pb::GetRequest { region: server.region("a"), get });
    assert_eq!(exception_kind(asked), Some(ExceptionKind::NotServingRegion));
}

#[test]
fn client_writes_to_meta_are_readable() {
    let server = Server::start();
    let mut client = server.client();
    let mutation = |op: halite_types::RowOp| halite_wire::convert::mutate::to_proto(&op).unwrap();
    let put =
        |row: &'static str| mutation(halite_types::Put::new(row).add("info", "note", "v").into());
    let request =
        pb::MutateRequest { region: meta(), mutation: put("t,x,1"), ..Default::default() };
    assert_eq!(
        client.call::<service::ClientMutate>(&request).unwrap().message.processed,
        Some(true)
    );
    let action = |mutation| pb::Action { mutation: Some(mutation), ..Default::default() };
    for (atomic, row) in [(false, "t,y,1"), (true, "t,z,1")] {
        let region_action = pb::RegionAction {
            region: meta(),
            atomic: Some(atomic),
            action: vec![action(put(row))],
            ..Default::default()
        };
        let multi = pb::MultiRequest { region_action: vec![region_action], ..Default::default() };
        let told = client.call::<service::ClientMulti>(&multi).unwrap().message;
        assert!(
            told.region_action_result[0].exception.is_none()
                && told.region_action_result[0].result_or_exception[0].exception.is_none()
        );
    }
    let notes = |client: &mut Client| {
        let column = vec![pb::Column { family: bytes("info"), qualifier: vec![bytes("note")] }];
        scan(client, 100, pb::Scan { column, ..Default::default() })
            .iter()
            .map(|row| String::from_utf8_lossy(row.key()).into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(notes(&mut client), ["t,x,1", "t,y,1", "t,z,1"]);
    let delete = pb::MutateRequest {
        region: meta(),
        mutation: mutation(halite_types::Delete::new("t,y,1").into()),
        ..Default::default()
    };
    client.call::<service::ClientMutate>(&delete).unwrap();
    assert_eq!(notes(&mut client), ["t,x,1", "t,z,1"]);
    let wrong = pb::MutateRequest {
        region: meta(),
        mutation: mutation(halite_types::Put::new("t").add("f", "q", "v").into()),
        ..Default::default()
    };
    assert_eq!(
        exception_kind(client.call::<service::ClientMutate>(&wrong)),
        Some(ExceptionKind::NoSuchColumnFamily)
    );
}

#[test]
fn replica_lookup_returns_primary_region() {
    let server = Server::start();
    server.put(&[("p", "1")]);
    let mut client = server.client();
    let prefix = String::from_utf8(server.region_info("p").name_prefix()).unwrap();
    let mut ask = |name: String| {
        let region = pb::RegionSpecifier { r#type: 1, value: name.into() };
        client.call::<service::ClientGet>(&pb::GetRequest {
            region,
            get: pb::Get { row: bytes("p"), ..Default::default() },
        })
    };
    let encoded = "00000000000000000000000000000000";
    assert_eq!(ask(format!("{prefix}_0001.{encoded}.")).unwrap().cells.unwrap().len(), 1);
    assert!(
        ask(format!("hbase:meta,,1_0002.{encoded}"))
            .unwrap()
            .cells
            .is_none_or(|cells| cells.is_empty())
    );
    for name in [
        format!("{prefix}0001.{encoded}."),
        format!("{prefix}_00.{encoded}."),
        format!("t,p,1_0001.{encoded}."),
        "_0001.x.".to_owned(),
    ] {
        assert_eq!(exception_kind(ask(name)), Some(ExceptionKind::NotServingRegion));
    }
}
