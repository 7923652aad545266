//! Types of values: text of a line to the bytes that HBase's `Bytes.toBytes` writes.

use std::fmt;

use halite::to_bytes_binary;
use halite_types::suggest::{closest_match, did_you_mean};

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ValueType {
    /// The bytes of the text.
    #[default]
    Text,
    Int,
    Long,
    Float,
    Double,
    Boolean,
    /// Hexadecimal digits, two per byte.
    Hex,
    /// Text with `\xNN`, as the shell prints it.
    Binary,
}

impl ValueType {
    const ALL: [(&'static str, Self); 8] = [
        ("text", Self::Text),
        ("int", Self::Int),
        ("long", Self::Long),
        ("float", Self::Float),
        ("double", Self::Double),
        ("boolean", Self::Boolean),
        ("hex", Self::Hex),
        ("binary", Self::Binary),
    ];

    /// Returns the type of that name, ignoring case.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, ty)| ty)
    }

    /// Returns the message for a name of no type.
    pub(super) fn unknown(name: &str) -> String {
        let names = Self::ALL.map(|(name, _)| name);
        let near = closest_match(name, names.into_iter());
        format!("there is no type {name}; types are {}{}", names.join(", "), did_you_mean(near))
    }

    /// Returns the bytes of a value.
    ///
    /// # Errors
    /// The expected form.
    pub(super) fn encode(self, text: &[u8]) -> Result<Vec<u8>, String> {
        let shown = String::from_utf8_lossy(text);
        let trimmed = shown.trim();
        let refused = || format!("{shown:?} is no {self}");
        match self {
            Self::Text => Some(text.to_vec()),
            Self::Int => trimmed.parse::<i32>().map(|number| number.to_be_bytes().into()).ok(),
            Self::Long => trimmed.parse::<i64>().map(|number| number.to_be_bytes().into()).ok(),
            Self::Float => trimmed
                .parse::<f32>()
                .ok()
                .filter(|number| number.is_finite() || is_word(trimmed))
                .map(|number| number.to_be_bytes().into()),
            Self::Double => trimmed
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() || is_word(trimmed))
                .map(|number| number.to_be_bytes().into()),
            // HBase's true is 255.
            Self::Boolean => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "1" => Some(vec![0xff]),
                "false" | "0" => Some(vec![0]),
                _ => None,
            },
            Self::Hex => hex(trimmed),
            Self::Binary => {
                check_escapes(&shown)?;
                Some(to_bytes_binary(&shown))
            }
        }
        .ok_or_else(refused)
    }
}

/// Returns `true` for an infinity or NaN that is spelled out. Digits that overflow are parsed as an
/// infinity, too.
fn is_word(number: &str) -> bool {
    !number.contains(|letter: char| letter.is_ascii_digit())
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, ty)| ty == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// Checks that every backslash begins `\xNN`, which is how the shell prints a backslash, too.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('\\') {
        let is_digits = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
        let escape = text.as_bytes().get(at + 2..at + 4);
        if text.as_bytes().get(at + 1) != Some(&b'x') || !escape.is_some_and(is_digits) {
            let number = text[..at].chars().count() + 1;
            let broken: String = text[at..].chars().take(4).collect();
            return Err(format!(
                "character {number}: {broken} is no \\xNN with two hexadecimal digits; a backslash \
                 itself is \\x5C"
            ));
        }
    }
    Ok(())
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
    if digits.len() % 2 == 1 {
        return None;
    }
    digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_as_hbase_does() {
        for (name, text, bytes) in [
            ("text", " a", &b" a"[..]),
            ("INT", "-2", b"\xff\xff\xff\xfe"),
            ("long", " 258", b"\0\0\0\0\0\0\x01\x02"),
            ("float", "1", b"\x3f\x80\0\0"),
            ("double", "1", b"\x3f\xf0\0\0\0\0\0\0"),
            ("double", "-inf", b"\xff\xf0\0\0\0\0\0\0"),
            ("boolean", "TRUE", b"\xff"),
            ("hex", "0aFF", b"\x0a\xff"),
            ("binary", "a\\x00b", b"a\0b"),
        ] {
            assert_eq!(ValueType::from_name(name).unwrap().encode(text.as_bytes()).unwrap(), bytes);
        }
        for (name, text) in [
            ("int", "2147483648"),
            ("long", ""),
            ("boolean", "yes"),
            ("hex", "abc"),
            ("float", "1e39"),
            ("double", "-1e999"),
        ] {
            let error = ValueType::from_name(name).unwrap().encode(text.as_bytes()).unwrap_err();
            assert!(error.ends_with(&format!("is no {name}")), "{error}");
        }
        for (text, part) in [
            ("a\\xZ0", "character 2: \\xZ0 is no \\xNN"),
            ("a\\x0", "character 2: \\x0 is no"),
            ("\u{e4}b\\", "character 3: \\ is no"),
            ("\\n", "character 1: \\n is no"),
        ] {
            let error = ValueType::Binary.encode(text.as_bytes()).unwrap_err();
            assert!(error.starts_with(part), "{error}");
        }
        assert_eq!(ValueType::from_name("string"), None);
        assert!(
            ValueType::unknown("lnog")
                .contains("double, boolean, hex, binary (did you mean long?)")
        );
    }
}
