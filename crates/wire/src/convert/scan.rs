//! `Scan` in the message that opens a scanner.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::{RowRange, Scan, Selection};

use super::{Result, display_bytes, filter, flag, refused, selection};
use crate::proto as pb;
use pb::scan::ReadType;

const ISOLATION_LEVEL: &str = "_isolationlevel_";
const RAW: &str = "_raw_";

/// Scan and the other fields of its message.
///
/// The client's options of single responses (rows, limits, partial results, heartbeats) are in the
/// `ScanRequest`.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the message, each of its own")]
pub struct ScanQuery {
    /// Cells to read. Its `limit` is not part of the message: that is `ScanRequest.limit_of_rows`.
    pub scan: Scan,
    /// `true` if cells of unfinished writes are read too (attribute `_isolationlevel_`).
    pub read_uncommitted: bool,
    /// Read point of an earlier scanner of this region that was lost, at which the scan continues.
    pub mvcc_read_point: Option<u64>,
    /// `true` if early responses contain the row that the scan has reached.
    pub need_cursor_result: bool,
    /// Rows per response, as a hint of the client; `ScanRequest.number_of_rows` takes precedence.
    pub caching: Option<u32>,
    /// `true` if the client accepts partial rows.
    pub allow_partial_results: bool,
    /// Client's preferred read type of files.
    pub read_type: ReadType,
    /// `true` if responses contain the bytes of blocks read for each row.
    pub query_metrics: bool,
}

impl From<Scan> for ScanQuery {
    fn from(scan: Scan) -> Self {
        Self { scan, ..Self::default() }
    }
}

/// Returns the scan of a client's request. Its `max_result_bytes` is `usize::MAX` if the client set
/// no limit.
///
/// A message with equal, non-empty bounds requests that one row, unless it excludes its stop row.
/// In a reversed scan `start_row` is the upper end; the range of the result is always in ascending
/// order.
///
/// # Errors
/// HBase's exception for an invalid time range, number of versions, attribute or filter.
pub fn from_proto(proto: &pb::Scan) -> Result<ScanQuery> {
    let selection = Selection {
        columns: selection::columns(&proto.column)?,
        time_range: selection::time_range(proto.time_range.as_ref())?,
        family_time_ranges: selection::family_time_ranges(&proto.cf_time_range)?,
        max_versions: selection::max_versions(proto.max_versions())?,
        family_limit: selection::limit(proto.store_limit),
        family_offset: selection::limit(proto.store_offset).unwrap_or(0),
        filter: proto.filter.as_ref().map(filter::from_proto).transpose()?,
        cache_blocks: proto.cache_blocks(),
    };
    let scan = Scan {
        range: range(proto),
        selection,
        reverse: proto.reversed(),
        raw: flag(&proto.attribute, RAW)?.unwrap_or(false),
        limit: None,
        batch: proto
            .batch_size
            .filter(|cells| cells.cast_signed() > 0)
            .and_then(|cells| usize::try_from(cells).ok()),
        max_result_bytes: max_result_bytes(proto.max_result_size),
        load_families_on_demand: proto.load_column_families_on_demand,
        meter: None,
    };
    Ok(ScanQuery {
        scan,
        read_uncommitted: read_uncommitted(proto)?,
        mvcc_read_point: proto.mvcc_read_point.filter(|point| point.cast_signed() > 0),
        need_cursor_result: proto.need_cursor_result(),
        caching: proto.caching,
        allow_partial_results: proto.allow_partial_results(),
        read_type: if proto.small() && proto.read_type.is_none() {
            ReadType::Pread
        } else {
            proto.read_type()
        },
        query_metrics: proto.query_metrics_enabled(),
    })
}

fn range(proto: &pb::Scan) -> RowRange {
    let (start, stop) =
        (proto.start_row.clone().unwrap_or_default(), proto.stop_row.clone().unwrap_or_default());
    // Clients without the flag request one row with equal bounds.
    let includes_stop = proto.include_stop_row.unwrap_or(start == stop);
    let (first, last) = (bound(start, proto.include_start_row()), bound(stop, includes_stop));
    if proto.reversed() {
        RowRange { start: last, end: first }
    } else {
        RowRange { start: first, end: last }
    }
}

fn bound(row: Bytes, inclusive: bool) -> Bound<Bytes> {
    match row {
        row if row.is_empty() => Bound::Unbounded,
        row if inclusive => Bound::Included(row),
        row => Bound::Excluded(row),
    }
}

/// Java omits the field if there is no limit; 0 and values that are negative in Java mean no limit
/// too.
fn max_result_bytes(size: Option<u64>) -> usize {
    let limited = size.filter(|size| size.cast_signed() > 0);
    limited.map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX))
}

/// The attribute is one byte, the number of a level: 0 committed, 1 uncommitted.
fn read_uncommitted(proto: &pb::Scan) -> Result<bool> {
    match super::attribute(&proto.attribute, ISOLATION_LEVEL) {
        None | Some([0]) => Ok(false),
        Some([1]) => Ok(true),
        Some(level) => {
            let text = format!(
                "invalid attribute {ISOLATION_LEVEL} {}: expected one byte, 0 (committed) or 1 \
                 (uncommitted)",
                display_bytes(level)
            );
            Err(refused(text))
        }
    }
}

/// Returns the message that opens a scanner for a scan.
///
/// A client that scans several regions limits the range to each region first.
///
/// # Errors
/// `Unsupported` for a filter without a class in HBase.
pub fn to_proto(query: &ScanQuery) -> halite_types::Result<pb::Scan> {
    let (scan, selection) = (&query.scan, &query.scan.selection);
    let (first, last) = if scan.reverse {
        (&scan.range.end, &scan.range.start)
    } else {
        (&scan.range.start, &scan.range.end)
    };
    let result_size =
        u64::try_from(scan.max_result_bytes).unwrap_or(u64::MAX).min(i64::MAX.unsigned_abs());
    Ok(pb::Scan {
        column: selection::columns_to_proto(&selection.columns),
        attribute: attributes(query),
        start_row: row_of(first),
        stop_row: row_of(last),
        include_start_row: Some(!matches!(first, Bound::Excluded(_))),
        include_stop_row: Some(matches!(last, Bound::Included(_))),
        filter: selection.filter.as_ref().map(filter::to_proto).transpose()?,
        time_range: selection::some_time_range(selection.time_range),
        cf_time_range: selection::family_time_ranges_to_proto(&selection.family_time_ranges),
        max_versions: Some(selection::java_count(selection.max_versions)),
        cache_blocks: Some(selection.cache_blocks),
        store_limit: selection.family_limit.map(selection::java_count),
        store_offset: (selection.family_offset > 0)
            .then(|| selection::java_count(selection.family_offset)),
        batch_size: scan
            .batch
            .map(|cells| selection::java_count(u32::try_from(cells).unwrap_or(u32::MAX))),
        max_result_size: (scan.max_result_bytes < usize::MAX).then_some(result_size),
        reversed: scan.reverse.then_some(true),
        // HBase cannot load families on demand (after a filter on another family has passed the
        // row) in a reverse scan. It tries to by default and rejects such a scan.
        load_column_families_on_demand: if scan.reverse {
            Some(false)
        } else {
            scan.load_families_on_demand
        },
        caching: query.caching,
        allow_partial_results: query.allow_partial_results.then_some(true),
        mvcc_read_point: query.mvcc_read_point,
        read_type: (query.read_type != ReadType::Default).then_some(query.read_type.into()),
        need_cursor_result: query.need_cursor_result.then_some(true),
        query_metrics_enabled: query.query_metrics.then_some(true),
        ..pb::Scan::default()
    })
}

fn attributes(query: &ScanQuery) -> Vec<pb::NameBytesPair> {
    let one = |name: &str, byte: u8| pb::NameBytesPair {
        name: name.to_string(),
        value: Some(Bytes::copy_from_slice(&[byte])),
    };
    let raw = query.scan.raw.then(|| one(RAW, 0xff));
    raw.into_iter().chain(query.read_uncommitted.then(|| one(ISOLATION_LEVEL, 1))).collect()
}

fn row_of(bound: &Bound<Bytes>) -> Option<Bytes> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(row) | Bound::Excluded(row) => Some(row.clone()),
    }
}
