//! ZooKeeper's protocol in both directions: no bytes make the decoder panic, and decoded messages
//! can be encoded and decoded again.
#![no_main]

mod corpus;

use bytes::{Bytes, BytesMut};
use halite_wire::zk::{
    self, ConnectRequest, ConnectResponse, MAX_PACKET_BYTES, PacketStatus, ServerPacket,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: corpus::write("zookeeper", Vec::new()), |data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let mut buffer = BytesMut::from(rest);
    let mut is_first = true;
    loop {
        match zk::next_packet(&mut buffer) {
            Ok(PacketStatus::Packet(packet)) => match (choice % 2, is_first) {
                (0, true) => connect(&packet),
                (0, false) => request(&packet),
                (_, true) => accepted(&packet),
                (_, false) => reply(&packet),
            },
            Ok(PacketStatus::Word(_)) => {}
            Ok(PacketStatus::Need(bytes)) => {
                assert!(bytes <= MAX_PACKET_BYTES + 4, "allocated more than the packet limit");
                return;
            }
            Err(_) => return,
        }
        is_first = false;
    }
});

fn body(out: &BytesMut) -> Bytes {
    Bytes::copy_from_slice(&out[4..])
}

fn connect(packet: &Bytes) {
    let Ok(request) = ConnectRequest::decode(packet) else { return };
    let mut out = BytesMut::new();
    request.encode(&mut out);
    assert_eq!(ConnectRequest::decode(&body(&out)).expect("encoded data is decodable"), request);
    let _ = request.accept(1, Bytes::from_static(&[0; 16]), 4_000..=40_000);
}

fn accepted(packet: &Bytes) {
    let Ok(response) = ConnectResponse::decode(packet) else { return };
    let mut out = BytesMut::new();
    response.encode(&mut out);
    assert_eq!(ConnectResponse::decode(&body(&out)).expect("encoded data is decodable"), response);
}

fn request(packet: &Bytes) {
    let Ok((xid, request)) = zk::decode_request(packet) else { return };
    let mut out = BytesMut::new();
    zk::encode_request(xid, &request, &mut out);
    assert_eq!(zk::decode_request(&body(&out)).expect("encoded data is decodable"), (xid, request));
}

fn reply(packet: &Bytes) {
    match zk::decode_reply(packet) {
        Ok(ServerPacket::Event(event)) => {
            let mut out = BytesMut::new();
            event.encode(&mut out);
            assert_eq!(
                zk::decode_reply(&body(&out)).expect("encoded data is decodable"),
                ServerPacket::Event(event)
            );
        }
        Ok(ServerPacket::Reply { result: Ok(reply), .. }) => {
            // The type of a reply depends on its request; here it may be any.
            let _ = (reply.stat(), reply.data(), reply.children(), reply.children_and_stat());
        }
        _ => {}
    }
}
