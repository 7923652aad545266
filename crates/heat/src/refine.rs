//! Where in a sub-range its load is: a hot row, or rows between two of the sample.
//!
//! ```text
//! sub-range    |...................r..x.x.xx.xxx.....................|
//! refined      |                   |r|x  . xx .xx|                   |
//! ```
//!
//! A load that is drawn with other boundaries is distributed evenly over those inside of its range:
//! that of new rows at the begin of a wide one would be on keys without any. Ranges with few
//! sampled operations stay whole, and boundaries between ranges with the least load make place.

use std::collections::BTreeMap;

use crate::key_sample::{MAX_KEY_BYTES, SampledKey};
use crate::metric::{Load, METRICS, Metric};
use crate::space_saving::FrequentRow;

/// Sampled operations of a part of a range.
const PART: usize = 8;
/// Part of the sample from which a range is divided, and from which a row is a part, as 1 of this.
const LEAST_PART: usize = 16;
/// Parts of a region below which there is no place for others.
const MIN_PLACES: usize = 8;

/// Loads of the parts of a region, of which each reaches to the next.
pub(crate) struct Parts {
    /// First rows of the parts but the first.
    pub(crate) boundaries: Vec<Box<[u8]>>,
    /// One more than the boundaries.
    pub(crate) loads: Vec<Load>,
}

/// What is known of the rows of a region.
pub(crate) struct KnownRows<'a> {
    pub(crate) sample: &'a [SampledKey],
    pub(crate) frequent: &'a [FrequentRow],
    /// Exact number of operations, and the counted weight of all rows.
    pub(crate) scale: (u64, u64),
}

impl KnownRows<'_> {
    /// Returns the number of sampled operations from which a range is divided: fewer may be at its
    /// begin by accident, unless they are all.
    fn least(&self) -> usize {
        let is_whole = self.sample.len() as u64 >= self.scale.0;
        if is_whole { 2 } else { (self.sample.len() / LEAST_PART).clamp(3, PART) }
    }
}

/// Part of a range, with the number of sampled reads and writes.
struct Part {
    start: Option<Box<[u8]>>,
    /// Row that alone is in it.
    row: Option<Vec<u8>>,
    sampled: [u64; 2],
}

impl Parts {
    /// Returns the parts with boundaries around the loads that the sample shows, at most `most` of
    /// them. The sum of the loads stays the same.
    pub(crate) fn refined(self, known: &KnownRows<'_>, most: usize) -> Self {
        if most < MIN_PLACES {
            return self;
        }
        let mut sample: Vec<&SampledKey> = known.sample.iter().collect();
        sample.sort_by(|one, other| one.row.cmp(&other.row));
        let least = known.least();
        let mut refined = Self { boundaries: Vec::new(), loads: Vec::new() };
        for (at, load) in self.loads.iter().enumerate() {
            let is_before_end =
                |key: &&SampledKey| self.boundaries.get(at).is_none_or(|end| *key.row < **end);
            let behind = sample.partition_point(is_before_end);
            let rest = sample.split_off(behind);
            let own = std::mem::replace(&mut sample, rest);
            let start = at.checked_sub(1).map(|before| self.boundaries[before].clone());
            let is_cut = own.last().is_some_and(|key| key.row.len() >= MAX_KEY_BYTES);
            if own.len() < least || is_cut {
                refined.push(start, *load);
                continue;
            }
            let parts = parts_of(start, &own, least);
            let loads = divided(load, &parts, known);
            parts.into_iter().zip(loads).for_each(|(part, load)| refined.push(part.start, load));
        }
        refined.limit(most);
        refined
    }

    /// Adds the next part; one that begins where the one before does is the same.
    fn push(&mut self, start: Option<Box<[u8]>>, load: Load) {
        match (start, self.loads.last_mut()) {
            (Some(start), Some(last))
                if self.boundaries.last().is_some_and(|own| *own >= start) =>
            {
                *last += load;
            }
            (Some(start), Some(_)) => {
                self.boundaries.push(start);
                self.loads.push(load);
            }
            (_, Some(last)) => *last += load,
            (_, None) => self.loads.push(load),
        }
    }

    /// Merges the neighbours with the least load until there are `most` parts.
    fn limit(&mut self, most: usize) {
        while self.loads.len() > most {
            let sum = |at: &usize| self.loads[*at].requests() + self.loads[at + 1].requests();
            let Some(at) = (0..self.loads.len() - 1).min_by_key(sum) else { return };
            let merged = self.loads.remove(at + 1);
            self.loads[at] += merged;
            self.boundaries.remove(at);
        }
    }
}

/// Returns the parts of a range by its sampled operations, in the order of their rows: nothing
/// before the first and after the last one.
fn parts_of(start: Option<Box<[u8]>>, own: &[&SampledKey], least: usize) -> Vec<Part> {
    let part = |start| Part { start, row: None, sampled: [0; 2] };
    let after = |row: &[u8]| Some([row, &[0]].concat().into_boxed_slice());
    let mut parts = vec![part(start)];
    let mut room = 0;
    let mut next_start = None;
    for run in own.chunk_by(|one, next| one.row == next.row) {
        let row = &*run[0].row;
        let is_alone = run.len() >= least;
        if is_alone || room == 0 {
            let start = if is_alone { Some(row.into()) } else { next_start.take() };
            parts.push(part(start.or_else(|| Some(row.into()))));
            room = PART;
        }
        let last = parts.last_mut().expect("there is the first one");
        for key in run {
            last.sampled[usize::from(key.is_write)] += 1;
        }
        room = room.saturating_sub(run.len());
        next_start = None;
        if is_alone {
            last.row = Some(row.to_vec());
            next_start = after(row);
            room = 0;
        }
    }
    parts.push(part(own.last().and_then(|key| after(&key.row))));
    parts
}

/// Divides the load of a range: a row that is counted has its count, and others have the rest as
/// the sample is distributed over them.
fn divided(load: &Load, parts: &[Part], known: &KnownRows<'_>) -> Vec<Load> {
    let counts: BTreeMap<&[u8], &FrequentRow> =
        known.frequent.iter().map(|row| (&*row.row, row)).collect();
    let (exact, counted) = (u128::from(known.scale.0), u128::from(known.scale.1.max(1)));
    let scaled = |count: u64| u128::from(count) * exact / counted;
    let of_row = |part: &Part| {
        let row = counts.get(part.row.as_deref()?)?;
        let all = row.count.saturating_sub(row.error);
        Some([scaled(all.saturating_sub(row.writes)), scaled(row.writes)])
    };
    let weights = [false, true].map(|is_write| {
        let kind = usize::from(is_write);
        let metric = if is_write { Metric::Writes } else { Metric::Reads };
        let all = u128::from(load.get(metric));
        let rows: Vec<Option<u128>> =
            parts.iter().map(|part| of_row(part).map(|counts| counts[kind])).collect();
        let known: u128 = rows.iter().flatten().sum();
        let unknown = parts.iter().zip(&rows).filter(|(_, row)| row.is_none());
        let others: u128 = unknown.map(|(part, _)| u128::from(part.sampled[kind])).sum();
        let weight = |(part, row): (&Part, &Option<u128>)| match row {
            Some(row) => row * others.max(1),
            None => u128::from(part.sampled[kind]) * all.saturating_sub(known),
        };
        parts.iter().zip(&rows).map(weight).collect::<Vec<u128>>()
    });
    let sampled: Vec<u128> =
        parts.iter().map(|part| u128::from(part.sampled[0] + part.sampled[1])).collect();
    let mut amounts = vec![[0_u64; METRICS]; parts.len()];
    for metric in Metric::ALL {
        let own = &weights[usize::from(is_of_writes(metric))];
        let weights = if own.iter().sum::<u128>() > 0 { own } else { &sampled };
        distribute(load.get(metric), weights, |at, amount| amounts[at][metric as usize] = amount);
    }
    amounts.into_iter().map(Load::new).collect()
}

fn is_of_writes(metric: Metric) -> bool {
    matches!(metric, Metric::Writes | Metric::Deletes | Metric::BytesWritten)
}

/// Distributes an amount as weights, of which one is not 0. Parts of a running sum add up.
#[expect(clippy::cast_possible_truncation, reason = "a share of a 64-bit number fits into 64 bits")]
fn distribute(amount: u64, weights: &[u128], mut set: impl FnMut(usize, u64)) {
    // Smaller weights, so that products of them and amounts have room.
    let bits = u128::BITS - weights.iter().sum::<u128>().leading_zeros();
    let shift = bits.saturating_sub(u64::BITS - 1);
    let total = weights.iter().map(|weight| weight >> shift).sum::<u128>().max(1);
    let until = |sum: u128| u128::from(amount) * sum / total;
    let mut before = 0_u128;
    for (at, weight) in weights.iter().enumerate() {
        let after = before + (weight >> shift);
        set(at, (until(after) - until(before)) as u64);
        before = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{BASE_MS, Column, Region};
    use crate::column_time::ColumnTime;
    use crate::heat_map::{HeatMap, HeatQuery};
    use crate::history::History;
    use crate::recorder::{OperationKind, RegionRecorder, TablePart};

    /// Regions whose columns are drawn at once.
    struct Table {
        starts: Vec<&'static str>,
        recorders: Vec<RegionRecorder>,
        counts: Vec<u64>,
        history: History,
        times: History,
        now_ms: i64,
    }

    impl Table {
        fn new(starts: &[&'static str]) -> Self {
            Self {
                starts: starts.to_vec(),
                recorders: starts.iter().map(|_| RegionRecorder::default()).collect(),
                counts: vec![0; starts.len()],
                history: History::default(),
                times: History::default(),
                now_ms: 0,
            }
        }

        fn split(&mut self, at: usize, row: &'static str) {
            self.starts.insert(at + 1, row);
            self.recorders.splice(at..=at, [RegionRecorder::default(), RegionRecorder::default()]);
            self.counts.insert(at + 1, 0);
            self.counts[at] = 0;
        }

        fn put(&mut self, row: &str) {
            let at = self.starts.partition_point(|start| *start <= row) - 1;
            self.recorders[at].record(self.counts[at], OperationKind::Write, row.as_bytes(), 10);
            self.counts[at] += 1;
        }

        fn tick(&mut self) {
            let mut regions = Vec::new();
            for (at, recorder) in self.recorders.iter().enumerate() {
                let count = std::mem::take(&mut self.counts[at]);
                let load = Load::new([0, count, 0, 0, 0, count * 10]);
                let part = TablePart { regions: self.starts.len(), key_parts: None };
                let column = recorder.drain(&load, part, Vec::new);
                regions.push(Region {
                    start: self.starts[at].as_bytes().into(),
                    boundaries: column.boundaries,
                    loads: column.loads,
                });
            }
            let (from, to) = (self.now_ms, self.now_ms + BASE_MS);
            self.now_ms = to;
            self.history.push(&Column::of_regions(ColumnTime::exact(from, to), &regions));
            self.times.push(&Column::of_time(ColumnTime::exact(from, to)));
        }

        /// Draws all columns: for each, the ranges with their writes.
        fn columns(&self) -> Vec<Vec<(String, f32)>> {
            let map = HeatMap::new(
                &self.history,
                &self.times,
                &HeatQuery {
                    from_ms: 0,
                    to_ms: self.now_ms,
                    metric: Metric::Writes,
                    start: Box::default(),
                    end: None,
                    max_rows: 1024,
                    max_columns: 64,
                },
            );
            let amount = |row: usize, column| map.mean[row * map.columns + column] * 10.0;
            let row = |(at, bound): (usize, &[u8]), column| {
                (String::from_utf8_lossy(bound).into_owned(), amount(at, column))
            };
            (0..map.columns)
                .map(|column| {
                    map.bounds
                        .iter()
                        .map(|bound| &**bound)
                        .enumerate()
                        .map(|at| row(at, column))
                        .collect()
                })
                .collect()
        }
    }

    /// A row with half of the writes among new rows was a band of ten ranges.
    #[test]
    fn hot_row_among_new_rows_is_one_range() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut table = Table::new(&[""]);
        for count in [300, 1000, 1000, 5000, 1000, 900, 20_000, 1000, 1000, 1000, 1000, 1000] {
            for _ in 0..count {
                if random.bool() {
                    table.put("3hot");
                } else {
                    table.put(&format!("{}{:05}", random.u32(..10), random.u32(..100_000)));
                }
            }
            table.tick();
        }
        for (at, column) in table.columns().into_iter().enumerate().skip(1) {
            let total: f32 = column.iter().map(|(_, amount)| amount).sum();
            let hot = column.iter().rfind(|(bound, _)| bound.as_str() <= "3hot").unwrap();
            assert_eq!(hot.0, "3hot", "column {at}");
            let share = hot.1 / total;
            // Of 1,000 operations the last are sampled, as are those of a busy region.
            assert!((0.35..0.65).contains(&share), "column {at}: {share}");
            let mut others: Vec<f32> = column.iter().map(|(_, amount)| amount / total).collect();
            others.sort_by(f32::total_cmp);
            assert!(others[others.len() - 2] < 0.1, "column {at}: {others:?}");
        }
    }

    /// Rows that rise in each of ten groups: after a split their load moved to other groups.
    #[test]
    fn load_of_daughters_is_on_its_keys() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut table = Table::new(&["", "5"]);
        let mut number = 1000;
        let mut truth = vec![[0.0_f32; 10]; 24];
        for (column, truth) in truth.iter_mut().enumerate() {
            if column == 10 {
                table.split(0, "2005375");
            }
            for _ in 0..1000 {
                let digit = random.usize(..10);
                truth[digit] += 1.0;
                table.put(&format!("{digit}{number:06}"));
                number += 1;
            }
            table.tick();
        }
        for (at, column) in table.columns().into_iter().enumerate().skip(1) {
            let mut digits = [0.0_f32; 10];
            for (bound, amount) in column {
                let digit = bound.bytes().next().map_or(0, |byte| usize::from(byte - b'0'));
                digits[digit] += amount;
            }
            let is_near = |(found, truth): (&f32, &f32)| (found - truth).abs() < 40.0;
            let truth = &truth[at];
            assert!(
                digits.iter().zip(truth).all(is_near),
                "column {at}: {digits:?}, not {truth:?}"
            );
        }
    }

    #[test]
    fn loads_add_up_and_are_bounded() {
        let mut random = fastrand::Rng::with_seed(3);
        for round in 0..50_u64 {
            let key = |random: &mut fastrand::Rng, arrival| SampledKey {
                row: (0..random.usize(..4)).map(|_| random.u8(..3)).collect(),
                arrival,
                is_write: random.bool(),
                is_scan: false,
            };
            let sample: Vec<SampledKey> = (0..128).map(|at| key(&mut random, at)).collect();
            let frequent: Vec<FrequentRow> = sample[..16]
                .iter()
                .map(|key| FrequentRow {
                    row: key.row.clone(),
                    count: random.u64(..1000),
                    error: random.u64(..10),
                    writes: random.u64(..1000),
                    bytes: 0,
                })
                .collect();
            let load = Load::new([round * 100, 77, round, 5, 6, u64::MAX / 4]);
            let parts = Parts { boundaries: vec![[1].into(), [1, 2].into()], loads: vec![load; 3] };
            let known = KnownRows { sample: &sample, frequent: &frequent, scale: (5000, 4000) };
            let refined = parts.refined(&known, 12);
            assert!(refined.loads.len() <= 12 && refined.loads.len() > 3);
            assert_eq!(refined.boundaries.len() + 1, refined.loads.len());
            assert!(refined.boundaries.is_sorted_by(|one, next| one < next));
            let sum = refined.loads.iter().fold(Load::default(), |sum, load| sum + *load);
            assert_eq!(sum, load + load + load);
        }
    }
}
