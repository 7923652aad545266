//! Keys of profile BIN, compared with bytes computed by other programs, and rejected keys.

use bytes::Bytes;

use super::*;
use crate::schema::{Field, FieldId, HashFunction, Segment};
use crate::value::{Decimal, FieldType, TimeUnit};

mod golden;
mod ordered;
mod phoenix;
mod text;

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const TIME: FieldType = FieldType::Timestamp(TimeUnit::Millis);

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|&byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

pub(super) fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits"))
        .collect()
}

pub(super) fn schema(profile: Profile, types: &[FieldType], segments: Vec<Segment>) -> KeySchema {
    let fields = types
        .iter()
        .enumerate()
        .map(|(id, &ty)| Field { name: format!("f{id}"), ty, pattern: None })
        .collect();
    KeySchema::new(profile, fields, segments).expect("a schema")
}

fn bin(types: &[FieldType], segments: Vec<Segment>) -> KeySchema {
    schema(Profile::Bin, types, segments)
}

pub(super) fn plain(field: FieldId) -> Segment {
    Segment::new(SegmentKind::Plain(field))
}

pub(super) fn salt(count: u32, by: &[FieldId], function: HashFunction) -> Segment {
    Segment::new(SegmentKind::Salt { count, by: by.to_vec(), function })
}

/// Returns the key in hexadecimal digits, after verifying that it decodes to the values.
pub(super) fn encoded(schema: &KeySchema, values: &[Value<'_>]) -> String {
    let key = schema.encode(values).expect("a key");
    let decoded = schema.decode(&key).expect("its values");
    for (field, value) in values.iter().enumerate() {
        let same = decoded.is_partial(field)
            || decoded.get(field).is_some_and(|found| found.compare(value).is_eq());
        assert!(same, "field {field} of {key:?}: {:?} instead of {value:?}", decoded.get(field));
    }
    hex(&key)
}

fn one(ty: FieldType, value: Value<'_>) -> (String, String) {
    (
        encoded(&bin(&[ty], vec![plain(0)]), &[value.borrowed()]),
        encoded(&bin(&[ty], vec![plain(0).desc()]), &[value]),
    )
}

fn pair(ascending: &str, descending: &str) -> (String, String) {
    (ascending.into(), descending.into())
}

#[test]
fn types_have_the_documented_bytes() {
    assert_eq!(one(FieldType::U32, Value::Unsigned(1_900_512)), pair("001cffe0", "ffe3001f"));
    assert_eq!(one(FieldType::Bool, Value::Bool(true)), pair("01", "fe"));
    assert_eq!(one(FieldType::U8, Value::Unsigned(200)), pair("c8", "37"));
    assert_eq!(one(FieldType::I16, Value::Signed(-2)), pair("7ffe", "8001"));
    assert_eq!(one(FieldType::Date, Value::Signed(-1)), pair("7fffffff", "80000000"));
    assert_eq!(one(TIME, Value::Signed(T0)), pair("8000018e3f688c00", "7ffffe71c09773ff"));
    assert_eq!(one(FieldType::F64, Value::F64(1.5)), pair("bff8000000000000", "4007ffffffffffff"));
    assert_eq!(one(FieldType::F64, Value::F64(-1.5)), pair("4007ffffffffffff", "bff8000000000000"));
    assert_eq!(one(FieldType::F32, Value::F32(-0.0)), pair("7fffffff", "80000000"));
    assert_eq!(
        one(FieldType::F64, Value::F64(-f64::NAN)),
        pair("fff8000000000000", "0007ffffffffffff")
    );
    assert_eq!(
        one(FieldType::Decimal, Value::Decimal(Decimal::new(314, -2).unwrap())),
        pair("18071c", "e7f8e3")
    );
    assert_eq!(
        one(FieldType::Decimal, Value::Decimal(Decimal::new(-1000, 0).unwrap())),
        pair("11eb", "ee14")
    );
    assert_eq!(
        one(FieldType::Ipv4, Value::Ipv4([10, 0, 0, 1].into())),
        pair("0a000001", "f5fffffe")
    );
    assert_eq!(one(FieldType::Char(2), "ab".into()), pair("6162", "9e9d"));
    assert_eq!(one(FieldType::String, "a".into()), pair("61", "9efffe"));
}

#[test]
fn inner_text_escapes_zeros_and_is_terminated() {
    let two = bin(&[FieldType::String, FieldType::U8], vec![plain(0), plain(1)]);
    let of = |text| encoded(&two, &[Value::from(text), Value::Unsigned(255)]);
    assert_eq!(
        (of("a"), of("a\0b"), of("")),
        ("610001ff".into(), "6100ff620001ff".into(), "0001ff".into())
    );
}

#[test]
fn keys_match_an_independent_program() {
    let lines = golden::check_lines(include_str!("../../../testdata/bin.txt"), Profile::Bin);
    assert!(lines > 300, "{lines} lines");
}

#[test]
fn tutorial_sensor_key_starts_with_its_salt() {
    let sensors = bin(
        &[FieldType::String, TIME],
        vec![salt(16, &[0], HashFunction::Murmur3), plain(0), plain(1).desc()],
    );
    let key = encoded(&sensors, &["sensor_00001".into(), Value::Signed(T0)]);
    assert_eq!(key, "0173656e736f725f303030303100017ffffe71c09773ff");
    let ranges = sensors.split_segments(&unhex(&key)).unwrap();
    assert_eq!(ranges, [0..1, 1..15, 15..23]);
    let wide = bin(&[FieldType::String], vec![salt(1000, &[], HashFunction::Java), plain(0)]);
    assert_eq!(encoded(&wide, &["20150524002300_1232".into()])[..4], *"031d");
}

#[test]
fn k03_reversed_timestamp_equals_descending_timestamp() {
    assert_eq!(one(TIME, Value::Signed(T0)).1, hex(&(i64::MAX - T0).to_be_bytes()));
    assert_eq!(one(TIME, Value::Signed(-1)).1, "8000000000000000");
}

#[test]
fn transforms_have_the_documented_bytes() {
    let one = |ty, kind| bin(&[ty], vec![Segment::new(kind)]);
    assert_eq!(
        encoded(
            &one(TIME, SegmentKind::Bucket { field: 0, width: 3_600_000 }),
            &[Value::Signed(T0)]
        ),
        "00073ff8"
    );
    assert_eq!(
        encoded(&one(TIME, SegmentKind::Bucket { field: 0, width: 900_000 }), &[Value::Signed(T0)]),
        "001cffe0"
    );
    assert_eq!(
        encoded(&one(FieldType::Char(11), SegmentKind::Reverse(0)), &["13812345678".into()]),
        hex(b"87654321831")
    );
    assert_eq!(
        encoded(&one(FieldType::U64, SegmentKind::BitReverse(0)), &[Value::Unsigned(1)]),
        "8000000000000000"
    );
    assert_eq!(
        encoded(&one(FieldType::I32, SegmentKind::BitReverse(0)), &[Value::Signed(1)]),
        "00000000"
    );
    assert_eq!(
        encoded(&one(FieldType::U16, SegmentKind::Reverse(0)), &[Value::Unsigned(0x1234)]),
        "3412"
    );
    assert_eq!(
        encoded(&one(FieldType::String, SegmentKind::Ipv4(0)), &["10.0.0.1".into()]),
        "0a000001"
    );
    assert_eq!(
        encoded(&one(FieldType::String, SegmentKind::Trunc { field: 0, bytes: 4 }), &["ab".into()]),
        "61620000"
    );
    let constant = Segment::new(SegmentKind::Const(Bytes::from_static(b"v1")));
    assert_eq!(
        encoded(&bin(&[FieldType::U8], vec![constant, plain(0)]), &[Value::Unsigned(7)]),
        "763107"
    );
}

#[test]
fn k01_hash_prefix_equals_first_digest_bytes() {
    let hash = |bytes, hex| {
        Segment::new(SegmentKind::Hash { by: vec![0], bytes, function: HashFunction::Md5, hex })
    };
    let raw = bin(&[FieldType::String], vec![hash(4, false), plain(0)]);
    assert_eq!(encoded(&raw, &["user_001".into()])[..8], *"669f08bf");
    let digits = bin(&[FieldType::String], vec![hash(4, true), plain(0)]);
    assert_eq!(encoded(&digits, &["user_12345".into()]), hex(b"bbfcd9b9user_12345"));
}

#[test]
fn bucketed_and_truncated_fields_decode_as_partial() {
    let schema = bin(
        &[FieldType::String, TIME],
        vec![plain(0), Segment::new(SegmentKind::Bucket { field: 1, width: 3_600_000 }).desc()],
    );
    let key = schema.encode(&["cpu".into(), Value::Signed(T0 + 5)]).unwrap();
    let decoded = schema.decode(&key).unwrap();
    assert_eq!(decoded.values(), ["cpu".into(), Value::Signed(T0)]);
    assert!(decoded.is_partial(1) && !decoded.is_partial(0) && !decoded.is_partial(64));
    let schema =
        bin(&[FieldType::String], vec![Segment::new(SegmentKind::Trunc { field: 0, bytes: 3 })]);
    let key = schema.encode(&["a\u{e9}\u{e9}".into()]).unwrap();
    assert_eq!(schema.decode(&key).unwrap().values(), ["a\u{e9}".into()]);
}

#[test]
fn hashed_only_field_decodes_as_null() {
    let replaced = Segment::new(SegmentKind::Hash {
        by: vec![0],
        bytes: 8,
        function: HashFunction::Md5,
        hex: false,
    });
    let schema = bin(&[FieldType::String, FieldType::U8], vec![replaced, plain(1)]);
    let key = schema.encode(&["user_001".into(), Value::Unsigned(7)]).unwrap();
    assert_eq!(hex(&key)[..8], *"669f08bf");
    let decoded = schema.decode(&key).unwrap();
    assert!(decoded.is_partial(0) && !decoded.is_partial(1));
    assert_eq!(decoded.values(), [Value::Null, Value::Unsigned(7)]);
}

#[test]
fn wrong_derived_bytes_are_detected() {
    let bucket = Segment::new(SegmentKind::Bucket { field: 1, width: 1000 });
    let hash = Segment::new(SegmentKind::Hash {
        by: vec![0],
        bytes: 2,
        function: HashFunction::Sha256,
        hex: false,
    });
    let constant = Segment::new(SegmentKind::Const(Bytes::from_static(b"/")));
    let segments =
        vec![salt(16, &[0], HashFunction::Murmur3), hash, bucket, constant, plain(0), plain(1)];
    let schema = bin(&[FieldType::String, TIME], segments);
    let key = schema.encode(&["a".into(), Value::Signed(T0)]).unwrap();
    for (byte, segment) in [(0, 0), (1, 1), (3, 2), (7, 3)] {
        let mut key = key.clone();
        key[byte] ^= 1;
        let error = schema.decode(&key).unwrap_err();
        assert_eq!(
            (error.segment, error.offset, error.kind),
            (segment, byte, KeyErrorKind::Derived)
        );
        assert!(schema.decode_unchecked(&key, &NoResolver).is_ok());
    }
}

struct Metrics;

impl KeyResolver for Metrics {
    fn dictionary_id(&self, _: FieldId, value: &[u8]) -> Option<u64> {
        (value == b"cpu").then_some(70_000)
    }

    fn dictionary_value(&self, _: FieldId, id: u64) -> Option<Vec<u8>> {
        (id == 70_000).then(|| b"cpu".to_vec())
    }
}

#[test]
fn resolver_supplies_dictionary_ids_and_random_salts() {
    let dict = |bytes| {
        bin(&[FieldType::String], vec![Segment::new(SegmentKind::Dict { field: 0, bytes })])
    };
    let key = dict(3).encode_with(&["cpu".into()], &Metrics).unwrap();
    assert_eq!(hex(&key), "011170");
    assert_eq!(dict(3).decode_with(&key, &Metrics).unwrap().values(), ["cpu".into()]);
    assert_eq!(dict(3).encode(&["cpu".into()]).unwrap_err().kind, KeyErrorKind::NotInDictionary);
    assert_eq!(dict(3).decode(&key).unwrap_err().kind, KeyErrorKind::NotInDictionary);
    assert!(
        dict(2)
            .encode_with(&["cpu".into()], &Metrics)
            .unwrap_err()
            .to_string()
            .contains("wider DICT")
    );

    for function in [HashFunction::RoundRobin, HashFunction::Random] {
        let drawn = bin(&[FieldType::U8], vec![salt(3, &[], function), plain(0)]);
        assert!(
            drawn.encode(&[Value::Unsigned(1)]).unwrap_err().to_string().contains("use a resolver")
        );
        let helper = SaltGenerator::seeded(7);
        let salts: Vec<_> = (0..300)
            .map(|_| drawn.encode_with(&[Value::Unsigned(1)], &helper).unwrap()[0])
            .collect();
        let least = (0..3)
            .map(|salt| salts.iter().filter(|found| **found == salt).collect::<Vec<_>>().len())
            .min();
        assert!(
            least > Some(if function == HashFunction::RoundRobin { 99 } else { 60 }),
            "{least:?}"
        );
        assert_eq!(drawn.decode(&[2, 1]).unwrap().values(), [Value::Unsigned(1)]);
        assert_eq!(drawn.decode(&[3, 1]).unwrap_err().kind, KeyErrorKind::Derived);
    }
}

#[test]
fn unsuitable_values_are_rejected_with_their_segment() {
    let schema = bin(
        &[FieldType::U8, FieldType::Char(2), TIME],
        vec![plain(0), plain(1), Segment::new(SegmentKind::Bucket { field: 2, width: 60 })],
    );
    let good = [Value::Unsigned(1), "ab".into(), Value::Signed(1)];
    for (field, bad, said) in [
        (0, Value::Unsigned(256), "type U8 is wanted"),
        (0, Value::Signed(1), "a signed number was given"),
        (0, Value::Null, "not NULLABLE"),
        (1, "abc".into(), "3 places, and the key has 2"),
        (2, Value::Signed(-1), "before 0 (1970)"),
        (2, Value::Signed(i64::MAX), "too narrow"),
        (2, Value::Null, "not NULLABLE"),
    ] {
        let mut values = good.clone();
        values[field] = bad;
        let error = schema.encode(&values).unwrap_err();
        assert!(error.segment == field && error.to_string().contains(said), "{error}");
    }
    assert!(schema.encode(&good[..2]).unwrap_err().to_string().contains("3 fields, and 2 values"));
    let text = bin(&[FieldType::String], vec![plain(0)]);
    assert_eq!(text.encode(&["".into()]).unwrap_err().kind, KeyErrorKind::Length(0));
    assert_eq!(
        text.encode(&["a".repeat(40_000).as_str().into()]).unwrap_err().kind,
        KeyErrorKind::Length(40_000)
    );
}

#[test]
fn invalid_key_bytes_are_rejected() {
    let schema = bin(
        &[FieldType::String, FieldType::Bool],
        vec![plain(0), Segment { nullable: true, ..plain(1) }],
    );
    for (key, at, cause) in [
        ("61", 0, KeyErrorKind::Short),
        ("6100", 0, KeyErrorKind::Short),
        (
            "610002",
            0,
            KeyErrorKind::Malformed(
                "text and bytes have 00 only before 01 (their end) or ff (a zero byte)",
            ),
        ),
        ("610001", 3, KeyErrorKind::Short),
        ("61000102", 3, KeyErrorKind::Malformed("a nullable field begins with 00 or 01")),
        ("6100010102", 3, KeyErrorKind::Malformed("a boolean is 00 or 01")),
        ("610001010000", 5, KeyErrorKind::Rest(1)),
        ("ff000100", 0, KeyErrorKind::NotUtf8),
    ] {
        let bytes = unhex(key);
        let error = schema.decode(&bytes).unwrap_err();
        assert_eq!((error.offset, error.kind), (at, cause), "{key}");
    }
}

#[test]
fn segments_and_prefixes_are_encoded_for_bounds() {
    let sensors = bin(
        &[FieldType::String, TIME],
        vec![salt(16, &[0], HashFunction::Murmur3), plain(0), plain(1).desc()],
    );
    let mut out = KeyBuf::new();
    assert_eq!(sensors.encode_derived(0, &[None, Some(Value::Signed(T0))], &mut out), Ok(false));
    assert_eq!(sensors.encode_derived(0, &[Some("sensor_00001".into()), None], &mut out), Ok(true));
    sensors.encode_segment(1, &"sensor_00001".into(), &mut out).unwrap();
    assert_eq!(hex(&out), "0173656e736f725f30303030310001");
    out.clear();
    sensors.encode_prefix(1, b"s\0", &mut out).unwrap();
    sensors.encode_segment(2, &Value::Signed(-1), &mut out).unwrap();
    assert_eq!(hex(&out), "7300ff8000000000000000");
    out.clear();
    assert_eq!(sensors.salt_count(0), Some(16));
    sensors.encode_salt(0, 15, &mut out).unwrap();
    assert_eq!(hex(&out), "0f");
    assert!(
        sensors.encode_salt(0, 16, &mut out).is_err()
            && sensors.encode_salt(1, 0, &mut out).is_err()
    );
    assert!(
        sensors.encode_prefix(2, b"", &mut out).is_err()
            && sensors.encode_segment(0, &Value::Null, &mut out).is_err()
    );
}
