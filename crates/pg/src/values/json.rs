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
        DataType::List(of) => list(of, &array.as_list::<i32>().value(row), out)?,
        DataType::LargeList(of) => list(of, &array.as_list::<i64>().value(row), out)?,
        DataType::FixedSizeList(of, _) => list(of, &array.as_fixed_size_list().value(row), out)?,
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

fn list(field: &FieldRef, items: &ArrayRef, out: &mut String) -> Result<()> {
    out.push('[');
    for at in 0..items.len() {
        if at > 0 {
            out.push_str(", ");
        }
        write(field, items, at, out)?;
    }
    out.push(']');
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
    fn lists_of_lists_are_arrays_of_arrays() {
        use halite_sql::datafusion::arrow::array::{ListArray, StringArray};
        use halite_sql::datafusion::arrow::buffer::OffsetBuffer;
        use halite_sql::datafusion::arrow::datatypes::Field;
        let of = |items: ArrayRef, lengths: Vec<usize>| -> ArrayRef {
            let item = Field::new("item", items.data_type().clone(), true).into();
            let offsets = OffsetBuffer::from_lengths(lengths);
            std::sync::Arc::new(ListArray::new(item, offsets, items, None))
        };
        let words = StringArray::from(vec![Some("a"), None, Some("\"")]);
        let lists = of(of(std::sync::Arc::new(words), vec![1, 2]), vec![2]);
        let field = Field::new("l", lists.data_type().clone(), true).into();
        assert_eq!(text(&field, &lists, 0).unwrap(), r#"[["a"], [null, "\""]]"#);
    }

    #[test]
    fn text_is_escaped() {
        let mut out = String::new();
        string("a\"b\\c\nd\u{1}\u{1f600}", &mut out);
        assert_eq!(out, "\"a\\\"b\\\\c\\nd\\u0001\u{1f600}\"");
    }
}
