//! Profile TEXT: keys from a template, literals between values, as in
//! `{host}_{bucket(ts, 15m):10}_{metric}`.
//!
//! | value | text |
//! |---|---|
//! | integers, times, dates | decimal; with digits, zeros in front and nothing below zero |
//! | the same, descending | `i64::MAX` minus it in 19 digits; with fewer digits, as many nines minus it |
//! | salts | decimal, as many digits as the greatest salt has |
//! | hashes | hexadecimal |
//! | buckets, dictionary entries | decimal |
//! | `IPV4(..)` | eight hexadecimal digits |
//! | text, bytes, UUIDs, addresses, booleans | as they are written |
//! | null | nothing |
//!
//! A value without a width ends at the next literal that is followed by all subsequent segments of
//! a known width: in `{a}_{rev(ts):19}_{b}` `a` ends before the first `_` that 19 digits and
//! another `_` follow, so it may contain `_` itself. A key that would be decoded to other values is
//! rejected during encoding.

use std::borrow::Cow;

use regex::Regex;

use crate::error::{KeyError, KeyErrorKind};
use crate::schema::{FieldId, KeySchema, MAX_SEGMENTS, SegmentKind};
use crate::value::{FieldType, Value};

use super::KeyBuf;
use super::buffer::HEX_DIGITS;
use super::derived::KnownFields;
use super::resolver::{KeyResolver, NoResolver};
use super::slot::{Slot, big_endian, raw_bytes, text_or_bytes, wrong_type};

/// Digits of `i64::MAX`.
const LONG_DIGITS: u8 = 19;
/// Maximum digits of a number in a key; more than any type has, for keys padded by other programs.
const MAX_DIGITS: u8 = 38;
const UUID_BYTES: usize = 36;

const NOT_CANONICAL: KeyErrorKind =
    KeyErrorKind::Malformed("the text is not how this value is written in the key");

/// Checks that a segment is possible in this profile; returns the reason if not.
pub(super) fn check(schema: &KeySchema, at: usize) -> Result<(), String> {
    let segment = &schema.segments()[at];
    if let (SegmentKind::Salt { count, .. }, Some(digits)) = (&segment.kind, segment.digits) {
        let salt_digits = decimal_digits(u128::from(count.saturating_sub(1)));
        return if usize::from(digits) < salt_digits {
            Err(format!("salts up to {} have {salt_digits} digits, not {digits}", count - 1))
        } else {
            Ok(())
        };
    }
    let Some(slot) = schema.slot(at) else { return Ok(()) };
    let is_number = slot.is_number();
    if matches!(slot.stored, FieldType::F32 | FieldType::F64 | FieldType::Decimal) {
        return Err(
            "text keys have whole numbers only; declare an integer, in a smaller unit if need be"
                .into(),
        );
    }
    if slot.flip != 0 && !is_number {
        return Err("only numbers and times are descending in text; a profile of bytes has \
                    descending text too"
            .into());
    }
    match segment.digits {
        Some(_) if !is_number => {
            Err("digits are of numbers; text of a fixed width is CHAR(n)".into())
        }
        Some(digits) if digits > MAX_DIGITS => {
            Err(format!("a number has at most {MAX_DIGITS} digits, not {digits}"))
        }
        _ => Ok(()),
    }
}

/// Returns the patterns of the fields, compiled.
///
/// # Errors
/// The field whose pattern is not a regular expression.
pub(crate) fn patterns(schema: &KeySchema) -> Result<Vec<Option<Regex>>, String> {
    let compile = |pattern: &String| Regex::new(&format!(r"\A(?:{pattern})\z"));
    let compiled = schema.fields().iter().map(|field| {
        let wrong = |_| format!("the pattern of field {} is no regular expression", field.name);
        field.pattern.as_ref().map(compile).transpose().map_err(wrong)
    });
    compiled.collect()
}

impl Slot<'_> {
    /// Returns `true` if the segment is written as decimal digits.
    fn is_number(&self) -> bool {
        matches!(self.kind, SegmentKind::Dict { .. } | SegmentKind::Bucket { .. })
            || self.stored.integer_range().is_some()
    }
}

/// Returns the number of bytes of a segment with a fixed width.
fn width(schema: &KeySchema, at: usize) -> Option<usize> {
    let segment = schema.segments().get(at)?;
    let digits = segment.digits.map(usize::from);
    match &segment.kind {
        SegmentKind::Const(bytes) => return Some(bytes.len()),
        SegmentKind::Salt { count, .. } => {
            return digits.or(Some(decimal_digits(u128::from(count.saturating_sub(1)))));
        }
        SegmentKind::Hash { bytes, .. } => return digits.or(Some(2 * usize::from(*bytes))),
        _ if segment.nullable => return None,
        SegmentKind::Ipv4(_) => return Some(8),
        _ => {}
    }
    let slot = schema.slot(at)?;
    match slot.stored {
        _ if slot.is_number() => digits.or((slot.flip != 0).then_some(LONG_DIGITS.into())),
        FieldType::Char(bytes) => Some(bytes.into()),
        FieldType::Fixed(bytes) if slot.is_plain() => Some(bytes.into()),
        FieldType::Uuid => Some(UUID_BYTES),
        _ => None,
    }
}

/// Returns `true` if the texts sort as the values do.
pub(super) fn keeps_order(schema: &KeySchema, slot: &Slot<'_>) -> bool {
    let ends = width(schema, slot.segment).is_some()
        && !matches!(slot.stored, FieldType::Ipv4 | FieldType::Ipv6);
    ends || slot.last
        && !slot.nullable
        && matches!(slot.stored, FieldType::String | FieldType::Bytes)
}

/// Appends a field's segment.
pub(super) fn encode(
    schema: &KeySchema,
    slot: &Slot<'_>,
    value: &Value<'_>,
    helper: &dyn KeyResolver,
    out: &mut KeyBuf,
) -> Result<(), KeyErrorKind> {
    if value.is_null() {
        return if slot.nullable { Ok(()) } else { Err(KeyErrorKind::Null) };
    }
    if !slot.ty.accepts(value) {
        return Err(wrong_type(slot.ty, value));
    }
    if slot.nullable && raw_bytes(value).is_some_and(<[u8]>::is_empty) {
        return Err(KeyErrorKind::Unsupported(
            "in a text key null is nothing, so empty text cannot be told from it; give null",
        ));
    }
    check_pattern(schema, slot, value)?;
    let start = out.len();
    if matches!(slot.kind, SegmentKind::Reverse(_)) && slot.is_number() {
        push_value(slot, value, out)?;
        out[start..].reverse();
        return Ok(());
    }
    if let SegmentKind::Trunc { bytes, .. } = *slot.kind {
        let text = raw_bytes(value).unwrap_or_default();
        let shortened = &text[..shortened(text, bytes.into(), slot.ty)];
        if slot.nullable && shortened.is_empty() {
            return Err(KeyErrorKind::Unsupported(
                "nothing is left of this text, and in a text key nothing is null; truncate less",
            ));
        }
        out.extend(shortened);
        return Ok(());
    }
    let mut room = KeyBuf::new();
    let stored = slot.forward(value, helper, &mut room)?;
    match (slot.kind, &stored) {
        (SegmentKind::Dict { .. }, Value::Bytes(id)) => {
            push_number(big_endian(id).into(), slot, out)
        }
        (SegmentKind::Ipv4(_), Value::Ipv4(address)) => {
            out.extend_hex(&address.octets());
            Ok(())
        }
        _ => push_value(slot, &stored, out),
    }
}

/// Appends the common prefix of all values that begin with `prefix`.
pub(super) fn encode_prefix(prefix: &[u8], out: &mut KeyBuf) {
    out.extend(prefix);
}

fn push_value(slot: &Slot<'_>, stored: &Value<'_>, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    match stored {
        Value::Unsigned(number) => return push_number((*number).into(), slot, out),
        Value::Signed(number) => return push_number((*number).into(), slot, out),
        Value::Text(text) => out.extend(text.as_bytes()),
        Value::Bytes(bytes) => out.extend(bytes),
        Value::Bool(value) => out.extend(if *value { b"true" } else { b"false" }),
        Value::Uuid(bytes) => {
            for (at, group) in [(0, 4), (4, 6), (6, 8), (8, 10), (10, 16)].into_iter().enumerate() {
                out.extend(if at == 0 { b"" } else { b"-" });
                out.extend_hex(&bytes[group.0..group.1]);
            }
        }
        Value::Ipv4(address) => out.extend(address.to_string().as_bytes()),
        Value::Ipv6(address) => out.extend(address.to_string().as_bytes()),
        Value::Null | Value::F32(_) | Value::F64(_) | Value::Decimal(_) => {
            return Err(wrong_type(slot.ty, stored));
        }
    }
    Ok(())
}

/// Returns the number from which a descending number is subtracted.
fn minuend(digits: Option<u8>) -> i128 {
    match digits {
        Some(digits) if digits < LONG_DIGITS => 10_i128.pow(digits.into()) - 1,
        _ => i64::MAX.into(),
    }
}

fn push_number(number: i128, slot: &Slot<'_>, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    let digits =
        if slot.flip == 0 { slot.digits } else { Some(slot.digits.unwrap_or(LONG_DIGITS)) };
    if number < 0 && digits.is_some() {
        return Err(KeyErrorKind::Unsupported(
            "a number below zero (a time before 1970) does not sort among digits; a profile of \
             bytes has a place for it",
        ));
    }
    let written = if slot.flip == 0 { number } else { minuend(slot.digits) - number };
    if written < 0 && slot.flip != 0 {
        return Err(KeyErrorKind::TooWide {
            width: digits.unwrap_or(LONG_DIGITS).into(),
            found: decimal_digits(number.unsigned_abs()),
        });
    }
    push_digits(written, digits, out)
}

/// Appends a salt with as many digits as the greatest one.
pub(super) fn push_salt(schema: &KeySchema, at: usize, salt: u32, out: &mut KeyBuf) {
    let digits = width(schema, at).and_then(|digits| u8::try_from(digits).ok());
    // A schema with too few digits for its salts was rejected.
    _ = push_digits(salt.into(), digits, out);
}

/// Appends a decimal number, padded with zeros to the given digits.
fn push_digits(number: i128, digits: Option<u8>, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    let mut room = [b'0'; 40];
    let mut at = room.len();
    let mut rest = number.unsigned_abs();
    while rest > 0 || at == room.len() {
        at -= 1;
        room[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    let found = room.len() - at;
    let width = digits.map_or(found, usize::from);
    if found > width || width > room.len() {
        return Err(KeyErrorKind::TooWide { width, found });
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend(&room[room.len() - width..]);
    Ok(())
}

fn decimal_digits(number: u128) -> usize {
    number.checked_ilog10().map_or(1, |power| power as usize + 1)
}

/// Returns the number of bytes of text or bytes that fit in `most` bytes; for text, up to its last
/// complete character.
fn shortened(bytes: &[u8], most: usize, ty: FieldType) -> usize {
    let length = bytes.len().min(most);
    match str::from_utf8(&bytes[..length]) {
        Err(error) if ty.is_text() => error.valid_up_to(),
        _ => length,
    }
}

/// Returns the end of the segment that begins at `start`.
pub(super) fn end(
    schema: &KeySchema,
    at: usize,
    key: &[u8],
    start: usize,
) -> Result<usize, KeyErrorKind> {
    if let Some(width) = width(schema, at) {
        return match key.get(start..start + width) {
            None => Err(KeyErrorKind::Short),
            Some(bytes) if fits(schema, at, bytes) => Ok(start + width),
            Some(_) => Err(KeyErrorKind::Malformed(
                "there is another literal here, or something other than digits",
            )),
        };
    }
    match schema.segments().get(at + 1).map(|next| &next.kind) {
        _ if is_ambiguous(schema, at) => Err(KeyErrorKind::Ambiguous),
        None => Ok(key.len()),
        Some(_) => {
            let end = (start..key.len()).find(|&end| follows(schema, at + 1, key, end));
            end.ok_or(KeyErrorKind::Malformed(
                "the literal after this field, and what follows it, are not in the key",
            ))
        }
    }
}

/// Returns `true` if the end of a segment is undetermined: it has no width, is not the last, and no
/// literal follows it.
pub(super) fn is_ambiguous(schema: &KeySchema, at: usize) -> bool {
    let next = schema.segments().get(at + 1).map(|next| &next.kind);
    width(schema, at).is_none() && next.is_some_and(|next| !matches!(next, SegmentKind::Const(_)))
}

/// Returns `true` if all segments of a known width from `first` on match the key at `start`.
fn follows(schema: &KeySchema, first: usize, key: &[u8], start: usize) -> bool {
    let mut start = start;
    for at in first..schema.segments().len() {
        let Some(width) = width(schema, at) else { return true };
        let Some(bytes) = key.get(start..start + width) else { return false };
        if !fits(schema, at, bytes) {
            return false;
        }
        start += width;
    }
    start == key.len()
}

/// Returns `true` if bytes of a segment's width are valid for it: the literal, or digits if only
/// digits are possible.
fn fits(schema: &KeySchema, at: usize, bytes: &[u8]) -> bool {
    match &schema.segments()[at].kind {
        SegmentKind::Const(constant) => bytes == *constant,
        SegmentKind::Hash { .. } | SegmentKind::Ipv4(_) => {
            bytes.iter().all(|byte| HEX_DIGITS.contains(byte))
        }
        SegmentKind::Salt { .. } => bytes.iter().all(u8::is_ascii_digit),
        _ => {
            !schema.slot(at).is_some_and(|slot| slot.is_number())
                || bytes.iter().all(u8::is_ascii_digit)
        }
    }
}

/// Rejects a key whose segments would be decoded at other offsets than they were written.
/// Ambiguities of the schema in every key are not rejected here but during decoding.
pub(super) fn check_readable(
    schema: &KeySchema,
    key: &[u8],
    ends: &[u16; MAX_SEGMENTS],
) -> Result<(), KeyError> {
    let mut start = 0;
    for (at, &expected) in ends.iter().enumerate().take(schema.segments().len()) {
        let expected = usize::from(expected);
        match end(schema, at, key, start) {
            Ok(found) if found == expected => start = found,
            Err(KeyErrorKind::Ambiguous) => return Ok(()),
            _ => {
                return Err(KeyError::new(
                    at,
                    start,
                    KeyErrorKind::Delimiter(delimiter(schema, at)),
                ));
            }
        }
    }
    Ok(())
}

fn delimiter(schema: &KeySchema, at: usize) -> String {
    match schema.segments().get(at + 1).map(|next| &next.kind) {
        Some(SegmentKind::Const(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

/// Checks that text matches the declared pattern of its field.
fn check_pattern(
    schema: &KeySchema,
    slot: &Slot<'_>,
    value: &Value<'_>,
) -> Result<(), KeyErrorKind> {
    let (Some(text), Some(pattern)) = (raw_bytes(value), schema.pattern(slot.field)) else {
        return Ok(());
    };
    if str::from_utf8(text).is_ok_and(|text| pattern.is_match(text)) {
        return Ok(());
    }
    let field = &schema.fields()[slot.field];
    Err(KeyErrorKind::Pattern {
        field: field.name.clone(),
        pattern: field.pattern.clone().unwrap_or_default(),
    })
}

/// Returns the value of a field from its text.
pub(super) fn decode<'k>(
    schema: &KeySchema,
    slot: &Slot<'_>,
    bytes: &'k [u8],
    helper: &dyn KeyResolver,
) -> Result<Value<'k>, KeyErrorKind> {
    if slot.nullable && bytes.is_empty() {
        return Ok(Value::Null);
    }
    let value = read(slot, bytes, helper)?;
    if slot.kind.carries().is_some() {
        check_pattern(schema, slot, &value)?;
    }
    Ok(value)
}

fn read<'k>(
    slot: &Slot<'_>,
    bytes: &'k [u8],
    helper: &dyn KeyResolver,
) -> Result<Value<'k>, KeyErrorKind> {
    match *slot.kind {
        SegmentKind::Bucket { .. } => {
            slot.backward(read_number(slot, bytes, FieldType::U32)?, helper)
        }
        SegmentKind::Dict { bytes: width, .. } => {
            let Value::Unsigned(id) = read_number(slot, bytes, FieldType::U64)? else {
                return Err(NOT_CANONICAL);
            };
            let bytes = id.to_be_bytes();
            let (zeros, id) = bytes.split_at(bytes.len() - usize::from(width).min(bytes.len()));
            if zeros.iter().any(|&byte| byte != 0) {
                return Err(NOT_CANONICAL);
            }
            slot.backward(Value::Bytes(Cow::Borrowed(id)), helper).map(Value::into_owned)
        }
        SegmentKind::Trunc { bytes: most, .. } if bytes.len() > usize::from(most) => {
            Err(NOT_CANONICAL)
        }
        SegmentKind::Trunc { .. } => text_or_bytes(Cow::Borrowed(bytes), slot.ty),
        SegmentKind::Ipv4(_) => slot.backward(Value::Ipv4(read_hex::<4>(bytes)?.into()), helper),
        SegmentKind::Reverse(_) if slot.is_number() => {
            let mut digits = KeyBuf::from(bytes);
            digits.reverse();
            read_number(slot, &digits, slot.ty)
        }
        SegmentKind::Plain(_) => read_plain(slot, bytes),
        _ => slot.backward(read_plain(slot, bytes)?, helper),
    }
}

fn read_plain<'k>(slot: &Slot<'_>, bytes: &'k [u8]) -> Result<Value<'k>, KeyErrorKind> {
    let text = || str::from_utf8(bytes).map_err(|_| KeyErrorKind::NotUtf8);
    match slot.stored {
        ty if ty.integer_range().is_some() => read_number(slot, bytes, ty),
        FieldType::Bool => match bytes {
            b"true" => Ok(Value::Bool(true)),
            b"false" => Ok(Value::Bool(false)),
            _ => Err(NOT_CANONICAL),
        },
        FieldType::Uuid => {
            let (mut digits, mut again) = (KeyBuf::new(), KeyBuf::new());
            bytes.iter().filter(|&&byte| byte != b'-').for_each(|&byte| digits.push(byte));
            let value = Value::Uuid(read_hex::<16>(&digits)?);
            push_value(slot, &value, &mut again)?;
            if *again == *bytes { Ok(value) } else { Err(NOT_CANONICAL) }
        }
        FieldType::Ipv4 => text()?.parse().map(Value::Ipv4).map_err(|_| NOT_CANONICAL),
        FieldType::Ipv6 => {
            let address: std::net::Ipv6Addr = text()?.parse().map_err(|_| NOT_CANONICAL)?;
            if address.to_string().as_bytes() == bytes {
                Ok(Value::Ipv6(address))
            } else {
                Err(NOT_CANONICAL)
            }
        }
        ty => {
            let value = text_or_bytes(Cow::Borrowed(bytes), ty)?;
            if ty.accepts(&value) { Ok(value) } else { Err(NOT_CANONICAL) }
        }
    }
}

fn read_hex<const BYTES: usize>(digits: &[u8]) -> Result<[u8; BYTES], KeyErrorKind> {
    let mut bytes = [0; BYTES];
    if digits.len() != 2 * BYTES || !digits.iter().all(|digit| HEX_DIGITS.contains(digit)) {
        return Err(NOT_CANONICAL);
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| {
            HEX_DIGITS
                .iter()
                .position(|expected| *expected == pair[at])
                .and_then(|digit| u8::try_from(digit).ok())
        };
        *byte = digit(0).zip(digit(1)).map(|(high, low)| (high << 4) | low).ok_or(NOT_CANONICAL)?;
    }
    Ok(bytes)
}

fn read_number(
    slot: &Slot<'_>,
    bytes: &[u8],
    ty: FieldType,
) -> Result<Value<'static>, KeyErrorKind> {
    let digits =
        if slot.flip == 0 { slot.digits } else { Some(slot.digits.unwrap_or(LONG_DIGITS)) };
    let (negative, figures) = match bytes.strip_prefix(b"-") {
        Some(rest) if digits.is_none() => (true, rest),
        _ => (false, bytes),
    };
    let padded = match digits {
        Some(digits) => figures.len() == usize::from(digits),
        None => figures.first() != Some(&b'0') || figures.len() == 1 && !negative,
    };
    if !padded
        || figures.is_empty()
        || figures.len() > usize::from(MAX_DIGITS)
        || !figures.iter().all(u8::is_ascii_digit)
    {
        return Err(NOT_CANONICAL);
    }
    let number =
        figures.iter().fold(0_i128, |number, figure| number * 10 + i128::from(figure - b'0'));
    let number = if negative { -number } else { number };
    let number = if slot.flip == 0 { number } else { minuend(slot.digits) - number };
    let is_signed = ty.integer_range().is_some_and(|(least, _)| least < 0);
    let value = if is_signed {
        i64::try_from(number).ok().map(Value::Signed)
    } else {
        u64::try_from(number).ok().map(Value::Unsigned)
    };
    let in_range = |value: &Value<'_>| ty.accepts(value) && (digits.is_none() || number >= 0);
    value
        .filter(in_range)
        .ok_or(KeyErrorKind::Malformed("the number lies outside the range of its field"))
}

/// Appends the input of a salt or a hash: the named fields (all, if none is named) as they are in
/// the key and in its order, with the literal between two adjacent ones. Fields that only hashes
/// contain come first. Returns `false` if one of them is unknown.
pub(super) fn push_input<K: KnownFields + ?Sized>(
    schema: &KeySchema,
    by: &[FieldId],
    known: &K,
    out: &mut KeyBuf,
) -> Result<bool, KeyErrorKind> {
    let named = |field: FieldId| by.is_empty() || by.contains(&field);
    let carried = |at: usize| {
        schema
            .segments()
            .get(at)
            .and_then(|segment| segment.kind.carries())
            .filter(|&field| named(field))
    };
    for field in
        (0..schema.fields().len()).filter(|&field| named(field) && schema.carrier(field).is_none())
    {
        let Some(value) = known.known(field) else { return Ok(false) };
        push_unheld(schema.fields()[field].ty, value, out)?;
    }
    for at in 0..schema.segments().len() {
        if let Some(field) = carried(at) {
            let (Some(slot), Some(value)) = (schema.slot(at), known.known(field)) else {
                return Ok(false);
            };
            encode(schema, &slot, value, &NoResolver, out)?;
        } else if let SegmentKind::Const(literal) = &schema.segments()[at].kind
            && at.checked_sub(1).and_then(carried).is_some()
            && carried(at + 1).is_some()
        {
            out.extend(literal);
        }
    }
    Ok(true)
}

/// Returns a field that only hashes, buckets or truncations contain, as it would be written.
fn push_unheld(ty: FieldType, value: &Value<'_>, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    push_value(&Slot::alone(ty), value, out)
}
