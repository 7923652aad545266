//! Verification of a schema against keys: each key is decoded strictly, encoded again, and
//! compared.

use std::ops::Range;

use bytes::Bytes;
use halite_rowkey::codec::{DecodedKey, KeyResolver};
use halite_rowkey::error::KeyError;
use halite_rowkey::schema::{HashFunction, KeySchema};
use halite_rowkey::value::Value;

use super::CounterExample;

/// Result of verifying a draft against all sampled keys.
pub(super) struct VerifyResult {
    /// Keys that the schema explains.
    pub(super) explained: usize,
    pub(super) counter_examples: Vec<CounterExample>,
    /// Start and end of each segment, if they are the same in all keys.
    pub(super) begins: Vec<Option<usize>>,
    pub(super) ends: Vec<Option<usize>>,
}

/// Verifies keys against a schema, and retains up to `examples` keys that it does not explain.
pub(super) fn verify(schema: &KeySchema, keys: &[Bytes], examples: usize) -> VerifyResult {
    let mut verified = VerifyResult {
        explained: 0,
        counter_examples: Vec::new(),
        begins: Vec::new(),
        ends: Vec::new(),
    };
    for key in keys {
        match explain(schema, key) {
            Ok(ranges) => {
                verified.places(&ranges);
                verified.explained += 1;
            }
            Err(error) if verified.counter_examples.len() < examples => {
                verified
                    .counter_examples
                    .push(CounterExample { key: key.clone(), reason: error.to_string() });
            }
            Err(_) => {}
        }
    }
    verified
}

impl VerifyResult {
    fn places(&mut self, ranges: &[Range<usize>]) {
        if self.explained == 0 {
            self.begins = ranges.iter().map(|range| Some(range.start)).collect();
            self.ends = ranges.iter().map(|range| Some(range.end)).collect();
            return;
        }
        for ((range, begin), end) in ranges.iter().zip(&mut self.begins).zip(&mut self.ends) {
            *begin = begin.filter(|begin| *begin == range.start);
            *end = end.filter(|end| *end == range.end);
        }
    }
}

/// Returns the ranges of the segments of a key, if its values encode to the same key.
fn explain(schema: &KeySchema, key: &[u8]) -> Result<Vec<Range<usize>>, KeyError> {
    let decoded: DecodedKey<'_> = schema.decode(key)?;
    let ranges = schema.split_segments(key)?;
    let values: Vec<Value<'_>> = decoded.into_values().collect();
    schema.check_encoding(key, &values, &SaltReplay { schema, key, ranges: &ranges })?;
    Ok(ranges)
}

/// Resolver that returns the salts in the key for those that are generated.
struct SaltReplay<'a> {
    schema: &'a KeySchema,
    key: &'a [u8],
    ranges: &'a [Range<usize>],
}

impl KeyResolver for SaltReplay<'_> {
    fn next_salt(&self, segment: usize, _: HashFunction, _: u32) -> Option<u32> {
        self.schema.salt_in(segment, &self.key[self.ranges.get(segment)?.clone()])
    }
}
