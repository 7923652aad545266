//! Row-key ranges, byte arithmetic on row keys, and HBase's `\xNN` notation.

use std::ops::Bound;

use bytes::Bytes;

/// Range of row keys. The empty start is the first row; the unbounded end is the last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowRange {
    /// Start bound.
    pub start: Bound<Bytes>,
    /// End bound.
    pub end: Bound<Bytes>,
}

impl Default for RowRange {
    fn default() -> Self {
        Self::all()
    }
}

impl RowRange {
    /// Returns the range of all rows.
    pub fn all() -> Self {
        Self { start: Bound::Unbounded, end: Bound::Unbounded }
    }

    /// Returns the range of rows that begin with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let prefix = prefix.into();
        let end = successor_of_prefix(&prefix)
            .map_or(Bound::Unbounded, |end| Bound::Excluded(Bytes::from(end)));
        Self { start: Bound::Included(prefix), end }
    }

    /// Returns `true` if the range can contain no row.
    pub fn is_empty(&self) -> bool {
        match (&self.start, &self.end) {
            (Bound::Unbounded, Bound::Excluded(end)) => end.is_empty(),
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (Bound::Included(start), Bound::Excluded(end))
            | (Bound::Excluded(start), Bound::Included(end)) => start >= end,
            // No row exists between a row and its successor, row + 00.
            (Bound::Excluded(start), Bound::Excluded(end)) => {
                successor_of_row(start).as_slice() >= &end[..]
            }
            _ => false,
        }
    }

    /// Returns `true` if `row` is in the range.
    pub fn contains(&self, row: &[u8]) -> bool {
        let after_start = match &self.start {
            Bound::Unbounded => true,
            Bound::Included(start) => row >= &start[..],
            Bound::Excluded(start) => row > &start[..],
        };
        after_start && !self.is_past_end(row)
    }

    /// Returns `true` if `row` is past the end.
    #[inline]
    pub fn is_past_end(&self, row: &[u8]) -> bool {
        match &self.end {
            Bound::Unbounded => false,
            Bound::Included(end) => row > &end[..],
            Bound::Excluded(end) => row >= &end[..],
        }
    }
}

/// Returns the first row key after all keys that begin with `prefix`; `None` if there is none (the
/// prefix is all `ff`).
pub fn successor_of_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// Returns the smallest row key greater than `row`: `row` + `00`.
pub fn successor_of_row(row: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(row.len() + 1);
    next.extend_from_slice(row);
    next.push(0);
    next
}

/// Formats bytes as HBase does (`Bytes.toStringBinary`): printable ASCII unchanged, the rest and
/// the backslash as `\xNN`.
pub fn to_string_binary(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if (0x20..0x7f).contains(&byte) && byte != b'\\' {
            out.push(char::from(byte));
        } else {
            write!(out, "\\x{byte:02X}").expect("writing to a string");
        }
    }
    out
}

/// Formats bytes as lower-case hexadecimal digits, two per byte.
pub fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

/// Parses the format of [`to_string_binary`] (`Bytes.toBytesBinary`): `\xNN` becomes a byte,
/// everything else is unchanged.
pub fn to_bytes_binary(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut offset = 0;
    while offset < bytes.len() {
        if let [b'\\', b'x', high, low, ..] = bytes[offset..]
            && let (Some(high), Some(low)) = (hex_digit(high), hex_digit(low))
        {
            out.push(high << 4 | low);
            offset += 4;
        } else {
            out.push(bytes[offset]);
            offset += 1;
        }
    }
    out
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_range_ends_at_its_successor() {
        assert_eq!(successor_of_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(successor_of_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(successor_of_prefix(b"\xff"), None);
        assert_eq!(successor_of_prefix(b""), None);
    }

    #[test]
    fn printed_bytes_parse_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(to_bytes_binary(&to_string_binary(&all)), all);
        assert_eq!(to_string_binary(b"a\\\x00\xff z"), "a\\x5C\\x00\\xFF z");
        assert_eq!(to_bytes_binary("a\\xg0"), b"a\\xg0");
    }

    #[test]
    fn inverted_range_is_empty() {
        let range = |start: &'static str, end: &'static str| RowRange {
            start: Bound::Included(start.into()),
            end: Bound::Excluded(end.into()),
        };
        assert!(
            range("b", "a").is_empty() && range("a", "a").is_empty() && !range("a", "b").is_empty()
        );
        let open =
            RowRange { start: Bound::Excluded("a".into()), end: Bound::Excluded("a\0".into()) };
        assert!(open.is_empty());
    }
}
