//! Fields common to get and scan: columns, time ranges and limits.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use halite_types::TimeRange;
use halite_types::cell::MAX_FAMILY_BYTES;
use halite_types::query::FamilyColumns;

use super::{Result, display_bytes, refused};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;

/// Returns the families and columns. The columns of a repeated family are merged. A family without
/// columns selects all of them until a column follows, as in HBase's `addFamily` and `addColumn`.
///
/// # Errors
/// `NoSuchColumnFamilyException` for a name longer than any family.
pub(super) fn columns(columns: &[pb::Column]) -> Result<FamilyColumns> {
    let mut families = FamilyColumns::new();
    for column in columns {
        if column.family.len() > MAX_FAMILY_BYTES {
            let text = format!(
                "unknown family {}: a family name has at most {MAX_FAMILY_BYTES} bytes",
                display_bytes(&column.family)
            );
            return Err(Exception::new(ExceptionKind::NoSuchColumnFamily, text));
        }
        if column.qualifier.is_empty() {
            families.insert(column.family.clone(), None);
        } else {
            let qualifiers = families
                .entry(column.family.clone())
                .or_default()
                .get_or_insert_with(BTreeSet::new);
            qualifiers.extend(column.qualifier.iter().cloned());
        }
    }
    Ok(families)
}

pub(super) fn columns_to_proto(families: &FamilyColumns) -> Vec<pb::Column> {
    let column = |(family, qualifiers): (&Bytes, &Option<BTreeSet<Bytes>>)| pb::Column {
        family: family.clone(),
        qualifier: qualifiers.iter().flatten().cloned().collect(),
    };
    families.iter().map(column).collect()
}

/// A missing bound is open, so an empty message is every timestamp.
pub(super) fn time_range(range: Option<&pb::TimeRange>) -> Result<TimeRange> {
    let Some(range) = range else { return Ok(TimeRange::all()) };
    let from = range.from.map_or(0, u64::cast_signed);
    let to = range.to.map_or(i64::MAX, u64::cast_signed);
    Ok(TimeRange::new(from, to)?)
}

pub(super) fn time_range_to_proto(range: TimeRange) -> pb::TimeRange {
    pb::TimeRange { from: Some(range.min().cast_unsigned()), to: Some(range.max().cast_unsigned()) }
}

/// Returns the message of a time range unless it contains all timestamps.
pub(super) fn some_time_range(range: TimeRange) -> Option<pb::TimeRange> {
    (!range.is_all()).then(|| time_range_to_proto(range))
}

pub(super) fn family_time_ranges(
    ranges: &[pb::ColumnFamilyTimeRange],
) -> Result<BTreeMap<Bytes, TimeRange>> {
    ranges
        .iter()
        .map(|range| Ok((range.column_family.clone(), time_range(Some(&range.time_range))?)))
        .collect()
}

pub(super) fn family_time_ranges_to_proto(
    ranges: &BTreeMap<Bytes, TimeRange>,
) -> Vec<pb::ColumnFamilyTimeRange> {
    let range = |(family, range): (&Bytes, &TimeRange)| pb::ColumnFamilyTimeRange {
        column_family: family.clone(),
        time_range: time_range_to_proto(*range),
    };
    ranges.iter().map(range).collect()
}

/// Java's `int` is a signed 32-bit number, so a `uint32` of 2^31 or more is negative.
pub(super) fn max_versions(versions: u32) -> Result<u32> {
    if versions.cast_signed() <= 0 {
        return Err(refused(format!(
            "max_versions is {}; use a number from 1 to {}",
            versions.cast_signed(),
            i32::MAX
        )));
    }
    Ok(versions)
}

/// Returns a limit of cells; a negative one means no limit.
pub(super) fn limit(cells: Option<u32>) -> Option<u32> {
    cells.filter(|cells| cells.cast_signed() >= 0)
}

/// Returns a count cut to the maximum of Java's `int`.
pub(super) fn java_count(count: u32) -> u32 {
    count.min(i32::MAX.cast_unsigned())
}
