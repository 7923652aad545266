//! Order-preserving encoding of decimal numbers: `encodeNumeric` of HBase's `OrderedBytes`, which
//! is that of `SQLite` 4.
//!
//! ```text
//!   0x15                       zero
//!   0x16 ~E M                  0 < x < 1      E: pairs of zeros after the point
//!   0x17+E M                   1 <= x, E <= 10, the pairs of digits before the point
//!   0x22 E M                   more of them
//!   0x14 E ~M, 0x13-E ~M, 0x08 ~E ~M           the same below zero
//! ```
//! M is pairs of decimal digits, `2 * pair + 1` each and `2 * pair` the last, so a number is
//! self-delimiting. E after a header is an order-preserving varint. The source is
//! `OrderedBytes.encodeNumericSmall` and `encodeNumericLarge` of HBase 2.6.

use crate::error::KeyErrorKind;
use crate::value::Decimal;

use super::KeyBuf;

const NEGATIVE_LARGE: u8 = 0x08;
const NEGATIVE_MEDIUM: u8 = 0x13;
const NEGATIVE_SMALL: u8 = 0x14;
const ZERO: u8 = 0x15;
const POSITIVE_SMALL: u8 = 0x16;
const POSITIVE_MEDIUM: u8 = 0x17;
const POSITIVE_LARGE: u8 = 0x22;
/// Maximum pairs of digits before the point that the header itself encodes.
const MAX_MEDIUM_PAIRS: u64 = 10;
/// Maximum pairs of 31 digits, one of them half.
pub(super) const MAX_PAIRS: usize = 17;

const BAD: KeyErrorKind =
    KeyErrorKind::Malformed("the bytes are no decimal number as HBase encodes them");

/// Appends a number, ascending.
pub(super) fn encode(number: Decimal, out: &mut KeyBuf) {
    if number.coefficient() == 0 {
        return out.push(ZERO);
    }
    let negative = number.coefficient() < 0;
    let (pairs, count) = digit_pairs(number);
    // Pairs of digits before the point; zero or less for numbers below 1.
    let before = pairs_before_point(number);
    let flip = if negative { 0xff } else { 0 };
    if before > 0 {
        let exponent = before.unsigned_abs();
        if exponent > MAX_MEDIUM_PAIRS {
            out.push(if negative { NEGATIVE_LARGE } else { POSITIVE_LARGE });
            push_varint(exponent, flip, out);
        } else {
            let exponent = u8::try_from(exponent).unwrap_or(u8::MAX);
            out.push(if negative {
                NEGATIVE_MEDIUM - exponent
            } else {
                POSITIVE_MEDIUM + exponent
            });
        }
    } else {
        out.push(if negative { NEGATIVE_SMALL } else { POSITIVE_SMALL });
        push_varint(before.unsigned_abs(), !flip, out);
    }
    for (at, pair) in pairs[..count].iter().enumerate() {
        out.push((pair * 2 + u8::from(at + 1 < count)) ^ flip);
    }
}

/// Returns the end of the number that begins at `at`; `flip` is 0xff if its bytes are descending.
///
/// # Errors
/// Bytes that begin no number, or end inside one.
pub fn end(key: &[u8], at: usize, flip: u8) -> Result<usize, KeyErrorKind> {
    let header = key.get(at).ok_or(KeyErrorKind::Short)? ^ flip;
    let (behind, negative) = match header {
        ZERO => return Ok(at + 1),
        NEGATIVE_SMALL => (at + 1 + varint_bytes(key, at + 1, flip)?, true),
        NEGATIVE_LARGE => (at + 1 + varint_bytes(key, at + 1, !flip)?, true),
        POSITIVE_SMALL => (at + 1 + varint_bytes(key, at + 1, !flip)?, false),
        POSITIVE_LARGE => (at + 1 + varint_bytes(key, at + 1, flip)?, false),
        header if (NEGATIVE_MEDIUM - 10..NEGATIVE_MEDIUM).contains(&header) => (at + 1, true),
        header if (POSITIVE_MEDIUM + 1..=POSITIVE_MEDIUM + 10).contains(&header) => (at + 1, false),
        _ => return Err(BAD),
    };
    let last_bit = u8::from(negative) ^ (flip & 1);
    let mantissa = key.get(behind..).ok_or(KeyErrorKind::Short)?;
    let length = mantissa.iter().take(MAX_PAIRS).position(|byte| byte & 1 == last_bit);
    match length {
        Some(length) => Ok(behind + length + 1),
        None if mantissa.len() < MAX_PAIRS => Err(KeyErrorKind::Short),
        None => Err(BAD),
    }
}

/// Decodes the number in these bytes, from its header to its end.
pub(super) fn decode(bytes: &[u8], flip: u8) -> Result<Decimal, KeyErrorKind> {
    let header = bytes.first().ok_or(KeyErrorKind::Short)? ^ flip;
    if header == ZERO {
        return Decimal::new(0, 0).ok_or(BAD);
    }
    let negative = header < ZERO;
    let (before, behind) = match header {
        NEGATIVE_SMALL | POSITIVE_SMALL => {
            let inner = if negative { flip } else { !flip };
            (-signed(varint(bytes, inner)?)?, 1 + varint_bytes(bytes, 1, inner)?)
        }
        NEGATIVE_LARGE | POSITIVE_LARGE => {
            let inner = if negative { !flip } else { flip };
            (signed(varint(bytes, inner)?)?, 1 + varint_bytes(bytes, 1, inner)?)
        }
        _ if negative => (i64::from(NEGATIVE_MEDIUM) - i64::from(header), 1),
        _ => (i64::from(header) - i64::from(POSITIVE_MEDIUM), 1),
    };
    let mantissa = bytes.get(behind..).ok_or(KeyErrorKind::Short)?;
    let flip = if negative { !flip } else { flip };
    number(mantissa, flip, before, negative)
        .filter(|number| is_canonical(*number, bytes, header))
        .ok_or(BAD)
}

fn signed(exponent: u64) -> Result<i64, KeyErrorKind> {
    i32::try_from(exponent).map(i64::from).map_err(|_| BAD)
}

fn number(mantissa: &[u8], flip: u8, before: i64, negative: bool) -> Option<Decimal> {
    if mantissa.is_empty() || mantissa.len() > MAX_PAIRS {
        return None;
    }
    let mut digits: i128 = 0;
    for byte in mantissa {
        let pair = (byte ^ flip) >> 1;
        if pair > 99 {
            return None;
        }
        digits = digits * 100 + i128::from(pair);
    }
    let exponent = before.checked_sub(i64::try_from(mantissa.len()).ok()?)?.checked_mul(2)?;
    Decimal::new(if negative { -digits } else { digits }, i32::try_from(exponent).ok()?)
}

/// Returns `true` if these bytes are the encoding of the number: its digits have no leading or
/// trailing zeros.
fn is_canonical(number: Decimal, bytes: &[u8], header: u8) -> bool {
    let mut again = KeyBuf::new();
    encode(number, &mut again);
    again.first() == Some(&header) && again.len() == bytes.len()
}

/// Returns the number of pairs of digits before the point, including the zeros after the last
/// digit.
pub(super) fn pairs_before_point(number: Decimal) -> i64 {
    let digits =
        i64::from(number.coefficient().unsigned_abs().ilog10()) + 1 + i64::from(number.exponent());
    // Rounded up for both signs: 3 digits are two pairs, and 0.001 has one pair of zeros (-2
    // digits, -1 pairs).
    -(-digits).div_euclid(2)
}

/// Returns the digits in pairs aligned to the point, without trailing pairs of zeros; and the
/// number of pairs.
pub(super) fn digit_pairs(number: Decimal) -> ([u8; MAX_PAIRS], usize) {
    let mut rest = number.coefficient().unsigned_abs();
    if number.exponent().rem_euclid(2) != 0 {
        rest *= 10;
    }
    let mut pairs = [0; MAX_PAIRS];
    let mut count = 0;
    while rest > 0 {
        pairs[count] = u8::try_from(rest % 100).unwrap_or(0);
        rest /= 100;
        count += 1;
    }
    pairs[..count].reverse();
    (pairs, count)
}

/// Appends the varint of `SQLite` 4: one byte up to 240, or else a first byte with the number of
/// following bytes.
fn push_varint(value: u64, flip: u8, out: &mut KeyBuf) {
    let mut push = |byte: u64| out.push(byte.to_le_bytes()[0] ^ flip);
    match value {
        0..=240 => push(value),
        241..=2287 => {
            push((value - 240) / 256 + 241);
            push((value - 240) % 256);
        }
        2288..=67_823 => {
            push(249);
            push((value - 2288) / 256);
            push((value - 2288) % 256);
        }
        _ => {
            let length = u64::from(8 - value.leading_zeros() / 8).max(3);
            push(247 + length);
            for at in (0..length).rev() {
                push(value >> (8 * at));
            }
        }
    }
}

fn varint_bytes(key: &[u8], at: usize, flip: u8) -> Result<usize, KeyErrorKind> {
    let first = key.get(at).ok_or(KeyErrorKind::Short)? ^ flip;
    let length = match first {
        0..=240 => 1,
        241..=248 => 2,
        249 => 3,
        _ => usize::from(first) - 246,
    };
    if key.len() - at < length { Err(KeyErrorKind::Short) } else { Ok(length) }
}

fn varint(bytes: &[u8], flip: u8) -> Result<u64, KeyErrorKind> {
    let length = varint_bytes(bytes, 1, flip)?;
    let byte = |at: usize| u64::from(bytes[1 + at] ^ flip);
    Ok(match byte(0) {
        first @ 0..=240 => first,
        first @ 241..=248 => 240 + 256 * (first - 241) + byte(1),
        249 => 2288 + 256 * byte(1) + byte(2),
        _ => (1..length).fold(0, |value, at| (value << 8) | byte(at)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(coefficient: i128, exponent: i32) -> String {
        let mut out = KeyBuf::new();
        encode(Decimal::new(coefficient, exponent).expect("few digits"), &mut out);
        crate::codec::tests::hex(&out)
    }

    #[test]
    fn numbers_have_the_bytes_of_hbase() {
        assert_eq!(hex(314, -2), "18071c");
        assert_eq!(hex(-1000, 0), "11eb");
        assert_eq!(hex(100, 0), "1902");
        assert_eq!(hex(0, 0), "15");
    }

    #[test]
    fn numbers_round_trip_and_keep_their_order() {
        let mut numbers = Vec::new();
        for exponent in
            (-30..30).chain([-70_000, -2_000, -600, 600, 2_000, 70_000, i32::MIN / 2, i32::MAX / 2])
        {
            for coefficient in [
                0,
                1,
                9,
                10,
                11,
                99,
                101,
                12_345,
                123_456,
                10_i128.pow(31) - 1,
                10_i128.pow(30) + 1,
            ] {
                numbers.extend(
                    [Decimal::new(coefficient, exponent), Decimal::new(-coefficient, exponent)]
                        .into_iter()
                        .flatten(),
                );
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        for flip in [0, 0xff] {
            let mut last: Option<Vec<u8>> = None;
            for number in &numbers {
                let mut out = KeyBuf::new();
                encode(*number, &mut out);
                let mut bytes: Vec<u8> = out.iter().map(|byte| byte ^ flip).collect();
                assert_eq!(decode(&bytes, flip), Ok(*number));
                bytes.push(0x55);
                assert_eq!(end(&bytes, 0, flip), Ok(bytes.len() - 1), "{number}");
                bytes.pop();
                let ascends =
                    last.is_none_or(|last| if flip == 0 { last < bytes } else { last > bytes });
                assert!(ascends, "{number} does not follow the number before it");
                last = Some(bytes);
            }
        }
    }
}
