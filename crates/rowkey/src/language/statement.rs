//! Reads statements: which one it is, and those that are short.
//!
//! ```text
//! statement := CREATE TABLE ..                                          -- create.rs
//!            | ALTER TABLE table ADOPT key [FORCE]                      -- key.rs, or a foreign one: foreign.rs
//!            | ALTER TABLE table ALTER SALT TO n [FROM TIMESTAMP 'time' | FROM TIMESTAMP milliseconds]
//!            | SHOW CREATE TABLE table
//! table     := name | namespace ":" name | namespace "." name           -- in double quotes if a name holds '-' or '.'
//! ```

use std::str::FromStr;

use halite_types::TableName;

use super::create::create_table;
use super::cursor::Cursor;
use super::declaration::{Statement, Suppression};
use super::error::{LanguageError, Span};
use super::foreign::adopted_key;
use super::key::row_key;
use super::lexer::{NO_END, TokenKind};
use crate::schema::{KeySchema, SALTS_MAX};
use crate::value::{FieldType, TimeUnit, Value};

/// A statement with its place in a text, for reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The statement.
    pub statement: Statement,
    /// Where it stands, without its semicolon.
    pub span: Span,
    /// Where the segments of its key stand, in their order; fewer where they follow from other words, as a salt from `SALT_BUCKETS`.
    pub segments: Vec<Span>,
    /// Lint rules that comments in it allow to be broken.
    pub suppressions: Vec<Suppression>,
}

impl Located {
    /// The line of `text`, from 1 on, of a segment of its key, or of the statement itself.
    pub fn line(&self, text: &str, segment: Option<usize>) -> usize {
        let key = match &self.statement {
            Statement::CreateTable(declaration) => Some(&declaration.key),
            Statement::Adopt { key, .. } => Some(key),
            _ => None,
        };
        let known = self.segments.len() == key.map_or(0, |key| key.segments().len());
        let span = segment.filter(|_| known).and_then(|at| self.segments.get(at)).unwrap_or(&self.span);
        line_of(text, span.start)
    }
}

/// The line of a byte of `text`, from 1 on.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// The statements of a text, with a semicolon behind each but the last.
///
/// # Errors
/// The first mistake, with its place.
pub fn statements(text: &str) -> Result<Vec<Statement>, LanguageError> {
    Ok(located_statements(text)?.into_iter().map(|located| located.statement).collect())
}

/// The same with their places.
///
/// # Errors
/// As [`statements`].
pub fn located_statements(text: &str) -> Result<Vec<Located>, LanguageError> {
    let mut cursor = Cursor::new(text)?;
    let mut found = Vec::new();
    let mut start = 0;
    loop {
        while cursor.eat_sign(';') {}
        if cursor.at_end() {
            return Ok(found);
        }
        let first = cursor.span();
        cursor.segments.clear();
        let mut statement = statement(&mut cursor)?;
        let span = first.to(cursor.last_span());
        // What is said on the last line of a statement stands behind its semicolon.
        let end =
            if cursor.is_sign(';') { text[cursor.span().end..].find('\n').map_or(text.len(), |line| cursor.span().end + line) } else { text.len() };
        let suppressions = suppressions(&cursor, Span { start, end });
        if let Statement::CreateTable(declaration) = &mut statement {
            declaration.suppressions.clone_from(&suppressions);
        }
        start = end;
        found.push(Located { statement, span, segments: std::mem::take(&mut cursor.segments), suppressions });
        if !cursor.at_end() && !cursor.is_sign(';') {
            return Err(cursor.unexpected(&["';'", "the end"]));
        }
    }
}

/// Whether a text is a row key that stands alone, by the words it begins with behind comments.
pub fn begins_with_key(text: &str) -> bool {
    Cursor::new(text).is_ok_and(|mut cursor| cursor.eat_words(&["ROW", "KEY"]))
}

/// A row key that stands alone, with the places of its segments and the lint rules that comments allow to be broken.
///
/// # Errors
/// As [`KeySchema`]'s `FromStr`.
pub fn located_key(text: &str) -> Result<(KeySchema, Vec<Span>, Vec<Suppression>), LanguageError> {
    let mut cursor = Cursor::new(text)?;
    let key = row_key(&mut cursor)?;
    cursor.expect_end()?;
    let suppressions = suppressions(&cursor, Span { start: 0, end: text.len() });
    Ok((key.build(&[])?, cursor.segments, suppressions))
}

/// How far statements have come that are read line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A semicolon ends the last one.
    Ended,
    /// The last one could end here; its semicolon is missing.
    Complete,
    /// More must follow.
    Open,
    /// A mistake, which no later line repairs.
    Wrong(LanguageError),
}

/// Reads the beginning of statements.
pub fn progress(text: &str) -> Progress {
    let mut cursor = match Cursor::new(text) {
        Ok(cursor) => cursor,
        Err(error) if !error.message.ends_with(NO_END) => return Progress::Wrong(error),
        // A semicolon at the end of a line was hardly meant as a part of text.
        Err(_) if text.trim_end().ends_with(';') => return Progress::Ended,
        Err(_) => return Progress::Open,
    };
    while !cursor.at_end() {
        cursor.advance();
    }
    if text.get(cursor.last_span().start..cursor.last_span().end) == Some(";") {
        return Progress::Ended;
    }
    match statements(text) {
        Ok(_) => Progress::Complete,
        Err(error) if error.span.start >= text.len() => Progress::Open,
        Err(error) => Progress::Wrong(error),
    }
}

impl FromStr for Statement {
    type Err = LanguageError;

    /// Reads one statement.
    fn from_str(text: &str) -> Result<Self, LanguageError> {
        let mut found = statements(text)?;
        match (found.pop(), found.is_empty()) {
            (Some(statement), true) => Ok(statement),
            (None, _) => Err(LanguageError::new(Span::default(), "there is no statement here")),
            (Some(_), false) => Err(LanguageError::new(Span { start: 0, end: text.len() }, "one statement is expected here, and there are more")),
        }
    }
}

fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, LanguageError> {
    if cursor.eat_words(&["CREATE", "TABLE"]) {
        return create_table(cursor).map(Statement::CreateTable);
    }
    if cursor.eat_words(&["SHOW", "CREATE", "TABLE"]) {
        return Ok(Statement::ShowCreateTable(table_name(cursor)?));
    }
    if !cursor.eat_words(&["ALTER", "TABLE"]) {
        return Err(cursor.unexpected(&["CREATE TABLE", "ALTER TABLE", "SHOW CREATE TABLE"]));
    }
    let table = table_name(cursor)?;
    if cursor.eat_word("ADOPT") {
        let key = adopted_key(cursor)?;
        return Ok(Statement::Adopt { table, key, forced: cursor.eat_word("FORCE") });
    }
    if !cursor.eat_words(&["ALTER", "SALT", "TO"]) {
        return Err(cursor.unexpected(&["ADOPT", "ALTER SALT TO"]));
    }
    let at = cursor.span();
    let salts = u32::try_from(cursor.expect_number("how many salts it is to have", SALTS_MAX.into())?).unwrap_or(0);
    if salts == 0 {
        return Err(LanguageError::new(at, format!("a key has 1 to {SALTS_MAX} salts")));
    }
    let from_ms = if cursor.eat_words(&["FROM", "TIMESTAMP"]) { Some(time(cursor)?) } else { None };
    Ok(Statement::AlterSalt { table, salts, from_ms })
}

/// A table's name, its namespace in front perhaps.
pub(super) fn table_name(cursor: &mut Cursor<'_>) -> Result<TableName, LanguageError> {
    let first = cursor.expect_name("a table's name")?;
    let second = if cursor.eat_sign(':') || cursor.eat_sign('.') { Some(cursor.expect_name("a table's name")?) } else { None };
    let span = first.span.to(cursor.last_span());
    let name = match second {
        Some(name) => TableName::new(first.text, name.text),
        None => first.text.parse(),
    };
    name.map_err(|error| LanguageError::new(span, error.to_string()))
}

/// A time in quotes as [`FieldType::parse`] reads it, or milliseconds since 1970.
fn time(cursor: &mut Cursor<'_>) -> Result<i64, LanguageError> {
    if matches!(cursor.kind(), TokenKind::Number(_)) {
        let ms = cursor.expect_number("milliseconds since 1970", i64::MAX.unsigned_abs())?;
        return Ok(i64::try_from(ms).unwrap_or(i64::MAX));
    }
    let (text, span) = cursor.expect_text("a time like '2024-01-31T12:00:00Z'")?;
    match FieldType::Timestamp(TimeUnit::Millis).parse(&text) {
        Ok(Value::Signed(ms)) => Ok(ms),
        Ok(_) => Err(LanguageError::new(span, "a time is not null")),
        Err(message) => Err(LanguageError::new(span, message)),
    }
}

/// The rules that comments in a part of the text allow to be broken.
pub(super) fn suppressions(cursor: &Cursor<'_>, part: Span) -> Vec<Suppression> {
    let inside = cursor.comments().iter().filter(|comment| (part.start..part.end).contains(&comment.span.start));
    let allowed = inside.filter_map(|comment| {
        let rest = comment.text.strip_prefix("lint:allow")?.trim();
        let (rule, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        (!rule.is_empty()).then(|| Suppression { rule: rule.to_owned(), reason: reason.trim().to_owned(), span: comment.span })
    });
    allowed.collect()
}
