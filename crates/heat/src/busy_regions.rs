//! The most loaded regions of a column.

use crate::activity::RegionActivity;
use crate::column::MAX_BOUND_BYTES;
use crate::metric::Metric;

/// Regions of a column that are kept: two hot ones are both known if their order changes.
const MAX_REGIONS: usize = 4;

/// Region that is among the most loaded ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusyRegion {
    /// First row, or its first 1,024 bytes; empty for the first region.
    pub start: Box<[u8]>,
    /// First row after it, or its first 1,024 bytes; empty for the last region.
    pub end: Box<[u8]>,
    /// Exact load of the metric.
    pub amount: u64,
}

impl BusyRegion {
    /// Returns `true` if a row is in the region, as far as the bytes tell that are kept.
    pub(crate) fn contains(&self, row: &[u8]) -> bool {
        *row >= *self.start && (self.end.is_empty() || *row < *self.end)
    }
}

/// Returns the regions with the largest load, in falling order, of those of a table in key order.
pub(crate) fn busiest(regions: &[RegionActivity], metric: Metric) -> Vec<BusyRegion> {
    let mut places: Vec<(u64, usize)> = Vec::with_capacity(MAX_REGIONS + 1);
    for (at, region) in regions.iter().enumerate() {
        let amount = region.load.get(metric);
        let place = places.partition_point(|(other, _)| *other >= amount);
        if amount > 0 && place < MAX_REGIONS {
            places.insert(place, (amount, at));
            places.truncate(MAX_REGIONS);
        }
    }
    let cut = |row: &[u8]| row[..row.len().min(MAX_BOUND_BYTES)].into();
    let region = |(amount, at): (u64, usize)| BusyRegion {
        start: cut(&regions[at].start),
        end: regions.get(at + 1).map_or_else(Box::default, |next| cut(&next.start)),
        amount,
    };
    places.into_iter().map(region).collect()
}
