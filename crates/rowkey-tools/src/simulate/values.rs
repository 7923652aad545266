//! Numbers of distinct values of fields in the traffic, and of their combinations.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use halite_rowkey::schema::{FieldId, KeySchema};
use halite_rowkey::value::Value;

use super::keys::Keys;
use super::traffic::{Operation, RowSpec, Traffic};

/// Maximum number of values counted; above it the count is a lower bound.
const MAX_DISTINCT_VALUES: usize = 1_000_000;

/// Number of distinct values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DistinctCount {
    pub(super) distinct: usize,
    /// `true` if there may be more.
    pub(super) is_lower_bound: bool,
}

/// Returns, for each of `groups`, the number of written combinations of values of these fields. The
/// values of the traffic are counted, even if a key contains them only in part. For a trace of
/// complete keys the decoded values are counted, a lower bound for partial fields.
pub(super) fn distinct_counts(
    schema: &KeySchema,
    keys: &Keys,
    traffic: &Traffic,
    writes: &[u32],
    groups: &[Vec<FieldId>],
) -> Vec<DistinctCount> {
    let mut seen: Vec<HashSet<u64>> = vec![HashSet::new(); groups.len()];
    let is_whole = |field: &FieldId| !traffic.fields.is_empty() || schema.carrier(*field).is_some();
    let places = places(schema, traffic);
    for &at in writes {
        let Some(row) = fingerprints(schema, keys, &traffic.operations[at as usize], at, &places)
        else {
            continue;
        };
        for (combinations, group) in seen
            .iter_mut()
            .zip(groups)
            .filter(|(combinations, _)| combinations.len() < MAX_DISTINCT_VALUES)
        {
            let mut hasher = DefaultHasher::new();
            group.iter().for_each(|&field| row[field].hash(&mut hasher));
            combinations.insert(hasher.finish());
        }
    }
    let to_count = |(combinations, group): (HashSet<u64>, &Vec<FieldId>)| DistinctCount {
        distinct: combinations.len(),
        is_lower_bound: combinations.len() >= MAX_DISTINCT_VALUES || !group.iter().all(is_whole),
    };
    seen.into_iter().zip(groups).map(to_count).collect()
}

/// Returns the index of each field of the key among the values of the traffic; empty for keys.
pub(super) fn places(schema: &KeySchema, traffic: &Traffic) -> Vec<usize> {
    schema
        .fields()
        .iter()
        .filter_map(|field| traffic.fields.iter().position(|name| *name == field.name))
        .collect()
}

/// Returns the values of a written row in the order of the fields of the key; for a key, its
/// decoded values.
pub(super) fn row_values(
    schema: &KeySchema,
    keys: &Keys,
    operation: &Operation,
    at: u32,
    places: &[usize],
) -> Option<Vec<Value<'static>>> {
    match &operation.row {
        RowSpec::Values(drawn) => schema
            .fields()
            .iter()
            .zip(places)
            .map(|(field, place)| drawn.get(*place)?.value(field.ty).ok())
            .collect(),
        RowSpec::Key(_) => Some(
            keys.decode(schema, at as usize)?
                .values()
                .iter()
                .map(|value| value.clone().into_owned())
                .collect(),
        ),
    }
}

fn fingerprints(
    schema: &KeySchema,
    keys: &Keys,
    operation: &Operation,
    at: u32,
    places: &[usize],
) -> Option<Vec<u64>> {
    Some(row_values(schema, keys, operation, at, places)?.iter().map(fingerprint).collect())
}

/// Returns a hash of a value that is equal for equal values.
pub(super) fn fingerprint(value: &Value<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Unsigned(number) => number.hash(&mut hasher),
        Value::Signed(number) => number.hash(&mut hasher),
        Value::Text(text) => text.hash(&mut hasher),
        Value::Bytes(bytes) => bytes.hash(&mut hasher),
        other => format!("{other:?}").hash(&mut hasher),
    }
    hasher.finish()
}
