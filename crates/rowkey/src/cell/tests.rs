//! Cells have the bytes that Java writes, round trip, and errors of wrong bytes have a fix.

use super::*;
use crate::codec::tests::hex;
use crate::language::random::{SeededRng, TYPES, value};
use crate::value::TimeUnit;

const CELLS: &str = include_str!("../../testdata/cells/cells.txt");

fn bytes_of(text: &str) -> Vec<u8> {
    crate::literal::read_bytes(&format!("x'{}'", text.strip_prefix('x').unwrap())).unwrap()
}

/// Returns the type `DECIMAL(31,2)` of the file, or one of the language.
fn codec(encoding: &str, ty: &str) -> CellCodec {
    let encoding = CellEncoding::NAMES.iter().find(|(name, _)| *name == encoding).unwrap().1;
    if let Some(digits) = ty.strip_prefix("DECIMAL(") {
        let (precision, scale) = digits.trim_end_matches(')').split_once(',').unwrap();
        return CellCodec::decimal(precision.parse().unwrap(), scale.parse().unwrap(), encoding)
            .unwrap();
    }
    let found = TYPES
        .iter()
        .copied()
        .chain((1..=40).flat_map(|n| [FieldType::Char(n), FieldType::Fixed(n)]));
    let ty = found.into_iter().find(|known| known.to_string() == ty).unwrap();
    CellCodec::new(ty, encoding).unwrap()
}

fn value_of(ty: FieldType, text: &str) -> Value<'static> {
    match ty {
        FieldType::F32 => Value::F32(f32::from_bits(u32::from_str_radix(&text[1..], 16).unwrap())),
        FieldType::F64 => Value::F64(f64::from_bits(u64::from_str_radix(&text[1..], 16).unwrap())),
        FieldType::String | FieldType::Char(_) => {
            Value::Text(String::from_utf8(bytes_of(text)).unwrap().into())
        }
        FieldType::Bytes | FieldType::Fixed(_) => Value::Bytes(bytes_of(text).into()),
        FieldType::Decimal => {
            let (coefficient, exponent) = text.split_once('e').unwrap();
            Value::Decimal(
                Decimal::new(coefficient.parse().unwrap(), exponent.parse().unwrap()).unwrap(),
            )
        }
        // In the unit of the type; the calendar does not reach as far.
        FieldType::Timestamp(_) | FieldType::Date => Value::Signed(text.parse().unwrap()),
        ty => ty.parse(text).unwrap(),
    }
}

/// Returns `true` if two values are equal bit for bit; `NaN` is one value.
fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    a.compare(b).is_eq() && std::mem::discriminant(a) == std::mem::discriminant(b)
}

#[test]
fn cells_have_the_bytes_of_hbase_and_phoenix() {
    let mut encodings = std::collections::BTreeSet::new();
    for line in CELLS.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [encoding, ty, shown, bytes] = parts[..] else { panic!("{line}") };
        let (codec, bytes) = (codec(encoding, ty), bytes_of(bytes));
        let value = value_of(codec.ty(), shown);
        assert_eq!(codec.encode(&value).map(|bytes| hex(&bytes)), Ok(hex(&bytes)), "{line}");
        let decoded = codec.decode(&bytes).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(same(&decoded, &value), "{line}: {decoded:?}");
        encodings.insert(encoding);
    }
    assert_eq!(encodings.into_iter().collect::<Vec<_>>(), ["JAVA", "ORDERED", "PHOENIX", "RAW"]);
}

#[test]
fn values_round_trip_in_every_encoding() {
    let mut refused = std::collections::BTreeSet::new();
    for case in 0..20_000 {
        let mut chance = SeededRng::new(case);
        let (ty, encoding) = (chance.pick(TYPES), chance.pick(CellEncoding::NAMES).1);
        let Ok(codec) = CellCodec::new(ty, encoding) else {
            refused.insert(format!("{encoding} {ty}"));
            continue;
        };
        let value = value(&mut chance, ty);
        match codec.encode(&value) {
            Ok(bytes) => {
                let again = codec.decode(&bytes);
                let again = again.unwrap_or_else(|error| panic!("case {case}: {value:?} {error}"));
                assert!(same(&again, &value), "case {case}: {value:?} {again:?}");
            }
            Err(error) => assert!(
                value.is_null() || error.kind() == CellErrorKind::DoesNotFit,
                "case {case}: {error}"
            ),
        }
    }
    let orders: Vec<&str> = refused.iter().map(String::as_str).collect();
    let expected = [
        "ORDERED BOOL",
        "ORDERED BYTES(3)",
        "ORDERED CHAR(11)",
        "ORDERED IPV4",
        "ORDERED IPV6",
        "ORDERED U16",
        "ORDERED U32",
        "ORDERED U64",
        "ORDERED U8",
        "ORDERED UUID",
        "PHOENIX DATE",
        "PHOENIX IPV4",
        "PHOENIX IPV6",
        "PHOENIX TIMESTAMP(us)",
        "PHOENIX UUID",
        "RAW BOOL",
        "RAW DECIMAL",
    ];
    assert_eq!(orders, expected);
}

#[test]
fn any_bytes_decode_or_are_refused() {
    for case in 0..50_000 {
        let mut chance = SeededRng::new(case);
        let (ty, encoding) = (chance.pick(TYPES), chance.pick(CellEncoding::NAMES).1);
        let Ok(codec) = CellCodec::new(ty, encoding) else { continue };
        let length = chance.below(20);
        let bytes: Vec<u8> =
            (0..length).map(|_| chance.pick(&[0, 1, 0x07, 0x34, b'1', b'.', 0x80, 0xff])).collect();
        match codec.decode(&bytes) {
            Ok(value) => assert!(ty.accepts(&value) && !value.is_null(), "{codec} {}", hex(&bytes)),
            Err(error) => {
                let text = error.to_string();
                assert!(error.kind() == CellErrorKind::BadBytes && text.contains("; "), "{text}");
            }
        }
    }
}

#[test]
fn bin_cells_are_the_last_field_of_a_key() {
    for case in 0..5_000 {
        let mut chance = SeededRng::new(case);
        let ty = chance.pick(TYPES);
        let value = value(&mut chance, ty);
        let key: KeySchema = format!("(first U8, value {ty})").parse().unwrap();
        let codec = CellCodec::new(ty, CellEncoding::Bin).unwrap();
        if value.is_null() {
            continue;
        }
        let whole = key.encode(&[Value::Unsigned(7), value.borrowed()]).unwrap();
        assert_eq!(codec.encode(&value).unwrap(), whole[1..], "{ty} {value:?}");
    }
}

#[test]
fn text_is_what_a_shell_user_types() {
    let millis = FieldType::Timestamp(TimeUnit::Millis);
    let decimal =
        |coefficient, exponent| Value::Decimal(Decimal::new(coefficient, exponent).unwrap());
    let plain = |ty| CellCodec::new(ty, CellEncoding::Text).unwrap();
    let money = CellCodec::decimal(10, 2, CellEncoding::Text).unwrap();
    let cases = [
        (plain(FieldType::I32), Value::Signed(-20), "-20"),
        (plain(FieldType::F64), Value::F64(1.5), "1.5"),
        (plain(FieldType::F64), Value::F64(1e300), "1e300"),
        (plain(FieldType::F64), Value::F64(f64::NAN), "NaN"),
        (plain(FieldType::Bool), Value::Bool(true), "true"),
        (plain(millis), Value::Signed(1_710_460_800_250), "2024-03-15T00:00:00.25Z"),
        (plain(FieldType::Date), Value::Signed(19_797), "2024-03-15"),
        (plain(FieldType::Decimal), decimal(15, -1), "1.5"),
        (money.clone(), decimal(15, -1), "1.50"),
        (money.clone(), decimal(-5, -2), "-0.05"),
        (money, decimal(3, 2), "300.00"),
        (plain(FieldType::String), "null".into(), "null"),
        (plain(FieldType::Bytes), (&b"x'00'"[..]).into(), "x'00'"),
    ];
    for (codec, value, text) in cases {
        assert_eq!(codec.encode(&value).unwrap(), text.as_bytes(), "{codec}");
        assert!(same(&codec.decode(text.as_bytes()).unwrap(), &value), "{codec} {text}");
    }
}

#[test]
fn any_byte_but_zero_is_true_for_java() {
    let codec = CellCodec::new(FieldType::Bool, CellEncoding::Java).unwrap();
    for (byte, expected) in [(0, false), (1, true), (0x7f, true), (0xff, true)] {
        assert_eq!(codec.decode(&[byte]), Ok(Value::Bool(expected)));
    }
}

#[test]
fn wrong_bytes_are_refused_with_type_bytes_and_fix() {
    let java = |ty| CellCodec::new(ty, CellEncoding::Java).unwrap();
    let cases = [
        (java(FieldType::I64), &b"20"[..], "it has 2 bytes, not 8", "ENCODING TEXT reads it"),
        (
            java(FieldType::I64),
            &[0, 0, 0, 5],
            "it has 4 bytes, not 8",
            "the type I32 has as many bytes",
        ),
        (
            java(FieldType::I64),
            &[0x2c, 0x80, 0, 0, 0, 0, 0, 0, 5],
            "it has 9 bytes, not 8",
            "ENCODING ORDERED reads it",
        ),
        (java(FieldType::F64), &[0; 4], "it has 4 bytes, not 8", "the type F32 has as many bytes"),
        (
            java(FieldType::String),
            &[b'a', 0xff],
            "byte 1 is not of UTF-8 text",
            "declare BYTES to read it as it is",
        ),
        (java(FieldType::Bool), b"true", "it has 4 bytes, not 1", "ENCODING TEXT reads it"),
        (
            java(FieldType::Decimal),
            &[0, 0, 0, 1],
            "a scale in four bytes and a number in one or more are wanted",
            "declare BYTES to read it as it is",
        ),
        (
            java(FieldType::Decimal),
            &[0x80, 0, 0, 0, 1],
            "it has more than 31 digits",
            "declare BYTES to read it as it is",
        ),
        (
            CellCodec::decimal(3, 1, CellEncoding::Java).unwrap(),
            &[0, 0, 0, 2, 0x7d],
            "it has 2 digits after the point, and 1 are declared",
            "declare more digits",
        ),
        (
            CellCodec::new(FieldType::I32, CellEncoding::Text).unwrap(),
            b"null",
            "\"null\" is no I32",
            "ENCODING JAVA reads it",
        ),
        (
            CellCodec::new(FieldType::I32, CellEncoding::Bin).unwrap(),
            &[1],
            "its 1 bytes are too few",
            "the type I8 has as many bytes",
        ),
        (
            CellCodec::new(FieldType::String, CellEncoding::Phoenix).unwrap(),
            b"",
            "Phoenix writes null as an empty value",
            "ENCODING TEXT reads it",
        ),
    ];
    for (codec, bytes, why, fix) in cases {
        let expected = format!("x'{}' is no {codec}: {why}; {fix}", hex(bytes));
        assert_eq!(codec.decode(bytes).unwrap_err().to_string(), expected);
    }
    let long = java(FieldType::U8).decode(&[7; 100]).unwrap_err().to_string();
    assert!(long.contains("...' (100 bytes)") && long.len() < 250, "{long}");
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let money = CellCodec::decimal(4, 2, CellEncoding::Java).unwrap();
    let decimal =
        |coefficient, exponent| Value::Decimal(Decimal::new(coefficient, exponent).unwrap());
    assert!(money.encode(&decimal(9_999, -2)).is_ok() && money.encode(&decimal(0, 0)).is_ok());
    let refused = [decimal(1, 2), decimal(1, -3), decimal(12_345, -2)];
    for value in refused {
        assert_eq!(
            money.encode(&value).unwrap_err().kind(),
            CellErrorKind::DoesNotFit,
            "{value:?}"
        );
    }
    let text = CellCodec::new(FieldType::String, CellEncoding::Ordered).unwrap();
    assert!(text.encode(&"a\0".into()).unwrap_err().to_string().contains("declare BYTES"));
    let byte = CellCodec::new(FieldType::U8, CellEncoding::Java).unwrap();
    assert_eq!(byte.encode(&Value::Unsigned(256)).unwrap_err().kind(), CellErrorKind::DoesNotFit);
    assert_eq!(byte.encode(&Value::Signed(1)).unwrap_err().kind(), CellErrorKind::WrongType);
    assert_eq!(byte.encode(&Value::Null).unwrap_err().kind(), CellErrorKind::Null);
}
