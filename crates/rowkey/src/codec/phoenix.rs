//! Profile PHOENIX: the row keys of Apache Phoenix's tables.
//!
//! | type | Phoenix's | bytes, ascending |
//! |---|---|---|
//! | I8, I16, I32, I64 | `TINYINT` to `BIGINT` | as in BIN |
//! | TIMESTAMP | `DATE`, `TIME` | eight bytes as in BIN |
//! | TIMESTAMP(ns) | `TIMESTAMP` | milliseconds as those, then the nanoseconds within one in four |
//! | U8 to U64 | `UNSIGNED_..` | big-endian, up to the greatest signed number |
//! | F32, F64 | `FLOAT`, `DOUBLE` | as in BIN, plus one |
//! | BOOL, `CHAR(n)`, `BYTES(n)` | `BOOLEAN`, `CHAR(n)`, `BINARY(n)` | as they are |
//! | DECIMAL | `DECIMAL` | exponent, then base 100 without zero bytes |
//! | STRING, BYTES in the last place | `VARCHAR`, `VARBINARY` | as they are |
//!
//! Fields without a fixed length are followed by a separator: `00`, or `ff` after a descending one.
//! Null is empty, followed by its `00`; empty text is null. The last field has no `00`, and nulls
//! at the end are omitted with their separators. Therefore a `00` before an omissible segment
//! belongs to that segment here, not to the field before it. The salt is one byte, computed from
//! all bytes after it. Source: `PTableImpl.newKey`, `PDataType` and `SaltingUtil` of Phoenix 5.2.

use crate::error::KeyErrorKind;
use crate::schema::{HashFunction, KeySchema, Profile, SegmentKind};
use crate::value::{Decimal, FieldType, TimeUnit, Value};

use super::slot::{Slot, text_or_bytes};
use super::{KeyBuf, bin, numeric};

const SEPARATOR: u8 = 0;
const DESC_SEPARATOR: u8 = 0xff;
const NANOS_PER_MILLI: i64 = 1_000_000;
/// Bytes of Phoenix's `TIMESTAMP`.
const NANOS_BYTES: usize = 12;

/// Checks that a segment is possible in this profile; returns the reason if not.
pub(super) fn check(schema: &KeySchema, at: usize) -> Result<(), String> {
    if let SegmentKind::Salt { by, .. } = &schema.segments()[at].kind {
        let message = "Phoenix has one salt, first in the key and computed from all of it: SALT(n \
                       USING phoenix) without BY";
        return if by.is_empty() && at == 0 { Ok(()) } else { Err(message.into()) };
    }
    let Some(slot) = schema.slot(at) else { return Ok(()) };
    let unknown = match slot.stored {
        FieldType::Uuid | FieldType::Ipv6 => Some("declare BYTES(16), Phoenix's BINARY(16)"),
        FieldType::Ipv4 if slot.is_plain() => Some("declare BYTES(4), Phoenix's BINARY(4)"),
        FieldType::Date => Some("declare TIMESTAMP: Phoenix's DATE counts milliseconds"),
        FieldType::Timestamp(TimeUnit::Micros) => Some("declare TIMESTAMP or TIMESTAMP(ns)"),
        FieldType::Bytes if slot.flip != 0 => {
            Some("Phoenix has no descending VARBINARY; leave DESC out, or declare BYTES(n)")
        }
        FieldType::Bytes if !slot.last => {
            Some("Phoenix has VARBINARY only at the end of a key; declare BYTES(n), or STRING")
        }
        _ => None,
    };
    match unknown {
        Some(fix) => Err(format!("Phoenix has no {} here; {fix}", slot.stored)),
        None if slot.nullable && slot.width().is_some() => {
            Err("in Phoenix's keys only fields of variable length are null; leave NULLABLE out"
                .into())
        }
        None => Ok(()),
    }
}

impl KeySchema {
    /// Returns `true` if the salt of a segment is computed from the bytes after it.
    pub(super) fn is_phoenix_salt(&self, at: usize) -> bool {
        let function = |kind: &SegmentKind| {
            matches!(kind, SegmentKind::Salt { function: HashFunction::Phoenix, .. })
        };
        self.profile() == Profile::Phoenix
            && self.segments().get(at).is_some_and(|segment| function(&segment.kind))
    }
}

/// Separators that belong to a segment.
#[derive(Clone, Copy)]
struct Separators {
    /// A `00` before the segment: it ends the previous field, and is present only if this segment
    /// is.
    before: bool,
    /// A `00` after ascending values and nulls.
    after: bool,
}

fn separators(schema: &KeySchema, slot: &Slot<'_>) -> Separators {
    let left_out = |at: usize| schema.may_be_left_out(at);
    let before = slot.segment.checked_sub(1).and_then(|before| schema.slot(before));
    let ascends_without_end =
        before.is_some_and(|before| before.flip == 0 && before.width().is_none());
    Separators {
        before: ascends_without_end && left_out(slot.segment),
        after: slot.width().is_none() && !slot.last && !left_out(slot.segment + 1),
    }
}

/// Appends the stored value of a segment.
pub(super) fn encode(
    schema: &KeySchema,
    slot: &Slot<'_>,
    stored: &Value<'_>,
    out: &mut KeyBuf,
) -> Result<(), KeyErrorKind> {
    let separators = separators(schema, slot);
    if separators.before {
        out.push(SEPARATOR);
    }
    let is_null = stored.is_null();
    if is_null && !slot.nullable {
        return Err(KeyErrorKind::Null);
    }
    let start = out.len();
    if !is_null {
        push_body(slot, stored, out)?;
        out[start..].iter_mut().for_each(|byte| *byte ^= slot.flip);
    }
    match slot.flip {
        // A null within a key is followed by another segment; otherwise it would have been omitted.
        _ if slot.width().is_some() => {}
        0 if separators.after => out.push(SEPARATOR),
        0 => {}
        _ => out.push(if is_null { SEPARATOR } else { DESC_SEPARATOR }),
    }
    Ok(())
}

/// Appends the common prefix of all text that begins with `prefix`.
pub(super) fn encode_prefix(
    schema: &KeySchema,
    slot: &Slot<'_>,
    prefix: &[u8],
    out: &mut KeyBuf,
) -> Result<(), KeyErrorKind> {
    refuse_separator(slot, prefix)?;
    if separators(schema, slot).before {
        out.push(SEPARATOR);
    }
    out.extend(prefix);
    Ok(())
}

/// Returns the end of the segment that begins at `start`, including its separators.
pub(super) fn end(
    schema: &KeySchema,
    slot: &Slot<'_>,
    key: &[u8],
    start: usize,
) -> Result<usize, KeyErrorKind> {
    const LEFT_OUT: KeyErrorKind = KeyErrorKind::Malformed(
        "Phoenix leaves nulls at the end of a key out, with their separators",
    );
    let separators = separators(schema, slot);
    if start == key.len() {
        let nothing_before = start == usize::from(schema.is_phoenix_salt(0));
        return if schema.may_be_left_out(slot.segment) && !nothing_before {
            Ok(start)
        } else {
            Err(KeyErrorKind::Short)
        };
    }
    let body = start + usize::from(separators.before);
    if separators.before && key[start] != SEPARATOR {
        return Err(KeyErrorKind::Malformed("the separator before this field is missing"));
    }
    if let Some(width) = slot.width() {
        return if key.len() - body >= width { Ok(body + width) } else { Err(KeyErrorKind::Short) };
    }
    let rest = &key[body..];
    if slot.last {
        return match rest {
            [_, ..] if slot.flip == 0 => Ok(key.len()),
            [text @ .., _] if text.contains(&slot.flip) => {
                Err(KeyErrorKind::Malformed("the text contains a zero byte"))
            }
            [_, .., DESC_SEPARATOR] => Ok(key.len()),
            _ => Err(LEFT_OUT),
        };
    }
    let is_null = rest.first() == Some(&SEPARATOR);
    if is_null && !slot.nullable || rest.first() == Some(&slot.flip) && slot.flip != 0 {
        return Err(KeyErrorKind::Malformed("a field is empty that is not NULLABLE"));
    }
    match (slot.flip, rest.iter().position(|&byte| byte == slot.flip)) {
        (0, Some(length)) => Ok(body + length + usize::from(separators.after)),
        (0, None) if separators.after => Err(KeyErrorKind::Short),
        (0, None) if rest.is_empty() => Err(LEFT_OUT),
        (0, None) => Ok(key.len()),
        _ if is_null && rest.len() == 1 => Err(LEFT_OUT),
        _ if is_null => Ok(body + 1),
        (_, Some(length)) => Ok(body + length + 1),
        (_, None) => Err(KeyErrorKind::Short),
    }
}

/// Decodes the stored value from the bytes of a segment, as delimited by [`end`].
pub(super) fn decode<'k>(
    schema: &KeySchema,
    slot: &Slot<'_>,
    bytes: &'k [u8],
) -> Result<Value<'k>, KeyErrorKind> {
    let separators = separators(schema, slot);
    let body = bytes.get(usize::from(separators.before)..).unwrap_or_default();
    if slot.width().is_some() {
        return read_fixed(slot, body);
    }
    let body = if separators.after || slot.flip != 0 {
        body.split_last().map_or(body, |(_, body)| body)
    } else {
        body
    };
    if body.is_empty() {
        return if slot.nullable {
            Ok(Value::Null)
        } else {
            Err(KeyErrorKind::Malformed("a field is empty that is not NULLABLE"))
        };
    }
    match slot.stored {
        FieldType::Decimal => read_decimal(body, slot.flip).map(Value::Decimal),
        stored => text_or_bytes(bin::flipped(body, slot.flip), stored),
    }
}

impl Slot<'_> {
    /// Returns the number of bytes of the value; `None` for values that end with a separator.
    fn width(&self) -> Option<usize> {
        if self.stored == FieldType::Timestamp(TimeUnit::Nanos) {
            Some(NANOS_BYTES)
        } else {
            self.stored.fixed_bytes()
        }
    }
}

fn refuse_separator(slot: &Slot<'_>, bytes: &[u8]) -> Result<(), KeyErrorKind> {
    let ends_by_it = slot.width().is_none() && !(slot.last && slot.flip == 0);
    if ends_by_it && bytes.contains(&SEPARATOR) {
        Err(KeyErrorKind::Delimiter("\0".into()))
    } else {
        Ok(())
    }
}

fn push_body(slot: &Slot<'_>, stored: &Value<'_>, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    match (slot.stored, stored) {
        (FieldType::String, Value::Text(text)) => push_text(slot, text.as_bytes(), out),
        (FieldType::Bytes, Value::Bytes(bytes)) => push_text(slot, bytes, out),
        (FieldType::Decimal, Value::Decimal(number)) => push_decimal(*number, out),
        (FieldType::Timestamp(TimeUnit::Nanos), Value::Signed(nanos)) => {
            bin::ascending(
                FieldType::I64,
                false,
                false,
                &Value::Signed(nanos.div_euclid(NANOS_PER_MILLI)),
                out,
            )?;
            out.extend(
                &u32::try_from(nanos.rem_euclid(NANOS_PER_MILLI)).unwrap_or(0).to_be_bytes(),
            );
            Ok(())
        }
        (FieldType::F32 | FieldType::F64, _) => push_float(slot.stored, stored, out),
        (
            ty @ (FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64),
            Value::Unsigned(_),
        ) => {
            let start = out.len();
            bin::ascending(ty, false, false, stored, out)?;
            if slot.is_plain() && out[start] >= 0x80 {
                return Err(KeyErrorKind::Unsupported(
                    "Phoenix's unsigned types hold no more than the signed ones: half the range; \
                     declare a wider type",
                ));
            }
            Ok(())
        }
        (ty, _) => bin::ascending(ty, false, false, stored, out),
    }
}

fn push_text(slot: &Slot<'_>, bytes: &[u8], out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    if bytes.is_empty() {
        return Err(KeyErrorKind::Unsupported(
            "for Phoenix empty text is null; give null, in a field that is NULLABLE",
        ));
    }
    refuse_separator(slot, bytes)?;
    out.extend(bytes);
    Ok(())
}

/// Appends a float, which is one more than in BIN.
fn push_float(ty: FieldType, stored: &Value<'_>, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    let start = out.len();
    bin::ascending(ty, false, false, stored, out)?;
    for byte in out[start..].iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    Ok(())
}

fn read_fixed<'k>(slot: &Slot<'_>, body: &'k [u8]) -> Result<Value<'k>, KeyErrorKind> {
    match slot.stored {
        FieldType::Timestamp(TimeUnit::Nanos) => {
            let (millis, nanos) = body.split_at_checked(8).ok_or(KeyErrorKind::Short)?;
            let Value::Signed(millis) = bin::read_number(millis, slot.flip, FieldType::I64)? else {
                return Err(KeyErrorKind::Short);
            };
            let Value::Unsigned(nanos) = bin::read_number(nanos, slot.flip, FieldType::U32)? else {
                return Err(KeyErrorKind::Short);
            };
            let nanos = i64::try_from(nanos).ok().filter(|&nanos| nanos < NANOS_PER_MILLI);
            let all = nanos.and_then(|nanos| {
                i64::try_from(i128::from(millis) * i128::from(NANOS_PER_MILLI) + i128::from(nanos))
                    .ok()
            });
            all.map(Value::Signed)
                .ok_or(KeyErrorKind::Malformed("the time lies outside the nanoseconds of 64 bits"))
        }
        FieldType::F32 | FieldType::F64 => {
            let mut bytes = KeyBuf::from(body);
            bytes.iter_mut().for_each(|byte| *byte ^= slot.flip);
            for byte in bytes.iter_mut().rev() {
                *byte = byte.wrapping_sub(1);
                if *byte != 0xff {
                    break;
                }
            }
            bin::read_number(&bytes, 0, slot.stored)
        }
        FieldType::U8 | FieldType::U16 | FieldType::U32 | FieldType::U64
            if slot.is_plain() && (body[0] ^ slot.flip) >= 0x80 =>
        {
            Err(KeyErrorKind::Malformed(
                "Phoenix's unsigned types hold no more than the signed ones",
            ))
        }
        FieldType::Char(_) | FieldType::Fixed(_) => {
            text_or_bytes(bin::flipped(body, slot.flip), slot.stored)
        }
        stored => bin::read_number(body, slot.flip, stored),
    }
}

const DECIMAL_ZERO: u8 = 0x80;
/// Offset added to the power of 100 of the first pair of digits.
const EXPONENT_OFFSET: i64 = 65;
/// Powers of 100 that fit in the exponent's byte without making it a separator.
const EXPONENTS: std::ops::RangeInclusive<i64> = -EXPONENT_OFFSET..=61;
const POSITIVE_OFFSET: u8 = 1;
const NEGATIVE_OFFSET: u8 = 101;
const NEGATIVE_END: u8 = 102;

fn push_decimal(number: Decimal, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    if number.coefficient() == 0 {
        out.push(DECIMAL_ZERO);
        return Ok(());
    }
    let exponent = numeric::pairs_before_point(number) - 1;
    if !EXPONENTS.contains(&exponent) {
        return Err(KeyErrorKind::Unsupported(
            "Phoenix's DECIMAL holds numbers from 1E-130 to 1E124",
        ));
    }
    let exponent = u8::try_from(exponent + EXPONENT_OFFSET).unwrap_or(0);
    let negative = number.coefficient() < 0;
    out.push(if negative { 0x7f - exponent } else { 0x80 | exponent });
    let (pairs, count) = numeric::digit_pairs(number);
    for pair in &pairs[..count] {
        out.push(if negative { NEGATIVE_OFFSET - pair } else { POSITIVE_OFFSET + pair });
    }
    if negative {
        out.push(NEGATIVE_END);
    }
    Ok(())
}

fn read_decimal(body: &[u8], flip: u8) -> Result<Decimal, KeyErrorKind> {
    const BAD: KeyErrorKind =
        KeyErrorKind::Malformed("the bytes are no decimal number as Phoenix encodes them");
    let first = body.first().ok_or(KeyErrorKind::Short)? ^ flip;
    if body.len() == 1 && first == DECIMAL_ZERO {
        return Decimal::new(0, 0).ok_or(BAD);
    }
    let negative = first < 0x80;
    let exponent = i64::from(if negative { 0x7f - first } else { first & 0x7f }) - EXPONENT_OFFSET;
    let digits =
        if negative { body.get(1..body.len() - 1) } else { body.get(1..) }.unwrap_or_default();
    if digits.is_empty() || digits.len() > numeric::MAX_PAIRS {
        return Err(BAD);
    }
    let mut coefficient: i128 = 0;
    for byte in digits {
        let byte = byte ^ flip;
        let pair = if negative {
            NEGATIVE_OFFSET.checked_sub(byte)
        } else {
            byte.checked_sub(POSITIVE_OFFSET)
        };
        coefficient = coefficient * 100 + i128::from(pair.filter(|&pair| pair < 100).ok_or(BAD)?);
    }
    let power = 2 * (exponent + 1 - i64::try_from(digits.len()).map_err(|_| BAD)?);
    let number = Decimal::new(
        if negative { -coefficient } else { coefficient },
        i32::try_from(power).map_err(|_| BAD)?,
    )
    .ok_or(BAD)?;
    let mut again = KeyBuf::new();
    push_decimal(number, &mut again)?;
    let same = again.iter().copied().eq(body.iter().map(|byte| byte ^ flip));
    if same { Ok(number) } else { Err(BAD) }
}
