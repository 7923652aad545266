//! Values to bytes and back: what a [`KeySchema`] makes of them in its profile.
//!
//! A segment's bytes come about in two steps: the transform (`slot.rs`: bucket, reversed, dictionary ...) turns the
//! field's value into what is stored, and the profile (`bin.rs` ...) writes that. Salts, hashes and constants
//! (`derived.rs`) are computed from the fields. Decoding goes the same way back (`decode.rs`).

use crate::error::{Cause, KeyError};
use crate::schema::{KeySchema, Profile, SEGMENTS_MAX, SegmentKind};
use crate::value::Value;

mod bin;
mod buffer;
mod decode;
mod derived;
mod helper;
mod numeric;
mod ordered;
mod phoenix;
mod quick;
mod slot;
#[cfg(test)]
pub(crate) mod tests;
mod text;

pub(crate) use buffer::HEX_DIGITS;
pub(crate) use quick::Quick;
pub(crate) use slot::{Place, big_endian, places};
pub(crate) use text::patterns;

pub use buffer::{INLINE_BYTES, KeyBuf};
pub use decode::Decoded;
pub use helper::{KeyHelper, NoHelper, SaltDrawer};

use derived::Known;
use slot::Slot;

/// The longest row key: HBase's `HConstants.MAX_ROW_LENGTH`.
pub const KEY_BYTES_MAX: usize = 32_767;

const NO_FIELD: Cause = Cause::Unsupported("this segment is computed from fields and holds none itself");

impl KeySchema {
    /// The key of these values, given in the order of [`KeySchema::fields`].
    ///
    /// # Errors
    /// A value that is not of its field's type, null where it may not be, or not possible in this profile; dictionaries
    /// and drawn salts, for which there is [`Self::encode_with`]; a key longer than [`KEY_BYTES_MAX`].
    pub fn encode(&self, values: &[Value<'_>]) -> Result<KeyBuf, KeyError> {
        self.encode_with(values, &NoHelper)
    }

    /// As [`Self::encode`], with dictionaries and salts that are drawn.
    ///
    /// # Errors
    /// As [`Self::encode`], and what `helper` does not know.
    pub fn encode_with(&self, values: &[Value<'_>], helper: &dyn KeyHelper) -> Result<KeyBuf, KeyError> {
        let mut out = KeyBuf::new();
        self.encode_into(values, helper, &mut out)?;
        Ok(out)
    }

    /// As [`Self::encode_with`], behind what stands in `out`.
    ///
    /// # Errors
    /// As [`Self::encode_with`]; `out` then holds a part of the key.
    #[inline]
    pub fn encode_into(&self, values: &[Value<'_>], helper: &dyn KeyHelper, out: &mut KeyBuf) -> Result<(), KeyError> {
        if values.len() != self.fields().len() {
            return Err(KeyError::new(0, 0, Cause::WrongCount { fields: self.fields().len(), values: values.len() }));
        }
        if self.quick().encode(values, out) { Ok(()) } else { self.encode_slowly(values, helper, out) }
    }

    /// As [`Self::encode_into`], of any schema.
    fn encode_slowly(&self, values: &[Value<'_>], helper: &dyn KeyHelper, out: &mut KeyBuf) -> Result<(), KeyError> {
        let start = out.len();
        self.encode_segments(values, helper, start, out)?;
        match out.len() - start {
            1..=KEY_BYTES_MAX => Ok(()),
            length => Err(KeyError::new(self.segments().len() - 1, length, Cause::Length(length))),
        }
    }

    fn encode_segments(&self, values: &[Value<'_>], helper: &dyn KeyHelper, start: usize, out: &mut KeyBuf) -> Result<(), KeyError> {
        let salted = self.is_phoenix_salt(0);
        if salted {
            out.push(0);
        }
        let segments = self.written_segments(|field| values[field].is_null());
        let mut ends = [0; SEGMENTS_MAX];
        for (at, end) in ends.iter_mut().enumerate().take(segments).skip(salted.into()) {
            let before = out.len() - start;
            self.push_any(at, values, helper, out).map_err(|cause| KeyError::new(at, before, cause))?;
            *end = u16::try_from(out.len() - start).unwrap_or(u16::MAX);
        }
        if self.profile() == Profile::Text {
            text::check_readable(self, &out[start..], &ends)?;
        }
        if salted {
            if out.len() == start + 1 {
                return Err(KeyError::new(1, 1, Cause::Length(0)));
            }
            out[start] = self.phoenix_salt(&out[start + 1..]);
        }
        Ok(())
    }

    /// Adds the bytes of one segment that holds a field, for this value of the field: bounds of ranges are made of
    /// them. Text in the last segment has no end, as in whole keys.
    ///
    /// # Errors
    /// As [`Self::encode`]; also for segments that hold no field.
    pub fn encode_segment(&self, segment: usize, value: &Value<'_>, out: &mut KeyBuf) -> Result<(), KeyError> {
        self.encode_segment_with(segment, value, &NoHelper, out)
    }

    /// As [`Self::encode_segment`], with dictionaries.
    ///
    /// # Errors
    /// As [`Self::encode_segment`], and what `helper` does not know.
    pub fn encode_segment_with(&self, segment: usize, value: &Value<'_>, helper: &dyn KeyHelper, out: &mut KeyBuf) -> Result<(), KeyError> {
        let before = out.len();
        self.refuse_left_out(segment, Some(value))
            .and_then(|()| self.push_segment(segment, value, helper, out))
            .map_err(|cause| KeyError::new(segment, before, cause))
    }

    /// Null that HBase may leave out stands in some keys and in others not, so no bound can be made of it.
    fn refuse_left_out(&self, segment: usize, value: Option<&Value<'_>>) -> Result<(), Cause> {
        if value.is_some_and(Value::is_null) && self.may_be_left_out(segment) {
            return Err(Cause::Unsupported("null at the end of a key is left out in this profile and has no bytes of its own"));
        }
        Ok(())
    }

    /// Adds what all values that begin with `prefix` begin with in this segment: plain text or bytes in ascending order.
    ///
    /// # Errors
    /// For other segments, whose bytes do not begin alike when their values do.
    pub fn encode_prefix(&self, segment: usize, prefix: &[u8], out: &mut KeyBuf) -> Result<(), KeyError> {
        use crate::value::FieldType::{Bytes, Char, Fixed, String};
        let before = out.len();
        let refuse = |cause| Err(KeyError::new(segment, before, cause));
        let Some(slot) = self.slot(segment) else { return refuse(NO_FIELD) };
        if !slot.is_plain() || slot.flip != 0 || !matches!(slot.stored, String | Bytes | Char(_) | Fixed(_)) {
            return refuse(Cause::Unsupported("only plain text or bytes in ascending order have a common beginning in the key"));
        }
        if let Some(width) = slot.stored.fixed_bytes().filter(|&width| prefix.len() > width) {
            return refuse(Cause::TooWide { width, found: prefix.len() });
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

    /// Adds a segment, if the fields it needs are given: a constant, a salt, a hash, or the segment of a field. `fields`
    /// are in the order of [`KeySchema::fields`]. Returns whether they were; if not, nothing is added.
    ///
    /// # Errors
    /// As [`Self::encode_segment`].
    pub fn encode_derived(&self, segment: usize, fields: &[Option<Value<'_>>], out: &mut KeyBuf) -> Result<bool, KeyError> {
        let before = out.len();
        let deterministic = |kind: &SegmentKind| !matches!(kind, SegmentKind::Salt { function, .. } if !function.is_deterministic());
        if !self.segments().get(segment).is_some_and(|segment| deterministic(&segment.kind)) {
            return Ok(false);
        }
        let field = self.segments()[segment].kind.field().and_then(|field| fields.get(field)?.as_ref());
        self.refuse_left_out(segment, field)
            .and_then(|()| self.push_any(segment, fields, &NoHelper, out))
            .map_err(|cause| KeyError::new(segment, before, cause))
    }

    /// Whether a segment can be in the profile, on top of what holds in all.
    pub(crate) fn check_profile(&self, at: usize) -> Result<(), String> {
        match self.profile() {
            Profile::Ordered { .. } => ordered::check(self, at),
            Profile::Phoenix => phoenix::check(self, at),
            Profile::Text => text::check(self, at),
            Profile::Bin => Ok(()),
        }
    }

    /// Whether the bytes of a segment sort as the values of its field do (the other way round if it is descending), so
    /// that a range of values is one range of bytes. Not so: what is reversed, dictionaries, and what a profile gets
    /// wrong and `COMPAT` allows. `false` for constants, salts and hashes.
    pub fn keeps_order(&self, segment: usize) -> bool {
        let Some(slot) = self.slot(segment) else { return false };
        let kind_does = matches!(slot.kind, SegmentKind::Plain(_) | SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. });
        let profile_does = match self.profile() {
            Profile::Ordered { .. } => !(slot.is_blob_var() || slot.flip != 0 && self.may_be_left_out(segment)),
            // Null is first in Phoenix's keys, in both orders.
            Profile::Phoenix => slot.flip == 0 || !slot.nullable,
            Profile::Text => text::keeps_order(self, &slot),
            Profile::Bin => true,
        };
        kind_does && profile_does
    }

    /// The first segment of which a text key does not say where it ends: such keys are written, but not read back.
    pub fn ambiguous_segment(&self) -> Option<usize> {
        (0..self.segments().len()).find(|&at| self.profile() == Profile::Text && text::is_ambiguous(self, at))
    }

    /// How many bytes a segment takes in profile BIN, if all keys have the same; a null and what marks it not counted.
    pub(crate) fn fixed_bytes(&self, segment: usize) -> Option<usize> {
        self.derived_bytes(segment).or_else(|| self.slot(segment)?.stored.fixed_bytes())
    }

    /// How many salts a segment has; `None` if it is no salt.
    pub fn salt_count(&self, segment: usize) -> Option<u32> {
        match self.segments().get(segment)?.kind {
            SegmentKind::Salt { count, .. } => Some(count),
            _ => None,
        }
    }

    /// Adds one salt of a segment.
    ///
    /// # Errors
    /// If the segment is no salt, or has no such one.
    pub fn encode_salt(&self, segment: usize, salt: u32, out: &mut KeyBuf) -> Result<(), KeyError> {
        if self.salt_count(segment).is_none_or(|count| salt >= count) {
            return Err(KeyError::new(segment, out.len(), Cause::Unsupported("this segment has no such salt")));
        }
        self.push_salt(segment, salt, out);
        Ok(())
    }

    /// Adds any segment; `false` if a field it needs is not known.
    #[inline]
    fn push_any<K: Known + ?Sized>(&self, at: usize, known: &K, helper: &dyn KeyHelper, out: &mut KeyBuf) -> Result<bool, Cause> {
        let Some(field) = self.segments().get(at).ok_or(NO_FIELD)?.kind.field() else {
            return self.push_derived(at, known, helper, out);
        };
        match known.known(field) {
            Some(value) => self.push_segment(at, value, helper, out).map(|()| true),
            None => Ok(false),
        }
    }

    #[inline]
    fn push_segment(&self, at: usize, value: &Value<'_>, helper: &dyn KeyHelper, out: &mut KeyBuf) -> Result<(), Cause> {
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
    fn write_stored(&self, slot: &Slot<'_>, stored: &Value<'_>, out: &mut KeyBuf) -> Result<(), Cause> {
        match self.profile() {
            Profile::Bin => bin::encode(slot, stored, out),
            Profile::Ordered { .. } => ordered::encode(slot, stored, out),
            Profile::Phoenix => phoenix::encode(self, slot, stored, out),
            Profile::Text => text::encode(self, slot, stored, &NoHelper, out),
        }
    }

    /// The value of a field from the bytes of its segment.
    #[inline]
    fn read_value<'k>(&self, slot: &Slot<'_>, bytes: &'k [u8], helper: &dyn KeyHelper) -> Result<Value<'k>, Cause> {
        let stored = match self.profile() {
            Profile::Bin => bin::decode(slot, bytes)?,
            Profile::Ordered { .. } => ordered::decode(slot, bytes)?,
            Profile::Phoenix => phoenix::decode(self, slot, bytes)?,
            Profile::Text => return text::decode(self, slot, bytes, helper),
        };
        if slot.is_plain() { Ok(stored) } else { slot.backward(stored, helper) }
    }

    /// Where the segment that begins at `start` ends.
    #[inline]
    fn end_of(&self, at: usize, key: &[u8], start: usize) -> Result<usize, Cause> {
        if self.profile() == Profile::Text {
            return text::end(self, at, key, start);
        }
        if let Some(bytes) = self.derived_bytes(at) {
            return if key.len() - start >= bytes { Ok(start + bytes) } else { Err(Cause::Short) };
        }
        let slot = self.slot(at).ok_or(NO_FIELD)?;
        match self.profile() {
            Profile::Bin => bin::end(&slot, key, start),
            Profile::Ordered { .. } => ordered::end(&slot, key, start, self.may_be_left_out(at)),
            Profile::Phoenix => phoenix::end(self, &slot, key, start),
            Profile::Text => text::end(self, at, key, start),
        }
    }

    /// The number of a salt from its bytes.
    pub(crate) fn salt_in(&self, at: usize, bytes: &[u8]) -> Option<u32> {
        self.salt_count(at)?;
        if self.profile() == Profile::Text {
            return str::from_utf8(bytes).ok()?.parse().ok();
        }
        u32::try_from(big_endian(bytes)).ok()
    }
}

impl KeySchema {
    /// Whether null in this segment is left out if everything behind it is null too: what HBase's `Struct` and Phoenix do.
    pub(super) fn may_be_left_out(&self, at: usize) -> bool {
        self.leaves_nulls_out() && self.segments().iter().skip(at).all(|segment| segment.nullable)
    }

    /// How many segments the key of these values has: those at the end that are null are left out.
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

/// Where the decimal of `OrderedBytes` that begins at `at` ends, if one does; `flip` is `ff` where its bits are turned over.
pub(crate) fn numeric_end(key: &[u8], at: usize, flip: u8) -> Option<usize> {
    numeric::end(key, at, flip).ok()
}
