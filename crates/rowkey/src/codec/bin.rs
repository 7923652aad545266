//! Profile BIN: bytes without type tags that sort as the values do; every field except the last is
//! self-delimiting.
//!
//! | type | ascending bytes |
//! |---|---|
//! | unsigned, bool | big-endian |
//! | signed, times, dates | big-endian, sign bit inverted |
//! | floats | IEEE; all bits inverted below zero, else the sign; one NaN, greater than all |
//! | decimal | as `numeric.rs` |
//! | `CHAR(n)`, `BYTES(n)`, UUID, addresses | as they are |
//! | text, bytes | `00` as `00 ff`, end `00 01`; as they are in the last, ascending field |
//!
//! A nullable field has `00` for null, or `01` before its value. Descending inverts every bit, so
//! the end of descending text is `ff fe`, which the last field has too.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::error::KeyErrorKind;
use crate::value::{FieldType, Value};

use super::slot::{Slot, big_endian, text_or_bytes, wrong_type};
use super::{KeyBuf, numeric};

const NULL: u8 = 0;
const PRESENT: u8 = 1;
pub(super) const END: [u8; 2] = [0, 1];
const ESCAPED_ZERO: [u8; 2] = [0, 0xff];

/// Appends the stored value of a segment.
#[inline]
pub(super) fn encode(
    slot: &Slot<'_>,
    stored: &Value<'_>,
    out: &mut KeyBuf,
) -> Result<(), KeyErrorKind> {
    let start = out.len();
    ascending(slot.stored, slot.nullable, slot.is_raw(), stored, out)?;
    if slot.flip != 0 {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

/// Appends the first bytes of text or bytes without an end: every value that begins with them
/// begins with these bytes.
pub(super) fn encode_prefix(slot: &Slot<'_>, prefix: &[u8], out: &mut KeyBuf) {
    if slot.nullable {
        out.push(PRESENT);
    }
    if slot.is_raw() || slot.stored.fixed_bytes().is_some() {
        out.extend(prefix);
    } else {
        escape(prefix, out);
    }
}

/// Appends a value in ascending order; `raw` omits the end of text and bytes.
#[inline]
pub(super) fn ascending(
    ty: FieldType,
    nullable: bool,
    raw: bool,
    value: &Value<'_>,
    out: &mut KeyBuf,
) -> Result<(), KeyErrorKind> {
    if nullable {
        out.push(if value.is_null() { NULL } else { PRESENT });
        if value.is_null() {
            return Ok(());
        }
    }
    match (ty, value) {
        (_, Value::Null) => Err(KeyErrorKind::Null),
        (
            FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64,
            Value::Unsigned(number),
        ) => push_unsigned(ty, *number, out),
        (
            FieldType::I8
            | FieldType::I16
            | FieldType::I32
            | FieldType::I64
            | FieldType::Timestamp(_)
            | FieldType::Date,
            Value::Signed(number),
        ) => push_signed(ty, *number, out),
        (FieldType::String, Value::Text(text)) => {
            push_text(text.as_bytes(), raw, out);
            Ok(())
        }
        (FieldType::Bytes, Value::Bytes(bytes)) => {
            push_text(bytes, raw, out);
            Ok(())
        }
        _ if ty.accepts(value) => {
            push_fixed(value, out);
            Ok(())
        }
        _ => Err(wrong_type(ty, value)),
    }
}

/// Returns the end of the segment that begins at `at`.
#[inline]
pub(super) fn end(slot: &Slot<'_>, key: &[u8], at: usize) -> Result<usize, KeyErrorKind> {
    let mut at = at;
    if slot.nullable {
        let marker = key.get(at).ok_or(KeyErrorKind::Short)? ^ slot.flip;
        at += 1;
        match marker {
            NULL => return Ok(at),
            PRESENT => {}
            _ => return Err(KeyErrorKind::Malformed("a nullable field begins with 00 or 01")),
        }
    }
    match slot.stored.fixed_bytes() {
        Some(bytes) if key.len() - at >= bytes => Ok(at + bytes),
        Some(_) => Err(KeyErrorKind::Short),
        None if slot.stored == FieldType::Decimal => numeric::end(key, at, slot.flip),
        None if slot.is_raw() => Ok(key.len()),
        None => end_of_text(key, at, slot.flip),
    }
}

/// Decodes the stored value from the bytes of a segment, as delimited by [`end`].
#[inline]
pub(super) fn decode<'k>(slot: &Slot<'_>, bytes: &'k [u8]) -> Result<Value<'k>, KeyErrorKind> {
    let bytes = match bytes {
        [marker, ..] if slot.nullable && marker ^ slot.flip == NULL => return Ok(Value::Null),
        [_, rest @ ..] if slot.nullable => rest,
        _ => bytes,
    };
    let flip = slot.flip;
    match slot.stored {
        FieldType::String | FieldType::Bytes => read_text(bytes, flip, slot.is_raw(), slot.stored),
        FieldType::Char(_) | FieldType::Fixed(_) => {
            text_or_bytes(flipped(bytes, flip), slot.stored)
        }
        FieldType::Decimal => numeric::decode(bytes, flip).map(Value::Decimal),
        FieldType::Uuid | FieldType::Ipv6 => {
            let wide = u128::from_be_bytes(*bytes.first_chunk().ok_or(KeyErrorKind::Short)?)
                ^ if flip == 0 { 0 } else { u128::MAX };
            Ok(if slot.stored == FieldType::Uuid {
                Value::Uuid(wide.to_be_bytes())
            } else {
                Value::Ipv6(Ipv6Addr::from_bits(wide))
            })
        }
        stored => read_number(bytes, flip, stored),
    }
}

impl Slot<'_> {
    /// Returns `true` if text and bytes have no end here: no segment follows, and a shorter key
    /// sorts first.
    pub(super) fn is_raw(&self) -> bool {
        self.last && self.flip == 0
    }
}

#[inline]
fn width_of(ty: FieldType) -> usize {
    ty.fixed_bytes().unwrap_or(8)
}

#[inline]
fn push_unsigned(ty: FieldType, number: u64, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    let width = width_of(ty);
    if width < 8 && number >> (8 * width) != 0 {
        return Err(wrong_type(ty, &Value::Unsigned(number)));
    }
    push_low_bytes(number, width, out);
    Ok(())
}

/// Appends the last `width` bytes of a number; every width is a copy of constant length.
#[inline]
fn push_low_bytes(number: u64, width: usize, out: &mut KeyBuf) {
    let bytes = number.to_be_bytes();
    match width {
        8 => out.extend(&bytes),
        4 => out.extend(&bytes[4..]),
        2 => out.extend(&bytes[6..]),
        1 => out.push(bytes[7]),
        _ => out.extend(&bytes[8 - width..]),
    }
}

#[inline]
fn push_signed(ty: FieldType, number: i64, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    let width = width_of(ty);
    let unused = 64 - 8 * width;
    if (number << unused) >> unused != number {
        return Err(wrong_type(ty, &Value::Signed(number)));
    }
    let bits = number.cast_unsigned() ^ (1 << (8 * width - 1));
    push_low_bytes(bits, width, out);
    Ok(())
}

#[inline]
fn push_text(bytes: &[u8], raw: bool, out: &mut KeyBuf) {
    if raw {
        return out.extend(bytes);
    }
    escape(bytes, out);
    out.extend(&END);
}

#[inline]
fn escape(bytes: &[u8], out: &mut KeyBuf) {
    let mut rest = bytes;
    while let Some(zero) = position_of(rest, 0) {
        out.extend(&rest[..zero]);
        out.extend(&ESCAPED_ZERO);
        rest = &rest[zero + 1..];
    }
    out.extend(rest);
}

/// Appends the other values, which take as many bytes as their type has; decimals are
/// self-delimiting.
fn push_fixed(value: &Value<'_>, out: &mut KeyBuf) {
    match value {
        Value::Bool(value) => out.push((*value).into()),
        Value::F32(value) => {
            let bits = if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
            out.extend(&(bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 }).to_be_bytes());
        }
        Value::F64(value) => {
            let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
            out.extend(&(bits ^ if bits >> 63 == 1 { u64::MAX } else { 1 << 63 }).to_be_bytes());
        }
        Value::Decimal(value) => numeric::encode(*value, out),
        Value::Text(text) => out.extend(text.as_bytes()),
        Value::Bytes(bytes) => out.extend(bytes),
        Value::Uuid(bytes) => out.extend(bytes),
        Value::Ipv4(address) => out.extend(&address.octets()),
        Value::Ipv6(address) => out.extend(&address.octets()),
        Value::Null | Value::Unsigned(_) | Value::Signed(_) => {}
    }
}

/// Returns the first index of a byte, examining eight at a time: the text of keys is short, and
/// most of it contains no zero.
#[inline]
pub(super) fn position_of(bytes: &[u8], byte: u8) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let pattern = u64::from(byte) * ONES;
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let differing = u64::from_le_bytes(*word) ^ pattern;
        // The lowest set bit is in the first byte that is zero; higher ones may be wrong.
        let zeros = differing.wrapping_sub(ONES) & !differing & (ONES << 7);
        if zeros != 0 {
            return Some(8 * at + (zeros.trailing_zeros() / 8) as usize);
        }
    }
    rest.iter().position(|&other| other == byte).map(|at| 8 * words.len() + at)
}

#[inline]
fn end_of_text(key: &[u8], at: usize, flip: u8) -> Result<usize, KeyErrorKind> {
    let mut at = at;
    loop {
        let zero =
            key.get(at..).and_then(|rest| position_of(rest, flip)).ok_or(KeyErrorKind::Short)?;
        at += zero + 2;
        match key.get(at - 1).map(|byte| byte ^ flip) {
            Some(byte) if byte == END[1] => return Ok(at),
            Some(byte) if byte == ESCAPED_ZERO[1] => {}
            Some(_) => {
                return Err(KeyErrorKind::Malformed(
                    "text and bytes have 00 only before 01 (their end) or ff (a zero byte)",
                ));
            }
            None => return Err(KeyErrorKind::Short),
        }
    }
}

pub(super) fn flipped(bytes: &[u8], flip: u8) -> Cow<'_, [u8]> {
    if flip == 0 {
        Cow::Borrowed(bytes)
    } else {
        Cow::Owned(bytes.iter().map(|byte| !byte).collect())
    }
}

#[inline]
fn read_text(bytes: &[u8], flip: u8, raw: bool, ty: FieldType) -> Result<Value<'_>, KeyErrorKind> {
    if raw {
        return text_or_bytes(Cow::Borrowed(bytes), ty);
    }
    let bytes = bytes.get(..bytes.len().wrapping_sub(END.len())).ok_or(KeyErrorKind::Short)?;
    if position_of(bytes, flip).is_none() {
        return text_or_bytes(flipped(bytes, flip), ty);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().map(|byte| byte ^ flip);
    while let Some(byte) = rest.next() {
        plain.push(byte);
        // A zero is followed by its marker.
        if byte == 0 {
            rest.next();
        }
    }
    text_or_bytes(Cow::Owned(plain), ty)
}

#[inline]
pub(super) fn read_number(
    bytes: &[u8],
    flip: u8,
    ty: FieldType,
) -> Result<Value<'static>, KeyErrorKind> {
    let width = width_of(ty);
    let bits = match bytes.first_chunk::<8>() {
        Some(bytes) if width == 8 => u64::from_be_bytes(*bytes),
        _ => big_endian(bytes.get(..width).ok_or(KeyErrorKind::Short)?),
    };
    let unused = 64 - 8 * width;
    let bits = if flip == 0 { bits } else { !bits << unused >> unused };
    let sign = 1_u64 << (8 * width - 1);
    match ty {
        FieldType::Bool if bits > 1 => Err(KeyErrorKind::Malformed("a boolean is 00 or 01")),
        FieldType::Bool => Ok(Value::Bool(bits == 1)),
        FieldType::F32 | FieldType::F64 => {
            read_float(if bits & sign == 0 { !bits << unused >> unused } else { bits ^ sign }, ty)
        }
        FieldType::Ipv4 => Ok(Value::Ipv4(Ipv4Addr::from_bits(u32::try_from(bits).unwrap_or(0)))),
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64 => {
            Ok(Value::Unsigned(bits))
        }
        _ => Ok(Value::Signed(((bits ^ sign) << unused).cast_signed() >> unused)),
    }
}

fn read_float(bits: u64, ty: FieldType) -> Result<Value<'static>, KeyErrorKind> {
    let another_nan =
        Err(KeyErrorKind::Malformed("the bytes are a NaN that the encoding never makes"));
    if ty == FieldType::F32 {
        let bits = u32::try_from(bits).unwrap_or(0);
        let value = f32::from_bits(bits);
        return if value.is_nan() && bits != f32::NAN.to_bits() {
            another_nan
        } else {
            Ok(Value::F32(value))
        };
    }
    let value = f64::from_bits(bits);
    if value.is_nan() && bits != f64::NAN.to_bits() { another_nan } else { Ok(Value::F64(value)) }
}
