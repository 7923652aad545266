//! Reads and prints how a table is split.
//!
//! ```text
//! split := SPLIT BY SALT [x n] | SPLIT INTO n | SPLIT AT (row {, row}) | SPLIT LIKE table
//!        | SPLIT FROM SAMPLE 'file' INTO n | SPLIT ROLLING 'duration'
//! row   := 'text' | x'00ff'
//! ```

use std::fmt;
use std::str::FromStr;

use halite_types::key::parse_bytes;

use super::cursor::Cursor;
use super::declaration::SplitClause;
use super::error::LanguageError;
use super::lexer::TokenKind;
use super::print::{constant, hexadecimal, name, quoted};
use super::statement::table_name;
use super::types::{duration_ms, print_duration_ms};

/// Regions of one table that are made at once, at most.
pub const REGIONS_MAX: u32 = 100_000;

/// What follows `SPLIT`.
pub(super) fn split(cursor: &mut Cursor<'_>) -> Result<SplitClause, LanguageError> {
    if cursor.eat_words(&["BY", "SALT"]) {
        return Ok(SplitClause::BySalt { regions_each: times(cursor)? });
    }
    if cursor.eat_word("INTO") {
        return Ok(SplitClause::Into(regions(cursor)?));
    }
    if cursor.eat_word("AT") || cursor.eat_word("ON") {
        return Ok(SplitClause::At(rows(cursor)?));
    }
    if cursor.eat_word("LIKE") {
        return Ok(SplitClause::Like(table_name(cursor)?));
    }
    if cursor.eat_words(&["FROM", "SAMPLE"]) {
        let (file, _) = cursor.expect_text("the path of a file of row keys")?;
        cursor.expect_word("INTO")?;
        return Ok(SplitClause::FromSample { file, regions: regions(cursor)? });
    }
    if cursor.eat_word("ROLLING") {
        return Ok(SplitClause::Rolling(duration_ms(cursor)?));
    }
    Err(cursor.unexpected(&["BY SALT", "INTO", "AT", "LIKE", "FROM SAMPLE", "ROLLING"]))
}

impl FromStr for SplitClause {
    type Err = LanguageError;

    /// Reads what stands behind `SPLIT`, with that word or without it.
    fn from_str(text: &str) -> Result<Self, LanguageError> {
        let mut cursor = Cursor::new(text)?;
        cursor.eat_word("SPLIT");
        let clause = split(&mut cursor)?;
        cursor.expect_end()?;
        Ok(clause)
    }
}

fn regions(cursor: &mut Cursor<'_>) -> Result<u32, LanguageError> {
    let span = cursor.span();
    match u32::try_from(cursor.expect_number("how many regions", REGIONS_MAX.into())?) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(LanguageError::new(span, "a table has at least one region")),
    }
}

/// `x 2`, `x2` and `* 2`; 1 if none of them comes.
fn times(cursor: &mut Cursor<'_>) -> Result<u32, LanguageError> {
    if let TokenKind::Word(word) = *cursor.kind()
        && let Some(digits) = word.strip_prefix(['x', 'X']).filter(|digits| !digits.is_empty())
        && let Ok(count @ 1..=REGIONS_MAX) = digits.parse::<u32>()
    {
        cursor.advance();
        return Ok(count);
    }
    if cursor.eat_word("x") || cursor.eat_sign('*') { regions(cursor) } else { Ok(1) }
}

fn rows(cursor: &mut Cursor<'_>) -> Result<Vec<Vec<u8>>, LanguageError> {
    cursor.expect_sign('(')?;
    let mut rows: Vec<Vec<u8>> = Vec::new();
    loop {
        let span = cursor.span();
        let row = match cursor.kind() {
            // Elsewhere \xNN in a key is a byte; here it would be four letters, which nobody means.
            TokenKind::Text(text) if text.contains('\\') => {
                let error = LanguageError::new(span, "a row with a backslash is written as bytes");
                return Err(error.suggest(hexadecimal(&parse_bytes(text))));
            }
            TokenKind::Text(text) => text.clone().into_bytes(),
            TokenKind::Hex(bytes) => bytes.clone(),
            _ => return Err(cursor.unexpected(&["a row like 'm' or x'80'"])),
        };
        if row.is_empty() || rows.last().is_some_and(|before| *before >= row) {
            return Err(LanguageError::new(span, "rows at which a table is split are not empty, and each is greater than the one before"));
        }
        cursor.advance();
        rows.push(row);
        if !cursor.eat_sign(',') {
            cursor.expect_sign(')')?;
            return Ok(rows);
        }
    }
}

impl fmt::Display for SplitClause {
    /// As it is written, `SPLIT` in front.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SPLIT ")?;
        match self {
            Self::BySalt { regions_each: 1 } => out.write_str("BY SALT"),
            Self::BySalt { regions_each } => write!(out, "BY SALT x {regions_each}"),
            Self::Into(regions) => write!(out, "INTO {regions}"),
            Self::At(rows) => write!(
                out,
                "AT ({})",
                rows.iter().map(|row| if row.contains(&b'\\') { hexadecimal(row) } else { constant(row) }).collect::<Vec<_>>().join(", ")
            ),
            Self::Like(table) => write!(out, "LIKE {}", print_table(table)),
            Self::FromSample { file, regions } => write!(out, "FROM SAMPLE {} INTO {regions}", quoted(file)),
            Self::Rolling(ms) => write!(out, "ROLLING '{}'", print_duration_ms(*ms)),
        }
    }
}

/// A table's name as statements have it.
pub(crate) fn print_table(table: &halite_types::TableName) -> String {
    if table.namespace() == halite_types::schema::DEFAULT_NAMESPACE {
        name(table.qualifier())
    } else {
        format!("{}:{}", name(table.namespace()), name(table.qualifier()))
    }
}
