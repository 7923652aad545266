//! Keys of one schema as keys of another with the same fields.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use halite_rowkey::codec::{DecodedKey, KeyBuf, KeyResolver};
use halite_rowkey::plan::{KeyQuery, Predicate};
use halite_rowkey::schema::{FieldId, KeySchema, Profile};
use halite_rowkey::value::Value;

use crate::simulate::TrafficResolver;

/// Bytes that are appended to the beginning of a key to make it one, at most.
const MAX_FILLED_BYTES: usize = 20;

/// Reason why keys of one schema cannot be keys of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotRekey(String);

impl fmt::Display for CannotRekey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for CannotRekey {}

/// Conversion of keys between two schemas.
pub struct Rekeyer {
    from: KeySchema,
    to: KeySchema,
    /// Field of `from` for each field of `to`.
    places: Vec<FieldId>,
    resolver: Arc<TrafficResolver>,
}

impl Rekeyer {
    /// Returns a conversion. Every field of `to` is one of `from`, by its name. The number of a
    /// value in a dictionary is used as its value.
    ///
    /// # Errors
    /// A field that `from` does not have, or has only in part or as a hash.
    pub fn new(from: &KeySchema, to: &KeySchema, seed: u64) -> Result<Self, CannotRekey> {
        let place = |name: &str| {
            let Some(field) = from.field_id(name) else {
                let names: Vec<&str> =
                    from.fields().iter().map(|field| field.name.as_str()).collect();
                return Err(CannotRekey(format!(
                    "the present key has no field {name}; it has {}",
                    names.join(", ")
                )));
            };
            if from.carrier(field).is_none() {
                return Err(CannotRekey(format!(
                    "the present key has {name} only in part, so its values are not known"
                )));
            }
            Ok(field)
        };
        let places =
            to.fields().iter().map(|field| place(&field.name)).collect::<Result<Vec<_>, _>>()?;
        let resolver = Arc::new(TrafficResolver::seeded(seed));
        Ok(Self { from: from.clone(), to: to.clone(), places, resolver })
    }

    /// Returns the schema of the recorded keys.
    pub fn from(&self) -> &KeySchema {
        &self.from
    }

    /// Returns the other schema.
    pub fn to(&self) -> &KeySchema {
        &self.to
    }

    pub(super) fn resolver(&self) -> Arc<dyn KeyResolver + Send + Sync> {
        Arc::clone(&self.resolver) as _
    }

    /// Returns the field of the other schema that has the values of one of this, if it has.
    pub(super) fn place_of(&self, from: FieldId) -> Option<FieldId> {
        self.places.iter().position(|place| *place == from)
    }

    /// Returns the key of the other schema with the values of a key.
    ///
    /// # Errors
    /// Bytes that are no key of this schema; values that the other cannot have.
    pub fn rekey(&self, key: &[u8]) -> Result<Bytes, CannotRekey> {
        self.encode(&self.values(key)?)
    }

    /// As [`Self::rekey`]; the start of a scan may be the beginning of a key. `None` if nothing is
    /// known of it, as of a scan of all rows.
    pub(super) fn rekey_start(
        &self,
        key: &[u8],
        is_scan: bool,
    ) -> Result<Option<Bytes>, CannotRekey> {
        if !is_scan {
            return self.rekey(key).map(Some);
        }
        let filled = self.filled(key, self.filler(false));
        Ok(filled.and_then(|key| self.rekey(&key).ok()))
    }

    fn encode(&self, values: &[Value<'static>]) -> Result<Bytes, CannotRekey> {
        let mut out = KeyBuf::new();
        let encoded = self.to.encode_into(values, &*self.resolver, &mut out);
        encoded.map_err(|error| CannotRekey(error.to_string()))?;
        Ok(Bytes::copy_from_slice(&out))
    }

    /// Returns the values of a key in the order of the other schema's fields.
    fn values(&self, key: &[u8]) -> Result<Vec<Value<'static>>, CannotRekey> {
        let decoded = self.decode(key)?;
        let value = |(field, place): (&halite_rowkey::schema::Field, &FieldId)| {
            let value = decoded.get(*place).cloned().unwrap_or(Value::Null).into_owned();
            if value.is_null() || field.ty.accepts(&value) {
                return Ok(value);
            }
            let text = self.from.fields()[*place].ty.print(&value);
            field.ty.parse(&text).map_err(CannotRekey)
        };
        self.to.fields().iter().zip(&self.places).map(value).collect()
    }

    pub(super) fn decode<'k>(&self, key: &'k [u8]) -> Result<DecodedKey<'k>, CannotRekey> {
        let decoded = self.from.decode_with(key, &*self.resolver);
        decoded.map_err(|error| CannotRekey(error.to_string()))
    }

    /// Returns the beginning of a key, filled up until it can be decoded without its salts and
    /// hashes, and encoded again so that these are right; `None` if it cannot.
    pub(super) fn filled(&self, prefix: &[u8], filler: u8) -> Option<Vec<u8>> {
        if prefix.is_empty() {
            return None;
        }
        let mut key = prefix.to_vec();
        for _ in 0..=MAX_FILLED_BYTES {
            if let Ok(decoded) = self.from.decode_unchecked(&key, &*self.resolver) {
                let values: Vec<Value<'static>> =
                    decoded.values().iter().map(|value| value.clone().into_owned()).collect();
                let mut out = KeyBuf::new();
                let encoded = self.from.encode_into(&values, &*self.resolver, &mut out);
                return encoded.ok().map(|()| out.to_vec());
            }
            key.push(filler);
        }
        None
    }

    /// Returns the lowest or the highest byte of a key.
    pub(super) fn filler(&self, is_high: bool) -> u8 {
        match (self.from.profile() == Profile::Text, is_high) {
            (true, false) => b'0',
            (true, true) => b'9',
            (false, false) => 0,
            (false, true) => 0xff,
        }
    }

    /// Returns the query of one row under the other schema.
    pub(super) fn query_of_row(&self, row: &[u8]) -> Option<KeyQuery> {
        let values = self.values(row).ok()?;
        let mut query = KeyQuery::all();
        for (field, value) in values.into_iter().enumerate() {
            let equal = if value.is_null() { Predicate::IsNull } else { Predicate::Equals(value) };
            query = query.with(field, equal);
        }
        Some(query)
    }
}
