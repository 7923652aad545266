//! Fast path of profile BIN for keys of text, bytes, integers, times, buckets and salts of one of
//! them, with precomputed steps. Most keys qualify; all others, and errors, take the general path.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::hash::{Input, salt};
use crate::schema::{FieldId, HashFunction, KeySchema, Order, Profile, SegmentKind};
use crate::value::{FieldType, Value};

use super::bin::{END, position_of};
use super::buffer::{INLINE_BYTES, KeyBuf, MAX_KEY_BYTES};
use super::decode::DecodedKey;
use super::layout::{FastPath, FastPathStep, Number};

impl FastPath {
    /// Returns the fast path of a schema; an empty one if it has none.
    pub(crate) fn for_schema(schema: &KeySchema) -> Self {
        let step = |at| step(schema, at);
        let steps: Option<Vec<_>> = (0..schema.segments().len()).map(step).collect();
        let holds = steps.iter().flatten().filter_map(FastPathStep::field);
        // Values are returned in the order of the fields, each by one segment.
        if schema.profile() != Profile::Bin || !holds.eq(0..schema.fields().len()) {
            return Self::default();
        }
        Self(steps.unwrap_or_default())
    }

    /// Appends the key of these values; returns `false` and appends nothing if the general path is
    /// required.
    #[inline]
    pub(super) fn encode(&self, values: &[Value<'_>], out: &mut KeyBuf) -> bool {
        let mut room = KeyWriter { bytes: [0; INLINE_BYTES + 8], length: 0 };
        let written =
            !self.0.is_empty() && self.0.iter().all(|step| step.write(values, &mut room).is_some());
        if written {
            out.extend(&room.bytes[..room.length]);
        }
        written && room.length > 0
    }

    /// Decodes a key and checks its salts if `check` is set; returns `false` and decodes nothing if
    /// the general path is required.
    #[inline]
    pub(super) fn decode<'k>(
        &self,
        key: &'k [u8],
        check: bool,
        decoded: &mut DecodedKey<'k>,
    ) -> bool {
        decoded.clear();
        let fits = (1..=MAX_KEY_BYTES).contains(&key.len());
        let done = !self.0.is_empty() && fits && self.read(key, check, decoded).is_some();
        if !done {
            decoded.clear();
        }
        done
    }

    #[inline]
    fn read<'k>(&self, key: &'k [u8], check: bool, decoded: &mut DecodedKey<'k>) -> Option<()> {
        let mut salts: SmallVec<[(FieldId, u32, u32); 2]> = SmallVec::new();
        let mut rest = key;
        for step in &self.0 {
            match *step {
                FastPathStep::Salt { of, count } => {
                    let (salt, behind) = read_salt(rest, count)?;
                    salts.push((of, count, salt));
                    rest = behind;
                }
                FastPathStep::Text { is_text, is_last, .. } => {
                    let (bytes, behind) =
                        if is_last { (rest, &rest[..0]) } else { read_text(rest)? };
                    decoded.push(if is_text {
                        Value::Text(Cow::Borrowed(str::from_utf8(bytes).ok()?))
                    } else {
                        Value::Bytes(Cow::Borrowed(bytes))
                    });
                    rest = behind;
                }
                FastPathStep::Number(number) => {
                    let (bits, behind) = number.read(rest)?;
                    decoded.push(if number.is_signed {
                        Value::Signed(bits.cast_signed())
                    } else {
                        Value::Unsigned(bits)
                    });
                    rest = behind;
                }
                FastPathStep::Bucket { number, width } => {
                    let (bucket, behind) = number.read(rest)?;
                    let start = bucket.checked_mul(width)?;
                    decoded.push_part(if number.is_signed {
                        Value::Signed(i64::try_from(start).ok()?)
                    } else {
                        Value::Unsigned(start)
                    });
                    rest = behind;
                }
            }
        }
        let belongs = |&(of, count, salt): &(FieldId, u32, u32)| {
            decoded.get(of).and_then(|value| salt_of(value, count)) == Some(salt)
        };
        (rest.is_empty() && (!check || salts.iter().all(belongs))).then_some(())
    }
}

impl FastPathStep {
    /// Returns the field whose value the step contains.
    fn field(&self) -> Option<FieldId> {
        match *self {
            Self::Salt { .. } => None,
            Self::Text { field, .. }
            | Self::Number(Number { field, .. })
            | Self::Bucket { number: Number { field, .. }, .. } => Some(field),
        }
    }

    #[inline]
    fn write(&self, values: &[Value<'_>], room: &mut KeyWriter) -> Option<()> {
        match (*self, values.get(self.field().unwrap_or(0))?) {
            (Self::Salt { of, count }, _) => {
                let salt = salt_of(values.get(of)?, count)?;
                room.number(salt.into(), if count <= 256 { 1 } else { 2 })
            }
            (Self::Text { is_text: true, is_last, .. }, Value::Text(text)) => {
                room.text(text.as_bytes(), is_last)
            }
            (Self::Text { is_text: false, is_last, .. }, Value::Bytes(bytes)) => {
                room.text(bytes, is_last)
            }
            (Self::Number(number), Value::Unsigned(value)) if !number.is_signed => {
                number.write(*value, room)
            }
            (Self::Number(number), Value::Signed(value)) if number.is_signed => {
                number.write(value.cast_unsigned(), room)
            }
            (Self::Bucket { number, width }, Value::Unsigned(value)) if !number.is_signed => {
                number.write_bucket(*value, width, room)
            }
            (Self::Bucket { number, width }, Value::Signed(value)) if number.is_signed => {
                number.write_bucket(u64::try_from(*value).ok()?, width, room)
            }
            _ => None,
        }
    }
}

impl Number {
    #[inline]
    fn write(self, bits: u64, room: &mut KeyWriter) -> Option<()> {
        let unused = 64 - 8 * u32::from(self.bytes);
        let shifted = bits << unused;
        let back = if self.is_signed {
            (shifted.cast_signed() >> unused).cast_unsigned()
        } else {
            shifted >> unused
        };
        if back != bits {
            return None;
        }
        room.number(bits ^ self.turned, self.bytes)
    }

    #[inline]
    fn write_bucket(self, value: u64, width: u64, room: &mut KeyWriter) -> Option<()> {
        let bucket = u32::try_from(value / width).ok()?;
        room.number(u64::from(bucket) ^ self.turned, self.bytes)
    }

    /// Returns the number at the start of `bytes`, and the bytes after it.
    #[inline]
    fn read(self, bytes: &[u8]) -> Option<(u64, &[u8])> {
        let (number, rest) = bytes.split_at_checked(self.bytes.into())?;
        let bits = match *number {
            [a] => a.into(),
            [a, b] => u16::from_be_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
            _ => u64::from_be_bytes(number.try_into().ok()?),
        } ^ self.turned;
        let unused = 64 - 8 * u32::from(self.bytes);
        // The inverted bits of narrow numbers reach no further than these.
        let bits = bits << unused;
        Some((
            if self.is_signed {
                (bits.cast_signed() >> unused).cast_unsigned()
            } else {
                bits >> unused
            },
            rest,
        ))
    }
}

/// Key under construction. Its buffer has eight extra bytes, so that numbers are always written as
/// eight.
struct KeyWriter {
    bytes: [u8; INLINE_BYTES + 8],
    length: usize,
}

impl KeyWriter {
    /// Appends the low bytes of a number.
    #[inline]
    fn number(&mut self, bits: u64, bytes: u8) -> Option<()> {
        let to: &mut [u8; 8] = self.bytes.get_mut(self.length..)?.first_chunk_mut()?;
        *to = (bits << (64 - 8 * u32::from(bytes))).to_be_bytes();
        self.length += usize::from(bytes);
        (self.length <= INLINE_BYTES).then_some(())
    }

    #[inline]
    fn text(&mut self, text: &[u8], is_last: bool) -> Option<()> {
        let end = self.length + text.len();
        if end + END.len() > INLINE_BYTES || !is_last && position_of(text, 0).is_some() {
            return None;
        }
        self.bytes[self.length..end].copy_from_slice(text);
        self.length = end;
        if !is_last {
            self.bytes[end..end + END.len()].copy_from_slice(&END);
            self.length += END.len();
        }
        Some(())
    }
}

#[inline]
fn read_salt(bytes: &[u8], count: u32) -> Option<(u32, &[u8])> {
    if count <= 256 {
        let (&salt, rest) = bytes.split_first()?;
        return Some((salt.into(), rest));
    }
    let (salt, rest) = bytes.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*salt).into(), rest))
}

/// Returns text up to its end, if it contains no zero, and the bytes after that end.
#[inline]
fn read_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = position_of(bytes, 0)?;
    let (text, rest) = bytes.split_at(end);
    Some((text, rest.strip_prefix(&END)?))
}

#[inline]
fn salt_of(value: &Value<'_>, count: u32) -> Option<u32> {
    salt(HashFunction::Murmur3, Input::from_value(value)?, count)
}

/// Returns the step of a segment, if it has one.
fn step(schema: &KeySchema, at: usize) -> Option<FastPathStep> {
    let segment = &schema.segments()[at];
    let (is_ascending, is_last) = (segment.order == Order::Asc, at + 1 == schema.segments().len());
    if segment.nullable {
        return None;
    }
    match &segment.kind {
        SegmentKind::Salt { count, function: HashFunction::Murmur3, .. } => {
            let [of] = schema.hashed_fields(at)[..] else { return None };
            // A field that only a bucket contains cannot be hashed again.
            schema.carrier(of).map(|_| FastPathStep::Salt { of, count: *count })
        }
        SegmentKind::Plain(field) => match schema.fields()[*field].ty {
            FieldType::String if is_ascending => {
                Some(FastPathStep::Text { field: *field, is_text: true, is_last })
            }
            FieldType::Bytes if is_ascending => {
                Some(FastPathStep::Text { field: *field, is_text: false, is_last })
            }
            ty => number(*field, ty, ty, is_ascending).map(FastPathStep::Number),
        },
        SegmentKind::Bucket { field, width } => {
            let ty = schema.fields()[*field].ty;
            let number = number(*field, FieldType::U32, ty, is_ascending)?;
            Some(FastPathStep::Bucket { number, width: *width })
        }
        _ => None,
    }
}

/// Returns the step of a number stored as `stored`, of a field of type `ty`.
fn number(field: FieldId, stored: FieldType, ty: FieldType, is_ascending: bool) -> Option<Number> {
    let (least, _) = ty.integer_range()?;
    let bytes = u8::try_from(stored.fixed_bytes()?).ok()?;
    let sign = if stored.integer_range()?.0 < 0 { 1 << (8 * bytes - 1) } else { 0 };
    let all = u64::MAX >> (64 - 8 * u32::from(bytes));
    Some(Number {
        field,
        bytes,
        is_signed: least < 0,
        turned: if is_ascending { sign } else { sign ^ all },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::NoResolver;

    fn both(text: &str, values: &[Value<'_>]) {
        let schema: KeySchema = text.parse().expect("a key");
        let quick = FastPath::for_schema(&schema);
        assert!(!quick.0.is_empty(), "{text} has no quick way");
        let (mut found, mut expected) = (KeyBuf::new(), KeyBuf::new());
        let slow = schema.encode_general(values, &NoResolver, &mut expected);
        if quick.encode(values, &mut found) {
            assert_eq!((slow, &found), (Ok(()), &expected), "{text} {values:?}");
        }
        // Complete keys, and keys that were cut, extended, or had a byte changed.
        let mut keys = vec![expected.to_vec()];
        keys.extend((0..expected.len()).map(|at| expected[..at].to_vec()));
        keys.extend((0..expected.len()).flat_map(|at| {
            [0, 1, 0x7f, 0xff].map(|byte| [&expected[..at], &[byte], &expected[at + 1..]].concat())
        }));
        keys.push([&expected[..], &[0]].concat());
        let mut found = DecodedKey::new();
        for key in &keys {
            for check in [true, false] {
                let mut expected = DecodedKey::new();
                if quick.decode(key, check, &mut found) {
                    let slow = schema.decode_general(key, &NoResolver, check, &mut expected);
                    assert_eq!((slow, &found), (Ok(()), &expected), "{text} {key:?}");
                }
            }
        }
    }

    #[test]
    fn fast_path_matches_the_general_codec() {
        let texts = [
            "",
            "a",
            "sensor_00001",
            "a\0b",
            "\u{5f20}\u{4e09}",
            "0123456789012345678901234567890123456789012345678",
        ];
        let times = [0, 1, 1_710_460_800_000, i64::MAX, -1, i64::MIN];
        for (at, text) in texts.into_iter().enumerate() {
            for time in times {
                let number =
                    Value::Unsigned([0, 7, 255, 65_536, u64::from(u32::MAX), u64::MAX][at]);
                let (text, bytes, time) =
                    (Value::from(text), Value::from(text.as_bytes()), Value::Signed(time));
                both(
                    "(SALT(16 BY d), d STRING, n U32, t TIMESTAMP DESC)",
                    &[text.clone(), number.clone(), time.clone()],
                );
                both(
                    "(SALT(1000 BY n), d BYTES, n U8, t DATE)",
                    &[bytes, number.clone(), time.clone()],
                );
                both(
                    "(n U16 DESC, t I32 DESC, SALT(256 BY t), d STRING)",
                    &[number.clone(), time.clone(), text.clone()],
                );
                both(
                    "(SALT(4 BY d), d STRING, BUCKET(t, '1h') DESC)",
                    &[text.clone(), time.clone()],
                );
                both(
                    "(n U64 DESC, BUCKET(u, 10) U64, t I16)",
                    &[number.clone(), number.clone(), time],
                );
                both("(SALT(7), n U64)", &[number]);
            }
        }
        let is_slow = |text: &str| FastPath::for_schema(&text.parse().expect("a key")).0.is_empty();
        for text in [
            "(a STRING DESC)",
            "(a STRING NULLABLE, b U8)",
            "(HASH(a), a STRING)",
            "(SALT(4 BY t), BUCKET(t, '1h'), d STRING)",
            "(b U8, BUCKET(t, '1h'), t TIMESTAMP)",
        ] {
            assert!(is_slow(text), "{text}");
        }
    }
}
