//! Draft of a schema: segments with their evidence, and the resulting schema.

use std::collections::HashSet;

use bytes::Bytes;
use halite_rowkey::schema::{
    Field, FieldId, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind,
};
use halite_rowkey::value::FieldType;

/// Maximum keys whose segment lengths are retained, to check that the schema finds the same
/// Points of sixteen bytes of one kind: more than those of times recognized inside them.
pub(super) const WHOLE_POINTS: f64 = 4.5;
/// segments.
pub(super) const KEYS_REMEMBERED: usize = 64;

/// Default confidence in a field.
const SURE: f64 = 0.85;

/// Draft of a schema.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) profile: Profile,
    pub(super) segments: Vec<DraftSegment>,
    /// Notes in addition to the evidence of single segments.
    pub(super) notes: Vec<String>,
    /// Penalty for assumptions that no key supports.
    pub(super) penalty: f64,
}

/// Draft of one segment.
#[derive(Clone, Debug)]
pub(super) struct DraftSegment {
    pub(super) content: Content,
    /// Suggested name, if it is a field.
    pub(super) name: String,
    /// Evidence as text.
    pub(super) evidence: String,
    /// Amount of information: 0 is text of any kind, 4 is a proven digest.
    pub(super) points: f64,
    /// Possible derivation from other fields.
    pub(super) derived_candidate: Option<DerivedCandidate>,
    /// Bytes of the segment in each of the first keys.
    pub(super) lengths: Vec<usize>,
    /// Confidence in this interpretation, 0 to 1.
    pub(super) sure: f64,
    /// Alternative interpretation and the facts that would decide; empty if there is none.
    pub(super) doubt: String,
    /// `true` if some keys have null here.
    pub(super) nullable: bool,
}

/// Content of a segment.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Literal(Bytes),
    Field { ty: FieldType, encoding: FieldEncoding, desc: bool, digits: Option<u8> },
    Hash { of: Vec<usize>, function: HashFunction, bytes: u8, hex: bool, digits: Option<u8> },
    Salt { of: Vec<usize>, function: HashFunction, count: u32, digits: Option<u8> },
}

/// Encoding of a field in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldEncoding {
    Plain,
    Reverse,
    Bucket(u64),
}

/// Representation of a segment that may be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DerivedCandidate {
    /// Raw bytes of a digest, or one or two of a salt.
    Raw,
    /// Digits: hexadecimal of a digest, decimal of a salt.
    Digits,
    /// Letter that is a salt, which cannot be declared.
    Letter,
}

impl DraftSegment {
    pub(super) fn literal(bytes: &[u8], lengths: usize) -> Self {
        let evidence = "the same in every key".to_owned();
        let content = Content::Literal(Bytes::copy_from_slice(bytes));
        let (sure, doubt) = sure_of_literal(bytes);
        Self {
            content,
            name: String::new(),
            evidence,
            points: 0.2,
            derived_candidate: None,
            lengths: vec![bytes.len(); lengths],
            sure,
            doubt,
            nullable: false,
        }
    }

    /// Returns an ascending plain field.
    pub(super) fn field(
        ty: FieldType,
        name: &str,
        evidence: impl Into<String>,
        points: f64,
        values: &[&[u8]],
    ) -> Self {
        let lengths = values.iter().take(KEYS_REMEMBERED).map(|value| value.len()).collect();
        let content =
            Content::Field { ty, encoding: FieldEncoding::Plain, desc: false, digits: None };
        let (evidence, name) = (evidence.into(), name.to_owned());
        Self {
            content,
            name,
            evidence,
            points,
            derived_candidate: None,
            lengths,
            sure: SURE,
            doubt: String::new(),
            nullable: false,
        }
    }

    /// Returns the same field with another encoding.
    #[must_use]
    pub(super) fn written(
        mut self,
        as_how: FieldEncoding,
        is_desc: bool,
        as_digits: Option<usize>,
    ) -> Self {
        if let Content::Field { encoding: how, desc, digits, .. } = &mut self.content {
            (*how, *desc, *digits) =
                (as_how, is_desc, as_digits.and_then(|digits| u8::try_from(digits).ok()));
        }
        self
    }

    /// Returns the same segment with its confidence, and the alternative interpretation.
    #[must_use]
    pub(super) fn sure(mut self, sure: f64, doubt: &str) -> Self {
        self.sure = sure;
        doubt.clone_into(&mut self.doubt);
        self
    }

    #[must_use]
    pub(super) fn derived_candidate(mut self, suspect: DerivedCandidate) -> Self {
        self.derived_candidate = Some(suspect);
        self
    }

    pub(super) fn is_field(&self) -> bool {
        matches!(self.content, Content::Field { .. })
    }
}

impl Draft {
    pub(super) fn new(profile: Profile) -> Self {
        Self { profile, segments: Vec::new(), notes: Vec::new(), penalty: 0.0 }
    }

    /// Adds a segment; a literal is appended to a preceding literal.
    pub(super) fn push(&mut self, piece: DraftSegment) {
        if let (
            Some(DraftSegment { content: Content::Literal(before), lengths, sure, doubt, .. }),
            Content::Literal(more),
        ) = (self.segments.last_mut(), &piece.content)
        {
            *before = Bytes::from([&before[..], more].concat());
            let whole = before.len();
            lengths.iter_mut().for_each(|length| *length = whole);
            (*sure, *doubt) = sure_of_literal(before);
        } else {
            self.segments.push(piece);
        }
    }

    /// Returns the amount of information in the draft. A digest may also be split into several, so
    /// only the best derived segment counts.
    pub(super) fn points(&self) -> f64 {
        let derived = |piece: &&DraftSegment| {
            matches!(piece.content, Content::Hash { .. } | Content::Salt { .. })
        };
        let best =
            self.segments.iter().filter(derived).map(|piece| piece.points).fold(0.0, f64::max);
        self.segments.iter().filter(|piece| !derived(piece)).map(|piece| piece.points).sum::<f64>()
            + best
            - self.penalty
    }

    /// Returns the confidence in the whole draft: that of the least certain segment.
    pub(super) fn sure(&self) -> f64 {
        self.segments.iter().map(|piece| piece.sure).fold(1.0, f64::min)
    }

    /// Returns the schema; `None` if the segments are not a valid one.
    pub(super) fn schema(&self) -> Option<KeySchema> {
        let mut fields: Vec<Field> = Vec::new();
        let mut names = HashSet::new();
        let mut ids: Vec<Option<FieldId>> = Vec::new();
        for piece in &self.segments {
            let Content::Field { ty, .. } = piece.content else {
                ids.push(None);
                continue;
            };
            ids.push(Some(fields.len()));
            fields.push(Field { name: unique(&piece.name, &mut names), ty, pattern: None });
        }
        let of = |(at, piece): (usize, &DraftSegment)| Segment {
            nullable: piece.nullable,
            ..segment(&piece.content, at, &ids, fields.len())
        };
        let segments = self.segments.iter().enumerate().map(of).collect();
        KeySchema::new(self.profile, fields, segments).ok()
    }

    /// Returns `true` if the schema finds the segments of a key at the positions recorded in the
    /// draft.
    pub(super) fn finds_its_segments(&self, schema: &KeySchema, keys: &[&[u8]]) -> bool {
        let remembered = self.segments.iter().map(|piece| piece.lengths.len()).min().unwrap_or(0);
        keys.iter().take(remembered.min(KEYS_REMEMBERED)).enumerate().all(|(at, key)| {
            let found = schema
                .split_segments(key)
                .map(|ranges| ranges.iter().map(ExactSizeIterator::len).collect::<Vec<_>>());
            // A key that does not match the schema has no segments to compare.
            found.map_or(true, |found| {
                found.iter().zip(&self.segments).all(|(length, piece)| *length == piece.lengths[at])
            })
        })
    }
}

/// Returns the confidence in a literal, and the doubt. A value in every key may be constant only in
/// this sample. Delimiters between values are not, and words are less likely to be than numbers.
fn sure_of_literal(bytes: &[u8]) -> (f64, String) {
    if bytes.iter().all(u8::is_ascii_punctuation) {
        return (0.99, String::new());
    }
    let is_word =
        bytes.iter().all(|byte| byte.is_ascii_alphabetic() || byte.is_ascii_punctuation());
    let doubt = format!(
        "{} is the same in all of these keys; keys from elsewhere in the table may have something \
         else there",
        halite_types::key::to_string_binary(bytes)
    );
    (if is_word { 0.88 } else { 0.75 }, doubt)
}

fn segment(content: &Content, at: usize, ids: &[Option<FieldId>], fields: usize) -> Segment {
    let by = |of: &[usize]| of.iter().filter_map(|&piece| ids[piece]).collect::<Vec<_>>();
    match content {
        Content::Literal(bytes) => Segment::new(SegmentKind::Const(bytes.clone())),
        Content::Field { encoding: how, desc, digits, .. } => {
            let field = ids[at].unwrap_or(0);
            let kind = match how {
                FieldEncoding::Plain => SegmentKind::Plain(field),
                FieldEncoding::Reverse => SegmentKind::Reverse(field),
                FieldEncoding::Bucket(width) => SegmentKind::Bucket { field, width: *width },
            };
            Segment {
                order: if *desc { Order::Desc } else { Order::Asc },
                digits: *digits,
                ..Segment::new(kind)
            }
        }
        Content::Hash { of, function, bytes, hex, digits } => {
            let kind =
                SegmentKind::Hash { by: by(of), bytes: *bytes, function: *function, hex: *hex };
            Segment { digits: *digits, ..Segment::new(kind) }
        }
        Content::Salt { of, function, count, digits } => {
            let by = by(of);
            let is_all = by.len() == fields && *function != HashFunction::Modulo;
            let kind = SegmentKind::Salt {
                count: *count,
                by: if is_all { Vec::new() } else { by },
                function: *function,
            };
            Segment { digits: *digits, ..Segment::new(kind) }
        }
    }
}

/// Returns the name, with a number appended if it is in use.
fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    let numbered = (1..).map(|at| if at == 1 { name.to_owned() } else { format!("{name}{at}") });
    let free = numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// Returns the type of text of a fixed width.
pub(super) fn char_type(width: usize) -> FieldType {
    u16::try_from(width).map_or(FieldType::String, FieldType::Char)
}
