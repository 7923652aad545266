//! Connection handshakes, valid and invalid, byte for byte as HBase 2.6.4 answered.

use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::rpc::CONNECTION_CALL_ID;
use halite_wire::service::{self, Service};

use crate::client::{Client, Kind, exception_kind, hex, preamble, preamble_for};
use crate::server::Server;

/// First bytes that gohbase sends.
const GOHBASE: &str = "48426173 00 50 00000044 0a060a04726f6f74 120d436c69656e7453657276696365
    1a2b6f72672e6170616368652e6861646f6f702e68626173652e636f6465632e4b657956616c7565436f646563";
/// Its first call checks whether hbase:meta contains a row of 17 zeros.
const PROBE: &str = "00000037 09 0801 1a03476574 2001 2c 0a110801120d68626173653a6d6574612c2c31 \
                     12170a11 0000000000000000000000000000000000 2a00 5001";
const PROBE_ANSWER: &str = "0000000a 020801 060a0410001800";

#[test]
fn gohbase_meta_probe_returns_hbase_bytes() {
    let server = Server::start();
    let mut client = Client::silent(server.regionserver_port());
    client.send(&hex(GOHBASE));
    client.send(&hex(PROBE));
    assert_eq!(client.take(14), hex(PROBE_ANSWER));
}

#[test]
fn handshake_accepts_single_bytes() {
    let server = Server::start();
    let mut client = Client::silent(server.regionserver_port());
    [hex(GOHBASE), hex(PROBE)].concat().chunks(1).for_each(|byte| client.send(byte));
    assert_eq!(client.take(14), hex(PROBE_ANSWER));
}

#[test]
fn registry_preamble_is_answered_on_both_ports() {
    let server = Server::start();
    for port in [server.regionserver_port(), server.master_port()] {
        let mut client = Client::silent(port);
        client.send(b"Regist");
        let expected =
            [hex("0000002e 06 08ffffffff0f 26 0a24"), server.cluster_id().as_bytes().to_vec()]
                .concat();
        assert_eq!(client.rest(), expected);
    }
}

#[test]
fn security_preamble_is_answered_and_connection_continues() {
    let server = Server::start();
    let mut client = Client::silent(server.regionserver_port());
    client.send(b"Securi");
    let response = client.response().unwrap();
    let exception = response.result.unwrap_err();
    assert_eq!(
        (response.call_id, exception.kind()),
        (CONNECTION_CALL_ID, Some(ExceptionKind::SecurityNotEnabled))
    );
    assert_eq!(
        (exception.message(), exception.is_do_not_retry()),
        ("security is not enabled", false)
    );
    client.send(&hex(GOHBASE));
    client.send(&hex(PROBE));
    assert_eq!(client.response().map(|response| response.call_id), Some(1));
}

#[test]
fn kerberos_client_is_switched_to_simple_auth() {
    let server = Server::start();
    let mut client = Client::silent(server.regionserver_port());
    client.send(&hex("48426173 00 51 00000003 aabbcc"));
    assert_eq!(client.take(8), hex("00000000 ffffffa8"));
    client.send(&hex(GOHBASE)[6..]);
    client.send(&hex(PROBE));
    assert_eq!(client.take(14), hex(PROBE_ANSWER));
}

#[test]
fn long_initial_kerberos_message_is_skipped() {
    let server = Server::start();
    let mut client = Client::silent(server.regionserver_port());
    client.send(
        &[
            hex("48426173 00 51 00080000"),
            vec![7; 0x8_0000],
            hex(GOHBASE)[6..].to_vec(),
            hex(PROBE),
        ]
        .concat(),
    );
    assert_eq!(client.take(8), hex("00000000 ffffffa8"));
    assert_eq!(client.take(14), hex(PROBE_ANSWER));
}

#[test]
fn invalid_preamble_is_answered_and_connection_closed() {
    let server = Server::start();
    let cases = [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], ExceptionKind::FatalConnection),
        (b"HBas\x01P", ExceptionKind::WrongVersion),
        (b"HBas\x00\x07", ExceptionKind::BadAuth),
    ];
    for (bytes, kind) in cases {
        let mut client = Client::silent(server.regionserver_port());
        client.send(bytes);
        let response = client.response().unwrap();
        let exception = response.result.unwrap_err();
        assert_eq!(
            (response.call_id, exception.kind(), exception.is_do_not_retry()),
            (CONNECTION_CALL_ID, Some(kind), true)
        );
        assert!(client.response().is_none(), "closed after it");
    }
}

#[test]
fn unsupported_connection_header_closes_connection_silently() {
    let server = Server::start();
    let mut bad_codec = preamble("ClientService", Kind::Java).to_vec();
    let at = bad_codec.windows(8).position(|window| window == b"KeyValue").unwrap();
    bad_codec[at] = b'X';
    let cases = [
        preamble("NoSuchService", Kind::Java).to_vec(),
        preamble("", Kind::Java).to_vec(),
        preamble("MasterService", Kind::Java).to_vec(),
        preamble("AggregateService", Kind::Java).to_vec(),
        bad_codec,
        preamble_for(&"u".repeat(2_000), "ClientService", Kind::Java).to_vec(),
        preamble_for(&"u".repeat(100_000), "ClientService", Kind::Java).to_vec(),
        b"HBas\x00P\xff\xff\xff\x00".to_vec(),
        b"HBas\x00P\x00\x00\x00\x00".to_vec(),
        b"HBas\x00P\x00\x00\x00\x03abc".to_vec(),
        b"HBas\x00P\x7f\xff\xff\xff".to_vec(),
    ];
    for bytes in cases {
        let mut client = Client::silent(server.regionserver_port());
        client.send(&bytes);
        assert_eq!(client.rest(), b"", "{}", bytes[..bytes.len().min(200)].escape_ascii());
    }
}

#[test]
fn ping_is_ignored_and_empty_frame_closes_connection() {
    let server = Server::start();
    let mut client = server.client();
    client.send(&hex("ffffffff"));
    client.call::<service::ClientGet>(&probe()).unwrap();
    client.send(&hex("00000000"));
    assert_eq!(client.rest(), b"");
}

#[test]
fn damaged_call_is_answered_if_its_id_is_readable() {
    let server = Server::start();
    let mut client = server.client();
    // An unknown method with a lower-case name.
    client.send(&hex("0000000a 08 0807 1a02 6767 2001 00"));
    let response = client.response().unwrap();
    let exception = response.result.unwrap_err();
    assert_eq!((response.call_id, exception.kind()), (7, Some(ExceptionKind::DoNotRetry)));
    assert!(
        exception.message().ends_with("java.lang.UnsupportedOperationException: gg"),
        "{exception}"
    );
    // No message.
    client.send(&hex("00000008 07 0808 1a03476574"));
    assert_eq!(
        client.response().unwrap().result.unwrap_err().kind(),
        Some(ExceptionKind::DoNotRetry)
    );
    // An invalid message.
    client.send(&hex("0000000d 09 0809 1a03476574 2001 02 ffff"));
    assert_eq!(
        client.response().unwrap().result.unwrap_err().kind(),
        Some(ExceptionKind::InvalidProtocolBuffer)
    );
    // The connection remains open.
    client.call::<service::ClientGet>(&probe()).unwrap();
    // The header is invalid: no call id to send an exception to.
    client.send(&hex("00000003 02 ffff"));
    assert_eq!(client.rest(), b"");
}

#[test]
fn response_carries_any_call_id() {
    let server = Server::start();
    let mut client = server.client();
    for id in ["8001", "feffffff0f"] {
        let header = hex(&format!("08{id} 1a03476574 2001"));
        let param = hex(
            "2c 0a110801120d68626173653a6d6574612c2c31 12170a11 0000000000000000000000000000000000 \
             2a00 5001",
        );
        let frame = [&[u8::try_from(header.len()).unwrap()][..], &header, &param].concat();
        client.send(&u32::try_from(frame.len()).unwrap().to_be_bytes());
        client.send(&frame);
    }
    let ids: Vec<u32> = (0..2).map(|_| client.response().unwrap().call_id).collect();
    assert_eq!(ids, [128, 0xffff_fffe]);
}

#[test]
fn registry_answers_on_both_ports_with_client_visible_names() {
    let server = Server::start();
    for port in [server.regionserver_port(), server.master_port()] {
        let mut client = Client::to(port, Service::ClientMeta, Kind::Java);
        let id = client
            .call::<service::ClientMetaGetClusterId>(&pb::GetClusterIdRequest {})
            .unwrap()
            .message;
        assert_eq!(id.cluster_id(), server.cluster_id());
        let master = client
            .call::<service::ClientMetaGetActiveMaster>(&pb::GetActiveMasterRequest {})
            .unwrap()
            .message
            .server_name
            .unwrap();
        assert_eq!(
            (&*master.host_name, master.port()),
            ("127.0.0.1", u32::from(server.master_port().port()))
        );
        let masters = client
            .call::<service::ClientMetaGetMasters>(&pb::GetMastersRequest {})
            .unwrap()
            .message
            .master_servers;
        assert_eq!(
            masters,
            [pb::GetMastersResponseEntry { server_name: master.clone(), is_active: true }]
        );
        let meta = client
            .call::<service::ClientMetaGetMetaRegionLocations>(
                &pb::GetMetaRegionLocationsRequest {},
            )
            .unwrap()
            .message;
        let [location] = &meta.meta_locations[..] else { panic!("one location") };
        let place = location.server_name.clone().unwrap();
        assert_eq!(
            (location.seq_num, location.region_info.region_id, place.port()),
            (-1, 1, u32::from(server.regionserver_port().port()))
        );
        assert_eq!(place.start_code(), master.start_code());
        let nodes = client
            .call::<service::ClientMetaGetBootstrapNodes>(&pb::GetBootstrapNodesRequest {})
            .unwrap()
            .message
            .server_name;
        assert_eq!(nodes, [place]);
        let mut gossip = Client::to(port, Service::BootstrapNode, Kind::Java);
        let nodes_of_gossip = gossip
            .call::<service::BootstrapNodeGetAllBootstrapNodes>(&pb::GetAllBootstrapNodesRequest {})
            .unwrap()
            .message
            .node;
        assert_eq!(nodes_of_gossip, nodes);
    }
}

#[test]
fn closest_row_before_is_refused_with_asynchbase_exception() {
    let server = Server::start();
    let mut client = Client::connect(server.regionserver_port(), Kind::Go);
    let mut request = probe();
    request.get.closest_row_before = Some(true);
    assert_eq!(
        exception_kind(client.call::<service::ClientGet>(&request)),
        Some(ExceptionKind::UnknownProtocol)
    );
}

/// Returns a get of `hbase:meta`.
fn probe() -> pb::GetRequest {
    let region = pb::RegionSpecifier { r#type: 1, value: "hbase:meta,,1".into() };
    pb::GetRequest { region, get: pb::Get { row: "t".into(), ..Default::default() } }
}
