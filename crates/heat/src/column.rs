//! Load of a table by key in one span of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::column_time::ColumnTime;
use crate::metric::{Load, Metric};

/// Buckets of keys: the first row of each, in rising order. The first bucket begins with the empty
/// row, and the last one has no end.
pub type Bounds = Arc<[Box<[u8]>]>;

/// Maximum number of buckets of a column.
pub const MAX_BUCKETS: usize = 1024;

/// Bytes of a bound; longer ones are cut, so that those of a column have at most 1 MB.
pub(crate) const MAX_BOUND_BYTES: usize = 1024;

/// Load of each bucket of keys in one span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Beginning, in milliseconds since 1970.
    pub from_ms: i64,
    /// End, in milliseconds since 1970, exclusive.
    pub to_ms: i64,
    /// Buckets.
    pub bounds: Bounds,
    /// Load of each bucket in the whole span.
    pub loads: Vec<Load>,
    /// The largest load of each bucket in any 10 seconds of the span: what a mean would hide. At
    /// most, where buckets have been merged.
    pub peaks: Vec<Load>,
    /// The largest load of all buckets together in any 10 seconds of the span.
    pub total_peak: Load,
}

/// Region with its load, for [`Column::of_regions`].
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// First row; empty for the first region.
    pub start: Box<[u8]>,
    /// First rows of its sub-ranges but the first, in rising order, within the region.
    pub boundaries: Vec<Box<[u8]>>,
    /// Load of each sub-range, one more than `boundaries`.
    pub loads: Vec<Load>,
}

impl Column {
    /// Returns the column of the regions of a table, in key order. Adjacent sub-ranges, and then
    /// adjacent regions, share a bucket if there are more than 1,024.
    #[must_use]
    pub fn of_regions(time: ColumnTime, regions: &[Region]) -> Self {
        let per_region = (MAX_BUCKETS / regions.len().max(1)).max(1);
        let regions_per_bucket = regions.len().div_ceil(MAX_BUCKETS).max(1);
        let (mut bounds, mut loads) = (Vec::<Box<[u8]>>::new(), Vec::<Load>::new());
        for (at, region) in regions.iter().enumerate() {
            let per_bucket = region.loads.len().div_ceil(per_region).max(1);
            for (part, load) in region.loads.iter().enumerate() {
                let begins = part % per_bucket == 0 && at % regions_per_bucket == 0;
                if !begins && let Some(last) = loads.last_mut() {
                    *last += *load;
                    continue;
                }
                let start = if part == 0 { &region.start } else { &region.boundaries[part - 1] };
                let start: Box<[u8]> = start[..start.len().min(MAX_BOUND_BYTES)].into();
                let start = &start;
                // A boundary may lie before its region after a change of boundaries; the order
                // matters more than the one column.
                match bounds.last() {
                    Some(last) if last >= start => {
                        if let Some(last) = loads.last_mut() {
                            *last += *load;
                        }
                    }
                    _ => {
                        bounds.push(if bounds.is_empty() { Box::default() } else { start.clone() });
                        loads.push(*load);
                    }
                }
            }
        }
        if bounds.is_empty() {
            (bounds, loads) = (vec![Box::default()], vec![Load::default()]);
        }
        let ColumnTime { from_ms, to_ms, recorded_ms } = time;
        // Loads may be those of a longer time, after a pause of the process: the peaks stay loads
        // of 10 seconds. Moments change nothing, since equal peaks take no bytes.
        let is_longer = recorded_ms > BASE_MS + BASE_MS / 50;
        let scaled = |load: &Load| load.scaled(BASE_MS.unsigned_abs(), recorded_ms.unsigned_abs());
        let peak = |load: &Load| if is_longer { scaled(load) } else { *load };
        let peaks: Vec<Load> = loads.iter().map(peak).collect();
        let total = loads.iter().fold(Load::default(), |sum, load| sum + *load);
        let total_peak = peak(&total);
        Self { from_ms, to_ms, bounds: bounds.into(), loads, peaks, total_peak }
    }

    /// Returns the column that says that loads were recorded in a span of time: its reads are the
    /// recorded milliseconds, so that longer columns have the time without gaps.
    #[must_use]
    pub fn of_time(time: ColumnTime) -> Self {
        let mut load = Load::default();
        load.add(Metric::Reads, u64::try_from(time.recorded_ms).unwrap_or(0));
        let region = Region { loads: vec![load], ..Region::default() };
        Self::of_regions(time, &[region])
    }

    /// Returns the number of buckets.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.bounds.len()
    }

    /// Returns the load of all buckets.
    #[must_use]
    pub fn total(&self) -> Load {
        self.loads.iter().fold(Load::default(), |sum, load| sum + *load)
    }

    /// Returns this column with other buckets. The load of a bucket that is divided is distributed
    /// evenly over its parts, which is an estimate.
    #[must_use]
    pub fn with_bounds(&self, bounds: &Bounds) -> Self {
        if Arc::ptr_eq(bounds, &self.bounds) || *bounds == self.bounds {
            return Self { bounds: Arc::clone(bounds), ..self.clone() };
        }
        let mut loads = vec![Load::default(); bounds.len()];
        let mut peaks = loads.clone();
        for (at, part) in parts(&self.bounds, bounds).into_iter().enumerate() {
            let count = part.len() as u64;
            for (index, bucket) in part.enumerate() {
                loads[bucket] += self.loads[at].part(index as u64, count);
                // Parts of a bucket need not have had their peaks at one time: together they had at
                // most what all had.
                peaks[bucket] =
                    (peaks[bucket] + self.peaks[at].part(index as u64, count)).min(self.total_peak);
            }
        }
        Self {
            from_ms: self.from_ms,
            to_ms: self.to_ms,
            bounds: Arc::clone(bounds),
            loads,
            peaks,
            total_peak: self.total_peak,
        }
    }

    /// Returns this column with at most `most` buckets: neighbours that have the least load together
    /// are merged, one pair after the other, so that a hot row stays a bucket of its own.
    #[must_use]
    pub(crate) fn limited(self, most: usize) -> Self {
        let surplus = self.buckets().saturating_sub(most.max(1));
        if surplus == 0 {
            return self;
        }
        let is_first = without_least_loaded(&self.loads, surplus);
        let kept = self.bounds.iter().zip(is_first).filter(|(_, is_first)| *is_first);
        let bounds: Vec<Box<[u8]>> = kept.map(|(bound, _)| bound.clone()).collect();
        self.with_bounds(&bounds.into())
    }

    /// Adds a later column with the same buckets.
    ///
    /// # Panics
    /// If the buckets differ in number.
    pub fn append(&mut self, later: &Self) {
        assert_eq!(self.buckets(), later.buckets(), "both have the same buckets");
        self.from_ms = self.from_ms.min(later.from_ms);
        self.to_ms = self.to_ms.max(later.to_ms);
        for (own, load) in self.loads.iter_mut().zip(&later.loads) {
            *own += *load;
        }
        for (own, peak) in self.peaks.iter_mut().zip(&later.peaks) {
            *own = own.max(*peak);
        }
        self.total_peak = self.total_peak.max(later.total_peak);
    }
}

/// Latest time of a column or a query, in milliseconds: sums of two times do not overflow.
pub(crate) const MAX_TIME_MS: i64 = 1 << 60;

/// Span of the shortest columns, in milliseconds.
pub const BASE_MS: i64 = 10_000;

/// Returns the new buckets that each of the old ones overlaps; at least one each.
pub(crate) fn parts(old: &[Box<[u8]>], new: &[Box<[u8]>]) -> Vec<std::ops::Range<usize>> {
    let mut first = 0;
    let mut result = Vec::with_capacity(old.len());
    for (at, start) in old.iter().enumerate() {
        // The last new bucket that begins at or before the start of the old one.
        while first + 1 < new.len() && new[first + 1] <= *start {
            first += 1;
        }
        let mut end = first + 1;
        while end < new.len() && old.get(at + 1).is_none_or(|next| new[end] < *next) {
            end += 1;
        }
        result.push(first..end);
    }
    result
}

/// Merges neighbours that have the least load together as often as `merges` says. Returns for each
/// bucket whether one still begins with it.
fn without_least_loaded(loads: &[Load], merges: usize) -> Vec<bool> {
    let mut amounts: Vec<u64> = loads.iter().map(Load::requests).collect();
    let (mut before, mut after): (Vec<usize>, Vec<usize>) =
        (0..loads.len()).map(|at| (at.wrapping_sub(1), at + 1)).unzip();
    let mut is_first = vec![true; loads.len()];
    // Pairs by the place of the second one. Those whose load has grown since are no longer valid.
    let mut pairs: BinaryHeap<Reverse<(u64, usize)>> = (1..loads.len())
        .map(|at| Reverse((amounts[at - 1].saturating_add(amounts[at]), at)))
        .collect();
    let mut left = merges;
    while left > 0
        && let Some(Reverse((sum, second))) = pairs.pop()
    {
        let first = before[second];
        if !is_first[second] || amounts[first].saturating_add(amounts[second]) != sum {
            continue;
        }
        (is_first[second], amounts[first], after[first]) = (false, sum, after[second]);
        if let Some(next) = before.get_mut(after[second]) {
            *next = first;
            pairs.push(Reverse((sum.saturating_add(amounts[after[second]]), after[second])));
        }
        if first > 0 {
            pairs.push(Reverse((amounts[before[first]].saturating_add(sum), first)));
        }
        left -= 1;
    }
    is_first
}

/// Returns the buckets of both.
#[must_use]
pub(crate) fn union(one: &Bounds, other: &Bounds) -> Bounds {
    if Arc::ptr_eq(one, other) || one == other {
        return Arc::clone(one);
    }
    let mut all: Vec<Box<[u8]>> = Vec::with_capacity(one.len() + other.len());
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let Some(next) = match (ones.peek(), others.peek()) {
        (Some(a), Some(b)) if a == b => {
            ones.next();
            others.next()
        }
        (Some(a), Some(b)) if a < b => ones.next(),
        (Some(_), None) => ones.next(),
        _ => others.next(),
    } {
        all.push(next.clone());
    }
    all.into()
}

/// Returns at most `most` bounds, evenly chosen, with the first one.
pub(crate) fn thinned(bounds: Vec<Box<[u8]>>, most: usize) -> Vec<Box<[u8]>> {
    let count = bounds.len();
    if count <= most {
        return bounds;
    }
    let of_slot = |at: usize| at * most / count;
    let begins_slot = |at: usize| at == 0 || of_slot(at) != of_slot(at - 1);
    bounds
        .into_iter()
        .enumerate()
        .filter(|(at, _)| begins_slot(*at))
        .map(|(_, bound)| bound)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(text: &str) -> Bounds {
        text.split(',').map(|bound| bound.as_bytes().into()).collect::<Vec<Box<[u8]>>>().into()
    }

    fn reads(counts: &[u64]) -> Vec<Load> {
        counts.iter().map(|&count| Load::new([count, 0, 0, 0, 0, 0])).collect()
    }

    fn column(from_ms: i64, text: &str, counts: &[u64]) -> Column {
        let loads = reads(counts);
        let to_ms = from_ms + BASE_MS;
        let total_peak = loads.iter().fold(Load::default(), |sum, load| sum + *load);
        Column { from_ms, to_ms, bounds: bounds(text), peaks: loads.clone(), loads, total_peak }
    }

    #[test]
    fn column_of_regions_has_their_sub_ranges() {
        let region = |start: &str, boundaries: &[&str], counts: &[u64]| Region {
            start: start.as_bytes().into(),
            boundaries: boundaries.iter().map(|boundary| boundary.as_bytes().into()).collect(),
            loads: reads(counts),
        };
        let regions = [region("", &["b"], &[1, 2]), region("m", &["p", "t"], &[3, 4, 5])];
        let column = Column::of_regions(ColumnTime::exact(0, BASE_MS), &regions);
        assert_eq!(column.bounds, bounds(",b,m,p,t"));
        assert_eq!(column.loads, reads(&[1, 2, 3, 4, 5]));
        assert_eq!(Column::of_regions(ColumnTime::exact(0, BASE_MS), &[]).buckets(), 1);
    }

    #[test]
    fn column_of_many_regions_is_bounded() {
        for count in [1000_u32, 1025, 5000, 100_000] {
            let region = |number: u32| Region {
                start: if number == 0 { Box::default() } else { number.to_be_bytes().into() },
                boundaries: vec![[number.to_be_bytes().as_slice(), &[9]].concat().into()],
                loads: reads(&[1, 2]),
            };
            let regions: Vec<Region> = (0..count).map(region).collect();
            let column = Column::of_regions(ColumnTime::exact(0, BASE_MS), &regions);
            assert!(column.buckets() <= MAX_BUCKETS, "{count}: {}", column.buckets());
            assert!(column.buckets() > MAX_BUCKETS / 4, "{count}: {}", column.buckets());
            assert_eq!(column.total().get(Metric::Reads), u64::from(count) * 3);
            assert!(column.bounds.is_sorted_by(|one, next| one < next));
        }
    }

    #[test]
    fn buckets_are_divided_and_merged() {
        let column = column(0, ",d,m", &[8, 6, 5]);
        let finer = column.with_bounds(&bounds(",b,c,d,m,x"));
        assert_eq!(finer.loads, reads(&[3, 3, 2, 6, 3, 2]));
        let coarser = column.with_bounds(&bounds(",m"));
        assert_eq!((&coarser.loads, &coarser.peaks), (&reads(&[14, 5]), &reads(&[14, 5])));
        let shifted = column.with_bounds(&bounds(",f"));
        assert_eq!(shifted.loads, reads(&[8 + 3, 3 + 5]));
        assert_eq!(finer.total(), column.total());
    }

    #[test]
    fn peak_of_longer_column_is_its_largest_10_seconds() {
        let mut all = column(0, ",d", &[6, 0]);
        for at in 1..6 {
            all.append(&column(at * BASE_MS, ",d", &[0, if at == 3 { 600 } else { 1 }]));
        }
        assert_eq!((all.from_ms, all.to_ms), (0, 6 * BASE_MS));
        assert_eq!((&all.loads, &all.peaks), (&reads(&[6, 604]), &reads(&[6, 600])));
        let merged = all.with_bounds(&bounds(""));
        assert_eq!((&merged.loads, &merged.peaks), (&reads(&[610]), &reads(&[600])));
    }

    #[test]
    fn peaks_of_merged_buckets_are_those_of_one_time() {
        let mut all = column(0, ",d", &[600, 0]);
        all.append(&column(BASE_MS, ",d", &[0, 600]));
        let merged = all.with_bounds(&bounds(""));
        assert_eq!((&merged.loads, &merged.peaks), (&reads(&[1200]), &reads(&[600])));
    }

    #[test]
    fn union_has_all_bounds() {
        assert_eq!(union(&bounds(",b,d"), &bounds(",a,b,z")), bounds(",a,b,d,z"));
        let one = bounds(",b");
        assert!(Arc::ptr_eq(&union(&one, &bounds(",b")), &one));
    }

    #[test]
    fn limited_column_merges_buckets_with_least_load() {
        let limited = column(0, ",b,c,d,x,y", &[1, 2, 900, 3, 1, 1]).limited(4);
        assert_eq!((limited.bounds, limited.loads), (bounds(",c,d,x"), reads(&[3, 900, 3, 2])));
        let equal = column(0, ",a,b,c,d,e,f,g", &[2; 8]).limited(4);
        assert_eq!((equal.bounds, equal.loads), (bounds(",b,d,f"), reads(&[4; 4])));
        let whole = column(0, ",b", &[1, 2]);
        assert_eq!(whole.clone().limited(2), whole);
        assert_eq!(whole.limited(1).loads, reads(&[3]));
    }
}
