//! Packets compared with captured ones, round trips, and arbitrary bytes.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::*;
use crate::proto as pb;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn written(write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::new();
    write(&mut out);
    out.freeze()
}

fn payload(packet: &Bytes) -> Bytes {
    match next_packet(&mut BytesMut::from(&packet[..])) {
        Ok(PacketStatus::Packet(payload)) if payload == packet[4..] => payload,
        other => panic!("{other:?}"),
    }
}

fn connect(read_only: Option<bool>) -> ConnectRequest {
    ConnectRequest {
        timeout_ms: 90_000,
        password: Bytes::from(vec![0; 16]),
        read_only,
        ..Default::default()
    }
}

fn stat() -> Stat {
    Stat {
        czxid: 1,
        mzxid: 2,
        ctime: 3,
        mtime: 4,
        version: 5,
        cversion: 6,
        aversion: 7,
        ephemeral_owner: 8,
        data_length: 9,
        num_children: 10,
        pzxid: 11,
    }
}

#[test]
fn session_opens_with_or_without_read_only_field() {
    for (read_only, request_bytes, response_bytes) in [(Some(false), 45, 37), (None, 44, 36)] {
        let request = written(|out| connect(read_only).encode(out));
        assert_eq!(payload(&request).len(), request_bytes);
        let request = ConnectRequest::decode(&payload(&request)).unwrap();
        assert_eq!(request, connect(read_only));
        let response = request.accept(7, Bytes::from(vec![1; 16]), 4000..=40_000);
        assert_eq!(response.timeout_ms, 40_000);
        let bytes = payload(&written(|out| response.encode(out)));
        assert_eq!(bytes.len(), response_bytes);
        assert_eq!(ConnectResponse::decode(&bytes).unwrap(), response);
    }
    let eager = ConnectRequest { timeout_ms: 100, ..connect(None) };
    assert_eq!(eager.accept(7, Bytes::new(), 4000..=40_000).timeout_ms, 4000);
}

#[test]
fn ping_and_reply_match_captured_bytes() {
    let ping = written(|out| encode_request(PING_XID, &Request::Ping, out));
    assert_eq!(ping, hex("00000008 fffffffe 0000000b"));
    assert_eq!(decode_request(&payload(&ping)).unwrap(), (PING_XID, Request::Ping));
    let pong = written(|out| encode_reply(PING_XID, 0x12, Ok(&Reply::Empty), out));
    assert_eq!(pong, hex("00000010 fffffffe 0000000000000012 00000000"));
}

#[test]
fn get_data_request_of_java_is_decoded() {
    let bytes = hex("00000001 00000004 0000000f 2f68626173652f6862617365696400 00");
    let request = Request::GetData { path: "/hbase/hbaseid\0".to_string(), watch: false };
    assert_eq!(decode_request(&Bytes::from(bytes)).unwrap(), (1, request));
}

#[test]
fn changes_and_unserved_requests_are_decoded() {
    let create = Bytes::from(hex("00000007 00000001 00000002 2f61 ffffffff 00000000 00000002"));
    let request =
        Request::Create { operation: 1, path: "/a".to_string(), data: Bytes::new(), flags: 2 };
    assert_eq!(decode_request(&create).unwrap(), (7, request));
    let create =
        hex("00000007 0000000f 00000002 2f61 00000001 78 00000001 0000001f 00000005 776f726c64 \
             00000006 616e796f6e65 00000000");
    let request = Request::Create {
        operation: 15,
        path: "/a".to_string(),
        data: Bytes::from_static(b"x"),
        flags: 0,
    };
    assert_eq!(decode_request(&Bytes::from(create.clone())).unwrap(), (7, request.clone()));
    assert_eq!(payload(&written(|out| encode_request(7, &request, out))), create);
    let set_data = Bytes::from(hex("00000007 00000005 00000002 2f61 00000001 78 ffffffff"));
    let request =
        Request::SetData { path: "/a".to_string(), data: Bytes::from_static(b"x"), version: -1 };
    assert_eq!(decode_request(&set_data).unwrap(), (7, request));
    let delete = Bytes::from(hex("00000007 00000002 00000002 2f61 00000003"));
    assert_eq!(
        decode_request(&delete).unwrap(),
        (7, Request::Delete { path: "/a".to_string(), version: 3 })
    );
    let who_am_i = Bytes::from(hex("00000007 0000006b"));
    assert_eq!(decode_request(&who_am_i).unwrap(), (7, Request::Other { operation: 107 }));
    let refused = payload(&written(|out| encode_reply(7, 0, Err(ErrorCode::UNIMPLEMENTED), out)));
    assert_eq!(refused, hex("00000007 0000000000000000 fffffffa"));
    let Ok(ServerPacket::Reply { xid: 7, result: Err(code), .. }) = decode_reply(&refused) else {
        panic!("it is an answer to 7")
    };
    assert_eq!(code, ErrorCode::UNIMPLEMENTED);
}

#[test]
fn replies_round_trip() {
    let body = |reply: &Reply| match decode_reply(&payload(&written(|out| {
        encode_reply(3, 9, Ok(reply), out);
    })))
    .unwrap()
    {
        ServerPacket::Reply { xid: 3, zxid: 9, result: Ok(body) } => body,
        other => panic!("{other:?}"),
    };
    let names = vec!["master".to_string(), "hbaseid".to_string()];
    let data = Bytes::from_static(b"data");
    assert_eq!(body(&Reply::Stat(stat())).stat().unwrap(), stat());
    assert_eq!(body(&Reply::Data(data.clone(), stat())).data().unwrap(), (data, stat()));
    assert_eq!(body(&Reply::Children(names.clone())).children().unwrap(), names);
    assert_eq!(
        body(&Reply::ChildrenAndStat(names.clone(), stat())).children_and_stat().unwrap(),
        (names, stat())
    );
    assert!(body(&Reply::Empty).stat().is_err());
}

#[test]
fn acl_matches_zookeeper_bytes() {
    let acl = payload(&written(|out| encode_reply(1, 1, Ok(&Reply::OpenAcl(stat())), out)));
    assert_eq!(
        acl[16..acl.len() - 68],
        hex("00000001 00000001 00000005 776f726c64 00000006 616e796f6e65")[..]
    );
    let path = payload(&written(|out| encode_reply(1, 1, Ok(&Reply::Path("/a".to_string())), out)));
    assert_eq!(path[16..], hex("00000002 2f61")[..]);
}

#[test]
fn stat_has_68_bytes() {
    assert_eq!(
        payload(&written(|out| encode_reply(1, 1, Ok(&Reply::Stat(stat())), out))).len(),
        16 + 68
    );
}

#[test]
fn watch_event_is_reply_without_request() {
    let event = WatchEvent { kind: WatchKind::DataChanged, path: "/hbase/master".to_string() };
    let bytes = payload(&written(|out| event.encode(out)));
    assert_eq!(bytes[..24], hex("ffffffff ffffffffffffffff 00000000 00000003 00000003")[..]);
    assert_eq!(decode_reply(&bytes).unwrap(), ServerPacket::Event(event));
}

#[test]
fn four_letter_words_differ_from_packet_lengths() {
    let next = |bytes: &[u8]| next_packet(&mut BytesMut::from(bytes));
    assert_eq!(next(b"ruok\n").unwrap(), PacketStatus::Word(*b"ruok"));
    assert!(next(&hex("00100000")).is_err());
    assert!(next(&hex("ffffffff")).is_err());
    assert!(matches!(next(&hex("000fffff 00")).unwrap(), PacketStatus::Need(0xf_fffe)));
    assert_eq!(next(&hex("00000000")).unwrap(), PacketStatus::Packet(Bytes::new()));
    assert!(matches!(next(b"ru").unwrap(), PacketStatus::Need(1..)));
}

#[test]
fn list_count_does_not_allocate_memory() {
    let set_watches = Bytes::from(hex("fffffff8 00000065 0000000000000000 7fffffff 00000000"));
    assert!(decode_request(&set_watches).is_err());
}

fn meta_region_server() -> pb::MetaRegionServer {
    let server = pb::ServerName {
        host_name: "localhost".to_string(),
        port: Some(16020),
        start_code: Some(1_795_225_227_130),
    };
    pb::MetaRegionServer {
        server,
        rpc_version: Some(0),
        state: Some(pb::region_state::State::Open as i32),
    }
}

#[test]
fn znode_contents_match_hbase() {
    let content = znode::encode("master:16000", [9; 8], &meta_region_server());
    assert_eq!(content[..5], hex("ff 00000014"));
    assert_eq!(&content[5..17], b"master:16000");
    let start = hex("50425546 0a15 0a09 6c6f63616c686f7374 10947d 18");
    assert_eq!(content[25..][..start.len()], start);
    assert!(content.ends_with(&hex("1000 1803")));
    assert_eq!(
        znode::decode::<pb::MetaRegionServer>(content.clone()).unwrap(),
        meta_region_server()
    );
    assert_eq!(
        znode::decode::<pb::MetaRegionServer>(content.slice(25..)).unwrap(),
        meta_region_server()
    );
}

#[test]
fn foreign_znode_is_rejected() {
    for content in [
        "",
        "ff",
        "ff00000000 50425546",
        "ff00000009 50425546",
        "ff0000fde9 50425546",
        "50425547",
        "50425546 0aff",
    ] {
        assert!(znode::decode::<pb::ClusterId>(Bytes::from(hex(content))).is_err(), "{content}");
    }
}

fn any_request() -> impl Strategy<Value = Request> {
    let paths = || prop::collection::vec(".{0,8}", 0..4);
    prop_oneof![
        (".*", any::<bool>()).prop_map(|(path, watch)| Request::Exists { path, watch }),
        (".*", any::<bool>()).prop_map(|(path, watch)| Request::GetData { path, watch }),
        (".*", any::<bool>()).prop_map(|(path, watch)| Request::GetChildren { path, watch }),
        (".*", any::<bool>()).prop_map(|(path, watch)| Request::GetChildren2 { path, watch }),
        Just(Request::Ping),
        Just(Request::CloseSession),
        (any::<i32>(), ".*", any::<Vec<u8>>()).prop_map(|(kind, scheme, auth)| Request::Auth {
            kind,
            scheme,
            auth: Bytes::from(auth)
        }),
        (any::<i64>(), paths(), paths(), paths()).prop_map(
            |(relative_zxid, data, exist, child)| Request::SetWatches {
                relative_zxid,
                data,
                exist,
                child
            }
        ),
        ".*".prop_map(|path| Request::GetAcl { path }),
        ".*".prop_map(|path| Request::Sync { path }),
        (prop::sample::select(vec![1, 15, 19, 21]), ".*", any::<Vec<u8>>(), any::<i32>()).prop_map(
            |(operation, path, data, flags)| {
                Request::Create { operation, path, data: Bytes::from(data), flags }
            }
        ),
        (".*", any::<i32>()).prop_map(|(path, version)| Request::Delete { path, version }),
        (".*", any::<Vec<u8>>(), any::<i32>()).prop_map(|(path, data, version)| Request::SetData {
            path,
            data: Bytes::from(data),
            version
        }),
        (prop::sample::select(vec![7, 20]), ".*")
            .prop_map(|(operation, path)| Request::Change { operation, path }),
        Just(Request::Multi),
        Just(Request::Other { operation: 107 }),
    ]
}

proptest! {
    #[test]
    fn requests_round_trip(xid in any::<i32>(), request in any_request()) {
        let packet = written(|out| encode_request(xid, &request, out));
        prop_assert_eq!(decode_request(&payload(&packet)).unwrap(), (xid, request));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = next_packet(&mut BytesMut::from(&bytes[..]));
        let packet = Bytes::from(bytes);
        let _ = (ConnectRequest::decode(&packet), ConnectResponse::decode(&packet), decode_request(&packet));
        let _ = znode::decode::<pb::Master>(packet.clone());
        if let Ok(ServerPacket::Reply { result: Ok(body), .. }) = decode_reply(&packet) {
            let _ = (body.stat(), body.data(), body.children(), body.children_and_stat(), body.path());
        }
    }

    #[test]
    fn damaged_request_never_panics(request in any_request(), at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let mut bytes = payload(&written(|out| encode_request(1, &request, out))).to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let _ = decode_request(&Bytes::from(bytes));
    }
}
