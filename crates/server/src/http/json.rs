//! Attributes of beans, and pages as JSON in the format of HBase's `/jmx`: indented, attributes in
//! their order.

use serde::{Serialize, Serializer};

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Count(u64),
    Number(f64),
    Text(String),
    Bool(bool),
    Group(Vec<(String, Value)>),
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count),
            // JSON cannot represent infinity and NaN.
            Self::Number(number) if !number.is_finite() => serializer.serialize_f64(0.0),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Group(group) => {
                serializer.collect_map(group.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

/// Returns a page as text.
pub(super) fn text(page: &impl Serialize) -> String {
    serde_json::to_string_pretty(page).expect("all keys are text, and no value fails to serialize")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_indentation_matches_hbase() {
        #[derive(Serialize)]
        struct Page {
            beans: Vec<Value>,
            none: [Value; 0],
            most: Value,
            odd: Value,
            whole: Value,
            empty: Value,
        }
        let bean = vec![
            ("a\"b\\\n".to_owned(), 1.5.into()),
            ("c".to_owned(), true.into()),
            ("d".to_owned(), "text".into()),
        ];
        let page = Page {
            beans: vec![Value::Group(bean)],
            none: [],
            most: u64::MAX.into(),
            odd: f64::NAN.into(),
            whole: 2.0.into(),
            empty: Value::Group(Vec::new()),
        };
        let expected = "{\n  \"beans\": [\n    {\n      \"a\\\"b\\\\\\n\": 1.5,\n      \"c\": \
                        true,\n      \"d\": \"text\"\n    }\n  ],\n  \"none\": [],\n  \"most\": \
                        18446744073709551615,\n  \"odd\": 0.0,\n  \"whole\": 2.0,\n  \"empty\": \
                        {}\n}";
        assert_eq!(text(&page), expected);
    }
}
