//! Conversion of filter messages to filters.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::{Comparator, CompareOp, Filter, FuzzyKey, RowRange};
use prost::Message;

use super::{MAX_DEPTH, Result, refused, too_deep};
use crate::convert::class_not_found;
use crate::convert::comparator::{self, PACKAGE, compare_op};
use crate::proto as pb;

/// Maximum bytes of a filter. Repeated elements (ranges, keys, filters) require dozens of times
/// their bytes in memory.
const MAX_FILTER_BYTES: usize = 8 << 20;

pub(super) fn filter(proto: &pb::Filter, depth: usize) -> Result<Filter> {
    if depth >= MAX_DEPTH {
        return Err(too_deep().into());
    }
    let bytes = proto.serialized_filter.clone().unwrap_or_default();
    if bytes.len() > MAX_FILTER_BYTES {
        return Err(refused(format!(
            "a filter has {} bytes, more than {MAX_FILTER_BYTES}; use several scans or gets",
            bytes.len()
        )));
    }
    let inner = |inner: &pb::Filter| filter(inner, depth.saturating_add(1));
    Ok(match proto.name.strip_prefix(PACKAGE).unwrap_or_default() {
        "FilterList" => list(&read(bytes)?, depth)?,
        "SkipFilter" => Filter::Skip(Box::new(inner(&read::<pb::SkipFilter>(bytes)?.filter)?)),
        "WhileMatchFilter" => {
            Filter::WhileMatch(Box::new(inner(&read::<pb::WhileMatchFilter>(bytes)?.filter)?))
        }
        "FilterWrapper" => inner(&read::<pb::FilterWrapper>(bytes)?.filter)?,
        class => match compare(class, &bytes)? {
            Some(filter) => filter,
            None => match simple(class, bytes)? {
                Some(filter) => filter,
                None => return Err(refused(class_not_found(&proto.name))),
            },
        },
    })
}

fn read<M: Message + Default>(bytes: Bytes) -> Result<M> {
    M::decode(bytes).map_err(|error| refused(format!("undecodable filter message: {error}")))
}

fn list(proto: &pb::FilterList, depth: usize) -> Result<Filter> {
    use pb::filter_list::Operator;
    let filters = proto
        .filters
        .iter()
        .map(|inner| filter(inner, depth.saturating_add(1)))
        .collect::<Result<_>>()?;
    match Operator::try_from(proto.operator) {
        Ok(Operator::MustPassAll) => Ok(Filter::All(filters)),
        Ok(Operator::MustPassOne) => Ok(Filter::One(filters)),
        Err(_) => Err(refused(format!(
            "invalid operator {} of a FilterList: expected 1 (MUST_PASS_ALL) or 2 (MUST_PASS_ONE)",
            proto.operator
        ))),
    }
}

/// Returns a comparing filter; `None` if `class` is of another kind.
fn compare(class: &str, bytes: &Bytes) -> Result<Option<Filter>> {
    let bytes = bytes.clone();
    Ok(Some(match class {
        "RowFilter" => part(read::<pb::RowFilter>(bytes)?.compare_filter, Filter::Row)?,
        "FamilyFilter" => part(read::<pb::FamilyFilter>(bytes)?.compare_filter, Filter::Family)?,
        "QualifierFilter" => {
            part(read::<pb::QualifierFilter>(bytes)?.compare_filter, Filter::Qualifier)?
        }
        "ValueFilter" => part(read::<pb::ValueFilter>(bytes)?.compare_filter, Filter::Value)?,
        "SingleColumnValueFilter" => single_column_value(read(bytes)?, false)?,
        "SingleColumnValueExcludeFilter" => single_column_value(
            read::<pb::SingleColumnValueExcludeFilter>(bytes)?.single_column_value_filter,
            true,
        )?,
        "ColumnValueFilter" => {
            let pb::ColumnValueFilter { family, qualifier, compare_op: op, comparator } =
                read(bytes)?;
            Filter::ColumnValue {
                family,
                qualifier,
                op: compare_op(op)?,
                comparator: compared_with(&comparator)?,
            }
        }
        "DependentColumnFilter" => dependent_column(read(bytes)?)?,
        _ => return Ok(None),
    }))
}

/// Returns a comparator inside a filter. An error in it is an error of the filter, so it is final.
fn compared_with(proto: &pb::Comparator) -> Result<Comparator> {
    comparator::from_proto(proto).map_err(|error| refused(error.message()))
}

fn part(proto: pb::CompareFilter, make: fn(CompareOp, Comparator) -> Filter) -> Result<Filter> {
    let op = compare_op(proto.compare_op)?;
    match proto.comparator {
        Some(comparator) => Ok(make(op, compared_with(&comparator)?)),
        None => Err(refused("a comparison filter has no comparator; set one")),
    }
}

fn single_column_value(proto: pb::SingleColumnValueFilter, exclude: bool) -> Result<Filter> {
    Ok(Filter::SingleColumnValue {
        op: compare_op(proto.compare_op)?,
        comparator: compared_with(&proto.comparator)?,
        filter_if_missing: proto.filter_if_missing(),
        latest_version_only: proto.latest_version_only(),
        family: proto.column_family.unwrap_or_default(),
        qualifier: proto.column_qualifier.unwrap_or_default(),
        exclude,
    })
}

/// The operator is ignored without a comparator.
fn dependent_column(proto: pb::DependentColumnFilter) -> Result<Filter> {
    let op = compare_op(proto.compare_filter.compare_op)?;
    let drop_column = proto.drop_dependent_column();
    let check = proto
        .compare_filter
        .comparator
        .map(|comparator| Ok::<_, crate::exception::Exception>((op, compared_with(&comparator)?)));
    Ok(Filter::DependentColumn {
        family: proto.column_family.unwrap_or_default(),
        qualifier: proto.column_qualifier.unwrap_or_default(),
        drop_column,
        check: check.transpose()?,
    })
}

/// Returns a filter that neither compares nor contains others; `None` if the name is unknown.
fn simple(class: &str, bytes: Bytes) -> Result<Option<Filter>> {
    Ok(Some(match class {
        "PrefixFilter" => {
            read::<pb::PrefixFilter>(bytes)?.prefix.map_or(Filter::FilterAll, Filter::Prefix)
        }
        "ColumnPrefixFilter" => Filter::ColumnPrefix(read::<pb::ColumnPrefixFilter>(bytes)?.prefix),
        "MultipleColumnPrefixFilter" => Filter::MultipleColumnPrefix(
            read::<pb::MultipleColumnPrefixFilter>(bytes)?.sorted_prefixes,
        ),
        "ColumnRangeFilter" => column_range(read(bytes)?),
        "FirstKeyOnlyFilter" => Filter::FirstKeyOnly,
        "FirstKeyValueMatchingQualifiersFilter" => Filter::FirstKeyValueMatchingQualifiers(
            read::<pb::FirstKeyValueMatchingQualifiersFilter>(bytes)?.qualifiers,
        ),
        "KeyOnlyFilter" => Filter::KeyOnly(read::<pb::KeyOnlyFilter>(bytes)?.len_as_val),
        "PageFilter" => Filter::Page(count(class, read::<pb::PageFilter>(bytes)?.page_size)?),
        "InclusiveStopFilter" => Filter::InclusiveStop(
            read::<pb::InclusiveStopFilter>(bytes)?.stop_row_key.unwrap_or_default(),
        ),
        "ColumnCountGetFilter" => {
            Filter::ColumnCountGet(count(class, read::<pb::ColumnCountGetFilter>(bytes)?.limit)?)
        }
        "ColumnPaginationFilter" => column_pagination(class, read(bytes)?)?,
        "TimestampsFilter" => {
            let proto: pb::TimestampsFilter = read(bytes)?;
            Filter::Timestamps { can_hint: proto.can_hint(), timestamps: proto.timestamps }
        }
        "FuzzyRowFilter" => fuzzy_row(read(bytes)?),
        "MultiRowRangeFilter" => Filter::MultiRowRange(
            read::<pb::MultiRowRangeFilter>(bytes)?
                .row_range_list
                .into_iter()
                .map(row_range)
                .collect(),
        ),
        "RandomRowFilter" => Filter::RandomRow(read::<pb::RandomRowFilter>(bytes)?.chance),
        "FilterAllFilter" => Filter::FilterAll,
        _ => return Ok(None),
    }))
}

/// Returns a number that Java's constructor rejects if it is below 0.
fn count<From: Copy + std::fmt::Display, To: TryFrom<From>>(
    class: &str,
    number: From,
) -> Result<To> {
    To::try_from(number).map_err(|_| {
        refused(format!("a {class} contains the negative number {number}; use 0 or more"))
    })
}

fn column_range(proto: pb::ColumnRangeFilter) -> Filter {
    Filter::ColumnRange {
        min_inclusive: proto.min_column_inclusive(),
        max_inclusive: proto.max_column_inclusive(),
        min: proto.min_column,
        max: proto.max_column,
    }
}

/// The offset is a number or the first column, not both.
fn column_pagination(class: &str, proto: pb::ColumnPaginationFilter) -> Result<Filter> {
    let offset = if proto.column_offset.is_some() { 0 } else { proto.offset() };
    Ok(Filter::ColumnPagination {
        limit: count(class, proto.limit)?,
        offset: count(class, offset)?,
        column_offset: proto.column_offset,
    })
}

fn fuzzy_row(proto: pb::FuzzyRowFilter) -> Filter {
    let is_v2 = proto.is_mask_v2();
    let key = |pair: pb::BytesBytesPair| FuzzyKey {
        key: pair.first,
        mask: if is_v2 { pair.second } else { first_mask(pair.second) },
    };
    Filter::FuzzyRow(proto.fuzzy_keys_data.into_iter().map(key).collect())
}

/// Returns a mask in the first of its two forms. Old clients send the form of their evaluation,
/// where -1 is a fixed position and 0 a free one; only masks without other values are interpreted
/// so (HBase: `isPreprocessedMask`).
fn first_mask(mask: Bytes) -> Bytes {
    if mask.iter().all(|position| matches!(position, 0 | 0xff)) {
        mask.iter().map(|position| u8::from(*position == 0)).collect()
    } else {
        mask
    }
}

/// An empty bound means no bound.
fn row_range(proto: pb::RowRange) -> RowRange {
    let (from_inclusive, to_inclusive) = (proto.start_row_inclusive(), proto.stop_row_inclusive());
    let bound = |row: Option<Bytes>, inclusive| match row.unwrap_or_default() {
        row if row.is_empty() => Bound::Unbounded,
        row if inclusive => Bound::Included(row),
        row => Bound::Excluded(row),
    };
    RowRange {
        start: bound(proto.start_row, from_inclusive),
        end: bound(proto.stop_row, to_inclusive),
    }
}
