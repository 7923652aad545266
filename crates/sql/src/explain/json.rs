//! JSON of EXPLAIN, with the members in the order in which they were added.

use std::fmt::{self, Write as _};

/// Value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// `true` or `false`.
    Bool(bool),
    /// Whole number.
    Number(u64),
    /// Milliseconds, with three digits behind the point.
    Ms(f64),
    /// Text.
    Text(String),
    /// List of values.
    List(Vec<Json>),
    /// Object.
    Object(Members),
}

/// Members of an object. Those without a value are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Members(Vec<(&'static str, Json)>);

impl Members {
    /// Adds a member.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Adds a member if it has a value.
    #[must_use]
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl Into<Json>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Self::Number(u64::try_from(value).unwrap_or(u64::MAX))
    }
}

impl From<f64> for Json {
    fn from(ms: f64) -> Self {
        Self::Ms(ms)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Members> for Json {
    fn from(members: Members) -> Self {
        Self::Object(members)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(out, 0)
    }
}

impl Json {
    fn write(&self, out: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(out, "{value}"),
            Self::Number(value) => write!(out, "{value}"),
            Self::Ms(value) if value.is_finite() => write!(out, "{value:.3}"),
            Self::Ms(_) => out.write_str("null"),
            Self::Text(text) => write_text(out, text),
            Self::List(values) => {
                let each = |out: &mut fmt::Formatter<'_>, value: &Self| value.write(out, depth + 1);
                write_all(out, depth, ['[', ']'], values, each)
            }
            Self::Object(Members(members)) => {
                let each = |out: &mut fmt::Formatter<'_>, (name, value): &(&str, Self)| {
                    write_text(out, name)?;
                    out.write_str(": ")?;
                    value.write(out, depth + 1)
                };
                write_all(out, depth, ['{', '}'], members, each)
            }
        }
    }
}

/// Writes values between two brackets, a line for each.
fn write_all<T>(
    out: &mut fmt::Formatter<'_>,
    depth: usize,
    [open, close]: [char; 2],
    all: &[T],
    each: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    out.write_char(open)?;
    for (at, one) in all.iter().enumerate() {
        out.write_str(if at > 0 { ",\n" } else { "\n" })?;
        write!(out, "{:width$}", "", width = 2 * depth + 2)?;
        each(out, one)?;
    }
    if !all.is_empty() {
        write!(out, "\n{:width$}", "", width = 2 * depth)?;
    }
    out.write_char(close)
}

fn write_text(out: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            letter if letter < ' ' => write!(out, "\\u{:04x}", u32::from(letter))?,
            letter => out.write_char(letter)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stay_in_order_and_signs_are_escaped() {
        let none: Option<u64> = None;
        let inner = Members::default().with("z", vec![1_usize, 2]).with("a", Vec::<String>::new());
        let json = Members::default()
            .with("text", "a \"b\"\\\n\u{1}\u{e9}")
            .with_some("none", none)
            .with("inner", inner)
            .with("ms", 1.5)
            .with("is", true);
        let expected = "{\n  \"text\": \"a \\\"b\\\"\\\\\\n\\u0001\u{e9}\",\n  \"inner\": {\n    \
                        \"z\": [\n      1,\n      2\n    ],\n    \"a\": []\n  },\n  \"ms\": 1.500,\n  \
                        \"is\": true\n}";
        assert_eq!(Json::from(json).to_string(), expected);
        assert_eq!(Json::from(f64::NAN).to_string(), "null");
    }
}
