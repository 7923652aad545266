//! `hbase:meta` as clients look regions up in it.

use halite_wire::convert::result::rows_of_response;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::service;

use crate::client::{Client, Kind, bytes, kind_of};
use crate::server::Server;

fn meta() -> pb::RegionSpecifier {
    pb::RegionSpecifier { r#type: 1, value: "hbase:meta,,1".into() }
}

fn scan(client: &mut Client, rows: u32, scan: pb::Scan) -> Vec<halite_types::Row> {
    let request = pb::ScanRequest { region: Some(meta()), scan: Some(scan), number_of_rows: Some(rows), ..Default::default() };
    let told = client.call::<service::ClientScan>(&request).unwrap();
    rows_of_response(&told.message, &mut told.cells.unwrap_or_default()).unwrap()
}

#[test]
fn the_region_of_a_row_is_found_as_each_client_looks_for_it() {
    let server = Server::start();
    let reversed = |start: &str, stop: &str| pb::Scan {
        reversed: Some(true),
        start_row: Some(bytes(start)),
        stop_row: Some(bytes(stop)),
        column: vec![pb::Column { family: bytes("info"), qualifier: vec![] }],
        ..Default::default()
    };
    let java = pb::Scan { include_stop_row: Some(true), ..reversed("t,p,99999999999999", "t,,") };
    for (kind, asked) in [(Kind::Java, java), (Kind::Go, reversed("t,p,:", "t")), (Kind::Go, reversed("t,p,:", ""))] {
        let mut client = Client::connect(server.region_port(), kind);
        let rows = scan(&mut client, 1, asked);
        let row = &rows[0];
        assert_eq!(row.key(), server.region_info("p").full_name());
        let place = server.region_port().to_string();
        assert_eq!(row.value("info", "server"), Some(place.as_bytes()));
        assert_eq!(row.value("info", "state"), Some(&b"OPEN"[..]));
        assert_eq!(row.value("info", "serverstartcode").map(<[u8]>::len), Some(8));
    }
}

#[test]
fn all_regions_of_a_table_lie_before_the_space_behind_its_name() {
    let server = Server::start();
    let asked = pb::Scan { start_row: Some(bytes("t,,")), stop_row: Some(bytes("t ,,")), ..Default::default() };
    assert_eq!(scan(&mut server.client(), 100, asked).len(), 2);
}

#[test]
fn the_state_of_a_table_is_in_its_row() {
    let server = Server::start();
    let mut client = server.client();
    let mut state = |table: &str| {
        let column = vec![pb::Column { family: bytes("table"), qualifier: vec![bytes("state")] }];
        let get = pb::Get { row: bytes(table), column, ..Default::default() };
        let told = client.call::<service::ClientGet>(&pb::GetRequest { region: meta(), get }).unwrap();
        told.cells.and_then(|cells| cells.first().map(|cell| cell.value().to_vec()))
    };
    assert_eq!((state("t"), state("nope")), (Some(vec![8, 0]), None));
    server.engine.disable_table(&crate::server::name()).unwrap();
    assert_eq!(state("t"), Some(vec![8, 1]));
    let get = pb::Get { row: bytes("a"), ..Default::default() };
    let asked = client.call::<service::ClientGet>(&pb::GetRequest { region: server.region("a"), get });
    assert_eq!(kind_of(asked), Some(ExceptionKind::NotServingRegion));
}
