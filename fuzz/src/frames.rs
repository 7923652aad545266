//! RPC frames in both directions: no bytes make the decoder panic, and decoded messages can be
//! encoded and decoded again.
#![no_main]

mod corpus;

use bytes::{Bytes, BytesMut};
use halite_types::Put;
use halite_wire::cellblock::{self, CellBlockFormat, Codec, Compressor};
use halite_wire::convert;
use halite_wire::proto as pb;
use halite_wire::rpc::{
    self, ConnectionInfo, FrameStatus, PREAMBLE_BYTES, Preamble, Request, RpcLimits,
};
use halite_wire::service::{Method, Service};
use libfuzzer_sys::fuzz_target;

/// Small limits, so that the fuzzer reaches the behavior beyond them.
const LIMITS: RpcLimits = RpcLimits {
    max_frame_bytes: 32 << 10,
    max_cell_block_bytes: 256 << 10,
    max_decoded_bytes: 64 << 10,
    trusted_bytes: 1 << 10,
};

fuzz_target!(init: corpus::write("frames", Vec::new()), |data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    match choice % 4 {
        0 => connection(rest),
        1 => stream(rest, |frame, format, service| request(&frame, format, service)),
        2 => stream(rest, |frame, format, _| response(&frame, format)),
        _ => {
            let (format, block) = format_of(rest);
            cell_block(&Bytes::copy_from_slice(block), format);
        }
    }
});

fn connection(data: &[u8]) {
    let Some((preamble, header)) = data.split_first_chunk::<PREAMBLE_BYTES>() else { return };
    if let Ok(preamble) = Preamble::decode(*preamble) {
        assert_eq!(
            Preamble::decode(preamble.encode()).ok(),
            Some(preamble),
            "a preamble round-trips"
        );
    }
    // An error is a valid result; only a panic is not.
    let _ = ConnectionInfo::decode(Bytes::copy_from_slice(header));
}

/// Returns the codec and the compressor that the first byte selects, and the remaining bytes.
fn format_of(data: &[u8]) -> (CellBlockFormat, &[u8]) {
    let (choice, rest) =
        data.split_first().map_or((0, data), |(choice, rest)| (usize::from(*choice), rest));
    let compressor = match choice / Codec::ALL.len() {
        0 => None,
        number => Compressor::ALL.get(number % Compressor::ALL.len()).copied(),
    };
    (CellBlockFormat { codec: Codec::ALL[choice % Codec::ALL.len()], compressor }, rest)
}

/// Splits bytes into frames as a connection does, until they are used up or a frame is invalid.
fn stream(data: &[u8], mut frame_is: impl FnMut(Bytes, CellBlockFormat, Service)) {
    let (format, data) = format_of(data);
    let Some((service, data)) = data.split_first() else { return };
    let service = Service::ALL[usize::from(*service) % Service::ALL.len()];
    let mut buffer = BytesMut::from(data);
    loop {
        match rpc::next_frame(&mut buffer, &LIMITS) {
            Ok(FrameStatus::Frame(frame)) => frame_is(frame, format, service),
            Ok(FrameStatus::Ping) => {}
            Ok(FrameStatus::TooBig(length)) => {
                let header = ConnectionInfo {
                    service,
                    user: None,
                    real_user: None,
                    format: None,
                    version: Some((2, 6)),
                };
                let _ = rpc::refuse_too_big(&buffer, length, &LIMITS, &header);
                return;
            }
            Ok(FrameStatus::Need(bytes)) => {
                assert!(bytes <= LIMITS.max_frame_bytes + 4, "allocated more than the frame limit");
                return;
            }
            Err(_) => return,
        }
    }
}

fn request(frame: &Bytes, format: CellBlockFormat, service: Service) {
    let Ok(request) = rpc::decode_request(frame) else { return };
    let cells = request.cells(Some(format), &LIMITS);
    let Ok(method) = request.method(service) else { return };
    // The decoded size is only queried for large messages, but must be computable for short ones.
    if request.decoded_size(method) > LIMITS.max_decoded_bytes
        || request.check_decoded_size(method, &LIMITS).is_err()
    {
        return;
    }
    let _ = match method {
        Method::ClientGet => request
            .message::<pb::GetRequest>()
            .map(|message| drop(convert::get::from_proto(&message.get))),
        Method::ClientScan => request
            .message::<pb::ScanRequest>()
            .map(|message| drop(message.scan.as_ref().map(convert::scan::from_proto))),
        Method::ClientMutate => request
            .message::<pb::MutateRequest>()
            .map(|message| message.condition.iter().for_each(condition)),
        Method::ClientMulti => request
            .message::<pb::MultiRequest>()
            .map(|message| message.condition.iter().for_each(condition)),
        Method::MasterCreateTable => {
            request.message::<pb::CreateTableRequest>().map(|message| schema(&message.table_schema))
        }
        Method::MasterModifyTable => {
            request.message::<pb::ModifyTableRequest>().map(|message| schema(&message.table_schema))
        }
        Method::MasterSnapshot => request
            .message::<pb::SnapshotRequest>()
            .map(|message| drop(convert::snapshot::from_proto(&message.snapshot))),
        _ => any_message(&request),
    };
    if let Ok(cells) = cells {
        again(&cells, format);
    }
}

/// Decodes a message without known fields, which must be skipped without an error.
fn any_message(request: &Request) -> Result<(), rpc::ProtocolError> {
    request.message::<()>()
}

fn condition(proto: &pb::Condition) {
    let _ = convert::condition::from_proto(proto, Put::new("row").add("f", "q", "v"));
}

fn schema(proto: &pb::TableSchema) {
    if let Ok(table) = convert::schema::from_proto(proto) {
        let back = convert::schema::from_proto(&convert::schema::to_proto(&table))
            .expect("a written schema is decodable");
        assert_eq!(back, table, "a schema round-trips");
    }
}

fn response(frame: &Bytes, format: CellBlockFormat) {
    let Ok(answer) = rpc::decode_response(frame).map(|response| response.result) else { return };
    let Ok(answer) = answer else { return };
    let mut cells = answer.cells(format, &LIMITS).ok().flatten().unwrap_or_default();
    if answer.check_decoded_size(Method::ClientScan, &LIMITS).is_ok()
        && let Ok(message) = answer.message::<pb::ScanResponse>()
    {
        let _ = convert::result::rows_from_response(&message, &mut cells.clone());
    }
    if answer.check_decoded_size(Method::ClientGet, &LIMITS).is_ok()
        && let Ok(message) = answer.message::<pb::GetResponse>()
    {
        let _ = message.result.map(|result| convert::result::from_proto(&result, &mut cells));
    }
}

fn cell_block(block: &Bytes, format: CellBlockFormat) {
    if let Ok(cells) = cellblock::decode(block, format, LIMITS.max_cell_block_bytes) {
        again(&cells, format);
    }
}

/// Verifies that decoded cells are equal after they are encoded and decoded again.
fn again(cells: &halite_types::Cells, format: CellBlockFormat) {
    let runs = [cells.clone()];
    let block = format.block(&runs).expect("decoded cells fit a block").to_bytes();
    let back = cellblock::decode(&block, format, usize::MAX).expect("encoded data is decodable");
    assert!(back.bytes() == cells.bytes(), "cells round-trip");
}
