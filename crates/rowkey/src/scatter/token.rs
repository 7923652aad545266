//! Page token as bytes that a caller may store: the last row's key without salts, so that it
//! remains valid when regions split or the number of salts changes.

use halite_types::{Error, Result};

use crate::plan::KeyRange;
use crate::schema::{KeySchema, SegmentKind};

const VERSION: u8 = 1;

/// Row after which the next page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageToken {
    /// Logical part of the schema, and the direction.
    fingerprint: u64,
    merge_key: Vec<u8>,
    /// Complete key; only required if one logical key may be under several salts.
    key: Vec<u8>,
}

impl PageToken {
    pub(super) fn new(schema: &KeySchema, reverse: bool, merge_key: Vec<u8>, key: Vec<u8>) -> Self {
        Self { fingerprint: fingerprint(schema, reverse), merge_key, key }
    }

    /// Returns the encoded token: 1 byte version, 8 bytes of the schema, 2 bytes length of the
    /// logical key, the logical key, the key.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(11 + self.merge_key.len() + self.key.len());
        out.push(VERSION);
        out.extend_from_slice(&self.fingerprint.to_be_bytes());
        out.extend_from_slice(
            &u16::try_from(self.merge_key.len()).unwrap_or(u16::MAX).to_be_bytes(),
        );
        out.extend_from_slice(&self.merge_key);
        out.extend_from_slice(&self.key);
        out
    }

    /// Parses a token.
    ///
    /// # Errors
    /// `InvalidRequest` for invalid bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let invalid = || {
            Error::invalid(
                "the page token is not one of this store; begin again from the first page",
            )
        };
        let Some((&VERSION, rest)) = bytes.split_first() else { return Err(invalid()) };
        let (fingerprint, rest) = rest.split_first_chunk::<8>().ok_or_else(invalid)?;
        let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(invalid)?;
        let (merge_key, key) =
            rest.split_at_checked(u16::from_be_bytes(*length).into()).ok_or_else(invalid)?;
        if key.len() > crate::codec::MAX_KEY_BYTES {
            return Err(invalid());
        }
        Ok(Self {
            fingerprint: u64::from_be_bytes(*fingerprint),
            merge_key: merge_key.to_vec(),
            key: key.to_vec(),
        })
    }

    /// Rejects a token of other fields or of the other direction.
    pub(super) fn check(&self, schema: &KeySchema, reverse: bool) -> Result<()> {
        if self.fingerprint == fingerprint(schema, reverse) {
            return Ok(());
        }
        Err(Error::invalid(
            "the page token was made for other key fields, or for the other direction; begin again \
             from the first page",
        ))
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

/// Returns a hash of the schema without its salts, whose number may change between pages, and of
/// the direction.
fn fingerprint(schema: &KeySchema, reverse: bool) -> u64 {
    let carrying = schema
        .segments()
        .iter()
        .filter(|segment| !matches!(segment.kind, SegmentKind::Salt { .. }))
        .cloned()
        .collect();
    let unsalted = KeySchema::new(schema.profile(), schema.fields().to_vec(), carrying);
    unsalted.map_or_else(|_| schema.fingerprint(), |unsalted| unsalted.fingerprint())
        ^ u64::from(reverse)
}
