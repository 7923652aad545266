//! Messages compared with the bytes of HBase's own client, and prost's treatment of the edge cases
//! of proto2.

use bytes::Bytes;
use prost::Message;

use crate::proto as pb;
use crate::proto::magic::{from_magic, with_magic};

/// Returns `true` if bytes are a message of this type without unknown parts: the decoded message
/// encodes to the same bytes.
fn is_understood<M: Message + Default>(bytes: &[u8]) -> bool {
    M::decode(bytes).is_ok_and(|message| message.encode_to_vec() == bytes)
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim_matches('-').as_bytes();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

macro_rules! check_of {
    ($class:expr, $($name:ident)*) => {
        match $class {
            $(stringify!($name) => is_understood::<pb::$name> as fn(&[u8]) -> bool,)*
            other => panic!("{other} is in the file and not in this test"),
        }
    };
}

#[test]
fn captured_filters_and_comparators_round_trip_bytes() {
    let lines = include_str!("../../testdata/serialized_filters.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let mut words = line.split(' ');
        let (class, bytes) = (words.next().unwrap(), unhex(words.next().unwrap()));
        let check = check_of!(class,
            BinaryComparator BinaryPrefixComparator BitComparator NullComparator RegexStringComparator SubstringComparator LongComparator
            BigDecimalComparator BinaryComponentComparator PrefixFilter PageFilter RowFilter ValueFilter QualifierFilter FamilyFilter
            SingleColumnValueFilter SingleColumnValueExcludeFilter ColumnValueFilter FilterList FirstKeyOnlyFilter KeyOnlyFilter
            ColumnPrefixFilter MultipleColumnPrefixFilter ColumnRangeFilter ColumnPaginationFilter ColumnCountGetFilter InclusiveStopFilter
            TimestampsFilter FuzzyRowFilter MultiRowRangeFilter RandomRowFilter SkipFilter WhileMatchFilter DependentColumnFilter
            FirstKeyValueMatchingQualifiersFilter);
        assert!(check(&bytes), "{line}");
        count += 1;
    }
    assert_eq!(count, 38);
}

#[test]
fn absent_fields_have_declared_defaults() {
    let scan = pb::Scan::default();
    assert_eq!(
        (
            scan.max_versions(),
            scan.include_start_row(),
            scan.include_stop_row(),
            scan.cache_blocks()
        ),
        (1, true, false, true)
    );
    assert_eq!(pb::ClusterStatus::default().master_info_port(), -1);
}

#[test]
fn unknown_enum_value_is_not_an_error() {
    // consistency = 77.
    let get = pb::Get::decode(&[0x60, 77][..]).unwrap();
    assert_eq!(get.consistency(), pb::Consistency::Strong);
    assert!(pb::Consistency::try_from(get.consistency.unwrap()).is_err());
}

#[test]
fn unknown_field_is_skipped() {
    // Field 99, four bytes; then field 13 of ServerLoad, a number in 3.0 and a map in 2.6.
    assert!(pb::GetResponse::decode(&[0x9a, 0x06, 4, 1, 2, 3, 4][..]).is_ok());
    assert!(
        pb::ServerLoad::decode(&[0x68, 5][..]).is_ok()
            && pb::ServerLoad::decode(&[0x6a, 2, 0x10, 1][..]).is_ok()
    );
}

#[test]
fn number_lists_are_written_unpacked_and_read_packed_too() {
    let response = pb::ScanResponse { cells_per_result: vec![1, 2], ..Default::default() };
    assert_eq!(response.encode_to_vec(), [0x08, 1, 0x08, 2]);
    assert_eq!(pb::ScanResponse::decode(&[0x0a, 2, 1, 2][..]).unwrap(), response);
}

#[test]
fn message_bytes_share_decoded_buffer() {
    let frame =
        Bytes::from(pb::PrefixFilter { prefix: Some(Bytes::from_static(b"row")) }.encode_to_vec());
    let filter = pb::PrefixFilter::decode(frame.clone()).unwrap();
    assert!(frame.as_ptr_range().contains(&filter.prefix().as_ptr()));
}

#[test]
fn message_is_read_only_after_its_magic() {
    let id = pb::ClusterId { cluster_id: "x".to_string() };
    let value = with_magic(&id);
    assert_eq!(value, b"PBUF\x0a\x01x"[..]);
    assert_eq!(from_magic::<pb::ClusterId>(value.clone()).unwrap(), id);
    assert!(from_magic::<pb::ClusterId>(value.slice(1..)).is_err());
    assert!(from_magic::<pb::ClusterId>(value.slice(..6)).is_err());
}

#[test]
fn region_info_in_meta_matches_captured_bytes() {
    let captured =
        unhex("5042554608d2b7dcdd9f34120d0a0764656661756c74120274311a0162220163280030003800");
    let info: pb::RegionInfo = from_magic(Bytes::from(captured.clone())).unwrap();
    assert_eq!(
        (info.region_id, info.start_key(), info.end_key()),
        (1_795_224_443_858, &b"b"[..], &b"c"[..])
    );
    assert_eq!(with_magic(&info), captured);
}
