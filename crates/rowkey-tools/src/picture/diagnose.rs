//! Shape of the load of operations that no table has yet: they are recorded as a table records its
//! own, and judged by the same rules.

use bytes::Bytes;
use halite_heat::{
    Activity, ActivityColumn, BASE_MS, Column, ColumnLimits, ColumnTime, Finding, History, Load,
    ORDERED, OperationKind, RegionActivity, RegionRecorder, Salt, Shape, TablePart, diagnose,
};
use halite_rowkey::schema::{KeySchema, SegmentKind};
use halite_rowkey::split::region_for_key;

use crate::simulate::correlation;

/// Columns that operations are divided into: the last twelve decide, as of a table.
const COLUMNS: usize = 24;
/// Keys that divide the rows of a region.
const FILE_KEYS: usize = 64;
/// Operations whose order is examined, at most.
const MAX_RANKED: usize = 20_000;
/// Times that an operation is counted, at most.
const MAX_REPEATS: u64 = 64;

/// Operation on a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyedOperation<'k> {
    /// Time in milliseconds since 1970.
    pub time_ms: i64,
    /// Key.
    pub key: &'k [u8],
    /// `true` for a read.
    pub is_read: bool,
    /// Operations of which it is the sample, at least 1.
    pub weight: u64,
}

/// Returns the shape of the load of operations in the order of their times, on regions that begin
/// at `boundaries` (rising, without the empty key). `schema` tells which bytes are a salt.
///
/// The time of all operations is divided into columns; without different times their order is.
#[must_use]
pub fn diagnose_operations(
    operations: &[KeyedOperation<'_>],
    boundaries: &[Bytes],
    schema: &KeySchema,
) -> Finding {
    let files = file_keys(operations, boundaries);
    let recorders: Vec<RegionRecorder> =
        (0..=boundaries.len()).map(|_| RegionRecorder::default()).collect();
    let (mut activity, mut history, mut packed) =
        (Activity::default(), History::default(), Vec::new());
    let unit = operations.iter().map(|operation| operation.weight).min().unwrap_or(1).max(1);
    let mut numbers = vec![[0_u64; 2]; recorders.len()];
    for (column, operations) in columns(operations).into_iter().enumerate() {
        let mut loads = vec![[0_u64; 2]; recorders.len()];
        for operation in operations {
            let region = region_for_key(operation.key, boundaries);
            let repeats = (operation.weight / unit).clamp(1, MAX_REPEATS);
            record(&recorders[region], operation, repeats, &mut numbers[region]);
            loads[region][usize::from(!operation.is_read)] += repeats;
        }
        let from_ms = i64::try_from(column).unwrap_or(0) * BASE_MS;
        let time = ColumnTime::exact(from_ms, from_ms + BASE_MS);
        let mut regions = drained(&recorders, &loads, boundaries, &files);
        let limits = ColumnLimits::of_tables(1);
        activity.push(ActivityColumn::new(time, &regions, limits));
        let regions: Vec<_> = regions.iter_mut().map(RegionActivity::take_region).collect();
        let closed = history.push(&Column::of_regions(time, &regions));
        packed.extend(closed.into_iter().find(|(layer, _)| *layer == 0).map(|(_, column)| column));
    }
    let length = |row: &[u8]| Some(schema.split_segments(row).ok()?.first()?.len());
    let first = schema.segments().first().map(|segment| &segment.kind);
    let count = schema.salt_count(0).filter(|_| matches!(first, Some(SegmentKind::Salt { .. })));
    let salt = count.map(|count| Salt { count, length: &length });
    let end = i64::try_from(COLUMNS).unwrap_or(0) * BASE_MS;
    let found = diagnose(&activity, &packed, (0, end), salt);
    if found.is_of_regions() {
        return of_slow_order(found, operations);
    }
    found
}

/// Returns the finding of an uneven load whose keys have no order within a column: a frontier if
/// they rise from column to column, as those that begin with an hour do.
fn of_slow_order(mut found: Finding, operations: &[KeyedOperation<'_>]) -> Finding {
    let step = operations.len().div_ceil(MAX_RANKED).max(1);
    let keys: Vec<&[u8]> = operations.iter().step_by(step).map(|operation| operation.key).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let rank = |key: &&[u8]| sorted.partition_point(|other| other < key);
    let ranks = keys.iter().map(|key| u32::try_from(rank(key)).unwrap_or(u32::MAX));
    let order = correlation(&ranks.collect::<Vec<_>>());
    if order.abs() < ORDERED {
        return found;
    }
    (found.shape, found.key) = (Shape::Frontier, None);
    found.doubts = vec!["keys rise over a longer time than a column, and not within one"];
    found.evidence.push(("order", order));
    found.of_new_rows()
}

/// Divides operations by their times, or by their order if all have one time.
fn columns<'o, 'k>(operations: &'o [KeyedOperation<'k>]) -> Vec<&'o [KeyedOperation<'k>]> {
    let (Some(first), Some(last)) = (operations.first(), operations.last()) else {
        return Vec::new();
    };
    let span = u128::from(last.time_ms.abs_diff(first.time_ms));
    let end = |column: usize| {
        if span == 0 {
            return operations.len() * (column + 1) / COLUMNS;
        }
        let is_before = |operation: &KeyedOperation<'_>| {
            let since = u128::from(operation.time_ms.abs_diff(first.time_ms));
            since * COLUMNS as u128 / (span + 1) <= column as u128
        };
        operations.partition_point(is_before)
    };
    let mut from = 0;
    let column = |column| {
        let part = &operations[from..end(column).max(from)];
        from += part.len();
        part
    };
    (0..COLUMNS).map(column).collect()
}

fn record(
    recorder: &RegionRecorder,
    operation: &KeyedOperation<'_>,
    repeats: u64,
    numbers: &mut [u64; 2],
) {
    let kind = if operation.is_read { OperationKind::Get } else { OperationKind::Write };
    let number = &mut numbers[usize::from(!operation.is_read)];
    for _ in 0..repeats {
        recorder.record(*number, kind, operation.key, 0);
        *number += 1;
    }
}

fn drained(
    recorders: &[RegionRecorder],
    loads: &[[u64; 2]],
    boundaries: &[Bytes],
    files: &[Vec<Vec<u8>>],
) -> Vec<RegionActivity> {
    let part = TablePart { regions: recorders.len(), key_parts: None };
    let region = |(at, recorder): (usize, &RegionRecorder)| {
        let [reads, writes] = loads[at];
        let load = Load::new([reads, writes, 0, reads, 0, 0]);
        let start =
            at.checked_sub(1).map_or_else(Box::default, |at| boundaries[at].as_ref().into());
        let column = recorder.drain(&load, part, || files[at].clone());
        RegionActivity { start, load, column }
    };
    recorders.iter().enumerate().map(region).collect()
}

/// Returns, for each region, keys that divide its rows evenly, as the indexes of its files would.
fn file_keys(operations: &[KeyedOperation<'_>], boundaries: &[Bytes]) -> Vec<Vec<Vec<u8>>> {
    let mut rows: Vec<&[u8]> = operations.iter().map(|operation| operation.key).collect();
    rows.sort_unstable();
    rows.dedup();
    let place = |boundary: &Bytes| rows.partition_point(|row| **row < **boundary);
    let starts = std::iter::once(0).chain(boundaries.iter().map(place));
    let ends = boundaries.iter().map(place).chain([rows.len()]);
    let quantiles = |(from, to): (usize, usize)| {
        let rows = &rows[from..to.max(from)];
        let step = rows.len().div_ceil(FILE_KEYS).max(1);
        rows.iter().step_by(step).skip(1).map(|row| row.to_vec()).collect()
    };
    starts.zip(ends).map(quantiles).collect()
}
