//! Maps and structs as JSON.

use std::fmt::Write as _;

use halite_sql::datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _};
use halite_sql::datafusion::arrow::datatypes::{DataType, FieldRef};

use super::encode::Column;
use super::types;
use crate::error::Result;

/// Writes one value.
///
/// # Errors
/// A value without a text.
pub(super) fn text(field: &FieldRef, array: &ArrayRef, row: usize) -> Result<String> {
    let mut out = String::new();
    write(field, array, row, &mut out)?;
    Ok(out)
}

fn write(field: &FieldRef, array: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match field.data_type() {
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let fields = entries.fields();
            let keys = Column::new(&fields[0], keys)?;
            out.push('{');
            for at in 0..entries.len() {
                if at > 0 {
                    out.push_str(", ");
                }
                string(&keys.text(at)?, out);
                out.push_str(": ");
                write(&fields[1], values, at, out)?;
            }
            out.push('}');
        }
        DataType::Struct(fields) => {
            let values = array.as_struct();
            out.push('{');
            for (at, (field, value)) in fields.iter().zip(values.columns()).enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                string(field.name(), out);
                out.push_str(": ");
                write(field, value, row, out)?;
            }
            out.push('}');
        }
        _ => {
            let text = Column::new(field, array)?.text(row)?;
            match types::oid_of(field) {
                types::BOOL => out.push_str(if text == "t" { "true" } else { "false" }),
                types::INT2 | types::INT4 | types::INT8 | types::NUMERIC => out.push_str(&text),
                // JSON has no NaN and no infinity.
                types::FLOAT4 | types::FLOAT8 if !text.contains(['N', 'I']) => out.push_str(&text),
                _ => string(&text, out),
            }
        }
    }
    Ok(())
}

/// Writes text in quotes.
fn string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut out = String::new();
        string("a\"b\\c\nd\u{1}\u{1f600}", &mut out);
        assert_eq!(out, "\"a\\\"b\\\\c\\nd\\u0001\u{1f600}\"");
    }
}
