//! Page token as bytes that a caller may store or hand out: the last row's key without salts, so
//! that it remains valid when regions split or the number of salts changes.
//!
//! ```text
//! version | table and query | length | logical key | key | checksum
//! 1 byte  | 8 bytes         | 2      |             |     | 8 bytes, FNV-1a of all before
//! ```

use std::fmt;
use std::str::FromStr;

use halite_types::key::to_hex;
use halite_types::{Error, Result, TableName};

use crate::language::fnv1a;
use crate::plan::{KeyRange, Plan};
use crate::schema::{KeySchema, SegmentKind};

/// Version 1 did not contain the table, the conditions and the checksum.
const VERSION: u8 = 2;
const CHECKSUM_BYTES: usize = 8;
const INVALID: &str = "the page token is damaged, or not one of this version; begin again from the \
                       first page";

/// Row after which the next page of a query begins.
///
/// It is opaque, and valid for one table, the conditions of one query, and its direction; the limit
/// may differ from page to page. Its bytes may come from anywhere: damaged ones are rejected, and
/// ones that were made up only choose where in the ranges of the query its page begins. As text it
/// has lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageToken {
    /// Table, logical part of the schema, conditions, and direction.
    fingerprint: u64,
    merge_key: Vec<u8>,
    /// Complete key; only required if one logical key may be under several salts.
    key: Vec<u8>,
}

impl PageToken {
    pub(super) fn new(table: &TableName, plan: &Plan, merge_key: Vec<u8>, key: Vec<u8>) -> Self {
        Self { fingerprint: plan.page_fingerprint(table), merge_key, key }
    }

    /// Returns the encoded token, at most two keys and 19 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(11 + self.merge_key.len() + self.key.len() + 8);
        out.push(VERSION);
        out.extend_from_slice(&self.fingerprint.to_be_bytes());
        out.extend_from_slice(
            &u16::try_from(self.merge_key.len()).unwrap_or(u16::MAX).to_be_bytes(),
        );
        out.extend_from_slice(&self.merge_key);
        out.extend_from_slice(&self.key);
        out.extend_from_slice(&fnv1a(&out).to_be_bytes());
        out
    }

    /// Parses a token. Whether it is one of a query is known when the query continues after it.
    ///
    /// # Errors
    /// `InvalidRequest` for invalid bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes).ok_or_else(|| Error::invalid(INVALID))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (bytes, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        if fnv1a(bytes) != u64::from_be_bytes(*checksum) {
            return None;
        }
        let Some((&VERSION, rest)) = bytes.split_first() else { return None };
        let (fingerprint, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (merge_key, key) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        (key.len() <= crate::codec::MAX_KEY_BYTES).then(|| Self {
            fingerprint: u64::from_be_bytes(*fingerprint),
            merge_key: merge_key.to_vec(),
            key: key.to_vec(),
        })
    }

    /// Returns `true` if it is a token of this query on this table, with any limit.
    pub fn continues(&self, table: &TableName, plan: &Plan) -> bool {
        self.fingerprint == plan.page_fingerprint(table)
    }

    /// Rejects a token of another table, of other conditions or of the other direction.
    pub(super) fn check(&self, table: &TableName, plan: &Plan) -> Result<()> {
        if self.continues(table, plan) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the page token is one of another query or of another table than {table}; repeat the \
             conditions and the direction of its page, or begin again from the first page"
        )))
    }

    /// Returns the part of a range after the token.
    pub(super) fn rest_of(
        &self,
        schema: &KeySchema,
        range: &KeyRange,
        reverse: bool,
    ) -> Option<KeyRange> {
        range.after(&self.merge_key, reverse, has_ties(schema) && self.ties_before(range, reverse))
    }

    /// Returns `true` if rows of the same logical key in this range sort after the token's: such
    /// rows are distinguished by their salts.
    fn ties_before(&self, range: &KeyRange, reverse: bool) -> bool {
        let own = self.key.get(..range.fixed()).unwrap_or(&self.key);
        if reverse { range.fixed_bytes() < own } else { range.fixed_bytes() > own }
    }
}

impl fmt::Display for PageToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&to_hex(&self.to_bytes()))
    }
}

impl FromStr for PageToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digit = |digit: u8| -> Option<u8> { char::from(digit).to_digit(16)?.try_into().ok() };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4) | digit(*low)?);
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        bytes
            .filter(|_| rest.is_empty())
            .and_then(|bytes| Self::parse(&bytes))
            .ok_or_else(|| Error::invalid(INVALID))
    }
}

/// Returns `true` if keys may differ only in their salts or hashes, because those are not functions
/// of the rest of the key.
fn has_ties(schema: &KeySchema) -> bool {
    (0..schema.segments().len()).any(|segment| match &schema.segments()[segment].kind {
        SegmentKind::Salt { function, .. } | SegmentKind::Hash { function, .. } => {
            !function.is_deterministic()
                || schema
                    .hashed_fields(segment)
                    .iter()
                    .any(|&field| schema.carrier(field).is_none())
        }
        _ => false,
    })
}
