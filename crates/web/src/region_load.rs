//! Load inside of a region, and what a split would do to it.

use std::collections::BTreeMap;

use halite_heat::{HeatMap, HeatQuery, Metric, Shape};
use halite_types::{Bytes, RegionInfo, TableName};

use crate::extension::Extension;
use crate::statistics::round;

/// Time whose load counts, in milliseconds.
pub(crate) const SPAN_MS: i64 = 600_000;
/// Parts of a region.
const PARTS: usize = 64;
/// Share of the larger side of the best split from which a split divides nothing.
const INDIVISIBLE: f64 = 0.7;

/// Part of a region.
pub(crate) struct SubRange {
    pub(crate) start: Box<[u8]>,
    /// Share of the region's requests.
    pub(crate) load: f64,
}

/// Row of a region, with the share of the requests on the rows before it.
struct Point {
    row: Box<[u8]>,
    before: f64,
    /// `true` if the row itself was in the sample; `false` for the start of a sub-range.
    is_sampled: bool,
}

/// Where in a region its requests are.
pub(crate) struct InnerLoad {
    pub(crate) ranges: Vec<SubRange>,
    /// In rising order of rows.
    points: Vec<Point>,
    /// `true` if the new rows of the table rise with time.
    is_frontier: bool,
    start: Box<[u8]>,
}

/// What a split would do to the load.
pub(crate) struct HalfLoad {
    /// Row that divides the load as evenly as possible.
    pub(crate) row: Option<Bytes>,
    /// Shares of the load before it and from it on.
    pub(crate) parts: Option<[f64; 2]>,
    /// Reason why no split divides the load.
    pub(crate) indivisible: Option<String>,
}

impl InnerLoad {
    /// Returns where the requests of a region were in the last ten minutes; `None` if that is not
    /// recorded, or there were none. Blocks.
    pub(crate) fn of(
        extension: &dyn Extension,
        table: &TableName,
        region: &RegionInfo,
    ) -> Option<Self> {
        let to_ms = i64::try_from(extension.now_ms()).unwrap_or(i64::MAX);
        let span = (to_ms.saturating_sub(SPAN_MS), to_ms);
        let query = |metric| HeatQuery {
            from_ms: span.0,
            to_ms: span.1,
            metric,
            start: region.start.as_ref().into(),
            end: (!region.end.is_empty()).then(|| region.end.as_ref().into()),
            max_rows: PARTS,
            max_columns: 1,
        };
        let queries = [query(Metric::Reads), query(Metric::Writes)];
        let map = HeatMap::sum(&extension.heat_maps(table, &queries).ok()?, PARTS);
        let loads: Vec<f64> = map.mean.iter().map(|mean| f64::from(*mean)).collect();
        let total: f64 = loads.iter().sum();
        if total <= 0.0 || loads.len() != map.bounds.len() {
            return None;
        }
        let ranges = map.bounds.into_iter().zip(loads);
        let ranges = ranges.map(|(start, load)| SubRange { start, load: load / total }).collect();
        let shape = extension.diagnose_load(table, span).map(|finding| finding.shape);
        let mut rows: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
        for key in extension.sampled_keys(table, span).unwrap_or_default() {
            // An operation between two columns may have a weight of 0.
            if region.contains(&key.key.row) && key.weight > 0.0 {
                *rows.entry(key.key.row).or_default() += key.weight;
            }
        }
        let is_frontier = matches!(shape, Ok(Shape::Frontier));
        Some(Self::new(ranges, &rows, is_frontier, region.start.as_ref().into()))
    }

    /// `rows` are the sampled rows with their weights: they tell how the load of a sub-range is
    /// distributed in it.
    fn new(
        ranges: Vec<SubRange>,
        rows: &BTreeMap<Vec<u8>, f64>,
        is_frontier: bool,
        start: Box<[u8]>,
    ) -> Self {
        let mut points: Vec<Point> = Vec::new();
        let mut sum = 0.0;
        for (at, range) in ranges.iter().enumerate() {
            let end = ranges.get(at + 1).map(|next| &next.start);
            let inside = rows
                .range(range.start.to_vec()..)
                .take_while(|(row, _)| end.is_none_or(|end| ***row < **end));
            let inside: Vec<(&Vec<u8>, f64)> = inside.map(|(row, weight)| (row, *weight)).collect();
            let weight: f64 = inside.iter().map(|(_, weight)| weight).sum();
            if inside.first().is_none_or(|(row, _)| ***row != *range.start) {
                points.push(Point { row: range.start.clone(), before: sum, is_sampled: false });
            }
            let mut seen = 0.0;
            for (row, own) in inside {
                let before = sum + range.load * seen / weight;
                points.push(Point { row: row.as_slice().into(), before, is_sampled: true });
                seen += own;
            }
            sum += range.load;
        }
        Self { ranges, points, is_frontier, start }
    }

    /// Returns the shares of the load before a row and from it on.
    pub(crate) fn divided_at(&self, row: &[u8]) -> [f64; 2] {
        let next = self.points.partition_point(|point| *point.row < *row);
        let before = |at: usize| self.points.get(at).map_or(1.0, |point| point.before);
        let is_known = self.points.get(next).is_some_and(|point| *point.row == *row);
        let left = match next.checked_sub(1).and_then(|last| self.points.get(last)) {
            None => 0.0,
            // Half of a part of which no row is known.
            Some(last) if !is_known && !last.is_sampled => f64::midpoint(last.before, before(next)),
            Some(_) => before(next),
        };
        [round(left), round(1.0 - left)]
    }

    /// Returns the split that divides the load best. `policy` returns the split point for a row by
    /// the table's policy; `None` if there is none.
    pub(crate) fn half_load(&self, policy: impl Fn(&Bytes) -> Option<Bytes>) -> HalfLoad {
        let inside = self.points.iter().filter(|point| *point.row > *self.start);
        let distance = |point: &Point| (point.before - 0.5).abs();
        let best = inside.min_by(|one, other| distance(one).total_cmp(&distance(other)));
        let Some(best) = best else {
            let indivisible = Some("all of the load is on one row".to_owned());
            return HalfLoad { row: None, parts: None, indivisible };
        };
        let Some(row) = policy(&Bytes::copy_from_slice(&best.row)) else {
            let text = "the split policy of the table keeps the loaded rows together";
            return HalfLoad { row: None, parts: None, indivisible: Some(text.to_owned()) };
        };
        let parts = self.divided_at(&row);
        let indivisible = self.why_indivisible(parts);
        HalfLoad { row: Some(row), parts: Some(parts), indivisible }
    }

    fn why_indivisible(&self, parts: [f64; 2]) -> Option<String> {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        if parts[0].max(parts[1]) > INDIVISIBLE {
            let row = self.largest_row();
            if row > 0.5 {
                return Some(format!("one row has {} of the load", percent(row)));
            }
            let range = self.ranges.iter().map(|range| range.load).fold(0.0, f64::max);
            return Some(format!("one sub-range has {} of the load", percent(range)));
        }
        let text = "new rows rise with time: one of the parts takes all of them again";
        self.is_frontier.then(|| text.to_owned())
    }

    /// Returns the share of the most loaded row of the sample.
    fn largest_row(&self) -> f64 {
        let after = self.points.iter().skip(1).map(|point| point.before).chain([1.0]);
        let rows = self.points.iter().zip(after).filter(|(point, _)| point.is_sampled);
        rows.map(|(point, after)| after - point.before).fold(0.0, f64::max)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the shares are rounded")]
mod tests {
    use super::*;

    fn load(ranges: &[(&str, f64)], rows: &[(&str, f64)]) -> InnerLoad {
        let range =
            |&(start, load): &(&str, f64)| SubRange { start: start.as_bytes().into(), load };
        let rows = rows.iter().map(|(row, weight)| (row.as_bytes().to_vec(), *weight)).collect();
        InnerLoad::new(ranges.iter().map(range).collect(), &rows, false, Box::default())
    }

    #[test]
    fn even_load_is_halved_at_sub_range() {
        let even = load(&[("", 0.25), ("b", 0.25), ("c", 0.25), ("d", 0.25)], &[]);
        let half = even.half_load(|row| Some(row.clone()));
        assert_eq!((half.row.unwrap().as_ref(), half.parts), (&b"c"[..], Some([0.5, 0.5])));
        assert_eq!(half.indivisible, None);
        assert_eq!(even.divided_at(b"b5"), [0.375, 0.625]);
        assert_eq!((even.divided_at(b""), even.divided_at(b"d")), ([0.0, 1.0], [0.75, 0.25]));
    }

    #[test]
    fn sample_divides_loaded_sub_range() {
        let rows: Vec<(String, f64)> = (0..10).map(|at| (format!("b{at}"), 2.0)).collect();
        let rows: Vec<(&str, f64)> = rows.iter().map(|(row, load)| (row.as_str(), *load)).collect();
        let crowded = load(&[("", 0.1), ("b", 0.8), ("c", 0.1)], &rows);
        let half = crowded.half_load(|row| Some(row.clone()));
        assert_eq!((half.row.unwrap().as_ref(), half.parts), (&b"b5"[..], Some([0.5, 0.5])));
        assert_eq!(crowded.divided_at(b"b05"), [0.18, 0.82]);
        assert_eq!(half.indivisible, None);
    }

    #[test]
    fn loaded_row_cannot_be_divided() {
        let one = load(&[("", 0.1), ("b", 0.8), ("c", 0.1)], &[("b3", 97.0), ("b7", 3.0)]);
        let half = one.half_load(|row| Some(row.clone()));
        assert_eq!(half.indivisible.as_deref(), Some("one row has 78 % of the load"));
        let range =
            load(&[("", 0.1), ("b", 0.8), ("c", 0.1)], &[]).half_load(|row| Some(row.clone()));
        assert_eq!(range.indivisible.as_deref(), Some("one sub-range has 80 % of the load"));
        assert!(load(&[("", 1.0)], &[]).half_load(|row| Some(row.clone())).row.is_none());
    }

    #[test]
    fn rising_rows_and_policies_cannot_be_divided() {
        let mut rising = load(&[("", 0.5), ("b", 0.5)], &[]);
        assert!(rising.half_load(|_| None).indivisible.unwrap().contains("policy"));
        rising.is_frontier = true;
        let half = rising.half_load(|row| Some(row.clone()));
        assert!(half.row.is_some() && half.indivisible.unwrap().contains("rise with time"));
    }
}
