//! Conversion of filters to their messages, with the fields that HBase's classes write.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::{Comparator, CompareOp, Error, ErrorKind, Filter, FuzzyKey, Result, RowRange};
use prost::Message;

use super::{MAX_DEPTH, too_deep};
use crate::convert::comparator::{self, PACKAGE, compare_type};
use crate::proto as pb;

pub(super) fn filter(filter: &Filter, depth: usize) -> Result<pb::Filter> {
    use pb::filter_list::Operator;
    if depth >= MAX_DEPTH {
        return Err(too_deep());
    }
    let inner = |inner: &Filter| self::filter(inner, depth.saturating_add(1));
    let list = |operator: Operator, filters: &[Filter]| {
        Ok(named(
            "FilterList",
            &pb::FilterList {
                operator: operator.into(),
                filters: filters.iter().map(inner).collect::<Result<_>>()?,
            },
        ))
    };
    match filter {
        Filter::All(filters) => list(Operator::MustPassAll, filters),
        Filter::One(filters) => list(Operator::MustPassOne, filters),
        Filter::Skip(skipped) => {
            Ok(named("SkipFilter", &pb::SkipFilter { filter: inner(skipped)? }))
        }
        Filter::WhileMatch(matched) => {
            Ok(named("WhileMatchFilter", &pb::WhileMatchFilter { filter: inner(matched)? }))
        }
        Filter::Row(..)
        | Filter::Family(..)
        | Filter::Qualifier(..)
        | Filter::Value(..)
        | Filter::SingleColumnValue { .. }
        | Filter::ColumnValue { .. }
        | Filter::DependentColumn { .. } => compare(filter),
        other => simple(other),
    }
}

fn named(class: &str, message: &impl Message) -> pb::Filter {
    pb::Filter {
        name: format!("{PACKAGE}{class}"),
        serialized_filter: Some(message.encode_to_vec().into()),
    }
}

fn unsupported(filter: &Filter) -> Error {
    Error::new(ErrorKind::Unsupported, format!("HBase has no class for the filter {filter:?}"))
}

/// Returns the message of a comparing filter.
fn compare(filter: &Filter) -> Result<pb::Filter> {
    let part = |op: CompareOp, comparator: &Comparator| pb::CompareFilter {
        compare_op: compare_type(op),
        comparator: Some(comparator::to_proto(comparator)),
    };
    Ok(match filter {
        Filter::Row(op, comparator) => {
            named("RowFilter", &pb::RowFilter { compare_filter: part(*op, comparator) })
        }
        Filter::Family(op, comparator) => {
            named("FamilyFilter", &pb::FamilyFilter { compare_filter: part(*op, comparator) })
        }
        Filter::Qualifier(op, comparator) => {
            named("QualifierFilter", &pb::QualifierFilter { compare_filter: part(*op, comparator) })
        }
        Filter::Value(op, comparator) => {
            named("ValueFilter", &pb::ValueFilter { compare_filter: part(*op, comparator) })
        }
        Filter::SingleColumnValue { .. } => single_column_value(filter)?,
        Filter::ColumnValue { family, qualifier, op, comparator } => {
            let (family, qualifier) = (family.clone(), qualifier.clone());
            let (compare_op, comparator) = (compare_type(*op), comparator::to_proto(comparator));
            named(
                "ColumnValueFilter",
                &pb::ColumnValueFilter { family, qualifier, compare_op, comparator },
            )
        }
        Filter::DependentColumn { family, qualifier, drop_column, check } => {
            let compare_filter = match check {
                Some((op, comparator)) => part(*op, comparator),
                None => pb::CompareFilter {
                    compare_op: compare_type(CompareOp::NoOp),
                    comparator: None,
                },
            };
            let (column_family, column_qualifier) = (Some(family.clone()), Some(qualifier.clone()));
            let drop_dependent_column = Some(*drop_column);
            let message = pb::DependentColumnFilter {
                compare_filter,
                column_family,
                column_qualifier,
                drop_dependent_column,
            };
            named("DependentColumnFilter", &message)
        }
        other => return Err(unsupported(other)),
    })
}

fn single_column_value(filter: &Filter) -> Result<pb::Filter> {
    let Filter::SingleColumnValue {
        family,
        qualifier,
        op,
        comparator,
        filter_if_missing,
        latest_version_only,
        exclude,
    } = filter
    else {
        return Err(unsupported(filter));
    };
    let message = pb::SingleColumnValueFilter {
        column_family: Some(family.clone()),
        column_qualifier: Some(qualifier.clone()),
        compare_op: compare_type(*op),
        comparator: comparator::to_proto(comparator),
        filter_if_missing: Some(*filter_if_missing),
        latest_version_only: Some(*latest_version_only),
    };
    Ok(if *exclude {
        named(
            "SingleColumnValueExcludeFilter",
            &pb::SingleColumnValueExcludeFilter { single_column_value_filter: message },
        )
    } else {
        named("SingleColumnValueFilter", &message)
    })
}

/// Returns the message of a filter that neither compares nor contains others.
fn simple(filter: &Filter) -> Result<pb::Filter> {
    Ok(match filter {
        Filter::Prefix(prefix) => {
            named("PrefixFilter", &pb::PrefixFilter { prefix: Some(prefix.clone()) })
        }
        Filter::ColumnPrefix(prefix) => {
            named("ColumnPrefixFilter", &pb::ColumnPrefixFilter { prefix: prefix.clone() })
        }
        Filter::MultipleColumnPrefix(prefixes) => named(
            "MultipleColumnPrefixFilter",
            &pb::MultipleColumnPrefixFilter { sorted_prefixes: prefixes.clone() },
        ),
        Filter::ColumnRange { min, min_inclusive, max, max_inclusive } => {
            let (min_column, max_column) = (min.clone(), max.clone());
            let (min_column_inclusive, max_column_inclusive) =
                (Some(*min_inclusive), Some(*max_inclusive));
            named(
                "ColumnRangeFilter",
                &pb::ColumnRangeFilter {
                    min_column,
                    min_column_inclusive,
                    max_column,
                    max_column_inclusive,
                },
            )
        }
        Filter::FirstKeyOnly => named("FirstKeyOnlyFilter", &pb::FirstKeyOnlyFilter {}),
        Filter::FirstKeyValueMatchingQualifiers(qualifiers) => {
            let message =
                pb::FirstKeyValueMatchingQualifiersFilter { qualifiers: qualifiers.clone() };
            named("FirstKeyValueMatchingQualifiersFilter", &message)
        }
        Filter::KeyOnly(len_as_val) => {
            named("KeyOnlyFilter", &pb::KeyOnlyFilter { len_as_val: *len_as_val })
        }
        Filter::Page(rows) => named(
            "PageFilter",
            &pb::PageFilter { page_size: i64::try_from(*rows).unwrap_or(i64::MAX) },
        ),
        Filter::InclusiveStop(row) => named(
            "InclusiveStopFilter",
            &pb::InclusiveStopFilter { stop_row_key: Some(row.clone()) },
        ),
        Filter::ColumnCountGet(limit) => {
            named("ColumnCountGetFilter", &pb::ColumnCountGetFilter { limit: int(*limit) })
        }
        Filter::ColumnPagination { limit, offset, column_offset } => {
            let offset = column_offset.is_none().then(|| int(*offset));
            named(
                "ColumnPaginationFilter",
                &pb::ColumnPaginationFilter {
                    limit: int(*limit),
                    offset,
                    column_offset: column_offset.clone(),
                },
            )
        }
        Filter::Timestamps { timestamps, can_hint } => named(
            "TimestampsFilter",
            &pb::TimestampsFilter { timestamps: timestamps.clone(), can_hint: Some(*can_hint) },
        ),
        Filter::FuzzyRow(keys) => {
            let pair = |key: &FuzzyKey| pb::BytesBytesPair {
                first: key.key.clone(),
                second: key.mask.clone(),
            };
            named(
                "FuzzyRowFilter",
                &pb::FuzzyRowFilter {
                    fuzzy_keys_data: keys.iter().map(pair).collect(),
                    is_mask_v2: Some(true),
                },
            )
        }
        Filter::MultiRowRange(ranges) => named(
            "MultiRowRangeFilter",
            &pb::MultiRowRangeFilter { row_range_list: ranges.iter().map(row_range).collect() },
        ),
        Filter::RandomRow(chance) => {
            named("RandomRowFilter", &pb::RandomRowFilter { chance: *chance })
        }
        Filter::FilterAll => named("FilterAllFilter", &pb::FilterAllFilter {}),
        // Listed, so that the compiler reports a new filter here.
        Filter::Row(..)
        | Filter::Family(..)
        | Filter::Qualifier(..)
        | Filter::Value(..)
        | Filter::SingleColumnValue { .. }
        | Filter::ColumnValue { .. }
        | Filter::DependentColumn { .. }
        | Filter::WhileMatch(_)
        | Filter::Skip(_)
        | Filter::All(_)
        | Filter::One(_) => return Err(unsupported(filter)),
    })
}

/// Returns a count as Java's `int`.
fn int(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn row_range(range: &RowRange) -> pb::RowRange {
    let bound = |bound: &Bound<Bytes>, open_inclusive| match bound {
        Bound::Unbounded => (Some(Bytes::new()), Some(open_inclusive)),
        Bound::Included(row) => (Some(row.clone()), Some(true)),
        Bound::Excluded(row) => (Some(row.clone()), Some(false)),
    };
    let (start_row, start_row_inclusive) = bound(&range.start, true);
    let (stop_row, stop_row_inclusive) = bound(&range.end, false);
    pb::RowRange { start_row, start_row_inclusive, stop_row, stop_row_inclusive }
}
