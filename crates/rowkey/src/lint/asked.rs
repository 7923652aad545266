//! What the planner says of a declared query, of which only the shape is known: values are made up for it.

use std::sync::Arc;

use bytes::Bytes;

use crate::codec::KeyHelper;
use crate::plan::{KeyQuery, Limits, Note, Plan, PlanError, PlanOptions, Test};
use crate::schema::{FieldId, KeySchema, Order, SegmentKind};
use crate::value::{Decimal, FieldType, Value};

use super::{Asks, QueryShape};

/// What is known of a query without its values.
pub(super) struct Asked {
    /// Some condition narrows what is read.
    pub(super) is_narrow: bool,
    /// Ranges, lists counted once.
    pub(super) ranges: u64,
    /// A salt that cannot be computed.
    pub(super) salt: Option<usize>,
    /// A hash at which conditions end, because not all of its fields are known.
    pub(super) hash: Option<usize>,
    /// Whether rows come in the order that is wanted, or in the opposite one.
    pub(super) is_ordered: bool,
}

impl Asked {
    pub(super) fn of(key: &KeySchema, query: &QueryShape) -> Self {
        // Which conditions narrow what is read does not depend on how many salts there are: of two it shows at once.
        let few = Arc::new(with_two_salts(key));
        match plan(&few, query, 1, false) {
            Ok(plan) => Self {
                is_narrow: !plan.notes().contains(&Note::FullScan),
                ranges: every_salt(&plan).filter_map(|at| key.salt_count(at)).map(u64::from).product(),
                salt: every_salt(&plan).last(),
                hash: plan.notes().iter().find_map(|note| if let Note::HashRange { segment } = note { Some(*segment) } else { None }),
                is_ordered: is_ordered(&few, query),
            },
            Err(PlanError::OnlyHashed { field }) => {
                let field = key.field_id(&field);
                let is_hash = |kind: &SegmentKind| matches!(kind, SegmentKind::Hash { by, .. } if by.iter().any(|by| Some(*by) == field));
                let hash = key.segments().iter().position(|segment| is_hash(&segment.kind));
                Self { is_narrow: false, ranges: 1, salt: None, hash, is_ordered: false }
            }
            Err(_) => Self { is_narrow: false, ranges: 1, salt: None, hash: None, is_ordered: false },
        }
    }
}

/// Whether the key gives the rows in the wanted order, read from either end.
fn is_ordered(key: &Arc<KeySchema>, query: &QueryShape) -> bool {
    let serves = |reverse| plan(key, query, 2, reverse).is_ok_and(|plan| plan.serves_order(&query.order));
    !query.orders_by_values && (query.order.is_empty() || serves(false) || serves(true))
}

fn every_salt(plan: &Plan) -> impl Iterator<Item = usize> {
    plan.notes().iter().filter_map(|note| if let Note::EverySalt { segment, .. } = note { Some(*segment) } else { None })
}

/// The same key with at most two of each salt.
fn with_two_salts(key: &KeySchema) -> KeySchema {
    let mut segments = key.segments().to_vec();
    for segment in &mut segments {
        if let SegmentKind::Salt { count, .. } = &mut segment.kind {
            *count = (*count).min(2);
        }
    }
    key.rearranged(segments).unwrap_or_else(|_| key.clone())
}

/// A plan for values that are made up, lists of `values` of them.
fn plan(key: &Arc<KeySchema>, query: &QueryShape, values: u8, reverse: bool) -> Result<Plan, PlanError> {
    let mut asked = KeyQuery::all().reverse(reverse);
    for &(field, asks) in &query.conditions {
        if let Some(test) = test(key, field, asks, values) {
            asked = asked.with(field, test);
        }
    }
    // Ranges of a few values stand for ranges of any width.
    let limits = Limits { enumerate: 0, ..Limits::default() };
    Plan::new(key, &asked, &PlanOptions { limits, helper: Some(Arc::new(AnyDictionary)), ..PlanOptions::default() })
}

/// A condition as the planner has it; `None` for a beginning of what has none.
fn test(key: &KeySchema, field: FieldId, asks: Asks, values: u8) -> Option<Test> {
    let value = |turn| example(key, field, turn);
    Some(match asks {
        Asks::Equals => Test::Equals(value(0)),
        Asks::In => Test::In((0..values).map(value).collect()),
        Asks::Range => Test::Range { low: std::ops::Bound::Included(value(0)), high: std::ops::Bound::Unbounded },
        Asks::Prefix => match key.fields()[field].ty {
            FieldType::String | FieldType::Char(_) => Test::Prefix(Bytes::from_static(b"1")),
            FieldType::Bytes | FieldType::Fixed(_) => Test::Prefix(Bytes::from_static(&[1])),
            _ => return None,
        },
    })
}

/// A value of a field: the first or the second of some. Digits, because most patterns of text let them pass.
fn example(key: &KeySchema, field: FieldId, turn: u8) -> Value<'static> {
    let is_address = key.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Ipv4(of) if of == field));
    let digit = char::from(b'1' + turn).to_string();
    match key.fields()[field].ty {
        FieldType::Bool => Value::Bool(turn == 1),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => Value::Unsigned(1 + u64::from(turn)),
        FieldType::F32 => Value::F32(f32::from(turn)),
        FieldType::F64 => Value::F64(f64::from(turn)),
        FieldType::String if is_address => Value::Text(format!("10.0.0.{digit}").into()),
        FieldType::String => Value::Text(digit.into()),
        FieldType::Char(bytes) => Value::Text(digit.repeat(bytes.into()).into()),
        FieldType::Bytes => Value::Bytes(vec![turn].into()),
        FieldType::Fixed(bytes) => Value::Bytes(vec![turn; bytes.into()].into()),
        FieldType::Uuid => Value::Uuid([turn; 16]),
        FieldType::Ipv4 => Value::Ipv4([10, 0, 0, turn].into()),
        FieldType::Ipv6 => Value::Ipv6(u128::from(turn).into()),
        FieldType::Decimal => Decimal::new((1 + turn).into(), 0).map_or(Value::Null, Value::Decimal),
        FieldType::I8 | FieldType::I16 | FieldType::I32 | FieldType::I64 | FieldType::Timestamp(_) | FieldType::Date => {
            Value::Signed(1 + i64::from(turn))
        }
    }
}

/// Knows a number for every value, as a dictionary that is filled does.
struct AnyDictionary;

impl KeyHelper for AnyDictionary {
    fn dictionary_id(&self, _: FieldId, value: &[u8]) -> Option<u64> {
        value.last().map(|&last| last.into())
    }
}

/// The field whose values decide which rows come first, once those with one value are left out, and which way it goes in
/// the key.
pub(super) fn first_open(key: &KeySchema, query: &QueryShape) -> Option<(FieldId, Order)> {
    let is_pinned = |field: FieldId| query.conditions.iter().any(|&(of, asks)| of == field && asks == Asks::Equals);
    key.segments().iter().find_map(|segment| Some((segment.kind.field().filter(|&field| !is_pinned(field))?, segment.order)))
}
