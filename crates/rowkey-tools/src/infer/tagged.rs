//! Keys of HBase's `OrderedBytes` in a `Struct`: every field begins with a byte for its type and
//! order.

use std::ops::Range;

use halite_rowkey::internals::numeric_end;
use halite_rowkey::schema::Profile;
use halite_rowkey::value::{FieldType, TimeUnit};

use super::draft::{Draft, DraftSegment, FieldEncoding, KEYS_REMEMBERED};
use super::sample::SampledKeys;
use super::times;
use super::values;
use super::witness::{self, Witness, Written};
use super::{column::Column, gaps};

/// Minimum percentage of keys with the same type at a position.
const MIN_AGREEMENT_PERCENT: usize = 95;
/// Maximum fields of one key.
const MAX_FIELDS: usize = 16;
/// Numbers of bytes without a type before the fields: salts and digests.
const RAW: [usize; 6] = [0, 1, 2, 4, 8, 16];
const NULL: u8 = 0x05;

/// Type and order of a field, decoded from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    ty: FieldType,
    flip: u8,
}

/// Types by their first byte; decimals have a range of first bytes.
const TYPES: [(u8, FieldType); 9] = [
    (0x29, FieldType::I8),
    (0x2a, FieldType::I16),
    (0x2b, FieldType::I32),
    (0x2c, FieldType::I64),
    (0x30, FieldType::F32),
    (0x31, FieldType::F64),
    (0x34, FieldType::String),
    (0x37, FieldType::Bytes),
    (0x38, FieldType::Bytes),
];

impl Tag {
    fn from_byte(first: u8) -> Option<Self> {
        [0, 0xff].into_iter().find_map(|flip| {
            let header = first ^ flip;
            let decimal = (0x07..=0x23).contains(&header).then_some(FieldType::Decimal);
            let ty =
                TYPES.iter().find(|(byte, _)| *byte == header).map(|(_, ty)| *ty).or(decimal)?;
            Some(Self { ty, flip })
        })
    }

    /// Returns the end of a field that begins at `start`.
    fn end(self, key: &[u8], start: usize) -> Option<usize> {
        if *key.get(start)? == NULL ^ self.flip {
            return matches!(self.ty, FieldType::Decimal | FieldType::String | FieldType::Bytes)
                .then_some(start + 1);
        }
        if Self::from_byte(key[start]) != Some(self) {
            return None;
        }
        let rest = &key[start + 1..];
        let behind = |at: usize| start + 1 + at + 1;
        match self.ty {
            FieldType::Decimal => numeric_end(key, start, self.flip).ok(),
            FieldType::String => {
                let end = rest.iter().position(|byte| byte ^ self.flip == 0)?;
                let text: Vec<u8> = rest[..end].iter().map(|byte| byte ^ self.flip).collect();
                std::str::from_utf8(&text).ok().map(|_| behind(end))
            }
            FieldType::Bytes if key[start] ^ self.flip == 0x38 => Some(key.len()),
            FieldType::Bytes => {
                rest.iter().position(|byte| (byte ^ self.flip) & 0x80 == 0).map(behind)
            }
            ty => {
                ty.fixed_bytes().filter(|bytes| rest.len() >= *bytes).map(|bytes| start + 1 + bytes)
            }
        }
    }
}

/// Returns the draft of keys as structs of typed fields, if nearly all keys match. At most one
/// number of leading bytes without a type is plausible.
pub(super) fn drafts(seen: &SampledKeys<'_>) -> Vec<Draft> {
    RAW.into_iter().filter_map(|raw| draft(seen, raw)).take(1).collect()
}

fn draft(seen: &SampledKeys<'_>, raw: usize) -> Option<Draft> {
    let mut rows: Vec<(usize, Vec<Range<usize>>)> = (0..seen.keys.len())
        .filter(|&at| seen.keys[at].len() > raw)
        .map(|at| (at, Vec::new()))
        .collect();
    let min_rows = seen.keys.len() * MIN_AGREEMENT_PERCENT / 100;
    let mut tags: Vec<Tag> = Vec::new();
    let end = |row: &(usize, Vec<Range<usize>>)| row.1.last().map_or(raw, |range| range.end);
    while rows.iter().any(|row| end(row) < seen.keys[row.0].len()) {
        let firsts = rows.iter().filter_map(|row| seen.keys[row.0].get(end(row)).copied());
        let tag =
            firsts.filter(|first| *first != NULL && *first != !NULL).find_map(Tag::from_byte)?;
        rows.retain_mut(|row| {
            let (key, start) = (seen.keys[row.0], end(row));
            let found = if start == key.len() { Some(start) } else { tag.end(key, start) };
            found.inspect(|end| row.1.push(start..*end)).is_some()
        });
        tags.push(tag);
        if rows.len() < min_rows.max(1) || tags.len() > MAX_FIELDS {
            return None;
        }
    }
    if tags.is_empty() {
        return None;
    }
    let mut draft = Draft::new(Profile::Ordered { compat: false });
    let part = seen.select(&rows.iter().map(|row| row.0).collect::<Vec<_>>());
    if raw > 0 {
        // Bytes of a digest or a salt have no points unless their input is proven.
        let column = Column::from_values(part.keys.iter().map(|key| &key[..raw]).collect());
        let piece = gaps::segments(&column, &part).pop()?.pop()?;
        draft.push(DraftSegment { points: if column.distinct > 1 { 0.0 } else { 0.2 }, ..piece });
    }
    // One constant byte may have another meaning; several at the positions of types do not.
    let sure = if tags.len() > 1 { 0.96 } else { 0.88 };
    for (at, tag) in tags.iter().enumerate() {
        let places: Vec<Range<usize>> = rows.iter().map(|row| row.1[at].clone()).collect();
        draft.push(segment(*tag, &places, &part, sure));
    }
    if draft.schema().is_none() {
        draft.profile = Profile::Ordered { compat: true };
        draft.notes.push(
            "HBase orders or reads back some such keys wrongly, so it has to be declared COMPAT"
                .to_owned(),
        );
    }
    // Keys with nulls at their end are shorter than the recorded segments of others.
    draft.segments.iter_mut().for_each(|piece| piece.lengths.clear());
    Some(draft)
}

fn segment(tag: Tag, places: &[Range<usize>], seen: &SampledKeys<'_>, sure: f64) -> DraftSegment {
    let is_null = |key: &[u8], place: &Range<usize>| {
        key.get(place.start).is_none_or(|first| *first == NULL ^ tag.flip) || place.is_empty()
    };
    let nullable = seen.keys.iter().zip(places).any(|(key, place)| is_null(key, place));
    let order = if tag.flip == 0 { "ascending" } else { "descending" };
    let header = seen
        .keys
        .iter()
        .zip(places)
        .find(|(key, place)| !is_null(key, place))
        .map_or(0, |(key, place)| key[place.start]);
    let evidence = format!("type byte {header:02x} of OrderedBytes: {} {order}", tag.ty);
    let bodies: Vec<Vec<u8>> = seen
        .keys
        .iter()
        .zip(places)
        .map(|(key, place)| key[place.clone()].iter().skip(1).map(|byte| byte ^ tag.flip).collect())
        .collect();
    let column = Column::from_values(bodies.iter().map(Vec::as_slice).collect());
    let name = match tag.ty {
        FieldType::String => text_name(&bodies),
        FieldType::Bytes => "bytes".to_owned(),
        _ => "id".to_owned(),
    };
    let (mut ty, mut name, mut points, mut evidence, mut doubt) =
        (tag.ty, name, 3.5, evidence, String::new());
    let mut sure = sure;
    if let Some((unit, shown, found)) = times_of(tag, &column, seen) {
        (ty, points) = (FieldType::Timestamp(unit), 3.6);
        "ts".clone_into(&mut name);
        evidence = format!("{evidence}; {} since 1970, {shown} for one", times::unit_name(unit));
        (sure, doubt) = (sure.min(found.sure), found.doubt);
    }
    let values: Vec<&[u8]> = seen
        .keys
        .iter()
        .zip(places)
        .map(|(key, place)| &key[place.clone()])
        .take(KEYS_REMEMBERED)
        .collect();
    let mut piece = DraftSegment::field(ty, &name, evidence, points, &values)
        .written(FieldEncoding::Plain, tag.flip != 0, None)
        .sure(sure, &doubt);
    piece.nullable = nullable;
    piece
}

/// Returns a name from the letters that all texts begin with.
fn text_name(bodies: &[Vec<u8>]) -> String {
    let texts: Vec<&[u8]> =
        bodies.iter().filter_map(|body| body.split_last().map(|(_, text)| text)).collect();
    values::text(&Column::from_values(texts)).name
}

/// Returns the unit in which eight bytes are times, an example, and the evidence.
fn times_of(
    tag: Tag,
    column: &Column<'_>,
    seen: &SampledKeys<'_>,
) -> Option<(TimeUnit, String, Witness)> {
    if tag.ty != FieldType::I64 || seen.is_plain {
        return None;
    }
    let numbers: Vec<u64> = column
        .values
        .iter()
        .filter_map(|bytes| bytes.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)))
        .collect();
    let (form @ times::TimeForm::Direct(unit), true) = times::form_from_longs(&numbers)? else {
        return None;
    };
    let times_ms: Vec<i64> =
        numbers.iter().map(|number| times::in_ms(number ^ (1 << 63), 8, form)).collect();
    let found = witness::witness(
        witness::sure_of(form, 8),
        &times_ms,
        Some(Written::binary(&numbers)),
        seen,
    );
    Some((unit, times::format_time(*times_ms.first()?, TimeUnit::Millis), found))
}
