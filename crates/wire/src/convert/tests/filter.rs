//! Filters and comparators: the bytes of HBase 2.6.4, both ways.

use std::ops::Bound;

use halite_types::{BitOp, Comparator, CompareOp, ErrorKind, Filter, FuzzyKey, RegexString, RowRange};
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

/// The comparators with the bytes that `hbase-client` 2.6.4 writes for them.
fn comparators() -> Vec<(Comparator, &'static str, &'static str)> {
    vec![
        (binary("ab"), "BinaryComparator", "0a040a026162"),
        (Comparator::BinaryPrefix(bytes("ab")), "BinaryPrefixComparator", "0a040a026162"),
        (Comparator::Bit(BitOp::And, bytes("\x01")), "BitComparator", "0a030a01011001"),
        (Comparator::Null, "NullComparator", ""),
        (Comparator::Regex(RegexString::new("a.*b")), "RegexStringComparator", "0a04612e2a6210201a055554462d3822044a415641"),
        (Comparator::Substring("abc".into()), "SubstringComparator", "0a03616263"),
        (Comparator::Long(5), "LongComparator", "0a0a0a080000000000000005"),
        (Comparator::BigDecimal(hex("000000010f")), "BigDecimalComparator", "0a070a05000000010f"),
        (Comparator::BinaryComponent { value: bytes("x"), offset: 2 }, "BinaryComponentComparator", "0a01781002"),
    ]
}

/// The bytes of a filter that compares with `= BinaryComparator value`, behind the part that differs.
fn binary_hex(value: &str) -> String {
    let class = "0a2f6f72672e6170616368652e6861646f6f702e68626173652e66696c7465722e42696e617279436f6d70617261746f72";
    format!("38{class}12050a030a01{value}")
}

fn single_column_value(filter_if_missing: bool, exclude: bool) -> Filter {
    let (op, comparator, latest_version_only) = (CompareOp::Equal, binary("v"), !filter_if_missing);
    Filter::SingleColumnValue { family: bytes("f"), qualifier: bytes("q"), op, comparator, filter_if_missing, latest_version_only, exclude }
}

/// The filters with the bytes that `hbase-client` 2.6.4 writes for them.
fn filters() -> Vec<(Filter, &'static str, String)> {
    let range = |start: &str, end: Bound<&str>| RowRange { start: Bound::Included(bytes(start)), end: end.map(bytes) };
    let column_range = Filter::ColumnRange { min: Some(bytes("a")), min_inclusive: true, max: Some(bytes("c")), max_inclusive: false };
    let (family, qualifier) = (bytes("f"), bytes("q"));
    let column_value = Filter::ColumnValue { family: family.clone(), qualifier: qualifier.clone(), op: CompareOp::Equal, comparator: binary("v") };
    let dependent = Filter::DependentColumn { family, qualifier, drop_column: true, check: None };
    let prefix = "0a2b6f72672e6170616368652e6861646f6f702e68626173652e66696c7465722e50726566697846696c74657212030a0172";
    let key_only = "0a2c6f72672e6170616368652e6861646f6f702e68626173652e66696c7465722e4b65794f6e6c7946696c74657212020800";
    let value = "0a2a6f72672e6170616368652e6861646f6f702e68626173652e66696c7465722e56616c756546696c746572";
    vec![
        (Filter::Prefix(bytes("r")), "PrefixFilter", "0a0172".into()),
        (Filter::Page(10), "PageFilter", "080a".into()),
        (Filter::Row(CompareOp::Equal, binary("r")), "RowFilter", format!("0a3c080212{}", binary_hex("72"))),
        (Filter::Value(CompareOp::Greater, binary("v")), "ValueFilter", format!("0a3c080512{}", binary_hex("76"))),
        (Filter::Qualifier(CompareOp::Equal, binary("q")), "QualifierFilter", format!("0a3c080212{}", binary_hex("71"))),
        (Filter::Family(CompareOp::Equal, binary("f")), "FamilyFilter", format!("0a3c080212{}", binary_hex("66"))),
        (single_column_value(false, false), "SingleColumnValueFilter", format!("0a0166120171180222{}28003001", binary_hex("76"))),
        (single_column_value(true, false), "SingleColumnValueFilter", format!("0a0166120171180222{}28013000", binary_hex("76"))),
        (single_column_value(false, true), "SingleColumnValueExcludeFilter", format!("0a460a0166120171180222{}28003001", binary_hex("76"))),
        (column_value, "ColumnValueFilter", format!("0a0166120171180222{}", binary_hex("76"))),
        (Filter::All(vec![Filter::Prefix(bytes("r")), Filter::KeyOnly(false)]), "FilterList", format!("08011232{prefix}1232{key_only}")),
        (Filter::One(vec![Filter::Prefix(bytes("r"))]), "FilterList", format!("08021232{prefix}")),
        (Filter::FirstKeyOnly, "FirstKeyOnlyFilter", String::new()),
        (Filter::KeyOnly(true), "KeyOnlyFilter", "0801".into()),
        (Filter::ColumnPrefix(bytes("q")), "ColumnPrefixFilter", "0a0171".into()),
        (Filter::MultipleColumnPrefix(vec![bytes("a"), bytes("b")]), "MultipleColumnPrefixFilter", "0a01610a0162".into()),
        (column_range, "ColumnRangeFilter", "0a016110011a01632000".into()),
        (Filter::ColumnPagination { limit: 2, offset: 1, column_offset: None }, "ColumnPaginationFilter", "08021001".into()),
        (Filter::ColumnPagination { limit: 2, offset: 0, column_offset: Some(bytes("q")) }, "ColumnPaginationFilter", "08021a0171".into()),
        (Filter::ColumnCountGet(3), "ColumnCountGetFilter", "0803".into()),
        (Filter::InclusiveStop(bytes("r9")), "InclusiveStopFilter", "0a027239".into()),
        (Filter::Timestamps { timestamps: vec![5, 300], can_hint: false }, "TimestampsFilter", "0a0305ac021000".into()),
        (Filter::FuzzyRow(vec![FuzzyKey { key: bytes("r?9"), mask: hex("000100") }]), "FuzzyRowFilter", "0a0a0a03723f3912030001001001".into()),
        (
            Filter::MultiRowRange(vec![range("a", Bound::Excluded("c")), range("x", Bound::Unbounded)]),
            "MultiRowRangeFilter",
            "0a0a0a016110011a016320000a090a017810011a002000".into(),
        ),
        (Filter::RandomRow(0.5), "RandomRowFilter", "0d0000003f".into()),
        (
            Filter::Skip(Box::new(Filter::Value(CompareOp::NotEqual, binary("v")))),
            "SkipFilter",
            format!("0a6c{value}123e0a3c080312{}", binary_hex("76")),
        ),
        (Filter::WhileMatch(Box::new(Filter::Prefix(bytes("r")))), "WhileMatchFilter", format!("0a32{prefix}")),
        (dependent, "DependentColumnFilter", "0a0208061201661a01712001".into()),
        (Filter::FirstKeyValueMatchingQualifiers(vec![bytes("q1"), bytes("q2")]), "FirstKeyValueMatchingQualifiersFilter", "0a0271310a027132".into()),
        (Filter::FilterAll, "FilterAllFilter", String::new()),
    ]
}

#[test]
fn comparators_are_written_and_read_as_hbase_writes_them() {
    for (wanted, class, bytes) in comparators() {
        let proto = pb::Comparator { name: format!("{PACKAGE}{class}"), serialized_comparator: Some(hex(bytes)) };
        assert_eq!(comparator::to_proto(&wanted).unwrap(), proto, "{class}");
        assert_eq!(comparator::from_proto(&proto).unwrap(), wanted, "{class}");
    }
}

#[test]
fn filters_are_written_and_read_as_hbase_writes_them() {
    for (wanted, class, bytes) in filters() {
        let proto = pb::Filter { name: format!("{PACKAGE}{class}"), serialized_filter: Some(hex(&bytes)) };
        assert_eq!(filter::to_proto(&wanted).unwrap(), proto, "{class}");
        assert_eq!(filter::from_proto(&proto).unwrap(), wanted, "{class}");
    }
}

#[test]
fn a_substring_is_sent_in_lower_case() {
    let proto = comparator::to_proto(&Comparator::Substring("AbC".into())).unwrap();
    assert_eq!(proto.serialized_comparator.unwrap(), hex("0a03616263"));
}

fn named(class: &str, message: &impl Message) -> pb::Filter {
    pb::Filter { name: format!("{PACKAGE}{class}"), serialized_filter: Some(message.encode_to_vec().into()) }
}

#[test]
fn a_class_of_somebody_else_is_not_found_and_not_asked_for_again() {
    for name in ["foo.Bar", "PrefixFilter", "org.apache.hadoop.hbase.filter.Bar", ""] {
        let refused = filter::from_proto(&pb::Filter { name: name.into(), serialized_filter: None }).unwrap_err();
        assert_eq!(refused.to_string(), format!("org.apache.hadoop.hbase.DoNotRetryIOException: java.lang.ClassNotFoundException: {name}"));
    }
}

#[test]
fn an_unknown_comparator_is_final_inside_a_filter_only() {
    let odd = pb::Comparator { name: "foo.Bar".into(), serialized_comparator: None };
    let refused = comparator::from_proto(&odd).unwrap_err();
    assert_eq!(refused.to_string(), "java.io.IOException: java.lang.ClassNotFoundException: foo.Bar");
    let compare_filter = pb::CompareFilter { compare_op: 2, comparator: Some(odd) };
    let refused = filter::from_proto(&named("RowFilter", &pb::RowFilter { compare_filter })).unwrap_err();
    assert_eq!(refused.to_string(), "org.apache.hadoop.hbase.DoNotRetryIOException: java.lang.ClassNotFoundException: foo.Bar");
}

#[test]
fn a_wrapper_is_what_it_wraps() {
    let wrapped = pb::FilterWrapper { filter: filter::to_proto(&Filter::Page(3)).unwrap() };
    assert_eq!(filter::from_proto(&named("FilterWrapper", &wrapped)).unwrap(), Filter::Page(3));
}

#[test]
fn what_java_takes_for_null_passes_what_null_passes() {
    assert_eq!(filter::from_proto(&named("PrefixFilter", &pb::PrefixFilter { prefix: None })).unwrap(), Filter::FilterAll);
    let without_column =
        pb::DependentColumnFilter { compare_filter: pb::CompareFilter { compare_op: 2, comparator: None }, ..pb::DependentColumnFilter::default() };
    let read = filter::from_proto(&named("DependentColumnFilter", &without_column)).unwrap();
    assert_eq!(read, Filter::DependentColumn { family: bytes(""), qualifier: bytes(""), drop_column: false, check: None });
    let flags = pb::SingleColumnValueFilter { compare_op: 2, comparator: comparator::to_proto(&Comparator::Null).unwrap(), ..Default::default() };
    let read = filter::from_proto(&named("SingleColumnValueFilter", &flags)).unwrap();
    assert!(matches!(read, Filter::SingleColumnValue { filter_if_missing: false, latest_version_only: false, .. }));
}

#[test]
fn masks_of_old_clients_are_turned_around_only_if_they_are_worked_out() {
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
fn numbers_that_java_does_not_take_are_refused() {
    for proto in [
        named("PageFilter", &pb::PageFilter { page_size: -1 }),
        named("ColumnCountGetFilter", &pb::ColumnCountGetFilter { limit: -1 }),
        named("ColumnPaginationFilter", &pb::ColumnPaginationFilter { limit: 1, offset: Some(-1), column_offset: None }),
        named("FilterList", &pb::FilterList { operator: 3, filters: Vec::new() }),
        named("RowFilter", &pb::RowFilter { compare_filter: pb::CompareFilter { compare_op: 7, comparator: None } }),
        named("RowFilter", &pb::RowFilter { compare_filter: pb::CompareFilter { compare_op: 2, comparator: None } }),
        pb::Filter { name: format!("{PACKAGE}PageFilter"), serialized_filter: Some(hex("08")) },
    ] {
        assert_eq!(filter::from_proto(&proto).unwrap_err().kind(), Some(ExceptionKind::DoNotRetry), "{proto:?}");
    }
}

#[test]
fn filters_in_filters_go_so_deep_and_no_deeper() {
    let nested = |depth: usize| {
        (1..depth).fold(filter::to_proto(&Filter::FirstKeyOnly).unwrap(), |inner, _| named("SkipFilter", &pb::SkipFilter { filter: inner }))
    };
    assert!(filter::from_proto(&nested(100)).is_ok());
    let refused = filter::from_proto(&nested(101)).unwrap_err();
    assert!(refused.message().contains("more than 100 filters inside one another"), "{refused}");
    let hostile = filter::from_proto(&nested(2_000)).unwrap_err();
    assert_eq!(hostile.kind(), Some(ExceptionKind::DoNotRetry));
    let mine = (0..100).fold(Filter::FirstKeyOnly, |inner, _| Filter::Skip(Box::new(inner)));
    assert_eq!(filter::to_proto(&mine).unwrap_err().kind(), ErrorKind::InvalidRequest);
}

proptest! {
    #[test]
    fn every_comparator_survives_its_message(comparator in strategies::comparator()) {
        prop_assert_eq!(comparator::from_proto(&comparator::to_proto(&comparator).unwrap()).unwrap(), comparator);
    }

    #[test]
    fn every_filter_survives_its_message(filter in strategies::filter()) {
        prop_assert_eq!(filter::from_proto(&filter::to_proto(&filter).unwrap()).unwrap(), filter);
    }
}
