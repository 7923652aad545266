//! Merged cells: columns whose puts are contributions to one value.
//!
//! A family with the attribute `MERGE` combines the cells of a column instead of keeping the
//! newest. [`MergeOperator`] is the one place that defines how two values combine; the store calls
//! it in reads, flushes and compactions, and the library where the server has no such families.
#![deny(clippy::indexing_slicing)]

pub mod bitmap;
pub mod contribute;
pub mod hll;

use std::fmt;
use std::str::FromStr;

pub use bitmap::{Bitmap, MAX_BITMAP_BYTES};
pub use contribute::MergedColumn;
pub use hll::Hll;

use crate::error::{Error, Result};
use crate::suggest::{closest_match, did_you_mean};

/// How the cells of a column are merged: the values of the family attribute `MERGE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MergeOperator {
    /// Sum of 8-byte big-endian signed integers. It wraps around, as increments of HBase do.
    Sum,
    /// Least of 8-byte big-endian signed integers.
    Min,
    /// Greatest of 8-byte big-endian signed integers.
    Max,
    /// Union of `HyperLogLog` sketches ([`Hll`]).
    Hll,
    /// Union of bitmaps ([`Bitmap`]).
    Bitmap,
}

impl MergeOperator {
    /// The operators, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Min, Self::Max, Self::Hll, Self::Bitmap];

    /// Returns the name in the attribute.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "SUM",
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::Hll => "HLL",
            Self::Bitmap => "BITMAP",
        }
    }

    /// Returns `true` if a contribution that arrives twice changes nothing.
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        self != Self::Sum
    }

    /// Verifies that `value` is a contribution.
    ///
    /// # Errors
    /// `InvalidRequest` with the expected format.
    pub fn check(self, value: &[u8]) -> Result<()> {
        Merge::new(self, value).map(drop)
    }

    /// Returns the merged value of two.
    ///
    /// # Errors
    /// As [`MergeOperator::check`], for either.
    pub fn merge(self, one: &[u8], other: &[u8]) -> Result<Vec<u8>> {
        let mut merge = Merge::new(self, one)?;
        merge.add(other)?;
        Ok(merge.into_value())
    }
}

impl fmt::Display for MergeOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MergeOperator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found =
            Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            Error::invalid(format!(
                "invalid MERGE {text:?}{}: expected one of {}",
                did_you_mean(closest_match(text, names.into_iter())),
                names.join(", ")
            ))
        })
    }
}

/// Values that are being merged. The order in which they are added does not matter.
#[derive(Debug)]
pub struct Merge(State);

#[derive(Debug)]
enum State {
    Number(MergeOperator, i64),
    Hll(Box<Hll>),
    Bitmap(Box<bitmap::Union>),
}

impl Merge {
    /// Begins with one value.
    ///
    /// # Errors
    /// `InvalidRequest` if it has another format, and for a bitmap of more than
    /// [`MAX_BITMAP_BYTES`].
    pub fn new(operator: MergeOperator, value: &[u8]) -> Result<Self> {
        Self::within(operator, value, MAX_BITMAP_BYTES)
    }

    /// Begins with one value, for flushes and compactions: contributions that a store has accepted
    /// are merged whatever the size of their union, and reads refuse one that is too large.
    ///
    /// # Errors
    /// `InvalidRequest` if it has another format.
    pub fn unbounded(operator: MergeOperator, value: &[u8]) -> Result<Self> {
        Self::within(operator, value, usize::MAX)
    }

    fn within(operator: MergeOperator, value: &[u8], max_bytes: usize) -> Result<Self> {
        Ok(Self(match operator {
            MergeOperator::Sum | MergeOperator::Min | MergeOperator::Max => {
                State::Number(operator, number(operator, value)?)
            }
            MergeOperator::Hll => State::Hll(Box::new(Hll::from_bytes(value)?)),
            MergeOperator::Bitmap => State::Bitmap(Box::new(bitmap::Union::new(value, max_bytes)?)),
        }))
    }

    /// Adds another value.
    ///
    /// # Errors
    /// `InvalidRequest` if it has another format; nothing is added then. Also for a union that is
    /// too large, which must not be used further.
    pub fn add(&mut self, value: &[u8]) -> Result<()> {
        match &mut self.0 {
            State::Number(operator, merged) => {
                let more = number(*operator, value)?;
                *merged = match operator {
                    MergeOperator::Min => more.min(*merged),
                    MergeOperator::Max => more.max(*merged),
                    _ => merged.wrapping_add(more),
                };
            }
            State::Hll(hll) => hll.merge(&Hll::from_bytes(value)?),
            State::Bitmap(union) => union.add(value)?,
        }
        Ok(())
    }

    /// Returns the merged value.
    #[must_use]
    pub fn into_value(self) -> Vec<u8> {
        match self.0 {
            State::Number(_, number) => number.to_be_bytes().to_vec(),
            State::Hll(hll) => hll.to_bytes(),
            State::Bitmap(union) => union.into_bytes(),
        }
    }
}

fn number(operator: MergeOperator, value: &[u8]) -> Result<i64> {
    <[u8; 8]>::try_from(value).map(i64::from_be_bytes).map_err(|_| {
        Error::invalid(format!(
            "a value of {} bytes is not a contribution to {operator}: pass an 8-byte big-endian \
             number",
            value.len()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_merge_by_their_operator() {
        let merged = |operator: MergeOperator, a: i64, b: i64| {
            let bytes = operator.merge(&a.to_be_bytes(), &b.to_be_bytes()).unwrap();
            i64::from_be_bytes(bytes.try_into().unwrap())
        };
        assert_eq!(merged(MergeOperator::Sum, 40, 2), 42);
        assert_eq!(merged(MergeOperator::Sum, i64::MAX, 1), i64::MIN);
        assert_eq!(merged(MergeOperator::Min, -3, 2), -3);
        assert_eq!(merged(MergeOperator::Max, -3, 2), 2);
    }

    #[test]
    fn names_are_read_in_any_case_and_others_refused_with_the_nearest() {
        for operator in MergeOperator::ALL {
            let lower = operator.name().to_ascii_lowercase();
            assert_eq!(lower.parse::<MergeOperator>().unwrap(), operator);
        }
        let error = "SUMM".parse::<MergeOperator>().unwrap_err();
        assert!(error.message().contains("SUM, MIN, MAX, HLL, BITMAP"), "{error}");
    }

    #[test]
    fn values_of_another_format_are_refused() {
        for operator in MergeOperator::ALL {
            assert!(operator.check(b"").is_err(), "{operator}");
            assert!(operator.check(b"text").is_err(), "{operator}");
        }
    }
}
