//! Random schemas, rows and queries, all from one seed.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use halite_types::rng::SplitMix64;

use crate::codec::{KeyResolver, SaltGenerator};
use crate::plan::{KeyQuery, PlanLimits, PlanOptions, Predicate};
use crate::schema::{Field, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind};
use crate::value::{Decimal, FieldType, TimeUnit, Value};

/// Seeded generator.
pub(crate) struct SeededRng(SplitMix64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// Schema, rows of it, and a query.
pub(crate) struct Case {
    pub(crate) schema: Arc<KeySchema>,
    /// Every key with the values that were encoded to it; several if the key contains only a part
    /// of them.
    pub(crate) rows: BTreeMap<Vec<u8>, Vec<Vec<Value<'static>>>>,
    pub(crate) query: KeyQuery,
    pub(crate) options: PlanOptions,
}

/// Dictionaries of the words in rows, and generated salts.
#[derive(Debug)]
struct Words(SaltGenerator);

const WORDS: [&str; 9] =
    ["", "a", "ab", "a\0", "b", "a\u{e9}", "\u{10ffff}", "ab\u{7f}", "10.0.0.1"];

impl KeyResolver for Words {
    fn dictionary_id(&self, _: usize, value: &[u8]) -> Option<u64> {
        // Ids are not in the order of the words, as in a dictionary that grew.
        Some(WORDS.iter().position(|word| word.as_bytes() == value)? as u64 ^ 5)
    }

    fn dictionary_value(&self, _: usize, id: u64) -> Option<Vec<u8>> {
        WORDS.get(usize::try_from(id ^ 5).ok()?).map(|word| word.as_bytes().to_vec())
    }

    fn next_salt(&self, segment: usize, function: HashFunction, count: u32) -> Option<u32> {
        self.0.next_salt(segment, function, count)
    }
}

impl Case {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = SeededRng::new(seed);
        let profiles = [
            Profile::Bin,
            Profile::Bin,
            Profile::Ordered { compat: false },
            Profile::Ordered { compat: true },
            Profile::Phoenix,
            Profile::Text,
        ];
        let (schema, fields) = loop {
            let fields = fields(&mut chance);
            let profile = chance.pick(&profiles);
            let mut segments = segments(&mut chance, &fields);
            if profile == Profile::Text {
                segments = as_text(&mut chance, segments);
            }
            if let Ok(schema) = KeySchema::new(profile, fields.clone(), segments) {
                break (schema, fields);
            }
        };
        let helper = Arc::new(Words(SaltGenerator::seeded(seed)));
        let rows = rows(&mut chance, &schema, &fields, &*helper);
        let reverse = chance.one_in(2);
        let mut query = query(&mut chance, &fields).reverse(reverse);
        if chance.one_in(2) {
            query = query.limit(chance.below(6));
        }
        let limits = PlanLimits {
            ranges: chance.pick(&[2, 20, 1 << 17]),
            choices: chance.pick(&[0, 2, 10_000]),
            enumerate: chance.pick(&[0, 3, 64]),
            ..PlanLimits::default()
        };
        let distinct =
            (0..fields.len()).filter(|_| chance.one_in(2)).map(|field| (field, 3)).collect();
        Self {
            schema: Arc::new(schema),
            rows,
            query,
            options: PlanOptions { limits, distinct, resolver: Some(helper) },
        }
    }
}

/// Returns a query of up to three conditions.
pub(crate) fn query(chance: &mut SeededRng, fields: &[Field]) -> KeyQuery {
    let mut query = KeyQuery::all();
    for _ in 0..chance.below(4) {
        let field = chance.below(fields.len());
        query = query.with(field, predicate(chance, fields[field].ty));
    }
    query
}

fn fields(chance: &mut SeededRng) -> Vec<Field> {
    let types = [
        FieldType::Bool,
        FieldType::U8,
        FieldType::U16,
        FieldType::U64,
        FieldType::I8,
        FieldType::I32,
        FieldType::I64,
        FieldType::F32,
        FieldType::F64,
        FieldType::Decimal,
        FieldType::String,
        FieldType::String,
        FieldType::String,
        FieldType::Bytes,
        FieldType::Char(2),
        FieldType::Fixed(2),
        FieldType::Uuid,
        FieldType::Ipv4,
        FieldType::Ipv6,
        FieldType::Timestamp(TimeUnit::Millis),
        FieldType::Date,
    ];
    (0..=chance.below(4))
        .map(|id| Field { name: format!("f{id}"), ty: chance.pick(&types), pattern: None })
        .collect()
}

fn segments(chance: &mut SeededRng, fields: &[Field]) -> Vec<Segment> {
    let mut segments: Vec<Segment> =
        (0..fields.len()).flat_map(|field| carriers(chance, field, fields[field].ty)).collect();
    for place in (1..segments.len()).rev() {
        segments.swap(place, chance.below(place + 1));
    }
    let by =
        |chance: &mut SeededRng| (0..fields.len()).filter(|_| chance.one_in(2)).collect::<Vec<_>>();
    if chance.one_in(2) {
        use HashFunction::{Crc32, Java, Md5, Modulo, Murmur3, Random, RoundRobin};
        let function = chance.pick(&[Murmur3, Md5, Java, Crc32, Modulo, Random, RoundRobin]);
        // Phoenix has only its own function.
        let (function, by) = if chance.one_in(4) {
            (HashFunction::Phoenix, Vec::new())
        } else {
            (function, by(chance))
        };
        let salt = SegmentKind::Salt { count: [1, 2, 3, 5, 300][chance.below(5)], by, function };
        let place = if chance.one_in(3) { chance.below(segments.len() + 1) } else { 0 };
        segments.insert(place, Segment::new(salt));
    }
    if chance.one_in(4) {
        let hash = SegmentKind::Hash {
            by: by(chance),
            bytes: 4,
            function: HashFunction::Md5,
            hex: chance.one_in(2),
        };
        segments.insert(chance.below(segments.len() + 1), Segment::new(hash));
    }
    if chance.one_in(4) {
        let literal = chance.pick(&[&b"x"[..], &[0xff], &[0, 0]]);
        segments.insert(
            chance.below(segments.len() + 1),
            Segment::new(SegmentKind::Const(bytes::Bytes::from_static(literal))),
        );
    }
    segments
}

/// Returns the segments with a literal after each but the last, and digits for some.
fn as_text(chance: &mut SeededRng, segments: Vec<Segment>) -> Vec<Segment> {
    let literal = Segment::new(SegmentKind::Const(bytes::Bytes::from_static(b"_")));
    let last = segments.len().saturating_sub(1);
    let with_digits = |mut segment: Segment| {
        segment.digits = chance.pick(&[None, Some(10), Some(19)]);
        segment
    };
    let with_literal =
        |(place, segment)| std::iter::once(segment).chain((place < last).then(|| literal.clone()));
    segments.into_iter().map(with_digits).enumerate().flat_map(with_literal).collect()
}

fn carriers(chance: &mut SeededRng, field: usize, ty: FieldType) -> Vec<Segment> {
    let transformed = match (ty, chance.below(6)) {
        (FieldType::String, 0) => SegmentKind::Dict { field, bytes: 1 },
        (FieldType::String | FieldType::Bytes, 1) => SegmentKind::Trunc { field, bytes: 1 },
        (FieldType::Char(_), 0 | 1) => SegmentKind::Reverse(field),
        _ if ty.integer_range().is_some() => match chance.below(6) {
            0 => SegmentKind::BitReverse(field),
            1 => SegmentKind::Reverse(field),
            2 | 3 => SegmentKind::Bucket { field, width: 1 + chance.below(4) as u64 },
            _ => SegmentKind::Plain(field),
        },
        _ => SegmentKind::Plain(field),
    };
    let in_part = matches!(transformed, SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. });
    let mut kinds = vec![transformed];
    if in_part && chance.one_in(2) {
        kinds.push(SegmentKind::Plain(field));
    }
    let nullable = chance.one_in(4);
    let segment = |kind| Segment {
        kind,
        order: if chance.one_in(2) { Order::Desc } else { Order::Asc },
        nullable,
        digits: None,
    };
    kinds.into_iter().map(segment).collect()
}

fn rows(
    chance: &mut SeededRng,
    schema: &KeySchema,
    fields: &[Field],
    helper: &dyn KeyResolver,
) -> BTreeMap<Vec<u8>, Vec<Vec<Value<'static>>>> {
    let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let is_nullable = |field| {
        schema
            .segments()
            .iter()
            .any(|segment| segment.nullable && segment.kind.field() == Some(field))
    };
    for _ in 0..chance.below(40) {
        let value = |(id, field): (usize, &Field)| {
            if is_nullable(id) && chance.one_in(4) { Value::Null } else { value(chance, field.ty) }
        };
        let values: Vec<_> = fields.iter().enumerate().map(value).collect();
        // Values that the key cannot contain (a bucket before 1970, text that is not an address)
        // are not a row.
        if let Ok(key) = schema.encode_with(&values, helper) {
            rows.entry(key.to_vec()).or_default().push(values);
        }
    }
    rows
}

/// Returns one of a few values of the type, so that conditions match rows. They include the least
/// and the greatest.
fn value(chance: &mut SeededRng, ty: FieldType) -> Value<'static> {
    if let Some((min, max)) = ty.integer_range() {
        let small = chance.below(8) as i128 - if min < 0 { 3 } else { 0 };
        let number = if chance.one_in(8) { chance.pick(&[min, max, max - 1]) } else { small };
        return crate::plan::constraint::from_integer(ty, number).expect("within the type");
    }
    let bytes = chance.pick(&[
        &b"a"[..],
        b"",
        b"\0",
        b"\0\0",
        b"a\0",
        b"\xff",
        b"\xff\xff",
        b"a\xff",
        b"ab",
    ]);
    let double = chance.pick(&[f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN]);
    match ty {
        FieldType::Bool => Value::Bool(chance.one_in(2)),
        FieldType::F32 => Value::F32(chance.pick(&[
            f32::NEG_INFINITY,
            -1.5,
            -0.0,
            0.0,
            1.5,
            f32::INFINITY,
            f32::NAN,
        ])),
        FieldType::F64 => Value::F64(double),
        FieldType::Decimal => {
            let (digits, exponent) =
                chance.pick(&[(0, 0), (1, 0), (-1, 0), (15, -1), (1, 30), (-1, -20), (314, -2)]);
            Value::Decimal(Decimal::new(digits, exponent).expect("few digits"))
        }
        FieldType::String => chance.pick(&WORDS).into(),
        FieldType::Char(_) => chance.pick(&["ab", "aa", "\0\0", "b\u{7f}", "\u{e9}"]).into(),
        FieldType::Fixed(_) => {
            chance.pick(&[&b"ab"[..], b"\0\0", b"\xff\xff", b"a\0", b"a\xff"]).into()
        }
        FieldType::Uuid => Value::Uuid([chance.pick(&[0, 1, 255]); 16]),
        FieldType::Ipv4 => Value::Ipv4(chance.pick(&[0, 1, 0x0a00_0001, u32::MAX]).into()),
        FieldType::Ipv6 => Value::Ipv6(chance.pick(&[0, 1, u128::MAX]).into()),
        _ => bytes.into(),
    }
}

fn predicate(chance: &mut SeededRng, ty: FieldType) -> Predicate {
    let bound = |chance: &mut SeededRng| match chance.below(5) {
        0 | 1 => Bound::Included(value(chance, ty)),
        2 | 3 => Bound::Excluded(value(chance, ty)),
        _ => Bound::Unbounded,
    };
    match (chance.below(10), ty) {
        (0..=2, _) => Predicate::Equals(value(chance, ty)),
        (3 | 4, _) => Predicate::In(
            (0..chance.below(5))
                .map(|_| if chance.one_in(8) { Value::Null } else { value(chance, ty) })
                .collect(),
        ),
        (5, _) => {
            if chance.one_in(2) {
                Predicate::IsNull
            } else {
                Predicate::NotNull
            }
        }
        (6 | 7, FieldType::String | FieldType::Char(_)) => {
            Predicate::Prefix(chance.pick(&["", "a", "ab", "a\0", "\u{10ffff}", "b\u{7f}x"]).into())
        }
        (6 | 7, FieldType::Bytes | FieldType::Fixed(_)) => {
            Predicate::Prefix(bytes::Bytes::from_static(chance.pick(&[
                &b""[..],
                b"a",
                b"\0",
                b"\xff",
                b"ab\0",
            ])))
        }
        _ => Predicate::Range { low: bound(chance), high: bound(chance) },
    }
}
