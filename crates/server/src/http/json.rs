//! JSON in the format of HBase's `/jmx`: indented, attributes in their order.

use std::fmt::{Display, Formatter, Result, Write as _};

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Count(u64),
    Number(f64),
    Text(String),
    Bool(bool),
    Group(Vec<(String, Value)>),
    List(Vec<Value>),
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

impl Display for Value {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        self.write(out, 0)
    }
}

impl Value {
    fn write(&self, out: &mut Formatter<'_>, depth: usize) -> Result {
        let indent = "  ".repeat(depth + 1);
        match self {
            Self::Count(count) => write!(out, "{count}"),
            // JSON cannot represent infinity and NaN.
            Self::Number(number) if !number.is_finite() => out.write_str("0.0"),
            Self::Number(number) => write!(out, "{number:?}"),
            Self::Text(text) => quote(text, out),
            Self::Bool(truth) => write!(out, "{truth}"),
            Self::Group(group) if group.is_empty() => out.write_str("{}"),
            Self::List(list) if list.is_empty() => out.write_str("[]"),
            Self::Group(group) => {
                for (number, (name, value)) in group.iter().enumerate() {
                    write!(out, "{}\n{indent}", if number == 0 { "{" } else { "," })?;
                    quote(name, out)?;
                    out.write_str(": ")?;
                    value.write(out, depth + 1)?;
                }
                write!(out, "\n{}}}", "  ".repeat(depth))
            }
            Self::List(list) => {
                for (number, value) in list.iter().enumerate() {
                    write!(out, "{}\n{indent}", if number == 0 { "[" } else { "," })?;
                    value.write(out, depth + 1)?;
                }
                write!(out, "\n{}]", "  ".repeat(depth))
            }
        }
    }
}

fn quote(text: &str, out: &mut Formatter<'_>) -> Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(out, "\\{letter}")?,
            control if (control as u32) < 0x20 => write!(out, "\\u{:04x}", control as u32)?,
            plain => out.write_char(plain)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_json_with_hbase_s_indents() {
        let value = Value::Group(vec![
            (
                "beans".to_owned(),
                Value::List(vec![Value::Group(vec![
                    ("a\"b\\\n".to_owned(), 1.5.into()),
                    ("c".to_owned(), true.into()),
                ])]),
            ),
            ("none".to_owned(), Value::List(Vec::new())),
            ("most".to_owned(), u64::MAX.into()),
            ("odd".to_owned(), f64::NAN.into()),
            ("whole".to_owned(), 2.0.into()),
        ]);
        let text = "{\n  \"beans\": [\n    {\n      \"a\\\"b\\\\\\u000a\": 1.5,\n      \"c\": true\n    }\n  ],\n  \"none\": [],\n  \
                    \"most\": 18446744073709551615,\n  \"odd\": 0.0,\n  \"whole\": 2.0\n}";
        assert_eq!(value.to_string(), text);
    }
}
