//! What a message takes in memory, told from its bytes before it is decoded.
//!
//! A part that may stand in a message many times takes two bytes on the wire and up to hundreds in memory, so a frame that
//! is allowed can unfold to gigabytes. The walk here looks at tags and lengths only, goes into those parts that hold many
//! of something, and adds up what the decoded message has beside the bytes it shares with its frame.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::Bytes;
use prost::decode_length_delimiter as varint;

use crate::proto as pb;
use crate::service::{Method, Service};
use pb::mutation_proto::ColumnValue;
use pb::mutation_proto::column_value::QualifierValue;

/// A field of a message that is a part, or many.
#[derive(Clone, Copy)]
struct Part {
    tag: usize,
    /// Bytes in memory of each; 0 for a field that is there once and counted with what it is in.
    bytes: usize,
    inside: &'static [Part],
}

const fn one(tag: usize, inside: &'static [Part]) -> Part {
    Part { tag, bytes: 0, inside }
}

const fn many<T>(tag: usize, inside: &'static [Part]) -> Part {
    Part { tag, bytes: size_of::<T>(), inside }
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
const MUTATE_ROWS_REQUEST: &[Part] = &[many::<pb::MutationProto>(1, MUTATION), many::<pb::Condition>(5, &[])];

/// What a byte of any other message can unfold to, about: none of those has business being long.
const OTHERS_BYTES: usize = 32;

/// Bytes that the message of a call takes in memory beside its frame.
pub(super) fn unfolded_bytes(method: Method, message: &[u8]) -> usize {
    let parts = match method {
        Method::ClientGet => GET_REQUEST,
        Method::ClientMutate => MUTATE_REQUEST,
        Method::ClientMulti => MULTI_REQUEST,
        Method::ClientScan => SCAN_REQUEST,
        Method::MultiRowMutationMutateRows => MUTATE_ROWS_REQUEST,
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
        if key & 7 == 2
            && let Some(part) = parts.iter().find(|part| part.tag == key >> 3)
        {
            let inside = if part.inside.is_empty() { 0 } else { walk(content, part.inside) };
            bytes = bytes.saturating_add(part.bytes).saturating_add(inside);
        }
    }
    bytes
}
