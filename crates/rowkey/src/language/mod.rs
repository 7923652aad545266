//! The row-key language: conversion of text to [`KeySchema`] and back. Statements that declare
//! tables are in `statement.rs` and the files it names; this module contains the key.
//!
//! ```text
//! key      := [ROW KEY] ( "(" segment {"," segment} ")" [PROFILE profile] | TEXT 'template' [WHERE match {AND match}] )
//! profile  := BIN | ORDERED [COMPAT] | PHOENIX
//! segment  := CONST 'text' | CONST x'00ff'
//!           | SALT(n [BY columns] [USING function])
//!           | HASH(hashed [BYTES n] [USING function] [HEX])
//!           | ( BUCKET(column, width) [type] | TRUNC(column, n) [type] | DICT(column, n) [type] | IPV4(column)
//!             | REVERSE(column) type | BITREV(column) type | column type ) {ASC | DESC | NULLABLE | NOT NULL}
//! hashed   := column [type] {"," column [type]}               -- the type where nothing else in the key holds the column
//! width    := 'duration' | duration | number            -- '15m', 15m, 3600
//! match    := column MATCHES 'regular expression'
//! template := { literal | "{{" | "}}" | "{" place [":" digits] "}" }
//! place    := x'00ff' | salt(n [BY columns] [USING function]) | function(hashed)
//!           | [rev(] ( column | bucket(column, width) | reverse(column) | bitrev(column) | trunc(column, n)
//!             | dict(column, n) | ipv4(column) ) [)] [type] [NULLABLE]
//! ```
//!
//! Keywords are case-insensitive. Names of columns are case-sensitive, and are in double quotes if
//! they are keywords or contain other characters than letters, digits and `_`. `--` and `/* */`
//! begin comments. A quote inside quotes is doubled.
//!
//! Omitted parts have defaults: salts and hashes are computed by `murmur3`, a salt from all columns
//! of the key, a hash has 4 bytes, BUCKET requires a `TIMESTAMP`, TRUNC and DICT a `STRING`, unless
//! the column has its type elsewhere in the key. In a template a column is a `STRING`; with digits
//! it is a `U64`, inside `bucket` and `rev` a `TIMESTAMP`. A digest's digits are hexadecimal, and
//! without any there are eight. A width without a unit is in the unit of the column.
//!
//! Printed text is canonical: equal schemas have equal text, which is parsed to the same schema.

mod altered;
mod build;
mod change;
mod columns;
mod comments;
mod create;
mod cursor;
mod declaration;
mod dialects;
mod error;
mod fingerprint;
mod key;
mod lexer;
mod literals;
mod options;
mod print;
mod queries;
#[cfg(test)]
pub(crate) mod random;
mod schema_statement;
mod show_create;
pub(crate) mod split;
pub(crate) mod statement;
pub(crate) mod table_attributes;
mod template;
#[cfg(test)]
mod tests;
mod types;

use std::str::FromStr;

pub use altered::{Altered, altered};
pub use change::{Alteration, NewColumn, SchemaStatement, TableOption};
pub use comments::{COMMENT, comment, set_comment};
pub use declaration::{
    Action, Column, ColumnType, ConditionKind, Query, QueryCondition, QueryOrder, SplitClause,
    Statement, Suppression, TableDeclaration,
};
pub use error::{LanguageError, Span};
pub(crate) use fingerprint::fnv1a;
pub use lexer::MAX_TEXT_BYTES;
pub use split::MAX_REGIONS;
pub use statement::{
    Located, Progress, begins_with_key, located_key, located_statements, progress, statements,
};
pub use table_attributes::{ROW_KEY, ROW_SCHEMA, ROW_STATS, Redeclared};
pub(crate) use types::print_width;

use self::cursor::Cursor;
use crate::schema::KeySchema;

impl FromStr for KeySchema {
    type Err = LanguageError;

    /// Parses a row key in the syntax of [`crate::language`]; the leading `ROW KEY` is optional.
    fn from_str(text: &str) -> Result<Self, LanguageError> {
        let mut cursor = Cursor::new(text)?;
        let key = key::row_key(&mut cursor)?;
        cursor.expect_end()?;
        key.build(&[])
    }
}
