//! Keys and boundaries of ranges as the fields of a declared key.

use std::sync::Arc;

use halite_types::key::{to_hex, to_string_binary};

use crate::codec::{DecodedKey, KeyBuf, KeyResolver, NoResolver};
use crate::schema::{KeySchema, Profile, Segment, SegmentKind};

/// Bytes that are appended to the beginning of a key to find its fields, at most.
const MAX_FILLED_BYTES: usize = 20;
/// Bytes of a key without a schema that a label has, at most.
const MAX_LABEL_BYTES: usize = 32;

/// Declared key, with the dictionaries of its fields if it has any.
#[derive(Clone)]
pub struct KeyLabels {
    /// Declared key.
    pub schema: Arc<KeySchema>,
    /// Values of dictionaries.
    pub resolver: Option<Arc<dyn KeyResolver + Send + Sync>>,
}

/// Salts of keys that are decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Salts {
    /// Those of the fields.
    Checked,
    Any,
}

/// Returns the name of a segment: that of its field, or of what is computed.
#[must_use]
pub fn segment_name<'s>(schema: &'s KeySchema, segment: &Segment) -> &'s str {
    let field = segment.kind.field().and_then(|id| schema.fields().get(id));
    match (field, &segment.kind) {
        (Some(field), _) => &field.name,
        (None, SegmentKind::Const(_)) => "const",
        (None, SegmentKind::Salt { .. }) => "salt",
        (None, _) => "hash",
    }
}

impl KeyLabels {
    /// Returns the labels of a key without dictionaries.
    #[must_use]
    pub fn new(schema: KeySchema) -> Self {
        Self { schema: Arc::new(schema), resolver: None }
    }

    /// Returns the names of the segments, in the order of their bytes.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let segments = self.schema.segments().iter();
        segments.map(|segment| segment_name(&self.schema, segment).to_owned()).collect()
    }

    /// Returns the label of a range of keys: the fields of its first key, or its bytes as HBase
    /// prints them if they are no key of the declaration.
    #[must_use]
    pub fn label(&self, start: &[u8]) -> Vec<String> {
        self.boundary(start).unwrap_or_else(|| Self::plain_label(start))
    }

    /// Returns a boundary as [`Self::boundary`], in one line with the names of the segments:
    /// `salt = 1, device = d1`. `None` if it is none of the declaration, as an empty one.
    #[must_use]
    pub fn boundary_line(&self, bytes: &[u8]) -> Option<String> {
        let named = self.names().into_iter().zip(self.boundary(bytes)?);
        let parts: Vec<String> = named.map(|(name, text)| format!("{name} = {text}")).collect();
        (!bytes.is_empty()).then(|| parts.join(", "))
    }

    /// As [`Self::label`], of a table that declares no key.
    #[must_use]
    pub fn plain_label(start: &[u8]) -> Vec<String> {
        if start.is_empty() {
            return vec!["(first)".to_owned()];
        }
        vec![to_string_binary(&start[..start.len().min(MAX_LABEL_BYTES)])]
    }

    /// Returns the fields of a boundary between ranges of keys. It may be the beginning of a key
    /// only: its fields are those of the least key that begins with it, as far as it determines
    /// them. `None` if it is none of the declaration.
    #[must_use]
    pub fn boundary(&self, bytes: &[u8]) -> Option<Vec<String>> {
        // The salt is that of a key of which the prefix is a part.
        self.fields(bytes).or_else(|| self.fields_of_prefix(bytes, Salts::Any))
    }

    /// As [`Self::boundary`], of a key without its salt: the fields but the salt.
    #[must_use]
    pub fn unsalted_boundary(&self, bytes: &[u8]) -> Option<Vec<String>> {
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

    /// Returns the segments of a key as text; `None` if it is no key of this declaration.
    #[must_use]
    pub fn fields(&self, key: &[u8]) -> Option<Vec<String>> {
        self.fields_as(key, Salts::Checked)
    }

    /// Returns the values of a key; `None` if it is no key of this declaration.
    #[must_use]
    pub fn decode<'k>(&self, key: &'k [u8]) -> Option<DecodedKey<'k>> {
        self.decode_as(key, Salts::Checked)
    }

    /// Returns the value of one segment of a key, as bytes and as text.
    #[must_use]
    pub fn value_of(&self, key: &[u8], segment: usize) -> Option<(Vec<u8>, String)> {
        let text = self.fields(key)?.get(segment)?.clone();
        let range = self.schema.split_segments(key).ok()?.get(segment)?.clone();
        Some((key.get(range)?.to_vec(), text))
    }

    /// Returns the value of one segment that all keys of a range have, if the bytes that its bounds
    /// share determine it.
    #[must_use]
    pub fn common_value(
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

    /// Returns the bytes of the salt at the start of the keys, if they begin with a binary one.
    #[must_use]
    pub fn salt_bytes(&self) -> Option<usize> {
        match self.schema.segments().first()?.kind {
            SegmentKind::Salt { count, .. } if self.schema.profile() == Profile::Bin => {
                Some(if count <= 256 { 1 } else { 2 })
            }
            _ => None,
        }
    }

    /// Returns the segments of which a prefix of keys has at least one byte, with the values of the
    /// least key that begins with it; `None` if none is found.
    fn fields_of_prefix(&self, prefix: &[u8], salts: Salts) -> Option<Vec<String>> {
        if prefix.is_empty() {
            return None;
        }
        let mut key = prefix.to_vec();
        for _ in 0..MAX_FILLED_BYTES {
            key.push(self.filler());
            if let Some(fields) = self.fields_as(&key, salts) {
                let ranges = self.schema.split_segments(&key).ok()?;
                let known = ranges.iter().filter(|range| range.start < prefix.len()).count();
                return Some(fields.into_iter().take(known).collect());
            }
        }
        None
    }

    /// Returns the least key that begins with a prefix, or equals it.
    fn least_key(&self, prefix: &[u8]) -> Option<Vec<u8>> {
        let mut key = prefix.to_vec();
        for _ in 0..=MAX_FILLED_BYTES {
            if !key.is_empty() && self.schema.split_segments(&key).is_ok() {
                return Some(key);
            }
            key.push(self.filler());
        }
        None
    }

    fn filler(&self) -> u8 {
        if self.schema.profile() == Profile::Text { b'0' } else { 0 }
    }

    fn fields_as(&self, key: &[u8], salts: Salts) -> Option<Vec<String>> {
        // Regions of a salted table begin with a salt alone.
        if self.salt_bytes() == Some(key.len()) {
            return Some(vec![big_endian(key)]);
        }
        let decoded = self.decode_as(key, salts)?;
        let ranges = self.schema.split_segments(key).ok()?;
        let texts = ranges
            .into_iter()
            .enumerate()
            .map(|(at, range)| self.segment(at, key.get(range).unwrap_or_default(), &decoded));
        Some(texts.collect())
    }

    fn decode_as<'k>(&self, key: &'k [u8], salts: Salts) -> Option<DecodedKey<'k>> {
        let resolver: &dyn KeyResolver = match &self.resolver {
            Some(resolver) => &**resolver,
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
                big_endian(bytes)
            }
            (None, Some(SegmentKind::Hash { hex: false, .. })) => to_hex(bytes),
            (None, _) => to_string_binary(bytes),
        }
    }
}

/// Returns a big-endian number of at most eight bytes as text.
fn big_endian(bytes: &[u8]) -> String {
    bytes.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_lines_of_names_and_values() {
        let labels = KeyLabels::new("ROW KEY (SALT(4 BY id), id U32)".parse().unwrap());
        assert_eq!(labels.boundary_line(&[1, 0, 0, 2]).as_deref(), Some("salt = 1, id = 512"));
        assert_eq!(labels.boundary_line(&[3]).as_deref(), Some("salt = 3"));
        assert_eq!(labels.boundary_line(b""), None);
        assert_eq!(labels.boundary_line(b"no key of it"), None);
    }
}
