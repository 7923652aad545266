//! Key errors with the names of fields, and the expected value of a derived segment.

use crate::codec::KeyResolver;
use crate::error::{KeyError, KeyErrorKind};
use crate::literal::LiteralDisplay;
use crate::schema::{KeySchema, SegmentKind};
use crate::value::Value;

impl KeySchema {
    /// Formats an error of this schema, with the name of its field.
    pub fn describe_error(&self, error: &KeyError) -> String {
        let segment = self.segments().get(error.segment).filter(|_| {
            !matches!(error.kind, KeyErrorKind::WrongCount { .. } | KeyErrorKind::Length(_))
        });
        match segment.and_then(|segment| segment.kind.field()) {
            Some(field) => format!("field {}: {error}", self.fields()[field].name),
            None => error.to_string(),
        }
    }

    /// Formats as [`Self::describe_error`] for decoded bytes; for a salt, hash or constant that
    /// does not match the fields, with the expected one.
    pub fn describe_bad_key(
        &self,
        key: &[u8],
        helper: &dyn KeyResolver,
        error: &KeyError,
    ) -> String {
        let expected = if error.kind == KeyErrorKind::Derived {
            self.expected(key, helper, error.segment)
        } else {
            None
        };
        match expected {
            Some(expected) => format!("{}: {expected}", self.describe_error(error)),
            None => self.describe_error(error),
        }
    }

    fn expected(&self, key: &[u8], helper: &dyn KeyResolver, at: usize) -> Option<String> {
        let decoded = self.decode_unchecked(key, helper).ok()?;
        let values: Vec<Value<'_>> = decoded.values().to_vec();
        let again = self.encode_with(&values, helper).ok()?;
        let found = &key[self.split_segments(key).ok()?.get(at)?.clone()];
        let computed = &again[self.split_segments(&again).ok()?.get(at)?.clone()];
        let hexadecimal = halite_types::key::to_hex;
        let shown = |field: &usize| {
            format!(
                "{} = {}",
                self.fields()[*field].name,
                LiteralDisplay(&values[*field], self.fields()[*field].ty)
            )
        };
        Some(match &self.segments().get(at)?.kind {
            SegmentKind::Salt { .. } => {
                let salt = |bytes: &[u8]| {
                    self.salt_in(at, bytes).map_or_else(
                        || format!("x'{}'", hexadecimal(bytes)),
                        |salt| salt.to_string(),
                    )
                };
                let by: Vec<_> = self.hashed_fields(at).iter().map(shown).collect();
                format!("the salt is {}, and {} has {}", salt(found), by.join(", "), salt(computed))
            }
            SegmentKind::Hash { .. } => {
                let by: Vec<_> = self.hashed_fields(at).iter().map(shown).collect();
                format!(
                    "the hash is x'{}', and {} has x'{}'",
                    hexadecimal(found),
                    by.join(", "),
                    hexadecimal(computed)
                )
            }
            _ => format!(
                "it is x'{}', and x'{}' is expected",
                hexadecimal(found),
                hexadecimal(computed)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::NoResolver;

    #[test]
    fn wrong_derived_bytes_error_states_the_expected_bytes() {
        let said = |key: &str, bytes: &[u8]| {
            let key: KeySchema = key.parse().unwrap();
            key.describe_bad_key(bytes, &NoResolver, &key.decode(bytes).unwrap_err())
        };
        assert!(
            said("(SALT(16 BY id), id STRING)", b"\x05user_001")
                .ends_with("the salt is 5, and id = 'user_001' has 6")
        );
        let hash = said("(HASH(id BYTES 4 USING md5), id STRING)", b"\0\0\0\0user_001");
        assert!(
            hash.ends_with("the hash is x'00000000', and id = 'user_001' has x'669f08bf'"),
            "{hash}"
        );
        assert!(
            said("(CONST 'v1', id STRING)", b"v2a")
                .ends_with("it is x'7632', and x'7631' is expected")
        );
        assert!(said("(id STRING, n U16)", b"a\0\x01\x05").starts_with("field n: segment 2"));
    }

    #[test]
    fn wrong_value_error_names_its_field() {
        let key: KeySchema = "(id STRING, ts TIMESTAMP)".parse().unwrap();
        let error = key.encode(&["a".into(), Value::Null]).unwrap_err();
        assert_eq!(
            key.describe_error(&error),
            "field ts: segment 2 of the row key, at byte 3: the value is null, and the field is \
             not NULLABLE"
        );
    }
}
