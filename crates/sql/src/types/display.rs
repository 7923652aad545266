//! Values of results as text, for the command and tests.

use std::net::{Ipv4Addr, Ipv6Addr};

use datafusion::arrow::array::{
    Array, AsArray as _, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, StructArray,
};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use halite_types::key::to_hex;

use super::TYPE_KEY;

/// Formats one value of a result; `None` is null. Numbers and times are as Arrow prints them, times
/// in UTC; bytes are `\x` and hexadecimal digits, as PostgreSQL prints them.
///
/// # Errors
/// A type that has no text.
pub fn cell_text(field: &Field, array: &dyn Array, row: usize) -> crate::Result<Option<String>> {
    if array.is_null(row) {
        return Ok(None);
    }
    let text = match array.data_type() {
        // Its values are not marked as null.
        DataType::Null => return Ok(None),
        DataType::FixedSizeBinary(_) => {
            let bytes = array.as_any().downcast_ref::<FixedSizeBinaryArray>();
            bytes.map(|array| fixed_text(field, array.value(row)))
        }
        DataType::Binary => {
            array.as_any().downcast_ref::<BinaryArray>().map(|array| bytea(array.value(row)))
        }
        DataType::BinaryView => {
            array.as_any().downcast_ref::<BinaryViewArray>().map(|array| bytea(array.value(row)))
        }
        DataType::Map(..) => Some(map_text(&array.as_map().value(row))?),
        _ => None,
    };
    if let Some(text) = text {
        return Ok(Some(text));
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options)
        .map_err(|error| crate::SqlError::unsupported(error.to_string()))?;
    Ok(Some(formatter.value(row).to_string()))
}

/// Bytes as PostgreSQL prints them.
fn bytea(bytes: &[u8]) -> String {
    format!("\\x{}", to_hex(bytes))
}

fn fixed_text(field: &Field, bytes: &[u8]) -> String {
    let ty = field.metadata().get(TYPE_KEY).map(String::as_str);
    match (ty, bytes.len()) {
        (Some("UUID"), 16) => {
            let hex = to_hex(bytes);
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
        }
        (Some("IPV4"), _) => <[u8; 4]>::try_from(bytes)
            .map_or_else(|_| bytea(bytes), |bytes| Ipv4Addr::from(bytes).to_string()),
        (Some("IPV6"), _) => <[u8; 16]>::try_from(bytes)
            .map_or_else(|_| bytea(bytes), |bytes| Ipv6Addr::from(bytes).to_string()),
        _ => bytea(bytes),
    }
}

/// Formats a map as `{key: value, ..}`.
fn map_text(entries: &StructArray) -> crate::Result<String> {
    let (keys, values) = (entries.column(0), entries.column(1));
    let fields = entries.fields();
    let mut parts = Vec::with_capacity(entries.len());
    for at in 0..entries.len() {
        let key = cell_text(&fields[0], keys, at)?.unwrap_or_default();
        let value = cell_text(&fields[1], values, at)?.unwrap_or_else(|| "NULL".to_owned());
        parts.push(format!("{key}: {value}"));
    }
    Ok(format!("{{{}}}", parts.join(", ")))
}
