//! Values of the shell language and their output format.

use std::fmt::Write as _;

use halite_types::TableName;

/// Result of an expression. Text is bytes, like a Ruby string: `"\xff"` is one byte.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Vec<u8>),
    Symbol(String),
    Array(Vec<Value>),
    Hash(Vec<(Value, Value)>),
    Range { first: Box<Value>, last: Box<Value>, exclusive: bool },
    Table(TableName),
}

impl Value {
    pub(crate) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::Text(text.into())
    }

    /// Returns `true` unless the value is `nil` or `false`.
    pub(crate) fn is_true(&self) -> bool {
        !matches!(self, Self::Nil | Self::Bool(false))
    }

    /// Returns the human-readable name of the value's kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "a string",
            Self::Symbol(_) => "a symbol",
            Self::Array(_) => "an array",
            Self::Hash(_) => "a hash",
            Self::Range { .. } => "a range",
            Self::Table(_) => "a table",
        }
    }

    /// Returns the value as text bytes, as Ruby's `to_s`.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Nil => Vec::new(),
            Self::Text(bytes) => bytes.clone(),
            Self::Symbol(name) => name.clone().into_bytes(),
            Self::Range { first, last, exclusive } => {
                let mut bytes = first.to_bytes();
                bytes.extend_from_slice(if *exclusive { b"..." } else { b".." });
                bytes.extend_from_slice(&last.to_bytes());
                bytes
            }
            other => other.inspect().into_bytes(),
        }
    }

    /// Returns the value as printable text; invalid UTF-8 is replaced by replacement characters.
    pub(crate) fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.to_bytes()).into_owned()
    }

    /// Returns the text of a string or a symbol, which are equivalent as names.
    pub(crate) fn as_name(&self) -> Option<String> {
        match self {
            Self::Text(bytes) => String::from_utf8(bytes.clone()).ok(),
            Self::Symbol(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// Returns the value in input syntax, as Ruby's `inspect`.
    pub(crate) fn inspect(&self) -> String {
        match self {
            Self::Nil => "nil".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => print_float(*value),
            Self::Text(bytes) => inspect_text(bytes),
            Self::Symbol(name) => format!(":{name}"),
            Self::Array(items) => {
                format!("[{}]", items.iter().map(Self::inspect).collect::<Vec<_>>().join(", "))
            }
            Self::Hash(pairs) => {
                let pairs: Vec<_> = pairs
                    .iter()
                    .map(|(key, value)| format!("{}=>{}", key.inspect(), value.inspect()))
                    .collect();
                format!("{{{}}}", pairs.join(", "))
            }
            Self::Range { first, last, exclusive } => {
                format!(
                    "{}{}{}",
                    first.inspect(),
                    if *exclusive { "..." } else { ".." },
                    last.inspect()
                )
            }
            Self::Table(name) => format!("Hbase::Table - {name}"),
        }
    }
}

/// Formats a floating-point number as Ruby and Java do: always with a fraction.
pub(crate) fn print_float(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format!("{value:?}")
    }
}

fn inspect_text(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        let mut characters = chunk.valid().chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\x1b' => out.push_str("\\e"),
                '#' if matches!(characters.peek(), Some('{' | '$' | '@')) => out.push_str("\\#"),
                control if control.is_control() => {
                    write!(out, "\\u{:04X}", u32::from(control)).expect("writing to a string");
                }
                other => out.push(other),
            }
        }
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02X}").expect("writing to a string");
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_ruby_prints_them() {
        let array = Value::Array(vec![
            Value::Integer(1),
            Value::text("three"),
            Value::Nil,
            Value::Bool(true),
            Value::Float(1.5),
        ]);
        assert_eq!(array.inspect(), r#"[1, "three", nil, true, 1.5]"#);
        let hash = Value::Hash(vec![
            (Value::text("a"), Value::Integer(1)),
            (Value::Symbol("b".into()), Value::Integer(2)),
        ]);
        assert_eq!(hash.inspect(), r#"{"a"=>1, :b=>2}"#);
        assert_eq!(
            Value::text("a\"\\\t\n\x1b\u{e9}#{").inspect(),
            "\"a\\\"\\\\\\t\\n\\e\u{e9}\\#{\""
        );
        assert_eq!(Value::text(vec![0, 0xff]).inspect(), "\"\\u0000\\xFF\"");
        assert_eq!(Value::Float(3.0).inspect(), "3.0");
    }
}
