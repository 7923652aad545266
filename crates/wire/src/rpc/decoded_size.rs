//! Memory of a decoded message, computed from its bytes before decoding.
//!
//! A repeated part takes as little as two bytes on the wire and up to hundreds in memory, so an
//! allowed frame can decode to gigabytes. The walk reads tags and lengths only, descends into parts
//! with repeated fields, and adds up the memory of the decoded message in addition to the bytes it
//! shares with its frame.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::Bytes;
use halite_types::Row;
use prost::decode_length_delimiter as varint;

use crate::proto as pb;
use crate::service::{Method, Service};
use pb::mutation_proto::ColumnValue;
use pb::mutation_proto::column_value::QualifierValue;

/// Field of a message: a single or repeated part, or repeated numbers.
#[derive(Clone, Copy)]
struct RepeatedField {
    tag: usize,
    /// Memory of each element in bytes; 0 for a field that occurs once and is counted with its
    /// parent.
    bytes: usize,
    /// `true` for numbers, many of which may be packed into one part at one byte each.
    is_number: bool,
    inside: &'static [RepeatedField],
}

const fn one(tag: usize, inside: &'static [RepeatedField]) -> RepeatedField {
    RepeatedField { tag, bytes: 0, is_number: false, inside }
}

const fn many<T>(tag: usize, inside: &'static [RepeatedField]) -> RepeatedField {
    RepeatedField { tag, bytes: size_of::<T>(), is_number: false, inside }
}

const fn numbers(tag: usize, bytes: usize) -> RepeatedField {
    RepeatedField { tag, bytes, is_number: true, inside: &[] }
}

const COLUMN: &[RepeatedField] = &[many::<Bytes>(2, &[])];
const GET: &[RepeatedField] = &[
    many::<pb::Column>(2, COLUMN),
    many::<pb::NameBytesPair>(3, &[]),
    many::<pb::ColumnFamilyTimeRange>(13, &[]),
];
const SCAN: &[RepeatedField] = &[
    many::<pb::Column>(1, COLUMN),
    many::<pb::NameBytesPair>(2, &[]),
    many::<pb::ColumnFamilyTimeRange>(19, &[]),
];
const COLUMN_VALUE: &[RepeatedField] = &[many::<QualifierValue>(2, &[])];
const MUTATION: &[RepeatedField] =
    &[many::<ColumnValue>(3, COLUMN_VALUE), many::<pb::NameBytesPair>(5, &[])];
const ACTION: &[RepeatedField] = &[one(2, MUTATION), one(3, GET)];
const REGION_ACTION: &[RepeatedField] = &[many::<pb::Action>(3, ACTION)];

const GET_REQUEST: &[RepeatedField] = &[one(2, GET)];
const MUTATE_REQUEST: &[RepeatedField] = &[one(2, MUTATION)];
const SCAN_REQUEST: &[RepeatedField] = &[one(2, SCAN)];
const MULTI_REQUEST: &[RepeatedField] = &[many::<pb::RegionAction>(1, REGION_ACTION)];
const AGGREGATE_REQUEST: &[RepeatedField] = &[one(2, SCAN)];
const LOCK_REQUEST: &[RepeatedField] = &[many::<pb::RegionInfo>(4, &[])];
const MUTATE_ROWS_REQUEST: &[RepeatedField] =
    &[many::<pb::MutationProto>(1, MUTATION), many::<pb::Condition>(5, &[])];

/// Maximum decoded size of one byte in any other message: at worst a part of two bytes is a family
/// of a table. No such message is long in practice.
const OTHERS_BYTES: usize = size_of::<pb::ColumnFamilySchema>() / 2;

const RESULT: &[RepeatedField] = &[many::<pb::Cell>(1, &[])];
const RESULT_OR_EXCEPTION: &[RepeatedField] = &[one(2, RESULT)];
const REGION_ACTION_RESULT: &[RepeatedField] =
    &[many::<pb::ResultOrException>(1, RESULT_OR_EXCEPTION)];
const STATISTICS: &[RepeatedField] =
    &[many::<pb::RegionSpecifier>(1, &[]), many::<pb::RegionLoadStats>(2, &[])];
const REGION_LOAD: &[RepeatedField] = &[many::<pb::StoreSequenceId>(18, &[])];
const USER_LOAD: &[RepeatedField] = &[many::<pb::ClientMetrics>(2, &[])];
const SERVER_LOAD: &[RepeatedField] = &[
    many::<pb::RegionLoad>(5, REGION_LOAD),
    many::<pb::Coprocessor>(6, &[]),
    many::<pb::ReplicationLoadSource>(10, &[]),
    many::<pb::UserLoad>(12, USER_LOAD),
    many::<pb::ServerTask>(15, &[]),
];
const CLUSTER_STATUS: &[RepeatedField] = &[
    many::<pb::LiveServerInfo>(2, &[one(2, SERVER_LOAD)]),
    many::<pb::ServerName>(3, &[]),
    many::<pb::RegionInTransition>(4, &[]),
    many::<pb::Coprocessor>(6, &[]),
    many::<pb::ServerName>(8, &[]),
    many::<pb::ServerName>(11, &[]),
    many::<pb::TableRegionStatesCount>(12, &[]),
    many::<pb::ServerTask>(13, &[]),
    many::<pb::ServerName>(14, &[]),
];
const FAMILY: &[RepeatedField] =
    &[many::<pb::BytesBytesPair>(2, &[]), many::<pb::NameStringPair>(3, &[])];
const TABLE: &[RepeatedField] = &[
    many::<pb::BytesBytesPair>(2, &[]),
    many::<pb::ColumnFamilySchema>(3, FAMILY),
    many::<pb::NameStringPair>(4, &[]),
];

/// Response with one row.
const RESULT_RESPONSE: &[RepeatedField] = &[one(1, RESULT)];
const MULTI_RESPONSE: &[RepeatedField] =
    &[many::<pb::RegionActionResult>(1, REGION_ACTION_RESULT), one(3, STATISTICS)];
/// Each count and each result becomes a row.
const SCAN_RESPONSE: &[RepeatedField] = &[
    numbers(1, size_of::<u32>() + size_of::<Row>()),
    many::<(pb::Result, Row)>(5, RESULT),
    numbers(7, size_of::<bool>()),
    one(10, &[many::<pb::NameInt64Pair>(1, &[])]),
    many::<pb::QueryMetrics>(13, &[]),
];

/// Returns the memory in bytes of a response message in addition to its frame.
pub(super) fn decoded_response_size(method: Method, message: &[u8]) -> usize {
    let parts = match method {
        Method::ClientGet | Method::ClientMutate => RESULT_RESPONSE,
        Method::ClientMulti => MULTI_RESPONSE,
        Method::ClientScan => SCAN_RESPONSE,
        Method::MasterGetClusterStatus => &[one(1, CLUSTER_STATUS)],
        Method::MasterGetTableDescriptors => &[many::<pb::TableSchema>(1, TABLE)],
        Method::MasterGetCompletedSnapshots => &[many::<pb::SnapshotDescription>(1, &[])],
        Method::ClientExecService => &[],
        _ => return message.len().saturating_mul(OTHERS_BYTES),
    };
    walk(message, parts)
}

/// Returns the memory in bytes of a request message in addition to its frame.
pub(super) fn decoded_size(method: Method, message: &[u8]) -> usize {
    let parts = match method {
        Method::ClientGet => GET_REQUEST,
        Method::ClientMutate => MUTATE_REQUEST,
        Method::ClientMulti => MULTI_REQUEST,
        Method::ClientScan => SCAN_REQUEST,
        Method::MultiRowMutationMutateRows => MUTATE_ROWS_REQUEST,
        Method::LockRequestLock => LOCK_REQUEST,
        method if method.service() == Service::Aggregate => AGGREGATE_REQUEST,
        // The endpoint's message is contained as bytes.
        Method::ClientExecService => &[],
        _ => return message.len().saturating_mul(OTHERS_BYTES),
    };
    walk(message, parts)
}

/// Adds up the memory of a message. The walk ends at damaged bytes, as decoding does.
fn walk(mut rest: &[u8], parts: &[RepeatedField]) -> usize {
    let mut bytes = 0usize;
    while let Ok(key) = varint(&mut rest) {
        let length = match key & 7 {
            0 => varint(&mut rest).map(|_| 0),
            1 => Ok(8),
            2 => varint(&mut rest),
            5 => Ok(4),
            // A group is skipped, but its content is counted as if it were outside, so that nothing
            // after one is missed.
            _ => Ok(0),
        };
        let Some((content, tail)) = length.ok().and_then(|length| rest.split_at_checked(length))
        else {
            break;
        };
        rest = tail;
        let Some(part) = parts.iter().find(|part| part.tag == key >> 3) else { continue };
        let unfolded = match key & 7 {
            0 if part.is_number => part.bytes,
            2 if part.is_number => part.bytes.saturating_mul(content.len()),
            2 if part.inside.is_empty() => part.bytes,
            2 => part.bytes.saturating_add(walk(content, part.inside)),
            _ => 0,
        };
        bytes = bytes.saturating_add(unfolded);
    }
    bytes
}
