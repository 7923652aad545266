//! Values, conditions and decoded keys as people write them beside a declared key: `device_id=s1`, `ts=2024-03-15..2024-03-16`.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::key::parse_bytes;

use crate::codec::Decoded;
use crate::literal::Shown;
use crate::plan::{KeyQuery, Test};
use crate::schema::{FieldId, KeySchema};
use crate::value::{FieldType, Value};

impl KeySchema {
    /// The values of `FIELD=VALUE` texts, in the order of the fields; a field that none of them names is null.
    ///
    /// # Errors
    /// What is wrong with which of them.
    pub fn parse_values<'t>(&self, given: impl IntoIterator<Item = &'t str>) -> Result<Vec<Value<'static>>, String> {
        let mut values = vec![Value::Null; self.fields().len()];
        for one in given {
            let (name, text) = one.split_once('=').ok_or_else(|| format!("{one:?}: a value is given as FIELD=VALUE"))?;
            let field = self.field_named(name)?;
            values[field] = self.fields()[field].ty.parse(text).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(values)
    }

    /// What a key says, `~` standing before what it says only in part: `device_id = 's1', ts = 2024-03-15T00:00:00Z`.
    pub fn show(&self, decoded: &Decoded<'_>) -> String {
        let shown = self.fields().iter().enumerate().filter_map(|(id, field)| {
            let value = decoded.get(id)?;
            let about = if decoded.is_partial(id) { "~" } else { "=" };
            Some(format!("{} {about} {}", field.name, Shown(value, field.ty)))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The field of that name.
    ///
    /// # Errors
    /// With the names there are.
    fn field_named(&self, name: &str) -> Result<FieldId, String> {
        self.field_id(name.trim()).ok_or_else(|| {
            let names: Vec<_> = self.fields().iter().map(|field| field.name.as_str()).collect();
            format!("the key has no field {name}; its fields are {}", names.join(", "))
        })
    }
}

impl KeyQuery {
    /// With a condition as text: `FIELD=VALUE`, `FIELD<VALUE`, `FIELD<=VALUE`, `FIELD>VALUE`, `FIELD>=VALUE`, `FIELD=A..B` (A
    /// included, B not; either may be left out), `FIELD=A,B,C` and `FIELD=PREFIX*`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn with_condition(self, key: &KeySchema, text: &str) -> Result<Self, String> {
        let at = text.find(['=', '<', '>']).ok_or_else(|| format!("{text:?}: a condition is FIELD=VALUE, FIELD<VALUE, FIELD=A..B or the like"))?;
        let (name, rest) = text.split_at(at);
        let field = key.field_named(name)?;
        let ty = key.fields()[field].ty;
        let value = |text: &str| ty.parse(text).map_err(|error| format!("{name}: {error}"));
        let test = if let Some(text) = rest.strip_prefix("<=") {
            Test::Range { low: Bound::Unbounded, high: Bound::Included(value(text)?) }
        } else if let Some(text) = rest.strip_prefix(">=") {
            Test::Range { low: Bound::Included(value(text)?), high: Bound::Unbounded }
        } else if let Some(text) = rest.strip_prefix('<') {
            Test::Range { low: Bound::Unbounded, high: Bound::Excluded(value(text)?) }
        } else if let Some(text) = rest.strip_prefix('>') {
            Test::Range { low: Bound::Excluded(value(text)?), high: Bound::Unbounded }
        } else {
            equals(ty, &rest[1..], value)?
        };
        Ok(self.with(field, test))
    }
}

/// What stands behind `=`: a value, a list, a range or a beginning.
fn equals(ty: FieldType, text: &str, value: impl Fn(&str) -> Result<Value<'static>, String>) -> Result<Test, String> {
    if let Some((low, high)) = text.split_once("..") {
        let bound = |text: &str, some: fn(Value<'static>) -> Bound<Value<'static>>| {
            if text.is_empty() { Ok(Bound::Unbounded) } else { value(text).map(some) }
        };
        return Ok(Test::Range { low: bound(low, Bound::Included)?, high: bound(high, Bound::Excluded)? });
    }
    if let Some(prefix) = text.strip_suffix('*') {
        return match ty {
            FieldType::String | FieldType::Char(_) => Ok(Test::Prefix(Bytes::copy_from_slice(prefix.as_bytes()))),
            FieldType::Bytes | FieldType::Fixed(_) => Ok(Test::Prefix(parse_bytes(prefix).into())),
            _ => Err(format!("{text}: only text and bytes have beginnings")),
        };
    }
    let mut values = text.split(',').map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(match values.pop() {
        Some(Value::Null) if values.is_empty() => Test::IsNull,
        Some(only) if values.is_empty() => Test::Equals(only),
        last => Test::In(values.into_iter().chain(last).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_values_are_read_and_mistakes_name_the_field() {
        let key: KeySchema = "(device_id STRING, ts TIMESTAMP DESC)".parse().unwrap();
        let values = key.parse_values(["device_id=s1", "ts=2024-03-15"]).unwrap();
        assert_eq!(key.show(&key.decode(&key.encode(&values).unwrap()).unwrap()), "device_id = 's1', ts = 2024-03-15T00:00:00Z");
        let query = KeyQuery::all().with_condition(&key, "device_id=s*").unwrap().with_condition(&key, "ts=..2024-03-16").unwrap();
        assert_eq!(query.conditions[0].test, Test::Prefix(Bytes::from_static(b"s")));
        let late = Value::Signed(1_710_547_200_000);
        assert_eq!(query.conditions[1].test, Test::Range { low: Bound::Unbounded, high: Bound::Excluded(late) });
        for (text, wanted) in [
            ("device=1", "has no field device; its fields are device_id, ts"),
            ("ts=soon", "ts: "),
            ("ts=2024*", "only text"),
            ("ts", "a condition is"),
        ] {
            let error = KeyQuery::all().with_condition(&key, text).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(key.parse_values(["ts"]).unwrap_err().contains("FIELD=VALUE"));
    }
}
