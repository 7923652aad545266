//! Possible inputs of salts and digests: fields of a decoded key, alone or in sequence, as the
//! codec passes them to a hash.

use std::ops::Range;

use halite_rowkey::internals::Input;
use halite_rowkey::schema::{Field, KeySchema, Profile, Segment, SegmentKind};
use halite_rowkey::value::{FieldType, Value};

use super::draft::{Content, Draft};

/// Parsed key of a draft.
pub(super) struct DecodedRow<'k> {
    key: &'k [u8],
    ranges: Vec<Range<usize>>,
    values: Vec<Value<'k>>,
}

impl<'k> DecodedRow<'k> {
    /// Decodes a key; `None` if it does not match the schema.
    pub(super) fn from_key(schema: &KeySchema, key: &'k [u8]) -> Option<Self> {
        let values = schema.decode(key).ok()?.into_values().collect();
        Some(Self { key, ranges: schema.split_segments(key).ok()?, values })
    }

    /// Returns the bytes of a segment.
    pub(super) fn bytes(&self, piece: usize) -> &'k [u8] {
        &self.key[self.ranges[piece].clone()]
    }

    /// Returns the bytes after a segment.
    pub(super) fn after(&self, piece: usize) -> &'k [u8] {
        &self.key[self.ranges[piece].end..]
    }

    /// Returns the value of the field in a segment.
    fn value(&self, draft: &Draft, piece: usize) -> Option<&Value<'k>> {
        let field = draft.segments.get(..piece)?.iter().filter(|piece| piece.is_field()).count();
        self.values.get(field)
    }

    /// Returns the integer in a segment.
    pub(super) fn integer(&self, draft: &Draft, piece: usize) -> Option<Owned> {
        match self.value(draft, piece)? {
            Value::Unsigned(bits) => Some(Owned::Integer { bits: *bits, negative: false }),
            Value::Signed(number) => {
                Some(Owned::Integer { bits: number.cast_unsigned(), negative: *number < 0 })
            }
            _ => None,
        }
    }
}

/// [`Input`] that owns its bytes.
pub(super) enum Owned {
    Text(String),
    Integer { bits: u64, negative: bool },
    Bytes(Vec<u8>),
}

impl Owned {
    pub(super) fn borrowed(&self) -> Input<'_> {
        match self {
            Self::Text(text) => Input::Text(text),
            Self::Integer { bits, negative } => Input::Integer { bits: *bits, negative: *negative },
            Self::Bytes(bytes) => Input::Bytes(bytes),
        }
    }
}

/// Returns the input of a hash over a run of segments, the same as the codec's
/// (`rowkey/src/codec/derived.rs`). In text keys this is the text in the key, including delimiters
/// between fields. In others, one value is used unchanged; several are encoded one after the other
/// with their ends.
pub(super) fn input(draft: &Draft, row: &DecodedRow<'_>, run: &Range<usize>) -> Option<Owned> {
    if draft.profile == Profile::Text {
        let bytes = &row.key[row.ranges[run.start].start..row.ranges[run.end - 1].end];
        return Some(match std::str::from_utf8(bytes) {
            Ok(text) => Owned::Text(text.to_owned()),
            Err(_) => Owned::Bytes(bytes.to_vec()),
        });
    }
    if run.len() == 1 {
        match row.value(draft, run.start)? {
            Value::Text(text) => return Some(Owned::Text(text.to_string())),
            Value::Bytes(bytes) => return Some(Owned::Bytes(bytes.to_vec())),
            Value::Unsigned(_) | Value::Signed(_) => return row.integer(draft, run.start),
            _ => {}
        }
    }
    encoded(draft, row, run).map(Owned::Bytes)
}

/// Returns fields in ascending order with their ends: a key of them with one more byte at the end,
/// which is removed again.
fn encoded(draft: &Draft, row: &DecodedRow<'_>, run: &Range<usize>) -> Option<Vec<u8>> {
    let mut fields = Vec::new();
    let mut values = Vec::new();
    for at in run.clone() {
        if let Content::Field { ty, .. } = draft.segments[at].content {
            fields.push(Field { name: format!("f{at}"), ty, pattern: None });
            values.push(row.value(draft, at)?.borrowed());
        }
    }
    fields.push(Field { name: "end".to_owned(), ty: FieldType::U8, pattern: None });
    values.push(Value::Unsigned(0));
    let segments = (0..fields.len()).map(|field| Segment::new(SegmentKind::Plain(field))).collect();
    let key = KeySchema::new(Profile::Bin, fields, segments).ok()?.encode(&values).ok()?;
    Some(key[..key.len() - 1].to_vec())
}
