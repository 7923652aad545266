//! Parameters of a URL: unknown ones are ignored, bad ones are reported with their name.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use halite_types::Bytes;
use halite_types::key::to_bytes_binary;

use crate::problem::{Answered, Problem};

/// Maximum bytes of a row key, as in HBase.
pub(crate) const MAX_KEY_BYTES: usize = i16::MAX as usize;

/// Parameters in the order of the URL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(pub(crate) Vec<(String, String)>);

impl Params {
    /// Returns the value of a parameter; the last one if it is repeated.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns a number within limits, or the default.
    pub(crate) fn number<T>(
        &self,
        name: &'static str,
        limits: RangeInclusive<T>,
        default: T,
    ) -> Answered<T>
    where
        T: FromStr + PartialOrd + Display + Copy,
    {
        let Some(text) = self.get(name) else { return Ok(default) };
        text.parse().ok().filter(|number| limits.contains(number)).ok_or_else(|| {
            let (least, most) = (limits.start(), limits.end());
            let text = short(text);
            Problem::field(name, format!("{name} is a number from {least} to {most}, not {text:?}"))
        })
    }

    /// Returns a number, or `None` if the parameter is absent.
    pub(crate) fn optional_number<T: FromStr>(&self, name: &'static str) -> Answered<Option<T>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let wrong = || Problem::field(name, format!("{name} is a number, not {:?}", short(text)));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// Returns `true` for 1 or true, `false` for 0, false or an absent parameter.
    pub(crate) fn flag(&self, name: &'static str) -> Answered<bool> {
        match self.get(name) {
            None | Some("0" | "false") => Ok(false),
            Some("1" | "true" | "") => Ok(true),
            Some(text) => {
                let text = format!("{name} is 0 or 1, not {:?}", short(text));
                Err(Problem::field(name, text))
            }
        }
    }

    /// Returns one of several words, or the first of them if the parameter is absent.
    pub(crate) fn word<'w>(&self, name: &'static str, words: &[&'w str]) -> Answered<&'w str> {
        let Some(text) = self.get(name) else { return Ok(words.first().copied().unwrap_or("")) };
        words.iter().find(|word| **word == text).copied().ok_or_else(|| {
            let words = words.join(", ");
            Problem::field(name, format!("{name} is one of {words}, not {:?}", short(text)))
        })
    }

    /// Returns a row key in the form of HBase's shell, with `\xNN` for a byte.
    pub(crate) fn escaped_key(&self, name: &'static str) -> Answered<Option<Bytes>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        key_of(name, to_bytes_binary(text)).map(Some)
    }

    /// Returns bytes in hexadecimal digits; without the parameter that is a problem.
    pub(crate) fn hex(&self, name: &'static str) -> Answered<Bytes> {
        let text = self
            .get(name)
            .ok_or_else(|| Problem::field(name, format!("give {name} in hexadecimal digits")))?;
        let bytes = from_hex(text).ok_or_else(|| {
            let text = format!("{name} is pairs of hexadecimal digits, not {:?}", short(text));
            Problem::field(name, text)
        })?;
        key_of(name, bytes)
    }
}

fn key_of(name: &'static str, bytes: Vec<u8>) -> Answered<Bytes> {
    if bytes.len() > MAX_KEY_BYTES {
        let text =
            format!("{name} has {} bytes, and keys have at most {MAX_KEY_BYTES}", bytes.len());
        return Err(Problem::field(name, text));
    }
    Ok(bytes.into())
}

/// Parses pairs of hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4) | digit(*low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

/// Returns the beginning of a text of the client, for messages.
pub(crate) fn short(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut chars = text.chars();
    let begin: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() { format!("{begin}...") } else { begin }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        Params(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    #[test]
    fn bad_parameter_is_reported_with_its_name() {
        let given = params(&[("limit", "0"), ("offset", "x"), ("series", "2"), ("row", "0")]);
        let fields = [
            given.number("limit", 1..=1000, 100).unwrap_err().field,
            given.number("offset", 0..=u64::MAX, 0).unwrap_err().field,
            given.flag("series").unwrap_err().field,
            given.hex("row").unwrap_err().field,
            given.hex("absent").unwrap_err().field,
        ];
        let names: Vec<_> = fields.into_iter().flatten().collect();
        assert_eq!(names, ["limit", "offset", "series", "row", "absent"]);
        assert_eq!(given.number("other", 1..=9, 5).unwrap(), 5);
    }

    #[test]
    fn keys_are_read_in_both_forms() {
        let given = params(&[("start", "a\\x00\\xFF"), ("row", "6100fF")]);
        assert_eq!(given.escaped_key("start").unwrap().unwrap(), &b"a\0\xff"[..]);
        assert_eq!(given.hex("row").unwrap(), &b"a\0\xff"[..]);
        let long = params(&[("start", &"k".repeat(MAX_KEY_BYTES + 1))]);
        assert!(long.escaped_key("start").is_err());
        assert_eq!(short(&"x".repeat(100)).len(), 63);
    }
}
