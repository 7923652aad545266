//! Plan of a declared query, whose shape is known but not its values: placeholder values are used.

use std::sync::Arc;

use bytes::Bytes;
use halite_rowkey::codec::KeyResolver;
use halite_rowkey::plan::{
    KeyQuery, Plan, PlanError, PlanLimits, PlanNote, PlanOptions, Predicate,
};
use halite_rowkey::schema::{FieldId, KeySchema, Order, SegmentKind};
use halite_rowkey::value::{Decimal, FieldType, Value};

use super::input::{ConditionShape, QueryShape};

/// Properties of a query without its values.
pub(super) struct PlannedQuery {
    /// `true` if a condition narrows the scan.
    pub(super) is_narrow: bool,
    /// Ranges; a list counts once.
    pub(super) ranges: u64,
    /// Salt that cannot be computed.
    pub(super) salt: Option<usize>,
    /// Hash at which conditions end, because not all of its fields are known.
    pub(super) hash: Option<usize>,
    /// `true` if rows are in the requested order, or in the opposite one.
    pub(super) is_ordered: bool,
}

impl PlannedQuery {
    pub(super) fn for_query(key: &KeySchema, query: &QueryShape) -> Self {
        // The conditions that narrow the scan do not depend on the number of salts: two are
        // sufficient.
        let few = Arc::new(with_two_salts(key));
        match plan(&few, query, 1, false) {
            Ok(plan) => Self {
                is_narrow: !plan.is_full_scan(),
                ranges: every_salt(&plan)
                    .filter_map(|at| key.salt_count(at))
                    .map(u64::from)
                    .product(),
                salt: every_salt(&plan).last(),
                hash: plan.notes().iter().find_map(|note| {
                    if let PlanNote::HashRange { segment } = note { Some(*segment) } else { None }
                }),
                is_ordered: is_ordered(&few, query),
            },
            Err(PlanError::OnlyHashed { field }) => {
                let field = key.field_id(&field);
                let is_hash = |kind: &SegmentKind| matches!(kind, SegmentKind::Hash { by, .. } if by.iter().any(|by| Some(*by) == field));
                let hash = key.segments().iter().position(|segment| is_hash(&segment.kind));
                Self { is_narrow: false, ranges: 1, salt: None, hash, is_ordered: false }
            }
            Err(_) => {
                Self { is_narrow: false, ranges: 1, salt: None, hash: None, is_ordered: false }
            }
        }
    }
}

/// Returns `true` if the key has the rows in the requested order, read from either end.
fn is_ordered(key: &Arc<KeySchema>, query: &QueryShape) -> bool {
    let serves = |reverse| {
        plan(key, query, 2, reverse).is_ok_and(|plan| match query.point_time {
            Some(time) => plan.serves_order_of_points(&query.order, time),
            None => plan.serves_order(&query.order),
        })
    };
    !query.orders_by_values && (query.order.is_empty() || serves(false) || serves(true))
}

fn every_salt(plan: &Plan) -> impl Iterator<Item = usize> {
    plan.notes().iter().filter_map(|note| {
        if let PlanNote::EverySalt { segment, .. } = note { Some(*segment) } else { None }
    })
}

/// Returns the same key with at most two of each salt.
fn with_two_salts(key: &KeySchema) -> KeySchema {
    let mut segments = key.segments().to_vec();
    for segment in &mut segments {
        if let SegmentKind::Salt { count, .. } = &mut segment.kind {
            *count = (*count).min(2);
        }
    }
    key.rearranged(segments).unwrap_or_else(|_| key.clone())
}

/// Returns the plan for placeholder values, with lists of `values` of them.
fn plan(
    key: &Arc<KeySchema>,
    query: &QueryShape,
    values: u8,
    reverse: bool,
) -> Result<Plan, PlanError> {
    let mut key_query = KeyQuery::all().reverse(reverse);
    for &(field, asks) in &query.conditions {
        if let Some(test) = predicate(key, field, asks, values) {
            key_query = key_query.with(field, test);
        }
    }
    // Ranges of a few values represent ranges of any width.
    let limits = PlanLimits { enumerate: 0, ..PlanLimits::default() };
    Plan::new(
        key,
        &key_query,
        &PlanOptions { limits, resolver: Some(Arc::new(AnyDictionary)), ..PlanOptions::default() },
    )
}

/// Returns a condition as the planner's predicate; `None` for a prefix of a type without prefixes.
fn predicate(
    key: &KeySchema,
    field: FieldId,
    asks: ConditionShape,
    values: u8,
) -> Option<Predicate> {
    let value = |turn| example(key, field, turn);
    Some(match asks {
        ConditionShape::Equals => Predicate::Equals(value(0)),
        ConditionShape::In => Predicate::In((0..values).map(value).collect()),
        ConditionShape::Range => Predicate::Range {
            low: std::ops::Bound::Included(value(0)),
            high: std::ops::Bound::Unbounded,
        },
        ConditionShape::Prefix => match key.fields()[field].ty {
            FieldType::String | FieldType::Char(_) => Predicate::Prefix(Bytes::from_static(b"1")),
            FieldType::Bytes | FieldType::Fixed(_) => Predicate::Prefix(Bytes::from_static(&[1])),
            _ => return None,
        },
    })
}

/// Returns the first or second placeholder value of a field. Digits, because most text patterns
/// accept them.
fn example(key: &KeySchema, field: FieldId, turn: u8) -> Value<'static> {
    let is_address = key
        .segments()
        .iter()
        .any(|segment| matches!(segment.kind, SegmentKind::Ipv4(of) if of == field));
    let digit = char::from(b'1' + turn).to_string();
    match key.fields()[field].ty {
        FieldType::Bool => Value::Bool(turn == 1),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            Value::Unsigned(1 + u64::from(turn))
        }
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
        FieldType::Decimal => {
            Decimal::new((1 + turn).into(), 0).map_or(Value::Null, Value::Decimal)
        }
        FieldType::I8
        | FieldType::I16
        | FieldType::I32
        | FieldType::I64
        | FieldType::Timestamp(_)
        | FieldType::Date => Value::Signed(1 + i64::from(turn)),
    }
}

/// Resolver with a number for every value, as a filled dictionary.
struct AnyDictionary;

impl KeyResolver for AnyDictionary {
    fn dictionary_id(&self, _: FieldId, value: &[u8]) -> Option<u64> {
        value.last().map(|&last| last.into())
    }
}

/// Returns the field whose values determine the first rows, after fields with one value are
/// excluded, and its order in the key.
pub(super) fn first_open(key: &KeySchema, query: &QueryShape) -> Option<(FieldId, Order)> {
    let is_pinned = |field: FieldId| {
        query.conditions.iter().any(|&(of, asks)| of == field && asks == ConditionShape::Equals)
    };
    key.segments().iter().find_map(|segment| {
        Some((segment.kind.field().filter(|&field| !is_pinned(field))?, segment.order))
    })
}
