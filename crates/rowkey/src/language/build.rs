//! Conversion of parsed segments to a verified schema: names become fields, and fields get their
//! types.

use bytes::Bytes;

use super::cursor::Name;
use super::error::{LanguageError, Span};
use super::key::check_names;
use super::types::Width;
use crate::schema::{
    Field, FieldId, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind,
};
use crate::value::{FieldType, TimeUnit};

/// Segment with names instead of fields.
pub(super) struct RawSegment {
    pub(super) kind: RawKind,
    /// Type after it, and its position.
    pub(super) ty: Option<(FieldType, Span)>,
    pub(super) order: Order,
    pub(super) nullable: bool,
    pub(super) digits: Option<u8>,
    pub(super) span: Span,
}

impl RawSegment {
    pub(super) fn new(kind: RawKind, span: Span) -> Self {
        Self { kind, ty: None, order: Order::Asc, nullable: false, digits: None, span }
    }
}

/// Column of a hash. Its type is here if nothing else in the key contains it.
pub(super) struct HashColumn {
    pub(super) name: Name,
    pub(super) ty: Option<(FieldType, Span)>,
}

/// Content, as [`SegmentKind`].
pub(super) enum RawKind {
    Const(Bytes),
    Salt { count: u32, by: Vec<Name>, function: HashFunction },
    Hash { by: Vec<HashColumn>, bytes: u8, function: HashFunction, hex: bool },
    Bucket { field: Name, width: Width, span: Span },
    Trunc { field: Name, bytes: u16 },
    Reverse(Name),
    BitReverse(Name),
    Dict { field: Name, bytes: u8 },
    Ipv4(Name),
    Plain(Name),
}

impl RawKind {
    /// Returns the field that the segment contains, wholly or in part.
    pub(super) fn field(&self) -> Option<&Name> {
        match self {
            Self::Bucket { field, .. } | Self::Trunc { field, .. } => Some(field),
            _ => self.carries(),
        }
    }

    /// Returns the columns of a hash that have their types there.
    fn typed(&self) -> impl Iterator<Item = (&Name, (FieldType, Span))> {
        let by = if let Self::Hash { by, .. } = self { by.as_slice() } else { &[] };
        by.iter().filter_map(|column| Some((&column.name, column.ty?)))
    }

    /// Returns the field that can be decoded from the segment.
    fn carries(&self) -> Option<&Name> {
        match self {
            Self::Dict { field, .. }
            | Self::Reverse(field)
            | Self::BitReverse(field)
            | Self::Ipv4(field)
            | Self::Plain(field) => Some(field),
            _ => None,
        }
    }
}

/// Regular expression of a field in a template.
pub(super) struct Pattern {
    pub(super) field: Name,
    pub(super) pattern: String,
}

/// Returns the schema of these segments; `whole` is the position of the key. `declared` are columns
/// whose types are declared elsewhere.
///
/// # Errors
/// Unknown names, types that are missing or differ, and the errors of [`KeySchema::new`], each with
/// its position.
pub(super) fn build(
    profile: Profile,
    whole: Span,
    segments: Vec<RawSegment>,
    patterns: Vec<Pattern>,
    declared: &[(String, FieldType)],
) -> Result<KeySchema, LanguageError> {
    check_once(&segments)?;
    let mut fields = fields_of(profile, &segments, declared)?;
    for Pattern { field, pattern } in patterns {
        let Some(id) = position(&fields, &field) else {
            let error =
                LanguageError::new(field.span, format!("{} is no column of the key", field.text));
            return Err(error.near(&field.text, fields.iter().map(|field| field.name.as_str())));
        };
        if fields[id].pattern.replace(pattern).is_some() {
            return Err(LanguageError::new(
                field.span,
                format!("column {} has a pattern already", field.text),
            ));
        }
    }
    let spans: Vec<Span> = segments.iter().map(|segment| segment.span).collect();
    let segments = segments
        .into_iter()
        .map(|segment| resolve(&fields, segment))
        .collect::<Result<Vec<_>, _>>()?;
    KeySchema::new(profile, fields, segments).map_err(|error| {
        let span = error.segment.and_then(|at| spans.get(at).copied()).unwrap_or(whole);
        LanguageError::new(span, error.message)
    })
}

/// Checks that no column is in the key twice, where the second one can be marked.
fn check_once(segments: &[RawSegment]) -> Result<(), LanguageError> {
    let mut carried: Vec<&str> = Vec::new();
    for segment in segments {
        let Some(name) = segment.kind.carries() else { continue };
        if carried.contains(&name.text.as_str()) {
            return Err(LanguageError::new(
                segment.span,
                format!("column {} is in the key already", name.text),
            )
            .suggest("once is enough to read it back"));
        }
        carried.push(&name.text);
    }
    Ok(())
}

/// Returns the fields in the order in which segments carry them; parts of a field count where
/// nothing carries it whole.
fn fields_of(
    profile: Profile,
    segments: &[RawSegment],
    declared: &[(String, FieldType)],
) -> Result<Vec<Field>, LanguageError> {
    let mut fields: Vec<Field> = Vec::new();
    let held = |name: &Name| {
        segments
            .iter()
            .any(|segment| segment.kind.field().is_some_and(|field| field.text == name.text))
    };
    let in_hash =
        |segment| RawKind::typed(segment).map(|(name, _)| name).filter(|name| !held(name));
    let carried = |name: &Name| {
        segments
            .iter()
            .any(|segment| segment.kind.carries().is_some_and(|field| field.text == name.text))
    };
    let own = |segment| {
        RawKind::field(segment).filter(|name| segment.carries().is_some() || !carried(name))
    };
    for name in segments
        .iter()
        .flat_map(|segment| own(&segment.kind).into_iter().chain(in_hash(&segment.kind)))
    {
        if !fields.iter().any(|field| field.name == name.text) {
            let ty = type_of(profile, name, segments, declared)?;
            fields.push(Field { name: name.text.clone(), ty, pattern: None });
        }
    }
    Ok(fields)
}

fn type_of(
    profile: Profile,
    name: &Name,
    segments: &[RawSegment],
    declared: &[(String, FieldType)],
) -> Result<FieldType, LanguageError> {
    let elsewhere = declared.iter().find(|(column, _)| *column == name.text).map(|(_, ty)| *ty);
    let holders = || {
        segments
            .iter()
            .filter(|segment| segment.kind.field().is_some_and(|field| field.text == name.text))
    };
    let mut found = elsewhere;
    let in_hashes = segments
        .iter()
        .flat_map(|segment| segment.kind.typed())
        .filter(|(column, _)| column.text == name.text)
        .map(|(_, ty)| ty);
    for (ty, span) in holders().filter_map(|segment| segment.ty).chain(in_hashes) {
        if let Some(other) = found.filter(|other| *other != ty) {
            return Err(LanguageError::new(
                span,
                format!("column {} is {other} elsewhere", name.text),
            )
            .suggest(format!("make both {other}")));
        }
        found = Some(ty);
    }
    let traits: Vec<_> = holders().map(Holder::from_raw).collect();
    found.or_else(|| default_type(profile, &traits)).ok_or_else(|| {
        let error = LanguageError::new(name.span, format!("column {} has no type", name.text));
        error.suggest(format!("write {} STRING, or another type", name.text))
    })
}

/// Kind of a segment, which determines the default type of its field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// BUCKET, and `rev` in templates.
    Time,
    /// BITREV, and digits in templates.
    Number,
    /// TRUNC, DICT and IPV4.
    Text,
    /// Unchanged or reversed field.
    Bare,
}

impl Holder {
    fn from_raw(segment: &RawSegment) -> Self {
        match segment.kind {
            RawKind::Bucket { .. } => Self::Time,
            RawKind::Trunc { .. } | RawKind::Dict { .. } | RawKind::Ipv4(_) => Self::Text,
            RawKind::BitReverse(_) => Self::Number,
            _ => Self::bare(segment.order, segment.digits),
        }
    }

    /// Returns the same of a segment of a schema.
    pub(super) fn from_segment(segment: &Segment) -> Self {
        match segment.kind {
            SegmentKind::Bucket { .. } => Self::Time,
            SegmentKind::Trunc { .. } | SegmentKind::Dict { .. } | SegmentKind::Ipv4(_) => {
                Self::Text
            }
            SegmentKind::BitReverse(_) => Self::Number,
            _ => Self::bare(segment.order, segment.digits),
        }
    }

    fn bare(order: Order, digits: Option<u8>) -> Self {
        match (order, digits) {
            (Order::Desc, _) => Self::Time,
            (Order::Asc, Some(_)) => Self::Number,
            (Order::Asc, None) => Self::Bare,
        }
    }
}

/// Returns the default type of a field. In a list of segments an unchanged field must have a type.
pub(super) fn default_type(profile: Profile, holders: &[Holder]) -> Option<FieldType> {
    let timestamp = FieldType::Timestamp(TimeUnit::Millis);
    let any = |holder: Holder| holders.contains(&holder);
    if any(Holder::Text) {
        return Some(FieldType::String);
    }
    if any(Holder::Time) {
        return Some(timestamp);
    }
    let bare = if any(Holder::Number) { FieldType::U64 } else { FieldType::String };
    (profile == Profile::Text).then_some(bare)
}

fn resolve(fields: &[Field], raw: RawSegment) -> Result<Segment, LanguageError> {
    let id = |name: &Name| find(fields, name);
    let kind = match raw.kind {
        RawKind::Const(bytes) => SegmentKind::Const(bytes),
        RawKind::Salt { count, by, function } => {
            SegmentKind::Salt { count, by: find_all(fields, &by)?, function }
        }
        RawKind::Hash { by, bytes, function, hex } => {
            SegmentKind::Hash { by: find_all(fields, &names_of(by))?, bytes, function, hex }
        }
        RawKind::Bucket { field, width, span: at } => {
            let field = id(&field)?;
            let width = width
                .in_unit_of(fields[field].ty)
                .map_err(|message| LanguageError::new(at, message))?;
            SegmentKind::Bucket { field, width }
        }
        RawKind::Trunc { field, bytes } => SegmentKind::Trunc { field: id(&field)?, bytes },
        RawKind::Reverse(field) => SegmentKind::Reverse(id(&field)?),
        RawKind::BitReverse(field) => SegmentKind::BitReverse(id(&field)?),
        RawKind::Dict { field, bytes } => SegmentKind::Dict { field: id(&field)?, bytes },
        RawKind::Ipv4(field) => SegmentKind::Ipv4(id(&field)?),
        RawKind::Plain(field) => SegmentKind::Plain(id(&field)?),
    };
    Ok(Segment { kind, order: raw.order, nullable: raw.nullable, digits: raw.digits })
}

fn names_of(columns: Vec<HashColumn>) -> Vec<Name> {
    columns.into_iter().map(|column| column.name).collect()
}

fn find_all(fields: &[Field], names: &[Name]) -> Result<Vec<FieldId>, LanguageError> {
    check_names(names)?;
    names.iter().map(|name| find(fields, name)).collect()
}

fn find(fields: &[Field], name: &Name) -> Result<FieldId, LanguageError> {
    position(fields, name).ok_or_else(|| {
        let error = LanguageError::new(name.span, format!("{} is no column of the key", name.text));
        let error = error.near(&name.text, fields.iter().map(|field| field.name.as_str()));
        let fix = || {
            format!(
                "add {0} STRING after it; a hash may contain it alone: HASH({0} STRING)",
                name.text
            )
        };
        if error.suggestion.is_some() { error } else { error.suggest(fix()) }
    })
}

fn position(fields: &[Field], name: &Name) -> Option<FieldId> {
    fields.iter().position(|field| field.name == name.text)
}
