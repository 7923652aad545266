//! Filters and comparators: the bytes of HBase 2.6.4, encoded and decoded.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::{
    BitOp, Comparator, CompareOp, ErrorKind, Filter, FuzzyKey, RegexString, RowRange,
};
use proptest::prelude::*;
use prost::Message;

use super::super::{comparator, filter};
use super::{bytes, hex, strategies};
use crate::exception::ExceptionKind;
use crate::proto as pb;

const PACKAGE: &str = "org.apache.hadoop.hbase.filter.";

fn binary(value: &str) -> Comparator {
    Comparator::Binary(bytes(value))
}

/// Bytes written by `hbase-client` 2.6.4, in the order of [`comparators`] and [`filters`].
const WRITTEN: &str = include_str!("../../../testdata/serialized_filters.txt");

/// Returns the lines of [`WRITTEN`] as class and bytes.
fn written() -> impl Iterator<Item = (String, Bytes)> {
    let line = |line: &str| {
        let words: Vec<_> = line.split(' ').take(2).collect();
        (
            format!("{PACKAGE}{}", words[0]),
            if words[1] == "-" { Bytes::new() } else { hex(words[1]) },
        )
    };
    WRITTEN.lines().filter(|line| !line.starts_with('#')).map(line)
}

fn comparators() -> Vec<Comparator> {
    vec![
        binary("ab"),
        Comparator::BinaryPrefix(bytes("ab")),
        Comparator::Bit(BitOp::And, bytes("\x01")),
        Comparator::Null,
        Comparator::Regex(RegexString::new("a.*b")),
        Comparator::Substring("abc".into()),
        Comparator::Long(5),
        Comparator::BigDecimal(hex("000000010f")),
        Comparator::BinaryComponent { value: bytes("x"), offset: 2 },
    ]
}

fn single_column_value(filter_if_missing: bool, exclude: bool) -> Filter {
    let (op, comparator, latest_version_only) = (CompareOp::Equal, binary("v"), !filter_if_missing);
    Filter::SingleColumnValue {
        family: bytes("f"),
        qualifier: bytes("q"),
        op,
        comparator,
        filter_if_missing,
        latest_version_only,
        exclude,
    }
}

fn filters() -> Vec<Filter> {
    let range = |start: &str, end: Bound<&str>| RowRange {
        start: Bound::Included(bytes(start)),
        end: end.map(bytes),
    };
    let (family, qualifier) = (bytes("f"), bytes("q"));
    let prefix = || Filter::Prefix(bytes("r"));
    vec![
        prefix(),
        Filter::Page(10),
        Filter::Row(CompareOp::Equal, binary("r")),
        Filter::Value(CompareOp::Greater, binary("v")),
        Filter::Qualifier(CompareOp::Equal, binary("q")),
        Filter::Family(CompareOp::Equal, binary("f")),
        single_column_value(false, false),
        single_column_value(true, false),
        single_column_value(false, true),
        Filter::ColumnValue {
            family: family.clone(),
            qualifier: qualifier.clone(),
            op: CompareOp::Equal,
            comparator: binary("v"),
        },
        Filter::All(vec![prefix(), Filter::KeyOnly(false)]),
        Filter::One(vec![prefix()]),
        Filter::FirstKeyOnly,
        Filter::KeyOnly(true),
        Filter::ColumnPrefix(bytes("q")),
        Filter::MultipleColumnPrefix(vec![bytes("a"), bytes("b")]),
        Filter::ColumnRange {
            min: Some(bytes("a")),
            min_inclusive: true,
            max: Some(bytes("c")),
            max_inclusive: false,
        },
        Filter::ColumnPagination { limit: 2, offset: 1, column_offset: None },
        Filter::ColumnPagination { limit: 2, offset: 0, column_offset: Some(bytes("q")) },
        Filter::ColumnCountGet(3),
        Filter::InclusiveStop(bytes("r9")),
        Filter::Timestamps { timestamps: vec![5, 300], can_hint: false },
        Filter::FuzzyRow(vec![FuzzyKey { key: bytes("r?9"), mask: hex("000100") }]),
        Filter::MultiRowRange(vec![range("a", Bound::Excluded("c")), range("x", Bound::Unbounded)]),
        Filter::RandomRow(0.5),
        Filter::Skip(Box::new(Filter::Value(CompareOp::NotEqual, binary("v")))),
        Filter::WhileMatch(Box::new(prefix())),
        Filter::DependentColumn { family, qualifier, drop_column: true, check: None },
        Filter::FirstKeyValueMatchingQualifiers(vec![bytes("q1"), bytes("q2")]),
    ]
}

#[test]
fn comparators_match_bytes_of_hbase() {
    for (wanted, (name, bytes)) in comparators().into_iter().zip(written()) {
        let proto = pb::Comparator { name, serialized_comparator: Some(bytes) };
        assert_eq!(comparator::to_proto(&wanted), proto);
        assert_eq!(comparator::from_proto(&proto).unwrap(), wanted);
    }
}

#[test]
fn filters_match_bytes_of_hbase() {
    let comparators = comparators().len();
    assert_eq!(comparators + filters().len(), written().count());
    for (wanted, (name, bytes)) in filters().into_iter().zip(written().skip(comparators)) {
        let proto = pb::Filter { name, serialized_filter: Some(bytes) };
        assert_eq!(filter::to_proto(&wanted).unwrap(), proto);
        assert_eq!(filter::from_proto(&proto).unwrap(), wanted);
    }
}

#[test]
fn substring_is_sent_in_lower_case() {
    let proto = comparator::to_proto(&Comparator::Substring("AbC".into()));
    assert_eq!(proto.serialized_comparator.unwrap(), hex("0a03616263"));
}

fn named(class: &str, message: &impl Message) -> pb::Filter {
    pb::Filter {
        name: format!("{PACKAGE}{class}"),
        serialized_filter: Some(message.encode_to_vec().into()),
    }
}

#[test]
fn unknown_filter_class_is_reported_as_not_retryable() {
    for name in ["foo.Bar", "PrefixFilter", "org.apache.hadoop.hbase.filter.Bar", ""] {
        let refused =
            filter::from_proto(&pb::Filter { name: name.into(), serialized_filter: None })
                .unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "org.apache.hadoop.hbase.DoNotRetryIOException: java.lang.ClassNotFoundException: \
                 {name}"
            )
        );
    }
}

#[test]
fn unknown_comparator_is_final_only_inside_filter() {
    let odd = pb::Comparator { name: "foo.Bar".into(), serialized_comparator: None };
    let refused = comparator::from_proto(&odd).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "java.io.IOException: java.lang.ClassNotFoundException: foo.Bar"
    );
    let compare_filter = pb::CompareFilter { compare_op: 2, comparator: Some(odd) };
    let refused =
        filter::from_proto(&named("RowFilter", &pb::RowFilter { compare_filter })).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "org.apache.hadoop.hbase.DoNotRetryIOException: java.lang.ClassNotFoundException: foo.Bar"
    );
}

#[test]
fn filter_wrapper_decodes_to_wrapped_filter() {
    let wrapped = pb::FilterWrapper { filter: filter::to_proto(&Filter::Page(3)).unwrap() };
    assert_eq!(filter::from_proto(&named("FilterWrapper", &wrapped)).unwrap(), Filter::Page(3));
}

#[test]
fn absent_filter_fields_decode_as_java_null() {
    assert_eq!(
        filter::from_proto(&named("PrefixFilter", &pb::PrefixFilter { prefix: None })).unwrap(),
        Filter::FilterAll
    );
    let without_column = pb::DependentColumnFilter {
        compare_filter: pb::CompareFilter { compare_op: 2, comparator: None },
        ..pb::DependentColumnFilter::default()
    };
    let read = filter::from_proto(&named("DependentColumnFilter", &without_column)).unwrap();
    assert_eq!(
        read,
        Filter::DependentColumn {
            family: bytes(""),
            qualifier: bytes(""),
            drop_column: false,
            check: None
        }
    );
    let flags = pb::SingleColumnValueFilter {
        compare_op: 2,
        comparator: comparator::to_proto(&Comparator::Null),
        ..Default::default()
    };
    let read = filter::from_proto(&named("SingleColumnValueFilter", &flags)).unwrap();
    assert!(matches!(
        read,
        Filter::SingleColumnValue { filter_if_missing: false, latest_version_only: false, .. }
    ));
}

#[test]
fn fuzzy_masks_are_inverted_only_if_preprocessed() {
    let read = |mask: &str, is_mask_v2| {
        let pair = pb::BytesBytesPair { first: bytes("abc"), second: hex(mask) };
        let proto = pb::FuzzyRowFilter { fuzzy_keys_data: vec![pair], is_mask_v2 };
        match filter::from_proto(&named("FuzzyRowFilter", &proto)).unwrap() {
            Filter::FuzzyRow(keys) => keys[0].mask.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("ff00ff", None), hex("000100"));
    assert_eq!(read("ff00ff", Some(true)), hex("ff00ff"));
    assert_eq!(read("000100", Some(false)), hex("000100"));
    assert_eq!(read("ff02ff", None), hex("ff02ff"));
}

#[test]
fn numbers_rejected_by_java_are_rejected() {
    for proto in [
        named("PageFilter", &pb::PageFilter { page_size: -1 }),
        named("ColumnCountGetFilter", &pb::ColumnCountGetFilter { limit: -1 }),
        named(
            "ColumnPaginationFilter",
            &pb::ColumnPaginationFilter { limit: 1, offset: Some(-1), column_offset: None },
        ),
        named("FilterList", &pb::FilterList { operator: 3, filters: Vec::new() }),
        named(
            "RowFilter",
            &pb::RowFilter {
                compare_filter: pb::CompareFilter { compare_op: 7, comparator: None },
            },
        ),
        named(
            "RowFilter",
            &pb::RowFilter {
                compare_filter: pb::CompareFilter { compare_op: 2, comparator: None },
            },
        ),
        pb::Filter { name: format!("{PACKAGE}PageFilter"), serialized_filter: Some(hex("08")) },
    ] {
        assert_eq!(
            filter::from_proto(&proto).unwrap_err().kind(),
            Some(ExceptionKind::DoNotRetry),
            "{proto:?}"
        );
    }
}

#[test]
fn filter_over_length_limit_is_rejected() {
    let of = |bytes: usize| {
        filter::from_proto(&named(
            "PrefixFilter",
            &pb::PrefixFilter { prefix: Some(vec![0; bytes].into()) },
        ))
    };
    of(8_000_000).unwrap();
    let refused = of(9_000_000).unwrap_err();
    assert!(
        refused.is_do_not_retry() && refused.message().contains("more than 8388608"),
        "{refused}"
    );
}

#[test]
fn filter_nesting_depth_is_limited() {
    let nested = |depth: usize| {
        (1..depth).fold(filter::to_proto(&Filter::FirstKeyOnly).unwrap(), |inner, _| {
            named("SkipFilter", &pb::SkipFilter { filter: inner })
        })
    };
    assert!(filter::from_proto(&nested(100)).is_ok());
    let refused = filter::from_proto(&nested(101)).unwrap_err();
    assert!(refused.message().contains("more than 100 nested filters"), "{refused}");
    let hostile = filter::from_proto(&nested(2_000)).unwrap_err();
    assert_eq!(hostile.kind(), Some(ExceptionKind::DoNotRetry));
    let mine = (0..100).fold(Filter::FirstKeyOnly, |inner, _| Filter::Skip(Box::new(inner)));
    assert_eq!(filter::to_proto(&mine).unwrap_err().kind(), ErrorKind::InvalidRequest);
}

proptest! {
    #[test]
    fn every_comparator_round_trips_through_message(comparator in strategies::comparator()) {
        prop_assert_eq!(comparator::from_proto(&comparator::to_proto(&comparator)).unwrap(), comparator);
    }

    #[test]
    fn every_filter_round_trips_through_message(filter in strategies::filter()) {
        prop_assert_eq!(filter::from_proto(&filter::to_proto(&filter).unwrap()).unwrap(), filter);
    }
}
