//! What the declared queries cost in this design: ranges, and regions that have to be asked.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use super::keys::Keys;
use crate::codec::Decoded;
use crate::language::{ConditionKind, Query};
use crate::plan::{KeyQuery, Note, Plan, PlanOptions, Test};
use crate::schema::KeySchema;
use crate::value::{FieldType, Value};

/// Rows whose values queries are asked with.
const ASKED: usize = 21;
/// How wide a range of numbers is.
const RANGE: u64 = 1_000;
/// How wide a range of times is, in seconds.
const RANGE_SECONDS: i64 = 3_600;

/// What one query costs, the middle one of several askings.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryCost {
    /// Its name.
    pub name: String,
    /// How often it is asked beside the others.
    pub weight: f64,
    /// Ranges of keys that are read.
    pub ranges: usize,
    /// Regions that hold some of them.
    pub regions: usize,
    /// Whether it reads the whole table.
    pub reads_all: bool,
}

/// Asks each query with values of some rows: a range of times is an hour from the row's own on.
pub(super) fn costs(schema: &KeySchema, queries: &[Query], keys: &Keys, distinct: &[u32], borders: &[Bytes]) -> Vec<QueryCost> {
    let schema = Arc::new(schema.clone());
    let step = distinct.len().div_ceil(ASKED).max(1);
    let rows: Vec<Decoded<'_>> = distinct.iter().step_by(step).filter_map(|&at| keys.decode(&schema, at as usize)).collect();
    let options = PlanOptions { helper: Some(keys.helper()), ..PlanOptions::default() };
    queries.iter().filter_map(|query| cost(&schema, query, &rows, borders, &options)).collect()
}

fn cost(schema: &Arc<KeySchema>, query: &Query, rows: &[Decoded<'_>], borders: &[Bytes], options: &PlanOptions) -> Option<QueryCost> {
    let mut asked: Vec<(usize, usize, bool)> = rows.iter().filter_map(|row| ask(schema, query, row, rows, borders, options)).collect();
    asked.sort_unstable();
    let (ranges, regions, reads_all) = *asked.get(asked.len() / 2)?;
    Some(QueryCost { name: query.name.clone(), weight: query.weight, ranges, regions, reads_all })
}

fn ask(
    schema: &Arc<KeySchema>,
    query: &Query,
    row: &Decoded<'_>,
    rows: &[Decoded<'_>],
    borders: &[Bytes],
    options: &PlanOptions,
) -> Option<(usize, usize, bool)> {
    let mut asked = KeyQuery::all();
    for condition in &query.conditions {
        // Conditions on other columns narrow no keys.
        let Some(field) = schema.field_id(&condition.column) else { continue };
        let value = row.get(field)?.clone().into_owned();
        let ty = schema.fields()[field].ty;
        let test = match condition.kind {
            ConditionKind::Equal => Test::Equals(value),
            ConditionKind::In => {
                let others = rows.iter().take(3).filter_map(|row| Some(row.get(field)?.clone().into_owned()));
                Test::In(others.chain([value]).collect())
            }
            ConditionKind::Range => range(value, ty),
            ConditionKind::Prefix => match &value {
                Value::Text(text) => Test::Prefix(Bytes::copy_from_slice(&text.as_bytes()[..text.len().min(2)])),
                Value::Bytes(bytes) => Test::Prefix(Bytes::copy_from_slice(&bytes[..bytes.len().min(2)])),
                _ => continue,
            },
        };
        asked = asked.with(field, test);
    }
    let plan = Plan::new(schema, &asked, options).ok()?;
    let starts = || std::iter::once(&b""[..]).chain(borders.iter().map(|border| &border[..]));
    let ends = borders.iter().map(|border| &border[..]).chain([&b""[..]]);
    let ranges: Vec<_> = plan.ranges().collect();
    let regions = starts().zip(ends).filter(|(start, end)| ranges.iter().any(|range| range.touches(start, end))).count();
    Some((ranges.len(), regions, plan.notes().contains(&Note::FullScan)))
}

fn range(low: Value<'static>, ty: FieldType) -> Test {
    let high = match (&low, ty) {
        (Value::Signed(from), FieldType::Timestamp(unit)) => Value::Signed(from.saturating_add(RANGE_SECONDS * unit.per_second())),
        (Value::Signed(from), FieldType::Date) => Value::Signed(from.saturating_add(1)),
        (Value::Signed(from), _) => Value::Signed(from.saturating_add(i64::try_from(RANGE).unwrap_or(i64::MAX))),
        (Value::Unsigned(from), _) => Value::Unsigned(from.saturating_add(RANGE)),
        (other, _) => return Test::Range { low: Bound::Included((*other).clone()), high: Bound::Included((*other).clone()) },
    };
    let high = if ty.accepts(&high) { Bound::Excluded(high) } else { Bound::Unbounded };
    Test::Range { low: Bound::Included(low), high }
}
