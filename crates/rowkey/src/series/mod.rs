//! Packed series: the points of one bucket row in one cell.
//!
//! A bucket row has one column for each point that came since it was packed (*loose* points), and one that holds all
//! points that were there then (the *packed* cell). Reading merges them; packing makes a new packed cell of both.
//!
//! ```text
//!   row       salt | device | bucket of 1 h
//!   columns   t:p          packed: 60 points in about 40 bytes
//!             t:p 00 36 EE 6E  a late point, 18 ms before the bucket ends
//! ```
//!
//! The bytes of a packed cell are drawn in docs/formats/series.md.

mod bits;
mod column;
mod repack;
mod table;
mod times;
mod values;

use std::fmt;

use bits::{put_varint, take_varint};
pub use column::{RowPoints, SeriesColumn};
pub use repack::RepackSeries;
pub use table::{Measurement, Packed, Series, SeriesPoints};

/// Points one packed cell may hold: one for each of 36 hours of seconds. A longer bucket is better made shorter.
pub const POINTS_MAX: usize = 1 << 17;

/// The first byte of a packed cell.
const VERSION: u8 = 1;

/// One point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When, in the unit of the series, counted from the start of the bucket.
    pub offset: i64,
    /// What was measured.
    pub value: f64,
}

/// Why points cannot be packed, or bytes are no packed cell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeriesError {
    /// There are none, and a packed cell holds at least one.
    Empty,
    /// There are more than [`POINTS_MAX`].
    TooMany(u64),
    /// The point at this place is not later than the one before.
    OutOfOrder(usize),
    /// The bytes were not written by [`pack`].
    Damaged,
    /// A newer version of the format.
    Version(u8),
}

impl fmt::Display for SeriesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("a packed cell holds at least one point"),
            Self::TooMany(points) => {
                write!(out, "{points} points in one bucket, and a packed cell holds at most {POINTS_MAX}: make the bucket shorter")
            }
            Self::OutOfOrder(at) => write!(out, "point {at} is not later than the one before it: sort the points, and keep one of each time"),
            Self::Damaged => out.write_str("the packed cell is damaged, or is no packed cell"),
            Self::Version(version) => {
                write!(out, "the packed cell has version {version} of the format, and this program reads version {VERSION}: use a newer one")
            }
        }
    }
}

impl std::error::Error for SeriesError {}

impl From<SeriesError> for halite_types::Error {
    fn from(error: SeriesError) -> Self {
        match error {
            SeriesError::Damaged => Self::corrupt(error.to_string()),
            _ => Self::invalid(error.to_string()),
        }
    }
}

/// The bytes of a packed cell with these points, which are in ascending order of their offsets. Every value comes back
/// with its very bits.
///
/// # Errors
/// No points or too many, or two of one offset.
pub fn pack(points: &[Point]) -> Result<Vec<u8>, SeriesError> {
    if points.is_empty() {
        return Err(SeriesError::Empty);
    }
    if points.len() > POINTS_MAX {
        return Err(SeriesError::TooMany(points.len() as u64));
    }
    if let Some(at) = points.windows(2).position(|pair| pair[0].offset >= pair[1].offset) {
        return Err(SeriesError::OutOfOrder(at + 1));
    }
    let (offsets, values): (Vec<_>, Vec<_>) = points.iter().map(|point| (point.offset, point.value)).unzip();
    let mut out = vec![VERSION];
    put_varint(points.len() as u64, &mut out);
    Ok(values::encode(&values, times::encode(&offsets, out)))
}

/// The points of a packed cell, in ascending order of their offsets.
///
/// # Errors
/// Bytes that [`pack`] did not write.
pub fn unpack(cell: &[u8]) -> Result<Vec<Point>, SeriesError> {
    let (&version, mut bytes) = cell.split_first().ok_or(SeriesError::Damaged)?;
    if version != VERSION {
        return Err(SeriesError::Version(version));
    }
    let count = take_varint(&mut bytes).ok_or(SeriesError::Damaged)?;
    // Points of a steady period and value take no bytes at all, so their number is bounded by itself.
    let count = usize::try_from(count).ok().filter(|&count| count <= POINTS_MAX).ok_or(SeriesError::TooMany(count))?;
    if count == 0 {
        return Err(SeriesError::Empty);
    }
    let offsets = times::decode(count, &mut bytes).ok_or(SeriesError::Damaged)?;
    let values = values::decode(count, bytes).ok_or(SeriesError::Damaged)?;
    Ok(offsets.into_iter().zip(values).map(|(offset, value)| Point { offset, value }).collect())
}

/// Points that came after packing, laid over those that were packed: of one offset, the later one counts, and one without
/// a value takes the packed one away. Both are in ascending order, and so is what comes of them.
pub fn merge(packed: &[Point], loose: &[(i64, Option<f64>)]) -> Vec<Point> {
    let mut merged = Vec::with_capacity(packed.len() + loose.len());
    let mut old = packed.iter().peekable();
    for &(offset, value) in loose {
        while let Some(point) = old.next_if(|point| point.offset < offset) {
            merged.push(*point);
        }
        old.next_if(|point| point.offset == offset);
        merged.extend(value.map(|value| Point { offset, value }));
    }
    merged.extend(old);
    merged
}

#[cfg(test)]
mod tests;
