//! Profile PHOENIX, compared with keys written by Phoenix's own driver.

use super::golden::check_lines;
use super::*;

fn phoenix(types: &[FieldType], segments: Vec<Segment>) -> KeySchema {
    schema(Profile::Phoenix, types, segments)
}

fn nullable(field: FieldId) -> Segment {
    Segment { nullable: true, ..plain(field) }
}

#[test]
fn keys_match_phoenix() {
    let lines = check_lines(
        include_str!(concat!("../../../testdata/phoenix/", "phoenix.txt")),
        Profile::Phoenix,
    );
    assert!(lines > 1000, "{lines} lines");
}

#[test]
fn trailing_nulls_are_omitted_with_their_separators() {
    let texts = phoenix(&[FieldType::String; 3], vec![plain(0), nullable(1), nullable(2)]);
    let of = |a: &str, b, c| encoded(&texts, &[a.into(), b, c]);
    assert_eq!(of("a", Value::Null, Value::Null), "61");
    assert_eq!(of("a", "b".into(), Value::Null), "610062");
    assert_eq!(of("a", Value::Null, "c".into()), "61000063");
    assert_eq!(texts.split_segments(&unhex("61000063")).unwrap(), [0..1, 1..2, 2..4]);
    for bad in ["6100", "610000", "00", "61006200"] {
        assert!(texts.decode(&unhex(bad)).is_err(), "{bad}");
    }
    let mut bound = KeyBuf::new();
    texts.encode_segment(0, &"a".into(), &mut bound).unwrap();
    texts.encode_segment(1, &"b".into(), &mut bound).unwrap();
    assert_eq!(hex(&bound), "610062");
    let followed = phoenix(&[FieldType::String, FieldType::I8], vec![plain(0), plain(1)]);
    bound.clear();
    followed.encode_segment(0, &"a".into(), &mut bound).unwrap();
    assert_eq!(hex(&bound), "6100");
}

#[test]
fn salt_is_computed_from_the_whole_key() {
    let salted =
        phoenix(&[FieldType::String], vec![salt(16, &[], HashFunction::Phoenix), plain(0)]);
    assert_eq!(encoded(&salted, &["user_001".into()]), format!("02{}", hex(b"user_001")));
    let mut out = KeyBuf::new();
    assert_eq!(salted.encode_derived(0, &[Some("user_001".into())], &mut out), Ok(true));
    assert_eq!(
        (hex(&out), salted.encode_derived(0, &[None], &mut KeyBuf::new())),
        ("02".into(), Ok(false))
    );
    let mut wrong = salted.encode(&["user_001".into()]).unwrap();
    wrong[0] = 3;
    assert_eq!(salted.decode(&wrong).unwrap_err().kind, KeyErrorKind::Derived);
}

#[test]
fn schemas_unsupported_by_phoenix_are_rejected() {
    let refused = |types: &[FieldType], segments| {
        let fields = types
            .iter()
            .enumerate()
            .map(|(id, &ty)| Field { name: format!("f{id}"), ty, pattern: None })
            .collect();
        KeySchema::new(Profile::Phoenix, fields, segments).unwrap_err().to_string()
    };
    assert!(refused(&[FieldType::Date], vec![plain(0)]).contains("counts milliseconds"));
    assert!(
        refused(&[FieldType::Bytes, FieldType::I8], vec![plain(0), plain(1)])
            .contains("only at the end")
    );
    assert!(
        refused(&[FieldType::Bytes], vec![plain(0).desc()]).contains("no descending VARBINARY")
    );
    assert!(refused(&[FieldType::I8], vec![nullable(0)]).contains("variable length"));
    assert!(
        refused(&[FieldType::I8], vec![salt(4, &[0], HashFunction::Phoenix), plain(0)])
            .contains("without BY")
    );
    let keys = phoenix(&[FieldType::String, FieldType::U8], vec![plain(0), plain(1)]);
    let error = |text: &str, number| {
        keys.encode(&[text.into(), Value::Unsigned(number)]).unwrap_err().to_string()
    };
    assert!(error("", 1).contains("empty text is null"));
    assert!(error("a\0", 1).contains("ends the field"));
    assert!(error("a", 128).contains("half the range"));
}
