//! Keys of the traffic in one design, and the dictionaries and salts required to encode them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use halite_rowkey::codec::{DecodedKey, KeyBuf, KeyResolver, MAX_KEY_BYTES, SaltGenerator};
use halite_rowkey::schema::{FieldId, HashFunction, KeySchema};
use halite_rowkey::value::Value;

use super::design::Design;
use super::error::SimulateError;
use super::traffic::{Operation, RowSpec, Traffic};

/// Keys in the order of their operations.
pub(super) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    resolver: Arc<TrafficResolver>,
    /// Keys of the trace that are not keys of the design.
    pub(super) misfits: u64,
}

impl Keys {
    /// Returns the keys of all operations.
    ///
    /// # Errors
    /// A field without values in the traffic, and values that are invalid for the key; a trace of
    /// complete keys, none of which is a key of the design.
    pub(super) fn from_traffic(
        design: &Design,
        traffic: &Traffic,
        seed: u64,
    ) -> Result<Self, SimulateError> {
        let helper = Arc::new(TrafficResolver::seeded(seed));
        let count = traffic.operations.len();
        let mut keys = Self {
            bytes: Vec::with_capacity(count * 32),
            ends: Vec::with_capacity(count),
            resolver: Arc::clone(&helper),
            misfits: 0,
        };
        let places = if traffic.fields.is_empty() {
            Vec::new()
        } else {
            places(&design.key, traffic, &design.name)?
        };
        let mut key = KeyBuf::new();
        for operation in &traffic.operations {
            key.clear();
            encode(&design.key, operation, &places, &helper, &mut key)
                .map_err(|message| SimulateError::Key { design: design.name.clone(), message })?;
            keys.bytes.extend_from_slice(&key);
            keys.ends.push(keys.bytes.len());
            if matches!(operation.row, RowSpec::Key(_)) && design.key.check_key(&key).is_err() {
                keys.misfits += 1;
            }
        }
        if keys.misfits == count as u64 {
            return Err(SimulateError::NoKeys { design: design.name.clone(), keys: count });
        }
        Ok(keys)
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// Returns the values of the key at an index, including those of dictionaries.
    pub(super) fn decode(&self, schema: &KeySchema, at: usize) -> Option<DecodedKey<'_>> {
        schema.decode_with(self.get(at), &*self.resolver).ok()
    }

    /// Returns the resolver with the dictionaries of the traffic.
    pub(super) fn resolver(&self) -> Arc<dyn KeyResolver + Send + Sync> {
        Arc::clone(&self.resolver) as _
    }

    pub(super) fn shared(&self, at: usize) -> Bytes {
        Bytes::copy_from_slice(self.get(at))
    }
}

/// Returns the index of each field of the key in the values of operations.
fn places(key: &KeySchema, traffic: &Traffic, design: &str) -> Result<Vec<usize>, SimulateError> {
    let place = |field: &str| traffic.fields.iter().position(|name| name == field);
    let missing = |field: &str| SimulateError::Field {
        design: design.to_owned(),
        field: field.to_owned(),
        there: traffic.fields.clone(),
    };
    key.fields()
        .iter()
        .map(|field| place(&field.name).ok_or_else(|| missing(&field.name)))
        .collect()
}

fn encode(
    key: &KeySchema,
    operation: &Operation,
    places: &[usize],
    helper: &TrafficResolver,
    out: &mut KeyBuf,
) -> Result<(), String> {
    match &operation.row {
        RowSpec::Key(bytes) if bytes.is_empty() || bytes.len() > MAX_KEY_BYTES => {
            return Err(format!(
                "a key of {} bytes is none: row keys have 1 to {MAX_KEY_BYTES}",
                bytes.len()
            ));
        }
        RowSpec::Key(bytes) => out.extend(bytes),
        RowSpec::Values(drawn) => {
            let typed = |(field, place): (&halite_rowkey::schema::Field, &usize)| {
                drawn[*place].value(field.ty).map_err(|error| format!("{}: {error}", field.name))
            };
            let values: Vec<Value<'_>> =
                key.fields().iter().zip(places).map(typed).collect::<Result<_, _>>()?;
            key.encode_into(&values, helper, out).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Resolver that generates salts and assigns dictionary numbers in order of arrival.
pub(crate) struct TrafficResolver {
    salts: SaltGenerator,
    dictionaries: Mutex<Numbers>,
}

/// Numbers from 1 on for each field with a dictionary, as a table's dictionary assigns them.
#[derive(Default)]
struct Numbers {
    of_values: HashMap<(FieldId, Vec<u8>), u64>,
    values: HashMap<FieldId, Vec<Vec<u8>>>,
}

impl TrafficResolver {
    /// Creates a resolver with empty dictionaries.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { salts: SaltGenerator::seeded(seed), dictionaries: Mutex::default() }
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.dictionaries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyResolver for TrafficResolver {
    fn dictionary_id(&self, field: FieldId, value: &[u8]) -> Option<u64> {
        let mut numbers = self.numbers();
        if let Some(number) = numbers.of_values.get(&(field, value.to_vec())) {
            return Some(*number);
        }
        let values = numbers.values.entry(field).or_default();
        values.push(value.to_vec());
        let number = values.len() as u64;
        numbers.of_values.insert((field, value.to_vec()), number);
        Some(number)
    }

    fn dictionary_value(&self, field: FieldId, id: u64) -> Option<Vec<u8>> {
        let numbers = self.numbers();
        let place = id.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        let known = place.and_then(|place| numbers.values.get(&field)?.get(place).cloned());
        // The value of a number in a trace of complete keys is the number itself.
        Some(known.unwrap_or_else(|| id.to_string().into_bytes()))
    }

    fn next_salt(&self, segment: usize, function: HashFunction, count: u32) -> Option<u32> {
        self.salts.next_salt(segment, function, count)
    }
}
