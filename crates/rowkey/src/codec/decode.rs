//! Decoding of keys: the bounds of each segment, its value, and the check of derived segments.

use std::ops::Range;

use smallvec::SmallVec;

use crate::error::{KeyError, KeyErrorKind};
use crate::schema::{FieldId, KeySchema, MAX_SEGMENTS, SegmentKind};
use crate::value::Value;

use super::buffer::{KeyBuf, MAX_KEY_BYTES};
use super::derived::KnownFields;
use super::resolver::{KeyResolver, NoResolver};

/// Fields of a key that are decoded without an allocation.
const INLINE_FIELDS: usize = 8;

/// Values of one key, in the order of [`KeySchema::fields`], borrowing from it.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedKey<'k> {
    values: SmallVec<[Value<'k>; INLINE_FIELDS]>,
    /// One bit for each partially known field.
    partial: u64,
}

impl<'k> DecodedKey<'k> {
    /// Returns one value per field. For a field that only a bucket contains it is the bucket's
    /// start, for a truncated one the remaining bytes, and for one that only a hash contains it is
    /// null.
    pub fn values(&self) -> &[Value<'k>] {
        &self.values
    }

    /// Returns the value of one field.
    pub fn get(&self, field: FieldId) -> Option<&Value<'k>> {
        self.values.get(field)
    }

    /// Returns `true` if the key contains only a part of the field: its bucket, its first bytes, or
    /// its hash.
    pub fn is_partial(&self, field: FieldId) -> bool {
        self.partial
            .checked_shr(u32::try_from(field).unwrap_or(u32::MAX))
            .is_some_and(|bits| bits & 1 == 1)
    }

    /// Returns the values, moved out.
    pub fn into_values(self) -> impl Iterator<Item = Value<'k>> {
        self.values.into_iter()
    }
}

impl DecodedKey<'_> {
    /// Creates an empty instance for [`KeySchema::decode_into`].
    pub fn new() -> Self {
        Self { values: SmallVec::new(), partial: 0 }
    }

    /// Appends the fields before `field` that only a hash contains.
    #[inline]
    fn push_hashed(&mut self, field: FieldId) {
        while self.values.len() < field {
            self.partial |= 1 << self.values.len();
            self.values.push(Value::Null);
        }
    }
}

impl<'k> DecodedKey<'k> {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.partial = 0;
    }

    /// Appends the value of the next field.
    #[inline]
    pub(super) fn push(&mut self, value: Value<'k>) {
        self.values.push(value);
    }

    /// Appends the known part of the next field.
    #[inline]
    pub(super) fn push_part(&mut self, value: Value<'k>) {
        self.partial |= 1 << self.values.len();
        self.values.push(value);
    }
}

impl Default for DecodedKey<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl KnownFields for DecodedKey<'_> {
    fn known(&self, field: FieldId) -> Option<&Value<'_>> {
        self.values.get(field).filter(|_| !self.is_partial(field))
    }
}

/// End offsets of the segments in a key; keys are shorter than 32 KiB.
type Ends = [u16; MAX_SEGMENTS];

impl KeySchema {
    /// Decodes the values of a key. Salts, hashes, buckets and constants must match the fields.
    ///
    /// # Errors
    /// The offset and the reason why the bytes are not a key of this schema.
    pub fn decode<'k>(&self, key: &'k [u8]) -> Result<DecodedKey<'k>, KeyError> {
        self.decode_with(key, &NoResolver)
    }

    /// Decodes as [`Self::decode`], with dictionaries.
    ///
    /// # Errors
    /// As [`Self::decode`], and numbers that are not in a dictionary.
    pub fn decode_with<'k>(
        &self,
        key: &'k [u8],
        helper: &dyn KeyResolver,
    ) -> Result<DecodedKey<'k>, KeyError> {
        let mut decoded = DecodedKey::new();
        self.decode_into(key, helper, &mut decoded)?;
        Ok(decoded)
    }

    /// Decodes as [`Self::decode_with`], reusing the memory of other values: for scans, key by key.
    ///
    /// # Errors
    /// As [`Self::decode_with`]; `decoded` then contains some of the values.
    pub fn decode_into<'k>(
        &self,
        key: &'k [u8],
        helper: &dyn KeyResolver,
        decoded: &mut DecodedKey<'k>,
    ) -> Result<(), KeyError> {
        if self.fast_path().decode(key, true, decoded) {
            Ok(())
        } else {
            self.decode_general(key, helper, true, decoded)
        }
    }

    /// Decodes as [`Self::decode_into`], for any schema.
    pub(super) fn decode_general<'k>(
        &self,
        key: &'k [u8],
        helper: &dyn KeyResolver,
        check: bool,
        decoded: &mut DecodedKey<'k>,
    ) -> Result<(), KeyError> {
        let mut ends = [0; MAX_SEGMENTS];
        self.read(key, helper, &mut ends, decoded)?;
        if check { self.check_derived(key, decoded, helper, &ends) } else { Ok(()) }
    }

    /// Decodes as [`Self::decode_with`], without verifying salts, hashes and constants: for keys
    /// that are known to match this schema.
    ///
    /// # Errors
    /// As [`Self::decode_with`], except for [`KeyErrorKind::Derived`].
    pub fn decode_unchecked<'k>(
        &self,
        key: &'k [u8],
        helper: &dyn KeyResolver,
    ) -> Result<DecodedKey<'k>, KeyError> {
        let mut decoded = DecodedKey::new();
        if !self.fast_path().decode(key, false, &mut decoded) {
            self.decode_general(key, helper, false, &mut decoded)?;
        }
        Ok(decoded)
    }

    /// Returns the range of each segment in a key.
    ///
    /// # Errors
    /// The segment that does not end in it, and bytes after the last one.
    pub fn split_segments(&self, key: &[u8]) -> Result<Vec<Range<usize>>, KeyError> {
        let mut ranges = Vec::with_capacity(self.segments().len());
        self.walk(key, |_, range| {
            ranges.push(range);
            Ok(())
        })?;
        Ok(ranges)
    }

    #[inline]
    fn walk(
        &self,
        key: &[u8],
        mut visit: impl FnMut(usize, Range<usize>) -> Result<(), KeyErrorKind>,
    ) -> Result<(), KeyError> {
        let segments = self.segments().len();
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(KeyError::new(0, 0, KeyErrorKind::Length(key.len())));
        }
        let mut start = 0;
        for at in 0..segments {
            let end =
                self.end_of(at, key, start).map_err(|cause| KeyError::new(at, start, cause))?;
            visit(at, start..end).map_err(|cause| KeyError::new(at, start, cause))?;
            start = end;
        }
        if start < key.len() {
            Err(KeyError::new(segments - 1, start, KeyErrorKind::Rest(key.len() - start)))
        } else {
            Ok(())
        }
    }

    /// Decodes the fields in order, which is that of the segments that contain them.
    fn read<'k>(
        &self,
        key: &'k [u8],
        helper: &dyn KeyResolver,
        ends: &mut Ends,
        decoded: &mut DecodedKey<'k>,
    ) -> Result<(), KeyError> {
        decoded.clear();
        self.walk(key, |at, range| {
            ends[at] = u16::try_from(range.end).unwrap_or(u16::MAX);
            let Some(slot) = self.slot(at) else { return Ok(()) };
            let whole = slot.is_whole;
            if slot.field < decoded.values.len() || slot.is_held_elsewhere {
                return Ok(());
            }
            decoded.push_hashed(slot.field);
            let value = self.read_value(&slot, &key[range], helper)?;
            // The bucket of a null value contains the whole value.
            decoded.partial |= u64::from(!whole && !value.is_null()) << slot.field;
            decoded.values.push(value);
            Ok(())
        })?;
        decoded.push_hashed(self.fields().len());
        Ok(())
    }

    /// Computes the segments derived from fully known fields, and compares them.
    fn check_derived(
        &self,
        key: &[u8],
        decoded: &DecodedKey<'_>,
        helper: &dyn KeyResolver,
        ends: &Ends,
    ) -> Result<(), KeyError> {
        let mut expected = KeyBuf::new();
        let mut start = 0;
        for (at, segment) in self.segments().iter().enumerate() {
            let end = usize::from(ends[at]);
            let found = &key[start..end];
            expected.clear();
            let belongs = match &segment.kind {
                kind if kind.carries().is_some() => true,
                SegmentKind::Salt { count, function, .. } if !function.is_deterministic() => {
                    self.salt_in(at, found) < Some(*count)
                }
                _ if self.is_phoenix_salt(at) => *found == [self.phoenix_salt(&key[end..])],
                SegmentKind::Bucket { field, .. } | SegmentKind::Trunc { field, .. } => {
                    match decoded.known(*field) {
                        Some(value) => {
                            self.push_segment(at, value, helper, &mut expected).is_ok()
                                && *expected == *found
                        }
                        None => true,
                    }
                }
                _ => match self.push_derived(at, decoded, helper, &mut expected) {
                    Ok(true) => *expected == *found,
                    Ok(false) => true,
                    Err(_) => false,
                },
            };
            if !belongs {
                return Err(KeyError::new(at, start, KeyErrorKind::Derived));
            }
            start = end;
        }
        Ok(())
    }
}
