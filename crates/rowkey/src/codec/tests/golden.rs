//! Keys in text files written by other programs: fields, values and the key, one key per line.

use super::{encoded, plain, salt, schema, unhex};
use crate::schema::{HashFunction, KeySchema, Profile, Segment};
use crate::value::{Decimal, FieldType, TimeUnit, Value};

/// Compares the key of every line with the encoded key, and its values with the decoded values.
/// Returns the number of lines.
pub(super) fn check_lines(golden: &str, profile: Profile) -> usize {
    let lines = golden.lines().filter(|line| !line.starts_with('#'));
    lines.inspect(|line| check_line(line, profile)).count()
}

fn check_line(line: &str, profile: Profile) {
    let [fields, values, key] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
    let (schema, types) = schema_of(fields, profile);
    let values: Vec<_> = values.split(' ').zip(&types).map(|(text, ty)| value(text, *ty)).collect();
    assert_eq!(encoded(&schema, &values), key, "{line}");
}

fn schema_of(fields: &str, profile: Profile) -> (KeySchema, Vec<FieldType>) {
    let mut types = Vec::new();
    let mut segments = Vec::new();
    let (salts, fields) = match fields.strip_prefix("salt").and_then(|rest| rest.split_once(' ')) {
        Some((count, rest)) => (count.parse().ok(), rest),
        None => (None, fields),
    };
    segments.extend(salts.map(|count| salt(count, &[], HashFunction::Phoenix)));
    for (id, field) in fields.split(' ').enumerate() {
        let mut words = field.split('-');
        types.push(type_of(words.next().unwrap_or_default()));
        let mut segment = plain(id);
        for word in words {
            segment =
                if word == "desc" { segment.desc() } else { Segment { nullable: true, ..segment } };
        }
        segments.push(segment);
    }
    (schema(profile, &types, segments), types)
}

fn type_of(name: &str) -> FieldType {
    match name {
        "u8" => FieldType::U8,
        "u16" => FieldType::U16,
        "u32" => FieldType::U32,
        "u64" => FieldType::U64,
        "i8" => FieldType::I8,
        "i16" => FieldType::I16,
        "i32" => FieldType::I32,
        "i64" => FieldType::I64,
        "f32" => FieldType::F32,
        "f64" => FieldType::F64,
        "ms" => FieldType::Timestamp(TimeUnit::Millis),
        "ns" => FieldType::Timestamp(TimeUnit::Nanos),
        "num" => FieldType::Decimal,
        "str" => FieldType::String,
        "bytes" => FieldType::Bytes,
        "bool" => FieldType::Bool,
        "char4" => FieldType::Char(4),
        "fixed4" => FieldType::Fixed(4),
        other => panic!("{other}"),
    }
}

fn value(text: &str, ty: FieldType) -> Value<'static> {
    let bits = || u64::from_str_radix(&text[1..], 16).expect("bits");
    match ty {
        _ if text == "null" => Value::Null,
        FieldType::Bool => Value::Bool(text == "true"),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            Value::Unsigned(text.parse().expect("a number"))
        }
        FieldType::I8
        | FieldType::I16
        | FieldType::I32
        | FieldType::I64
        | FieldType::Timestamp(_) => Value::Signed(text.parse().expect("a number")),
        FieldType::F32 => Value::F32(f32::from_bits(u32::try_from(bits()).expect("32 bits"))),
        FieldType::F64 => Value::F64(f64::from_bits(bits())),
        FieldType::Decimal => {
            let (coefficient, exponent) = text.split_once('e').expect("an exponent");
            let number = Decimal::new(
                coefficient.parse().expect("digits"),
                exponent.parse().expect("digits"),
            );
            Value::Decimal(number.expect("few digits"))
        }
        _ if ty.is_text() => {
            Value::Text(String::from_utf8(unhex(&text[1..])).expect("UTF-8").into())
        }
        _ => Value::Bytes(unhex(&text[1..]).into()),
    }
}
