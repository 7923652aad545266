//! Lists as values of parameters: `{1,NULL,"a b"}`, or their binary form of one dimension.

use bytes::Bytes;
use halite_sql::datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use halite_sql::datafusion::common::ScalarValue;

use super::decode;
use super::types::{self, Oid};
use crate::error::{INVALID_VALUE, LIMIT_EXCEEDED, NOT_SUPPORTED, PgError, Result};
use crate::wire::cursor::Cursor;

/// Items of a list, as of IN.
const MAX_ITEMS: usize = 100_000;

/// Returns the items' field, if a field is a list.
pub(super) fn items_of(field: &Field) -> Option<&FieldRef> {
    match field.data_type() {
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => Some(of),
        _ => None,
    }
}

/// Reads the text form.
///
/// # Errors
/// Text that is no list, items that are none of the type.
pub(super) fn from_text(text: &str, of: &FieldRef) -> Result<ScalarValue> {
    let oid = types::oid_of(of);
    let value =
        |item: Option<String>| decode::value(item.map(Bytes::from).as_ref(), false, oid, of);
    let items = items(text)?.into_iter().map(value).collect::<Result<_>>()?;
    list(items, of)
}

/// Returns the items of the text form; `None` for those that are null.
///
/// # Errors
/// Text that is no list.
pub(crate) fn items(text: &str) -> Result<Vec<Option<String>>> {
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(|| wrong("a list is written {1,2,3}"))?;
    let mut items = Vec::new();
    let mut letters = inner.chars().peekable();
    while letters.peek().is_some() {
        if items.len() >= MAX_ITEMS {
            return Err(too_many());
        }
        let (item, is_quoted) = next_item(&mut letters)?;
        if !is_quoted && item.is_empty() {
            return Err(wrong("an item of a list is missing"));
        }
        let is_null = !is_quoted && item.eq_ignore_ascii_case("null");
        items.push((!is_null).then_some(item));
        if letters.next_if_eq(&',').is_some() && letters.peek().is_none() {
            return Err(wrong("an item of a list is missing"));
        }
    }
    Ok(items)
}

/// Reads one item up to its comma; `true` if it is in quotes.
fn next_item(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<(String, bool)> {
    while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
    let mut item = String::new();
    if letters.next_if_eq(&'"').is_none() {
        while let Some(letter) = letters.next_if(|letter| *letter != ',') {
            match letter {
                '{' | '}' => return Err(wrong("lists of lists are not read")),
                '\\' => item.extend(letters.next()),
                letter => item.push(letter),
            }
        }
        return Ok((item.trim_end().to_owned(), false));
    }
    loop {
        match letters.next() {
            Some('"') => break,
            Some('\\') => item.extend(letters.next()),
            Some(letter) => item.push(letter),
            None => return Err(wrong("an item of a list ends within its quotes")),
        }
    }
    while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
    match letters.peek() {
        None | Some(',') => Ok((item, true)),
        Some(_) => Err(wrong("an item of a list has letters after its quotes")),
    }
}

/// Reads the binary form.
///
/// # Errors
/// More than one dimension, items that are none of their type.
pub(super) fn from_binary(bytes: &Bytes, of: &FieldRef) -> Result<ScalarValue> {
    let mut cursor = Cursor::new(bytes.clone());
    let dimensions = cursor.i32()?;
    let _has_nulls = cursor.i32()?;
    let oid: Oid = cursor.u32()?;
    if dimensions > 1 {
        return Err(PgError::new(NOT_SUPPORTED, "lists of lists are not read"));
    }
    let count = if dimensions == 1 { usize::try_from(cursor.i32()?).unwrap_or(0) } else { 0 };
    if count > MAX_ITEMS {
        return Err(too_many());
    }
    if dimensions == 1 {
        let _first = cursor.i32()?;
    }
    let mut items = Vec::new();
    for _ in 0..count {
        let item = match usize::try_from(cursor.i32()?) {
            Ok(length) => Some(cursor.bytes(length)?),
            Err(_) => None,
        };
        items.push(decode::value(item.as_ref(), true, oid, of)?);
    }
    if cursor.remaining() > 0 {
        return Err(wrong("a list has more bytes than its items"));
    }
    list(items, of)
}

/// Returns a list of items, as the type of the statement's.
fn list(items: Vec<ScalarValue>, of: &FieldRef) -> Result<ScalarValue> {
    let ty = of.data_type();
    let typed =
        |item: ScalarValue| if item.data_type() == *ty { Ok(item) } else { item.cast_to(ty) };
    let items = items.into_iter().map(typed).collect::<std::result::Result<Vec<_>, _>>();
    Ok(ScalarValue::List(ScalarValue::new_list(&items?, ty, true)))
}

fn wrong(what: &str) -> PgError {
    PgError::new(INVALID_VALUE, what)
}

fn too_many() -> PgError {
    PgError::new(LIMIT_EXCEEDED, format!("a list has more than {MAX_ITEMS} items; send several"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn numbers() -> FieldRef {
        Arc::new(Field::new("item", DataType::Int64, true))
    }

    fn ints(items: &[Option<i64>]) -> ScalarValue {
        let items: Vec<ScalarValue> = items.iter().copied().map(ScalarValue::Int64).collect();
        ScalarValue::List(ScalarValue::new_list(&items, &DataType::Int64, true))
    }

    #[test]
    fn text_of_lists_is_read() {
        let read = |text| from_text(text, &numbers());
        assert_eq!(read("{1, -2,NULL}"), Ok(ints(&[Some(1), Some(-2), None])));
        assert_eq!(read("{}"), Ok(ints(&[])));
        for wrong in ["1,2", "{1,}", "{,1}", "{{1}}", "{x}", "{\"1}", "{\"1\"2}", "{"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let texts: FieldRef = Arc::new(Field::new("item", DataType::Utf8View, true));
        let items = ["a b", "null", "c\"\\", "d"].map(ScalarValue::from);
        let items: Vec<ScalarValue> =
            items.iter().map(|item| item.cast_to(&DataType::Utf8View).expect("text")).collect();
        let expected = ScalarValue::List(ScalarValue::new_list(&items, &DataType::Utf8View, true));
        assert_eq!(from_text(r#"{a b,"null","c\"\\",d}"#, &texts), Ok(expected));
    }

    #[test]
    fn binary_lists_are_read() {
        let mut bytes = Vec::new();
        for number in [1i32, 1, 20, 2, 1, 8] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(7i64.to_be_bytes());
        bytes.extend((-1i32).to_be_bytes());
        let read = |bytes: &[u8]| from_binary(&Bytes::copy_from_slice(bytes), &numbers());
        assert_eq!(read(&bytes), Ok(ints(&[Some(7), None])));
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
        assert!(read(&[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 20]).is_err());
        // A count beyond the message reserves nothing.
        let mut huge = bytes[..12].to_vec();
        huge.extend(i32::MAX.to_be_bytes());
        assert!(read(&huge).is_err());
        assert_eq!(read(&[0; 12]), Ok(ints(&[])));
    }
}
