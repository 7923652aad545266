//! Encoding and decoding of keys by a [`KeySchema`] and its profile.
//!
//! A segment is encoded in two steps: the transform (`slot.rs`: bucket, reversed, dictionary ...)
//! converts the field's value to the stored value, and the profile (`bin.rs` ...) writes that.
//! Salts, hashes and constants (`derived.rs`) are computed from the fields. Decoding reverses the
//! steps (`decode.rs`).

use crate::error::{KeyError, KeyErrorKind};
use crate::schema::{KeySchema, MAX_SEGMENTS, Profile, SegmentKind};
use crate::value::Value;

mod beginning;
mod bin;
mod buffer;
mod decode;
mod derived;
mod fast_path;
mod layout;
pub(crate) mod numeric;
mod ordered;
mod phoenix;
mod resolver;
pub(crate) mod slot;
#[cfg(test)]
pub(crate) mod tests;
mod text;

pub(crate) use layout::{FastPath, SlotLayout};
pub(crate) use slot::slot_layouts;
pub(crate) use text::patterns;

pub use beginning::Beginning;
pub use buffer::{INLINE_BYTES, KeyBuf, MAX_KEY_BYTES};
pub use decode::DecodedKey;
pub use resolver::{KeyResolver, NoResolver, SaltGenerator};

use derived::KnownFields;
use slot::{Slot, big_endian};

const NO_FIELD: KeyErrorKind =
    KeyErrorKind::Unsupported("this segment is computed from fields and holds none itself");

impl KeySchema {
    /// Encodes the key of these values, given in the order of [`KeySchema::fields`].
    ///
    /// # Errors
    /// A value of another type than its field's, a null in a field that is not nullable, or a value
    /// not possible in this profile; dictionaries and generated salts, which require
    /// [`Self::encode_with`]; a key longer than [`MAX_KEY_BYTES`].
    pub fn encode(&self, values: &[Value<'_>]) -> Result<KeyBuf, KeyError> {
        self.encode_with(values, &NoResolver)
    }

    /// Encodes as [`Self::encode`], with dictionaries and generated salts.
    ///
    /// # Errors
    /// As [`Self::encode`], and values that `helper` cannot resolve.
    pub fn encode_with(
        &self,
        values: &[Value<'_>],
        helper: &dyn KeyResolver,
    ) -> Result<KeyBuf, KeyError> {
        let mut out = KeyBuf::new();
        self.encode_into(values, helper, &mut out)?;
        Ok(out)
    }

    /// Encodes as [`Self::encode_with`], appending to `out`.
    ///
    /// # Errors
    /// As [`Self::encode_with`]; `out` then contains a part of the key.
    #[inline]
    pub fn encode_into(
        &self,
        values: &[Value<'_>],
        helper: &dyn KeyResolver,
        out: &mut KeyBuf,
    ) -> Result<(), KeyError> {
        if values.len() != self.fields().len() {
            return Err(KeyError::new(
                0,
                0,
                KeyErrorKind::WrongCount { fields: self.fields().len(), values: values.len() },
            ));
        }
        if self.fast_path().encode(values, out) {
            Ok(())
        } else {
            self.encode_general(values, helper, out)
        }
    }

    /// Encodes as [`Self::encode_into`], for any schema.
    fn encode_general(
        &self,
        values: &[Value<'_>],
        helper: &dyn KeyResolver,
        out: &mut KeyBuf,
    ) -> Result<(), KeyError> {
        let start = out.len();
        self.encode_segments(values, helper, start, out)?;
        match out.len() - start {
            1..=MAX_KEY_BYTES => Ok(()),
            length => {
                Err(KeyError::new(self.segments().len() - 1, length, KeyErrorKind::Length(length)))
            }
        }
    }

    fn encode_segments(
        &self,
        values: &[Value<'_>],
        helper: &dyn KeyResolver,
        start: usize,
        out: &mut KeyBuf,
    ) -> Result<(), KeyError> {
        let salted = self.is_phoenix_salt(0);
        if salted {
            out.push(0);
        }
        let segments = self.written_segments(|field| values[field].is_null());
        let mut ends = [0; MAX_SEGMENTS];
        for (at, end) in ends.iter_mut().enumerate().take(segments).skip(salted.into()) {
            let before = out.len() - start;
            self.push_any(at, values, helper, out)
                .map_err(|cause| KeyError::new(at, before, cause))?;
            *end = u16::try_from(out.len() - start).unwrap_or(u16::MAX);
        }
        if self.profile() == Profile::Text {
            text::check_readable(self, &out[start..], &ends)?;
        }
        if salted {
            if out.len() == start + 1 {
                return Err(KeyError::new(1, 1, KeyErrorKind::Length(0)));
            }
            out[start] = self.phoenix_salt(&out[start + 1..]);
        }
        Ok(())
    }

    /// Appends the bytes of one segment for this value of its field: bounds of ranges consist of
    /// them. Text in the last segment has no end, as in complete keys.
    ///
    /// # Errors
    /// As [`Self::encode`]; also for segments without a field.
    pub fn encode_segment(
        &self,
        segment: usize,
        value: &Value<'_>,
        out: &mut KeyBuf,
    ) -> Result<(), KeyError> {
        self.encode_segment_with(segment, value, &NoResolver, out)
    }

    /// Appends as [`Self::encode_segment`], with dictionaries.
    ///
    /// # Errors
    /// As [`Self::encode_segment`], and values that `helper` cannot resolve.
    pub fn encode_segment_with(
        &self,
        segment: usize,
        value: &Value<'_>,
        helper: &dyn KeyResolver,
        out: &mut KeyBuf,
    ) -> Result<(), KeyError> {
        let before = out.len();
        self.refuse_left_out(segment, Some(value))
            .and_then(|()| self.push_segment(segment, value, helper, out))
            .map_err(|cause| KeyError::new(segment, before, cause))
    }

    /// A null that HBase may omit is present in some keys and missing in others, so it cannot be a
    /// bound.
    fn refuse_left_out(
        &self,
        segment: usize,
        value: Option<&Value<'_>>,
    ) -> Result<(), KeyErrorKind> {
        if value.is_some_and(Value::is_null) && self.may_be_left_out(segment) {
            return Err(KeyErrorKind::Unsupported(
                "null at the end of a key is left out in this profile and has no bytes of its own",
            ));
        }
        Ok(())
    }

    /// Appends the common prefix in this segment of all values that begin with `prefix`: plain text
    /// or bytes in ascending order.
    ///
    /// # Errors
    /// For other segments, whose encodings have no common prefix when their values do.
    pub fn encode_prefix(
        &self,
        segment: usize,
        prefix: &[u8],
        out: &mut KeyBuf,
    ) -> Result<(), KeyError> {
        use crate::value::FieldType::{Bytes, Char, Fixed, String};
        let before = out.len();
        let refuse = |cause| Err(KeyError::new(segment, before, cause));
        let Some(slot) = self.slot(segment) else { return refuse(NO_FIELD) };
        if !slot.is_plain()
            || slot.flip != 0
            || !matches!(slot.stored, String | Bytes | Char(_) | Fixed(_))
        {
            return refuse(KeyErrorKind::Unsupported(
                "only plain text or bytes in ascending order have a common beginning in the key",
            ));
        }
        if let Some(width) = slot.stored.fixed_bytes().filter(|&width| prefix.len() > width) {
            return refuse(KeyErrorKind::TooWide { width, found: prefix.len() });
        }
        match self.profile() {
            Profile::Bin => {
                bin::encode_prefix(&slot, prefix, out);
                Ok(())
            }
            Profile::Ordered { .. } => ordered::encode_prefix(&slot, prefix, out),
            Profile::Phoenix => phoenix::encode_prefix(self, &slot, prefix, out),
            Profile::Text => {
                text::encode_prefix(prefix, out);
                Ok(())
            }
        }
        .map_err(|cause| KeyError::new(segment, before, cause))
    }

    /// Appends a segment: a constant, a salt, a hash, or the segment of a field. `fields` are in
    /// the order of [`KeySchema::fields`]. Returns `true` if the segment was appended, and `false`
    /// without a change if a required field is missing or the salt is generated.
    ///
    /// # Errors
    /// As [`Self::encode_segment`].
    pub fn encode_derived(
        &self,
        segment: usize,
        fields: &[Option<Value<'_>>],
        out: &mut KeyBuf,
    ) -> Result<bool, KeyError> {
        let before = out.len();
        let deterministic = |kind: &SegmentKind| !matches!(kind, SegmentKind::Salt { function, .. } if !function.is_deterministic());
        if !self.segments().get(segment).is_some_and(|segment| deterministic(&segment.kind)) {
            return Ok(false);
        }
        let field =
            self.segments()[segment].kind.field().and_then(|field| fields.get(field)?.as_ref());
        self.refuse_left_out(segment, field)
            .and_then(|()| self.push_any(segment, fields, &NoResolver, out))
            .map_err(|cause| KeyError::new(segment, before, cause))
    }

    /// Checks that a segment is possible in the profile, in addition to the general rules.
    pub(crate) fn check_profile(&self, at: usize) -> Result<(), String> {
        match self.profile() {
            Profile::Ordered { .. } => ordered::check(self, at),
            Profile::Phoenix => phoenix::check(self, at),
            Profile::Text => text::check(self, at),
            Profile::Bin => Ok(()),
        }
    }

    /// Returns `true` if the bytes of a segment sort as the values of its field do (in reverse if
    /// it is descending), so that a range of values is one range of bytes. Exceptions are reversed
    /// values, dictionaries, and the wrong orders of a profile that `COMPAT` allows. `false` for
    /// constants, salts and hashes.
    pub fn keeps_order(&self, segment: usize) -> bool {
        let Some(slot) = self.slot(segment) else { return false };
        let kind_does = matches!(
            slot.kind,
            SegmentKind::Plain(_) | SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. }
        );
        let profile_does = match self.profile() {
            Profile::Ordered { .. } => {
                !(slot.is_blob_var() || slot.flip != 0 && self.may_be_left_out(segment))
            }
            // Null sorts first in Phoenix's keys, in both orders.
            Profile::Phoenix => slot.flip == 0 || !slot.nullable,
            Profile::Text => text::keeps_order(self, &slot),
            Profile::Bin => true,
        };
        kind_does && profile_does
    }

    /// Returns the first segment of a text key whose end is undetermined: such keys can be encoded,
    /// but not decoded.
    pub fn ambiguous_segment(&self) -> Option<usize> {
        (0..self.segments().len())
            .find(|&at| self.profile() == Profile::Text && text::is_ambiguous(self, at))
    }

    /// Returns the number of bytes of a segment in profile BIN if it is the same in all keys,
    /// without nulls and their marker.
    // Hidden, for the checks of `halite-rowkey-tools`: it answers for one profile only.
    #[doc(hidden)]
    pub fn fixed_bytes(&self, segment: usize) -> Option<usize> {
        self.derived_bytes(segment).or_else(|| self.slot(segment)?.stored.fixed_bytes())
    }

    /// Returns the number of salts of a segment; `None` if it is not a salt.
    pub fn salt_count(&self, segment: usize) -> Option<u32> {
        match self.segments().get(segment)?.kind {
            SegmentKind::Salt { count, .. } => Some(count),
            _ => None,
        }
    }

    /// Appends one salt of a segment.
    ///
    /// # Errors
    /// If the segment is not a salt, or the number is out of range.
    pub fn encode_salt(&self, segment: usize, salt: u32, out: &mut KeyBuf) -> Result<(), KeyError> {
        if self.salt_count(segment).is_none_or(|count| salt >= count) {
            return Err(KeyError::new(
                segment,
                out.len(),
                KeyErrorKind::Unsupported("this segment has no such salt"),
            ));
        }
        self.push_salt(segment, salt, out);
        Ok(())
    }

    /// Appends any segment; returns `false` if a required field is unknown.
    #[inline]
    fn push_any<K: KnownFields + ?Sized>(
        &self,
        at: usize,
        known: &K,
        helper: &dyn KeyResolver,
        out: &mut KeyBuf,
    ) -> Result<bool, KeyErrorKind> {
        let Some(field) = self.segments().get(at).ok_or(NO_FIELD)?.kind.field() else {
            return self.push_derived(at, known, helper, out);
        };
        match known.known(field) {
            Some(value) => self.push_segment(at, value, helper, out).map(|()| true),
            None => Ok(false),
        }
    }

    #[inline]
    fn push_segment(
        &self,
        at: usize,
        value: &Value<'_>,
        helper: &dyn KeyResolver,
        out: &mut KeyBuf,
    ) -> Result<(), KeyErrorKind> {
        let slot = self.slot(at).ok_or(NO_FIELD)?;
        if self.profile() == Profile::Text {
            return text::encode(self, &slot, value, helper, out);
        }
        if slot.is_plain() || value.is_null() {
            return self.write_stored(&slot, value, out);
        }
        let mut room = KeyBuf::new();
        let stored = slot.forward(value, helper, &mut room)?;
        self.write_stored(&slot, &stored, out)
    }

    #[inline]
    fn write_stored(
        &self,
        slot: &Slot<'_>,
        stored: &Value<'_>,
        out: &mut KeyBuf,
    ) -> Result<(), KeyErrorKind> {
        match self.profile() {
            Profile::Bin => bin::encode(slot, stored, out),
            Profile::Ordered { .. } => ordered::encode(slot, stored, out),
            Profile::Phoenix => phoenix::encode(self, slot, stored, out),
            Profile::Text => text::encode(self, slot, stored, &NoResolver, out),
        }
    }

    /// Returns the value of a field from the bytes of its segment.
    #[inline]
    fn read_value<'k>(
        &self,
        slot: &Slot<'_>,
        bytes: &'k [u8],
        helper: &dyn KeyResolver,
    ) -> Result<Value<'k>, KeyErrorKind> {
        let stored = match self.profile() {
            Profile::Bin => bin::decode(slot, bytes)?,
            Profile::Ordered { .. } => ordered::decode(slot, bytes)?,
            Profile::Phoenix => phoenix::decode(self, slot, bytes)?,
            Profile::Text => return text::decode(self, slot, bytes, helper),
        };
        if slot.is_plain() { Ok(stored) } else { slot.backward(stored, helper) }
    }

    /// Returns the end of the segment that begins at `start`.
    #[inline]
    fn end_of(&self, at: usize, key: &[u8], start: usize) -> Result<usize, KeyErrorKind> {
        if self.profile() == Profile::Text {
            return text::end(self, at, key, start);
        }
        if let Some(bytes) = self.derived_bytes(at) {
            return if key.len() - start >= bytes {
                Ok(start + bytes)
            } else {
                Err(KeyErrorKind::Short)
            };
        }
        let slot = self.slot(at).ok_or(NO_FIELD)?;
        match self.profile() {
            Profile::Bin => bin::end(&slot, key, start),
            Profile::Ordered { .. } => ordered::end(&slot, key, start, self.may_be_left_out(at)),
            Profile::Phoenix => phoenix::end(self, &slot, key, start),
            Profile::Text => text::end(self, at, key, start),
        }
    }

    /// Returns the number of a salt, decoded from its bytes.
    // Hidden, for inferred schemas in `halite-rowkey-tools`: the bytes must be of the segment.
    #[doc(hidden)]
    pub fn salt_in(&self, at: usize, bytes: &[u8]) -> Option<u32> {
        self.salt_count(at)?;
        if self.profile() == Profile::Text {
            return str::from_utf8(bytes).ok()?.parse().ok();
        }
        u32::try_from(big_endian(bytes)).ok()
    }
}

impl KeySchema {
    /// Returns `true` if a null in this segment is omitted if everything after it is null too, as
    /// HBase's `Struct` and Phoenix do.
    pub(crate) fn may_be_left_out(&self, at: usize) -> bool {
        self.leaves_nulls_out() && self.segments().iter().skip(at).all(|segment| segment.nullable)
    }

    /// Returns the number of segments in the key of these values: trailing nulls are omitted.
    pub(super) fn written_segments(&self, is_null: impl Fn(usize) -> bool) -> usize {
        let mut count = self.segments().len();
        if !self.leaves_nulls_out() {
            return count;
        }
        while let Some(segment) = count.checked_sub(1).and_then(|last| self.segments().get(last)) {
            if !segment.nullable || !segment.kind.field().is_some_and(&is_null) {
                break;
            }
            count -= 1;
        }
        count
    }

    fn leaves_nulls_out(&self) -> bool {
        matches!(self.profile(), Profile::Ordered { .. } | Profile::Phoenix)
    }
}
