//! Gets and scans.

use std::ops::Bound;

use halite_types::{Get, Scan, TimeRange};
use proptest::prelude::*;
use prost::Message;

use super::super::scan::{self, ScanQuery};
use super::super::{get, scan as scans};
use super::{bytes, hex, strategies};
use crate::exception::ExceptionKind;
use crate::proto as pb;
use pb::scan::ReadType;

#[test]
fn meta_probe_of_gohbase_reads_all_timestamps() {
    let request = pb::GetRequest::decode(hex(
        "0a110801120d68626173653a6d6574612c2c3112170a1100000000000000000000000000000000002a005001",
    ))
    .unwrap();
    assert!(request.get.existence_only());
    let get = get::from_proto(&request.get).unwrap();
    assert_eq!(
        (get.row().len(), get.selection.time_range, get.selection.max_versions),
        (17, TimeRange::all(), 1)
    );
    assert!(get.selection.cache_blocks && get.selection.columns.is_empty());
}

#[test]
fn get_families_and_columns_combine_as_in_hbase() {
    let column = |family: &str, qualifiers: &[&str]| pb::Column {
        family: bytes(family),
        qualifier: qualifiers.iter().map(|q| bytes(q)).collect(),
    };
    let proto = pb::Get {
        row: bytes("r"),
        column: vec![column("f", &["a"]), column("g", &[]), column("f", &["b"])],
        ..pb::Get::default()
    };
    let expected = Get::new("r").column("f", "a").column("f", "b").family("g");
    assert_eq!(get::from_proto(&proto).unwrap().selection.columns, expected.selection.columns);
    let whole = pb::Get {
        row: bytes("r"),
        column: vec![column("f", &["a"]), column("f", &[])],
        ..pb::Get::default()
    };
    assert_eq!(
        get::from_proto(&whole).unwrap().selection.columns,
        Get::new("r").family("f").selection.columns
    );
}

#[test]
fn invalid_get_is_rejected_as_not_retryable() {
    let range = |from, to| Some(pb::TimeRange { from, to });
    for proto in [
        pb::Get { time_range: range(Some(2), Some(1)), ..pb::Get::default() },
        pb::Get { time_range: range(Some(u64::MAX), None), ..pb::Get::default() },
        pb::Get { time_range: range(None, Some(u64::MAX)), ..pb::Get::default() },
        pb::Get { max_versions: Some(0), ..pb::Get::default() },
        pb::Get { max_versions: Some(u32::MAX), ..pb::Get::default() },
        pb::Get { filter: Some(pb::Filter::default()), ..pb::Get::default() },
    ] {
        assert_eq!(
            get::from_proto(&proto).unwrap_err().kind(),
            Some(ExceptionKind::DoNotRetry),
            "{proto:?}"
        );
    }
}

#[test]
fn limits_negative_in_java_mean_unlimited() {
    let proto =
        pb::Get { store_limit: Some(u32::MAX), store_offset: Some(u32::MAX), ..pb::Get::default() };
    let get = get::from_proto(&proto).unwrap();
    assert_eq!((get.selection.family_limit, get.selection.family_offset), (None, 0));
}

fn range_of(
    start: &str,
    stop: &str,
    change: impl FnOnce(&mut pb::Scan),
) -> (Bound<String>, Bound<String>) {
    let mut proto = pb::Scan {
        start_row: Some(bytes(start)),
        stop_row: Some(bytes(stop)),
        ..pb::Scan::default()
    };
    change(&mut proto);
    let range = scan::from_proto(&proto).unwrap().scan.range;
    let text =
        |bound: Bound<bytes::Bytes>| bound.map(|row| String::from_utf8(row.to_vec()).unwrap());
    (text(range.start), text(range.end))
}

#[test]
fn bounds_are_inclusive_as_hbase_has_them() {
    let (a, b) = (|| "a".to_string(), || "b".to_string());
    assert_eq!(range_of("a", "b", |_| ()), (Bound::Included(a()), Bound::Excluded(b())));
    let turned = |scan: &mut pb::Scan| {
        (scan.include_start_row, scan.include_stop_row) = (Some(false), Some(true));
    };
    assert_eq!(range_of("a", "b", turned), (Bound::Excluded(a()), Bound::Included(b())));
    assert_eq!(range_of("", "", turned), (Bound::Unbounded, Bound::Unbounded));
}

#[test]
fn equal_scan_bounds_select_one_row_for_old_clients() {
    let a = || "a".to_string();
    assert_eq!(range_of("a", "a", |_| ()), (Bound::Included(a()), Bound::Included(a())));
    assert_eq!(
        range_of("a", "a", |scan| scan.include_stop_row = Some(true)),
        (Bound::Included(a()), Bound::Included(a()))
    );
    assert_eq!(
        range_of("a", "a", |scan| scan.include_stop_row = Some(false)),
        (Bound::Included(a()), Bound::Excluded(a())),
        "and this is none"
    );
    assert_eq!(
        range_of("a", "a", |scan| scan.include_start_row = Some(false)),
        (Bound::Excluded(a()), Bound::Included(a()))
    );
}

#[test]
fn reversed_scan_starts_at_upper_bound() {
    let reversed = |scan: &mut pb::Scan| scan.reversed = Some(true);
    assert_eq!(
        range_of("m", "b", reversed),
        (Bound::Excluded("b".to_string()), Bound::Included("m".to_string()))
    );
    assert_eq!(range_of("", "b", reversed), (Bound::Excluded("b".to_string()), Bound::Unbounded));
    let next_region =
        |scan: &mut pb::Scan| (scan.reversed, scan.include_start_row) = (Some(true), Some(false));
    assert_eq!(
        range_of("m", "", next_region),
        (Bound::Unbounded, Bound::Excluded("m".to_string()))
    );
}

#[test]
fn scan_attributes_and_legacy_fields_are_read() {
    let attribute = |name: &str, value: &'static [u8]| pb::NameBytesPair {
        name: name.into(),
        value: Some(bytes::Bytes::from_static(value)),
    };
    let proto = pb::Scan {
        attribute: vec![
            attribute("_raw_", &[0xff]),
            attribute("_isolationlevel_", &[1]),
            attribute("_acl", b"whatever"),
        ],
        small: Some(true),
        batch_size: Some(4096),
        caching: Some(10),
        mvcc_read_point: Some(77),
        max_result_size: Some(2_097_152),
        ..pb::Scan::default()
    };
    let query = scan::from_proto(&proto).unwrap();
    assert!(query.scan.raw && query.read_uncommitted && query.read_type == ReadType::Pread);
    assert_eq!(
        (query.scan.batch, query.caching, query.mvcc_read_point, query.scan.max_result_bytes),
        (Some(4096), Some(10), Some(77), 2_097_152)
    );
    let unset = scan::from_proto(&pb::Scan {
        batch_size: Some(u32::MAX),
        max_result_size: Some(u64::MAX),
        ..pb::Scan::default()
    })
    .unwrap();
    assert_eq!(
        (unset.scan.batch, unset.scan.max_result_bytes, unset.mvcc_read_point),
        (None, usize::MAX, None)
    );
    assert!(!unset.scan.raw && !unset.read_uncommitted && unset.scan.limit.is_none());
    for wrong in [attribute("_raw_", b""), attribute("_isolationlevel_", &[2])] {
        assert!(
            scan::from_proto(&pb::Scan { attribute: vec![wrong], ..pb::Scan::default() }).is_err()
        );
    }
}

#[test]
fn rejected_value_is_truncated_in_error() {
    let level = pb::NameBytesPair {
        name: "_isolationlevel_".into(),
        value: Some(vec![0xff; 1 << 20].into()),
    };
    let refused =
        scan::from_proto(&pb::Scan { attribute: vec![level], ..pb::Scan::default() }).unwrap_err();
    assert!(refused.message().len() < 2 << 10, "{}", refused.message().len());
    let column =
        |bytes| vec![pb::Column { family: vec![0xff; bytes].into(), ..pb::Column::default() }];
    let refused =
        get::from_proto(&pb::Get { column: column(1 << 20), ..pb::Get::default() }).unwrap_err();
    assert!(
        refused.kind() == Some(ExceptionKind::NoSuchColumnFamily)
            && refused.message().len() < 2 << 10
    );
    assert!(get::from_proto(&pb::Get { column: column(127), ..pb::Get::default() }).is_ok());
}

fn queries() -> impl Strategy<Value = ScanQuery> {
    let read_type =
        prop::sample::select(vec![ReadType::Default, ReadType::Stream, ReadType::Pread]);
    let sizes = (prop::option::of(1..1000usize), prop_oneof![Just(usize::MAX), 1..1000usize]);
    let hints =
        (prop::option::of(1..=i64::MAX.unsigned_abs()), prop::option::of(any::<u32>()), read_type);
    (strategies::row_range(), strategies::selection(), sizes, hints, any::<[bool; 6]>()).prop_map(
        |(range, selection, sizes, hints, flags)| {
            let [
                reverse,
                raw,
                read_uncommitted,
                need_cursor_result,
                allow_partial_results,
                query_metrics,
            ] = flags;
            let scan = Scan {
                range,
                selection,
                reverse,
                raw,
                limit: None,
                batch: sizes.0,
                max_result_bytes: sizes.1,
                load_families_on_demand: if reverse {
                    Some(false)
                } else {
                    raw.then_some(query_metrics)
                },
                meter: None,
            };
            let (mvcc_read_point, caching, read_type) = hints;
            ScanQuery {
                scan,
                read_uncommitted,
                mvcc_read_point,
                need_cursor_result,
                caching,
                allow_partial_results,
                read_type,
                query_metrics,
            }
        },
    )
}

/// Returns `true` if the bounds of the range differ. The message cannot represent equal bounds with
/// an exclusive end; such a range is empty.
fn is_representable(query: &ScanQuery) -> bool {
    let range = &query.scan.range;
    let row = |bound: &Bound<bytes::Bytes>| bound.as_ref().map(Clone::clone);
    !matches!((row(&range.start), row(&range.end)),
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) if a == b)
}

proptest! {
    #[test]
    fn every_get_round_trips_through_message(row in strategies::some_bytes(), selection in strategies::selection()) {
        let mut wanted = Get::new(row);
        wanted.selection = selection;
        let read = get::from_proto(&get::to_proto(&wanted).unwrap()).unwrap();
        prop_assert_eq!(format!("{:?}", read), format!("{:?}", wanted));
    }

    #[test]
    fn every_scan_round_trips_through_message(query in queries().prop_filter("bounds", is_representable)) {
        let read = scans::from_proto(&scans::to_proto(&query).unwrap()).unwrap();
        prop_assert_eq!(format!("{:?}", read), format!("{:?}", query));
    }
}
