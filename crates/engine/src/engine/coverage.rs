//! Coverage of a region's writes by its store files and the log: whether an unnamed store file has
//! cells that exist nowhere else.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{RegionEntry, layout};
use crate::env::Env;
use crate::hfile::{Cursor, DirectBlocks, Reader};

/// Sequence ids of a region that are covered by files and by the log. The files of some families
/// may reach further than those of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegionCoverage {
    /// Families whose files reach further, by the names of their directories.
    families: BTreeMap<String, SequenceCoverage>,
    others: SequenceCoverage,
}

/// Sequence ids that are covered by the files of a family and by the log.
#[derive(Clone, Copy, Debug, Default)]
struct SequenceCoverage {
    /// Sequence id up to which files contain everything.
    flushed: u64,
    /// First sequence id after that in the log, and the newest; `None` if the log has none.
    logged: Option<(u64, u64)>,
}

impl RegionCoverage {
    /// Returns the coverage by files alone.
    pub(crate) fn of_files(region: &RegionEntry) -> Self {
        let covered = |flushed| SequenceCoverage { flushed, logged: None };
        let family = |(family, flushed): (&bytes::Bytes, &u64)| {
            (layout::family_directory_name(family), covered(*flushed))
        };
        Self {
            families: region.family_flushed.iter().map(family).collect(),
            others: covered(region.flushed_sequence),
        }
    }

    /// Records a write in the log.
    pub(crate) fn record(&mut self, sequence: u64) {
        self.others.record(sequence);
        self.families.values_mut().for_each(|family| family.record(sequence));
    }

    /// Returns `true` if the file at `path`, in the directory of its family, contains cells that
    /// are missing from the other files and the log. `newest` is its newest sequence id.
    pub(crate) fn lacks(&self, env: &Env, path: &str, newest: u64) -> bool {
        let family = path.rsplit('/').nth(1).and_then(|directory| self.families.get(directory));
        family.unwrap_or(&self.others).lacks(env, path, newest)
    }
}

impl SequenceCoverage {
    fn record(&mut self, sequence: u64) {
        if sequence > self.flushed {
            let (first, newest) = self.logged.unwrap_or((sequence, sequence));
            self.logged = Some((first.min(sequence), newest.max(sequence)));
        }
    }

    /// See [`RegionCoverage::lacks`]. If the log was released up to a point, it starts after the
    /// cells of a file from that time.
    fn lacks(&self, env: &Env, path: &str, newest: u64) -> bool {
        let Some((first, last)) = self.logged.filter(|_| newest > self.flushed) else {
            return newest > self.flushed;
        };
        newest > last
            || (first > self.flushed + 1
                && oldest_after(env, path, self.flushed).is_none_or(|oldest| oldest < first))
    }
}

/// Returns the oldest sequence id after `flushed` of a cell in a file; `None` if the file cannot be
/// read.
fn oldest_after(env: &Env, path: &str, flushed: u64) -> Option<u64> {
    if let Some(sequence) = layout::loaded_sequence_of(path.rsplit('/').next().unwrap_or(path)) {
        return Some(sequence);
    }
    let mut cursor =
        Cursor::new(Arc::new(Reader::open(env.fs.open(path).ok()?, path).ok()?), DirectBlocks);
    cursor.seek_to_first().ok()?;
    let mut oldest = None;
    while let Some(sequence) = cursor.peek().map(|cell| cell.sequence_id()) {
        oldest = oldest.into_iter().chain((sequence > flushed).then_some(sequence)).min();
        cursor.advance().ok()?;
    }
    oldest
}
