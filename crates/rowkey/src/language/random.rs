//! Random valid schemas for tests, each from its seed.

use bytes::Bytes;
use halite_types::rng::{SPLIT_MIX_INCREMENT, SplitMix64};

use super::declaration::{Column, ColumnType};
use crate::cell::{CellCodec, CellEncoding};
use crate::schema::{
    Field, FieldId, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind,
};
use crate::value::{Decimal, FieldType, TimeUnit, Value};

/// Seeded generator.
pub(crate) struct SeededRng(SplitMix64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed.wrapping_mul(SPLIT_MIX_INCREMENT) ^ 0x5851_f42d_4c95_7f2d))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number from 0 to `bound` (exclusive).
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap_or_default()].clone()
    }
}

pub(crate) const TYPES: &[FieldType] = &[
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
    FieldType::Bytes,
    FieldType::Char(11),
    FieldType::Fixed(3),
    FieldType::Uuid,
    FieldType::Ipv4,
    FieldType::Ipv6,
    FieldType::Timestamp(TimeUnit::Millis),
    FieldType::Timestamp(TimeUnit::Micros),
    FieldType::Timestamp(TimeUnit::Nanos),
    FieldType::Date,
];

const NAMES: &[&str] = &[
    "a",
    "ts",
    "device_id",
    "Device_Id",
    "salt",
    "by",
    "DESC",
    "text",
    "date",
    "odd name",
    "quo\"te",
    "it's",
    "}",
    "{x}",
    "\u{5f20}",
    "9lives",
    "-",
    "x",
];

/// Returns a schema of one to five fields in any profile.
pub(crate) fn schema(chance: &mut SeededRng) -> KeySchema {
    loop {
        let profile = chance.pick(&[
            Profile::Bin,
            Profile::Bin,
            Profile::Ordered { compat: false },
            Profile::Ordered { compat: true },
            Profile::Phoenix,
            Profile::Text,
            Profile::Text,
        ]);
        let count = 1 + usize::try_from(chance.below(5)).unwrap_or_default();
        let fields = fields(chance, profile, count);
        let mut segments = Vec::new();
        for id in 0..count {
            if chance.below(3) == 0 {
                segments.push(derived(chance, profile, count));
            }
            if chance.below(8) == 0 {
                let bytes = chance.pick(&[1, 4]);
                segments.push(Segment::new(SegmentKind::Hash {
                    by: vec![id],
                    bytes,
                    function: HashFunction::Md5,
                    hex: false,
                }));
            } else {
                segments.extend(carriers(chance, profile, &fields, id));
            }
        }
        if chance.flip() {
            let part = segments.iter().position(|segment| {
                matches!(segment.kind, SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. })
            });
            segments[..=part.unwrap_or(0)].rotate_right(1);
        }
        // A combination of valid choices may still be rejected, such as a text key with two
        // consecutive constants.
        if let Ok(schema) = KeySchema::new(profile, fields, segments) {
            return schema;
        }
    }
}

fn fields(chance: &mut SeededRng, profile: Profile, count: usize) -> Vec<Field> {
    let mut names = NAMES.to_vec();
    let mut field = || {
        let name = names
            .swap_remove(usize::try_from(chance.below(names.len() as u64)).unwrap_or_default());
        let pattern = (profile == Profile::Text && chance.below(4) == 0)
            .then(|| chance.pick(&["[^_]+", "it's|\"x\"", ""]).to_owned());
        Field { name: name.to_owned(), ty: chance.pick(TYPES), pattern }
    };
    (0..count).map(|_| field()).collect()
}

/// Returns a constant, a salt or a hash.
fn derived(chance: &mut SeededRng, profile: Profile, count: usize) -> Segment {
    let some: Vec<FieldId> = (0..count).filter(|_| chance.flip()).collect();
    let kind = match chance.below(3) {
        0 => SegmentKind::Const(Bytes::from(chance.pick(&[
            b"_".to_vec(),
            b"it's".to_vec(),
            b"{}".to_vec(),
            vec![0, 255],
            "\u{5f20}\n".into(),
            b"x'00'".to_vec(),
        ]))),
        1 if profile == Profile::Phoenix => {
            SegmentKind::Salt { count: 16, by: some, function: HashFunction::Phoenix }
        }
        1 => {
            let function = chance.pick(HashFunction::NAMES).1;
            SegmentKind::Salt { count: chance.pick(&[1, 2, 16, 1000, 65_536]), by: some, function }
        }
        _ => {
            let by = if some.is_empty() { vec![0] } else { some };
            SegmentKind::Hash {
                by,
                bytes: chance.pick(&[1, 4, 16]),
                function: chance.pick(HashFunction::NAMES).1,
                hex: chance.flip(),
            }
        }
    };
    let mut segment = Segment::new(kind);
    segment.digits = match &segment.kind {
        SegmentKind::Hash { bytes, .. } if profile == Profile::Text && chance.flip() => {
            Some(bytes * 2 - 1)
        }
        SegmentKind::Salt { .. } if profile == Profile::Text && chance.flip() => Some(5),
        _ => None,
    };
    segment
}

/// Returns the segments of one field: a part of it, all of it, or both.
fn carriers(
    chance: &mut SeededRng,
    profile: Profile,
    fields: &[Field],
    id: FieldId,
) -> Vec<Segment> {
    let mut kinds = Vec::new();
    let ty = fields[id].ty;
    let part = match ty {
        _ if ty.integer_range().is_some() => Some(SegmentKind::Bucket {
            field: id,
            width: chance.pick(&[1, 7, 100, 3_600_000, 86_400_000, 604_800_000_000]),
        }),
        FieldType::String | FieldType::Bytes => {
            Some(SegmentKind::Trunc { field: id, bytes: chance.pick(&[1, 8, 4_000]) })
        }
        _ => None,
    };
    let in_part = part.filter(|_| chance.below(3) == 0);
    if in_part.is_none() || chance.flip() {
        kinds.push(match chance.below(6) {
            0 => SegmentKind::Reverse(id),
            1 => SegmentKind::BitReverse(id),
            2 => SegmentKind::Dict { field: id, bytes: chance.pick(&[1, 3, 8]) },
            3 => SegmentKind::Ipv4(id),
            _ => SegmentKind::Plain(id),
        });
    }
    let in_front = chance.flip();
    kinds.extend(in_part);
    if in_front {
        kinds.reverse();
    }
    kinds.into_iter().map(|kind| dressed(chance, profile, kind)).collect()
}

fn dressed(chance: &mut SeededRng, profile: Profile, kind: SegmentKind) -> Segment {
    let order = if chance.flip() { Order::Asc } else { Order::Desc };
    let digits =
        (profile == Profile::Text && chance.flip()).then(|| chance.pick(&[1, 10, 19, 128]));
    Segment { kind, order, nullable: chance.below(4) == 0, digits }
}

/// Returns a value column with random attributes; its qualifier is its name.
pub(crate) fn column(chance: &mut SeededRng, name: &str, family: &str) -> Column {
    let ty = match chance.below(6) {
        0 => ColumnType::Counter,
        1 => {
            let precision = chance.pick(&[1, 10, 31]);
            ColumnType::Decimal { precision, scale: chance.pick(&[0, 1, precision]) }
        }
        2 => ColumnType::Map { key: chance.pick(TYPES), value: chance.pick(TYPES) },
        _ => ColumnType::Value(chance.pick(TYPES)),
    };
    let mut column = Column::new(name, ty, family);
    let has_values = matches!(column.ty, ColumnType::Value(_) | ColumnType::Decimal { .. });
    if column.ty != ColumnType::Counter {
        column.encoding = chance.pick(CellEncoding::NAMES).1;
        if column.codec().is_err() || key_codec(&column).is_err() {
            column.encoding = CellEncoding::Java;
        }
    }
    if has_values && chance.flip() {
        let value = value(chance, column.ty.value_type().expect("it has values"));
        column.default = Some(value)
            .filter(|value| column.codec().is_ok_and(|codec| codec.encode(value).is_ok()));
    }
    column.not_null = has_values && chance.flip();
    column
}

fn key_codec(column: &Column) -> Result<(), String> {
    match column.ty {
        ColumnType::Map { key, .. } => CellCodec::new(key, column.encoding).map(drop),
        _ => Ok(()),
    }
}

/// Returns a value of a type: greatest, least, negative, empty and others.
pub(crate) fn value(chance: &mut SeededRng, ty: FieldType) -> Value<'static> {
    let text = chance.pick(&["", "a", "it's", "NULL", "\u{1f980}\0\u{5f20}", "x'00'", "\n"]);
    let bytes = |count: u16, chance: &mut SeededRng| -> Vec<u8> {
        (0..count).map(|_| chance.pick(&[0, 1, 0x7f, 0x80, 0xff])).collect()
    };
    match ty {
        FieldType::Bool => Value::Bool(chance.flip()),
        FieldType::F32 => {
            Value::F32(chance.pick(&[0.0, -0.0, 1.5, f32::MIN, f32::MAX, f32::INFINITY]))
        }
        FieldType::F64 => Value::F64(chance.pick(&[
            0.0,
            -0.0,
            0.1,
            f64::MIN,
            f64::MIN_POSITIVE,
            f64::NEG_INFINITY,
        ])),
        FieldType::Decimal => {
            let coefficient = chance.pick(&[0, 5, -125, 10i128.pow(31) - 1]);
            Decimal::new(coefficient, chance.pick(&[0, -1, -3, 2]))
                .map_or(Value::Null, Value::Decimal)
        }
        FieldType::String => Value::Text(text.into()),
        FieldType::Bytes => Value::Bytes(text.as_bytes().to_vec().into()),
        FieldType::Char(width) => Value::Text("z".repeat(width.into()).into()),
        FieldType::Fixed(width) => Value::Bytes(bytes(width, chance).into()),
        FieldType::Uuid => Value::Uuid(bytes(16, chance).try_into().unwrap_or_default()),
        FieldType::Ipv4 => Value::Ipv4([10, 0, 0, 255].into()),
        FieldType::Ipv6 => Value::Ipv6([0, 0xffff, 0, 0, 0, 0, 0, 1].into()),
        _ => {
            let (least, most) = ty.integer_range().unwrap_or_default();
            let number = chance.pick(&[least, most, most - 1, 0, 1, (-1).max(least)]);
            match i64::try_from(number) {
                Ok(number) if least < 0 => Value::Signed(number),
                _ => Value::Unsigned(u64::try_from(number).unwrap_or_default()),
            }
        }
    }
}
