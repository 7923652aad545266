//! Whether bytes are a key of a schema: they are decoded, encoded again and compared. For
//! aggregates it is enough that they are decoded, as by a scan.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use halite_types::{CountedKeys, Error, RowCheck};

use crate::codec::{KeyBuf, KeyResolver};
use crate::dictionary::Dictionary;
use crate::error::{KeyError, KeyErrorKind};
use crate::schema::{FieldId, HashFunction, KeySchema, SegmentKind};
use crate::value::Value;

/// Check that rows can be decoded as keys of a schema without dictionaries.
#[derive(Debug)]
struct Decodable(Arc<KeySchema>);

impl RowCheck for Decodable {
    fn check(&self, row: &[u8]) -> halite_types::Result<()> {
        self.0.decode(row).map(drop).map_err(Error::from)
    }
}

impl KeySchema {
    /// Returns the rows that are keys of this schema as those that count for an aggregation.
    /// `None` for schemas with dictionaries, whose keys are decoded with their tables.
    pub fn counted_keys(self: &Arc<Self>) -> Option<CountedKeys> {
        if Dictionary::is_needed(self) {
            return None;
        }
        let check = Arc::new(Decodable(Arc::clone(self)));
        Some(CountedKeys { declaration: self.to_text(), check })
    }

    /// Checks that bytes are a key of this schema: they can be decoded, and the decoded values
    /// encode to the same bytes. Dictionary ids and generated salts are taken from the key
    /// unchanged.
    ///
    /// # Errors
    /// Where and why the bytes are no key of this schema.
    pub fn check_key(&self, key: &[u8]) -> Result<(), KeyError> {
        let held = KeyReplay { schema: self, key, numbers: RefCell::default() };
        // A salt or hash of a value that only a dictionary knows cannot be computed from its
        // number.
        let needs_dictionary = Dictionary::is_needed(self) && self.derives_from_dictionary();
        let decoded = if needs_dictionary {
            self.decode_unchecked(key, &held)?
        } else {
            self.decode_with(key, &held)?
        };
        if needs_dictionary || (0..self.fields().len()).any(|field| decoded.is_partial(field)) {
            return Ok(());
        }
        let values: Vec<Value<'_>> = decoded.into_values().collect();
        self.check_encoding(key, &values, &held)
    }

    /// Checks that values encode to these bytes.
    ///
    /// # Errors
    /// Values that cannot be encoded, and the first position at which their key differs.
    // Hidden, for inferred schemas in `halite-rowkey-tools`; others use `check_key`.
    #[doc(hidden)]
    pub fn check_encoding(
        &self,
        key: &[u8],
        values: &[Value<'_>],
        helper: &dyn KeyResolver,
    ) -> Result<(), KeyError> {
        let mut again = KeyBuf::new();
        self.encode_into(values, helper, &mut again)?;
        if *again == *key {
            return Ok(());
        }
        let at = again.iter().zip(key).take_while(|(a, b)| a == b).count();
        let segment =
            self.split_segments(key)?.iter().position(|range| range.contains(&at)).unwrap_or(0);
        Err(KeyError::new(segment, at, KeyErrorKind::Malformed("its values give another key")))
    }

    /// Returns `true` if a salt or hash is computed from a field that the key contains as a
    /// dictionary id.
    fn derives_from_dictionary(&self) -> bool {
        let is_dictionary = |field: FieldId| {
            self.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Dict { field: of, .. } if of == field))
        };
        let is_derived = |kind: &SegmentKind| {
            matches!(kind, SegmentKind::Salt { .. } | SegmentKind::Hash { .. })
        };
        let derived =
            self.segments().iter().enumerate().filter(|(_, segment)| is_derived(&segment.kind));
        derived.flat_map(|(at, _)| self.hashed_fields(at)).any(is_dictionary)
    }
}

/// Takes from a key what a key does not say of itself: salts that were drawn, and numbers of
/// dictionaries.
struct KeyReplay<'a> {
    schema: &'a KeySchema,
    key: &'a [u8],
    numbers: RefCell<HashMap<(FieldId, Vec<u8>), u64>>,
}

impl KeyResolver for KeyReplay<'_> {
    fn dictionary_id(&self, field: FieldId, value: &[u8]) -> Option<u64> {
        self.numbers.borrow().get(&(field, value.to_vec())).copied()
    }

    fn dictionary_value(&self, field: FieldId, id: u64) -> Option<Vec<u8>> {
        let value = format!("{id:020}").into_bytes();
        self.numbers.borrow_mut().insert((field, value.clone()), id);
        Some(value)
    }

    fn next_salt(&self, segment: usize, _: HashFunction, _: u32) -> Option<u32> {
        let ranges = self.schema.split_segments(self.key).ok()?;
        self.schema.salt_in(segment, &self.key[ranges.get(segment)?.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of `keys` are keys of the schema.
    fn fitting(schema: &str, keys: &[&[u8]]) -> usize {
        let schema: KeySchema = schema.parse().unwrap();
        keys.iter().filter(|key| schema.check_key(key).is_ok()).count()
    }

    #[test]
    fn key_check_verifies_salts_without_dictionaries() {
        let schema: KeySchema = "(SALT(4 BY id), id STRING)".parse().unwrap();
        let good = schema.encode(&["a".into()]).unwrap();
        let mut bad = good.to_vec();
        bad[0] ^= 1;
        assert!(schema.check_key(&good).is_ok() && schema.check_key(&bad).is_err());
        assert_eq!(fitting("(DICT(metric, 3), n U8)", &[b"\0\0\x07\x01", b"\0\0\x08\x01"]), 2);
        assert_eq!(fitting("(SALT(4 BY metric), DICT(metric, 3))", &[b"\x01\0\0\x07"]), 1);
        assert_eq!(fitting("(SALT(4 USING random), id STRING)", &[b"\x03x", b"\x04x"]), 1);
        assert_eq!(
            fitting("TEXT '{a:5}_{b}'", &[b"00017_x", b"17_x"]),
            1,
            "text that is not how the value is written"
        );
    }
}
