//! Memory of a decoded message, computed from its bytes before decoding.
//!
//! A repeated part takes as little as two bytes on the wire and up to hundreds in memory, so an
//! allowed frame can decode to gigabytes. The walk reads tags and lengths only, descends into parts
//! with repeated fields, and adds up the memory of the decoded message in addition to the bytes it
//! shares with its frame. Only messages that may be long have tables for it (`repeated_fields.rs`);
//! of the others the length is multiplied by a bound, from the same generator.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use prost::decode_length_delimiter as varint;

use super::repeated_fields as fields;
use crate::service::{Method, Service};

/// Field of a message: a single or repeated part, or repeated numbers.
/// `repeated_fields.rs` contains those of each message.
#[derive(Clone, Copy)]
pub(super) struct RepeatedField {
    tag: usize,
    /// Memory of each element in bytes; 0 for a field that occurs once and is counted with its
    /// parent.
    bytes: usize,
    /// `true` for numbers, many of which may be packed into one part at one byte each.
    is_number: bool,
    inside: &'static [RepeatedField],
}

pub(super) const fn one(tag: usize, inside: &'static [RepeatedField]) -> RepeatedField {
    RepeatedField { tag, bytes: 0, is_number: false, inside }
}

pub(super) const fn many<T>(tag: usize, inside: &'static [RepeatedField]) -> RepeatedField {
    RepeatedField { tag, bytes: size_of::<T>(), is_number: false, inside }
}

pub(super) const fn numbers(tag: usize, bytes: usize) -> RepeatedField {
    RepeatedField { tag, bytes, is_number: true, inside: &[] }
}

/// Maximum decoded size of one byte in any other message: at worst a part of two bytes is its
/// largest element, or a byte is a number. No such message is long in practice.
const OTHERS_BYTES: usize = largest(&[fields::LARGEST_OTHER_ELEMENT.div_ceil(2), size_of::<u64>()]);

/// Returns the largest of these sizes; 0 for none.
pub(super) const fn largest(mut sizes: &[usize]) -> usize {
    let mut largest = 0;
    while let [size, rest @ ..] = sizes {
        if *size > largest {
            largest = *size;
        }
        sizes = rest;
    }
    largest
}

/// Returns the memory in bytes of a response message in addition to its frame.
pub(super) fn decoded_response_size(method: Method, message: &[u8]) -> usize {
    let parts = match method {
        Method::ClientGet => fields::GET_RESPONSE,
        Method::ClientMutate => fields::MUTATE_RESPONSE,
        Method::ClientMulti => fields::MULTI_RESPONSE,
        Method::ClientScan => fields::SCAN_RESPONSE,
        Method::MasterGetClusterStatus => fields::GET_CLUSTER_STATUS_RESPONSE,
        Method::MasterGetTableDescriptors => fields::GET_TABLE_DESCRIPTORS_RESPONSE,
        Method::MasterGetCompletedSnapshots => fields::GET_COMPLETED_SNAPSHOTS_RESPONSE,
        Method::AdminGetRegionLoad => fields::GET_REGION_LOAD_RESPONSE,
        Method::ClientExecService => &[],
        _ => return message.len().saturating_mul(OTHERS_BYTES),
    };
    walk(message, parts)
}

/// Returns the memory in bytes of a request message in addition to its frame.
pub(super) fn decoded_size(method: Method, message: &[u8]) -> usize {
    let parts = match method {
        Method::ClientGet => fields::GET_REQUEST,
        Method::ClientMutate => fields::MUTATE_REQUEST,
        Method::ClientMulti => fields::MULTI_REQUEST,
        Method::ClientScan => fields::SCAN_REQUEST,
        Method::MultiRowMutationMutateRows => fields::MUTATE_ROWS_REQUEST,
        Method::LockRequestLock => fields::LOCK_REQUEST,
        Method::MasterSnapshot => fields::SNAPSHOT_REQUEST,
        Method::MasterIsSnapshotDone => fields::IS_SNAPSHOT_DONE_REQUEST,
        Method::MasterDeleteSnapshot => fields::DELETE_SNAPSHOT_REQUEST,
        Method::MasterRestoreSnapshot => fields::RESTORE_SNAPSHOT_REQUEST,
        method if method.service() == Service::Aggregate => fields::AGGREGATE_REQUEST,
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
