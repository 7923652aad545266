//! One segment that holds a field, as the profiles see it: what is stored, in which order, and whether it is the last.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Deref;

use crate::error::Cause;
use crate::schema::{Field, FieldId, KeySchema, Order, Segment, SegmentKind};
use crate::value::{FieldType, Value};

use super::KeyBuf;
use super::helper::KeyHelper;

/// A segment that carries a field, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'s> {
    pub(super) kind: &'s SegmentKind,
    place: Place,
}

/// What a [`Slot`] knows besides its transform; computed once for a schema, because every key asks for it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent answers, not states")]
pub(crate) struct Place {
    /// The segment's place in the schema.
    pub(super) at: usize,
    pub(super) field: FieldId,
    /// The type of the field.
    pub(super) ty: FieldType,
    /// The type of what is in the key, behind the transform.
    pub(super) stored: FieldType,
    /// 0xff if every bit is turned over (descending), else 0.
    pub(super) flip: u8,
    pub(super) nullable: bool,
    /// Whether nothing follows in the key.
    pub(super) last: bool,
    /// Decimal digits in a text key.
    pub(super) digits: Option<u8>,
    is_plain: bool,
    /// Whether the field can be read back from here.
    pub(super) is_whole: bool,
    /// Whether another segment holds the whole of a field that this one holds a part of.
    pub(super) is_held_elsewhere: bool,
}

/// The places of all segments; `None` for constants, salts and hashes.
pub(crate) fn places(segments: &[Segment], fields: &[Field]) -> Vec<Option<Place>> {
    let place = |at: usize| {
        let segment = &segments[at];
        let field = segment.kind.field()?;
        let ty = fields.get(field)?.ty;
        let is_whole = segment.kind.carries().is_some();
        Some(Place {
            at,
            field,
            ty,
            stored: stored_type(&segment.kind, ty),
            flip: if segment.order == Order::Desc { 0xff } else { 0 },
            nullable: segment.nullable,
            last: at + 1 == segments.len(),
            digits: segment.digits,
            is_plain: matches!(segment.kind, SegmentKind::Plain(_)),
            is_whole,
            is_held_elsewhere: !is_whole && segments.iter().any(|segment| segment.kind.carries() == Some(field)),
        })
    };
    (0..segments.len()).map(place).collect()
}

impl KeySchema {
    /// The slot of a segment; `None` for constants, salts and hashes.
    #[inline]
    pub(super) fn slot(&self, at: usize) -> Option<Slot<'_>> {
        let place = *self.place(at)?;
        Some(Slot { kind: &self.segments().get(at)?.kind, place })
    }
}

impl Deref for Slot<'_> {
    type Target = Place;

    #[inline]
    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Slot<'static> {
    /// A field of this type as it is, alone in a key.
    pub(super) fn alone(ty: FieldType) -> Self {
        const PLAIN: &SegmentKind = &SegmentKind::Plain(0);
        let place = Place {
            at: 0,
            field: 0,
            ty,
            stored: ty,
            flip: 0,
            nullable: true,
            last: true,
            digits: None,
            is_plain: true,
            is_whole: true,
            is_held_elsewhere: false,
        };
        Slot { kind: PLAIN, place }
    }
}

/// The type of what a segment puts into the key for a field of type `ty`.
#[inline]
fn stored_type(kind: &SegmentKind, ty: FieldType) -> FieldType {
    match *kind {
        SegmentKind::Bucket { .. } => FieldType::U32,
        SegmentKind::Trunc { bytes, .. } => FieldType::Fixed(bytes),
        SegmentKind::Dict { bytes, .. } => FieldType::Fixed(bytes.into()),
        SegmentKind::Ipv4(_) => FieldType::Ipv4,
        _ => ty,
    }
}

/// The error of a value that is not of the wanted type.
pub(super) fn wrong_type(wanted: FieldType, value: &Value<'_>) -> Cause {
    match (wanted, value) {
        (_, Value::Null) => Cause::Null,
        (FieldType::Char(width), Value::Text(text)) => Cause::TooWide { width: width.into(), found: text.len() },
        (FieldType::Fixed(width), Value::Bytes(bytes)) => Cause::TooWide { width: width.into(), found: bytes.len() },
        _ => Cause::WrongType { wanted: wanted.to_string(), given: value.kind_name() },
    }
}

impl Slot<'_> {
    /// Whether the value stands in the key as it is, so that [`Self::forward`] need not be asked.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// What is stored for a value that is not null. `room` holds its bytes where they are new.
    pub(super) fn forward<'v>(&self, value: &'v Value<'_>, helper: &dyn KeyHelper, room: &'v mut KeyBuf) -> Result<Value<'v>, Cause> {
        if !self.ty.accepts(value) {
            return Err(wrong_type(self.ty, value));
        }
        match *self.kind {
            SegmentKind::Bucket { width, .. } => bucket_of(value, width).map(Value::Unsigned),
            SegmentKind::Trunc { bytes, .. } => {
                let whole = raw_bytes(value).unwrap_or_default();
                let width = usize::from(bytes);
                room.extend(&whole[..whole.len().min(width)]);
                (room.len()..width).for_each(|_| room.push(0));
                Ok(Value::from(&**room))
            }
            SegmentKind::Dict { bytes, field } => {
                let id = helper.dictionary_id(field, raw_bytes(value).unwrap_or_default()).ok_or(Cause::NotInDictionary)?;
                let (zeros, number) = split_number(id, bytes);
                if zeros.iter().any(|&byte| byte != 0) {
                    return Err(Cause::Unsupported("the dictionary has more entries than numbers of this width; declare a wider DICT"));
                }
                room.extend(&number);
                Ok(Value::from(&**room))
            }
            SegmentKind::Ipv4(_) => match value {
                Value::Text(text) => parse_ipv4(text).map(Value::Ipv4),
                _ => Err(wrong_type(self.ty, value)),
            },
            SegmentKind::Reverse(_) => reversed(value, self.ty, room),
            SegmentKind::BitReverse(_) => integer_bits(value, self.ty, u64::reverse_bits),
            _ => Ok(value.borrowed()),
        }
    }

    /// The field's value from what is stored; of buckets and truncations what is known of it.
    pub(super) fn backward<'k>(&self, stored: Value<'k>, helper: &dyn KeyHelper) -> Result<Value<'k>, Cause> {
        if stored.is_null() {
            return Ok(stored);
        }
        match *self.kind {
            SegmentKind::Bucket { width, .. } => bucket_start(&stored, width, self.ty),
            SegmentKind::Trunc { .. } => truncated(stored, self.ty),
            SegmentKind::Dict { field, .. } => {
                let id = big_endian(raw_bytes(&stored).unwrap_or_default());
                let bytes = helper.dictionary_value(field, id).ok_or(Cause::NotInDictionary)?;
                text_or_bytes(Cow::Owned(bytes), self.ty)
            }
            SegmentKind::Ipv4(_) => match stored {
                Value::Ipv4(address) => Ok(Value::Text(Cow::Owned(address.to_string()))),
                _ => Err(Cause::Malformed("the bytes are no IPv4 address")),
            },
            SegmentKind::Reverse(_) => {
                let mut room = KeyBuf::new();
                reversed(&stored, self.ty, &mut room).map(Value::into_owned)
            }
            SegmentKind::BitReverse(_) => integer_bits(&stored, self.ty, u64::reverse_bits),
            _ => Ok(stored),
        }
    }
}

/// Text or bytes by the type of a field.
#[inline]
pub(super) fn text_or_bytes(bytes: Cow<'_, [u8]>, ty: FieldType) -> Result<Value<'_>, Cause> {
    if !ty.is_text() {
        return Ok(Value::Bytes(bytes));
    }
    let text = match bytes {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    };
    text.map(Value::Text).ok_or(Cause::NotUtf8)
}

/// The number that up to eight bytes are, the greatest first.
#[inline]
pub(crate) fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte))
}

/// The bytes of text and bytes.
pub(super) fn raw_bytes<'v>(value: &'v Value<'_>) -> Option<&'v [u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn bucket_of(value: &Value<'_>, width: u64) -> Result<u64, Cause> {
    let number = match *value {
        Value::Unsigned(number) => i128::from(number),
        Value::Signed(number) => i128::from(number),
        _ => return Err(Cause::Unsupported("BUCKET takes numbers and times")),
    };
    u32::try_from(number.div_euclid(width.into())).map(u64::from).map_err(|_| {
        Cause::Unsupported(
            "the number of the bucket does not fit 32 bits without a sign; the value is before 0 (1970), or the bucket too narrow for it",
        )
    })
}

fn bucket_start(stored: &Value<'_>, width: u64, ty: FieldType) -> Result<Value<'static>, Cause> {
    let Value::Unsigned(bucket) = *stored else { return Err(Cause::Malformed("the bytes are no bucket")) };
    let start = i128::from(bucket) * i128::from(width);
    let (least, greatest) = ty.integer_range().unwrap_or((0, 0));
    let outside = Cause::Malformed("the bucket lies outside the range of its field");
    if start > greatest {
        return Err(outside);
    }
    if least < 0 {
        i64::try_from(start).map(Value::Signed).map_err(|_| outside)
    } else {
        u64::try_from(start).map(Value::Unsigned).map_err(|_| outside)
    }
}

/// What a truncation says of its field: the bytes without the zeros they were filled up with, text to its last whole character.
fn truncated(stored: Value<'_>, ty: FieldType) -> Result<Value<'_>, Cause> {
    let Value::Bytes(bytes) = stored else { return Ok(stored) };
    let shorten = |bytes: &[u8]| -> Result<usize, Cause> {
        let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        match str::from_utf8(&bytes[..length]) {
            Err(error) if ty.is_text() && error.error_len().is_some() => Err(Cause::NotUtf8),
            Err(error) if ty.is_text() => Ok(error.valid_up_to()),
            _ => Ok(length),
        }
    };
    let length = shorten(&bytes)?;
    let shortened = match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..length]),
        Cow::Owned(mut bytes) => {
            bytes.truncate(length);
            Cow::Owned(bytes)
        }
    };
    text_or_bytes(shortened, ty)
}

/// A number as exactly `bytes` bytes, its first byte first, and the bytes in front of those.
fn split_number(number: u64, bytes: u8) -> (KeyBuf, KeyBuf) {
    let all = number.to_be_bytes();
    let (zeros, rest) = all.split_at(all.len() - usize::from(bytes).min(all.len()));
    (KeyBuf::from(zeros), KeyBuf::from(rest))
}

/// Dotted decimal as it is printed again: `010.0.0.1` is refused, because reading it back would give other text.
fn parse_ipv4(text: &str) -> Result<Ipv4Addr, Cause> {
    text.parse().map_err(|_| Cause::Unsupported("the text is no IPv4 address of the form 10.0.0.1"))
}

/// A value back to front: the characters of text, the bytes of everything else. Its own inverse.
fn reversed<'v>(value: &'v Value<'_>, ty: FieldType, room: &'v mut KeyBuf) -> Result<Value<'v>, Cause> {
    match value {
        Value::Text(text) if !text.is_ascii() => {
            Err(Cause::Unsupported("only text of ASCII characters can be reversed byte by byte; declare the field as BYTES"))
        }
        Value::Text(_) | Value::Bytes(_) => {
            room.extend(raw_bytes(value).unwrap_or_default());
            room.reverse();
            text_or_bytes(Cow::Borrowed(&**room), ty)
        }
        Value::Uuid(bytes) => Ok(Value::Uuid(u128::from_be_bytes(*bytes).swap_bytes().to_be_bytes())),
        Value::Ipv4(address) => Ok(Value::Ipv4(Ipv4Addr::from_bits(address.to_bits().swap_bytes()))),
        Value::Ipv6(address) => Ok(Value::Ipv6(Ipv6Addr::from_bits(address.to_bits().swap_bytes()))),
        _ => integer_bits(value, ty, u64::swap_bytes),
    }
}

/// An integer with `turn` done to the bits of its width, two's complement.
fn integer_bits(value: &Value<'_>, ty: FieldType, turn: fn(u64) -> u64) -> Result<Value<'static>, Cause> {
    let unused = 64 - 8 * u32::try_from(ty.fixed_bytes().unwrap_or(8)).unwrap_or(8);
    match *value {
        Value::Unsigned(number) => Ok(Value::Unsigned(turn(number) >> unused)),
        Value::Signed(number) => Ok(Value::Signed(turn(number.cast_unsigned()).cast_signed() >> unused)),
        _ => Err(wrong_type(ty, value)),
    }
}
