//! Share of the keys in a sample that a declared key fits: decoded, encoded again and compared.

use std::cell::RefCell;
use std::collections::HashMap;

use bytes::Bytes;

use crate::codec::{KeyBuf, KeyResolver};
use crate::dictionary::Dictionary;
use crate::error::{KeyError, KeyErrorKind};
use crate::schema::{FieldId, HashFunction, KeySchema, SegmentKind};
use crate::value::Value;

/// Share of sampled keys that a key must fit before it is declared for rows that exist.
pub const MIN_FIT_SHARE: f64 = 0.9;
/// Keys that do not fit, kept as examples.
const MAX_EXAMPLES: usize = 3;

/// Result of reading sampled keys with a schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyFit {
    /// Sampled keys.
    pub keys: usize,
    /// Keys among them that the schema reads and writes again as the same bytes.
    pub fitting: usize,
    /// Some of the other keys, at most three, each with the reason.
    pub examples: Vec<(Bytes, KeyError)>,
}

impl KeyFit {
    /// Reads every key of `sample` with `schema`. Numbers of dictionaries count as known, because a
    /// dictionary may be filled later.
    pub fn from_sample<'k>(
        schema: &KeySchema,
        sample: impl IntoIterator<Item = &'k Bytes>,
    ) -> Self {
        let mut fit = Self::default();
        for key in sample {
            fit.keys += 1;
            match schema.check_key(key) {
                Ok(()) => fit.fitting += 1,
                Err(error) if fit.examples.len() < MAX_EXAMPLES => {
                    fit.examples.push((key.clone(), error));
                }
                Err(_) => {}
            }
        }
        fit
    }

    /// Share of the sampled keys that fit, 0 to 1; 1 for an empty sample, because no key speaks
    /// against the schema.
    #[expect(clippy::cast_precision_loss, reason = "a share of a sample")]
    pub fn share(&self) -> f64 {
        if self.keys == 0 { 1.0 } else { self.fitting as f64 / self.keys as f64 }
    }

    /// Returns `true` if at least [`MIN_FIT_SHARE`] of the sampled keys fit.
    pub fn is_enough(&self) -> bool {
        self.share() >= MIN_FIT_SHARE
    }
}

impl KeySchema {
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
        let mut again = KeyBuf::new();
        self.encode_into(&values, &held, &mut again)?;
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

    fn fit(key: &str, sample: &[&'static [u8]]) -> KeyFit {
        let sample: Vec<Bytes> = sample.iter().map(|key| Bytes::from_static(key)).collect();
        KeyFit::from_sample(&key.parse().unwrap(), &sample)
    }

    #[test]
    fn fit_counts_keys_and_keeps_three_that_do_not_fit() {
        let found = fit("(a STRING, b U8)", &[b"a\0\x01\x07", b"odd", b"x", b"y", b"z"]);
        assert_eq!((found.keys, found.fitting, found.examples.len()), (5, 1, 3));
        assert!(!found.is_enough() && found.examples[0].0 == "odd");
        assert!(fit("(a STRING, b U8)", &[]).is_enough(), "an empty table speaks against no key");
    }

    #[test]
    fn salts_must_belong_and_dictionaries_need_not_be_there() {
        let schema: KeySchema = "(SALT(4 BY id), id STRING)".parse().unwrap();
        let good = schema.encode(&["a".into()]).unwrap();
        let mut bad = good.to_vec();
        bad[0] ^= 1;
        assert!(schema.check_key(&good).is_ok() && schema.check_key(&bad).is_err());
        assert_eq!(fit("(DICT(metric, 3), n U8)", &[b"\0\0\x07\x01", b"\0\0\x08\x01"]).fitting, 2);
        assert_eq!(fit("(SALT(4 BY metric), DICT(metric, 3))", &[b"\x01\0\0\x07"]).fitting, 1);
        assert_eq!(fit("(SALT(4 USING random), id STRING)", &[b"\x03x", b"\x04x"]).fitting, 1);
        assert_eq!(
            fit("TEXT '{a:5}_{b}'", &[b"00017_x", b"17_x"]).fitting,
            1,
            "text that is not how the value is written"
        );
    }
}
