//! Columns that a statement makes of cells, besides those that the table declares: dynamic columns,
//! cells by their name, entries of a `MAP`, times of cells.

use std::sync::Arc;

use datafusion::arrow::datatypes::Field;
use halite_rowkey::language::{Column, ColumnType, Statement, statements};
use halite_rowkey::value::{FieldType, TimeUnit};
use halite_types::Bytes;

use super::shape::{CellDeclaration, ShapeColumn, Source};
use crate::error::{Result, SqlError, SqlState};
use crate::types::{arrow_field, decimal_field, timestamp_type};

/// Attributes that a column of one statement may have.
const ATTRIBUTES: [&str; 2] = ["ENCODING", "QUALIFIER"];
/// Attributes of declared columns, which say what is written.
const OF_DECLARATION: [&str; 9] =
    ["NOT", "NULL", "DEFAULT", "FAMILY", "PREFIX", "ALIAS", "VERSIONS", "PRIMARY", "OFFSET"];

/// Returns the column that a type and attributes declare, such as `I64 ENCODING TEXT`. Its qualifier
/// is its name unless they give another one.
///
/// # Errors
/// `UndefinedObject` for what is no type, `NotSupported` for what is no single cell.
pub(crate) fn declared(name: &str, text: &str) -> Result<Column> {
    let unknown = |what: &str| SqlError::new(SqlState::UndefinedObject, what);
    let words = || text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let given = words()
        .find(|word| OF_DECLARATION.iter().any(|attribute| word.eq_ignore_ascii_case(attribute)));
    if let Some(given) = given {
        return Err(unknown(&format!(
            "{text}: a column of one statement has a type, {}, and no {given}",
            ATTRIBUTES.join(" and ")
        )));
    }
    let sql = format!("CREATE TABLE t (c {text}, ROW KEY (k BYTES))");
    let parsed = statements(&sql).map_err(|error| match &error.suggestion {
        Some(suggestion) => unknown(&format!("{text}: {} ({suggestion})", error.message)),
        None => unknown(&format!("{text}: {}", error.message)),
    })?;
    let Some(Statement::CreateTable(table)) = parsed.into_iter().next() else {
        return Err(unknown(&format!("{text} is no type")));
    };
    match <[Column; 1]>::try_from(table.columns) {
        Ok([column]) if column.has_one_qualifier() => {
            let own = Bytes::copy_from_slice(name.as_bytes());
            let is_given = words().any(|word| word.eq_ignore_ascii_case("QUALIFIER"));
            let qualifier = if is_given { column.qualifier.clone() } else { own };
            Ok(column.qualified(qualifier))
        }
        Ok([column]) => Err(SqlError::unsupported(format!(
            "{} is more than one cell, and is declared: ALTER TABLE .. ADD",
            column.ty
        ))),
        Err(_) => Err(unknown(&format!("{text} is no type"))),
    }
}

/// Returns the column of cells of a declaration.
///
/// # Errors
/// `NotSupported` for an encoding that the type does not have.
pub(crate) fn cell_column(
    name: &str,
    family: &Bytes,
    qualifier: &Bytes,
    declared: &Column,
) -> Result<ShapeColumn> {
    let ty = match declared.ty {
        ColumnType::Value(ty) => ty,
        ColumnType::Decimal { .. } => FieldType::Decimal,
        ColumnType::Counter => FieldType::I64,
        ColumnType::Map { .. } | ColumnType::Series { .. } => {
            return Err(SqlError::unsupported(format!("{} is no single cell", declared.ty)));
        }
    };
    let Some(cell) = CellDeclaration::of(declared) else {
        let why = declared.codec().err().unwrap_or_default();
        return Err(SqlError::unsupported(format!("{} is not read: {why}", declared.ty)));
    };
    let field = match declared.ty {
        ColumnType::Decimal { precision, scale } => decimal_field(name, precision, scale),
        _ => arrow_field(name, ty, declared.ty != ColumnType::Counter),
    };
    Ok(ShapeColumn {
        name: name.to_owned(),
        ty,
        source: Source::Cell { family: family.clone(), qualifier: qualifier.clone() },
        field,
        cell: Some(Arc::new(cell)),
        map_key: None,
        is_extra: false,
        is_guessed: false,
    })
}

/// Returns the column of the bytes of a cell.
///
/// # Errors
/// None in practice.
pub(crate) fn bytes_column(name: &str, family: &Bytes, qualifier: &Bytes) -> Result<ShapeColumn> {
    let column = Column::new(name, ColumnType::Value(FieldType::Bytes), "");
    let column = cell_column(name, family, qualifier, &column)?;
    Ok(ShapeColumn { is_extra: true, ..column })
}

/// Returns the column of the time of a cell.
pub(crate) fn time_column(name: &str, family: &Bytes, qualifier: &Bytes) -> ShapeColumn {
    ShapeColumn {
        name: name.to_owned(),
        ty: FieldType::Timestamp(TimeUnit::Millis),
        source: Source::CellTs { family: family.clone(), qualifier: qualifier.clone() },
        field: Field::new(name, timestamp_type(), true),
        cell: None,
        map_key: None,
        is_extra: true,
        is_guessed: false,
    }
}

#[cfg(test)]
mod tests {
    use halite_rowkey::cell::CellEncoding;

    use super::*;

    #[test]
    fn types_of_one_statement_are_those_of_declarations() {
        let column = declared("a", "I64 ENCODING TEXT").unwrap();
        assert_eq!(column.ty, ColumnType::Value(FieldType::I64));
        assert_eq!((column.encoding, &column.qualifier[..]), (CellEncoding::Text, &b"a"[..]));
        assert_eq!(
            declared("a", "DECIMAL ( 9 , 2 )").unwrap().ty,
            ColumnType::Decimal { precision: 9, scale: 2 }
        );
        assert_eq!(declared("a", "STRING QUALIFIER x'800b'").unwrap().qualifier[..], [0x80, 0x0b]);
        for (text, state) in [
            ("NOTHING", SqlState::UndefinedObject),
            ("I64 NOT NULL", SqlState::UndefinedObject),
            ("I64, d I64", SqlState::UndefinedObject),
            ("I64 FAMILY f", SqlState::UndefinedObject),
            ("MAP(STRING, I64)", SqlState::NotSupported),
        ] {
            assert_eq!(declared("a", text).unwrap_err().state, state, "{text}");
        }
    }
}
