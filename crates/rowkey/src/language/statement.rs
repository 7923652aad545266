//! Parser of statements: selects the statement, and parses the short ones.
//!
//! ```text
//! statement := CREATE TABLE ..                                          -- create.rs
//!            | ALTER TABLE table ADOPT key [FORCE]                      -- key.rs, or a foreign one: dialects.rs
//!            | ALTER TABLE table ALTER SALT TO n [FROM TIMESTAMP 'time' | FROM TIMESTAMP milliseconds]
//!            | SHOW CREATE TABLE table
//!            | ..                                                       -- schema_statement.rs
//! table     := name | namespace ":" name | namespace "." name           -- in double quotes if a name holds '-' or '.'
//! ```

use std::str::FromStr;

use halite_types::TableName;

use super::create::create_table;
use super::cursor::Cursor;
use super::declaration::{Statement, Suppression};
use super::dialects::adopted_key;
use super::error::{LanguageError, Span};
use super::key::row_key;
use super::lexer::{NO_END, TokenKind};
use super::schema_statement::{alter, schema_statement};
use crate::schema::{KeySchema, MAX_SALTS};
use crate::value::{FieldType, TimeUnit, Value};

/// Statement with its position in a text, for reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// Statement.
    pub statement: Statement,
    /// Position, without its semicolon.
    pub span: Span,
    /// Positions of the segments of its key, in order; fewer if they follow from other words, such
    /// as a salt from `SALT_BUCKETS`.
    pub segments: Vec<Span>,
    /// Lint rules that its comments suppress.
    pub suppressions: Vec<Suppression>,
}

impl Located {
    /// Returns the line of `text`, from 1 on, of a segment of its key, or of the statement itself.
    pub fn line(&self, text: &str, segment: Option<usize>) -> usize {
        let key = match &self.statement {
            Statement::CreateTable(declaration) => Some(&declaration.key),
            Statement::Adopt { key, .. } => Some(key),
            _ => None,
        };
        let known = self.segments.len() == key.map_or(0, |key| key.segments().len());
        let span =
            segment.filter(|_| known).and_then(|at| self.segments.get(at)).unwrap_or(&self.span);
        line_of(text, span.start)
    }
}

/// Returns the line of a byte of `text`, from 1 on.
pub fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Returns the statements of a text, with a semicolon after each but the last.
///
/// # Errors
/// The first error, with its position.
pub fn statements(text: &str) -> Result<Vec<Statement>, LanguageError> {
    Ok(located_statements(text)?.into_iter().map(|located| located.statement).collect())
}

/// Returns the statements with their positions.
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
        // A suppression on the last line of a statement is after its semicolon.
        let end = if cursor.is_sign(';') {
            text[cursor.span().end..].find('\n').map_or(text.len(), |line| cursor.span().end + line)
        } else {
            text.len()
        };
        let suppressions = suppressions(&cursor, Span { start, end });
        if let Statement::CreateTable(declaration) = &mut statement {
            declaration.suppressions.clone_from(&suppressions);
        }
        start = end;
        found.push(Located {
            statement,
            span,
            segments: std::mem::take(&mut cursor.segments),
            suppressions,
        });
        if !cursor.at_end() && !cursor.is_sign(';') {
            return Err(cursor.unexpected(&["';'", "the end"]));
        }
    }
}

/// Returns `true` if a text is a single row key, judged by its first words after comments.
pub fn begins_with_key(text: &str) -> bool {
    Cursor::new(text).is_ok_and(|mut cursor| cursor.eat_words(&["ROW", "KEY"]))
}

/// Returns a single row key, with the positions of its segments and the lint rules that comments
/// suppress.
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

/// Progress of statements that are entered line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The last one ends with a semicolon.
    Ended,
    /// The last one could end here, but its semicolon is missing.
    Complete,
    /// More input is required.
    Open,
    /// Error that no further line can fix.
    Wrong(LanguageError),
}

/// Returns the progress of incomplete statements.
pub fn progress(text: &str) -> Progress {
    let mut cursor = match Cursor::new(text) {
        Ok(cursor) => cursor,
        Err(error) if !error.message.ends_with(NO_END) => return Progress::Wrong(error),
        // A semicolon at the end of a line is unlikely to be part of a text.
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

    /// Parses one statement.
    fn from_str(text: &str) -> Result<Self, LanguageError> {
        let mut found = statements(text)?;
        match (found.pop(), found.is_empty()) {
            (Some(statement), true) => Ok(statement),
            (None, _) => Err(LanguageError::new(Span::default(), "there is no statement here")),
            (Some(_), false) => Err(LanguageError::new(
                Span { start: 0, end: text.len() },
                "one statement is expected here, and there are more",
            )),
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
    if let Some(statement) = schema_statement(cursor)? {
        return Ok(Statement::Schema(statement));
    }
    if !cursor.eat_words(&["ALTER", "TABLE"]) {
        return Err(cursor.unexpected(&["CREATE TABLE", "ALTER TABLE", "SHOW CREATE TABLE"]));
    }
    let table = table_name(cursor)?;
    if cursor.is_word("ADOPT") && !cursor.is_word_ahead(1, "COLUMNS") {
        cursor.advance();
        let key = adopted_key(cursor)?;
        return Ok(Statement::Adopt { table, key, forced: cursor.eat_word("FORCE") });
    }
    if !cursor.eat_words(&["ALTER", "SALT", "TO"]) {
        return alter(cursor, table).map(Statement::Schema);
    }
    let at = cursor.span();
    let salts =
        u32::try_from(cursor.expect_number("how many salts it is to have", MAX_SALTS.into())?)
            .unwrap_or(0);
    if salts == 0 {
        return Err(LanguageError::new(at, format!("a key has 1 to {MAX_SALTS} salts")));
    }
    let from_ms = if cursor.eat_words(&["FROM", "TIMESTAMP"]) { Some(time(cursor)?) } else { None };
    Ok(Statement::AlterSalt { table, salts, from_ms })
}

/// Returns a table's name, with an optional namespace.
pub(super) fn table_name(cursor: &mut Cursor<'_>) -> Result<TableName, LanguageError> {
    let first = cursor.expect_name("a table's name")?;
    let second = if cursor.eat_sign(':') || cursor.eat_sign('.') {
        Some(cursor.expect_name("a table's name")?)
    } else {
        None
    };
    let span = first.span.to(cursor.last_span());
    let name = match second {
        Some(name) => TableName::new(first.text, name.text),
        None => first.text.parse(),
    };
    name.map_err(|error| LanguageError::new(span, error.to_string()))
}

/// Returns a time in quotes as [`FieldType::parse`] reads it, or milliseconds since 1970.
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

/// Returns the rules that comments in a part of the text suppress.
pub(super) fn suppressions(cursor: &Cursor<'_>, part: Span) -> Vec<Suppression> {
    let inside = cursor
        .comments()
        .iter()
        .filter(|comment| (part.start..part.end).contains(&comment.span.start));
    let allowed = inside.filter_map(|comment| {
        let rest = comment.text.strip_prefix("lint:allow")?.trim();
        let (rule, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        (!rule.is_empty()).then(|| Suppression {
            rule: rule.to_owned(),
            reason: reason.trim().to_owned(),
            span: comment.span,
        })
    });
    allowed.collect()
}
