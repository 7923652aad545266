//! What happened in the last ten minutes of a table beyond counts: frequent rows, sampled keys, and
//! how the load was distributed over regions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::busy_regions::{BusyRegion, busiest};
use crate::column::Region;
use crate::column_time::ColumnTime;
use crate::hot_rows::{HotRow, Listed, RegionPrefixes, hot_rows, table_prefixes};
use crate::key_sample::SampledKey;
use crate::metric::{Load, Metric};
use crate::prefixes::{FrequentPrefixes, PrefixLevel};
use crate::recorder::RegionColumn;
use crate::space_saving::FrequentRow;

/// Base columns that are kept: ten minutes.
const KEPT_COLUMNS: usize = 60;
/// Sampled keys of a column.
const MAX_COLUMN_KEYS: usize = 512;
/// Frequent rows of a column.
const MAX_COLUMN_ROWS: usize = 64;
/// Requests for each region from which the skew of a column is not accidental.
const MIN_WINDOW_REQUESTS: u64 = 8;
/// Tables that have all rows and keys each.
const FULL_TABLES: usize = 16;

/// Region with its load in one base column.
#[derive(Clone, Debug, Default)]
pub struct RegionActivity {
    /// First row; empty for the first region.
    pub start: Box<[u8]>,
    /// Exact load.
    pub load: Load,
    /// Recorded details.
    pub column: RegionColumn,
}

impl RegionActivity {
    /// Takes the load by sub-range.
    #[must_use]
    pub fn take_region(&mut self) -> Region {
        Region {
            start: std::mem::take(&mut self.start),
            boundaries: std::mem::take(&mut self.column.boundaries),
            loads: if self.column.loads.is_empty() {
                vec![self.load]
            } else {
                std::mem::take(&mut self.column.loads)
            },
        }
    }
}

/// Distribution of requests over regions in one base column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skew {
    /// Load of the most loaded region divided by the mean (D1): 1 is even, the number of regions is
    /// one region with everything.
    pub max_over_mean: f64,
    /// Number of regions that would have the same concentration if they were loaded evenly (D2).
    pub effective: f64,
    /// Number of regions.
    pub regions: usize,
}

impl Skew {
    /// Returns the distribution of loads, `None` if there are none or all are 0.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "shares")]
    pub fn of(loads: impl Iterator<Item = u64>) -> Option<Self> {
        let (mut regions, mut total, mut max, mut squares) = (0_usize, 0.0, 0.0_f64, 0.0);
        for load in loads {
            let load = load as f64;
            regions += 1;
            total += load;
            max = max.max(load);
            squares += load * load;
        }
        (total > 0.0).then(|| Self {
            max_over_mean: max * regions as f64 / total,
            effective: total * total / squares,
            regions,
        })
    }
}

/// Sampled operation of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedKey {
    /// The operation; its arrival is counted within its region.
    pub key: SampledKey,
    /// Index of its region in the column.
    pub region: usize,
    /// Number of operations that it represents.
    pub weight: f64,
}

/// What a base column keeps at most.
#[derive(Clone, Copy, Debug)]
pub struct ColumnLimits {
    /// Frequent rows.
    pub rows: usize,
    /// Sampled keys.
    pub keys: usize,
}

impl ColumnLimits {
    /// Returns the limits of each table if `tables` tables have requests at the same time. Together
    /// they keep about 64 MB.
    #[must_use]
    pub fn of_tables(tables: usize) -> Self {
        let part = |most: usize| (most * FULL_TABLES / tables.max(1)).clamp(2, most);
        Self { rows: part(MAX_COLUMN_ROWS), keys: part(MAX_COLUMN_KEYS) }
    }
}

/// One base column of a table.
#[derive(Clone, Debug, Default)]
pub struct ActivityColumn {
    /// Beginning, in milliseconds since 1970.
    pub from_ms: i64,
    /// End, in milliseconds since 1970, exclusive.
    pub to_ms: i64,
    /// Milliseconds in which the load was recorded.
    pub recorded_ms: i64,
    /// Load of all regions.
    pub load: Load,
    /// Distribution of reads over regions.
    pub reads: Option<Skew>,
    /// Distribution of writes over regions.
    pub writes: Option<Skew>,
    /// Most loaded regions by reads and by writes, in falling order.
    pub busiest: [Vec<BusyRegion>; 2],
    /// Most frequent rows, in falling order.
    pub rows: Vec<FrequentRow>,
    /// Upper bound of the weight of a row that is not among them.
    pub missed: u64,
    /// Most frequent prefixes of each length.
    pub prefixes: Vec<FrequentPrefixes>,
    /// Sample of the operations, region by region in their order of arrival.
    pub keys: Vec<WeightedKey>,
}

impl ActivityColumn {
    /// Returns the column of all regions of a table.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "weights of a sample")]
    pub fn new(time: ColumnTime, regions: &[RegionActivity], limits: ColumnLimits) -> Self {
        use crate::metric::Metric::{Reads, Writes};
        let skew = |metric| Skew::of(regions.iter().map(|region| region.load.get(metric)));
        let mut rows: Vec<FrequentRow> = Vec::new();
        let (mut keys, mut missed) = (Vec::new(), 0);
        for (index, region) in regions.iter().enumerate() {
            rows.extend(region.column.top_rows.iter().cloned());
            missed = missed.max(region.column.missed_weight);
            let sample = &region.column.sample;
            let weight = region.load.requests() as f64 / sample.len().max(1) as f64;
            keys.extend(sample.iter().map(|key| WeightedKey {
                key: key.clone(),
                region: index,
                weight,
            }));
        }
        rows.sort_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| one.row.cmp(&other.row))
        });
        missed = missed.max(rows.get(limits.rows).map_or(0, |row| row.count));
        rows.truncate(limits.rows);
        let load = regions.iter().fold(Load::default(), |sum, region| sum + region.load);
        let prefixes: Vec<RegionPrefixes<'_>> = regions
            .iter()
            .map(|region| RegionPrefixes {
                start: &region.start,
                prefixes: &region.column.prefixes,
            })
            .collect();
        Self {
            from_ms: time.from_ms,
            to_ms: time.to_ms,
            recorded_ms: time.recorded_ms,
            load,
            reads: skew(Reads),
            writes: skew(Writes),
            busiest: [Reads, Writes].map(|metric| busiest(regions, metric)),
            rows,
            missed,
            prefixes: table_prefixes(&prefixes, limits.rows),
            keys: thinned(keys, limits.keys),
        }
    }

    /// Returns the distribution of its reads or writes over regions, unless it is accidental: with
    /// fewer than eight for each region.
    pub(crate) fn sound_skew(&self, is_read: bool) -> Option<Skew> {
        let (skew, metric) =
            if is_read { (self.reads?, Metric::Reads) } else { (self.writes?, Metric::Writes) };
        let is_enough = self.load.get(metric) >= MIN_WINDOW_REQUESTS * skew.regions as u64;
        is_enough.then_some(skew)
    }
}

/// Returns the sampled operations of each region, by its index, in the order of arrival.
pub(crate) fn keys_by_region<'a>(
    columns: &[&'a ActivityColumn],
    is_wanted: impl Fn(&WeightedKey) -> bool,
) -> BTreeMap<usize, Vec<&'a WeightedKey>> {
    let mut by_region: BTreeMap<usize, Vec<&WeightedKey>> = BTreeMap::new();
    for key in columns.iter().flat_map(|column| &column.keys).filter(|key| is_wanted(key)) {
        by_region.entry(key.region).or_default().push(key);
    }
    by_region
}

/// Returns at most `most` of the keys with the same total weight: systematic sampling by weight.
fn thinned(keys: Vec<WeightedKey>, most: usize) -> Vec<WeightedKey> {
    let total: f64 = keys.iter().map(|key| key.weight).sum();
    if keys.len() <= most || total <= 0.0 {
        return keys;
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let step = total / most.max(1) as f64;
    let (mut sum, mut next) = (0.0, step / 2.0);
    let mut kept = Vec::with_capacity(most);
    for mut key in keys {
        sum += key.weight;
        let mut weight = 0.0;
        while next <= sum && kept.len() < most {
            weight += step;
            next += step;
        }
        if weight > 0.0 {
            key.weight = weight;
            kept.push(key);
        }
    }
    kept
}

/// The newest base columns of a table.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    columns: VecDeque<Arc<ActivityColumn>>,
}

impl Activity {
    /// Adds the newest column.
    pub fn push(&mut self, column: ActivityColumn) {
        if self.columns.len() >= KEPT_COLUMNS {
            self.columns.pop_front();
        }
        self.columns.push_back(Arc::new(column));
    }

    /// Returns the columns that overlap a span of time.
    pub fn columns(&self, from_ms: i64, to_ms: i64) -> impl Iterator<Item = &ActivityColumn> {
        self.columns
            .iter()
            .map(|column| &**column)
            .filter(move |column| column.from_ms < to_ms && column.to_ms > from_ms)
    }

    /// Returns the most frequent rows of a span of time, in falling order, at most `limit`, and the
    /// number of all operations in it.
    #[must_use]
    pub fn hot_rows(&self, from_ms: i64, to_ms: i64, limit: usize) -> (Vec<HotRow>, u64) {
        self.hot(from_ms, to_ms, limit, |column| Some((&column.rows, column.missed)))
    }

    /// As [`Activity::hot_rows`], for prefixes of one length.
    #[must_use]
    pub fn hot_prefixes(
        &self,
        level: PrefixLevel,
        (from_ms, to_ms): (i64, i64),
        limit: usize,
    ) -> (Vec<HotRow>, u64) {
        self.hot(from_ms, to_ms, limit, |column| {
            let found = column.prefixes.iter().find(|prefixes| prefixes.level == level)?;
            Some((&found.top, found.missed))
        })
    }

    /// Returns the lengths of the prefixes that are counted in a span of time.
    #[must_use]
    pub fn prefix_levels(&self, from_ms: i64, to_ms: i64) -> Vec<PrefixLevel> {
        let columns = self.columns(from_ms, to_ms);
        let mut levels: Vec<PrefixLevel> =
            columns.flat_map(|column| &column.prefixes).map(|prefixes| prefixes.level).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }

    fn hot<'a>(
        &'a self,
        from_ms: i64,
        to_ms: i64,
        limit: usize,
        of: impl Fn(&'a ActivityColumn) -> Option<(&'a Vec<FrequentRow>, u64)>,
    ) -> (Vec<HotRow>, u64) {
        hot_of(self.columns(from_ms, to_ms), limit, of)
    }

    /// Returns the skew of the requests over regions in the base columns of a span of time, at the
    /// 99th percentile: the maximum load of a region divided by the mean. Columns with fewer than
    /// eight requests for each region are left out, since they are uneven by accident; `None` if
    /// there are no others.
    #[must_use]
    pub fn window_skew(&self, from_ms: i64, to_ms: i64) -> Option<f64> {
        let of_column = |column: &ActivityColumn| {
            let is_read = column.load.get(Metric::Reads) > column.load.get(Metric::Writes);
            Some(column.sound_skew(is_read)?.max_over_mean)
        };
        let mut skews: Vec<f64> = self.columns(from_ms, to_ms).filter_map(of_column).collect();
        skews.sort_by(f64::total_cmp);
        // The smallest with at most one in a hundred above it.
        skews.get((skews.len() * 99).div_ceil(100).checked_sub(1)?).copied()
    }
}

/// Returns the most frequent rows of some columns, as [`Activity::hot_rows`].
pub(crate) fn hot_rows_of(columns: &[&ActivityColumn], limit: usize) -> (Vec<HotRow>, u64) {
    hot_of(columns.iter().copied(), limit, |column| Some((&column.rows, column.missed)))
}

fn hot_of<'a>(
    columns: impl Iterator<Item = &'a ActivityColumn>,
    limit: usize,
    of: impl Fn(&'a ActivityColumn) -> Option<(&'a Vec<FrequentRow>, u64)>,
) -> (Vec<HotRow>, u64) {
    let mut total = 0_u64;
    let listed = columns.filter_map(|column| {
        total = total.saturating_add(column.load.requests());
        let (rows, missed) = of(column)?;
        Some(Listed { column, rows, missed })
    });
    let listed: Vec<Listed<'_>> = listed.collect();
    (hot_rows(&listed, limit), total)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ColumnLimits = ColumnLimits { rows: 64, keys: 512 };

    fn region(start: &str, reads: u64, rows: &[(&str, u64, u64)]) -> RegionActivity {
        let frequent = |&(row, count, error): &(&str, u64, u64)| FrequentRow {
            row: row.as_bytes().to_vec(),
            count,
            error,
            ..FrequentRow::default()
        };
        let key = |arrival: u64| SampledKey {
            row: format!("{start}{arrival}").into_bytes(),
            arrival,
            ..SampledKey::default()
        };
        RegionActivity {
            start: start.as_bytes().into(),
            load: Load::new([reads, 0, 0, 0, 0, 0]),
            column: RegionColumn {
                top_rows: rows.iter().map(frequent).collect(),
                sample: (0..100).map(key).collect(),
                ..RegionColumn::default()
            },
        }
    }

    #[test]
    fn skew_tells_concentration() {
        let even = Skew::of([5, 5, 5, 5].into_iter()).unwrap();
        assert_eq!((even.max_over_mean, even.effective), (1.0, 4.0));
        let one = Skew::of([0, 9, 0, 0].into_iter()).unwrap();
        assert_eq!((one.max_over_mean, one.effective), (4.0, 1.0));
        assert_eq!(Skew::of([0, 0].into_iter()), None);
        assert_eq!(Skew::of(std::iter::empty()), None);
    }

    #[test]
    fn hot_rows_add_up_over_columns() {
        let mut activity = Activity::default();
        for at in 0..3 {
            let regions = [region("", 1000, &[("a", 400, 10), ("b", 50, 0)])];
            activity.push(ActivityColumn::new(
                ColumnTime::exact(at * 10, at * 10 + 10),
                &regions,
                LIMITS,
            ));
        }
        let (rows, total) = activity.hot_rows(0, 100, 1);
        assert_eq!(total, 3000);
        assert_eq!((rows[0].row.as_slice(), rows[0].count, rows[0].error), (&b"a"[..], 1200, 30));
        assert_eq!((rows[0].first_seen_ms, rows[0].last_seen_ms), (0, 30));
        assert_eq!(activity.hot_rows(10, 20, 9).1, 1000);
    }

    #[test]
    fn sample_of_many_regions_keeps_weight() {
        let regions: Vec<RegionActivity> = (0..40)
            .map(|at| region(&format!("{at:02}"), if at == 7 { 90_000 } else { 10 }, &[]))
            .collect();
        let column = ActivityColumn::new(ColumnTime::exact(0, 10), &regions, LIMITS);
        assert!(column.keys.len() <= MAX_COLUMN_KEYS);
        let of_hot: f64 =
            column.keys.iter().filter(|key| key.region == 7).map(|key| key.weight).sum();
        assert!((of_hot - 90_000.0).abs() < 1000.0, "{of_hot}");
    }

    #[test]
    fn window_skew_leaves_out_columns_of_few_requests() {
        let mut activity = Activity::default();
        assert_eq!(activity.window_skew(i64::MIN, i64::MAX), None);
        for at in 0..20 {
            let loads = if at == 3 { [10, 0] } else { [400, 200] };
            let regions = loads.map(|load| region("", load, &[]));
            activity.push(ActivityColumn::new(ColumnTime::exact(at, at + 1), &regions, LIMITS));
        }
        assert_eq!(activity.window_skew(i64::MIN, i64::MAX), Some(4.0 / 3.0));
        let uneven = [region("", 90, &[]), region("m", 10, &[])];
        activity.push(ActivityColumn::new(ColumnTime::exact(20, 21), &uneven, LIMITS));
        assert_eq!(activity.window_skew(i64::MIN, i64::MAX), Some(1.8));
        assert_eq!(activity.window_skew(3, 4), None);
    }

    #[test]
    fn activity_is_bounded() {
        let mut activity = Activity::default();
        for at in 0..1000 {
            activity.push(ActivityColumn::new(ColumnTime::exact(at, at + 1), &[], LIMITS));
        }
        assert_eq!(activity.columns(i64::MIN, i64::MAX).count(), KEPT_COLUMNS);
    }
}
