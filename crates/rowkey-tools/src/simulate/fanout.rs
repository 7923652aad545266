//! Cost of the declared queries in a design: ranges, and regions that must be queried.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use halite_rowkey::language::{Action, ConditionKind, Query};
use halite_rowkey::plan::{KeyQuery, Plan, PlanOptions, Predicate};
use halite_rowkey::schema::{FieldId, KeySchema};
use halite_rowkey::value::{FieldType, Value};

use super::design::Design;
use super::keys::Keys;
use super::traffic::Traffic;
use super::values::{places, row_values};

/// Rows whose values are used in queries.
const SAMPLE_ROWS: usize = 21;
/// Width of a range of numbers.
const RANGE: u64 = 1_000;
/// Width of a range of times, in seconds.
const RANGE_SECONDS: i64 = 3_600;
/// Letters or bytes of a requested prefix.
const PREFIX: usize = 2;

/// Cost of one query, the median of several executions.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryCost {
    /// Name of the query.
    pub name: String,
    /// Relative frequency of the query.
    pub weight: f64,
    /// Key ranges that are read.
    pub ranges: usize,
    /// Regions that contain some of them.
    pub regions: usize,
    /// `true` if it reads the whole table.
    pub reads_all: bool,
    /// Reason why the query could not be planned; the other fields are not meaningful then.
    pub error: Option<String>,
}

/// Plans each query with values of some rows: a range of times is an hour from the row's own time
/// on, a range of text extends to another row's.
pub(super) fn costs(
    design: &Design,
    keys: &Keys,
    traffic: &Traffic,
    distinct: &[u32],
    boundaries: &[Bytes],
) -> Vec<QueryCost> {
    let schema = Arc::new(design.key.clone());
    let step = distinct.len().div_ceil(SAMPLE_ROWS).max(1);
    let places = places(&schema, traffic);
    let values =
        |&at: &u32| row_values(&schema, keys, &traffic.operations[at as usize], at, &places);
    let asking = CostEstimator {
        rows: distinct.iter().step_by(step).filter_map(values).collect(),
        of_keys: traffic.fields.is_empty(),
        options: PlanOptions { resolver: Some(keys.resolver()), ..PlanOptions::default() },
        schema,
        boundaries,
    };
    design.queries.iter().map(|query| asking.cost(query)).collect()
}

/// Estimator of the cost of all queries of a design.
struct CostEstimator<'a> {
    schema: Arc<KeySchema>,
    /// Values of some rows, in the order of the fields.
    rows: Vec<Vec<Value<'static>>>,
    /// `true` if these were decoded from keys.
    of_keys: bool,
    boundaries: &'a [Bytes],
    options: PlanOptions,
}

/// Ranges, regions, and `true` if everything is read.
type ReadCost = (usize, usize, bool);

impl CostEstimator<'_> {
    fn cost(&self, query: &Query) -> QueryCost {
        let found = if let Action::RawScan { from, to } = &query.action {
            Ok(self.raw(from.as_deref().unwrap_or_default(), to.as_deref().unwrap_or_default()))
        } else {
            let costs: Result<Vec<ReadCost>, String> =
                (0..self.rows.len()).map(|row| self.query_cost(query, row)).collect();
            costs.and_then(|mut costs| {
                costs.sort_unstable();
                costs
                    .get(costs.len() / 2)
                    .copied()
                    .ok_or_else(|| "no row is a key of this design".to_owned())
            })
        };
        let (ranges, regions, reads_all) = *found.as_ref().unwrap_or(&(0, 0, false));
        QueryCost {
            name: query.name.clone(),
            weight: query.weight,
            ranges,
            regions,
            reads_all,
            error: found.err(),
        }
    }

    /// Returns the cost of a scan by rows, from one on and up to another; empty for the first and
    /// after the last.
    fn raw(&self, from: &[u8], to: &[u8]) -> ReadCost {
        if !to.is_empty() && from >= to {
            return (0, 0, false);
        }
        let touched = self
            .regions()
            .filter(|(start, end)| {
                (to.is_empty() || *start < to) && (end.is_empty() || from < *end)
            })
            .count();
        (1, touched, from.is_empty() && to.is_empty())
    }

    /// Returns the start and end keys of the regions.
    fn regions(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts =
            std::iter::once(&b""[..]).chain(self.boundaries.iter().map(|boundary| &boundary[..]));
        let ends = self.boundaries.iter().map(|boundary| &boundary[..]).chain([&b""[..]]);
        starts.zip(ends)
    }

    fn query_cost(&self, query: &Query, row: usize) -> Result<ReadCost, String> {
        let mut key_query = KeyQuery::all();
        for condition in &query.conditions {
            // Conditions on other columns do not narrow the keys.
            let Some(field) = self.schema.field_id(&condition.column) else { continue };
            key_query = key_query.with(field, self.predicate(field, condition.kind, row)?);
        }
        let plan = Plan::new(&self.schema, &key_query, &self.options)
            .map_err(|error| error.to_string())?;
        let ranges: Vec<_> = plan.ranges().collect();
        let regions = self
            .regions()
            .filter(|(start, end)| ranges.iter().any(|range| range.touches(start, end)))
            .count();
        Ok((ranges.len(), regions, plan.is_full_scan()))
    }

    fn predicate(
        &self,
        field: FieldId,
        kind: ConditionKind,
        row: usize,
    ) -> Result<Predicate, String> {
        let value = &self.rows[row][field];
        let (name, ty) = (&self.schema.fields()[field].name, self.schema.fields()[field].ty);
        if self.of_keys && self.schema.is_only_hashed(field) {
            return Err(format!(
                "the keys of the trace hold {name} only as a hash, so its values are not known"
            ));
        }
        Ok(match kind {
            ConditionKind::Equal if value.is_null() => Predicate::IsNull,
            ConditionKind::Equal => Predicate::Equals(value.clone()),
            ConditionKind::In => Predicate::In(
                self.rows
                    .iter()
                    .take(3)
                    .map(|row| row[field].clone())
                    .chain([value.clone()])
                    .collect(),
            ),
            // Null is in no range and has no prefix; the condition excludes it.
            ConditionKind::Range | ConditionKind::Prefix if value.is_null() => Predicate::NotNull,
            ConditionKind::Range => self.range(field, value, ty),
            ConditionKind::Prefix => match value {
                Value::Text(text) => {
                    Predicate::Prefix(Bytes::from(text.chars().take(PREFIX).collect::<String>()))
                }
                Value::Bytes(bytes) => {
                    Predicate::Prefix(Bytes::copy_from_slice(&bytes[..bytes.len().min(PREFIX)]))
                }
                _ => {
                    return Err(format!(
                        "{name} is of type {ty}: only text and bytes have beginnings"
                    ));
                }
            },
        })
    }

    fn range(&self, field: FieldId, low: &Value<'static>, ty: FieldType) -> Predicate {
        let high = match (low, ty) {
            (Value::Signed(from), FieldType::Timestamp(unit)) => {
                Value::Signed(from.saturating_add(RANGE_SECONDS * unit.per_second()))
            }
            (Value::Signed(from), FieldType::Date) => Value::Signed(from.saturating_add(1)),
            (Value::Signed(from), _) => {
                Value::Signed(from.saturating_add(i64::try_from(RANGE).unwrap_or(i64::MAX)))
            }
            (Value::Unsigned(from), _) => Value::Unsigned(from.saturating_add(RANGE)),
            _ => {
                let above = self
                    .rows
                    .iter()
                    .map(|row| &row[field])
                    .filter(|other| other.compare(low).is_gt());
                let next = above.min_by(|a, b| a.compare(b)).cloned();
                return Predicate::Range {
                    low: Bound::Included(low.clone()),
                    high: next.map_or(Bound::Unbounded, Bound::Excluded),
                };
            }
        };
        let high = if ty.accepts(&high) { Bound::Excluded(high) } else { Bound::Unbounded };
        Predicate::Range { low: Bound::Included(low.clone()), high }
    }
}
