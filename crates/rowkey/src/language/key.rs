//! Parser of `ROW KEY`: a list of segments, or a template.

use bytes::Bytes;

use super::build::{HashColumn, Pattern, RawKind, RawSegment, build};
use super::cursor::{Cursor, Name};
use super::error::{LanguageError, Span};
use super::lexer::TokenKind;
use super::template::{patterns, template};
use super::types::{bucket_width, field_type, hash_function, is_type};
use crate::schema::{HashFunction, KeySchema, MAX_SALTS, MAX_SEGMENTS, Order, Profile};
use crate::value::{FieldType, TimeUnit};

/// Functions in a list of segments.
const FUNCTIONS: &[&str] = &[
    "SALT", "HASH", "BUCKET", "REVERSE", "BITREV", "DICT", "IPV4", "TRUNC", "REV", "HASH8",
    "HASH32", "HASH64",
];
/// Default bytes of a hash.
pub(super) const HASH_BYTES: u8 = 4;

/// Row key as written, with unresolved names.
pub(super) struct RawKey {
    pub(super) profile: Profile,
    pub(super) span: Span,
    pub(super) segments: Vec<RawSegment>,
    pub(super) patterns: Vec<Pattern>,
    /// `true` if it was declared as `PRIMARY KEY`, in the syntax of another database.
    pub(super) primary: bool,
}

impl RawKey {
    /// Returns the verified schema. `declared` are columns whose types are declared elsewhere.
    pub(super) fn build(
        mut self,
        declared: &[(String, FieldType)],
    ) -> Result<KeySchema, LanguageError> {
        if self.primary && self.profile == Profile::Phoenix {
            let declared: Vec<_> =
                declared.iter().map(|(name, ty)| (name.clone(), phoenix_type(*ty))).collect();
            for (ty, _) in self.segments.iter_mut().filter_map(|segment| segment.ty.as_mut()) {
                *ty = phoenix_type(*ty);
            }
            return build(self.profile, self.span, self.segments, self.patterns, &declared);
        }
        build(self.profile, self.span, self.segments, self.patterns, declared)
    }
}

/// Returns Phoenix's meaning of a type name: its `DATE` counts milliseconds, and its `TIMESTAMP`
/// has nanoseconds.
fn phoenix_type(ty: FieldType) -> FieldType {
    match ty {
        FieldType::Date => FieldType::Timestamp(TimeUnit::Millis),
        FieldType::Timestamp(TimeUnit::Millis) => FieldType::Timestamp(TimeUnit::Nanos),
        other => other,
    }
}

/// Parses a row key; the leading `ROW KEY` is optional.
///
/// # Errors
/// The first error, with its position.
pub(super) fn row_key(cursor: &mut Cursor<'_>) -> Result<RawKey, LanguageError> {
    let start = cursor.span();
    cursor.eat_words(&["ROW", "KEY"]);
    if cursor.eat_word("TEXT") {
        let segments = template(cursor)?;
        let patterns = patterns(cursor)?;
        cursor.segments = segments.iter().map(|segment| segment.span).collect();
        return Ok(RawKey {
            profile: Profile::Text,
            span: start.to(cursor.last_span()),
            segments,
            patterns,
            primary: false,
        });
    }
    if !cursor.is_sign('(') {
        return Err(cursor.unexpected(&["'('", "TEXT"]));
    }
    let segments = segment_list(cursor)?;
    let profile = if cursor.eat_word("PROFILE") { profile(cursor)? } else { Profile::Bin };
    Ok(RawKey {
        profile,
        span: start.to(cursor.last_span()),
        segments,
        patterns: Vec::new(),
        primary: false,
    })
}

/// Parses segments in parentheses, separated by commas.
pub(super) fn segment_list(cursor: &mut Cursor<'_>) -> Result<Vec<RawSegment>, LanguageError> {
    cursor.expect_sign('(')?;
    let mut segments = vec![segment(cursor)?];
    while cursor.eat_sign(',') {
        if segments.len() == MAX_SEGMENTS {
            return Err(LanguageError::new(
                cursor.span(),
                format!("a row key has at most {MAX_SEGMENTS} segments"),
            ));
        }
        segments.push(segment(cursor)?);
    }
    if cursor.is_word("BY") {
        return Err(cursor
            .unexpected(&["','", "')'"])
            .suggest("BY belongs inside the parentheses: SALT(16 BY device_id)"));
    }
    cursor.segments = segments.iter().map(|segment| segment.span).collect();
    if cursor.eat_sign(')') {
        Ok(segments)
    } else {
        Err(cursor.unexpected(&["','", "')'", "DESC", "NULLABLE"]))
    }
}

/// Returns the name of a profile.
pub(super) fn profile(cursor: &mut Cursor<'_>) -> Result<Profile, LanguageError> {
    if cursor.eat_word("BIN") {
        return Ok(Profile::Bin);
    }
    if cursor.eat_word("ORDERED") {
        return Ok(Profile::Ordered { compat: cursor.eat_word("COMPAT") });
    }
    if cursor.eat_word("PHOENIX") {
        return Ok(Profile::Phoenix);
    }
    let error = cursor.unexpected(&["BIN", "ORDERED", "PHOENIX"]);
    Err(if cursor.is_word("TEXT") {
        error.suggest("text keys are written ROW KEY TEXT '{a}_{b:10}'")
    } else {
        error
    })
}

fn segment(cursor: &mut Cursor<'_>) -> Result<RawSegment, LanguageError> {
    let start = cursor.span();
    let mut found = if cursor.is_sign_ahead(1, '(') && matches!(cursor.kind(), TokenKind::Word(_)) {
        call(cursor)?
    } else {
        plain(cursor)?
    };
    suffixes(cursor, &mut found)?;
    found.span = start.to(cursor.last_span());
    Ok(found)
}

/// Parses `CONST ..`, or a column with its type; the type may be declared elsewhere.
fn plain(cursor: &mut Cursor<'_>) -> Result<RawSegment, LanguageError> {
    let name = cursor.expect_name("a column, or one of SALT, HASH, BUCKET, CONST")?;
    let constant = match cursor.kind() {
        TokenKind::Text(text) => Some(Bytes::from(text.clone().into_bytes())),
        TokenKind::Hex(bytes) => Some(Bytes::from(bytes.clone())),
        _ => None,
    };
    if let Some(bytes) = constant {
        if !name.text.eq_ignore_ascii_case("CONST") {
            return Err(LanguageError::new(name.span, "only CONST is followed by text")
                .suggest("write CONST 'text'"));
        }
        cursor.advance();
        return Ok(RawSegment::new(RawKind::Const(bytes), name.span));
    }
    let span = name.span;
    let ends = cursor.is_sign(',')
        || cursor.is_sign(')')
        || ["ASC", "DESC", "NULLABLE", "NOT"].iter().any(|word| cursor.is_word(word));
    let ty = if ends { None } else { Some(field_type(cursor)?) };
    Ok(RawSegment { ty, ..RawSegment::new(RawKind::Plain(name), span) })
}

fn call(cursor: &mut Cursor<'_>) -> Result<RawSegment, LanguageError> {
    let name = cursor.expect_name("a function")?;
    cursor.expect_sign('(')?;
    let upper = name.text.to_ascii_uppercase();
    let kind = match upper.as_str() {
        "SALT" => salt(cursor)?,
        "HASH" => hash(cursor)?,
        "HASH8" => short_hash(cursor, 1, HashFunction::Murmur3)?,
        "HASH32" => short_hash(cursor, 4, HashFunction::Murmur3)?,
        "HASH64" => short_hash(cursor, 8, HashFunction::Md5)?,
        "REV" => RawKind::Plain(cursor.expect_name("a column")?),
        _ => carrier(cursor, &upper)?.ok_or_else(|| {
            let error = LanguageError::new(
                name.span,
                format!("there is no {}(..) in a row key", name.text),
            );
            error.near(&name.text, FUNCTIONS.iter().copied())
        })?,
    };
    cursor.expect_sign(')')?;
    let mut segment = RawSegment::new(kind, name.span);
    if upper == "REV" {
        segment.order = Order::Desc;
    }
    let typed = segment.kind.field().is_some() && upper != "IPV4";
    if typed
        && (is_type(cursor) || matches!(segment.kind, RawKind::Reverse(_) | RawKind::BitReverse(_)))
    {
        segment.ty = Some(field_type(cursor)?);
    }
    Ok(segment)
}

/// Parses a segment of a field whose syntax is the same in lists and templates; returns `None` for
/// another name.
pub(super) fn carrier(
    cursor: &mut Cursor<'_>,
    upper: &str,
) -> Result<Option<RawKind>, LanguageError> {
    Ok(Some(match upper {
        "BUCKET" => {
            let field = cursor.expect_name("a column")?;
            cursor.expect_sign(',')?;
            let (width, at) = bucket_width(cursor)?;
            RawKind::Bucket { field, width, span: at }
        }
        "TRUNC" => {
            let field = cursor.expect_name("a column")?;
            cursor.expect_sign(',')?;
            RawKind::Trunc { field, bytes: small(cursor, "how many bytes are kept", u16::MAX)? }
        }
        "DICT" => {
            let field = cursor.expect_name("a column")?;
            cursor.expect_sign(',')?;
            RawKind::Dict { field, bytes: small(cursor, "how many bytes its number has", u8::MAX)? }
        }
        "REVERSE" => RawKind::Reverse(cursor.expect_name("a column")?),
        "BITREV" => RawKind::BitReverse(cursor.expect_name("a column")?),
        "IPV4" => RawKind::Ipv4(cursor.expect_name("a column")?),
        _ => return Ok(None),
    }))
}

fn small<N: Copy + Into<u64> + TryFrom<u64> + Default>(
    cursor: &mut Cursor<'_>,
    expected: &str,
    most: N,
) -> Result<N, LanguageError> {
    Ok(N::try_from(cursor.expect_number(expected, most.into())?).unwrap_or_default())
}

/// Returns the arguments of `SALT`.
pub(super) fn salt(cursor: &mut Cursor<'_>) -> Result<RawKind, LanguageError> {
    let count = small(cursor, "how many salts there are", MAX_SALTS)?;
    let (mut by, mut function) = (Vec::new(), HashFunction::default());
    if cursor.eat_word("BY") {
        by = cursor.expect_names("a column")?;
    }
    if cursor.eat_word("USING") {
        function = hash_function(cursor)?;
    }
    if !cursor.is_sign(')') {
        return Err(cursor.unexpected(&["BY", "USING", "')'"]));
    }
    Ok(RawKind::Salt { count, by, function })
}

fn hash(cursor: &mut Cursor<'_>) -> Result<RawKind, LanguageError> {
    let by = hash_columns(cursor)?;
    let (mut bytes, mut function, mut hex) = (HASH_BYTES, HashFunction::default(), false);
    loop {
        if cursor.eat_word("BYTES") {
            bytes = small(cursor, "how many bytes of the digest", u8::MAX)?;
        } else if cursor.eat_word("USING") {
            function = hash_function(cursor)?;
        } else if cursor.eat_word("HEX") {
            hex = true;
        } else if cursor.is_sign(')') {
            return Ok(RawKind::Hash { by, bytes, function, hex });
        } else {
            return Err(cursor.unexpected(&["BYTES", "USING", "HEX", "','", "')'"]));
        }
    }
}

/// Parses columns, followed by their types if nothing else in the key contains them.
pub(super) fn hash_columns(cursor: &mut Cursor<'_>) -> Result<Vec<HashColumn>, LanguageError> {
    let enclosed = cursor.eat_sign('(');
    let mut columns = Vec::new();
    loop {
        let name = cursor.expect_name("a column")?;
        // `BYTES 4` is the length of the digest, `BYTES` and `BYTES(4)` are types.
        let length = cursor.is_word("BYTES") && cursor.is_number_ahead(1);
        let ty = if is_type(cursor) && !length { Some(field_type(cursor)?) } else { None };
        columns.push(HashColumn { name, ty });
        if !cursor.eat_sign(',') {
            break;
        }
    }
    if enclosed {
        cursor.expect_sign(')')?;
    }
    Ok(columns)
}

/// Parses Lindorm's `hash32(a, b)`.
fn short_hash(
    cursor: &mut Cursor<'_>,
    bytes: u8,
    function: HashFunction,
) -> Result<RawKind, LanguageError> {
    Ok(RawKind::Hash { by: hash_columns(cursor)?, bytes, function, hex: false })
}

fn suffixes(cursor: &mut Cursor<'_>, segment: &mut RawSegment) -> Result<(), LanguageError> {
    let mut seen = (None::<Span>, None::<Span>);
    loop {
        let span = cursor.span();
        let slot = if cursor.eat_word("ASC") {
            &mut seen.0
        } else if cursor.eat_word("DESC") {
            segment.order = Order::Desc;
            &mut seen.0
        } else if cursor.eat_word("NULLABLE") {
            segment.nullable = true;
            &mut seen.1
        } else if cursor.eat_words(&["NOT", "NULL"]) {
            &mut seen.1
        } else {
            return Ok(());
        };
        if slot.replace(span).is_some() {
            return Err(LanguageError::new(span, "this was said already")
                .suggest("leave one of the two out"));
        }
    }
}

/// Rejects columns that are named twice in one list.
pub(super) fn check_names(names: &[Name]) -> Result<(), LanguageError> {
    match names
        .iter()
        .enumerate()
        .find(|(at, name)| names[..*at].iter().any(|other| other.text == name.text))
    {
        Some((_, twice)) => {
            Err(LanguageError::new(twice.span, format!("column {} is named twice", twice.text)))
        }
        None => Ok(()),
    }
}
