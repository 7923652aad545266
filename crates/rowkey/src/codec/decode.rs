//! Bytes to values: where each segment lies, what it says, and whether the derived ones belong to the rest.

use std::ops::Range;

use smallvec::SmallVec;

use crate::error::{Cause, KeyError};
use crate::schema::{FieldId, KeySchema, SEGMENTS_MAX, SegmentKind};
use crate::value::Value;

use super::derived::Known;
use super::helper::{KeyHelper, NoHelper};
use super::{KEY_BYTES_MAX, KeyBuf};

/// Fields of a key that are decoded without an allocation.
const INLINE_FIELDS: usize = 8;

/// The values of one key, in the order of [`KeySchema::fields`], borrowing from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<'k> {
    values: SmallVec<[Value<'k>; INLINE_FIELDS]>,
    /// One bit for each field that is known only in part.
    partial: u64,
}

impl<'k> Decoded<'k> {
    /// One value for each field. Of a field that only a bucket holds it is the bucket's start, of one that only a
    /// truncation holds the bytes that are left of it, of one that only a hash holds null.
    pub fn values(&self) -> &[Value<'k>] {
        &self.values
    }

    /// The value of one field.
    pub fn get(&self, field: FieldId) -> Option<&Value<'k>> {
        self.values.get(field)
    }

    /// Whether the key holds only a part of the field: its bucket, its first bytes, or its hash.
    pub fn is_partial(&self, field: FieldId) -> bool {
        self.partial.checked_shr(u32::try_from(field).unwrap_or(u32::MAX)).is_some_and(|bits| bits & 1 == 1)
    }

    /// The values, moved out.
    pub fn into_values(self) -> impl Iterator<Item = Value<'k>> {
        self.values.into_iter()
    }
}

impl Decoded<'_> {
    /// Nothing yet, for [`KeySchema::decode_into`].
    pub fn new() -> Self {
        Self { values: SmallVec::new(), partial: 0 }
    }

    /// The fields before `field` that no segment holds but a hash.
    #[inline]
    fn push_hashed(&mut self, field: FieldId) {
        while self.values.len() < field {
            self.partial |= 1 << self.values.len();
            self.values.push(Value::Null);
        }
    }
}

impl<'k> Decoded<'k> {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.partial = 0;
    }

    /// The value of the next field.
    #[inline]
    pub(super) fn push(&mut self, value: Value<'k>) {
        self.values.push(value);
    }

    /// What is known of the next field.
    #[inline]
    pub(super) fn push_part(&mut self, value: Value<'k>) {
        self.partial |= 1 << self.values.len();
        self.values.push(value);
    }
}

impl Default for Decoded<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Known for Decoded<'_> {
    fn known(&self, field: FieldId) -> Option<&Value<'_>> {
        self.values.get(field).filter(|_| !self.is_partial(field))
    }
}

/// Where segments end in a key; keys are shorter than 32 KiB.
type Ends = [u16; SEGMENTS_MAX];

impl KeySchema {
    /// The values of a key. Salts, hashes, buckets and constants must be those that belong to them.
    ///
    /// # Errors
    /// Where and why the bytes are no key of this schema.
    pub fn decode<'k>(&self, key: &'k [u8]) -> Result<Decoded<'k>, KeyError> {
        self.decode_with(key, &NoHelper)
    }

    /// As [`Self::decode`], with dictionaries.
    ///
    /// # Errors
    /// As [`Self::decode`], and numbers that a dictionary does not have.
    pub fn decode_with<'k>(&self, key: &'k [u8], helper: &dyn KeyHelper) -> Result<Decoded<'k>, KeyError> {
        let mut decoded = Decoded::new();
        self.decode_into(key, helper, &mut decoded)?;
        Ok(decoded)
    }

    /// As [`Self::decode_with`], in the room of other values: for scans, key by key.
    ///
    /// # Errors
    /// As [`Self::decode_with`]; `decoded` then holds some of the values.
    pub fn decode_into<'k>(&self, key: &'k [u8], helper: &dyn KeyHelper, decoded: &mut Decoded<'k>) -> Result<(), KeyError> {
        if self.quick().decode(key, true, decoded) { Ok(()) } else { self.decode_slowly(key, helper, true, decoded) }
    }

    /// As [`Self::decode_into`], of any schema.
    pub(super) fn decode_slowly<'k>(&self, key: &'k [u8], helper: &dyn KeyHelper, check: bool, decoded: &mut Decoded<'k>) -> Result<(), KeyError> {
        let mut ends = [0; SEGMENTS_MAX];
        self.read(key, helper, &mut ends, decoded)?;
        if check { self.check_derived(key, decoded, helper, &ends) } else { Ok(()) }
    }

    /// As [`Self::decode_with`], without comparing salts, hashes and constants with what they should be: for keys that
    /// are known to be of this schema.
    ///
    /// # Errors
    /// As [`Self::decode_with`], but for [`Cause::Derived`].
    pub fn decode_unchecked<'k>(&self, key: &'k [u8], helper: &dyn KeyHelper) -> Result<Decoded<'k>, KeyError> {
        let mut decoded = Decoded::new();
        if !self.quick().decode(key, false, &mut decoded) {
            self.decode_slowly(key, helper, false, &mut decoded)?;
        }
        Ok(decoded)
    }

    /// Where each segment lies in a key.
    ///
    /// # Errors
    /// The segment that does not end in it, and bytes behind the last one.
    pub fn split_segments(&self, key: &[u8]) -> Result<Vec<Range<usize>>, KeyError> {
        let mut ranges = Vec::with_capacity(self.segments().len());
        self.walk(key, |_, range| {
            ranges.push(range);
            Ok(())
        })?;
        Ok(ranges)
    }

    #[inline]
    fn walk(&self, key: &[u8], mut visit: impl FnMut(usize, Range<usize>) -> Result<(), Cause>) -> Result<(), KeyError> {
        let segments = self.segments().len();
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(KeyError::new(0, 0, Cause::Length(key.len())));
        }
        let mut start = 0;
        for at in 0..segments {
            let end = self.end_of(at, key, start).map_err(|cause| KeyError::new(at, start, cause))?;
            visit(at, start..end).map_err(|cause| KeyError::new(at, start, cause))?;
            start = end;
        }
        if start < key.len() { Err(KeyError::new(segments - 1, start, Cause::Rest(key.len() - start))) } else { Ok(()) }
    }

    /// Reads the fields in their order, which is that of the segments that hold them.
    fn read<'k>(&self, key: &'k [u8], helper: &dyn KeyHelper, ends: &mut Ends, decoded: &mut Decoded<'k>) -> Result<(), KeyError> {
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
            // A bucket of null is all there is to know.
            decoded.partial |= u64::from(!whole && !value.is_null()) << slot.field;
            decoded.values.push(value);
            Ok(())
        })?;
        decoded.push_hashed(self.fields().len());
        Ok(())
    }

    /// Computes what is derived from fields that are known whole, and compares.
    fn check_derived(&self, key: &[u8], decoded: &Decoded<'_>, helper: &dyn KeyHelper, ends: &Ends) -> Result<(), KeyError> {
        let mut wanted = KeyBuf::new();
        let mut start = 0;
        for (at, segment) in self.segments().iter().enumerate() {
            let end = usize::from(ends[at]);
            let found = &key[start..end];
            wanted.clear();
            let belongs = match &segment.kind {
                kind if kind.carries().is_some() => true,
                SegmentKind::Salt { count, function, .. } if !function.is_deterministic() => self.salt_in(at, found) < Some(*count),
                _ if self.is_phoenix_salt(at) => *found == [self.phoenix_salt(&key[end..])],
                SegmentKind::Bucket { field, .. } | SegmentKind::Trunc { field, .. } => match decoded.known(*field) {
                    Some(value) => self.push_segment(at, value, helper, &mut wanted).is_ok() && *wanted == *found,
                    None => true,
                },
                _ => match self.push_derived(at, decoded, helper, &mut wanted) {
                    Ok(true) => *wanted == *found,
                    Ok(false) => true,
                    Err(_) => false,
                },
            };
            if !belongs {
                return Err(KeyError::new(at, start, Cause::Derived));
            }
            start = end;
        }
        Ok(())
    }
}
