//! Row keys in answers: hexadecimal digits, the fields of a declared key, and HBase's own form.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use halite_rowkey::plan::PlanOptions;
use halite_rowkey::{Dictionary, KeySchema};
use halite_rowkey_tools::picture::KeyLabels;
use halite_types::key::{to_hex, to_string_binary};
use halite_types::{Cluster, TableDescriptor, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use crate::params::{MAX_KEY_BYTES, Params};
use crate::problem::Answered;

/// Row key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Key {
    /// Its bytes in hexadecimal digits, at most `key_bytes_max` of them.
    pub(crate) hex: String,
    /// Its segments by the declared key, in the order of their bytes; absent if the table declares
    /// no key or the bytes are none of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<Vec<String>>,
    /// Its length in bytes, if it was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) len: Option<usize>,
    /// Its bytes as HBase prints them, if `keys=escaped` was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) escaped: Option<String>,
}

/// Form of the keys of an answer.
#[derive(Clone)]
pub(crate) struct KeyStyle {
    max_bytes: usize,
    is_escaped: bool,
    declared: Option<DeclaredKey>,
}

impl KeyStyle {
    /// Reads `keys` and `key_bytes_max`. Other values of `keys` are preferences of the page, which
    /// do not change the answer.
    pub(crate) fn of(params: &Params, declared: Option<DeclaredKey>) -> Answered<Self> {
        let max_bytes = params.number("key_bytes_max", 1..=MAX_KEY_BYTES, 256)?;
        Ok(Self { max_bytes, is_escaped: params.get("keys") == Some("escaped"), declared })
    }

    /// Returns a boundary between ranges of keys in this form. It may be the beginning of a key
    /// only: its fields are those of the least key that begins with it, as far as it determines
    /// them.
    pub(crate) fn boundary(&self, bytes: &[u8]) -> Key {
        let fields = self.declared.as_ref().and_then(|declared| declared.boundary(bytes));
        Key { fields, ..self.undeclared().key(bytes) }
    }

    /// Returns the same form for bytes that are no row keys.
    pub(crate) fn undeclared(&self) -> Self {
        Self { declared: None, ..*self }
    }

    /// As [`KeyStyle::boundary`], of a key without its salt.
    pub(crate) fn unsalted_boundary(&self, bytes: &[u8]) -> Key {
        let fields = self.declared.as_ref().and_then(|declared| declared.unsalted_boundary(bytes));
        Key { fields, ..self.undeclared().key(bytes) }
    }

    /// Returns a key in this form.
    pub(crate) fn key(&self, bytes: &[u8]) -> Key {
        let shown = &bytes[..bytes.len().min(self.max_bytes)];
        Key {
            hex: to_hex(shown),
            fields: self.declared.as_ref().and_then(|declared| declared.fields(bytes)),
            len: (shown.len() < bytes.len()).then_some(bytes.len()),
            escaped: self.is_escaped.then(|| to_string_binary(shown)),
        }
    }
}

/// Declared key of a table, with its dictionaries.
#[derive(Clone)]
pub(crate) struct DeclaredKey(KeyLabels);

impl Deref for DeclaredKey {
    type Target = KeyLabels;

    fn deref(&self) -> &KeyLabels {
        &self.0
    }
}

impl DeclaredKey {
    /// Returns the declared key of a table, if it declares one that can be read. Blocks for
    /// dictionaries.
    pub(crate) fn of(cluster: &dyn Cluster, table: &TableDescriptor) -> Option<Self> {
        let schema = Arc::new(KeySchema::from_descriptor(table)?.ok()?);
        let is_needed = Dictionary::is_needed(&schema);
        let open = || block_on(Dictionary::open_existing(cluster, table.name(), &schema)).ok();
        let dictionary = if is_needed { open() } else { None };
        let resolver = dictionary.map(|dictionary| Arc::new(dictionary) as _);
        Some(Self(KeyLabels { schema, resolver }))
    }

    /// Returns a key that no table declares yet, without dictionaries.
    pub(crate) fn of_schema(schema: KeySchema) -> Self {
        Self(KeyLabels::new(schema))
    }

    /// Returns the values of the fields of a key by their names; `None` if it is no key of this
    /// declaration, or has a field only in part.
    pub(crate) fn values(&self, key: &[u8]) -> Option<BTreeMap<String, String>> {
        let decoded = self.decode(key)?;
        let value = |(id, field): (usize, &halite_rowkey::Field)| {
            let value = decoded.get(id).filter(|_| !decoded.is_partial(id))?;
            Some((field.name.clone(), field.ty.print(value)))
        };
        self.schema.fields().iter().enumerate().map(value).collect()
    }

    /// Returns the options for planning queries on the key.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        PlanOptions { resolver: self.resolver.clone(), ..PlanOptions::default() }
    }

    /// Returns the names of the fields that have segments, in the order of these.
    pub(crate) fn field_names(&self) -> Vec<String> {
        let fields = self.schema.segments().iter().filter_map(|segment| segment.kind.field());
        fields
            .filter_map(|id| self.schema.fields().get(id))
            .map(|field| field.name.clone())
            .collect()
    }

    /// Returns the segment that has the values of a field; `None` if the key has no such field, or not
    /// its values.
    pub(crate) fn segment_of(&self, field: &str) -> Option<usize> {
        let id = self.schema.field_id(field)?;
        self.schema.segments().iter().position(|segment| segment.kind.field() == Some(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> DeclaredKey {
        DeclaredKey::of_schema(text.parse().unwrap())
    }

    fn style(params: &[(&str, &str)], declared: Option<DeclaredKey>) -> KeyStyle {
        let pairs = params.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        KeyStyle::of(&Params(pairs.collect()), declared).unwrap()
    }

    #[test]
    fn key_is_cut_and_escaped_as_asked() {
        let plain = style(&[], None).key(b"a\xff");
        assert_eq!((plain.hex.as_str(), plain.fields, plain.len), ("61ff", None, None));
        let cut = style(&[("key_bytes_max", "2"), ("keys", "escaped")], None);
        let long = cut.key(&vec![0xff; 32_767]);
        assert_eq!((long.hex.as_str(), long.len), ("ffff", Some(32_767)));
        assert_eq!(long.escaped.as_deref(), Some("\\xFF\\xFF"));
    }

    #[test]
    fn fields_contain_salts_and_values_in_order() {
        let key = declared("ROW KEY (SALT(16 BY device_id), device_id STRING, ts TIMESTAMP)");
        let values = key.schema.parse_values(["device_id=s1", "ts=2024-03-15T08:00:00Z"]).unwrap();
        let bytes = key.schema.encode(&values).unwrap();
        let fields = key.fields(&bytes).unwrap();
        assert_eq!(fields[1..], ["s1", "2024-03-15T08:00:00Z"]);
        assert_eq!(key.fields(&bytes[..1]), Some(vec![fields[0].clone()]));
        assert_eq!(key.fields(b"no key of this declaration"), None);
        let style = style(&[], Some(key));
        for salt in 0..16 {
            let cut = style.boundary(&[salt, b's', b'1', 0, 1]).fields.unwrap();
            assert_eq!(cut, [salt.to_string().as_str(), "s1"], "a part of a salted key");
        }
        let unsalted = style.unsalted_boundary(&bytes[1..]);
        assert_eq!(unsalted.fields.unwrap(), ["s1", "2024-03-15T08:00:00Z"]);
        assert_eq!(style.unsalted_boundary(b"s1\0\x01").fields.unwrap(), ["s1"]);
        assert_eq!(style.unsalted_boundary(b"").fields, None);
    }
}
