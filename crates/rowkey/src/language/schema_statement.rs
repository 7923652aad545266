//! Parser of statements that change or remove what exists.
//!
//! ```text
//! statement  := ALTER TABLE table alteration {"," alteration}
//!             | DROP TABLE [IF EXISTS] table | TRUNCATE [TABLE] table [KEEP SPLITS]
//!             | CREATE SCHEMA [IF NOT EXISTS] name | DROP SCHEMA [IF EXISTS] name
//!             | FLUSH TABLE table | COMPACT TABLE table [MAJOR] | SPLIT TABLE table AT (row {, row})
//!             | ALTER TABLE table ADOPT COLUMNS FROM SAMPLE rows [APPLY]
//! alteration := ADD [COLUMN] column | DROP [COLUMN] name [PURGE] | RENAME COLUMN name TO name
//!             | ADD FAMILY name | DROP FAMILY name | SET (option {, option})
//!             | ADOPT COLUMNS (column {, column})
//! ```

use halite_types::TableName;

use super::change::{Alteration, NewColumn, SchemaStatement, TableOption};
use super::columns::column;
use super::cursor::Cursor;
use super::error::LanguageError;
use super::options::{OURS, RawOption, options};
use super::split::rows;
use super::statement::table_name;

/// Maximum rows of a sample: they are in memory.
const MAX_SAMPLED_ROWS: u32 = 100_000;

/// Returns the statement whose first words are not those of the other statements; `None` for none
/// of these.
pub(super) fn schema_statement(
    cursor: &mut Cursor<'_>,
) -> Result<Option<SchemaStatement>, LanguageError> {
    let statement = if cursor.eat_words(&["DROP", "TABLE"]) {
        let if_exists = cursor.eat_words(&["IF", "EXISTS"]);
        SchemaStatement::DropTable { table: table_name(cursor)?, if_exists }
    } else if cursor.eat_word("TRUNCATE") {
        cursor.eat_word("TABLE");
        let table = table_name(cursor)?;
        SchemaStatement::Truncate { table, keep_splits: cursor.eat_words(&["KEEP", "SPLITS"]) }
    } else if cursor.eat_words(&["CREATE", "SCHEMA"]) {
        let if_not_exists = cursor.eat_words(&["IF", "NOT", "EXISTS"]);
        SchemaStatement::CreateSchema { name: namespace(cursor)?, if_not_exists }
    } else if cursor.eat_words(&["DROP", "SCHEMA"]) {
        let if_exists = cursor.eat_words(&["IF", "EXISTS"]);
        SchemaStatement::DropSchema { name: namespace(cursor)?, if_exists }
    } else if cursor.eat_words(&["FLUSH", "TABLE"]) {
        SchemaStatement::Flush(table_name(cursor)?)
    } else if cursor.eat_words(&["COMPACT", "TABLE"]) {
        let table = table_name(cursor)?;
        SchemaStatement::Compact { table, is_major: cursor.eat_word("MAJOR") }
    } else if cursor.eat_words(&["SPLIT", "TABLE"]) {
        let table = table_name(cursor)?;
        cursor.expect_word("AT")?;
        SchemaStatement::Split { table, at: rows(cursor)? }
    } else {
        return Ok(None);
    };
    Ok(Some(statement))
}

fn namespace(cursor: &mut Cursor<'_>) -> Result<String, LanguageError> {
    let name = cursor.expect_name("the name of a schema")?;
    halite_types::schema::check_namespace(&name.text)
        .map_err(|error| LanguageError::new(name.span, error.to_string()))?;
    Ok(name.text)
}

/// Returns the rest of `ALTER TABLE`, behind the name of the table.
pub(super) fn alter(
    cursor: &mut Cursor<'_>,
    table: TableName,
) -> Result<SchemaStatement, LanguageError> {
    if cursor.eat_words(&["ADOPT", "COLUMNS", "FROM", "SAMPLE"]) {
        let span = cursor.span();
        let rows = cursor.expect_number("how many rows to read", MAX_SAMPLED_ROWS.into())?;
        let rows = u32::try_from(rows).unwrap_or(0);
        if rows == 0 {
            return Err(LanguageError::new(span, "a sample has at least one row"));
        }
        let apply = cursor.eat_word("APPLY");
        return Ok(SchemaStatement::AdoptFromSample { table, rows, apply });
    }
    let mut alterations = vec![alteration(cursor)?];
    while cursor.eat_sign(',') {
        alterations.push(alteration(cursor)?);
    }
    Ok(SchemaStatement::Alter { table, alterations })
}

fn alteration(cursor: &mut Cursor<'_>) -> Result<Alteration, LanguageError> {
    let family =
        |cursor: &mut Cursor<'_>| cursor.expect_name("the name of a family").map(|name| name.text);
    if cursor.eat_words(&["ADD", "FAMILY"]) {
        return family(cursor).map(Alteration::AddFamily);
    }
    if cursor.eat_words(&["DROP", "FAMILY"]) {
        return family(cursor).map(Alteration::DropFamily);
    }
    if cursor.eat_word("ADD") {
        cursor.eat_word("COLUMN");
        return new_column(cursor).map(Alteration::AddColumn);
    }
    if cursor.eat_words(&["ADOPT", "COLUMNS"]) {
        cursor.expect_sign('(')?;
        let mut columns = vec![new_column(cursor)?];
        while cursor.eat_sign(',') {
            columns.push(new_column(cursor)?);
        }
        cursor.expect_sign(')')?;
        return Ok(Alteration::AdoptColumns(columns));
    }
    if cursor.eat_word("DROP") {
        cursor.eat_word("COLUMN");
        let name = cursor.expect_name("a column")?.text;
        return Ok(Alteration::DropColumn { name, purge: cursor.eat_word("PURGE") });
    }
    if cursor.eat_words(&["RENAME", "COLUMN"]) {
        let from = cursor.expect_name("a column")?.text;
        cursor.expect_word("TO")?;
        return Ok(Alteration::RenameColumn { from, to: cursor.expect_name("a column")?.text });
    }
    if cursor.eat_word("SET") {
        cursor.expect_sign('(')?;
        let options = options(cursor)?.into_iter().map(table_option).collect::<Result<_, _>>()?;
        cursor.expect_sign(')')?;
        return Ok(Alteration::Set(options));
    }
    let expected =
        ["ADD", "DROP", "RENAME COLUMN", "SET", "ADOPT COLUMNS", "ADOPT ROW KEY", "ALTER SALT TO"];
    Err(cursor.unexpected(&expected))
}

fn new_column(cursor: &mut Cursor<'_>) -> Result<NewColumn, LanguageError> {
    let raw = column(cursor)?;
    if let Some(span) = raw.primary {
        return Err(LanguageError::new(span, "the key of a table that exists stays as it is"));
    }
    if let Some((_, span)) = raw.versions {
        let error = LanguageError::new(span, "versions are those of a family");
        return Err(error.suggest("SET (family.VERSIONS = n)"));
    }
    let has_family = raw.family.is_some();
    Ok(NewColumn { column: raw.in_family(""), has_family })
}

fn table_option(option: RawOption) -> Result<TableOption, LanguageError> {
    if OURS.iter().any(|ours| ours.eq_ignore_ascii_case(&option.name.text)) {
        let message = format!("{} is of the key and the columns", option.name.text);
        let error = LanguageError::new(option.name.span, message);
        return Err(error.suggest("ADOPT ROW KEY declares another key"));
    }
    let family = option.family.map(|family| family.text);
    Ok(TableOption { family, name: option.name.text, value: option.value })
}
