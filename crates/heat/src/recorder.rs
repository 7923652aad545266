//! Recording of the operations of one region.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use arc_swap::ArcSwap;
use halite_types::KeyParts;

use crate::key_sample::{KeySample, MAX_KEYS, SampledKey};
use crate::metric::{Load, METRICS, Metric};
use crate::pending::{PendingOperations, Sampled};
use crate::prefixes::{FrequentPrefixes, PREFIX_COUNTERS, Prefixes};
use crate::refine::{KnownRows, Parts};
use crate::sampler::{self, ROW_RATE, SUB_RANGE_RATE};
use crate::space_saving::{COUNTERS, FrequentRow, SpaceSaving};
use crate::sub_ranges::{MAX_SUB_RANGES, SubRanges};

/// Recorded operations of one column after which a region is sampled, and after as many more at
/// half the rate. The first are all recorded, since a quiet region has no others; each takes less
/// than a microsecond.
const WHOLE_OPERATIONS: u64 = 512;
/// Operations of a column at and above which the region begins the next one sampled, and has all
/// counters and keys for it, whatever the number of regions.
const BUSY_OPERATIONS: u64 = 2 * WHOLE_OPERATIONS;
/// Largest binary logarithm of the operations per recorded one.
const MAX_SHIFT: u32 = 32;
/// Frequent rows of a column.
const TOP_ROWS: usize = 16;
/// Share of one sub-range in the requests above which boundaries are chosen again, as 1 of this.
const CROWDED_PART: u64 = 4;
/// Columns between two choices of boundaries.
const STEADY_COLUMNS: u32 = 6;
/// Keys of store files among those that divide a region, per key of the traffic.
const FILE_KEY_WEIGHT: usize = 3;

/// Regions of a table that have all sub-ranges, counters and keys each. More regions share what
/// these have: a column of the table has no more buckets.
const FULL_REGIONS: usize = 16;
/// Counters of frequent rows, and of prefixes of one length, that every region has.
const MIN_COUNTERS: usize = 8;
const MIN_PREFIX_COUNTERS: usize = 4;
/// Sampled keys that every region has.
const MIN_KEYS: usize = 16;

/// Kind of a recorded operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Get of a row.
    Get,
    /// Row that a scan returned.
    ScannedRow,
    /// Put, increment or append.
    Write,
    /// Delete.
    Delete,
}

impl OperationKind {
    fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::Delete)
    }

    fn load(self, weight: u64, bytes: u64) -> Load {
        let mut load = Load::default();
        let total = bytes.saturating_mul(weight);
        if self.is_write() {
            load.add(Metric::Writes, weight);
            load.add(Metric::BytesWritten, total);
            load.add(Metric::Deletes, if self == Self::Delete { weight } else { 0 });
        } else {
            load.add(Metric::Reads, weight);
            load.add(Metric::BytesRead, total);
            load.add(Metric::RowsExamined, weight);
        }
        load
    }
}

/// Recorder of one region. All methods may be called at the same time.
#[derive(Debug)]
pub struct RegionRecorder {
    /// Binary logarithm of the operations per recorded one: 0 for a quiet region.
    range_shift: AtomicU32,
    ranges: ArcSwap<SubRanges>,
    rows: Mutex<Rows>,
}

/// Sampled rows of the current column.
#[derive(Debug, Default)]
struct Rows {
    /// Operations that are neither in what follows nor in the sub-ranges yet.
    pending: PendingOperations,
    frequent: SpaceSaving,
    prefixes: Prefixes,
    sample: KeySample,
    /// Operations that were recorded in the current column, since the rate was last changed.
    recorded: u64,
    /// Columns since the boundaries were chosen.
    columns: u32,
    /// `true` if boundaries have been chosen.
    is_divided: bool,
}

impl Sampled<'_> {
    fn count_range(&self, ranges: &SubRanges) {
        ranges.add(ranges.find(self.row), &self.kind.load(1 << self.shift, self.bytes));
    }
}

impl Rows {
    /// Counts the pending operations, in the sub-ranges too.
    fn count_pending(&mut self, ranges: &SubRanges) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.drain(|sampled| {
            sampled.count_range(ranges);
            self.count(sampled);
        });
        self.pending = pending;
    }

    fn count(&mut self, sampled: &Sampled<'_>) {
        let &Sampled { kind, row, bytes, shift, has_row } = sampled;
        if !has_row {
            return;
        }
        let weight = if shift == 0 { 1 } else { 2 << shift };
        let bytes = bytes.saturating_mul(weight);
        self.frequent.add(row, weight, kind.is_write(), bytes);
        self.prefixes.add(row, (weight, bytes), kind.is_write(), shift > 0);
        self.sample.add(row, kind.is_write(), kind == OperationKind::ScannedRow);
        self.recorded += 1;
    }

    /// Returns the binary logarithm of the operations per recorded one that follows `shift`, if the
    /// column has enough recorded ones for it: a load that grows costs what the one before did.
    fn next_shift(&mut self, shift: u32) -> Option<u32> {
        if self.recorded < WHOLE_OPERATIONS || shift >= MAX_SHIFT {
            return None;
        }
        self.recorded = 0;
        if shift == 0 {
            // Those so far stay with the weight of those that follow.
            (0..ROW_RATE.trailing_zeros()).for_each(|_| self.sample.halve());
            return Some(SUB_RANGE_RATE.trailing_zeros());
        }
        self.sample.halve();
        Some(shift + 1)
    }
}

/// Load of a region in one span of time.
#[derive(Clone, Debug, Default)]
pub struct RegionColumn {
    /// First rows of its sub-ranges but the first.
    pub boundaries: Vec<Box<[u8]>>,
    /// Load of each sub-range. The sum is the exact load of the region.
    pub loads: Vec<Load>,
    /// Most frequent rows, in falling order.
    pub top_rows: Vec<FrequentRow>,
    /// Upper bound of the weight of a row that is not among them.
    pub missed_weight: u64,
    /// Most frequent prefixes of each length.
    pub prefixes: Vec<FrequentPrefixes>,
    /// Sample of the operations, in their order of arrival.
    pub sample: Vec<SampledKey>,
}

impl Default for RegionRecorder {
    fn default() -> Self {
        Self {
            range_shift: AtomicU32::new(0),
            ranges: ArcSwap::from_pointee(SubRanges::whole()),
            rows: Mutex::default(),
        }
    }
}

impl RegionRecorder {
    /// Records an operation if it is sampled.
    ///
    /// `number` counts the operations of this kind in the region, without gaps; `bytes` are those
    /// of its cells.
    #[inline]
    pub fn record(&self, number: u64, kind: OperationKind, row: &[u8], bytes: u64) {
        self.record_with(number, || Some((kind, row, bytes)));
    }

    /// As [`Self::record`], for an operation whose kind, row and bytes cost time to determine.
    #[inline]
    pub fn record_with<'a>(
        &self,
        number: u64,
        operation: impl FnOnce() -> Option<(OperationKind, &'a [u8], u64)>,
    ) {
        let position = sampler::position(number);
        let shift = self.range_shift.load(Relaxed);
        if (shift == 0 || sampler::is_sampled_of(position, shift))
            && let Some((kind, row, bytes)) = operation()
        {
            self.record_sampled(position, shift, kind, row, bytes);
        }
    }

    /// Returns the binary logarithm of the operations per recorded one; 0 if all are recorded.
    #[inline]
    #[must_use]
    pub fn shift(&self) -> u32 {
        self.range_shift.load(Relaxed)
    }

    /// Begins a column after one without operations: the next operations are all recorded.
    pub fn rest(&self) {
        self.range_shift.store(0, Relaxed);
    }

    #[cold]
    fn record_sampled(
        &self,
        position: u64,
        shift: u32,
        kind: OperationKind,
        row: &[u8],
        bytes: u64,
    ) {
        let has_row = shift == 0 || sampler::is_sampled_of(position, shift + 1);
        let sampled = Sampled { kind, row, bytes, shift, has_row };
        // Another thread that records at the same time takes the place of this operation's row.
        let mut rows = match self.rows.try_lock() {
            Ok(rows) => rows,
            Err(TryLockError::Poisoned(rows)) => rows.into_inner(),
            Err(TryLockError::WouldBlock) => return sampled.count_range(&self.ranges.load()),
        };
        if shift > 0 && rows.pending.push(&sampled) {
            return;
        }
        let ranges = self.ranges.load();
        rows.count_pending(&ranges);
        if shift == 0 || !rows.pending.push(&sampled) {
            sampled.count_range(&ranges);
            rows.count(&sampled);
        }
        if let Some(shift) = rows.next_shift(shift) {
            self.range_shift.store(shift, Relaxed);
        }
    }

    /// Returns the load since the last call, and begins a new column.
    ///
    /// `exact` is the exact load of the region in that time, except for the deletes, whose number is
    /// estimated. `file_keys` returns rising rows that divide the rows of the store files evenly,
    /// and is called only if boundaries are chosen. The region has a part of the table's memory,
    /// which decides how many sub-ranges, rows and keys the next column may have.
    pub fn drain(
        &self,
        exact: &Load,
        part: TablePart<'_>,
        file_keys: impl FnOnce() -> Vec<Vec<u8>>,
    ) -> RegionColumn {
        let mut rows = self.rows();
        let ranges = self.ranges.load_full();
        rows.count_pending(&ranges);
        let mut loads = ranges.take();
        let exact = &with_deletes(*exact, &loads);
        let is_busy = exact.requests() >= BUSY_OPERATIONS;
        let part_of = |most, least| if is_busy { most } else { part.of(most, least) };
        let crowded = crowded_range(&loads);
        scale(&mut loads, exact);
        let (top_rows, sample) = (rows.frequent.top(TOP_ROWS), rows.sample.take());
        let known = KnownRows {
            sample: &sample,
            frequent: &top_rows,
            scale: (exact.requests(), rows.frequent.total()),
        };
        let most = part.of(MAX_SUB_RANGES, 1);
        let parts = Parts { boundaries: ranges.boundaries().collect(), loads };
        let Parts { boundaries, loads } = parts.refined(&known, most);
        let column = RegionColumn {
            boundaries,
            loads,
            top_rows,
            missed_weight: missed(&rows.frequent),
            prefixes: rows.prefixes.take(
                TOP_ROWS,
                part.key_parts,
                part_of(PREFIX_COUNTERS, MIN_PREFIX_COUNTERS),
            ),
            sample,
        };
        rows.frequent = SpaceSaving::new(part_of(COUNTERS, MIN_COUNTERS));
        rows.sample.limit(part_of(MAX_KEYS, MIN_KEYS));
        rows.recorded = 0;
        if !is_busy {
            rows.pending = PendingOperations::default();
        }
        rows.columns += 1;
        let is_due = !rows.is_divided || rows.columns >= STEADY_COLUMNS;
        // A region is divided at first whatever its load, so that one hot row is one thin band.
        let is_useful = |range| !rows.is_divided || is_divisible(&column.sample, &ranges, range);
        if is_due && crowded.is_some_and(is_useful) {
            let chosen = dividing_keys(&column.sample, file_keys());
            // An operation that has the former ranges at hand may still count there, without
            // effect.
            self.ranges.store(Arc::new(SubRanges::dividing(&chosen, most)));
            rows.is_divided = chosen.len() >= most;
            rows.columns = 0;
        }
        let shift = if is_busy { sampler::shift_of(exact.requests()) } else { 0 };
        self.range_shift.store(shift, Relaxed);
        column
    }

    /// A panic while the lock was held leaves nothing worse than a missing sample.
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Part that a region has of its table's memory for recording.
#[derive(Clone, Copy, Debug)]
pub struct TablePart<'a> {
    /// Number of regions of the table.
    pub regions: usize,
    /// Declared parts of its keys.
    pub key_parts: Option<&'a Arc<dyn KeyParts>>,
}

impl TablePart<'_> {
    /// Returns a number that a table with few regions has for each of them, and one with many
    /// regions only once for [`FULL_REGIONS`] of them.
    fn of(self, most: usize, least: usize) -> usize {
        (most * FULL_REGIONS / self.regions.max(1)).clamp(least, most)
    }
}

/// Returns an exact load with the number of deletes that the sampled loads have of their writes.
fn with_deletes(exact: Load, sampled: &[Load]) -> Load {
    let sum = sampled.iter().fold(Load::default(), |sum, load| sum + *load);
    let writes = u128::from(sum.get(Metric::Writes).max(1));
    let deletes =
        u128::from(exact.get(Metric::Writes)) * u128::from(sum.get(Metric::Deletes)) / writes;
    let mut amounts = exact.amounts();
    amounts[Metric::Deletes as usize] = u64::try_from(deletes).unwrap_or(u64::MAX);
    Load::new(amounts)
}

/// Returns the sub-range that has too large a part of the requests.
fn crowded_range(loads: &[Load]) -> Option<usize> {
    let total: u64 = loads.iter().map(Load::requests).sum();
    let (range, load) = loads.iter().enumerate().max_by_key(|(_, load)| load.requests())?;
    (load.requests() > total / CROWDED_PART).then_some(range)
}

/// Returns `true` if less than half of the sampled operations in a sub-range are on one row: others
/// boundaries would divide its load.
fn is_divisible(sample: &[SampledKey], ranges: &SubRanges, range: usize) -> bool {
    let mut rows: Vec<&[u8]> = sample.iter().map(|key| &*key.row).collect();
    rows.retain(|row| ranges.find(row) == range);
    rows.sort_unstable();
    let largest = rows.chunk_by(|one, next| one == next).map(<[_]>::len).max().unwrap_or(0);
    largest * 2 < rows.len()
}

/// Returns the upper bound of the weight of a row that is not among the top rows.
fn missed(frequent: &SpaceSaving) -> u64 {
    let next = frequent.top(TOP_ROWS + 1);
    next.get(TOP_ROWS).map_or_else(|| frequent.missed(), |row| row.count)
}

/// Scales sampled loads to the exact load of a region. A metric of which nothing was sampled is
/// distributed as the requests are, or evenly.
#[expect(clippy::cast_possible_truncation, reason = "a share of a 64-bit number fits into 64 bits")]
fn scale(loads: &mut [Load], exact: &Load) {
    let mut scaled = vec![[0_u64; METRICS]; loads.len()];
    for metric in Metric::ALL {
        let of_metric = |load: &Load| u128::from(load.get(metric));
        let of_requests = |load: &Load| u128::from(load.requests());
        let total = |weight: &dyn Fn(&Load) -> u128| loads.iter().map(weight).sum::<u128>();
        let weight: &dyn Fn(&Load) -> u128 = if total(&of_metric) > 0 {
            &of_metric
        } else if total(&of_requests) > 0 {
            &of_requests
        } else {
            &|_| 1
        };
        let (total, amount) = (total(weight).max(1), u128::from(exact.get(metric)));
        // Parts of a running sum, so that the parts add up.
        let mut before = 0_u128;
        for (load, scaled) in loads.iter().zip(&mut scaled) {
            let after = before + weight(load);
            scaled[metric as usize] = (amount * after / total - amount * before / total) as u64;
            before = after;
        }
    }
    for (load, scaled) in loads.iter_mut().zip(scaled) {
        *load = Load::new(scaled);
    }
}

/// Returns rising keys of which quantiles divide a region: mostly those of files, so that
/// sub-ranges have equal numbers of rows, and some of the traffic, so that a crowded one is
/// divided.
fn dividing_keys(sample: &[SampledKey], files: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let traffic: Vec<Vec<u8>> = sample.iter().map(|key| key.row.clone()).collect();
    let copies = match files.len() {
        0 => 0,
        // As many keys of files as make up their weight, whatever the number of both.
        files => (traffic.len() * FILE_KEY_WEIGHT).div_ceil(files).max(1),
    };
    let mut keys: Vec<Vec<u8>> = traffic;
    for key in files {
        keys.extend(std::iter::repeat_n(key, copies));
    }
    keys.sort();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: TablePart<'_> = TablePart { regions: 1, key_parts: None };

    #[test]
    fn region_of_many_has_a_part_of_the_memory() {
        let recorder = RegionRecorder::default();
        let part = TablePart { regions: 100_000, ..WHOLE };
        for round in 0..3 {
            for number in 0..500 {
                recorder.record(number, OperationKind::Write, &row(number), 10);
            }
            let column = recorder.drain(&exact(500), part, || (0..640).map(row).collect());
            if round > 0 {
                let sizes = (column.loads.len(), column.sample.len(), column.top_rows.len());
                assert_eq!(sizes, (1, MIN_KEYS, MIN_COUNTERS));
            }
        }
    }

    fn total(column: &RegionColumn) -> Load {
        column.loads.iter().fold(Load::default(), |sum, load| sum + *load)
    }

    #[test]
    fn deletes_are_estimated_from_sample() {
        let recorder = RegionRecorder::default();
        for number in 0..1000 {
            let is_delete = number % 4 == 0;
            let kind = if is_delete { OperationKind::Delete } else { OperationKind::Write };
            recorder.record(number, kind, &row(number), 10);
        }
        let column = recorder.drain(&exact(2000), WHOLE, Vec::new);
        assert_eq!(total(&column).get(Metric::Deletes), 500);
    }

    fn row(number: u64) -> Vec<u8> {
        format!("row{number:08}").into_bytes()
    }

    fn exact(writes: u64) -> Load {
        Load::new([0, writes, 0, 0, 0, writes * 10])
    }

    #[test]
    fn first_operation_is_in_first_column() {
        let recorder = RegionRecorder::default();
        recorder.record(0, OperationKind::Write, b"one", 10);
        let column = recorder.drain(&exact(1), WHOLE, Vec::new);
        assert_eq!((column.boundaries.len(), &column.loads[..]), (0, &[exact(1)][..]));
        assert_eq!((column.top_rows[0].row.as_slice(), column.top_rows[0].count), (&b"one"[..], 1));
        assert_eq!(column.sample.len(), 1);
        let idle = recorder
            .drain(&Load::default(), WHOLE, || panic!("an idle region needs no boundaries"));
        assert!(idle.loads.iter().all(Load::is_zero) && idle.top_rows.is_empty());
    }

    #[test]
    fn even_load_is_even_over_sub_ranges() {
        let recorder = RegionRecorder::default();
        let mut random = fastrand::Rng::with_seed(5);
        let files = || (0..64).map(|at| row(at * 10_000 / 64)).collect::<Vec<_>>();
        let mut number = 0;
        for round in 0..3 {
            for _ in 0..200_000 {
                recorder.record(number, OperationKind::Write, &row(random.u64(..10_000)), 10);
                number += 1;
            }
            let column = recorder.drain(&exact(200_000), WHOLE, files);
            let total: u64 = column.loads.iter().map(|load| load.get(Metric::Writes)).sum();
            assert_eq!(total, 200_000, "sampled loads are scaled to the exact ones");
            if round > 0 {
                assert!(column.loads.len() > 48, "{}", column.loads.len());
                let most = column.loads.iter().map(Load::requests).max().unwrap();
                let fair = 200_000 / column.loads.len() as u64;
                assert!(most < fair * 5 / 2, "{most} of {fair}");
            }
        }
    }

    #[test]
    fn hot_row_of_busy_region_is_known_with_its_share() {
        let recorder = RegionRecorder::default();
        let mut random = fastrand::Rng::with_seed(9);
        for number in 0..400_000 {
            let row = if random.u64(..10) < 3 { row(77) } else { row(random.u64(..1_000_000)) };
            recorder.record(number, OperationKind::Get, &row, 100);
        }
        let column = recorder.drain(&Load::new([400_000, 0, 0, 0, 0, 0]), WHOLE, Vec::new);
        let hot = &column.top_rows[0];
        assert_eq!(hot.row, row(77));
        assert!(hot.count.abs_diff(120_000) < 12_000, "{}", hot.count);
        assert!(column.missed_weight < 12_000, "{}", column.missed_weight);
    }

    /// A load that grows within a column is not recorded at the rate of the one before.
    #[test]
    fn column_has_a_bounded_number_of_samples_from_the_first() {
        let recorder = RegionRecorder::default();
        let mut random = fastrand::Rng::with_seed(9);
        let mut recorded = 0;
        for number in 0..3_000_000 {
            let row = row(if random.u64(..10) < 3 { 77 } else { random.u64(..10_000) });
            recorder.record_with(number, || {
                recorded += 1;
                Some((OperationKind::Get, &row, 100))
            });
        }
        assert!(recorded < 16_000, "{recorded}");
        let exact = Load::new([3_000_000, 0, 0, 0, 0, 0]);
        let column = recorder.drain(&exact, WHOLE, Vec::new);
        assert_eq!(total(&column).requests(), 3_000_000);
        let hot = &column.top_rows[0];
        assert!(hot.row == row(77) && hot.count.abs_diff(900_000) < 90_000, "{}", hot.count);
        let later = column.sample.iter().filter(|key| key.arrival >= 7 * 512).count();
        assert!(later > MAX_KEYS / 2, "{later}: the sample is of the whole column");
    }

    /// The busier a region, the smaller the part of its operations that is sampled; what is known
    /// of them stays as good.
    #[test]
    fn very_busy_region_has_the_shares_of_its_rows_and_ranges() {
        let recorder = RegionRecorder::default();
        let mut random = fastrand::Rng::with_seed(9);
        let files = || (0..64).map(|at| row(at * 10_000 / 64)).collect::<Vec<_>>();
        let mut column = RegionColumn::default();
        for number in 0..3_000_000 {
            let number_of_row = if random.u64(..10) < 3 { 77 } else { random.u64(..10_000) };
            recorder.record(number, OperationKind::Get, &row(number_of_row), 100);
            if number % 1_000_000 == 999_999 {
                let exact = Load::new([1_000_000, 0, 0, 0, 0, 0]);
                column = recorder.drain(&exact, WHOLE, files);
            }
        }
        assert_eq!(recorder.range_shift.load(Relaxed), 7);
        let hot = &column.top_rows[0];
        assert_eq!(hot.row, row(77));
        assert!(hot.count.abs_diff(300_000) < 60_000, "{}", hot.count);
        assert_eq!(column.sample.len(), MAX_KEYS);
        let number_of = |bound: &[u8]| -> u64 {
            let text = std::str::from_utf8(bound).unwrap().trim_start_matches("row");
            let row: u64 = text.trim_end_matches('\0').parse().unwrap();
            row + u64::from(text.ends_with('\0'))
        };
        let mut bounds = vec![0];
        bounds.extend(column.boundaries.iter().map(|bound| number_of(bound)));
        bounds.push(10_000);
        assert!(bounds.len() > 48, "{}", bounds.len());
        for (range, load) in bounds.windows(2).zip(&column.loads) {
            let expected = (range[1] - range[0]) * 70;
            let found = load.requests();
            // A sampled operation is one of 128, so that a range with 10,000 has 80 of them.
            let is_hot = (range[0]..range[1]).contains(&77);
            let is_near = found.abs_diff(expected) < expected / 2 + 4096;
            assert!(is_hot || is_near, "{range:?}: {found}, not {expected}");
        }
    }

    #[test]
    fn crowded_sub_range_is_divided_later() {
        let recorder = RegionRecorder::default();
        let files = || (0..64).map(|at| row(at * 1000)).collect::<Vec<_>>();
        let mut number = 0;
        let mut most = Vec::new();
        assert_eq!(recorder.ranges.load().len(), 1);
        for _ in 0..2 * STEADY_COLUMNS {
            for _ in 0..2000 {
                recorder.record(number, OperationKind::Write, &row(900_000 + number % 500), 1);
                number += 1;
            }
            let column = recorder.drain(&exact(2000), WHOLE, files);
            most.push(column.loads.iter().map(Load::requests).max().unwrap());
        }
        assert!(most.iter().all(|most| *most < 500), "{most:?}");
        let ranges = recorder.ranges.load();
        let mut loaded: Vec<usize> =
            (0..500).map(|number| ranges.find(&row(900_000 + number))).collect();
        loaded.dedup();
        assert!(loaded.len() > 8, "{loaded:?}");
    }
}
