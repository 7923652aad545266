//! Profile ORDERED: the bytes of HBase's `OrderedBytes`, assembled as its `Struct` does.
//!
//! | type | header | body, ascending |
//! |---|---|---|
//! | I8, I16, I32 (DATE), I64 (TIMESTAMP) | 29, 2a, 2b, 2c | big-endian, sign bit inverted |
//! | F32, F64 | 30, 31 | as in BIN |
//! | DECIMAL | 07 to 23 | `numeric.rs` |
//! | STRING | 34 | UTF-8 without zeros, end `00` |
//! | BYTES | 37 | seven bits in each byte, the top bit set in all but the last (`OrderedBlobVar`) |
//! | BYTES in the last, ascending place | 38 | as they are (`OrderedBlob`) |
//! | null of DECIMAL, STRING, BYTES | 05 | |
//!
//! Descending inverts all bits, including the header's. Nulls at the end of a key are omitted. With
//! them a descending field sorts wrongly (null sorts before every value), so such a schema is
//! rejected unless it is declared `COMPAT`. The other form that HBase accepts and cannot decode,
//! raw text before the last field, cannot be declared at all. Nor do bytes of `OrderedBlobVar` sort
//! as their values do: `01` is `37 80 40`, which comes before `37 80 80 00` for `00 00`. They are
//! rejected unless declared `COMPAT` too.
//!
//! Salts, hashes and values that transforms store in another type have no header: for HBase they
//! are raw bytes of a fixed length. Source: `OrderedBytes` and `Struct` of HBase 2.6; checked
//! against their output.

use std::borrow::Cow;

use crate::error::KeyErrorKind;
use crate::schema::{KeySchema, Profile, SegmentKind};
use crate::value::{FieldType, Value};

use super::slot::{Slot, text_or_bytes, wrong_type};
use super::{KeyBuf, bin, numeric};

const NULL: u8 = 0x05;
const TEXT: u8 = 0x34;
const BLOB_VAR: u8 = 0x37;
const BLOB_COPY: u8 = 0x38;
const END: u8 = 0;

/// Checks that a segment is possible in this profile; returns the reason if not.
pub(super) fn check(schema: &KeySchema, at: usize) -> Result<(), String> {
    let Some(slot) = schema.slot(at) else { return Ok(()) };
    if !slot.is_tagged() {
        let raw = "this is raw bytes for HBase's Struct, which have no null; leave NULLABLE out";
        return if slot.nullable { Err(raw.into()) } else { Ok(()) };
    }
    let is_wide = matches!(slot.stored, FieldType::Decimal | FieldType::String | FieldType::Bytes);
    if header(slot.stored).is_none() && !is_wide {
        return Err(format!(
            "HBase's OrderedBytes have no type for {}; declare I8 to I64, F32, F64, DECIMAL, \
             STRING or BYTES",
            slot.stored
        ));
    }
    if slot.nullable && !is_wide {
        return Err(format!(
            "HBase's ordered type for {} has no null; DECIMAL has one, or leave NULLABLE out",
            slot.stored
        ));
    }
    let compat = matches!(schema.profile(), Profile::Ordered { compat: true });
    if slot.is_blob_var() && !compat {
        return Err("BYTES anywhere but in the last, ascending place do not sort in HBase's \
                    OrderedBlobVar (01 comes before 00 00); put them there, or declare COMPAT to \
                    read keys that are there already"
            .into());
    }
    if slot.flip != 0 && schema.may_be_left_out(at) && !compat {
        return Err(
            "HBase leaves nulls at the end of a key out, and then a descending null sorts first \
             instead of last; put a field that is not NULLABLE after it, or declare COMPAT to read \
             keys that are there already"
                .into(),
        );
    }
    Ok(())
}

/// Appends the stored value of a segment.
pub(super) fn encode(
    slot: &Slot<'_>,
    stored: &Value<'_>,
    out: &mut KeyBuf,
) -> Result<(), KeyErrorKind> {
    if !slot.is_tagged() {
        return bin::encode(slot, stored, out);
    }
    let start = out.len();
    match (slot.stored, stored) {
        (_, Value::Null) if slot.nullable => out.push(NULL),
        (FieldType::Decimal, Value::Decimal(number)) => numeric::encode(*number, out),
        (FieldType::String, Value::Text(text)) => push_text(text, out)?,
        (FieldType::Bytes, Value::Bytes(bytes)) if slot.is_blob_var() => push_blob(bytes, out),
        (FieldType::Bytes, Value::Bytes(bytes)) => {
            out.push(BLOB_COPY);
            out.extend(bytes);
        }
        (ty, _) => {
            out.push(header(ty).ok_or_else(|| wrong_type(ty, stored))?);
            bin::ascending(ty, false, false, stored, out)?;
        }
    }
    if slot.flip != 0 {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

/// Appends the common prefix of all text that begins with `prefix`.
pub(super) fn encode_prefix(
    slot: &Slot<'_>,
    prefix: &[u8],
    out: &mut KeyBuf,
) -> Result<(), KeyErrorKind> {
    match slot.stored {
        FieldType::String => {
            refuse_zero(prefix)?;
            out.push(TEXT);
        }
        FieldType::Bytes if !slot.is_blob_var() => out.push(BLOB_COPY),
        _ => {
            return Err(KeyErrorKind::Unsupported(
                "the bytes of this field do not begin alike when its values do",
            ));
        }
    }
    out.extend(prefix);
    Ok(())
}

/// Returns the end of the segment that begins at `start`. `left_out`: nulls from here on may be
/// missing.
pub(super) fn end(
    slot: &Slot<'_>,
    key: &[u8],
    start: usize,
    left_out: bool,
) -> Result<usize, KeyErrorKind> {
    if !slot.is_tagged() {
        return bin::end(slot, key, start);
    }
    let Some(first) = key.get(start) else {
        return if left_out { Ok(start) } else { Err(KeyErrorKind::Short) };
    };
    let first = first ^ slot.flip;
    if first == NULL && slot.nullable {
        let explicit = left_out && start + 1 == key.len();
        return if explicit {
            Err(KeyErrorKind::Malformed("HBase leaves nulls at the end of a key out"))
        } else {
            Ok(start + 1)
        };
    }
    if slot.stored == FieldType::Decimal {
        return numeric::end(key, start, slot.flip);
    }
    if Some(first) != header(slot.stored).or(slot.wide_header()) {
        return Err(KeyErrorKind::Malformed("the header here is missing or of another type"));
    }
    let rest = &key[start + 1..];
    let behind = |is_end: &dyn Fn(u8) -> bool| {
        let at =
            rest.iter().position(|byte| is_end(byte ^ slot.flip)).ok_or(KeyErrorKind::Short)?;
        Ok(start + 1 + at + 1)
    };
    match (first, slot.stored.fixed_bytes()) {
        (_, Some(bytes)) if rest.len() >= bytes => Ok(start + 1 + bytes),
        (_, Some(_)) => Err(KeyErrorKind::Short),
        (TEXT, _) => behind(&|byte| byte == END),
        (BLOB_VAR, _) => behind(&|byte| byte & 0x80 == 0),
        _ => Ok(key.len()),
    }
}

/// Decodes the stored value from the bytes of a segment, as delimited by [`end`].
pub(super) fn decode<'k>(slot: &Slot<'_>, bytes: &'k [u8]) -> Result<Value<'k>, KeyErrorKind> {
    if !slot.is_tagged() {
        return bin::decode(slot, bytes);
    }
    let flip = slot.flip;
    let (first, body) = match bytes {
        [] => return Ok(Value::Null),
        [first, body @ ..] => (first ^ flip, body),
    };
    match slot.stored {
        _ if first == NULL && slot.nullable => Ok(Value::Null),
        FieldType::Decimal => numeric::decode(bytes, flip).map(Value::Decimal),
        FieldType::String => {
            let text = body.split_last().map_or(body, |(_, text)| text);
            text_or_bytes(bin::flipped(text, flip), FieldType::String)
        }
        FieldType::Bytes if first == BLOB_COPY => Ok(Value::Bytes(Cow::Borrowed(body))),
        FieldType::Bytes => read_blob(body, flip).map(|bytes| Value::Bytes(bytes.into())),
        ty => bin::read_number(body, flip, ty),
    }
}

impl Slot<'_> {
    /// Returns `true` if the bytes are one of HBase's ordered types, and not the raw bytes of a
    /// transform.
    fn is_tagged(&self) -> bool {
        matches!(
            self.kind,
            SegmentKind::Plain(_) | SegmentKind::Reverse(_) | SegmentKind::BitReverse(_)
        )
    }

    pub(super) fn is_blob_var(&self) -> bool {
        self.stored == FieldType::Bytes && !self.is_raw()
    }

    fn wide_header(&self) -> Option<u8> {
        match self.stored {
            FieldType::String => Some(TEXT),
            FieldType::Bytes => Some(if self.is_blob_var() { BLOB_VAR } else { BLOB_COPY }),
            _ => None,
        }
    }
}

/// Returns the header of a type with a fixed width.
fn header(ty: FieldType) -> Option<u8> {
    Some(match ty {
        FieldType::I8 => 0x29,
        FieldType::I16 => 0x2a,
        FieldType::I32 | FieldType::Date => 0x2b,
        FieldType::I64 | FieldType::Timestamp(_) => 0x2c,
        FieldType::F32 => 0x30,
        FieldType::F64 => 0x31,
        _ => return None,
    })
}

fn refuse_zero(text: &[u8]) -> Result<(), KeyErrorKind> {
    if text.contains(&END) { Err(KeyErrorKind::Delimiter("\0".into())) } else { Ok(()) }
}

fn push_text(text: &str, out: &mut KeyBuf) -> Result<(), KeyErrorKind> {
    refuse_zero(text.as_bytes())?;
    out.push(TEXT);
    out.extend(text.as_bytes());
    out.push(END);
    Ok(())
}

/// Appends seven bits in each byte.
fn push_blob(bytes: &[u8], out: &mut KeyBuf) {
    out.push(BLOB_VAR);
    // Bits not written yet, at most seven, at the low end.
    let mut waiting: u16 = 0;
    let mut count = 0;
    for &byte in bytes {
        waiting = (waiting << 8) | u16::from(byte);
        count += 8;
        while count >= 7 {
            count -= 7;
            out.push(0x80 | (waiting >> count).to_le_bytes()[0]);
            waiting &= (1 << count) - 1;
        }
    }
    if count > 0 || bytes.is_empty() {
        out.push((waiting << (7 - count)).to_le_bytes()[0]);
    } else if let Some(last) = out.last_mut() {
        *last &= 0x7f;
    }
}

fn read_blob(body: &[u8], flip: u8) -> Result<Vec<u8>, KeyErrorKind> {
    let mut bytes = Vec::with_capacity(body.len() * 7 / 8);
    let mut waiting: u16 = 0;
    let mut count = 0;
    for byte in body {
        waiting = (waiting << 7) | u16::from((byte ^ flip) & 0x7f);
        count += 7;
        if count >= 8 {
            count -= 8;
            bytes.push((waiting >> count).to_le_bytes()[0]);
            waiting &= (1 << count) - 1;
        }
    }
    let groups = (bytes.len() * 8).div_ceil(7).max(1);
    if waiting == 0 && groups == body.len() {
        Ok(bytes)
    } else {
        Err(KeyErrorKind::Malformed("the bytes are no blob as HBase encodes them"))
    }
}
