//! Profile TEXT: the keys of the tutorials, and keys and values that are rejected.

use super::*;

const STRING: FieldType = FieldType::String;

fn text(types: &[FieldType], segments: Vec<Segment>) -> KeySchema {
    schema(Profile::Text, types, segments)
}

fn literal(text: &'static str) -> Segment {
    Segment::new(SegmentKind::Const(Bytes::from_static(text.as_bytes())))
}

fn digits(digits: u8, segment: Segment) -> Segment {
    Segment { digits: Some(digits), ..segment }
}

fn md5(digits: u8, field: FieldId) -> Segment {
    Segment::new(SegmentKind::Hash {
        by: vec![field],
        bytes: digits.div_ceil(2),
        function: HashFunction::Md5,
        hex: true,
    })
}

fn bucket(field: FieldId, width: u64) -> Segment {
    Segment::new(SegmentKind::Bucket { field, width })
}

/// Returns the key as text, after verifying that it decodes to the values.
fn written(schema: &KeySchema, values: &[Value<'_>]) -> String {
    String::from_utf8(unhex(&encoded(schema, values))).expect("text")
}

fn refused(schema: &KeySchema, values: &[Value<'_>]) -> KeyErrorKind {
    schema.encode(values).unwrap_err().kind
}

/// Returns the schema of `{sender}_{rev(ts):19}_{receiver}`.
fn inbox() -> KeySchema {
    text(
        &[STRING, TIME, STRING],
        vec![plain(0), literal("_"), digits(19, plain(1).desc()), literal("_"), plain(2)],
    )
}

/// Returns the schema of `{a}_{b}_{c}`.
fn combined() -> KeySchema {
    text(&[STRING; 3], vec![plain(0), literal("_"), plain(1), literal("_"), plain(2)])
}

#[test]
fn k01_md5_digits_precede_the_id() {
    let users = text(&[STRING], vec![md5(8, 0), literal("_"), plain(0)]);
    for key in ["3f49044c_user_1", "15e1576a_user_2", "a6f601b7_user_3", "bbfcd9b9_user_12345"] {
        assert_eq!(written(&users, &[key[9..].into()]), key);
    }
    assert_eq!(users.decode(b"3f49044d_user_1").unwrap_err().kind, KeyErrorKind::Derived);
    let odd = text(&[STRING], vec![digits(7, md5(8, 0)), literal("_"), plain(0)]);
    assert_eq!(written(&odd, &["user_1".into()]), "3f49044_user_1");
}

#[test]
fn k02_inner_fields_reject_the_delimiter() {
    let parts = combined();
    assert_eq!(written(&parts, &["a".into(), "b".into(), "c".into()]), "a_b_c");
    assert_eq!(
        refused(&parts, &["a".into(), "b_b".into(), "c".into()]),
        KeyErrorKind::Delimiter("_".into())
    );
    assert_eq!(
        written(&parts, &["a".into(), "".into(), "c_c".into()]),
        "a__c_c",
        "nothing ends the last part"
    );
}

#[test]
fn k04_fields_containing_the_delimiter_are_parsed() {
    let inbox = inbox();
    let decoded = inbox.decode(b"user_1_9223370326393975807_user_2").unwrap();
    assert_eq!(decoded.values(), ["user_1".into(), Value::Signed(T0), "user_2".into()]);
    assert_eq!(
        inbox.split_segments(b"user_1_9223370326393975807_user_2").unwrap(),
        [0..6, 6..7, 7..26, 26..27, 27..33]
    );
}

#[test]
fn k05_metric_key_contains_hash_host_bucket_metric() {
    let metrics = text(
        &[STRING, TIME, STRING],
        vec![
            md5(8, 0),
            literal("_"),
            plain(0),
            literal("_"),
            digits(10, bucket(1, 900_000)),
            literal("_"),
            plain(2),
        ],
    );
    let key = written(&metrics, &["host01".into(), Value::Signed(T0), "cpu".into()]);
    assert_eq!(key, "fbb8bd61_host01_0001900512_cpu");
    let before_1970 =
        metrics.encode(&["host01".into(), Value::Signed(-1), "cpu".into()]).unwrap_err();
    assert!(
        before_1970.segment == 4 && before_1970.to_string().contains("before 0 (1970)"),
        "{before_1970}"
    );
}

#[test]
fn k06_inbox_key_sorts_newest_first() {
    let inbox = inbox();
    let key = |ts| written(&inbox, &["user_001".into(), Value::Signed(ts), "user_002".into()]);
    assert_eq!(key(T0), "user_001_9223370326393975807_user_002");
    assert!(key(T0 + 1) < key(T0));
}

#[test]
fn k11_phone_number_is_reversed() {
    let phones = text(&[FieldType::Char(11)], vec![Segment::new(SegmentKind::Reverse(0))]);
    assert_eq!(written(&phones, &["13812345678".into()]), "87654321831");
    let ids = text(
        &[FieldType::U64, TIME],
        vec![Segment::new(SegmentKind::Reverse(0)), literal("_"), digits(19, plain(1).desc())],
    );
    assert_eq!(
        written(&ids, &[Value::Unsigned(12_340), Value::Signed(0)]),
        "04321_9223372036854775807"
    );
}

#[test]
fn k20_salt_is_java_hash_code_of_key_text() {
    let salted = text(&[STRING], vec![digits(3, salt(1000, &[0], HashFunction::Java)), plain(0)]);
    assert_eq!(written(&salted, &["20150524002300_1232".into()]), "79720150524002300_1232");
    // The hash of two fields is computed from their text in the key, including the literal between
    // them.
    let typed = text(
        &[FieldType::U64, FieldType::U32],
        vec![
            digits(3, salt(1000, &[0, 1], HashFunction::Java)),
            digits(14, plain(0)),
            literal("_"),
            plain(1),
        ],
    );
    assert_eq!(
        written(&typed, &[Value::Unsigned(20_150_524_002_300), Value::Unsigned(1232)]),
        "79720150524002300_1232"
    );
    assert_eq!(
        typed.decode(b"00-20320150524002300_1232").unwrap_err().segment,
        0,
        "what the tutorial's code wrote"
    );
}

#[test]
fn e10_excess_digits_and_times_before_1970_are_rejected() {
    let newest =
        |width| text(&[STRING, TIME], vec![plain(0), literal("_"), digits(width, plain(1).desc())]);
    let of = |width, ts| newest(width).encode(&["s".into(), Value::Signed(ts)]);
    assert_eq!(&*of(19, T0).unwrap(), b"s_9223370326393975807");
    assert_eq!(&*of(13, T0).unwrap(), b"s_8289539199999");
    assert_eq!(of(12, T0).unwrap_err().kind, KeyErrorKind::TooWide { width: 12, found: 13 });
    assert!(of(19, -1).unwrap_err().to_string().contains("before 1970"));
    let padded = text(&[FieldType::U32], vec![digits(5, plain(0))]);
    assert_eq!(written(&padded, &[Value::Unsigned(42)]), "00042");
    assert_eq!(
        refused(&padded, &[Value::Unsigned(123_456)]),
        KeyErrorKind::TooWide { width: 5, found: 6 }
    );
    assert!(padded.decode(b"0004x").is_err() && padded.decode(b"00042 ").is_err());
}

#[test]
fn e11_field_containing_delimiter_is_rejected_and_unordered() {
    let pair = text(&[STRING, FieldType::U32], vec![plain(0), literal("_"), plain(1)]);
    assert_eq!(
        refused(&pair, &["user_1".into(), Value::Unsigned(5)]),
        KeyErrorKind::Delimiter("_".into())
    );
    assert!(!pair.keeps_order(0), "user_10_ comes before user_1_");
    let doubled = text(&[STRING, STRING], vec![plain(0), literal("aa"), plain(1)]);
    assert_eq!(
        refused(&doubled, &["a".into(), "b".into()]),
        KeyErrorKind::Delimiter("aa".into()),
        "aaab would be read as '' and 'ab'"
    );
}

#[test]
fn e12_literals_are_not_patterns_and_empty_fields_remain() {
    let bars = text(&[STRING; 3], vec![plain(0), literal("|"), plain(1), literal("|"), plain(2)]);
    assert_eq!(written(&bars, &["a".into(), "".into(), "".into()]), "a||");
}

#[test]
fn e25_fields_without_boundary_are_ambiguous() {
    let joined = text(&[STRING, STRING], vec![plain(0), plain(1)]);
    let of = |a: &str, b: &str| joined.encode(&[a.into(), b.into()]).unwrap();
    assert_eq!(of("1", "23"), of("12", "3"));
    assert_eq!(joined.decode(&of("1", "23")).unwrap_err().kind, KeyErrorKind::Ambiguous);
    assert_eq!((joined.ambiguous_segment(), combined().ambiguous_segment()), (Some(0), None));
}

#[test]
fn pattern_is_checked_when_encoding_and_decoding() {
    let fields = |pattern: &str| {
        let named = |name: &str, pattern: Option<&str>| Field {
            name: name.into(),
            ty: STRING,
            pattern: pattern.map(Into::into),
        };
        vec![named("receiver", Some(pattern)), named("sender", None)]
    };
    let segments = || vec![plain(0), literal("_"), plain(1)];
    let schema = KeySchema::new(Profile::Text, fields("[a-z]+|u"), segments()).unwrap();
    assert_eq!(written(&schema, &["ab".into(), "c".into()]), "ab_c");
    assert!(
        schema
            .encode(&["a1".into(), "c".into()])
            .unwrap_err()
            .to_string()
            .contains("does not match '[a-z]+|u', as receiver is declared to")
    );
    assert!(
        schema
            .decode(b"a1_c")
            .unwrap_err()
            .to_string()
            .contains("does not match '[a-z]+|u', as receiver is declared to")
    );
    assert!(
        KeySchema::new(Profile::Text, fields("["), segments())
            .unwrap_err()
            .to_string()
            .contains("regular expression")
    );
}

#[test]
fn other_types_are_written_in_standard_text() {
    let one = |ty, kind| text(&[ty], vec![Segment::new(kind)]);
    assert_eq!(written(&one(FieldType::I64, SegmentKind::Plain(0)), &[Value::Signed(-7)]), "-7");
    assert_eq!(written(&one(FieldType::Bool, SegmentKind::Plain(0)), &[Value::Bool(true)]), "true");
    assert_eq!(written(&one(STRING, SegmentKind::Ipv4(0)), &["10.0.0.1".into()]), "0a000001");
    assert_eq!(
        written(&one(STRING, SegmentKind::Trunc { field: 0, bytes: 3 }), &["a\u{e9}\u{e9}".into()]),
        "a\u{e9}"
    );
    let uuid = Value::Uuid(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes());
    assert_eq!(
        written(&one(FieldType::Uuid, SegmentKind::Plain(0)), &[uuid]),
        "00112233-4455-6677-8899-aabbccddeeff"
    );
    let modulo = text(&[FieldType::U32], vec![salt(5, &[0], HashFunction::Modulo), plain(0)]);
    assert_eq!(written(&modulo, &[Value::Unsigned(17)]), "217");
    assert_eq!(modulo.decode(b"0017").unwrap_err().segment, 1, "no zeros in front without a width");
    let dict = one(STRING, SegmentKind::Dict { field: 0, bytes: 3 });
    let key = dict.encode_with(&["cpu".into()], &Metrics).unwrap();
    assert_eq!(
        (&*key, dict.decode_with(b"70000", &Metrics).unwrap().values()),
        (&b"70000"[..], &["cpu".into()][..])
    );
}
