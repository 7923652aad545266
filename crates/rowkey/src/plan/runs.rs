//! Complete keys, read by scans that jump from one to the next.

use std::ops::Bound;
use std::sync::Arc;

use halite_types::{Bytes, RowRange};

use super::{KeyRange, Plan};

/// Keys of one scan, and their bytes: its filter lists them, and is sent with it.
const KEYS_PER_SCAN: usize = 10_000;
const BYTES_PER_SCAN: usize = 1 << 20;

impl Plan {
    /// Returns ranges of which the rows are those of the complete keys of the plan, for
    /// [`ScatterOptions::point_runs`](crate::ScatterOptions::point_runs): one of the keys in a
    /// region that have their salts and hashes in common, or several if they are over 10,000 or
    /// 1 MiB. The regions begin at `starts`, in order. `None` if the plan is not a list of complete
    /// keys.
    pub fn point_runs(&self, starts: &[Bytes]) -> Option<Vec<KeyRange>> {
        let mut points: Vec<&KeyRange> = self.ranges().collect();
        if points.is_empty() || points.iter().any(|range| range.point().is_none()) {
            return None;
        }
        points.sort_by(|a, b| a.point().cmp(&b.point()));
        let region_of = |key: &Bytes| starts.partition_point(|start| start <= key);
        let mut runs: Vec<(KeyRange, Vec<Bytes>, usize)> = Vec::new();
        let mut bytes = 0;
        for (range, key) in points.iter().filter_map(|range| Some((range, range.point()?))) {
            let region = region_of(key);
            match runs.last_mut() {
                Some((first, keys, of))
                    if *of == region
                        && keys.len() < KEYS_PER_SCAN
                        && bytes + key.len() <= BYTES_PER_SCAN
                        && first.fixed() == range.fixed()
                        && first.fixed_bytes() == range.fixed_bytes() =>
                {
                    keys.push(key.clone());
                    bytes += key.len();
                }
                _ => {
                    runs.push(((*range).clone(), vec![key.clone()], region));
                    bytes = key.len();
                }
            }
        }
        Some(runs.into_iter().map(|(first, keys, _)| first.run(keys)).collect())
    }
}

impl KeyRange {
    /// Returns the range of keys that have their salts and hashes in common with this one.
    fn run(mut self, keys: Vec<Bytes>) -> Self {
        let bound = |key: Option<&Bytes>| key.cloned().map_or(Bound::Unbounded, Bound::Included);
        self.range = RowRange { start: bound(keys.first()), end: bound(keys.last()) };
        self.points = Some(Arc::from(keys));
        self
    }

    /// Returns the first key of a run, or the only one of a range.
    pub fn first_point(&self) -> Option<&Bytes> {
        self.points.as_ref().map_or_else(|| self.point(), |keys| keys.first())
    }

    /// Returns the keys of a run that are in a range of rows; `None` if it is no run, whose keys are
    /// all keys of the range.
    pub(crate) fn points_in(&self, range: &RowRange) -> Option<Vec<RowRange>> {
        let inside = self.points.as_ref()?.iter().filter(|key| range.contains(key));
        let one = |key: &Bytes| RowRange {
            start: Bound::Included(key.clone()),
            end: Bound::Included(key.clone()),
        };
        Some(inside.map(one).collect())
    }
}
