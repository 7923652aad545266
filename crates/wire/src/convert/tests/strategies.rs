//! Random values to convert.

use std::collections::BTreeSet;
use std::ops::Bound;

use bytes::Bytes;
use halite_types::cell::{CellParts, TAG_TTL, write_tag};
use halite_types::{
    BitOp, CellType, Cells, CellsBuilder, Comparator, CompareOp, Filter, FuzzyKey, RegexString,
    RowRange, Selection, TimeRange,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

pub(in super::super) fn any_bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..6).prop_map(Bytes::from)
}

pub(in super::super) fn some_bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 1..6).prop_map(Bytes::from)
}

pub(in super::super) fn compare_op() -> impl Strategy<Value = CompareOp> {
    use CompareOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NoOp, NotEqual};
    prop::sample::select(vec![Less, LessOrEqual, Equal, NotEqual, GreaterOrEqual, Greater, NoOp])
}

pub(in super::super) fn comparator() -> impl Strategy<Value = Comparator> {
    let regex = ("[a-z.*]{0,6}", any::<u32>(), "[A-Z0-9-]{0,8}")
        .prop_map(|(pattern, flags, charset)| RegexString { pattern, flags, charset });
    let bit_op = prop::sample::select(vec![BitOp::And, BitOp::Or, BitOp::Xor]);
    prop_oneof![
        any_bytes().prop_map(Comparator::Binary),
        any_bytes().prop_map(Comparator::BinaryPrefix),
        (any_bytes(), any::<u32>())
            .prop_map(|(value, offset)| Comparator::BinaryComponent { value, offset }),
        (bit_op, any_bytes()).prop_map(|(op, value)| Comparator::Bit(op, value)),
        "[a-z ]{0,6}".prop_map(Comparator::Substring),
        regex.prop_map(Comparator::Regex),
        any::<i64>().prop_map(Comparator::Long),
        any_bytes().prop_map(Comparator::BigDecimal),
        Just(Comparator::Null),
    ]
}

pub(in super::super) fn row_range() -> impl Strategy<Value = RowRange> {
    let bound = || {
        (some_bytes(), 0..3).prop_map(|(row, kind)| match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(row),
            _ => Bound::Excluded(row),
        })
    };
    (bound(), bound()).prop_map(|(start, end)| RowRange { start, end })
}

fn comparing() -> impl Strategy<Value = Filter> {
    let part = (compare_op(), comparator(), 0..4).prop_map(|(op, comparator, part)| match part {
        0 => Filter::Row(op, comparator),
        1 => Filter::Family(op, comparator),
        2 => Filter::Qualifier(op, comparator),
        _ => Filter::Value(op, comparator),
    });
    let single = (any_bytes(), any_bytes(), compare_op(), comparator(), any::<[bool; 3]>())
        .prop_map(
            |(
                family,
                qualifier,
                op,
                comparator,
                [filter_if_missing, latest_version_only, exclude],
            )| Filter::SingleColumnValue {
                family,
                qualifier,
                op,
                comparator,
                filter_if_missing,
                latest_version_only,
                exclude,
            },
        );
    let column = (any_bytes(), any_bytes(), compare_op(), comparator()).prop_map(
        |(family, qualifier, op, comparator)| Filter::ColumnValue {
            family,
            qualifier,
            op,
            comparator,
        },
    );
    let dependent =
        (any_bytes(), any_bytes(), any::<bool>(), prop::option::of((compare_op(), comparator())))
            .prop_map(|(family, qualifier, drop_column, check)| Filter::DependentColumn {
                family,
                qualifier,
                drop_column,
                check,
            });
    prop_oneof![part, single, column, dependent]
}

fn simple() -> impl Strategy<Value = Filter> {
    let optional = || prop::option::of(any_bytes());
    let int = || 0..=i32::MAX.cast_unsigned();
    let column_range = (optional(), optional(), any::<bool>(), any::<bool>()).prop_map(
        |(min, max, min_inclusive, max_inclusive)| Filter::ColumnRange {
            min,
            min_inclusive,
            max,
            max_inclusive,
        },
    );
    let pagination = (int(), int(), optional()).prop_map(|(limit, offset, column_offset)| {
        let offset = if column_offset.is_some() { 0 } else { offset };
        Filter::ColumnPagination { limit, offset, column_offset }
    });
    let fuzzy = (any_bytes(), any_bytes()).prop_map(|(key, mask)| FuzzyKey { key, mask });
    prop_oneof![
        any_bytes().prop_map(Filter::Prefix),
        any_bytes().prop_map(Filter::ColumnPrefix),
        vec(any_bytes(), 0..3).prop_map(Filter::MultipleColumnPrefix),
        column_range,
        Just(Filter::FirstKeyOnly),
        vec(any_bytes(), 0..3).prop_map(Filter::FirstKeyValueMatchingQualifiers),
        any::<bool>().prop_map(Filter::KeyOnly),
        (0..=i64::MAX.unsigned_abs()).prop_map(Filter::Page),
        any_bytes().prop_map(Filter::InclusiveStop),
        int().prop_map(Filter::ColumnCountGet),
        pagination,
        (vec(any::<i64>(), 0..4), any::<bool>())
            .prop_map(|(timestamps, can_hint)| Filter::Timestamps { timestamps, can_hint }),
        vec(fuzzy, 0..3).prop_map(Filter::FuzzyRow),
        vec(row_range(), 0..3).prop_map(Filter::MultiRowRange),
        (0.0f32..1.0).prop_map(Filter::RandomRow),
        Just(Filter::FilterAll),
    ]
}

pub(in super::super) fn filter() -> impl Strategy<Value = Filter> {
    prop_oneof![simple(), comparing()].prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Filter::Skip(Box::new(inner))),
            inner.clone().prop_map(|inner| Filter::WhileMatch(Box::new(inner))),
            vec(inner.clone(), 0..4).prop_map(Filter::All),
            vec(inner, 0..4).prop_map(Filter::One),
        ]
    })
}

pub(in super::super) fn time_range() -> impl Strategy<Value = TimeRange> {
    let stamp = || prop_oneof![Just(0), Just(i64::MAX), 0..1000i64];
    (stamp(), stamp()).prop_map(|(a, b)| TimeRange::new(a.min(b), a.max(b)).unwrap())
}

/// Returns the selection of a get or scan. A family is requested as a whole or with at least one
/// column, because the message cannot represent an empty list.
pub(in super::super) fn selection() -> impl Strategy<Value = Selection> {
    let qualifiers = prop::option::of(prop::collection::btree_set(any_bytes(), 1..4));
    let columns = btree_map(some_bytes(), qualifiers, 0..3);
    let limits = (
        prop::option::of(0..=i32::MAX.cast_unsigned()),
        0..=i32::MAX.cast_unsigned(),
        1..=i32::MAX.cast_unsigned(),
    );
    let ranges = btree_map(some_bytes(), time_range(), 0..2);
    (columns, time_range(), ranges, limits, prop::option::of(filter()), any::<bool>()).prop_map(
        |(
            columns,
            time_range,
            family_time_ranges,
            (family_limit, family_offset, max_versions),
            filter,
            cache_blocks,
        )| Selection {
            columns: columns
                .into_iter()
                .map(|(family, qualifiers)| (family, qualifiers.map(BTreeSet::from_iter)))
                .collect(),
            time_range,
            family_time_ranges,
            max_versions,
            family_limit,
            family_offset,
            filter,
            cache_blocks,
        },
    )
}

/// Returns the cells of one row, in order of their families: puts only, or any type.
pub(in super::super) fn cells_of(
    row: Bytes,
    puts_only: bool,
    value_bytes: impl Into<prop::collection::SizeRange>,
) -> impl Strategy<Value = Cells> {
    let code = if puts_only { vec![4u8] } else { vec![4u8, 8, 10, 12, 14] };
    let ttl = prop::option::of(any::<i64>());
    let part = (
        "[a-c]{1,2}",
        any_bytes(),
        0..=i64::MAX,
        prop::sample::select(code),
        vec(any::<u8>(), value_bytes),
        ttl,
    );
    vec(part, 1..6).prop_map(move |mut parts| {
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        let mut cells = CellsBuilder::default();
        for (family, qualifier, timestamp, code, value, ttl) in &parts {
            let mut tags = Vec::new();
            ttl.iter().for_each(|ttl| write_tag(&mut tags, TAG_TTL, &ttl.to_be_bytes()));
            let cell_type = CellType::from_code(*code).unwrap();
            let of_family =
                matches!(cell_type, CellType::DeleteFamily | CellType::DeleteFamilyVersion);
            let qualifier = if of_family { &[][..] } else { qualifier };
            let value = if cell_type == CellType::Put { &value[..] } else { &[] };
            cells.push_parts(CellParts {
                row: &row,
                family: family.as_bytes(),
                qualifier,
                timestamp: *timestamp,
                cell_type,
                value,
                tags: &tags,
            });
        }
        cells.finish()
    })
}
