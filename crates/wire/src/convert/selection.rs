//! What get and scan have in common: columns, time ranges and limits.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use halite_types::TimeRange;
use halite_types::cell::MAX_FAMILY_BYTES;
use halite_types::query::FamilyColumns;

use super::{Result, refused, shown};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;

/// Families and columns. Of a family that comes several times the columns are gathered, and naming it without columns
/// means all of them until a column follows, as HBase's `addFamily` and `addColumn` do.
///
/// # Errors
/// `NoSuchColumnFamilyException` for a name that is too long for any family.
pub(super) fn columns(columns: &[pb::Column]) -> Result<FamilyColumns> {
    let mut families = FamilyColumns::new();
    for column in columns {
        if column.family.len() > MAX_FAMILY_BYTES {
            let text = format!("there is no family {}: the name of one has {MAX_FAMILY_BYTES} bytes at most", shown(&column.family));
            return Err(Exception::new(ExceptionKind::NoSuchColumnFamily, text));
        }
        if column.qualifier.is_empty() {
            families.insert(column.family.clone(), None);
        } else {
            let qualifiers = families.entry(column.family.clone()).or_default().get_or_insert_with(BTreeSet::new);
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

/// A bound that is not there is open, so an empty message is every timestamp.
pub(super) fn time_range(range: Option<&pb::TimeRange>) -> Result<TimeRange> {
    let Some(range) = range else { return Ok(TimeRange::all()) };
    let from = range.from.map_or(0, u64::cast_signed);
    let to = range.to.map_or(i64::MAX, u64::cast_signed);
    Ok(TimeRange::new(from, to)?)
}

pub(super) fn time_range_to_proto(range: TimeRange) -> pb::TimeRange {
    pb::TimeRange { from: Some(range.min().cast_unsigned()), to: Some(range.max().cast_unsigned()) }
}

/// A time range where there is one to speak of.
pub(super) fn some_time_range(range: TimeRange) -> Option<pb::TimeRange> {
    (!range.is_all()).then(|| time_range_to_proto(range))
}

pub(super) fn family_time_ranges(ranges: &[pb::ColumnFamilyTimeRange]) -> Result<BTreeMap<Bytes, TimeRange>> {
    ranges.iter().map(|range| Ok((range.column_family.clone(), time_range(Some(&range.time_range))?))).collect()
}

pub(super) fn family_time_ranges_to_proto(ranges: &BTreeMap<Bytes, TimeRange>) -> Vec<pb::ColumnFamilyTimeRange> {
    let range =
        |(family, range): (&Bytes, &TimeRange)| pb::ColumnFamilyTimeRange { column_family: family.clone(), time_range: time_range_to_proto(*range) };
    ranges.iter().map(range).collect()
}

/// Java's `int` is 32 bits with a sign, and what it calls a `uint32` is negative from 2^31 on.
pub(super) fn max_versions(versions: u32) -> Result<u32> {
    if versions.cast_signed() <= 0 {
        return Err(refused(format!("max_versions is {}; give a number from 1 to {}", versions.cast_signed(), i32::MAX)));
    }
    Ok(versions)
}

/// A limit of cells; a negative one is none.
pub(super) fn limit(cells: Option<u32>) -> Option<u32> {
    cells.filter(|cells| cells.cast_signed() >= 0)
}

/// A count for Java, which cannot be more than its largest `int`.
pub(super) fn java_count(count: u32) -> u32 {
    count.min(i32::MAX.cast_unsigned())
}
