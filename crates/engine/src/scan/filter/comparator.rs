//! Comparison of the bytes of a cell with a filter's value.

use std::borrow::Cow;
use std::cmp::Ordering;

use bytes::Bytes;
use halite_types::{BitOp, Comparator, CompareOp, Error, RegexString, Result};

use super::compiled_regex::{RegexBudget, RegexError, shortened};
use super::decimal::Decimal;
use super::expression::Expression;

/// Compiled comparator.
pub(super) enum Compiled {
    Binary(Bytes),
    BinaryPrefix(Bytes),
    BinaryComponent(Bytes, usize),
    Bit(BitOp, Bytes),
    Substring(Substring),
    Regex(Expression, Charset),
    Long(i64),
    BigDecimal(Decimal),
    Null,
}

impl Compiled {
    /// Compiles a comparator; a regular expression uses a part of `room`.
    pub(super) fn new(comparator: &Comparator, room: &mut RegexBudget) -> Result<Self> {
        Ok(match comparator {
            Comparator::Binary(value) => Self::Binary(value.clone()),
            Comparator::BinaryPrefix(value) => Self::BinaryPrefix(value.clone()),
            Comparator::BinaryComponent { value, offset } => {
                Self::BinaryComponent(value.clone(), usize::try_from(*offset).unwrap_or(usize::MAX))
            }
            Comparator::Bit(op, value) => Self::Bit(*op, value.clone()),
            Comparator::Substring(text) => Self::Substring(Substring::new(text)),
            Comparator::Regex(expression) => {
                Self::Regex(compile(expression, room)?, Charset::named(&expression.charset)?)
            }
            Comparator::Long(value) => Self::Long(*value),
            Comparator::BigDecimal(bytes) => {
                Self::BigDecimal(Decimal::parse(bytes).ok_or_else(|| {
                    Error::invalid(
                        "filter: a BigDecimalComparator holds no decimal; give a scale of 4 bytes \
                         and at least one byte of digits",
                    )
                })?)
            }
            Comparator::Null => Self::Null,
        })
    }

    /// Returns the order of the stored bytes relative to the given ones; `None` if the stored ones
    /// cannot be parsed as such a value.
    pub(super) fn order_of(&self, stored: &[u8]) -> Option<Ordering> {
        Some(match self {
            Self::Binary(given) => stored.cmp(given),
            Self::BinaryPrefix(given) => stored[..stored.len().min(given.len())].cmp(given),
            Self::BinaryComponent(given, offset) => {
                let rest = stored.get(*offset..).unwrap_or_default();
                rest[..rest.len().min(given.len())].cmp(given)
            }
            Self::Bit(op, given) => equal_or_less(bits_meet(*op, stored, given)),
            Self::Substring(substring) => equal_or_less(substring.occurs_in(stored)),
            Self::Regex(regex, charset) => equal_or_less(regex.occurs_in(&charset.decode(stored))),
            Self::Long(given) => i64::from_be_bytes(stored.try_into().ok()?).cmp(given),
            Self::BigDecimal(given) => Decimal::parse(stored)?.compare(given),
            Self::Null => Ordering::Less,
        })
    }
}

/// Operator with its comparator.
pub(super) struct Comparison {
    op: CompareOp,
    comparator: Compiled,
}

impl Comparison {
    pub(super) fn new(
        op: CompareOp,
        comparator: &Comparator,
        room: &mut RegexBudget,
    ) -> Result<Self> {
        Ok(Self { op, comparator: Compiled::new(comparator, room)? })
    }

    pub(super) fn is_no_op(&self) -> bool {
        self.op == CompareOp::NoOp
    }

    pub(super) fn accepts(&self, stored: &[u8]) -> bool {
        !self.is_no_op()
            && self.comparator.order_of(stored).is_some_and(|order| self.op.accepts(order))
    }
}

fn equal_or_less(equal: bool) -> Ordering {
    if equal { Ordering::Equal } else { Ordering::Less }
}

fn bits_meet(op: BitOp, stored: &[u8], given: &[u8]) -> bool {
    stored.len() == given.len()
        && stored.iter().zip(given).any(|(stored, given)| {
            0 != match op {
                BitOp::And => stored & given,
                BitOp::Or => stored | given,
                BitOp::Xor => stored ^ given,
            }
        })
}

/// Substring to find, ignoring case.
pub(super) struct Substring {
    lower: String,
    /// For each prefix, the length of its longest proper prefix that is also its suffix.
    borders: Vec<usize>,
}

impl Substring {
    fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let bytes = lower.as_bytes();
        let (mut borders, mut matched) = (vec![0; bytes.len()], 0);
        for at in 1..bytes.len() {
            matched = step(bytes, &borders, matched, bytes[at]);
            borders[at] = matched;
        }
        Self { lower, borders }
    }

    fn occurs_in(&self, stored: &[u8]) -> bool {
        if self.lower.is_empty() {
            return true;
        }
        if stored.is_ascii() {
            // Each byte is examined once, whatever both texts contain, because a client may choose
            // either (Knuth, Morris and Pratt).
            let (lower, mut matched) = (self.lower.as_bytes(), 0);
            return stored.iter().any(|byte| {
                matched = step(lower, &self.borders, matched, byte.to_ascii_lowercase());
                matched == lower.len()
            });
        }
        String::from_utf8_lossy(stored).to_lowercase().contains(&self.lower)
    }
}

/// Returns the number of bytes of a text that match its start, after `matched` of them did and one
/// more byte follows. `matched` is less than the length of the text.
fn step(text: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && text[matched] != byte {
        matched = borders[matched - 1];
    }
    matched + usize::from(text[matched] == byte)
}

fn compile(expression: &RegexString, room: &mut RegexBudget) -> Result<Expression> {
    let text = shortened(&expression.pattern, 200);
    Expression::new(&expression.pattern, expression.flags, room).map_err(|refusal| match refusal {
        RegexError::Unknown(reason) => {
            Error::invalid(format!("filter: regular expression {text:?}: {reason}"))
        }
        RegexError::TooLarge(reason) => Error::invalid(format!(
            "filter: regular expression {text:?} cannot be used: {reason}; leave repetitions and \
             classes of many characters away, or ask in several requests"
        )),
        RegexError::Wrong(reason) => Error::invalid(format!(
            "filter: regular expression {text:?} cannot be used: {reason}; back-references and \
             looking around are not offered, because they take unbounded time"
        )),
    })
}

/// Conversion of bytes to text for a regular expression.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    Utf8,
    Latin1,
    Ascii,
}

impl Charset {
    fn named(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_uppercase().as_str() {
            "" | "UTF-8" | "UTF8" => Self::Utf8,
            "ISO-8859-1" | "ISO8859_1" | "LATIN1" => Self::Latin1,
            "US-ASCII" | "ASCII" => Self::Ascii,
            _ => {
                return Err(Error::invalid(format!(
                    "filter: character set {name:?} of a regular expression is not offered; use \
                     UTF-8, ISO-8859-1 or US-ASCII"
                )));
            }
        })
    }

    fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            _ if bytes.is_ascii() => String::from_utf8_lossy(bytes),
            Self::Latin1 => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
            Self::Ascii => Cow::Owned(
                bytes
                    .iter()
                    .map(|&byte| if byte.is_ascii() { char::from(byte) } else { '\u{fffd}' })
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::env::Clock;
    use crate::env::os::OsClock;

    proptest! {
        #[test]
        fn substring_search_matches_naive_search(text in "[ab]{0,6}|[aA]{1,3}b?", stored in "[abAB]{0,40}") {
            let found = Substring::new(&text).occurs_in(stored.as_bytes());
            prop_assert_eq!(found, stored.to_lowercase().contains(&text.to_lowercase()));
        }
    }

    #[test]
    fn long_substring_search_takes_linear_time() {
        let substring = Substring::new(&("a".repeat(200_000) + "b"));
        let clock = OsClock::default();
        assert!(!substring.occurs_in(&vec![b'A'; 600_000]));
        let taken = Duration::from_nanos(clock.monotonic_ns());
        assert!(taken < Duration::from_mins(1), "{taken:?}");
    }
}
