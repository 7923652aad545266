//! Decimal numbers as HBase stores Java's `BigDecimal`, and their order.

use std::cmp::Ordering;

/// Maximum bytes of a number; the conversion of bytes to digits takes quadratic time.
const MAX_BYTES: usize = 1024;
const GROUP: u64 = 1_000_000_000;
const GROUP_DIGITS: usize = 9;

/// Number `0.digits * 10^exponent`, with no zero at either end of the digits; no digits are the
/// number 0.
#[derive(Debug, PartialEq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Parses a scale of 4 bytes and a big-endian two's complement number; `None` if either is
    /// missing.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (scale, unscaled) = bytes.split_first_chunk::<4>()?;
        if unscaled.is_empty() || unscaled.len() > MAX_BYTES {
            return None;
        }
        let negative = unscaled[0] & 0x80 != 0;
        let mut digits = decimal_digits(magnitude(unscaled, negative));
        let exponent = i64::try_from(digits.len()).ok()? - i64::from(i32::from_be_bytes(*scale));
        digits.truncate(digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1));
        Some(Self { negative, digits, exponent })
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| match self.sign() {
            0 => Ordering::Equal,
            1 => self.compare_magnitude(other),
            _ => other.compare_magnitude(self),
        })
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => -1,
        }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
    }
}

/// Returns the absolute value as 32-bit limbs, the highest first.
fn magnitude(unscaled: &[u8], negative: bool) -> Vec<u32> {
    let filler = if negative { 0xff } else { 0 };
    let mut limbs: Vec<u32> = unscaled
        .rchunks(4)
        .map(|chunk| {
            let mut limb = [filler; 4];
            limb[4 - chunk.len()..].copy_from_slice(chunk);
            u32::from_be_bytes(limb)
        })
        .collect();
    if negative {
        let mut carry = true;
        for limb in &mut limbs {
            let (value, overflow) = (!*limb).overflowing_add(u32::from(carry));
            *limb = value;
            carry = overflow;
        }
        if carry {
            limbs.push(1);
        }
    }
    limbs.reverse();
    limbs
}

/// Returns the digits of a number given as limbs, the highest first and not 0.
fn decimal_digits(mut limbs: Vec<u32>) -> Vec<u8> {
    let mut lowest_first = Vec::new();
    let mut limbs = &mut limbs[..];
    loop {
        let zeros = limbs.iter().take_while(|&&limb| limb == 0).count();
        limbs = &mut limbs[zeros..];
        if limbs.is_empty() {
            break;
        }
        let mut rest = 0_u64;
        for limb in &mut *limbs {
            let part = (rest << 32) | u64::from(*limb);
            *limb = u32::try_from(part / GROUP).expect("the remainder is below the divisor");
            rest = part % GROUP;
        }
        for _ in 0..GROUP_DIGITS {
            lowest_first.push(u8::try_from(rest % 10).expect("one digit"));
            rest /= 10;
        }
    }
    while lowest_first.last() == Some(&0) {
        lowest_first.pop();
    }
    lowest_first.reverse();
    lowest_first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(unscaled: i128, scale: i32) -> Vec<u8> {
        let mut bytes = scale.to_be_bytes().to_vec();
        bytes.extend_from_slice(&unscaled.to_be_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn decimals_are_ordered_by_value(a in -(1_i128 << 90)..1_i128 << 90, b in -(1_i128 << 90)..1_i128 << 90, scales in (0_u32..10, 0_u32..10)) {
            let (a_scale, b_scale) = scales;
            // Small numbers with many trailing zeros cover the relevant cases, above all equal
            // values.
            for (a, b) in [(a, b), (a % 100, b % 100), (a % 100 * 1000, b % 100), (a, a * 10)] {
                let expected = (a * 10_i128.pow(b_scale)).cmp(&(b * 10_i128.pow(a_scale)));
                let a = Decimal::parse(&stored(a, a_scale.cast_signed())).unwrap();
                let b = Decimal::parse(&stored(b, b_scale.cast_signed())).unwrap();
                prop_assert_eq!(a.compare(&b), expected);
            }
        }
    }

    #[test]
    fn shortest_and_lowest_numbers_are_parsed() {
        let number = |bytes: &[u8]| Decimal::parse(bytes);
        assert_eq!(
            number(&[0, 0, 0, 1, 15]),
            Some(Decimal { negative: false, digits: vec![1, 5], exponent: 1 })
        );
        assert_eq!(
            number(&[0, 0, 0, 0, 0x80]),
            Some(Decimal { negative: true, digits: vec![1, 2, 8], exponent: 3 })
        );
        assert_eq!(
            number(&[0, 0, 0, 0, 0x80, 0, 0, 0]).map(|number| number.digits),
            Some(vec![2, 1, 4, 7, 4, 8, 3, 6, 4, 8])
        );
        assert_eq!(number(&[0, 0, 0, 0]), None);
        assert_eq!(number(&[0; MAX_BYTES + 5]), None);
    }
}
