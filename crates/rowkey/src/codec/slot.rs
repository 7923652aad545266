//! Segment of a field, as the profiles use it: the stored value, its order, and whether it is the
//! last segment.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Deref;

use crate::error::KeyErrorKind;
use crate::schema::{Field, KeySchema, Order, Segment, SegmentKind};
use crate::value::{FieldType, Value};

use super::KeyBuf;
use super::layout::SlotLayout;
use super::resolver::KeyResolver;

/// Segment that contains a field, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'s> {
    pub(super) kind: &'s SegmentKind,
    layout: SlotLayout,
}

/// Returns the layouts of all segments; `None` for constants, salts and hashes.
pub(crate) fn slot_layouts(segments: &[Segment], fields: &[Field]) -> Vec<Option<SlotLayout>> {
    let place = |at: usize| {
        let segment = &segments[at];
        let field = segment.kind.field()?;
        let ty = fields.get(field)?.ty;
        let is_whole = segment.kind.carries().is_some();
        Some(SlotLayout {
            segment: at,
            field,
            ty,
            stored: stored_type(&segment.kind, ty),
            flip: if segment.order == Order::Desc { 0xff } else { 0 },
            nullable: segment.nullable,
            last: at + 1 == segments.len(),
            digits: segment.digits,
            is_plain: matches!(segment.kind, SegmentKind::Plain(_)),
            is_whole,
            is_held_elsewhere: !is_whole
                && segments.iter().any(|segment| segment.kind.carries() == Some(field)),
        })
    };
    (0..segments.len()).map(place).collect()
}

impl KeySchema {
    /// Returns the slot of a segment; `None` for constants, salts and hashes.
    #[inline]
    pub(super) fn slot(&self, at: usize) -> Option<Slot<'_>> {
        let place = *self.slot_layout(at)?;
        Some(Slot { kind: &self.segments().get(at)?.kind, layout: place })
    }
}

impl Deref for Slot<'_> {
    type Target = SlotLayout;

    #[inline]
    fn deref(&self) -> &SlotLayout {
        &self.layout
    }
}

impl Slot<'static> {
    /// Creates a slot for a field of this type alone in a key.
    pub(super) fn alone(ty: FieldType) -> Self {
        const PLAIN: &SegmentKind = &SegmentKind::Plain(0);
        let layout = SlotLayout {
            segment: 0,
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
        Slot { kind: PLAIN, layout }
    }
}

/// Returns the type that a segment stores for a field of type `ty`.
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

/// Returns the error for a value that is not of the `expected` type.
pub(super) fn wrong_type(expected: FieldType, value: &Value<'_>) -> KeyErrorKind {
    match (expected, value) {
        (_, Value::Null) => KeyErrorKind::Null,
        (FieldType::Char(width), Value::Text(text)) => {
            KeyErrorKind::TooWide { width: width.into(), found: text.len() }
        }
        (FieldType::Fixed(width), Value::Bytes(bytes)) => {
            KeyErrorKind::TooWide { width: width.into(), found: bytes.len() }
        }
        _ => KeyErrorKind::WrongType { expected: expected.to_string(), given: value.kind_name() },
    }
}

impl Slot<'_> {
    /// Returns `true` if the value is stored unchanged, so that [`Self::forward`] is not needed.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns the stored value of a non-null value. `room` holds its bytes if they are new.
    pub(super) fn forward<'v>(
        &self,
        value: &'v Value<'_>,
        helper: &dyn KeyResolver,
        room: &'v mut KeyBuf,
    ) -> Result<Value<'v>, KeyErrorKind> {
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
                let id = helper
                    .dictionary_id(field, raw_bytes(value).unwrap_or_default())
                    .ok_or(KeyErrorKind::NotInDictionary)?;
                let (zeros, number) = split_number(id, bytes);
                if zeros.iter().any(|&byte| byte != 0) {
                    return Err(KeyErrorKind::Unsupported(
                        "the dictionary has more entries than numbers of this width; declare a \
                         wider DICT",
                    ));
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

    /// Returns the field's value from the stored one; for buckets and truncations the known part.
    pub(super) fn backward<'k>(
        &self,
        stored: Value<'k>,
        helper: &dyn KeyResolver,
    ) -> Result<Value<'k>, KeyErrorKind> {
        if stored.is_null() {
            return Ok(stored);
        }
        match *self.kind {
            SegmentKind::Bucket { width, .. } => bucket_start(&stored, width, self.ty),
            SegmentKind::Trunc { .. } => truncated(stored, self.ty),
            SegmentKind::Dict { field, .. } => {
                let id = big_endian(raw_bytes(&stored).unwrap_or_default());
                let bytes =
                    helper.dictionary_value(field, id).ok_or(KeyErrorKind::NotInDictionary)?;
                text_or_bytes(Cow::Owned(bytes), self.ty)
            }
            SegmentKind::Ipv4(_) => match stored {
                Value::Ipv4(address) => Ok(Value::Text(Cow::Owned(address.to_string()))),
                _ => Err(KeyErrorKind::Malformed("the bytes are no IPv4 address")),
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

/// Returns text or bytes, depending on the type of a field.
#[inline]
pub(super) fn text_or_bytes(
    bytes: Cow<'_, [u8]>,
    ty: FieldType,
) -> Result<Value<'_>, KeyErrorKind> {
    if !ty.is_text() {
        return Ok(Value::Bytes(bytes));
    }
    let text = match bytes {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    };
    text.map(Value::Text).ok_or(KeyErrorKind::NotUtf8)
}

/// Returns the big-endian number of up to eight bytes.
#[inline]
pub fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte))
}

/// Returns the bytes of text and bytes.
pub(super) fn raw_bytes<'v>(value: &'v Value<'_>) -> Option<&'v [u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn bucket_of(value: &Value<'_>, width: u64) -> Result<u64, KeyErrorKind> {
    let number = match *value {
        Value::Unsigned(number) => i128::from(number),
        Value::Signed(number) => i128::from(number),
        _ => return Err(KeyErrorKind::Unsupported("BUCKET takes numbers and times")),
    };
    u32::try_from(number.div_euclid(width.into())).map(u64::from).map_err(|_| {
        KeyErrorKind::Unsupported(
            "the number of the bucket does not fit 32 bits without a sign; the value is before 0 \
             (1970), or the bucket too narrow for it",
        )
    })
}

fn bucket_start(
    stored: &Value<'_>,
    width: u64,
    ty: FieldType,
) -> Result<Value<'static>, KeyErrorKind> {
    let Value::Unsigned(bucket) = *stored else {
        return Err(KeyErrorKind::Malformed("the bytes are no bucket"));
    };
    let start = i128::from(bucket) * i128::from(width);
    let (least, greatest) = ty.integer_range().unwrap_or((0, 0));
    let outside = KeyErrorKind::Malformed("the bucket lies outside the range of its field");
    if start > greatest {
        return Err(outside);
    }
    if least < 0 {
        i64::try_from(start).map(Value::Signed).map_err(|_| outside)
    } else {
        u64::try_from(start).map(Value::Unsigned).map_err(|_| outside)
    }
}

/// Returns the known part of a truncated field: the bytes without their zero padding, text up to
/// its last complete character.
fn truncated(stored: Value<'_>, ty: FieldType) -> Result<Value<'_>, KeyErrorKind> {
    let Value::Bytes(bytes) = stored else { return Ok(stored) };
    let shorten = |bytes: &[u8]| -> Result<usize, KeyErrorKind> {
        let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        match str::from_utf8(&bytes[..length]) {
            Err(error) if ty.is_text() && error.error_len().is_some() => Err(KeyErrorKind::NotUtf8),
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

/// Returns a number as exactly `bytes` bytes, its first byte, and the bytes before those.
fn split_number(number: u64, bytes: u8) -> (KeyBuf, KeyBuf) {
    let all = number.to_be_bytes();
    let (zeros, rest) = all.split_at(all.len() - usize::from(bytes).min(all.len()));
    (KeyBuf::from(zeros), KeyBuf::from(rest))
}

/// Parses dotted decimal in canonical form: `010.0.0.1` is rejected, because decoding it would
/// return other text.
fn parse_ipv4(text: &str) -> Result<Ipv4Addr, KeyErrorKind> {
    text.parse()
        .map_err(|_| KeyErrorKind::Unsupported("the text is no IPv4 address of the form 10.0.0.1"))
}

/// Returns a value in reverse: the characters of text, the bytes of all other types. The function
/// is its own inverse.
fn reversed<'v>(
    value: &'v Value<'_>,
    ty: FieldType,
    room: &'v mut KeyBuf,
) -> Result<Value<'v>, KeyErrorKind> {
    match value {
        Value::Text(text) if !text.is_ascii() => Err(KeyErrorKind::Unsupported(
            "only text of ASCII characters can be reversed byte by byte; declare the field as \
             BYTES",
        )),
        Value::Text(_) | Value::Bytes(_) => {
            room.extend(raw_bytes(value).unwrap_or_default());
            room.reverse();
            text_or_bytes(Cow::Borrowed(&**room), ty)
        }
        Value::Uuid(bytes) => {
            Ok(Value::Uuid(u128::from_be_bytes(*bytes).swap_bytes().to_be_bytes()))
        }
        Value::Ipv4(address) => {
            Ok(Value::Ipv4(Ipv4Addr::from_bits(address.to_bits().swap_bytes())))
        }
        Value::Ipv6(address) => {
            Ok(Value::Ipv6(Ipv6Addr::from_bits(address.to_bits().swap_bytes())))
        }
        _ => integer_bits(value, ty, u64::swap_bytes),
    }
}

/// Returns an integer after applying `turn` to the bits of its width, in two's complement.
fn integer_bits(
    value: &Value<'_>,
    ty: FieldType,
    turn: fn(u64) -> u64,
) -> Result<Value<'static>, KeyErrorKind> {
    let unused = 64 - 8 * u32::try_from(ty.fixed_bytes().unwrap_or(8)).unwrap_or(8);
    match *value {
        Value::Unsigned(number) => Ok(Value::Unsigned(turn(number) >> unused)),
        Value::Signed(number) => {
            Ok(Value::Signed(turn(number.cast_unsigned()).cast_signed() >> unused))
        }
        _ => Err(wrong_type(ty, value)),
    }
}
