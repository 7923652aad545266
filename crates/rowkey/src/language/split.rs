//! Parser and printer of the splits of a table.
//!
//! ```text
//! split := SPLIT BY SALT [x n] | SPLIT INTO n | SPLIT AT (row {, row}) | SPLIT LIKE table
//!        | SPLIT FROM SAMPLE 'file' INTO n | SPLIT ROLLING 'duration'
//! row   := 'text' | x'00ff'
//! ```

use std::fmt;
use std::str::FromStr;

use halite_types::key::to_bytes_binary;

use super::cursor::Cursor;
use super::declaration::SplitClause;
use super::error::LanguageError;
use super::lexer::TokenKind;
use super::print::{constant, hexadecimal, name, quoted};
use super::statement::table_name;
use super::types::{duration_ms, print_duration_ms};

/// Maximum regions created for one table at once.
pub const MAX_REGIONS: u32 = 100_000;

/// Parses the text after `SPLIT`.
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

    /// Parses a split clause, with or without the word `SPLIT`.
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
    match u32::try_from(cursor.expect_number("how many regions", MAX_REGIONS.into())?) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(LanguageError::new(span, "a table has at least one region")),
    }
}

/// Parses `x 2`, `x2` and `* 2`; returns 1 if none of them follows.
fn times(cursor: &mut Cursor<'_>) -> Result<u32, LanguageError> {
    if let TokenKind::Word(word) = *cursor.kind()
        && let Some(digits) = word.strip_prefix(['x', 'X']).filter(|digits| !digits.is_empty())
        && let Ok(count @ 1..=MAX_REGIONS) = digits.parse::<u32>()
    {
        cursor.advance();
        return Ok(count);
    }
    if cursor.eat_word("x") || cursor.eat_sign('*') { regions(cursor) } else { Ok(1) }
}

pub(super) fn rows(cursor: &mut Cursor<'_>) -> Result<Vec<Vec<u8>>, LanguageError> {
    cursor.expect_sign('(')?;
    let mut rows: Vec<Vec<u8>> = Vec::new();
    loop {
        let span = cursor.span();
        let row = match cursor.kind() {
            // Elsewhere \xNN in a key is a byte; here it would be four characters, which is never
            // intended.
            TokenKind::Text(text) if text.contains('\\') => {
                let error = LanguageError::new(span, "a row with a backslash is written as bytes");
                return Err(error.suggest(hexadecimal(&to_bytes_binary(text))));
            }
            TokenKind::Text(text) => text.clone().into_bytes(),
            TokenKind::Hex(bytes) => bytes.clone(),
            _ => return Err(cursor.unexpected(&["a row like 'm' or x'80'"])),
        };
        if row.is_empty() || rows.last().is_some_and(|before| *before >= row) {
            return Err(LanguageError::new(
                span,
                "rows at which a table is split are not empty, and each is greater than the one \
                 before",
            ));
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
    /// Formats the clause, with `SPLIT` in front.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SPLIT ")?;
        match self {
            Self::BySalt { regions_each: 1 } => out.write_str("BY SALT"),
            Self::BySalt { regions_each } => write!(out, "BY SALT x {regions_each}"),
            Self::Into(regions) => write!(out, "INTO {regions}"),
            Self::At(rows) => write!(
                out,
                "AT ({})",
                rows.iter()
                    .map(|row| if row.contains(&b'\\') { hexadecimal(row) } else { constant(row) })
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Self::Like(table) => write!(out, "LIKE {}", print_table(table)),
            Self::FromSample { file, regions } => {
                write!(out, "FROM SAMPLE {} INTO {regions}", quoted(file))
            }
            Self::Rolling(ms) => write!(out, "ROLLING '{}'", print_duration_ms(*ms)),
        }
    }
}

/// Returns a table's name as statements have it.
pub fn print_table(table: &halite_types::TableName) -> String {
    if table.namespace() == halite_types::schema::DEFAULT_NAMESPACE {
        name(table.qualifier())
    } else {
        format!("{}:{}", name(table.namespace()), name(table.qualifier()))
    }
}
