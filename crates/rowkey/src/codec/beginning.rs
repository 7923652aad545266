//! Values at the beginning of a key, such as the bound of a range, which ends inside of one.

use super::KeyResolver;
use crate::literal::LiteralDisplay;
use crate::schema::{FieldId, KeySchema, SegmentKind};
use crate::value::Value;

/// Values of the whole segments at the beginning of a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beginning {
    /// Salts.
    pub salts: Vec<u32>,
    /// Fields, with the values of what the key has of them.
    pub fields: Vec<(FieldId, Value<'static>)>,
    /// Bytes of the segments.
    pub bytes: usize,
}

impl Beginning {
    /// Returns the fields as `a = 'x', b = 5`.
    pub fn text(&self, schema: &KeySchema) -> String {
        let shown = |(field, value): &(FieldId, Value<'static>)| {
            let field = &schema.fields()[*field];
            format!("{} = {}", field.name, LiteralDisplay(value, field.ty))
        };
        self.fields.iter().map(shown).collect::<Vec<_>>().join(", ")
    }
}

impl KeySchema {
    /// Returns the values of the segments at the beginning of a key, up to the first one that is
    /// not whole, or is none.
    pub fn beginning(&self, key: &[u8], helper: &dyn KeyResolver) -> Beginning {
        let mut found = Beginning::default();
        for (at, segment) in self.segments().iter().enumerate() {
            if found.bytes >= key.len() {
                break;
            }
            let Ok(end) = self.end_of(at, key, found.bytes) else { break };
            let Some(bytes) = key.get(found.bytes..end) else { break };
            if let SegmentKind::Salt { .. } = segment.kind {
                found.salts.extend(self.salt_in(at, bytes));
            }
            if let Some(slot) = self.slot(at).filter(|slot| !slot.is_held_elsewhere) {
                let Ok(value) = self.read_value(&slot, bytes, helper) else { break };
                found.fields.push((slot.field, value.into_owned()));
            }
            found.bytes = end;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::NoResolver;

    #[test]
    fn beginning_of_a_key_has_the_values_of_its_whole_segments() {
        let text = "ROW KEY (SALT(4 BY a), a STRING, b I32 DESC, c STRING)";
        let schema: KeySchema = text.parse().expect("a schema");
        let values = ["x".into(), Value::Signed(-7), "tail".into()];
        let key = schema.encode(&values).expect("a key");
        let whole = schema.beginning(&key, &NoResolver);
        assert_eq!(whole.text(&schema), "a = 'x', b = -7, c = 'tail'");
        assert_eq!((whole.salts.len(), whole.bytes), (1, key.len()));
        // The salt, `x`, its end of two bytes, three of the four bytes of b.
        let cut = schema.beginning(&key[..7], &NoResolver);
        assert_eq!((cut.text(&schema).as_str(), cut.bytes), ("a = 'x'", 4));
        assert_eq!(schema.beginning(&[], &NoResolver), Beginning::default());
        assert_eq!(schema.beginning(&key[..1], &NoResolver).salts, whole.salts);
        assert_eq!(schema.beginning(b"\x01a\x00\x07", &NoResolver).fields, []);
    }
}
