//! What a message takes in memory, told from its bytes before it is decoded.
//!
//! A part that may stand in a message many times takes two bytes on the wire and up to hundreds in memory, so a frame that
//! is allowed can unfold to gigabytes. The walk here looks at tags and lengths only, goes into those parts that hold many
//! of something, and adds up what the decoded message has beside the bytes it shares with its frame.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::Bytes;
use halite_types::Row;
use prost::decode_length_delimiter as varint;

use crate::proto as pb;
use crate::service::{Method, Service};
use pb::mutation_proto::ColumnValue;
use pb::mutation_proto::column_value::QualifierValue;

/// A field of a message that is a part, or many, or many numbers.
#[derive(Clone, Copy)]
struct Part {
    tag: usize,
    /// Bytes in memory of each; 0 for a field that is there once and counted with what it is in.
    bytes: usize,
    /// Whether it is a number, of which many may come in one part, a byte each.
    is_number: bool,
    inside: &'static [Part],
}

const fn one(tag: usize, inside: &'static [Part]) -> Part {
    Part { tag, bytes: 0, is_number: false, inside }
}

const fn many<T>(tag: usize, inside: &'static [Part]) -> Part {
    Part { tag, bytes: size_of::<T>(), is_number: false, inside }
}

const fn numbers(tag: usize, bytes: usize) -> Part {
    Part { tag, bytes, is_number: true, inside: &[] }
}

const COLUMN: &[Part] = &[many::<Bytes>(2, &[])];
const GET: &[Part] = &[many::<pb::Column>(2, COLUMN), many::<pb::NameBytesPair>(3, &[]), many::<pb::ColumnFamilyTimeRange>(13, &[])];
const SCAN: &[Part] = &[many::<pb::Column>(1, COLUMN), many::<pb::NameBytesPair>(2, &[]), many::<pb::ColumnFamilyTimeRange>(19, &[])];
const COLUMN_VALUE: &[Part] = &[many::<QualifierValue>(2, &[])];
const MUTATION: &[Part] = &[many::<ColumnValue>(3, COLUMN_VALUE), many::<pb::NameBytesPair>(5, &[])];
const ACTION: &[Part] = &[one(2, MUTATION), one(3, GET)];
const REGION_ACTION: &[Part] = &[many::<pb::Action>(3, ACTION)];

const GET_REQUEST: &[Part] = &[one(2, GET)];
const MUTATE_REQUEST: &[Part] = &[one(2, MUTATION)];
const SCAN_REQUEST: &[Part] = &[one(2, SCAN)];
const MULTI_REQUEST: &[Part] = &[many::<pb::RegionAction>(1, REGION_ACTION)];
const AGGREGATE_REQUEST: &[Part] = &[one(2, SCAN)];
const LOCK_REQUEST: &[Part] = &[many::<pb::RegionInfo>(4, &[])];
const MUTATE_ROWS_REQUEST: &[Part] = &[many::<pb::MutationProto>(1, MUTATION), many::<pb::Condition>(5, &[])];

/// What a byte of any other message can unfold to: a part of two bytes is a family of a table at worst. None of those has business
/// being long.
const OTHERS_BYTES: usize = size_of::<pb::ColumnFamilySchema>() / 2;

const RESULT: &[Part] = &[many::<pb::Cell>(1, &[])];
const RESULT_OR_EXCEPTION: &[Part] = &[one(2, RESULT)];
const REGION_ACTION_RESULT: &[Part] = &[many::<pb::ResultOrException>(1, RESULT_OR_EXCEPTION)];
const STATISTICS: &[Part] = &[many::<pb::RegionSpecifier>(1, &[]), many::<pb::RegionLoadStats>(2, &[])];
const REGION_LOAD: &[Part] = &[many::<pb::StoreSequenceId>(18, &[])];
const USER_LOAD: &[Part] = &[many::<pb::ClientMetrics>(2, &[])];
const SERVER_LOAD: &[Part] = &[
    many::<pb::RegionLoad>(5, REGION_LOAD),
    many::<pb::Coprocessor>(6, &[]),
    many::<pb::ReplicationLoadSource>(10, &[]),
    many::<pb::UserLoad>(12, USER_LOAD),
    many::<pb::ServerTask>(15, &[]),
];
const CLUSTER_STATUS: &[Part] = &[
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
const FAMILY: &[Part] = &[many::<pb::BytesBytesPair>(2, &[]), many::<pb::NameStringPair>(3, &[])];
const TABLE: &[Part] = &[many::<pb::BytesBytesPair>(2, &[]), many::<pb::ColumnFamilySchema>(3, FAMILY), many::<pb::NameStringPair>(4, &[])];

/// Of an answer with one row.
const RESULT_RESPONSE: &[Part] = &[one(1, RESULT)];
const MULTI_RESPONSE: &[Part] = &[many::<pb::RegionActionResult>(1, REGION_ACTION_RESULT), one(3, STATISTICS)];
/// Each count and each result becomes a row.
const SCAN_RESPONSE: &[Part] = &[
    numbers(1, size_of::<u32>() + size_of::<Row>()),
    many::<(pb::Result, Row)>(5, RESULT),
    numbers(7, size_of::<bool>()),
    one(10, &[many::<pb::NameInt64Pair>(1, &[])]),
    many::<pb::QueryMetrics>(13, &[]),
];

/// Bytes that the message of an answer takes in memory beside its frame.
pub(super) fn unfolded_answer_bytes(method: Method, message: &[u8]) -> usize {
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

/// Bytes that the message of a call takes in memory beside its frame.
pub(super) fn unfolded_bytes(method: Method, message: &[u8]) -> usize {
    let parts = match method {
        Method::ClientGet => GET_REQUEST,
        Method::ClientMutate => MUTATE_REQUEST,
        Method::ClientMulti => MULTI_REQUEST,
        Method::ClientScan => SCAN_REQUEST,
        Method::MultiRowMutationMutateRows => MUTATE_ROWS_REQUEST,
        Method::LockRequestLock => LOCK_REQUEST,
        method if method.service() == Service::Aggregate => AGGREGATE_REQUEST,
        // The message of the endpoint stands in it as bytes.
        Method::ClientExecService => &[],
        _ => return message.len().saturating_mul(OTHERS_BYTES),
    };
    walk(message, parts)
}

/// Adds up what stands in a message. Where it is damaged the walk ends, as decoding does.
fn walk(mut rest: &[u8], parts: &[Part]) -> usize {
    let mut bytes = 0usize;
    while let Ok(key) = varint(&mut rest) {
        let length = match key & 7 {
            0 => varint(&mut rest).map(|_| 0),
            1 => Ok(8),
            2 => varint(&mut rest),
            5 => Ok(4),
            // A group, which is passed over with what is in it. As if that stood here, so that nothing hides behind one.
            _ => Ok(0),
        };
        let Some((content, behind)) = length.ok().and_then(|length| rest.split_at_checked(length)) else { break };
        rest = behind;
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
