//! Ends of regions to which a scan comes, for its progress.

use std::ops::Bound;

use halite_types::{Bytes, RegionInfo, RowRange};

use super::spec::ScanSpec;

/// Ranges of a plan that are counted.
const MAX_RANGES: usize = 4096;

impl ScanSpec {
    /// Returns how many times the scan comes to the end of its part of a region. `None` if it may
    /// end before, seeks its rows, or does not know its regions.
    pub(super) fn region_ends(&self) -> Option<u64> {
        let plan = &self.plan;
        let may_stop = plan.query().limit.is_some() || self.first_of.is_some();
        if may_stop || plan.is_skip_scan() || plan.is_points() || self.target.regions.is_empty() {
            return None;
        }
        if plan.ranges().nth(MAX_RANGES).is_some() {
            return None;
        }
        Some(plan.ranges().map(|range| ends(&self.target.regions, &range.range)).sum())
    }
}

/// Returns the number of regions that a range touches; they are in the order of their keys.
fn ends(regions: &[RegionInfo], range: &RowRange) -> u64 {
    let before = |key: &Bytes| regions.partition_point(|region| region.start < *key);
    let up_to = |key: &Bytes| regions.partition_point(|region| region.start <= *key);
    let first = match &range.start {
        Bound::Included(key) | Bound::Excluded(key) => up_to(key).saturating_sub(1),
        Bound::Unbounded => 0,
    };
    let end = match &range.end {
        Bound::Included(key) => up_to(key),
        Bound::Excluded(key) => before(key),
        Bound::Unbounded => regions.len(),
    };
    end.saturating_sub(first) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_of_a_range_are_those_that_it_touches() {
        let region = |start: &'static str, end: &'static str| RegionInfo {
            table: "t".parse().expect("a name"),
            start: Bytes::from_static(start.as_bytes()),
            end: Bytes::from_static(end.as_bytes()),
            region_id: 1,
            encoded_name: String::new(),
        };
        let regions = [region("", "d"), region("d", "m"), region("m", "")];
        let key = |text: &'static str| Bytes::from_static(text.as_bytes());
        for (start, end, expected) in [
            (Bound::Unbounded, Bound::Unbounded, 3),
            (Bound::Included(key("a")), Bound::Excluded(key("d")), 1),
            (Bound::Included(key("a")), Bound::Included(key("d")), 2),
            (Bound::Included(key("d")), Bound::Excluded(key("n")), 2),
            (Bound::Excluded(key("z")), Bound::Unbounded, 1),
        ] {
            let range = RowRange { start, end };
            assert_eq!(ends(&regions, &range), expected, "{range:?}");
        }
    }
}
