//! Parser of `TEXT 'template' [WHERE ..]`: literals between values in braces.

use bytes::Bytes;

use super::build::{Pattern, RawKind, RawSegment};
use super::cursor::Cursor;
use super::error::{LanguageError, Span};
use super::key::{HASH_BYTES, carrier, hash_columns, salt};
use super::lexer::TokenKind;
use super::types::field_type;
use crate::schema::{HashFunction, MAX_SEGMENTS, Order};

/// Functions in a template besides the digests.
const FUNCTIONS: &[&str] = &["salt", "rev", "bucket", "reverse", "bitrev", "trunc", "dict", "ipv4"];

/// Template with the source position of each of its bytes and of its end.
struct Template {
    text: String,
    places: Vec<usize>,
}

impl Template {
    fn new(text: String, quoted: Span) -> Self {
        let mut at = quoted.start + 1;
        let mut places = Vec::with_capacity(text.len() + 1);
        for byte in text.bytes() {
            places.push(at);
            // In the source the quote is doubled.
            at += if byte == b'\'' { 2 } else { 1 };
        }
        places.push(at);
        Self { text, places }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { start: self.places[start], end: self.places[end.min(self.text.len())] }
    }
}

/// Returns the segments of a template.
pub(super) fn template(cursor: &mut Cursor<'_>) -> Result<Vec<RawSegment>, LanguageError> {
    let (text, quoted) = cursor.expect_text("a template like '{host}_{ts:19}'")?;
    let template = Template::new(text, quoted);
    let text = template.text.as_str();
    let mut segments = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let rest = &text[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            at += 2;
            push_constant(&mut segments, &rest.as_bytes()[..1], template.span(start, at));
        } else if rest.starts_with('{') {
            let length = place_bytes(rest).ok_or_else(|| {
                LanguageError::new(template.span(start, start + 1), "the brace has no end")
                    .suggest("add }, or write {{ for a brace of the key itself")
            })?;
            at += length;
            let place = place(&template, start + 1, at - 1)?;
            match place.kind {
                RawKind::Const(bytes) => push_constant(&mut segments, &bytes, place.span),
                _ => segments.push(place),
            }
        } else if rest.starts_with('}') {
            return Err(LanguageError::new(
                template.span(start, start + 1),
                "a brace ends that did not begin",
            )
            .suggest("write }} for a brace of the key itself"));
        } else {
            at += rest.find(['{', '}']).unwrap_or(rest.len());
            push_constant(&mut segments, &text.as_bytes()[start..at], template.span(start, at));
        }
        if segments.len() > MAX_SEGMENTS {
            return Err(LanguageError::new(
                template.span(start, at),
                format!("a row key has at most {MAX_SEGMENTS} segments"),
            ));
        }
    }
    Ok(segments)
}

/// Appends a constant; consecutive ones are merged.
fn push_constant(segments: &mut Vec<RawSegment>, bytes: &[u8], span: Span) {
    if let Some(RawSegment { kind: RawKind::Const(before), span: begun, .. }) = segments.last_mut()
    {
        *before = Bytes::from([before, bytes].concat());
        *begun = begun.to(span);
    } else {
        segments.push(RawSegment::new(RawKind::Const(Bytes::copy_from_slice(bytes)), span));
    }
}

/// Returns the number of bytes of `{..}` at the beginning of `text`; braces in quotes do not end
/// it.
fn place_bytes(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'}') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Parses the text between the braces from `start` to `end`.
fn place(template: &Template, start: usize, end: usize) -> Result<RawSegment, LanguageError> {
    let mut cursor = Cursor::inside(&template.text[start..end], |at| template.places[start + at])?;
    let cursor = &mut cursor;
    let span = template.span(start - 1, end + 1);
    let mut segment = RawSegment { span, ..held(cursor, span)? };
    if segment.kind.field().is_some() {
        if matches!(cursor.kind(), TokenKind::Word(_)) && !cursor.is_word("NULLABLE") {
            segment.ty = Some(field_type(cursor)?);
        }
        segment.nullable = cursor.eat_word("NULLABLE");
    }
    let digits = digits(cursor)?;
    match &mut segment.kind {
        RawKind::Hash { bytes, .. } => {
            let digits = digits.unwrap_or(2 * HASH_BYTES);
            *bytes = digits.div_ceil(2);
            segment.digits = Some(digits);
        }
        RawKind::Const(_) if digits.is_some() => {
            return Err(LanguageError::new(span, "a constant has no digits"));
        }
        _ => segment.digits = digits,
    }
    if cursor.at_end() {
        Ok(segment)
    } else {
        Err(cursor.unexpected(&["a type", "':' and a number of digits", "'}'"]))
    }
}

fn digits(cursor: &mut Cursor<'_>) -> Result<Option<u8>, LanguageError> {
    if !cursor.eat_sign(':') {
        return Ok(None);
    }
    let span = cursor.span();
    match u8::try_from(cursor.expect_number("how many digits it has", 128)?) {
        Ok(digits) if digits > 0 => Ok(Some(digits)),
        _ => Err(LanguageError::new(span, "a value has at least one digit")),
    }
}

fn held(cursor: &mut Cursor<'_>, span: Span) -> Result<RawSegment, LanguageError> {
    if let TokenKind::Hex(bytes) = cursor.kind() {
        let constant = RawKind::Const(Bytes::from(bytes.clone()));
        cursor.advance();
        return Ok(RawSegment::new(constant, span));
    }
    if !cursor.is_sign_ahead(1, '(') || !matches!(cursor.kind(), TokenKind::Word(_)) {
        return Ok(RawSegment::new(RawKind::Plain(cursor.expect_name("a column")?), span));
    }
    if cursor.eat_words(&["rev"]) {
        cursor.expect_sign('(')?;
        let called = cursor.is_sign_ahead(1, '(') && matches!(cursor.kind(), TokenKind::Word(_));
        let kind = if called {
            called_carrier(cursor)?
        } else {
            RawKind::Plain(cursor.expect_name("a column")?)
        };
        cursor.expect_sign(')')?;
        return Ok(RawSegment { order: Order::Desc, ..RawSegment::new(kind, span) });
    }
    if cursor.eat_word("salt") {
        cursor.expect_sign('(')?;
        let kind = salt(cursor)?;
        cursor.expect_sign(')')?;
        return Ok(RawSegment::new(kind, span));
    }
    match digest(cursor)? {
        Some(kind) => Ok(RawSegment::new(kind, span)),
        None => Ok(RawSegment::new(called_carrier(cursor)?, span)),
    }
}

/// Parses `md5(a, b)` and similar functions.
fn digest(cursor: &mut Cursor<'_>) -> Result<Option<RawKind>, LanguageError> {
    let digests =
        HashFunction::NAMES.iter().filter(|(_, function)| function.digest_bytes().is_some());
    let Some((_, function)) = digests.into_iter().find(|(name, _)| cursor.is_word(name)) else {
        return Ok(None);
    };
    cursor.advance();
    // The names are parenthesized here, so the parentheses are consumed with them.
    let by = hash_columns(cursor)?;
    Ok(Some(RawKind::Hash { by, bytes: HASH_BYTES, function: *function, hex: true }))
}

fn called_carrier(cursor: &mut Cursor<'_>) -> Result<RawKind, LanguageError> {
    let name = cursor.expect_name("a function")?;
    cursor.expect_sign('(')?;
    let Some(kind) = carrier(cursor, &name.text.to_ascii_uppercase())? else {
        let known = FUNCTIONS.iter().copied().chain(
            HashFunction::NAMES
                .iter()
                .filter(|(_, function)| function.digest_bytes().is_some())
                .map(|(name, _)| *name),
        );
        return Err(LanguageError::new(
            name.span,
            format!("there is no {}(..) in a template", name.text),
        )
        .near(&name.text, known));
    };
    cursor.expect_sign(')')?;
    Ok(kind)
}

/// Parses `WHERE a MATCHES 'x' AND b MATCHES 'y'`, if it follows.
pub(super) fn patterns(cursor: &mut Cursor<'_>) -> Result<Vec<Pattern>, LanguageError> {
    let mut patterns = Vec::new();
    if !cursor.eat_word("WHERE") {
        return Ok(patterns);
    }
    loop {
        let field = cursor.expect_name("a column")?;
        cursor.expect_word("MATCHES")?;
        let (pattern, span) = cursor.expect_text("a regular expression in quotes")?;
        if let Err(error) = regex::Regex::new(&pattern) {
            let said = error.to_string();
            let last =
                said.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            return Err(LanguageError::new(
                span,
                format!("the regular expression is wrong: {last}"),
            ));
        }
        patterns.push(Pattern { field, pattern });
        if !cursor.eat_word("AND") {
            return Ok(patterns);
        }
    }
}
