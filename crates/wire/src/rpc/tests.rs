//! Frames compared with captured ones, round trips, and arbitrary bytes.

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::cell::CellParts;
use halite_types::{CellType, Cells, CellsBuilder};
use proptest::prelude::*;

use super::*;
use crate::cellblock::{CellBlockFormat, Codec, Compressor};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;
use crate::service::{ClientGet, ClientMulti, Method, Service};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn frame_of(bytes: &[u8]) -> Bytes {
    let mut buffer = BytesMut::from(bytes);
    match next_frame(&mut buffer, &RpcLimits::default()) {
        Ok(FrameStatus::Frame(frame)) if buffer.is_empty() => frame,
        other => panic!("{other:?} with {} bytes left", buffer.len()),
    }
}

fn gohbase() -> pb::ConnectionHeader {
    pb::ConnectionHeader {
        user_info: Some(pb::UserInformation {
            effective_user: "root".to_string(),
            real_user: None,
        }),
        service_name: Some("ClientService".to_string()),
        cell_block_codec_class: Some(Codec::KeyValue.class().to_string()),
        ..Default::default()
    }
}

fn connection(
    change: impl FnOnce(&mut pb::ConnectionHeader),
) -> Result<ConnectionInfo, ProtocolError> {
    let mut header = gohbase();
    change(&mut header);
    ConnectionInfo::decode(Bytes::from(prost::Message::encode_to_vec(&header)))
}

fn version(text: &str, numbers: Option<(u32, u32)>) -> pb::VersionInfo {
    let (version_major, version_minor) = numbers.unzip();
    pb::VersionInfo {
        version: text.to_string(),
        version_major,
        version_minor,
        ..Default::default()
    }
}

fn cells(values: &[&str]) -> Cells {
    let mut cells = CellsBuilder::default();
    for value in values {
        let parts = CellParts {
            row: b"r",
            family: b"f",
            qualifier: b"q",
            timestamp: 5,
            cell_type: CellType::Put,
            value: value.as_bytes(),
            tags: &[],
        };
        cells.push_parts(parts);
    }
    cells.finish()
}

// Captured from gohbase: the start of a connection, an existence get of meta, and HBase's answer.
const CONNECTION: &str = "48426173 00 50 00000044 0a060a04726f6f74 120d436c69656e7453657276696365
    1a2b6f72672e6170616368652e6861646f6f702e68626173652e636f6465632e4b657956616c7565436f646563";
const GET: &str = "00000037 09 0801 1a03476574 2001 2c 0a11 0801 120d 68626173653a6d6574612c2c31
    1217 0a11 0000000000000000000000000000000000 2a00 5001";
const GET_RESPONSE: &str = "0000000a 02 0801 06 0a04 1000 1800";

#[test]
fn connection_preamble_matches_captured_bytes() {
    let mut out = BytesMut::new();
    encode_connection(Auth::Simple, &gohbase(), &mut out).unwrap();
    assert_eq!(out, hex(CONNECTION));
    assert_eq!(Preamble::decode(out[..6].try_into().unwrap()), Ok(Preamble::Calls(Auth::Simple)));
    let read = ConnectionInfo::decode(frame_of(&out[6..])).unwrap();
    assert_eq!(
        (read.service, read.user.as_deref(), read.version),
        (Service::Client, Some("root"), None)
    );
    assert_eq!(read.format, Some(CellBlockFormat { codec: Codec::KeyValue, compressor: None }));
}

#[test]
fn captured_get_and_its_response_match_byte_for_byte() {
    let request = decode_request(&frame_of(&hex(GET))).unwrap();
    assert_eq!((request.call_id, request.method(Service::Client)), (1, Ok(Method::ClientGet)));
    let get: pb::GetRequest = request.message().unwrap();
    assert_eq!(&get.region.value[..], b"hbase:meta,,1");
    assert!(get.get.existence_only() && get.get.time_range.is_some());
    let result =
        pb::Result { associated_cell_count: Some(0), exists: Some(false), ..Default::default() };
    let mut out = BytesMut::new();
    encode_response(1, &pb::GetResponse { result: Some(result) }, None, &mut out).unwrap();
    assert_eq!(out, hex(GET_RESPONSE));
}

#[test]
fn written_request_matches_captured_bytes() {
    let get: pb::GetRequest = decode_request(&frame_of(&hex(GET))).unwrap().message().unwrap();
    let mut out = BytesMut::new();
    encode_request::<ClientGet>(1, &get, RequestOptions::default(), None, &mut out).unwrap();
    assert_eq!(out, hex(GET));
    let response = decode_response(&frame_of(&hex(GET_RESPONSE))).unwrap();
    let result = response.result.unwrap().message::<pb::GetResponse>().unwrap().result.unwrap();
    assert_eq!((response.call_id, result.exists), (1, Some(false)));
}

#[test]
fn registry_response_matches_captured_bytes() {
    let cluster_id = "ce1e4b3a-0000-4000-8000-000000000000".to_string();
    let mut out = BytesMut::new();
    encode_response(
        CONNECTION_CALL_ID,
        &pb::GetConnectionRegistryResponse { cluster_id: cluster_id.clone() },
        None,
        &mut out,
    )
    .unwrap();
    assert_eq!(out[..14], hex("0000002e 06 08ffffffff0f 26 0a24")[..14]);
    assert_eq!(&out[14..], cluster_id.as_bytes());
    assert_eq!(decode_response(&frame_of(&out)).unwrap().call_id, CONNECTION_CALL_ID);
}

#[test]
fn empty_message_has_length_prefix() {
    let mut out = BytesMut::new();
    encode_response(56, &pb::CompactRegionResponse {}, None, &mut out).unwrap();
    assert_eq!(out, hex("00000004 02 0838 00"));
}

#[test]
fn preambles_round_trip_and_invalid_ones_get_hbase_errors() {
    for preamble in [
        Preamble::Registry,
        Preamble::Security,
        Preamble::Calls(Auth::Simple),
        Preamble::Calls(Auth::Kerberos),
    ] {
        assert_eq!(Preamble::decode(preamble.encode()), Ok(preamble));
    }
    let kind = |bytes: &[u8; 6]| match Preamble::decode(*bytes) {
        Err(ProtocolError::Fatal(exception)) => exception.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(b"GET / "), Some(ExceptionKind::FatalConnection));
    assert_eq!(kind(b"HBas\x01P"), Some(ExceptionKind::WrongVersion));
    assert_eq!(kind(b"HBas\0X"), Some(ExceptionKind::BadAuth));
}

#[test]
fn call_of_response_is_known_from_its_first_bytes() {
    let mut frame = BytesMut::new();
    encode_response(70_000, &pb::GetResponse::default(), None, &mut frame).unwrap();
    assert_eq!(response_call_id(&frame), Some(70_000));
    for bytes in 0..8 {
        assert_eq!(response_call_id(&frame[..bytes]), None);
    }
    assert_eq!(response_call_id(b"\0\0\0\x09HTTP/1.1"), None);
}

#[test]
fn fatal_response_has_call_id_minus_one() {
    let fault = Preamble::decode(*b"HBas\x01P").unwrap_err();
    let (call_id, exception) = fault.exception().unwrap();
    let mut out = BytesMut::new();
    encode_exception(call_id, exception, &mut out);
    // Length, header length in two bytes, then the call id.
    assert_eq!(out[6..12], hex("08ffffffff0f"));
    let response = decode_response(&frame_of(&out)).unwrap();
    assert_eq!((response.call_id, response.result), (u32::MAX, Err(exception.clone())));
    assert!(fault.closes_connection());
}

#[test]
fn connection_to_unknown_service_is_closed_without_response() {
    let faults = [
        connection(|header| header.service_name = Some("NoService".to_string())),
        connection(|header| header.service_name = None),
        connection(|header| header.service_name = Some("MultiRowMutationService".to_string())),
        connection(|header| header.cell_block_codec_class = Some("com.example.Codec".to_string())),
        connection(|header| {
            header.cell_block_compressor_class = Some("com.example.Zip".to_string());
        }),
        ConnectionInfo::decode(Bytes::from_static(b"\xff\xff")),
    ];
    for fault in faults {
        let fault = fault.unwrap_err();
        assert!(matches!(fault, ProtocolError::Close(_)) && fault.exception().is_none(), "{fault}");
    }
}

#[test]
fn overlong_names_in_header_are_rejected_and_not_repeated() {
    let long = || "x".repeat(1 << 20);
    let user = |effective_user, real_user| Some(pb::UserInformation { effective_user, real_user });
    for fault in [
        connection(|header| header.user_info = user(long(), None)),
        connection(|header| header.user_info = user("root".to_string(), Some(long()))),
        connection(|header| header.service_name = Some(long())),
        connection(|header| header.cell_block_codec_class = Some(long())),
        connection(|header| header.cell_block_compressor_class = Some(long())),
    ] {
        let fault = fault.map(drop).unwrap_err();
        assert!(
            matches!(&fault, ProtocolError::Close(_)) && fault.to_string().len() < 1 << 10,
            "{} characters",
            fault.to_string().len()
        );
    }
    assert!(connection(|header| header.user_info = user("u".repeat(1 << 10), None)).is_ok());
}

#[test]
fn client_without_codec_receives_no_cell_blocks() {
    let without = connection(|header| {
        header.cell_block_codec_class = None;
        header.cell_block_compressor_class = Some("com.example.Zip".to_string());
    });
    assert_eq!(without.unwrap().format, None);
    let gzip = connection(|header| {
        header.cell_block_compressor_class = Some(Compressor::Gzip.class().to_string());
    });
    assert_eq!(gzip.unwrap().format.unwrap().compressor, Some(Compressor::Gzip));
}

#[test]
fn client_version_is_read_from_numbers_or_text() {
    let of = |info| connection(|header| header.version_info = Some(info)).unwrap();
    assert_eq!(of(version("x", Some((2, 6)))).version, Some((2, 6)));
    assert_eq!(of(version("3.0.0-beta-1", None)).version, Some((3, 0)));
    assert_eq!(of(version("Unknown", None)).version, None);
    assert!(
        of(version("1.3.0", None)).is_at_least(1, 3)
            && !of(version("1.2.9", None)).is_at_least(1, 3)
    );
}

#[test]
fn invalid_frame_lengths_are_distinguished() {
    let limits = RpcLimits { max_frame_bytes: 100, ..RpcLimits::default() };
    let next = |bytes: &str| next_frame(&mut BytesMut::from(&hex(bytes)[..]), &limits);
    assert_eq!(next("ffffffff 00000001"), Ok(FrameStatus::Ping));
    assert!(matches!(next("00000000"), Err(ProtocolError::Close(_))));
    assert!(matches!(next("fffffffe"), Err(ProtocolError::Close(_))));
    assert_eq!(next("00000065"), Ok(FrameStatus::TooBig(101)));
    assert!(matches!(next("0000"), Ok(FrameStatus::Need(1..))));
    assert_eq!(next("00000064 01"), Ok(FrameStatus::Need(99)));
}

#[test]
fn large_frame_buffer_grows_with_received_bytes() {
    let mut buffer = BytesMut::from(&hex("0fffffff")[..]);
    assert_eq!(next_frame(&mut buffer, &RpcLimits::default()), Ok(FrameStatus::Need(8192)));
    let trusted_bytes = 1 << 20;
    assert_eq!(
        next_frame(&mut buffer, &RpcLimits { trusted_bytes, ..RpcLimits::default() }),
        Ok(FrameStatus::Need(trusted_bytes))
    );
    buffer.extend_from_slice(&vec![0; 100_000]);
    assert_eq!(next_frame(&mut buffer, &RpcLimits::default()), Ok(FrameStatus::Need(100_004)));
}

#[test]
fn consecutive_frames_in_one_buffer_are_split() {
    let mut buffer = BytesMut::from(&hex("00000002 aabb ffffffff 00000001 cc 0000")[..]);
    let limits = RpcLimits::default();
    assert_eq!(
        next_frame(&mut buffer, &limits),
        Ok(FrameStatus::Frame(Bytes::from_static(b"\xaa\xbb")))
    );
    assert_eq!(next_frame(&mut buffer, &limits), Ok(FrameStatus::Ping));
    assert_eq!(
        next_frame(&mut buffer, &limits),
        Ok(FrameStatus::Frame(Bytes::from_static(b"\xcc")))
    );
    assert!(matches!(next_frame(&mut buffer, &limits), Ok(FrameStatus::Need(_))));
}

#[test]
fn oversized_request_is_rejected_from_its_header() {
    let mut frame = BytesMut::new();
    frame.put_slice(&hex("20000000 09 082a 1a03476574 2001"));
    let limits = RpcLimits::default();
    let java = connection(|header| header.version_info = Some(version("2.6.4", None))).unwrap();
    let other = connection(|_| {}).unwrap();
    assert_eq!(next_frame(&mut frame, &limits), Ok(FrameStatus::TooBig(0x2000_0000)));
    let kind = |connection| match refuse_too_big(&frame, 0x2000_0000, &limits, connection) {
        Some(ProtocolError::LastCall(42, exception)) => exception.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(&java), Some(ExceptionKind::RequestTooBig));
    assert_eq!(kind(&other), Some(ExceptionKind::DoNotRetry));
    for end in 0..frame.len() {
        assert_eq!(refuse_too_big(&frame[..end], 0x2000_0000, &limits, &java), None, "{end}");
    }
    let endless = [hex("20000000 ffffff7f"), vec![0; 70_000]].concat();
    assert!(matches!(
        refuse_too_big(&endless, 0x2000_0000, &limits, &java),
        Some(ProtocolError::Close(_))
    ));
    // A header that exceeds its frame is not continued in the next one.
    let short = [hex("000007d0 e0d403"), vec![0; 1997]].concat();
    assert!(matches!(refuse_too_big(&short, 2000, &limits, &java), Some(ProtocolError::Close(_))));
    assert_eq!(refuse_too_big(&short[..2003], 2000, &limits, &java), None);
}

#[test]
fn invalid_call_does_not_close_connection() {
    let refused = |bytes: &str| decode_request(&Bytes::from(hex(bytes))).unwrap_err();
    // No request_param; a message longer than the frame; a cell block longer than the frame.
    for (bytes, what) in [
        ("02 0807", "has no message"),
        ("04 0807 2001 05 00", "message exceeds its frame"),
        ("08 0807 2001 2a020809 00 00", "cell block"),
    ] {
        let fault = refused(bytes);
        assert!(
            matches!(fault, ProtocolError::Call(7, _)) && fault.to_string().contains(what),
            "{fault}"
        );
        assert!(!fault.closes_connection());
    }
    assert!(matches!(refused("7f 0807"), ProtocolError::Close(_)));
    assert!(matches!(refused("02 ffff"), ProtocolError::Close(_)));
}

#[test]
fn unknown_method_and_undecodable_message_are_answered() {
    let request = decode_request(&Bytes::from(hex("09 0807 1a03 676574 2001 02 0aff"))).unwrap();
    let Err(ProtocolError::Call(7, exception)) = request.method(Service::Client) else {
        panic!("lower-case get is not a method")
    };
    assert_eq!(exception.message(), "java.lang.UnsupportedOperationException: get");
    let Err(ProtocolError::Call(7, exception)) = request.message::<pb::GetRequest>() else {
        panic!("0aff is not a message")
    };
    assert_eq!(exception.kind(), Some(ExceptionKind::InvalidProtocolBuffer));
}

#[test]
fn cells_without_codec_are_rejected_unless_block_is_empty() {
    let empty = decode_request(&Bytes::from(hex("08 0807 2001 2a020800 00"))).unwrap();
    let limits = RpcLimits::default();
    assert!(empty.cells(Some(CellBlockFormat::default()), &limits).unwrap().is_empty());
    assert!(matches!(empty.cells(None, &limits), Err(ProtocolError::Call(7, _))));
}

#[test]
fn request_parts_share_frame_buffer() {
    let run = [cells(&["v"])];
    let block = CellBlockFormat::default().block(&run).unwrap();
    let mut out = BytesMut::new();
    encode_request::<ClientMulti>(
        1,
        &pb::MultiRequest::default(),
        RequestOptions::default(),
        Some(&block),
        &mut out,
    )
    .unwrap();
    let frame = frame_of(&out);
    let read = decode_request(&frame)
        .unwrap()
        .cells(Some(CellBlockFormat::default()), &RpcLimits::default())
        .unwrap();
    assert_eq!(read, run[0]);
    assert!(frame.as_ptr_range().contains(&read.bytes().as_ptr()));
}

#[test]
fn responses_are_appended_to_one_buffer_allocated_once() {
    let runs = [cells(&["a", "b"]), cells(&["c"])];
    let format = CellBlockFormat { codec: Codec::KeyValue, compressor: Some(Compressor::Snappy) };
    let mut out = BytesMut::with_capacity(1024);
    let start = out.as_ptr();
    encode_response(1, &pb::ScanResponse::default(), Some(&format.block(&runs).unwrap()), &mut out)
        .unwrap();
    encode_exception(2, &Exception::new(ExceptionKind::UnknownScanner, "7"), &mut out);
    assert_eq!(out.as_ptr(), start);
    let limits = RpcLimits::default();
    let mut answers = Vec::new();
    while let Ok(FrameStatus::Frame(frame)) = next_frame(&mut out, &limits) {
        answers.push(decode_response(&frame).unwrap());
    }
    assert_eq!(answers.len(), 2);
    let read = answers[0].result.as_ref().unwrap().cells(format, &limits).unwrap().unwrap();
    let values: Vec<_> = read.iter().map(|cell| cell.value().to_vec()).collect();
    assert_eq!(values, [b"a", b"b", b"c"]);
    assert_eq!(answers[1].result.as_ref().unwrap_err().kind(), Some(ExceptionKind::UnknownScanner));
}

/// Returns a request with these bytes as its message.
fn request_of(method: &str, message: &[u8]) -> Request {
    let header = pb::RequestHeader {
        method_name: Some(method.to_string()),
        request_param: Some(true),
        ..Default::default()
    };
    let mut frame = BytesMut::new();
    prost::Message::encode_length_delimited(&header, &mut frame).unwrap();
    prost::encode_length_delimiter(message.len(), &mut frame).unwrap();
    frame.put_slice(message);
    decode_request(&frame.freeze()).unwrap()
}

/// Returns a part of a message, with its tag and length.
fn part(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag << 3 | 2];
    prost::encode_length_delimiter(content.len(), &mut out).unwrap();
    out.extend_from_slice(content);
    out
}

#[test]
fn request_with_huge_decoded_size_is_rejected_before_decoding() {
    let limits = RpcLimits::default();
    // Empty actions of two bytes each, in a part with a region, after a group of an unknown field.
    let actions =
        part(1, &[part(1, b"region"), vec![0x7b, 0x7c], [0x1a, 0].repeat(2 << 20)].concat());
    let multi = request_of("Multi", &actions);
    let decoded_bytes = multi.decoded_size(Method::ClientMulti);
    assert_eq!(decoded_bytes, size_of::<pb::RegionAction>() + (2 << 20) * size_of::<pb::Action>());
    let Err(ProtocolError::Call(0, refused)) =
        multi.check_decoded_size(Method::ClientMulti, &limits)
    else {
        panic!("the request is not rejected")
    };
    assert!(
        refused.is_do_not_retry()
            && refused.message().contains(&format!("decode to {decoded_bytes} bytes")),
        "{refused}"
    );

    // The size of the decoded message equals the computed size: empty values, columns, attributes.
    let values = part(3, &[0x12, 0].repeat(1000));
    let mutation = [values, part(5, &[]).repeat(10)].concat();
    let get = [part(2, &[0x12, 0].repeat(100)), part(3, &[]), part(13, &[])].concat();
    let actions = [part(3, &part(2, &mutation)), part(3, &part(3, &get))].concat();
    let multi = request_of("Multi", &part(1, &actions));
    let decoded: pb::MultiRequest = multi.message().unwrap();
    let [action] = &decoded.region_action[..] else { panic!("{decoded:?}") };
    let mutation = action.action[0].mutation.as_ref().unwrap();
    let get = action.action[1].get.as_ref().unwrap();
    let values = &mutation.column_value[0].qualifier_value[..];
    let parts = [
        size_of_val(action) + size_of_val(&action.action[..]),
        size_of_val(&mutation.column_value[..])
            + size_of_val(values)
            + size_of_val(&mutation.attribute[..]),
        size_of_val(&get.column[..]) + size_of_val(&get.column[0].qualifier[..]),
        size_of_val(&get.attribute[..]) + size_of_val(&get.cf_time_range[..]),
    ];
    assert_eq!((values.len(), multi.decoded_size(Method::ClientMulti)), (1000, parts.iter().sum()));
    multi.check_decoded_size(Method::ClientMulti, &limits).unwrap();

    // Messages without listed repeated fields must not be long. Long values in listed messages are
    // not counted.
    request_of("ExecService", &part(2, &part(4, &vec![0; 20 << 20])))
        .check_decoded_size(Method::ClientExecService, &limits)
        .unwrap();
    request_of("Mutate", &part(2, &part(1, &vec![0; 20 << 20])))
        .check_decoded_size(Method::ClientMutate, &limits)
        .unwrap();
    let columns = part(2, &part(1, &[0x12, 0].repeat(1000)).repeat(10));
    let aggregate = request_of("GetSum", &columns);
    assert_eq!(
        aggregate.decoded_size(Method::AggregateGetSum),
        10 * (size_of::<pb::Column>() + 1000 * size_of::<Bytes>())
    );
    let table = request_of("CreateTable", &part(2, &[]).repeat(9 << 20));
    assert!(table.check_decoded_size(Method::MasterCreateTable, &limits).is_err());
}

#[test]
fn request_memory_stays_within_reported_decoded_size() {
    let decoded_bytes =
        |method: Method, message: &[u8]| request_of(method.name(), message).decoded_size(method);
    let locks = [part(1, b""), part(4, &[]).repeat(1000)].concat();
    assert!(decoded_bytes(Method::LockRequestLock, &locks) >= 1000 * size_of::<pb::RegionInfo>());
    let families = part(2, &part(3, &[]).repeat(1000));
    assert!(
        decoded_bytes(Method::MasterCreateTable, &families)
            >= 1000 * size_of::<pb::ColumnFamilySchema>()
    );
}

/// Returns a response with these bytes as its message.
fn response_body(message: &[u8]) -> ResponseBody {
    let mut frame = BytesMut::new();
    prost::Message::encode_length_delimited(
        &pb::ResponseHeader { call_id: Some(1), ..Default::default() },
        &mut frame,
    )
    .unwrap();
    prost::encode_length_delimiter(message.len(), &mut frame).unwrap();
    frame.put_slice(message);
    decode_response(&frame.freeze()).unwrap().result.unwrap()
}

#[test]
fn response_with_huge_decoded_size_is_rejected_before_decoding() {
    let limits = RpcLimits { max_decoded_bytes: 15 << 20, ..RpcLimits::default() };
    let results = part(1, &part(1, &[]).repeat(1 << 20));
    for (method, message) in [
        // Rows without cells, by their counts in one part and one by one, and by messages.
        (Method::ClientScan, part(1, &vec![0; 1 << 20])),
        (Method::ClientScan, [0x08, 0].repeat(1 << 20)),
        (Method::ClientScan, part(5, &[]).repeat(1 << 20)),
        (Method::ClientScan, part(10, &part(1, &[]).repeat(1 << 20))),
        (Method::ClientScan, part(13, &[]).repeat(1 << 20)),
        (Method::ClientMulti, results),
        (Method::ClientGet, part(1, &part(1, &[]).repeat(1 << 20))),
        (Method::ClientMutate, part(1, &part(1, &[]).repeat(1 << 20))),
        (
            Method::MasterGetClusterStatus,
            part(1, &part(2, &part(2, &part(5, &[]).repeat(1 << 20)))),
        ),
        (Method::MasterGetCompletedSnapshots, part(1, &[]).repeat(1 << 20)),
        // The users with permissions for a snapshot.
        (Method::MasterGetCompletedSnapshots, part(1, &part(7, &part(1, &[]).repeat(1 << 20)))),
        (Method::MasterGetTableDescriptors, part(1, &part(3, &[]).repeat(1 << 20))),
        (Method::MasterListNamespaceDescriptors, part(1, &[]).repeat(1 << 20)),
    ] {
        let refused = response_body(&message).check_decoded_size(method, &limits);
        assert!(
            matches!(refused, Err(ProtocolError::Close(why)) if why.contains("too large")),
            "{}",
            method.name()
        );
    }
    // Long values require no more memory than the frame.
    let row = part(1, &part(1, &part(6, &vec![0; 4 << 20])));
    response_body(&row).check_decoded_size(Method::ClientGet, &limits).unwrap();
    response_body(&part(2, &vec![0; 4 << 20]))
        .check_decoded_size(Method::ClientExecService, &limits)
        .unwrap();
}

#[test]
fn request_header_length_is_limited_separately() {
    let attribute = pb::NameBytesPair { name: "a".repeat(1 << 20), value: None };
    let header =
        pb::RequestHeader { call_id: Some(3), attribute: vec![attribute], ..Default::default() };
    let mut frame = BytesMut::new();
    prost::Message::encode_length_delimited(&header, &mut frame).unwrap();
    assert!(
        matches!(decode_request(&frame.freeze()), Err(ProtocolError::Close(why)) if why.contains("more than 1048576"))
    );
}

proptest! {
    #[test]
    fn call_options_round_trip(call_id in any::<u32>(), priority in any::<Option<u32>>(), timeout_ms in any::<Option<u32>>(), names in prop::collection::vec(".*", 0..3)) {
        let attributes: Vec<_> = names.iter().map(|name| pb::NameBytesPair { name: name.clone(), value: None }).collect();
        let options = RequestOptions { priority, timeout_ms, attributes: attributes.clone() };
        let mut out = BytesMut::new();
        encode_request::<ClientGet>(call_id, &pb::GetRequest::default(), options, None, &mut out).unwrap();
        let request = decode_request(&frame_of(&out)).unwrap();
        prop_assert_eq!((request.call_id, request.header.priority, request.header.timeout), (call_id, priority, timeout_ms));
        prop_assert_eq!(request.header.attribute, attributes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let limits = RpcLimits { max_frame_bytes: 1000, max_cell_block_bytes: 1000, ..RpcLimits::default() };
        let frame = Bytes::from(bytes.clone());
        if let Ok(request) = decode_request(&frame) {
            let _ = (request.method(Service::Master), request.message::<pb::MultiRequest>(), request.cells(Some(CellBlockFormat::default()), &limits));
            let _ = request.decoded_size(Method::ClientMulti);
        }
        if let Ok(Response { result: Ok(answer), .. }) = decode_response(&frame) {
            let _ = (answer.message::<pb::ScanResponse>(), answer.cells(CellBlockFormat::default(), &limits));
        }
        let _ = ConnectionInfo::decode(frame);
        let _ = refuse_too_big(&bytes, 2000, &limits, &connection(|_| {}).unwrap());
        let mut buffer = BytesMut::from(&bytes[..]);
        while let Ok(FrameStatus::Frame(_) | FrameStatus::Ping) = next_frame(&mut buffer, &limits) {}
    }

    #[test]
    fn flipped_request_bits_never_panic(at in 0..55usize, bit in 0..8u8) {
        let mut bytes = hex(GET)[4..].to_vec();
        bytes[at] ^= 1 << bit;
        if let Ok(request) = decode_request(&Bytes::from(bytes)) {
            let _ = (request.method(Service::Client), request.message::<pb::GetRequest>());
        }
    }
}
