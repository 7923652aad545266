//! Computations of programs without a declared key (hashes, splits of text), and of pages that
//! examine them (bounds, split keys).

use std::ops::Bound;

use bytes::Bytes;
use halite::rowkey::{KeySchema, Plan};
use halite_rowkey_tools::split_sample;

/// Returns the first `digits` hexadecimal digits of the MD5 of a text. `digits` must be even and at
/// most 32.
///
/// # Errors
/// Returns an error for any other number of digits.
pub(crate) fn md5_hex(text: &str, digits: usize) -> anyhow::Result<String> {
    let schema: KeySchema =
        format!("(HASH(text STRING BYTES {} USING md5 HEX))", digits / 2).parse()?;
    Ok(String::from_utf8_lossy(&schema.encode(&[text.into()])?).into_owned())
}

/// Returns Java's `String.hashCode`.
pub(crate) fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

/// Returns the result of Java's `String.split` by a delimiter of one character. Java reads the
/// delimiter as a regular expression: `|` means empty or empty, and splits between all characters.
/// Empty parts at the end are dropped.
pub(crate) fn java_split(text: &str, delimiter: char) -> Vec<String> {
    let mut pieces: Vec<String> = if delimiter == '|' {
        text.chars().map(String::from).collect()
    } else {
        text.split(delimiter).map(str::to_owned).collect()
    };
    while pieces.len() > 1 && pieces.last().is_some_and(String::is_empty) {
        pieces.pop();
    }
    pieces
}

/// Returns the bounds of the ranges of a plan; an open end is empty.
pub(crate) fn bounds(plan: &Plan) -> Vec<(Bytes, Bytes)> {
    let bytes = |bound: &Bound<Bytes>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.clone(),
        Bound::Unbounded => Bytes::new(),
    };
    plan.ranges().map(|range| (bytes(&range.range.start), bytes(&range.range.end))).collect()
}

/// Returns split keys that give each of `regions` regions the same number of these keys: the best
/// result with all keys known.
///
/// # Errors
/// Returns an error if `keys` is empty or `regions` is less than two.
pub(crate) fn perfect_splits<K: AsRef<[u8]>>(
    keys: &[K],
    regions: u32,
) -> anyhow::Result<Vec<Bytes>> {
    let keys = keys.iter().map(|key| Bytes::copy_from_slice(key.as_ref())).collect();
    Ok(split_sample(keys, regions)?.keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_match_external_programs() {
        assert_eq!(md5_hex("user_1", 8).unwrap(), "3f49044c");
        assert_eq!(md5_hex("abc", 32).unwrap(), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(java_hash("20150524002300_1232") % 1000, -203);
        assert_eq!((java_split("a|b", '|').len(), java_split("a_b__", '_').len()), (3, 2));
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
    }
}
