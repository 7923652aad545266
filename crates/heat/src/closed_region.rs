//! Load of regions that were closed since the last column, by a split, a merge or the disabling of
//! their table: it belongs to the column, in the regions that have their keys at its end.
//!
//! ```text
//! closed        |....a....|....b....|       sub-ranges
//! regions       |       low      |high|     a and a part of b are in low
//! ```
//!
//! Counts of a sub-range that a new boundary divides are divided evenly, as for all boundaries that
//! change; rows, prefixes and sampled keys go where they are.

use crate::activity::RegionActivity;
use crate::column::{parts, thinned};
use crate::key_sample::SampledKey;
use crate::metric::Load;
use crate::prefixes::FrequentPrefixes;
use crate::recorder::RegionColumn;
use crate::space_saving::FrequentRow;

/// Parts of a region that the load of closed ones may divide it into.
const MAX_PARTS: usize = 256;

/// What was recorded in a region between the last column and the end of the region.
#[derive(Clone, Debug, Default)]
pub struct ClosedRegion {
    /// First row; empty for the first region.
    pub start: Box<[u8]>,
    /// End, exclusive; empty for the last region.
    pub end: Box<[u8]>,
    /// Exact load.
    pub load: Load,
    /// Recorded details.
    pub column: RegionColumn,
}

/// Adds the load of closed regions to the open regions of their table, which are in key order. The
/// closed ones take their place in a table without open regions.
pub fn add_closed(regions: &mut Vec<RegionActivity>, mut closed: Vec<ClosedRegion>) {
    if !regions.is_empty() {
        return closed.into_iter().for_each(|closed| add_region(regions, closed));
    }
    closed.sort_by(|one, other| one.start.cmp(&other.start));
    regions.extend(closed.into_iter().map(|closed| RegionActivity {
        start: closed.start,
        load: closed.load,
        column: closed.column,
    }));
}

fn add_region(all: &mut [RegionActivity], closed: ClosedRegion) {
    let first = region_of(all, &closed.start);
    let behind = match &*closed.end {
        [] => all.len(),
        end => all.partition_point(|region| *region.start < *end).max(first + 1),
    };
    // A load of nothing behind the region keeps its last sub-range from reaching farther.
    let ends_inside =
        !closed.end.is_empty() && all.get(behind).is_none_or(|next| closed.end < next.start);
    let regions = &mut all[first..behind];
    let mut loads = Loads::of(&closed.start, &closed.column.boundaries, &closed.column.loads);
    if closed.column.loads.is_empty() {
        loads = Loads::of(&closed.start, &[], &[closed.load]);
    }
    if ends_inside {
        loads.bounds.push(closed.end);
        loads.loads.push(Load::default());
    }
    let later = regions[1..].iter().map(|region| region.start.clone());
    let starts: Vec<Box<[u8]>> = std::iter::once(closed.start).chain(later).collect();
    let loads = loads.divided_at(&starts);
    for (at, own) in loads.by_region(regions).into_iter().enumerate() {
        add_loads(&mut regions[at], &own);
    }
    add_rows(regions, closed.column);
}

/// Returns the index of the region that has a row.
fn region_of(regions: &[RegionActivity], row: &[u8]) -> usize {
    regions.partition_point(|region| *region.start <= *row).saturating_sub(1)
}

/// Loads of ranges of keys, of which each reaches to the next.
#[derive(Default)]
struct Loads {
    bounds: Vec<Box<[u8]>>,
    loads: Vec<Load>,
}

impl Loads {
    fn of(start: &[u8], boundaries: &[Box<[u8]>], loads: &[Load]) -> Self {
        let bounds = std::iter::once(start.into()).chain(boundaries.iter().cloned()).collect();
        Self { bounds, loads: loads.to_vec() }
    }

    /// Returns the loads with these bounds too, which are not before the first one.
    fn divided_at(&self, bounds: &[Box<[u8]>]) -> Self {
        let mut all = [&self.bounds, bounds].concat();
        all.sort();
        all.dedup();
        self.with_bounds(all)
    }

    fn with_bounds(&self, bounds: Vec<Box<[u8]>>) -> Self {
        let mut loads = vec![Load::default(); bounds.len()];
        for (load, part) in self.loads.iter().zip(parts(&self.bounds, &bounds)) {
            let count = part.len() as u64;
            for (index, range) in part.enumerate() {
                loads[range] += load.part(index as u64, count);
            }
        }
        Self { bounds, loads }
    }

    /// Returns the loads in each region.
    fn by_region(self, regions: &[RegionActivity]) -> Vec<Self> {
        let mut parts: Vec<Self> = regions.iter().map(|_| Self::default()).collect();
        for (bound, load) in self.bounds.into_iter().zip(self.loads) {
            let part = &mut parts[region_of(regions, &bound)];
            part.bounds.push(bound);
            part.loads.push(load);
        }
        parts
    }

    fn sum(&self) -> Load {
        self.loads.iter().fold(Load::default(), |sum, load| sum + *load)
    }
}

/// Adds loads inside of a region to it.
fn add_loads(region: &mut RegionActivity, loads: &Loads) {
    let sum = loads.sum();
    if sum.is_zero() {
        return;
    }
    let RegionColumn { boundaries, loads: own, .. } = &region.column;
    let whole = [region.load];
    let own = Loads::of(&region.start, boundaries, if own.is_empty() { &whole } else { own });
    let mut bounds = [&own.bounds[..], &loads.bounds].concat();
    bounds.sort();
    bounds.dedup();
    let bounds = thinned(bounds, MAX_PARTS);
    let (own, loads) = (own.with_bounds(bounds.clone()), loads.with_bounds(bounds));
    region.load += sum;
    region.column.boundaries = own.bounds[1..].to_vec();
    region.column.loads =
        own.loads.iter().zip(&loads.loads).map(|(one, other)| *one + *other).collect();
}

/// Adds frequent rows, prefixes and sampled keys to the regions that have them.
fn add_rows(regions: &mut [RegionActivity], closed: RegionColumn) {
    let mut parts: Vec<RegionColumn> = regions.iter().map(|_| RegionColumn::default()).collect();
    for row in closed.top_rows {
        parts[region_of(regions, &row.row)].top_rows.push(row);
    }
    for key in closed.sample {
        parts[region_of(regions, &key.row)].sample.push(key);
    }
    for FrequentPrefixes { level, top, missed } in closed.prefixes {
        for part in &mut parts {
            part.prefixes.push(FrequentPrefixes { level, top: Vec::new(), missed });
        }
        for prefix in top {
            let part = &mut parts[region_of(regions, &prefix.row)];
            part.prefixes.last_mut().expect("one was added to each").top.push(prefix);
        }
    }
    for (region, mut part) in regions.iter_mut().zip(parts) {
        let own = &mut region.column;
        add_counts(
            (&mut own.top_rows, &mut own.missed_weight),
            (part.top_rows, closed.missed_weight),
        );
        part.prefixes.into_iter().for_each(|prefixes| add_prefixes(&mut own.prefixes, prefixes));
        add_sample(&mut own.sample, &mut part.sample);
    }
}

fn add_prefixes(own: &mut Vec<FrequentPrefixes>, other: FrequentPrefixes) {
    match own.iter_mut().find(|prefixes| prefixes.level == other.level) {
        Some(own) => add_counts((&mut own.top, &mut own.missed), (other.top, other.missed)),
        None if other.top.is_empty() => {}
        None => own.push(other),
    }
}

/// Adds the counts of other operations on the same keys: a row that one side does not list has at
/// most what that side has missed.
fn add_counts(
    (own, missed): (&mut Vec<FrequentRow>, &mut u64),
    (other, other_missed): (Vec<FrequentRow>, u64),
) {
    let add = |row: &mut FrequentRow, count: u64, error: u64| {
        row.count = row.count.saturating_add(count);
        row.error = row.error.saturating_add(error);
    };
    for row in own.iter_mut().filter(|row| !other.iter().any(|other| other.row == row.row)) {
        add(row, other_missed, other_missed);
    }
    for mut other in other {
        if let Some(row) = own.iter_mut().find(|row| row.row == other.row) {
            add(row, other.count, other.error);
            row.writes = row.writes.saturating_add(other.writes);
            row.bytes = row.bytes.saturating_add(other.bytes);
        } else {
            add(&mut other, *missed, *missed);
            own.push(other);
        }
    }
    *missed = missed.saturating_add(other_missed);
    own.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.row.cmp(&other.row)));
}

/// Puts the sample of a closed region, which is older, before that of an open one.
fn add_sample(own: &mut Vec<SampledKey>, closed: &mut Vec<SampledKey>) {
    let seen = closed.last().map_or(0, |key| key.arrival.saturating_add(1));
    own.iter_mut().for_each(|key| key.arrival = key.arrival.saturating_add(seen));
    closed.append(own);
    std::mem::swap(own, closed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;
    use crate::prefixes::PrefixLevel;

    fn reads(count: u64) -> Load {
        Load::new([count, 0, 0, 0, 0, 0])
    }

    fn open(start: &str, count: u64) -> RegionActivity {
        let column = RegionColumn { loads: vec![reads(count)], ..RegionColumn::default() };
        RegionActivity { start: start.as_bytes().into(), load: reads(count), column }
    }

    fn closed(start: &str, end: &str, boundaries: &[&str], counts: &[u64]) -> ClosedRegion {
        let loads: Vec<Load> = counts.iter().map(|count| reads(*count)).collect();
        let boundaries = boundaries.iter().map(|bound| bound.as_bytes().into()).collect();
        ClosedRegion {
            start: start.as_bytes().into(),
            end: end.as_bytes().into(),
            load: reads(counts.iter().sum()),
            column: RegionColumn { boundaries, loads, ..RegionColumn::default() },
        }
    }

    /// Reads of each region, and of each of its parts with their first rows.
    fn shown(regions: &[RegionActivity]) -> Vec<String> {
        let of_region = |region: &RegionActivity| {
            let bounds = std::iter::once(&region.start).chain(&region.column.boundaries);
            let parts = bounds.zip(&region.column.loads).map(|(bound, load)| {
                format!("{}={}", String::from_utf8_lossy(bound), load.get(Metric::Reads))
            });
            let parts: Vec<String> = parts.collect();
            format!("{}: {}", region.load.get(Metric::Reads), parts.join(" "))
        };
        regions.iter().map(of_region).collect()
    }

    #[test]
    fn load_before_a_split_is_in_both_sides_of_it() {
        let mut regions = vec![open("", 0), open("g", 4), open("m", 1), open("t", 9)];
        add_closed(&mut regions, vec![closed("g", "t", &["k", "p"], &[10, 20, 30])]);
        // The own 4 of the first side are spread over its parts, as is what the border divides.
        assert_eq!(shown(&regions), ["0: =0", "24: g=12 k=12", "41: m=11 p=30", "9: t=9"]);
    }

    #[test]
    fn loads_before_a_merge_keep_their_keys() {
        let mut regions = vec![open("", 3), open("t", 0)];
        let merged = vec![closed("", "g", &["c"], &[10, 20]), closed("g", "t", &[], &[50])];
        add_closed(&mut regions, merged);
        let expected = ["83: =11 c=21 g=51", "0: t=0"];
        assert_eq!(shown(&regions), expected);
    }

    #[test]
    fn table_without_open_regions_has_the_closed_ones() {
        let mut regions = Vec::new();
        add_closed(&mut regions, vec![closed("m", "", &[], &[5]), closed("", "m", &[], &[2])]);
        assert_eq!(shown(&regions), ["2: =2", "5: m=5"]);
    }

    #[test]
    fn rows_and_keys_go_where_they_are_with_their_bounds() {
        let row = |row: &str, count, error| FrequentRow {
            row: row.as_bytes().to_vec(),
            count,
            error,
            writes: 0,
            bytes: count,
        };
        let key = |row: &str, arrival| SampledKey {
            row: row.as_bytes().to_vec(),
            arrival,
            ..SampledKey::default()
        };
        let mut regions = vec![open("", 1), open("m", 1)];
        let own = &mut regions[1].column;
        (own.top_rows, own.missed_weight) = (vec![row("n", 7, 1), row("q", 5, 0)], 2);
        own.sample = vec![key("n", 0)];
        let mut gone = closed("", "", &[], &[100]);
        let column = &mut gone.column;
        (column.top_rows, column.missed_weight) = (vec![row("a", 50, 0), row("n", 30, 3)], 4);
        column.sample = vec![key("a", 2), key("n", 5)];
        let level = PrefixLevel::Bytes(1);
        column.prefixes = vec![FrequentPrefixes { level, top: vec![row("n", 30, 0)], missed: 0 }];
        add_closed(&mut regions, vec![gone]);
        let [low, high] = &regions[..] else { panic!("two regions") };
        assert_eq!(
            (&low.column.top_rows[..], low.column.missed_weight),
            (&[row("a", 50, 0)][..], 4)
        );
        // A row of one side may have been missed on the other.
        let both = [row("n", 37, 4), FrequentRow { bytes: 5, ..row("q", 9, 4) }];
        assert_eq!((&high.column.top_rows[..], high.column.missed_weight), (&both[..], 6));
        assert_eq!(high.column.sample, [key("n", 5), key("n", 6)]);
        assert!(low.column.prefixes.is_empty());
        assert_eq!(high.column.prefixes[0].top, [row("n", 30, 0)]);
        assert_eq!(low.load + high.load, reads(102));
    }
}
