//! Values at one position of all keys, and their common properties.

use std::collections::HashMap;

/// Bytes at one position of each key.
#[derive(Clone, Debug)]
pub(super) struct Column<'k> {
    pub(super) values: Vec<&'k [u8]>,
    /// Bytes of the shortest value.
    pub(super) min: usize,
    /// Bytes of the longest value.
    pub(super) max: usize,
    pub(super) distinct: usize,
    /// `true` if each value has only decimal digits, and at least one.
    pub(super) is_digits: bool,
    /// `true` if each value has only lower-case hexadecimal digits, and at least one.
    pub(super) is_hex: bool,
    /// `true` if each value has only ASCII letters, and at least one.
    pub(super) is_letters: bool,
}

impl<'k> Column<'k> {
    pub(super) fn from_values(values: Vec<&'k [u8]>) -> Self {
        let all = |test: fn(&u8) -> bool| {
            !values.is_empty()
                && values.iter().all(|value| !value.is_empty() && value.iter().all(test))
        };
        let is_hex = all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        Self {
            min: values.iter().map(|value| value.len()).min().unwrap_or(0),
            max: values.iter().map(|value| value.len()).max().unwrap_or(0),
            distinct: counts(&values).len(),
            is_digits: is_hex && all(u8::is_ascii_digit),
            is_hex,
            is_letters: all(u8::is_ascii_alphabetic),
            values,
        }
    }

    /// Returns the width of the values in bytes, if it is the same for all.
    pub(super) fn width(&self) -> Option<usize> {
        (self.min == self.max && self.min > 0).then_some(self.min)
    }

    /// Returns the value, if it is the same in all keys.
    pub(super) fn constant(&self) -> Option<&'k [u8]> {
        (self.distinct == 1).then(|| self.values[0])
    }

    /// Returns the first `bytes` of every value, and the rest.
    pub(super) fn split_at(&self, bytes: usize) -> Option<(Self, Self)> {
        (bytes <= self.min)
            .then(|| self.values.iter().map(|value| value.split_at(bytes)).unzip())
            .map(|(a, b)| (Self::from_values(a), Self::from_values(b)))
    }

    /// Returns the same as [`Self::split_at`], counted from the end of every value.
    pub(super) fn split_from_end(&self, bytes: usize) -> Option<(Self, Self)> {
        let halves = || self.values.iter().map(|value| value.split_at(value.len() - bytes)).unzip();
        (bytes <= self.min).then(halves).map(|(a, b)| (Self::from_values(a), Self::from_values(b)))
    }

    /// Returns the decimal numbers; `None` if a value is not a number of at most 64 bits.
    pub(super) fn numbers(&self) -> Option<Vec<u64>> {
        self.values.iter().map(|value| number(value)).collect()
    }

    /// Returns the letters (and signs between them) at the start of all values, before differences
    /// and digits.
    pub(super) fn common_letters(&self) -> &'k [u8] {
        let Some(first) = self.values.first() else { return &[] };
        let mut common = first.iter().take_while(|byte| !byte.is_ascii_digit()).count();
        for value in &self.values {
            common = first[..common].iter().zip(*value).take_while(|(a, b)| a == b).count();
        }
        &first[..common]
    }

    /// Returns the bits of entropy per byte of the values, at most 8. Fewer than 256 bytes cannot
    /// have all eight.
    pub(super) fn bits_per_byte(&self) -> f64 {
        let mut counts = [0_u32; 256];
        self.values
            .iter()
            .flat_map(|value| value.iter())
            .for_each(|&byte| counts[usize::from(byte)] += 1);
        let all: u32 = counts.iter().sum();
        let share = counts
            .iter()
            .filter(|&&count| count > 0)
            .map(|&count| f64::from(count) / f64::from(all.max(1)));
        share.map(|share| -share * share.log2()).sum()
    }

    /// Returns the share of the most frequent value multiplied by the number of different values: 1
    /// is even.
    #[expect(clippy::cast_precision_loss, reason = "a ratio of counts of a sample")]
    pub(super) fn unevenness(&self) -> f64 {
        let counts = counts(&self.values);
        let most = counts.values().copied().max().unwrap_or(0);
        most as f64 * counts.len() as f64 / self.values.len().max(1) as f64
    }
}

/// Returns the frequency of each value.
pub(super) fn counts<'k>(values: &[&'k [u8]]) -> HashMap<&'k [u8], usize> {
    let mut counts = HashMap::new();
    values.iter().for_each(|&value| *counts.entry(value).or_insert(0) += 1);
    counts
}

/// Returns a decimal number of at most 64 bits.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

/// Returns `true` if bytes are human-readable text: UTF-8 without control characters.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(char::is_control))
}
