//! Many keys of few rows, which scans read instead of gets.

use std::collections::HashSet;

use halite_rowkey::plan::KeyRange;
use halite_types::Bytes;

use super::spec::ScanSpec;

/// Keys of one scan from which on it is cheaper than gets, as the example `point_reads` of
/// `halite` measures.
const MIN_KEYS: usize = 1000;
/// Rows per key up to which it is.
const ROWS_PER_KEY: u64 = 100;

impl ScanSpec {
    /// Returns the scans that read the keys of the plan; `None` if it is not a list of keys, or gets
    /// are cheaper: of few keys, and of few of the rows, as far as ANALYZE tells.
    pub(crate) fn point_runs(&self) -> Option<Vec<KeyRange>> {
        let statistics = self.target.statistics.as_ref()?;
        let keys = self.plan.ranges().take(MIN_KEYS).count();
        let is_of_whole_rows = self.template.batch.is_none() && !self.template.raw;
        let query = self.plan.query();
        let reads_all = query.limit.is_none() && self.first_of.is_none();
        if keys < MIN_KEYS || !reads_all || query.reverse || !is_of_whole_rows {
            return None;
        }
        let mut starts: Vec<Bytes> =
            self.target.regions.iter().map(|region| region.start.clone()).collect();
        starts.sort_unstable();
        let runs = self.plan.point_runs(&starts)?;
        let keys = self.plan.ranges().count();
        let region_of = |run: &KeyRange| {
            let key = run.first_point()?;
            Some(starts.partition_point(|start| start <= key))
        };
        let regions: HashSet<_> = runs.iter().map(region_of).collect();
        let rows = statistics.rows / starts.len().max(1) as u64 * regions.len() as u64;
        let is_dense = keys >= MIN_KEYS * runs.len() && rows <= keys as u64 * ROWS_PER_KEY;
        is_dense.then_some(runs)
    }
}
