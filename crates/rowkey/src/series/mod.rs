//! Packed series: the points of one bucket row in one cell.
//!
//! A bucket row has one column for each point written since it was packed (*loose* points), and one
//! with all points that existed then (the *packed* cell). Reads merge them; packing combines both
//! into a new packed cell.
//!
//! ```text
//!   row       salt | device | bucket of 1 h
//!   columns   t:p          packed: 60 points in about 40 bytes
//!             t:p 00 36 EE 6E  a late point, 18 ms before the bucket ends
//! ```
//!
//! The format of a packed cell is documented in docs/formats/series.md.

mod bits;
mod column;
mod compaction_filter;
mod points;
mod table;
mod times;
mod values;

use std::fmt;

use bits::{put_varint, take_varint};
pub use column::{RowPoints, SeriesColumn};
pub use compaction_filter::SeriesCompactionFilterFactory;
pub use points::SeriesPoints;
pub use table::{Measurement, PackResult, Series};

/// Maximum points of a packed cell: one for each second of 36 hours. Use shorter buckets instead of
/// more points.
pub const MAX_POINTS: usize = 1 << 17;

/// First byte of a packed cell.
const VERSION: u8 = 1;

/// Point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time in the unit of the series, relative to the start of the bucket.
    pub offset: i64,
    /// Measured value.
    pub value: f64,
}

/// Reason why points cannot be packed, or bytes are not a packed cell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeriesError {
    /// There are no points; a packed cell contains at least one.
    Empty,
    /// There are more than [`MAX_POINTS`].
    TooMany(u64),
    /// The point at this index is not later than the previous one.
    OutOfOrder(usize),
    /// The bytes were not written by [`pack`].
    Damaged,
    /// The format version is newer.
    Version(u8),
}

impl fmt::Display for SeriesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("a packed cell holds at least one point"),
            Self::TooMany(points) => {
                write!(
                    out,
                    "{points} points in one bucket, and a packed cell holds at most {MAX_POINTS}: \
                     make the bucket shorter"
                )
            }
            Self::OutOfOrder(at) => write!(
                out,
                "point {at} is not later than the one before it: sort the points, and keep one of \
                 each time"
            ),
            Self::Damaged => out.write_str("the packed cell is damaged, or is no packed cell"),
            Self::Version(version) => {
                write!(
                    out,
                    "the packed cell has version {version} of the format, and this program reads \
                     version {VERSION}: use a newer one"
                )
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

/// Encodes a packed cell with these points, which are in ascending order of their offsets. Decoding
/// restores every bit of the values.
///
/// # Errors
/// No points or too many, or two with the same offset.
pub fn pack(points: &[Point]) -> Result<Vec<u8>, SeriesError> {
    if points.is_empty() {
        return Err(SeriesError::Empty);
    }
    if points.len() > MAX_POINTS {
        return Err(SeriesError::TooMany(points.len() as u64));
    }
    if let Some(at) = points.windows(2).position(|pair| pair[0].offset >= pair[1].offset) {
        return Err(SeriesError::OutOfOrder(at + 1));
    }
    let (offsets, values): (Vec<_>, Vec<_>) =
        points.iter().map(|point| (point.offset, point.value)).unzip();
    let mut out = vec![VERSION];
    put_varint(points.len() as u64, &mut out);
    Ok(values::encode(&values, times::encode(&offsets, out)))
}

/// Decodes the points of a packed cell, in ascending order of their offsets.
///
/// # Errors
/// Bytes that [`pack`] did not write.
pub fn unpack(cell: &[u8]) -> Result<Vec<Point>, SeriesError> {
    let (&version, mut bytes) = cell.split_first().ok_or(SeriesError::Damaged)?;
    if version != VERSION {
        return Err(SeriesError::Version(version));
    }
    let count = take_varint(&mut bytes).ok_or(SeriesError::Damaged)?;
    // Points with a steady period and value take no bytes, so their number has a separate limit.
    let count = usize::try_from(count)
        .ok()
        .filter(|&count| count <= MAX_POINTS)
        .ok_or(SeriesError::TooMany(count))?;
    if count == 0 {
        return Err(SeriesError::Empty);
    }
    let offsets = times::decode(count, &mut bytes).ok_or(SeriesError::Damaged)?;
    let values = values::decode(count, bytes).ok_or(SeriesError::Damaged)?;
    Ok(offsets.into_iter().zip(values).map(|(offset, value)| Point { offset, value }).collect())
}

/// Merges points written after packing with the packed ones. At the same offset the loose point
/// takes precedence, and one without a value removes the packed point. Both inputs and the result
/// are in ascending order.
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
