//! What the declared queries cost in this design: ranges, and regions that have to be asked.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

use super::Design;
use super::keys::Keys;
use super::traffic::Traffic;
use super::values::{places, row_values};
use crate::language::{Action, ConditionKind, Query};
use crate::plan::{KeyQuery, Note, Plan, PlanOptions, Test};
use crate::schema::{FieldId, KeySchema};
use crate::value::{FieldType, Value};

/// Rows whose values queries are asked with.
const ASKED: usize = 21;
/// How wide a range of numbers is.
const RANGE: u64 = 1_000;
/// How wide a range of times is, in seconds.
const RANGE_SECONDS: i64 = 3_600;
/// Letters or bytes of a beginning that is asked for.
const PREFIX: usize = 2;

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
    /// Why it could not be asked; nothing is said by the figures then.
    pub unasked: Option<String>,
}

/// Asks each query with values of some rows: a range of times is an hour from the row's own on, one of text goes on to another row's.
pub(super) fn costs(design: &Design, keys: &Keys, traffic: &Traffic, distinct: &[u32], borders: &[Bytes]) -> Vec<QueryCost> {
    let schema = Arc::new(design.key.clone());
    let step = distinct.len().div_ceil(ASKED).max(1);
    let places = places(&schema, traffic);
    let values = |&at: &u32| row_values(&schema, keys, &traffic.operations[at as usize], at, &places);
    let asking = Asking {
        rows: distinct.iter().step_by(step).filter_map(values).collect(),
        of_keys: traffic.fields.is_empty(),
        options: PlanOptions { helper: Some(keys.helper()), ..PlanOptions::default() },
        schema,
        borders,
    };
    design.queries.iter().map(|query| asking.cost(query)).collect()
}

/// What all queries of a design are asked of.
struct Asking<'a> {
    schema: Arc<KeySchema>,
    /// Values of some rows, in the order of the fields.
    rows: Vec<Vec<Value<'static>>>,
    /// Whether these were read from keys.
    of_keys: bool,
    borders: &'a [Bytes],
    options: PlanOptions,
}

/// Ranges, regions, and whether all is read.
type Asked = (usize, usize, bool);

impl Asking<'_> {
    fn cost(&self, query: &Query) -> QueryCost {
        let found = if let Action::RawScan { from, to } = &query.action {
            Ok(self.raw(from.as_deref().unwrap_or_default(), to.as_deref().unwrap_or_default()))
        } else {
            let asked: Result<Vec<Asked>, String> = (0..self.rows.len()).map(|row| self.ask(query, row)).collect();
            asked.and_then(|mut asked| {
                asked.sort_unstable();
                asked.get(asked.len() / 2).copied().ok_or_else(|| "no row is a key of this design".to_owned())
            })
        };
        let (ranges, regions, reads_all) = *found.as_ref().unwrap_or(&(0, 0, false));
        QueryCost { name: query.name.clone(), weight: query.weight, ranges, regions, reads_all, unasked: found.err() }
    }

    /// A scan by rows, from one on and up to another; empty for the first and behind the last.
    fn raw(&self, from: &[u8], to: &[u8]) -> Asked {
        if !to.is_empty() && from >= to {
            return (0, 0, false);
        }
        let touched = self.regions().filter(|(start, end)| (to.is_empty() || *start < to) && (end.is_empty() || from < *end)).count();
        (1, touched, from.is_empty() && to.is_empty())
    }

    /// Where regions begin and end.
    fn regions(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = std::iter::once(&b""[..]).chain(self.borders.iter().map(|border| &border[..]));
        let ends = self.borders.iter().map(|border| &border[..]).chain([&b""[..]]);
        starts.zip(ends)
    }

    fn ask(&self, query: &Query, row: usize) -> Result<Asked, String> {
        let mut asked = KeyQuery::all();
        for condition in &query.conditions {
            // Conditions on other columns narrow no keys.
            let Some(field) = self.schema.field_id(&condition.column) else { continue };
            asked = asked.with(field, self.test(field, condition.kind, row)?);
        }
        let plan = Plan::new(&self.schema, &asked, &self.options).map_err(|error| error.to_string())?;
        let ranges: Vec<_> = plan.ranges().collect();
        let regions = self.regions().filter(|(start, end)| ranges.iter().any(|range| range.touches(start, end))).count();
        Ok((ranges.len(), regions, plan.notes().contains(&Note::FullScan)))
    }

    fn test(&self, field: FieldId, kind: ConditionKind, row: usize) -> Result<Test, String> {
        let value = &self.rows[row][field];
        let (name, ty) = (&self.schema.fields()[field].name, self.schema.fields()[field].ty);
        if self.of_keys && self.schema.is_only_hashed(field) {
            return Err(format!("the keys of the trace hold {name} only as a hash, so its values are not known"));
        }
        Ok(match kind {
            ConditionKind::Equal if value.is_null() => Test::IsNull,
            ConditionKind::Equal => Test::Equals(value.clone()),
            ConditionKind::In => Test::In(self.rows.iter().take(3).map(|row| row[field].clone()).chain([value.clone()]).collect()),
            // Null lies in no range and begins with nothing; the condition is one that leaves it out.
            ConditionKind::Range | ConditionKind::Prefix if value.is_null() => Test::NotNull,
            ConditionKind::Range => self.range(field, value, ty),
            ConditionKind::Prefix => match value {
                Value::Text(text) => Test::Prefix(Bytes::from(text.chars().take(PREFIX).collect::<String>())),
                Value::Bytes(bytes) => Test::Prefix(Bytes::copy_from_slice(&bytes[..bytes.len().min(PREFIX)])),
                _ => return Err(format!("{name} is of type {ty}: only text and bytes have beginnings")),
            },
        })
    }

    fn range(&self, field: FieldId, low: &Value<'static>, ty: FieldType) -> Test {
        let high = match (low, ty) {
            (Value::Signed(from), FieldType::Timestamp(unit)) => Value::Signed(from.saturating_add(RANGE_SECONDS * unit.per_second())),
            (Value::Signed(from), FieldType::Date) => Value::Signed(from.saturating_add(1)),
            (Value::Signed(from), _) => Value::Signed(from.saturating_add(i64::try_from(RANGE).unwrap_or(i64::MAX))),
            (Value::Unsigned(from), _) => Value::Unsigned(from.saturating_add(RANGE)),
            _ => {
                let above = self.rows.iter().map(|row| &row[field]).filter(|other| other.compare(low).is_gt());
                let next = above.min_by(|a, b| a.compare(b)).cloned();
                return Test::Range { low: Bound::Included(low.clone()), high: next.map_or(Bound::Unbounded, Bound::Excluded) };
            }
        };
        let high = if ty.accepts(&high) { Bound::Excluded(high) } else { Bound::Unbounded };
        Test::Range { low: Bound::Included(low.clone()), high }
    }
}
