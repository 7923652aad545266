//! Random schemas and values that are easily confused with each other, from one seed.

use std::net::{Ipv4Addr, Ipv6Addr};

use fastrand::Rng;
use halite_rowkey::{
    Decimal, Field, FieldId, FieldType, HashFunction, KeyResolver, KeySchema, Order, Profile,
    Segment, SegmentKind, TimeUnit, Value,
};

const BIN_TYPES: [FieldType; 24] = [
    FieldType::Bool,
    FieldType::U8,
    FieldType::U16,
    FieldType::U32,
    FieldType::U64,
    FieldType::I8,
    FieldType::I16,
    FieldType::I32,
    FieldType::I64,
    FieldType::F32,
    FieldType::F64,
    FieldType::Decimal,
    FieldType::String,
    FieldType::String,
    FieldType::Bytes,
    FieldType::Bytes,
    FieldType::Char(2),
    FieldType::Fixed(3),
    FieldType::Uuid,
    FieldType::Ipv4,
    FieldType::Ipv6,
    FieldType::Timestamp(TimeUnit::Millis),
    FieldType::Timestamp(TimeUnit::Nanos),
    FieldType::Date,
];

/// Returns a schema whose keys sort as its fields do: plain fields, in random order and with nulls.
pub(crate) fn plain_schema(rng: &mut Rng, profile: Profile) -> KeySchema {
    loop {
        let types: Vec<_> = (0..rng.usize(1..=5)).map(|_| pick(rng, &BIN_TYPES)).collect();
        let mut segments: Vec<_> =
            (0..types.len()).map(|field| ordered(rng, SegmentKind::Plain(field))).collect();
        if profile == Profile::Text {
            segments = in_text(rng, segments);
        }
        let schema = KeySchema::new(profile, named(types), segments);
        if let Some(schema) = schema.ok().filter(in_order) {
            return schema;
        }
    }
}

/// Returns a schema with transforms, salts, hashes and constants anywhere.
pub(crate) fn any_schema(rng: &mut Rng, profile: Profile) -> KeySchema {
    loop {
        let types: Vec<_> = (0..rng.usize(1..=5)).map(|_| pick(rng, &BIN_TYPES)).collect();
        let mut segments: Vec<_> = (0..types.len()).map(|field| transformed(rng, field)).collect();
        for _ in 0..rng.usize(0..3) {
            segments.insert(rng.usize(0..=segments.len()), derived(rng, types.len()));
        }
        if profile == Profile::Text {
            segments = in_text(rng, segments);
        }
        if profile == Profile::Phoenix && rng.bool() {
            segments.insert(
                0,
                Segment::new(SegmentKind::Salt {
                    count: rng.u32(1..=256),
                    by: Vec::new(),
                    function: HashFunction::Phoenix,
                }),
            );
        }
        if let Ok(schema) = KeySchema::new(profile, named(types), segments) {
            return schema;
        }
    }
}

fn in_order(schema: &KeySchema) -> bool {
    let is_const = |at: usize| matches!(schema.segments()[at].kind, SegmentKind::Const(_));
    (0..schema.segments().len()).all(|at| is_const(at) || schema.keeps_order(at))
}

/// Returns segments with literals between most of them, and digits for some.
fn in_text(rng: &mut Rng, segments: Vec<Segment>) -> Vec<Segment> {
    let mut all = Vec::new();
    for mut segment in segments {
        if !all.is_empty() && rng.u8(..10) < 8 {
            all.push(Segment::new(SegmentKind::Const(
                pick(rng, &[&b"_"[..], b"a", b"0", b"\0\0", b"a7"]).into(),
            )));
        }
        if rng.bool() && !matches!(segment.kind, SegmentKind::Hash { .. }) {
            segment.digits = Some(pick(rng, &[1, 3, 10, 19, 20]));
        }
        all.push(segment);
    }
    all
}

fn named(types: Vec<FieldType>) -> Vec<Field> {
    types
        .into_iter()
        .enumerate()
        .map(|(id, ty)| Field { name: format!("f{id}"), ty, pattern: None })
        .collect()
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(..from.len())].clone()
}

fn ordered(rng: &mut Rng, kind: SegmentKind) -> Segment {
    let order = if rng.bool() { Order::Asc } else { Order::Desc };
    Segment { order, nullable: rng.u8(..10) < 3, ..Segment::new(kind) }
}

fn transformed(rng: &mut Rng, field: FieldId) -> Segment {
    let kind = match rng.u8(..12) {
        0 => SegmentKind::Bucket { field, width: pick(rng, &[1, 7, 60, 3_600_000, u64::MAX / 3]) },
        1 => SegmentKind::Trunc { field, bytes: rng.u16(1..5) },
        2 => SegmentKind::Reverse(field),
        3 => SegmentKind::BitReverse(field),
        4 => SegmentKind::Dict { field, bytes: rng.u8(1..=8) },
        5 => SegmentKind::Ipv4(field),
        _ => SegmentKind::Plain(field),
    };
    ordered(rng, kind)
}

fn derived(rng: &mut Rng, fields: usize) -> Segment {
    let computed: Vec<_> = HashFunction::NAMES
        .iter()
        .map(|(_, function)| *function)
        .filter(|function| function.is_deterministic())
        .collect();
    let function = pick(rng, &computed);
    let by: Vec<_> = (0..rng.usize(0..3)).map(|_| rng.usize(..fields)).collect();
    Segment::new(match rng.u8(..4) {
        0 => SegmentKind::Const(pick(rng, &[&b"\0"[..], b"t", b"\xff\xff"]).into()),
        1 => SegmentKind::Hash { by, bytes: rng.u8(1..=64), function, hex: rng.bool() },
        _ => SegmentKind::Salt { count: pick(rng, &[1, 2, 16, 256, 257, 65_536]), by, function },
    })
}

/// Returns a value for each field, including nulls where they are allowed. `ipv4` fields have
/// addresses.
pub(crate) fn row(rng: &mut Rng, schema: &KeySchema) -> Vec<Value<'static>> {
    let value = |(id, field): (FieldId, &Field)| {
        let segment = schema.segments().iter().find(|segment| segment.kind.field() == Some(id));
        match segment {
            Some(segment) if segment.nullable && rng.u8(..10) < 3 => Value::Null,
            Some(Segment { kind: SegmentKind::Ipv4(_), .. }) => {
                Value::Text(Ipv4Addr::from_bits(rng.u32(..)).to_string().into())
            }
            Some(Segment { kind: SegmentKind::Dict { .. }, .. })
                if field.ty == FieldType::String =>
            {
                Value::Text(rng.u8(..).to_string().into())
            }
            Some(Segment { kind: SegmentKind::Dict { .. }, .. }) => {
                Value::Bytes(rng.u8(..).to_string().into_bytes().into())
            }
            _ => value(rng, field.ty),
        }
    };
    schema.fields().iter().enumerate().map(value).collect()
}

/// Dictionary whose entries are decimal numbers: `17` is entry 17.
pub(crate) struct Digits;

impl KeyResolver for Digits {
    fn dictionary_id(&self, _: FieldId, value: &[u8]) -> Option<u64> {
        str::from_utf8(value)
            .ok()?
            .parse()
            .ok()
            .filter(|id: &u64| id.to_string().as_bytes() == value)
    }

    fn dictionary_value(&self, _: FieldId, id: u64) -> Option<Vec<u8>> {
        Some(id.to_string().into_bytes())
    }
}

fn value(rng: &mut Rng, ty: FieldType) -> Value<'static> {
    match ty {
        FieldType::Bool => Value::Bool(rng.bool()),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            Value::Unsigned(unsigned(rng) & (u64::MAX >> (64 - 8 * width(ty))))
        }
        FieldType::I8
        | FieldType::I16
        | FieldType::I32
        | FieldType::I64
        | FieldType::Timestamp(_)
        | FieldType::Date => {
            let unused = 64 - 8 * width(ty);
            Value::Signed((unsigned(rng) << unused).cast_signed() >> unused)
        }
        FieldType::F32 => Value::F32(pick(
            rng,
            &[
                0.0,
                -0.0,
                1.5,
                -1.5,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::NAN,
                f32::MIN_POSITIVE,
                f32::from_bits(1),
            ],
        )),
        FieldType::F64 if rng.bool() => Value::F64(pick(
            rng,
            &[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, f64::MAX, f64::MIN],
        )),
        FieldType::F64 => Value::F64(rng.f64() * 4.0 - 2.0),
        FieldType::Decimal => Value::Decimal(decimal(rng)),
        FieldType::String => Value::Text(text(rng).into()),
        FieldType::Bytes => {
            Value::Bytes((0..rng.usize(..4)).map(|_| byte(rng)).collect::<Vec<_>>().into())
        }
        FieldType::Char(bytes) => Value::Text(
            (0..bytes)
                .map(|_| pick(rng, &['\0', '\u{1}', 'a', 'b', '\u{7f}']))
                .collect::<String>()
                .into(),
        ),
        FieldType::Fixed(bytes) => {
            Value::Bytes((0..bytes).map(|_| byte(rng)).collect::<Vec<_>>().into())
        }
        FieldType::Uuid => Value::Uuid(wide(rng).to_be_bytes()),
        FieldType::Ipv4 => Value::Ipv4(Ipv4Addr::from(std::array::from_fn(|_| byte(rng)))),
        FieldType::Ipv6 => Value::Ipv6(Ipv6Addr::from_bits(wide(rng))),
    }
}

fn width(ty: FieldType) -> usize {
    ty.fixed_bytes().expect("a number's width")
}

fn unsigned(rng: &mut Rng) -> u64 {
    match rng.u8(..6) {
        0 => rng.u64(..4),
        1 => u64::MAX - rng.u64(..4),
        2 => 1 << rng.u8(..64),
        3 => (1 << rng.u8(..64)) - 1,
        4 => i64::MAX.cast_unsigned().wrapping_add(rng.u64(..3)),
        _ => rng.u64(..),
    }
}

fn wide(rng: &mut Rng) -> u128 {
    let half = |rng: &mut Rng| u128::from(pick(rng, &[0, 1, u64::MAX, 0x0100]));
    (half(rng) << 64) | half(rng)
}

fn decimal(rng: &mut Rng) -> Decimal {
    let coefficient = match rng.u8(..4) {
        0 => rng.i128(-3..4),
        1 => rng.i128(-1200..1200),
        2 => pick(rng, &[10_i128.pow(31) - 1, 1 - 10_i128.pow(31), 10_i128.pow(30), 99]),
        _ => rng.i128(-10_i128.pow(18)..10_i128.pow(18)),
    };
    Decimal::new(coefficient, pick(rng, &[0, 0, 1, -1, -2, -3, 20, -20, 700, -700]))
        .expect("few digits")
}

/// Returns one of the bytes of which ends, escapes and marks of null consist, or of their
/// complements.
fn byte(rng: &mut Rng) -> u8 {
    pick(rng, &[0, 0, 1, 2, 0x61, 0xfe, 0xff, 0xff])
}

fn text(rng: &mut Rng) -> String {
    (0..rng.usize(..4))
        .map(|_| pick(rng, &['\0', '\0', '\u{1}', '\u{2}', 'a', '\u{7f}', '\u{ff}', '\u{10ffff}']))
        .collect()
}
