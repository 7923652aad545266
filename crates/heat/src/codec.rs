//! Columns as bytes: runs of zeros and varints, metric by metric.
//!
//! ```text
//! version    u8 = 1
//! from       i64, little-endian, milliseconds since 1970
//! span       varint, milliseconds
//! buckets    varint, 1 to 1,024
//! bounds     for each bucket but the first: varint bytes shared with the previous bound, varint
//!            other bytes, those bytes
//! sections   12: loads, then peaks, of each metric in the order of Metric::ALL.
//!            Each: varint length, then alternating varint zeros, varint others, the others as
//!            varints. A section of peaks of length 0 has the values of its loads.
//! totals     6 varints: the largest load of all buckets together in 10 seconds
//! ```

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::column::{Bounds, Column, MAX_BOUND_BYTES, MAX_BUCKETS, MAX_TIME_MS};
use crate::metric::{Load, METRICS, Metric};

const VERSION: u8 = 1;
/// Sections of a column: loads and peaks of each metric.
const SECTIONS: usize = 2 * METRICS;

/// Column as it is kept in memory: its numbers are packed, and its bounds shared with others.
#[derive(Clone, Debug)]
pub struct PackedColumn {
    /// Beginning, in milliseconds since 1970.
    pub from_ms: i64,
    /// End, in milliseconds since 1970, exclusive.
    pub to_ms: i64,
    /// Buckets.
    pub bounds: Bounds,
    body: Arc<[u8]>,
    sections: [Range<u32>; SECTIONS],
    total_peak: Load,
}

/// Bytes that are not a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAColumn {
    /// Offset of the damage in bytes.
    pub offset: usize,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for NotAColumn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a column of a heat map: {} at byte {}", self.reason, self.offset)
    }
}

impl StdError for NotAColumn {}

impl PackedColumn {
    /// Packs a column. If its bounds equal `known`, they are shared.
    #[must_use]
    pub fn pack(column: &Column, known: Option<&Bounds>) -> Self {
        let bounds = match known {
            Some(known) if *known == column.bounds => Arc::clone(known),
            _ => Arc::clone(&column.bounds),
        };
        let mut body = Vec::new();
        let mut sections: [Range<u32>; SECTIONS] = std::array::from_fn(|_| 0..0);
        for (at, section) in sections.iter_mut().enumerate() {
            let start = length(body.len());
            let values = |loads: &[Load]| -> Vec<u64> {
                loads.iter().map(|load| load.get(Metric::ALL[at % METRICS])).collect()
            };
            let loads = values(&column.loads);
            if at < METRICS {
                write_values(&mut body, &loads);
            } else {
                let peaks = values(&column.peaks);
                if peaks != loads {
                    write_values(&mut body, &peaks);
                }
            }
            *section = start..length(body.len());
        }
        let (from_ms, to_ms) = (column.from_ms, column.to_ms);
        let total_peak = column.total_peak;
        Self { from_ms, to_ms, bounds, body: body.into(), sections, total_peak }
    }

    /// Returns the largest amount of all buckets together in 10 seconds.
    #[must_use]
    pub fn total_peak(&self, metric: Metric) -> u64 {
        self.total_peak.get(metric)
    }

    /// Returns the loads and the peaks of the buckets in one metric.
    #[must_use]
    pub fn values(&self, metric: Metric) -> (Vec<u64>, Vec<u64>) {
        let loads = self.section(metric as usize);
        let peaks = if self.sections[METRICS + metric as usize].is_empty() {
            loads.clone()
        } else {
            self.section(METRICS + metric as usize)
        };
        (loads, peaks)
    }

    fn section(&self, at: usize) -> Vec<u64> {
        let Range { start, end } = self.sections[at];
        let mut input = Input { bytes: &self.body[..end as usize], at: start as usize };
        read_values(&mut input, self.bounds.len()).expect("packed, or checked when it was read")
    }

    /// Returns the column.
    #[must_use]
    pub fn unpack(&self) -> Column {
        let mut loads = vec![Load::default(); self.bounds.len()];
        let mut peaks = loads.clone();
        for metric in Metric::ALL {
            let (of_loads, of_peaks) = self.values(metric);
            for (load, value) in loads.iter_mut().zip(of_loads) {
                load.add(metric, value);
            }
            for (peak, value) in peaks.iter_mut().zip(of_peaks) {
                peak.add(metric, value);
            }
        }
        let bounds = Arc::clone(&self.bounds);
        let total_peak = self.total_peak;
        Column { from_ms: self.from_ms, to_ms: self.to_ms, bounds, loads, peaks, total_peak }
    }

    /// Returns the number of bytes in memory, without the bounds.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.body.len()
    }

    /// Returns the column as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.from_ms.to_le_bytes());
        write_varint(&mut out, u64::try_from(self.to_ms - self.from_ms).unwrap_or(0));
        write_varint(&mut out, self.bounds.len() as u64);
        for (previous, bound) in self.bounds.iter().zip(self.bounds.iter().skip(1)) {
            let shared = previous.iter().zip(bound).take_while(|(one, other)| one == other).count();
            write_varint(&mut out, shared as u64);
            write_varint(&mut out, (bound.len() - shared) as u64);
            out.extend_from_slice(&bound[shared..]);
        }
        for section in &self.sections {
            write_varint(&mut out, u64::from(section.end - section.start));
            out.extend_from_slice(&self.body[section.start as usize..section.end as usize]);
        }
        for amount in self.total_peak.amounts() {
            write_varint(&mut out, amount);
        }
        out
    }

    /// Returns the column of these bytes. If its bounds equal `known`, they are shared.
    ///
    /// # Errors
    /// If the bytes are damaged or of another version; memory is bounded in any case.
    pub fn decode(bytes: &[u8], known: Option<&Bounds>) -> Result<Self, NotAColumn> {
        let mut input = Input { bytes, at: 0 };
        if input.take(1)? != [VERSION] {
            return Err(input.error("it has another version"));
        }
        let from = input.take(8)?.try_into().map_err(|_| input.error("it ends early"))?;
        let from_ms = i64::from_le_bytes(from);
        let span = i64::try_from(input.varint()?).ok();
        let is_time = (-MAX_TIME_MS..=MAX_TIME_MS).contains(&from_ms);
        let span = span.filter(|span| is_time && (1..=MAX_TIME_MS).contains(span));
        let to_ms = span.and_then(|span| from_ms.checked_add(span));
        let to_ms = to_ms.ok_or_else(|| input.error("its span is out of range"))?;
        let bounds = read_bounds(&mut input)?;
        let bounds = match known {
            Some(known) if **known == *bounds => Arc::clone(known),
            _ => bounds.into(),
        };
        let body_start = input.at;
        let mut sections: [Range<u32>; SECTIONS] = std::array::from_fn(|_| 0..0);
        for (at, section) in sections.iter_mut().enumerate() {
            let bytes = input.varint()?;
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let start = input.at;
            input.take(bytes)?;
            let is_copy = at >= METRICS && bytes == 0;
            if !is_copy {
                let mut values = Input { bytes: &input.bytes[..input.at], at: start };
                read_values(&mut values, bounds.len())?;
                if values.at != input.at {
                    return Err(values.error("a section has more bytes than values"));
                }
            }
            *section = length(start - body_start)..length(input.at - body_start);
        }
        let body = input.bytes[body_start..input.at].into();
        let mut total_peak = Load::default();
        for metric in Metric::ALL {
            total_peak.add(metric, input.varint()?);
        }
        if input.at != input.bytes.len() {
            return Err(input.error("bytes follow its end"));
        }
        Ok(Self { from_ms, to_ms, bounds, body, sections, total_peak })
    }
}

/// Converts a length of a column, which is far below the limit.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a column has at most 12 sections of 1,024 numbers")
}

fn read_bounds(input: &mut Input<'_>) -> Result<Vec<Box<[u8]>>, NotAColumn> {
    let buckets = input.varint()?;
    if buckets == 0 || buckets > MAX_BUCKETS as u64 {
        return Err(input.error("its number of buckets is out of range"));
    }
    let mut bounds: Vec<Box<[u8]>> = vec![Box::default()];
    for _ in 1..buckets {
        let (shared, rest) = (input.varint()?, input.varint()?);
        let previous = bounds.last().map(|bound| &**bound).unwrap_or_default();
        let shared = usize::try_from(shared).ok().and_then(|shared| previous.get(..shared));
        let shared = shared.ok_or_else(|| input.error("a bound shares too many bytes"))?.to_vec();
        let rest = input.take(usize::try_from(rest).unwrap_or(usize::MAX))?;
        let bound = [&shared, rest].concat();
        if bound.len() > MAX_BOUND_BYTES {
            return Err(input.error("a bound is too long"));
        }
        if bounds.last().is_some_and(|previous| **previous >= *bound) {
            return Err(input.error("its bounds do not rise"));
        }
        bounds.push(bound.into());
    }
    Ok(bounds)
}

fn write_values(out: &mut Vec<u8>, values: &[u64]) {
    let mut rest = values;
    while !rest.is_empty() {
        let zeros = rest.iter().take_while(|value| **value == 0).count();
        let others = rest[zeros..].iter().take_while(|value| **value != 0).count();
        write_varint(out, zeros as u64);
        write_varint(out, others as u64);
        for value in &rest[zeros..zeros + others] {
            write_varint(out, *value);
        }
        rest = &rest[zeros + others..];
    }
}

fn read_values(input: &mut Input<'_>, count: usize) -> Result<Vec<u64>, NotAColumn> {
    let mut values = Vec::with_capacity(count);
    while values.len() < count {
        let room = (count - values.len()) as u64;
        let (zeros, others) = (input.varint()?, input.varint()?);
        let run = zeros.checked_add(others).filter(|run| (1..=room).contains(run));
        run.ok_or_else(|| input.error("a section has more values than buckets"))?;
        values.resize(values.len() + usize::try_from(zeros).unwrap_or(0), 0);
        for _ in 0..others {
            values.push(input.varint()?);
        }
    }
    Ok(values)
}

pub(crate) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

pub(crate) struct Input<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn error(&self, reason: &'static str) -> NotAColumn {
        NotAColumn { offset: self.at, reason }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], NotAColumn> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.error("it ends early"))?;
        self.at += count;
        Ok(taken)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, NotAColumn> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("a number has more than 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::column::BASE_MS;

    fn column(seed: u64, buckets: usize, fill: f64) -> Column {
        let mut random = fastrand::Rng::with_seed(seed);
        let bound = |at: usize| -> Box<[u8]> {
            if at == 0 { Box::default() } else { format!("sensor_{at:05}").as_bytes().into() }
        };
        let mut value = || if random.f64() < fill { random.u64(..1 << 20) } else { 0 };
        let loads: Vec<Load> =
            (0..buckets).map(|_| Load::new(std::array::from_fn(|_| value()))).collect();
        let mut peaks = loads.clone();
        if seed.is_multiple_of(2) {
            peaks[0].add(Metric::Reads, 7);
        }
        let bounds = (0..buckets).map(bound).collect::<Vec<_>>().into();
        Column {
            from_ms: 1_700_000_000_000,
            to_ms: 1_700_000_000_000 + BASE_MS,
            bounds,
            total_peak: Load::new([1, 2, 3, 0, 5, u64::MAX]),
            loads,
            peaks,
        }
    }

    #[test]
    fn columns_are_read_as_they_were_written() {
        for (seed, buckets, fill) in [(0, 1, 1.0), (1, 2, 0.0), (2, 64, 0.2), (3, 1024, 0.9)] {
            let column = column(seed, buckets, fill);
            let packed = PackedColumn::pack(&column, None);
            assert_eq!(packed.unpack(), column);
            let read = PackedColumn::decode(&packed.encode(), Some(&column.bounds)).unwrap();
            assert!(Arc::ptr_eq(&read.bounds, &column.bounds));
            assert_eq!(read.unpack(), column);
        }
    }

    #[test]
    fn quiet_column_is_small() {
        let packed = PackedColumn::pack(&column(1, 1024, 0.0), None);
        assert!(packed.memory_bytes() < 300, "{}", packed.memory_bytes());
    }

    #[test]
    fn truncated_columns_are_errors() {
        let bytes = PackedColumn::pack(&column(2, 40, 0.5), None).encode();
        for end in 0..bytes.len() {
            assert!(PackedColumn::decode(&bytes[..end], None).is_err(), "{end}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(PackedColumn::decode(&longer, None).is_err());
    }

    proptest! {
        #[test]
        fn damaged_columns_are_errors_or_columns(
            seed in 0_u64..4, at in 0_usize..400, byte in any::<u8>(),
        ) {
            let mut bytes = PackedColumn::pack(&column(seed, 12, 0.5), None).encode();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(read) = PackedColumn::decode(&bytes, None) {
                prop_assert_eq!(read.unpack().buckets(), read.bounds.len());
            }
        }

        #[test]
        fn any_bytes_are_errors_or_columns(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = PackedColumn::decode(&[&[VERSION], &bytes[..]].concat(), None);
        }
    }
}
