//! `numeric`: decimal digits, as text and as groups of four.

use std::fmt::Write as _;

use bytes::{BufMut, Bytes};

use crate::wire::Malformed;
use crate::wire::cursor::Cursor;

/// Numbers in a group of four digits.
const GROUP: u128 = 10_000;
const NEGATIVE: u16 = 0x4000;
/// Digits of a number that Arrow's type holds.
const MAX_DIGITS: usize = 38;

/// Writes a number of `scale` digits behind the point as text.
pub(super) fn text(value: i128, scale: i8) -> String {
    let digits = value.unsigned_abs().to_string();
    let sign = if value < 0 { "-" } else { "" };
    let Ok(scale) = usize::try_from(scale) else {
        // Digits in front of the point that are not there.
        let zeros = "0".repeat(usize::from(scale.unsigned_abs()));
        return if value == 0 { digits } else { format!("{sign}{digits}{zeros}") };
    };
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, part) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{part}")
}

/// Writes a number in the binary form: groups of four digits from the point on to both sides.
pub(super) fn binary(value: i128, scale: i8, out: &mut impl BufMut) {
    let digits_behind = u16::from(scale.max(0).unsigned_abs());
    let mut groups = groups(value.unsigned_abs(), scale);
    let behind = i32::from(digits_behind.div_ceil(4));
    // The weight is the number of groups in front of the point, less one.
    let mut weight = i32::try_from(groups.len()).unwrap_or(0) - behind - 1;
    while groups.first() == Some(&0) {
        groups.remove(0);
        weight -= 1;
    }
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    out.put_u16(u16::try_from(groups.len()).unwrap_or(0));
    out.put_i16(i16::try_from(weight).unwrap_or(0));
    out.put_u16(if value < 0 { NEGATIVE } else { 0 });
    out.put_u16(digits_behind);
    groups.iter().for_each(|group| out.put_u16(*group));
}

/// Returns the groups of four digits, the first one the greatest; the point lies between two.
fn groups(value: u128, scale: i8) -> Vec<u16> {
    let mut digits = value.to_string();
    match usize::try_from(scale) {
        Ok(scale) => digits.push_str(&"0".repeat(scale.next_multiple_of(4) - scale)),
        Err(_) => digits.push_str(&"0".repeat(usize::from(scale.unsigned_abs()))),
    }
    let padded = format!("{digits:0>width$}", width = digits.len().next_multiple_of(4));
    let group = |at: usize| padded[at..at + 4].parse().unwrap_or(0);
    (0..padded.len()).step_by(4).map(group).collect()
}

/// Reads the binary form as text.
///
/// # Errors
/// Bytes that are none, or more digits than Arrow's type holds.
pub(super) fn read(value: Bytes) -> Result<String, Malformed> {
    let mut cursor = Cursor::new(value);
    let count = usize::from(cursor.u16()?);
    let (weight, sign, digits_behind) = (cursor.i16()?, cursor.u16()?, cursor.u16()?);
    if sign != 0 && sign != NEGATIVE {
        return Err(Malformed("NaN and infinity are no numbers of a column"));
    }
    let behind = usize::from(digits_behind);
    if count > MAX_DIGITS || behind > MAX_DIGITS || weight.unsigned_abs() > 10 {
        return Err(Malformed("a number has more than 38 digits"));
    }
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        let group = cursor.u16()?;
        if u128::from(group) >= GROUP {
            return Err(Malformed("a group of digits of a number is over 9999"));
        }
        groups.push(group);
    }
    cursor.end()?;
    let group_at = |weight_of: i32| {
        let at = usize::try_from(i32::from(weight) - weight_of).ok();
        at.and_then(|at| groups.get(at)).copied().unwrap_or(0)
    };
    let mut whole = String::new();
    for at in (0..=i32::from(weight).max(0)).rev() {
        // Writing to a string cannot fail.
        let _ = write!(whole, "{:04}", group_at(at));
    }
    let mut part = String::new();
    for at in 1..=i32::from(digits_behind.div_ceil(4)) {
        let _ = write!(part, "{:04}", group_at(-at));
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let sign = if sign == NEGATIVE { "-" } else { "" };
    Ok(match behind {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{}", &part[..behind]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_their_scale() {
        for (value, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (12_345, 2, "123.45"),
            (12, -2, "1200"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            assert_eq!(text(value, scale), expected);
        }
    }

    #[test]
    fn binary_form_is_that_of_postgresql() {
        let of = |value, scale| {
            let mut out = Vec::new();
            binary(value, scale, &mut out);
            out
        };
        // 12345.678: groups 1, 2345, 6780; weight 1; three digits behind the point.
        assert_eq!(of(12_345_678, 3), [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
        assert_eq!(of(0, 2), [0, 0, 0, 0, 0, 0, 0, 2]);
        // 0.0001: one group, weight -1.
        assert_eq!(of(1, 4), [0, 1, 255, 255, 0, 0, 0, 4, 0, 1]);
        // -10000: one group, weight 1, negative.
        assert_eq!(of(-10_000, 0), [0, 1, 0, 1, 64, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn binary_form_is_read_back() {
        for (value, scale) in [
            (0, 0),
            (0, 3),
            (1, 0),
            (-1, 10),
            (12_345_678, 3),
            (10_000, 0),
            (1_000_000, 4),
            (99_999_999_999_999_999_999_999_999_999_999_999_999, 10),
        ] {
            let mut out = Vec::new();
            binary(value, scale, &mut out);
            assert_eq!(read(out.into()), Ok(text(value, scale)));
        }
    }

    #[test]
    fn bytes_that_are_no_number_are_errors() {
        for bytes in [
            &[][..],
            &[0, 1, 0, 0, 0, 0, 0, 0],
            &[255, 255, 0, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 0xc0, 0, 0, 0],
            &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10],
            &[0, 0, 0x7f, 0xff, 0, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0],
        ] {
            assert!(read(Bytes::copy_from_slice(bytes)).is_err(), "{bytes:?}");
        }
    }
}
