//! Part of a history as a picture: keys by time.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::PackedColumn;
use crate::column::{BASE_MS, Bounds, MAX_BUCKETS, MAX_TIME_MS, parts, thinned};
use crate::history::{History, LAYERS};
use crate::metric::Metric;

/// Longest column of 10 seconds that was closed late and is in several columns of a picture.
const MAX_LATE_MS: i64 = 3 * BASE_MS;

/// Maximum number of columns of a picture.
pub const MAX_COLUMNS: usize = 1024;

/// Requested part of a history.
#[derive(Clone, Debug)]
pub struct HeatQuery {
    /// Beginning, in milliseconds since 1970.
    pub from_ms: i64,
    /// End, in milliseconds since 1970, exclusive.
    pub to_ms: i64,
    /// Quantity.
    pub metric: Metric,
    /// First row of the keys.
    pub start: Box<[u8]>,
    /// End of the keys, exclusive; `None` for all after the start.
    pub end: Option<Box<[u8]>>,
    /// Maximum number of rows of the picture, at least 1; at most 1,024 are returned.
    pub max_rows: usize,
    /// Maximum number of columns of the picture, at least 1; at most 1,024 are returned.
    pub max_columns: usize,
}

/// Amounts per second by range of keys and time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// Beginning of the first column, in milliseconds since 1970.
    pub from_ms: i64,
    /// Length of a column, in milliseconds.
    pub column_ms: i64,
    /// Number of columns.
    pub columns: usize,
    /// Index of the layer in [`LAYERS`] that the amounts come from.
    pub layer: usize,
    /// First row of each range of keys, in rising order.
    pub bounds: Vec<Box<[u8]>>,
    /// Mean amount per second, range by range: that of range `r` in column `c` is at
    /// `r * columns + c`.
    pub mean: Vec<f32>,
    /// Largest amount per second over 10 seconds, as `mean`.
    pub max: Vec<f32>,
    /// `true` where an amount was recorded for more keys than the range has, and distributed
    /// evenly; as `mean`. Amounts of less than a twentieth of a column do not count: none of their
    /// keys is hot. Empty if there is no such amount.
    pub estimated: Vec<bool>,
    /// Columns of which nothing is recorded.
    pub gaps: Vec<Range<usize>>,
    /// Time of the loads of each column, in seconds, over which its amounts are means: less than
    /// the length of a column that began before the recording, or that is not over; and some
    /// seconds more, and less in the next column, where the recorder was late.
    pub seconds: Vec<f32>,
}

/// Rows of a regrouped map that the load of a range of keys goes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowShares {
    /// Rows and shares, which add up to 1.
    pub rows: Vec<(usize, f32)>,
    /// `true` if the shares are not exact.
    pub is_estimated: bool,
}

impl HeatMap {
    /// Draws a part of a history. Columns without load are missing in it; `recorded` has a column
    /// for all times at which any would have been recorded, whose reads are that time in
    /// milliseconds ([`Column::of_time`](crate::Column::of_time)).
    #[must_use]
    pub fn new(history: &History, recorded: &History, query: &HeatQuery) -> Self {
        let from_ms = query.from_ms.clamp(-MAX_TIME_MS, MAX_TIME_MS);
        let to_ms = query.to_ms.clamp(from_ms + 1, MAX_TIME_MS + 1);
        let layer = layer_for(recorded, from_ms, to_ms);
        let packed = history.columns(layer, from_ms, to_ms);
        let (from_ms, column_ms, columns) = grid(layer, from_ms, to_ms, query.max_columns);
        let (bounds, outer) = bounds_of(&packed, query);
        let mut picture = Picture {
            rows: bounds.len(),
            columns,
            mean: vec![0.0; bounds.len() * columns],
            max: vec![0.0; bounds.len() * columns],
            estimated: Vec::new(),
            seconds: vec![0.0; columns],
        };
        let cells = |column: &PackedColumn| cells_of(column, from_ms, column_ms, columns);
        for column in recorded.columns(layer, from_ms, to_ms) {
            // Its load is the time that was recorded, in milliseconds.
            let recorded_ms = column.values(Metric::Reads).0.iter().sum();
            cells(&column).for_each(|(at, share)| picture.add_time(at, recorded_ms, share));
        }
        let mut known: Option<(Bounds, Vec<Range<usize>>)> = None;
        for column in &packed {
            if !known.as_ref().is_some_and(|(bounds, _)| Arc::ptr_eq(bounds, &column.bounds)) {
                known = Some((Arc::clone(&column.bounds), parts(&column.bounds, &outer.bounds)));
            }
            let Some((_, parts)) = &known else { continue };
            for (at, share) in cells(column) {
                picture.add(column, query.metric, (at, share), parts, outer.first);
            }
        }
        picture.finish(from_ms, column_ms, layer, bounds)
    }
}

impl HeatMap {
    /// Returns the sum of maps of the same times, whose bounds are in one order: those of the parts
    /// of a salted table, for instance, without their salts. The largest amounts are added too,
    /// which gives an upper bound, since the parts need not have had them at one time.
    ///
    /// # Panics
    /// If the maps have different columns.
    #[must_use]
    pub fn sum(maps: &[Self], max_rows: usize) -> Self {
        let Some(first) = maps.first() else { return Self::default() };
        let mut all: Vec<Box<[u8]>> =
            maps.iter().flat_map(|map| map.bounds.iter().cloned()).collect();
        all.sort();
        all.dedup();
        let bounds = thinned(all, max_rows.clamp(1, MAX_BUCKETS));
        let cells = bounds.len() * first.columns;
        let mut sum = Self {
            bounds,
            mean: vec![0.0; cells],
            max: vec![0.0; cells],
            estimated: Vec::new(),
            gaps: first.gaps.clone(),
            seconds: first.seconds.clone(),
            ..*first
        };
        for map in maps {
            assert_eq!(
                (map.from_ms, map.column_ms, map.columns),
                (sum.from_ms, sum.column_ms, sum.columns),
                "the maps have the same columns"
            );
            let totals = map.totals();
            for (row, part) in parts(&map.bounds, &sum.bounds).into_iter().enumerate() {
                sum.add_row(map, row, part, &totals);
            }
            sum.gaps.retain(|gap| map.gaps.contains(gap));
        }
        sum
    }

    /// Returns the map with other rows: the load of each range of keys is divided over the rows and
    /// shares that `shares` has for it, which add up to 1, so that the sums of the columns stay the
    /// same. A range that is divided over several rows, or whose rows are `estimated`, is estimated.
    /// The largest amounts are added, which gives an upper bound. The bounds are empty.
    ///
    /// # Panics
    /// If a row is not below `rows`, or there are not as many shares as ranges.
    #[must_use]
    pub fn regrouped(&self, rows: usize, shares: &[RowShares]) -> Self {
        assert_eq!(shares.len(), self.bounds.len(), "each range has its shares");
        let mut grouped = Self {
            bounds: vec![Box::default(); rows],
            mean: vec![0.0; rows * self.columns],
            max: vec![0.0; rows * self.columns],
            estimated: vec![false; rows * self.columns],
            gaps: self.gaps.clone(),
            seconds: self.seconds.clone(),
            ..*self
        };
        for (range, shares) in shares.iter().enumerate() {
            for &(row, share) in &shares.rows {
                for column in 0..self.columns {
                    let (from, to) = (range * self.columns + column, row * self.columns + column);
                    grouped.mean[to] += self.mean[from] * share;
                    grouped.max[to] += self.max[from] * share;
                    let was_estimated = self.estimated.get(from).copied().unwrap_or(false);
                    let is_estimated = was_estimated || shares.is_estimated;
                    grouped.estimated[to] |= self.mean[from] > 0.0 && is_estimated;
                }
            }
        }
        grouped
    }

    /// Returns the mean amount of each column.
    fn totals(&self) -> Vec<f32> {
        let mut totals = vec![0.0; self.columns];
        for row in self.mean.chunks_exact(self.columns.max(1)) {
            totals.iter_mut().zip(row).for_each(|(total, mean)| *total += mean);
        }
        totals
    }

    /// Distributes a row of another map, of which the columns have these totals, evenly over rows
    /// of this one.
    #[expect(clippy::cast_precision_loss, reason = "a number of rows")]
    fn add_row(&mut self, map: &Self, row: usize, part: Range<usize>, totals: &[f32]) {
        let count = part.len() as f32;
        for own in part.clone() {
            for (column, total) in totals.iter().enumerate() {
                let (from, to) = (row * self.columns + column, own * self.columns + column);
                self.mean[to] += map.mean[from] / count;
                self.max[to] += map.max[from] / count;
                let is_estimated = map.estimated.get(from).copied().unwrap_or(false);
                let is_divided = part.len() > 1 && is_notable(map.mean[from], *total);
                if map.mean[from] > 0.0 && (is_estimated || is_divided) {
                    self.estimated.resize(self.mean.len(), false);
                    self.estimated[to] = true;
                }
            }
        }
    }
}

/// Returns `true` for an amount of a column in which one key can be hot.
fn is_notable(amount: f32, total: f32) -> bool {
    amount * 20.0 >= total
}

/// Returns the layer of the shortest columns that reaches back to a time, or the one that reaches
/// back farthest.
fn layer_for(history: &History, from_ms: i64, to_ms: i64) -> usize {
    let since = history.since_ms().unwrap_or(from_ms).max(from_ms);
    let reaches = |layer: &usize| history.oldest_ms(*layer).is_some_and(|oldest| oldest <= since);
    let is_drawable = |layer: &usize| {
        (to_ms - since) / LAYERS[*layer].column_ms <= 8 * i64::try_from(MAX_COLUMNS).unwrap_or(0)
    };
    let layers = 0..LAYERS.len();
    layers.clone().filter(is_drawable).find(reaches).unwrap_or(LAYERS.len() - 1)
}

/// Returns the beginning, the length and the number of the columns of a picture.
fn grid(layer: usize, from_ms: i64, to_ms: i64, max_columns: usize) -> (i64, i64, usize) {
    let most = i64::try_from(max_columns.clamp(1, MAX_COLUMNS)).unwrap_or(1);
    let unit = LAYERS[layer].column_ms;
    let first = from_ms.div_euclid(unit).saturating_mul(unit);
    let units = to_ms.saturating_sub(first).saturating_add(unit - 1) / unit;
    let factor = (units.saturating_add(most - 1) / most).max(1);
    let columns = (units.saturating_add(factor - 1) / factor).clamp(1, most);
    (first, unit.saturating_mul(factor), usize::try_from(columns).unwrap_or(1))
}

/// Returns the columns of a picture that a recorded column is in, with its share in each.
///
/// A column of 10 seconds that was closed late may be longer, and is in several. After a longer
/// time it is unknown when in that time its operations were.
#[expect(clippy::cast_precision_loss, reason = "shares of some seconds")]
fn cells_of(
    column: &PackedColumn,
    from_ms: i64,
    column_ms: i64,
    columns: usize,
) -> impl Iterator<Item = (usize, f32)> + use<> {
    let span = column.to_ms.saturating_sub(column.from_ms);
    let is_late = (BASE_MS + 1..=MAX_LATE_MS).contains(&span) && column_ms < span;
    let place = |time_ms: i64| (time_ms.max(from_ms) - from_ms) / column_ms;
    let first = place(column.from_ms);
    let last = if is_late { place(column.to_ms - 1) } else { first };
    let (begin, end) = (column.from_ms, column.to_ms);
    (first..=last).filter_map(move |at| {
        let start = from_ms + at * column_ms;
        let part = (start + column_ms).min(end) - start.max(begin);
        let share = if is_late { part as f32 / span as f32 } else { 1.0 };
        Some((usize::try_from(at).ok().filter(|at| *at < columns)?, share))
    })
}

/// Bounds that include the keys outside of a picture.
struct OuterBounds {
    bounds: Vec<Box<[u8]>>,
    /// Index of the first bound of the picture.
    first: usize,
}

/// Returns the ranges of keys of a picture: those of its newest columns, and of older ones as far
/// as there is room.
fn bounds_of(columns: &[PackedColumn], query: &HeatQuery) -> (Vec<Box<[u8]>>, OuterBounds) {
    let is_inside =
        |bound: &[u8]| bound > &*query.start && query.end.as_ref().is_none_or(|end| bound < &**end);
    let most = query.max_rows.clamp(1, MAX_BUCKETS);
    let mut all: Vec<Box<[u8]>> = Vec::new();
    let mut last: Option<&Bounds> = None;
    for column in columns.iter().rev() {
        if last.is_some_and(|last| Arc::ptr_eq(last, &column.bounds)) {
            continue;
        }
        last = Some(&column.bounds);
        let before = all.len();
        all.extend(column.bounds.iter().filter(|bound| is_inside(bound)).cloned());
        if before > 0 {
            all.sort();
            all.dedup();
        }
        if all.len() >= 2 * most {
            break;
        }
    }
    all.insert(0, query.start.clone());
    let inner = thinned(all, most);
    let first = usize::from(!query.start.is_empty());
    let before = (first == 1).then(Box::default);
    let bounds = before.into_iter().chain(inner.iter().cloned()).chain(query.end.clone()).collect();
    (inner, OuterBounds { bounds, first })
}

struct Picture {
    rows: usize,
    columns: usize,
    /// Amounts.
    mean: Vec<f32>,
    /// Amounts in 10 seconds.
    max: Vec<f32>,
    estimated: Vec<bool>,
    /// Recorded time of each column.
    seconds: Vec<f32>,
}

impl Picture {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a picture")]
    fn add_time(&mut self, at: usize, recorded_ms: u64, share: f32) {
        self.seconds[at] += recorded_ms as f32 / 1000.0 * share;
    }

    /// Adds a share of a recorded column to a column of the picture; `parts` are the ranges of each
    /// bucket, of which the picture has those from `first` on.
    #[expect(clippy::cast_precision_loss, reason = "amounts of a picture")]
    fn add(
        &mut self,
        column: &PackedColumn,
        metric: Metric,
        (at, share): (usize, f32),
        parts: &[Range<usize>],
        first: usize,
    ) {
        let (loads, peaks) = column.values(metric);
        let total = loads.iter().sum::<u64>() as f32;
        let total_peak = column.total_peak(metric) as f32;
        // Peaks of the buckets of one row, before they meet those of other times: together at most
        // what the table had.
        let mut row_peak = (usize::MAX, 0.0);
        for ((load, peak), part) in loads.into_iter().zip(peaks).zip(parts) {
            if load == 0 && peak == 0 {
                continue;
            }
            let parts = part.len() as f32;
            let is_estimated = part.len() > 1 && is_notable(load as f32, total);
            let (load, peak) = (load as f32 / parts, peak as f32 / parts);
            for outer in part.clone() {
                let Some(row) = outer.checked_sub(first).filter(|row| *row < self.rows) else {
                    continue;
                };
                let cell = row * self.columns + at;
                self.mean[cell] += load * share;
                if is_estimated {
                    self.estimated.resize(self.mean.len(), false);
                    self.estimated[cell] = true;
                }
                let before = if row_peak.0 == row { row_peak.1 } else { 0.0 };
                let peak = (before + peak).min(total_peak);
                row_peak = (row, peak);
                self.max[cell] = self.max[cell].max(peak);
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds of a base column")]
    fn finish(
        mut self,
        from_ms: i64,
        column_ms: i64,
        layer: usize,
        bounds: Vec<Box<[u8]>>,
    ) -> HeatMap {
        for (cell, (mean, max)) in self.mean.iter_mut().zip(&mut self.max).enumerate() {
            let seconds = self.seconds[cell % self.columns];
            *mean /= seconds.max(0.001);
            *max = (*max * 1000.0 / BASE_MS as f32).max(*mean);
        }
        let mut gaps: Vec<Range<usize>> = Vec::new();
        for (at, seconds) in self.seconds.iter().enumerate() {
            match gaps.last_mut() {
                _ if *seconds > 0.0 => {}
                Some(gap) if gap.end == at => gap.end += 1,
                _ => gaps.push(at..at + 1),
            }
        }
        HeatMap {
            from_ms,
            column_ms,
            columns: self.columns,
            layer,
            bounds,
            mean: self.mean,
            max: self.max,
            estimated: self.estimated,
            gaps,
            seconds: self.seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Column, Region};
    use crate::column_time::ColumnTime;
    use crate::metric::Load;

    fn key(at: usize) -> Box<[u8]> {
        if at == 0 { Box::default() } else { format!("k{at:04}").as_bytes().into() }
    }

    /// Column of `buckets` buckets of which each has as many writes as its number.
    fn column(number: i64, buckets: usize) -> Column {
        let writes = |at: usize| Load::new([0, at as u64 * 10, 0, 0, 0, 0]);
        let region = Region {
            start: Box::default(),
            boundaries: (1..buckets).map(key).collect(),
            loads: (0..buckets).map(writes).collect(),
        };
        Column::of_regions(ColumnTime::exact(number * BASE_MS, (number + 1) * BASE_MS), &[region])
    }

    fn history(columns: impl IntoIterator<Item = i64>, buckets: usize) -> History {
        let mut history = History::default();
        for number in columns {
            history.push(&column(number, buckets));
        }
        history
    }

    fn draw(history: &History, query: &HeatQuery) -> HeatMap {
        let mut times = History::default();
        for column in history.columns(0, i64::MIN, i64::MAX) {
            times.push(&Column::of_time(ColumnTime::exact(column.from_ms, column.to_ms)));
        }
        HeatMap::new(history, &times, query)
    }

    #[test]
    fn time_without_load_is_not_gap() {
        let mut times = History::default();
        for at in 0..6 {
            times.push(&Column::of_time(ColumnTime::exact(at * BASE_MS, (at + 1) * BASE_MS)));
        }
        let map = HeatMap::new(&history([0, 5], 2), &times, &query(0, 6));
        assert!(map.gaps.is_empty());
        assert_eq!(map.mean[6..], [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    fn query(from: i64, to: i64) -> HeatQuery {
        HeatQuery {
            from_ms: from * BASE_MS,
            to_ms: to * BASE_MS,
            metric: Metric::Writes,
            start: Box::default(),
            end: None,
            max_rows: 256,
            max_columns: 256,
        }
    }

    #[test]
    fn cells_are_amounts_per_second() {
        let map = draw(&history(0..6, 4), &query(0, 6));
        assert_eq!((map.columns, map.bounds.len(), map.column_ms), (6, 4, BASE_MS));
        for row in 0..4_u8 {
            for column in 0..6 {
                let cell = usize::from(row) * 6 + column;
                assert_eq!((map.mean[cell], map.max[cell]), (f32::from(row), f32::from(row)));
            }
        }
        assert!(map.gaps.is_empty() && map.estimated.is_empty());
    }

    #[test]
    fn missing_time_is_gap() {
        let map = draw(&history([0, 1, 5], 2), &query(0, 8));
        assert_eq!(map.gaps, [2..5, 6..8]);
        assert_eq!(map.seconds, [10.0, 10.0, 0.0, 0.0, 0.0, 10.0, 0.0, 0.0]);
        assert_eq!(map.mean[8..], [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn part_of_keys_has_only_their_load() {
        let part = HeatQuery { start: key(3), end: Some(key(6)), ..query(0, 2) };
        let map = draw(&history(0..2, 10), &part);
        assert_eq!(map.bounds, [key(3), key(4), key(5)]);
        assert_eq!(map.mean, [3.0, 3.0, 4.0, 4.0, 5.0, 5.0]);
    }

    #[test]
    fn fewer_rows_and_columns_keep_sums_and_peaks() {
        let small = HeatQuery { max_rows: 5, max_columns: 3, ..query(0, 6) };
        let map = draw(&history(0..6, 20), &small);
        assert_eq!((map.bounds.len(), map.columns, map.column_ms), (5, 3, 2 * BASE_MS));
        let total: f32 = map.mean.iter().step_by(3).sum();
        assert!((total - 190.0).abs() < 0.01, "{total}");
        assert_eq!((map.mean[0], map.max[0]), (6.0, 6.0));
    }

    #[test]
    fn old_column_of_fewer_buckets_is_estimated() {
        let mut history = history(0..1, 1);
        let region = Region { loads: vec![Load::new([0, 80, 0, 0, 0, 0])], ..Region::default() };
        history.push(&Column::of_regions(ColumnTime::exact(BASE_MS, 2 * BASE_MS), &[region]));
        history.push(&column(2, 4));
        let map = draw(&history, &query(0, 3));
        assert_eq!(map.mean.iter().skip(1).step_by(3).copied().collect::<Vec<_>>(), [2.0; 4]);
        assert!(map.estimated[1] && !map.estimated[2]);
    }

    #[test]
    fn spike_of_a_minute_is_seen_at_five_weeks() {
        let (mut history, mut times) = (History::default(), History::default());
        let last = 35 * 24 * 360_i64;
        for number in 0..last {
            let amount = if (9000..9006).contains(&number) { 50_000 } else { 100 };
            let loads = vec![Load::new([0, amount, 0, 0, 0, 0])];
            let (from_ms, to_ms) = (number * BASE_MS, (number + 1) * BASE_MS);
            let region = Region { loads, ..Region::default() };
            history.push(&Column::of_regions(ColumnTime::exact(from_ms, to_ms), &[region]));
            times.push(&Column::of_time(ColumnTime::exact(from_ms, to_ms)));
        }
        let map = HeatMap::new(&history, &times, &query(0, last));
        assert!(map.columns <= 256 && map.layer == 5, "{} {}", map.columns, map.layer);
        let brightest = map.max.iter().copied().fold(0.0, f32::max);
        assert!((brightest - 5000.0).abs() < 0.01, "{brightest}");
        assert_eq!(map.max.iter().filter(|max| **max > 4999.0).count(), 1);
        assert!(map.mean.iter().all(|mean| *mean < 300.0));
    }

    #[test]
    fn sum_of_salts_has_load_of_all() {
        let part = |bounds: &[usize], writes: u16| HeatMap {
            columns: 2,
            column_ms: BASE_MS,
            bounds: bounds.iter().map(|at| key(*at)).collect(),
            mean: vec![f32::from(writes); bounds.len() * 2],
            max: vec![f32::from(writes); bounds.len() * 2],
            gaps: std::iter::once(0..1).collect(),
            ..HeatMap::default()
        };
        let sum = HeatMap::sum(&[part(&[0, 4], 6), part(&[0, 2], 8)], 100);
        assert_eq!(sum.bounds, [key(0), key(2), key(4)]);
        assert_eq!(sum.mean, [11.0, 11.0, 7.0, 7.0, 10.0, 10.0]);
        assert_eq!((sum.mean.iter().sum::<f32>(), sum.gaps.len()), (56.0, 1));
        assert!(sum.estimated.iter().all(|is_estimated| *is_estimated));
        assert_eq!(HeatMap::sum(&[], 9), HeatMap::default());
    }

    #[test]
    fn regrouped_map_has_same_sums() {
        let map = draw(&history(0..3, 4), &query(0, 3));
        let shares = [
            RowShares { rows: vec![(0, 1.0)], is_estimated: false },
            RowShares { rows: vec![(1, 1.0)], is_estimated: false },
            RowShares { rows: vec![(0, 0.25), (1, 0.75)], is_estimated: true },
            RowShares { rows: vec![(0, 1.0)], is_estimated: false },
        ];
        let grouped = map.regrouped(2, &shares);
        assert_eq!(grouped.mean, [3.5, 3.5, 3.5, 2.5, 2.5, 2.5]);
        assert_eq!(grouped.estimated, [true; 6]);
        let sum = |map: &HeatMap| map.mean.iter().step_by(3).sum::<f32>();
        assert!((sum(&map) - sum(&grouped)).abs() < 1e-6);
    }

    #[test]
    fn absurd_queries_are_bounded() {
        let history = history(0..6, 4);
        for (from_ms, to_ms) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, 0), (-1, 1)] {
            for (max_rows, max_columns) in [(0, 0), (usize::MAX, usize::MAX)] {
                let absurd = HeatQuery { from_ms, to_ms, max_rows, max_columns, ..query(0, 1) };
                let map = draw(&history, &absurd);
                assert!(map.columns <= MAX_COLUMNS && map.bounds.len() <= MAX_BUCKETS);
                assert_eq!(map.mean.len(), map.columns * map.bounds.len());
            }
        }
    }
}
