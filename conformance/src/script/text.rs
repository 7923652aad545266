//! Text format of bytes: printable ASCII is literal, other bytes are `\xNN`, no bytes are `""`, and
//! `\{N:c}` is N times c.

use bytes::Bytes;

use super::error::CommandError;

/// Parses a word to bytes.
pub(super) fn bytes(word: &str) -> Result<Bytes, CommandError> {
    if word == "\"\"" {
        return Ok(Bytes::new());
    }
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = escape(&rest[at..], &mut out).ok_or_else(|| {
            CommandError::malformed(format!(
                "{word:?} has an escape that is neither \\xNN nor \\{{N:c}}"
            ))
        })?;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out.into())
}

/// Appends the bytes of the escape at the start of `text` and returns the remaining text.
fn escape<'a>(text: &'a str, out: &mut Vec<u8>) -> Option<&'a str> {
    if let Some(digits) = text.strip_prefix("\\x") {
        out.push(u8::from_str_radix(digits.get(..2)?, 16).ok()?);
        return digits.get(2..);
    }
    let (inside, rest) = text.strip_prefix("\\{")?.split_once('}')?;
    let (times, unit) = inside.split_once(':')?;
    out.extend(unit.as_bytes().repeat(times.parse().ok()?));
    Some(rest)
}

/// Parses a column to its family and qualifier.
pub(super) fn column(word: &str) -> Result<(Bytes, Bytes), CommandError> {
    let (family, qualifier) = word.split_once(':').ok_or_else(|| {
        CommandError::malformed(format!("invalid column {word:?}: missing colon"))
    })?;
    Ok((bytes(family)?, bytes(qualifier)?))
}

/// Formats bytes as a word, as in results.
pub(crate) fn word(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    if bytes.is_empty() {
        return "\"\"".into();
    }
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'\\' && byte != b'"' {
            out.push(char::from(byte));
        } else {
            write!(out, "\\x{byte:02x}").expect("writing to a string");
        }
    }
    out
}

/// Formats the part of a column after the colon; empty bytes have no text.
pub(crate) fn qualifier(bytes: &[u8]) -> String {
    if bytes.is_empty() { String::new() } else { word(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_to_bytes() {
        for (text, expected) in [
            ("abc", &b"abc"[..]),
            ("\"\"", b""),
            ("a\\x00\\xff", b"a\x00\xff"),
            ("\\x5c\\x22\\x20", b"\\\" "),
        ] {
            assert_eq!(bytes(text).unwrap(), expected);
            assert_eq!(word(expected), text);
        }
        assert_eq!(bytes("x\\{3:ab}y").unwrap(), "xabababy");
        assert_eq!(qualifier(b""), "");
    }

    #[test]
    fn column_is_split_at_first_colon() {
        assert_eq!(column("f:a:b").unwrap(), ("f".into(), "a:b".into()));
        assert_eq!(column("f:").unwrap(), ("f".into(), Bytes::new()));
        assert!(column("f").is_err());
    }

    #[test]
    fn invalid_escapes_are_rejected() {
        for text in ["\\", "\\x1", "\\xgg", "\\q", "\\{3:a", "\\{x:a}", "\\x\u{e9}"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
