//! Row keys in answers: hexadecimal digits, the fields of a declared key, and HBase's own form.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_rowkey::plan::PlanOptions;
use halite_rowkey::schema::{Profile, SegmentKind};
use halite_rowkey::{DecodedKey, Dictionary, KeyBuf, KeyResolver, KeySchema, NoResolver};
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

/// Bytes that are appended to the beginning of a key to find its fields, at most.
const MAX_FILLED_BYTES: usize = 20;

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
        let key = self.key(bytes);
        match &self.declared {
            Some(declared) if key.fields.is_none() => {
                // The salt is that of a key of which the prefix is a part.
                Key { fields: declared.fields_of_prefix(bytes, Salts::Any), ..key }
            }
            _ => key,
        }
    }

    /// Returns the same form for bytes that are no row keys.
    pub(crate) fn undeclared(&self) -> Self {
        Self { declared: None, ..*self }
    }

    /// As [`KeyStyle::boundary`], of a key without its salt.
    pub(crate) fn unsalted_boundary(&self, bytes: &[u8]) -> Key {
        let fields = self.declared.as_ref().and_then(|declared| declared.fields_unsalted(bytes));
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

/// Salts of keys that are decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Salts {
    /// Those of the fields.
    Checked,
    Any,
}

/// Declared key of a table, with its dictionaries.
#[derive(Clone)]
pub(crate) struct DeclaredKey {
    pub(crate) schema: Arc<KeySchema>,
    dictionary: Option<Arc<Dictionary>>,
}

impl DeclaredKey {
    /// Returns the declared key of a table, if it declares one that can be read. Blocks for
    /// dictionaries.
    pub(crate) fn of(cluster: &dyn Cluster, table: &TableDescriptor) -> Option<Self> {
        let schema = Arc::new(KeySchema::from_descriptor(table)?.ok()?);
        let is_needed = Dictionary::is_needed(&schema);
        let open = || block_on(Dictionary::open_existing(cluster, table.name(), &schema)).ok();
        let dictionary = if is_needed { open().map(Arc::new) } else { None };
        Some(Self { schema, dictionary })
    }

    /// Returns a key that no table declares yet, without dictionaries.
    pub(crate) fn of_schema(schema: KeySchema) -> Self {
        Self { schema: Arc::new(schema), dictionary: None }
    }

    /// Returns the values of the fields of a key by their names; `None` if it is no key of this
    /// declaration, or has a field only in part.
    pub(crate) fn values(&self, key: &[u8]) -> Option<BTreeMap<String, String>> {
        let decoded = self.decode(key, Salts::Checked)?;
        let value = |(id, field): (usize, &halite_rowkey::Field)| {
            let value = decoded.get(id).filter(|_| !decoded.is_partial(id))?;
            Some((field.name.clone(), field.ty.print(value)))
        };
        self.schema.fields().iter().enumerate().map(value).collect()
    }

    /// Returns the options for planning queries on the key.
    pub(crate) fn plan_options(&self) -> PlanOptions {
        let resolver = self.dictionary.clone().map(|dictionary| dictionary as _);
        PlanOptions { resolver, ..PlanOptions::default() }
    }

    /// Returns the segments of which a prefix of keys has at least one byte, with the values of the
    /// least key that begins with it; `None` if none is found.
    fn fields_of_prefix(&self, prefix: &[u8], salts: Salts) -> Option<Vec<String>> {
        if prefix.is_empty() {
            return None;
        }
        let digits = self.schema.profile() == Profile::Text;
        let filler = if digits { b'0' } else { 0 };
        let mut key = prefix.to_vec();
        for _ in 0..MAX_FILLED_BYTES {
            key.push(filler);
            if let Some(fields) = self.fields_as(&key, salts) {
                let ranges = self.schema.split_segments(&key).ok()?;
                let known = ranges.iter().filter(|range| range.start < prefix.len()).count();
                return Some(fields.into_iter().take(known).collect());
            }
        }
        None
    }

    /// Returns the segments but the salt of a key without its salt, or of its beginning.
    fn fields_unsalted(&self, bytes: &[u8]) -> Option<Vec<String>> {
        if bytes.is_empty() {
            return None;
        }
        let mut salt = KeyBuf::default();
        self.schema.encode_salt(0, 0, &mut salt).ok()?;
        let key = [&salt[..], bytes].concat();
        let whole = self.fields_as(&key, Salts::Any);
        let mut fields = whole.or_else(|| self.fields_of_prefix(&key, Salts::Any))?;
        fields.remove(0);
        Some(fields)
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

    /// Returns the value of one segment of a key, as bytes and as text.
    pub(crate) fn value_of(&self, key: &[u8], segment: usize) -> Option<(Vec<u8>, String)> {
        let text = self.fields(key)?.get(segment)?.clone();
        let range = self.schema.split_segments(key).ok()?.get(segment)?.clone();
        Some((key.get(range)?.to_vec(), text))
    }

    /// Returns the value of one segment that all keys of a range have, if the bytes that its bounds
    /// share determine it.
    pub(crate) fn common_value(
        &self,
        start: &[u8],
        end: &[u8],
        segment: usize,
    ) -> Option<(Vec<u8>, String)> {
        let shared = start.iter().zip(end).take_while(|(one, other)| one == other).count();
        let key = self.least_key(start)?;
        let range = self.schema.split_segments(&key).ok()?.get(segment)?.clone();
        (range.end <= shared).then(|| self.value_of(&key, segment)).flatten()
    }

    /// Returns the least key that begins with a prefix, or equals it.
    fn least_key(&self, prefix: &[u8]) -> Option<Vec<u8>> {
        let filler = if self.schema.profile() == Profile::Text { b'0' } else { 0 };
        let mut key = prefix.to_vec();
        for _ in 0..=MAX_FILLED_BYTES {
            if !key.is_empty() && self.schema.split_segments(&key).is_ok() {
                return Some(key);
            }
            key.push(filler);
        }
        None
    }

    /// Returns the bytes of the salt at the start of the keys, if they begin with a binary one.
    pub(crate) fn salt_bytes(&self) -> Option<usize> {
        match self.schema.segments().first()?.kind {
            SegmentKind::Salt { count, .. } if self.schema.profile() == Profile::Bin => {
                Some(if count <= 256 { 1 } else { 2 })
            }
            _ => None,
        }
    }

    /// Returns the segments of a key as text; `None` if it is no key of this declaration.
    pub(crate) fn fields(&self, key: &[u8]) -> Option<Vec<String>> {
        self.fields_as(key, Salts::Checked)
    }

    fn fields_as(&self, key: &[u8], salts: Salts) -> Option<Vec<String>> {
        // Regions of a salted table begin with a salt alone.
        if self.salt_bytes() == Some(key.len()) {
            return Some(vec![number(key)]);
        }
        let decoded = self.decode(key, salts)?;
        let ranges = self.schema.split_segments(key).ok()?;
        let texts = ranges
            .into_iter()
            .enumerate()
            .map(|(at, range)| self.segment(at, key.get(range).unwrap_or_default(), &decoded));
        Some(texts.collect())
    }

    fn decode<'k>(&self, key: &'k [u8], salts: Salts) -> Option<DecodedKey<'k>> {
        let resolver: &dyn KeyResolver = match &self.dictionary {
            Some(dictionary) => &**dictionary,
            None => &NoResolver,
        };
        match salts {
            Salts::Checked => self.schema.decode_with(key, resolver).ok(),
            Salts::Any => self.schema.decode_unchecked(key, resolver).ok(),
        }
    }

    fn segment(&self, at: usize, bytes: &[u8], decoded: &DecodedKey<'_>) -> String {
        let kind = self.schema.segments().get(at).map(|segment| &segment.kind);
        let of_field = kind.and_then(SegmentKind::field).and_then(|id| {
            let (field, value) = (self.schema.fields().get(id)?, decoded.get(id)?);
            Some(field.ty.print(value))
        });
        match (of_field, kind) {
            (Some(text), _) => text,
            (None, Some(SegmentKind::Salt { .. })) if self.schema.profile() == Profile::Bin => {
                number(bytes)
            }
            (None, Some(SegmentKind::Hash { hex: false, .. })) => to_hex(bytes),
            (None, _) => to_string_binary(bytes),
        }
    }
}

/// Returns a big-endian number of at most eight bytes as text.
fn number(bytes: &[u8]) -> String {
    bytes.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> DeclaredKey {
        DeclaredKey { schema: Arc::new(text.parse().unwrap()), dictionary: None }
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
