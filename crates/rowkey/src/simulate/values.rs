//! How many values fields of the traffic have, and how many combinations of them there are.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::keys::Keys;
use super::traffic::{Operation, Row, Traffic};
use crate::schema::{FieldId, KeySchema};
use crate::value::Value;

/// Values that are counted; of more it is said that there are at least as many.
const DISTINCT_MAX: usize = 1_000_000;

/// How many different ones there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) distinct: usize,
    /// Whether there may be more.
    pub(super) is_least: bool,
}

/// For each of `groups`, how many combinations of values of these fields were written. Counted are the values of the traffic, which a key may hold
/// in part only; of a trace of whole keys, what these say, which is the least there can be where the key has a part of a field.
pub(super) fn counted(schema: &KeySchema, keys: &Keys, traffic: &Traffic, writes: &[u32], groups: &[Vec<FieldId>]) -> Vec<Counted> {
    let mut seen: Vec<HashSet<u64>> = vec![HashSet::new(); groups.len()];
    let is_whole = |field: &FieldId| !traffic.fields.is_empty() || schema.carrier(*field).is_some();
    let places = places(schema, traffic);
    for &at in writes {
        let Some(row) = fingerprints(schema, keys, &traffic.operations[at as usize], at, &places) else { continue };
        for (combinations, group) in seen.iter_mut().zip(groups).filter(|(combinations, _)| combinations.len() < DISTINCT_MAX) {
            let mut hasher = DefaultHasher::new();
            group.iter().for_each(|&field| row[field].hash(&mut hasher));
            combinations.insert(hasher.finish());
        }
    }
    let told = |(combinations, group): (HashSet<u64>, &Vec<FieldId>)| Counted {
        distinct: combinations.len(),
        is_least: combinations.len() >= DISTINCT_MAX || !group.iter().all(is_whole),
    };
    seen.into_iter().zip(groups).map(told).collect()
}

/// For each field of the key, its place among the values of the traffic; none of keys.
pub(super) fn places(schema: &KeySchema, traffic: &Traffic) -> Vec<usize> {
    schema.fields().iter().filter_map(|field| traffic.fields.iter().position(|name| *name == field.name)).collect()
}

/// The values of a written row in the order of the fields of the key; of a key, those it says.
pub(super) fn row_values(schema: &KeySchema, keys: &Keys, operation: &Operation, at: u32, places: &[usize]) -> Option<Vec<Value<'static>>> {
    match &operation.row {
        Row::Values(drawn) => schema.fields().iter().zip(places).map(|(field, place)| drawn.get(*place)?.value(field.ty).ok()).collect(),
        Row::Key(_) => Some(keys.decode(schema, at as usize)?.values().iter().map(|value| value.clone().into_owned()).collect()),
    }
}

fn fingerprints(schema: &KeySchema, keys: &Keys, operation: &Operation, at: u32, places: &[usize]) -> Option<Vec<u64>> {
    Some(row_values(schema, keys, operation, at, places)?.iter().map(fingerprint).collect())
}

/// A value as a number that is the same for the same value.
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
