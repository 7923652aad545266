//! Profile ORDERED, compared with keys written by HBase's own classes.

use super::golden::check_lines;
use super::*;

const ORDERED: Profile = Profile::Ordered { compat: false };
const COMPAT: Profile = Profile::Ordered { compat: true };

#[test]
fn keys_match_hbase_struct() {
    let golden = include_str!(concat!("../../../testdata/ordered/", "ordered.txt"));
    let lines = check_lines(golden, COMPAT);
    assert_eq!(lines, 1200);
}

#[test]
fn published_struct_has_the_expected_bytes() {
    let published = schema(
        ORDERED,
        &[FieldType::I8, FieldType::String, TIME],
        vec![plain(0), plain(1), plain(2).desc()],
    );
    let key = encoded(&published, &[Value::Signed(7), "user_001".into(), Value::Signed(T0)]);
    assert_eq!(key, "298734757365725f30303100d37ffffe71c09773ff");
    assert_eq!(published.split_segments(&unhex(&key)).unwrap(), [0..2, 2..12, 12..21]);
    let salted = schema(
        ORDERED,
        &[FieldType::String],
        vec![salt(16, &[0], HashFunction::Murmur3), plain(0)],
    );
    assert_eq!(encoded(&salted, &["user_001".into()]), "0634757365725f30303100");
}

#[test]
fn trailing_nulls_are_omitted_as_in_hbase() {
    let nullable = |field| Segment { nullable: true, ..plain(field) };
    let three = schema(ORDERED, &[FieldType::String; 3], vec![plain(0), nullable(1), nullable(2)]);
    let of = |a: &str, b, c| encoded(&three, &[a.into(), b, c]);
    assert_eq!(of("a", Value::Null, Value::Null), "346100");
    assert_eq!(of("a", Value::Null, "".into()), "346100053400");
    assert_eq!(of("a", "".into(), Value::Null), "3461003400");
    assert_eq!(
        three.decode(&unhex("34610005")).unwrap_err().kind,
        KeyErrorKind::Malformed("HBase leaves nulls at the end of a key out")
    );
    let mut bound = KeyBuf::new();
    assert!(
        three
            .encode_segment(1, &Value::Null, &mut bound)
            .unwrap_err()
            .to_string()
            .contains("left out")
    );
    let all = schema(ORDERED, &[FieldType::String], vec![nullable(0)]);
    assert_eq!(all.encode(&[Value::Null]).unwrap_err().kind, KeyErrorKind::Length(0));
}

#[test]
fn schemas_that_hbase_cannot_encode_are_rejected() {
    let refused = |profile, types: &[FieldType], segments| {
        let fields = types
            .iter()
            .enumerate()
            .map(|(id, &ty)| Field { name: format!("f{id}"), ty, pattern: None })
            .collect();
        KeySchema::new(profile, fields, segments).unwrap_err().to_string()
    };
    let descending = || vec![plain(0), Segment { nullable: true, ..plain(1).desc() }];
    let texts = [FieldType::String, FieldType::String];
    assert!(refused(ORDERED, &texts, descending()).contains("declare COMPAT"));
    assert_eq!(
        encoded(&schema(COMPAT, &texts, descending()), &["a".into(), Value::Null]),
        "346100"
    );
    assert!(refused(ORDERED, &[FieldType::U32], vec![plain(0)]).contains("no type for U32"));
    assert!(
        refused(COMPAT, &[FieldType::I32], vec![Segment { nullable: true, ..plain(0) }])
            .contains("no null")
    );
    let blobs = [FieldType::Bytes, FieldType::I8];
    assert!(refused(ORDERED, &blobs, vec![plain(0), plain(1)]).contains("do not sort"));
    let compat = schema(COMPAT, &blobs, vec![plain(0), plain(1)]);
    let of = |bytes: &[u8]| encoded(&compat, &[bytes.into(), Value::Signed(0)]);
    assert!(of(b"\x01") < of(b"\0\0"), "HBase sorts them so");
    assert!(!compat.keeps_order(0) && compat.keeps_order(1));
    let text = schema(ORDERED, &[FieldType::String], vec![plain(0)]);
    assert_eq!(
        text.encode(&["a\0b".into()]).unwrap_err().kind,
        KeyErrorKind::Delimiter("\0".into())
    );
}
