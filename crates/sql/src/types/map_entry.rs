//! Entry of a `MAP` that a statement names, as in `tags['color']`.

use halite_rowkey::value::{FieldType, Value};

/// Entry of a `MAP`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MapEntry {
    /// Name of the column.
    pub(crate) map: String,
    /// Key, as the statement writes it.
    pub(crate) key: EntryKey,
}

/// Key of an entry, as a statement writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKey {
    /// Text.
    Text(String),
    /// Whole number.
    Number(i64),
}

impl MapEntry {
    /// Returns the name of the column that the entry is.
    pub(crate) fn column(&self) -> String {
        match &self.key {
            EntryKey::Text(text) => format!("{}['{text}']", self.map),
            EntryKey::Number(number) => format!("{}[{number}]", self.map),
        }
    }

    /// Returns the key as a value of its type; `None` if it is none.
    pub(crate) fn key(&self, ty: FieldType) -> Option<Value<'static>> {
        match (&self.key, ty.integer_range()) {
            (EntryKey::Text(text), _) if ty == FieldType::String => {
                Some(Value::Text(text.clone().into()))
            }
            (EntryKey::Number(number), Some((least, most))) if !ty.is_time() => {
                let fits = (least..=most).contains(&i128::from(*number));
                fits.then(|| match least {
                    0 => Value::Unsigned(number.unsigned_abs()),
                    _ => Value::Signed(*number),
                })
            }
            _ => None,
        }
    }
}
