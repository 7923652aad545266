//! `Get`.

use halite_types::{Get, Selection};

use super::{Result, filter, selection};
use crate::proto as pb;

/// Returns the get of a client's request.
///
/// The caller must check two fields that require another response: `existence_only`
/// (`Result.exists` is `true` if there is a cell) and `closest_row_before`, which HBase 2 and later
/// reject with `UnknownProtocolException`, as `asynchbase` expects.
///
/// # Errors
/// HBase's exception for an invalid time range, number of versions or filter.
pub fn from_proto(proto: &pb::Get) -> Result<Get> {
    let mut get = Get::new(proto.row.clone());
    get.selection = Selection {
        columns: selection::columns(&proto.column)?,
        time_range: selection::time_range(proto.time_range.as_ref())?,
        family_time_ranges: selection::family_time_ranges(&proto.cf_time_range)?,
        max_versions: selection::max_versions(proto.max_versions())?,
        family_limit: selection::limit(proto.store_limit),
        family_offset: selection::limit(proto.store_offset).unwrap_or(0),
        filter: proto.filter.as_ref().map(filter::from_proto).transpose()?,
        cache_blocks: proto.cache_blocks(),
    };
    Ok(get)
}

/// Returns the message for a get.
///
/// # Errors
/// `Unsupported` for a filter without a class in HBase.
pub fn to_proto(get: &Get) -> halite_types::Result<pb::Get> {
    let selection = &get.selection;
    Ok(pb::Get {
        row: get.row().clone(),
        column: selection::columns_to_proto(&selection.columns),
        filter: selection.filter.as_ref().map(filter::to_proto).transpose()?,
        time_range: selection::some_time_range(selection.time_range),
        cf_time_range: selection::family_time_ranges_to_proto(&selection.family_time_ranges),
        max_versions: Some(selection::java_count(selection.max_versions)),
        cache_blocks: Some(selection.cache_blocks),
        store_limit: selection.family_limit.map(selection::java_count),
        store_offset: (selection.family_offset > 0)
            .then(|| selection::java_count(selection.family_offset)),
        ..pb::Get::default()
    })
}
