//! What policies decide from, and what they decide.

use crate::compaction::settings::CompactionSettings;
use crate::options::Options;
use crate::store::{Division, StripeBounds};

/// Total size below which the files of an idle region always count as similar, at most: a merge for
/// each small flush would rewrite a large file again and again.
const MAX_IDLE_SMALL_BYTES: u64 = 16 << 20;

/// File statistics for the compaction policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that say nothing of one another")]
pub(crate) struct FileStats {
    pub(crate) bytes: u64,
    pub(crate) cells: u64,
    /// Sequence id of the file.
    pub(crate) sequence: u64,
    /// True for a part of another region's file, which should be rewritten soon.
    pub(crate) is_reference: bool,
    /// True for the result of a compaction of all files.
    pub(crate) is_major: bool,
    /// True for a bulk-load file that only a compaction of all files rewrites.
    pub(crate) is_excluded: bool,
    /// True while a compaction reads it.
    pub(crate) is_claimed: bool,
    /// Oldest timestamp in the file.
    pub(crate) oldest: Option<i64>,
    /// Newest timestamp in the file.
    pub(crate) newest: Option<i64>,
    /// True if the file contains delete markers.
    pub(crate) has_deletes: bool,
    /// Creation time, in milliseconds.
    pub(crate) created_ms: i64,
    /// Rows of its stripe; `None` for a file without one.
    pub(crate) stripe: Option<StripeBounds>,
}

/// Policy settings of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactionPolicy {
    pub(crate) min_files: usize,
    pub(crate) max_files: usize,
    pub(crate) ratio: f64,
    /// Total size below which a run of files always counts as similar.
    pub(crate) small_bytes: u64,
    /// Size at which memstores are flushed, unless the table has its own.
    pub(crate) flush_bytes: u64,
    pub(crate) major_interval_ms: i64,
    pub(crate) now: i64,
    /// Timestamp before which cells have expired; `None` if cells do not expire.
    pub(crate) oldest_unexpired: Option<i64>,
    /// True if a file is deleted without being read once all its cells have expired. False if the
    /// newest versions outlive their time to live.
    pub(crate) drops_expired: bool,
}

impl CompactionPolicy {
    /// Creates the policy of a store as of `now`. Its family has the settings `own`, the time to
    /// live `ttl_ms` and the minimum number of versions `min_versions`. If the region `is_idle`,
    /// even two files of quite different sizes are worth a merge.
    pub(crate) fn new(
        options: &Options,
        own: CompactionSettings,
        ttl_ms: Option<i64>,
        min_versions: u32,
        now: i64,
        is_idle: bool,
    ) -> Self {
        let expires =
            own.delete_expired_files.unwrap_or(options.delete_expired_files) && min_versions == 0;
        let usual_min = own.min_files.unwrap_or(options.min_compaction_files);
        let (min_files, ratio, small_bytes) = if is_idle {
            let ratio = own.idle_ratio.unwrap_or(options.idle_compaction_ratio);
            (usual_min.min(2), ratio, options.memstore_flush_bytes.min(MAX_IDLE_SMALL_BYTES))
        } else {
            let ratio = own.ratio.unwrap_or(options.compaction_ratio);
            (usual_min, ratio, options.memstore_flush_bytes)
        };
        Self {
            min_files,
            max_files: own.max_files.unwrap_or(options.max_compaction_files).max(min_files),
            ratio,
            small_bytes,
            flush_bytes: options.memstore_flush_bytes,
            major_interval_ms: options.major_compaction_interval_ms,
            now,
            oldest_unexpired: ttl_ms.map(|ttl| now.saturating_sub(ttl)),
            drops_expired: expires,
        }
    }
}

impl CompactionPolicy {
    /// Returns the timestamp before which files are deleted without being read, if they are.
    pub(super) fn expiry(&self) -> Option<i64> {
        self.oldest_unexpired.filter(|_| self.drops_expired)
    }
}

impl FileStats {
    /// Returns `true` if it has cells, and all of them are older than `oldest`.
    pub(super) fn is_older_than(&self, oldest: i64) -> bool {
        self.newest.is_some_and(|newest| newest < oldest)
    }
}

/// Compaction plan of a store; the numbers are indexes in the list of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompactionPlan {
    /// Deletion, without reading, of files in which every cell has expired.
    Drop(Vec<usize>),
    /// Merge of these files that retains delete markers.
    Minor(Vec<usize>),
    /// Merge of all files that drops cells invisible to all reads.
    Major,
    /// Merge of files of a striped store.
    Stripes(StripeMerge),
}

impl CompactionPlan {
    /// Returns the indexes of its files in a list of `count`.
    pub(crate) fn places(&self, count: usize) -> Vec<usize> {
        match self {
            Self::Drop(places) | Self::Minor(places) => places.clone(),
            Self::Major => (0..count).collect(),
            Self::Stripes(merge) => merge.inputs.clone(),
        }
    }
}

/// Merge of files of a striped store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StripeMerge {
    /// Indexes of the files, oldest first.
    pub(crate) inputs: Vec<usize>,
    pub(crate) division: Division,
    /// Rows all of whose files are merged, so that delete markers are dropped.
    pub(crate) complete_rows: Option<StripeBounds>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_family_replace_options() {
        let options = Options {
            min_compaction_files: 4,
            max_compaction_files: 8,
            compaction_ratio: 1.5,
            delete_expired_files: true,
            ..Options::default()
        };
        let default = CompactionPolicy::new(
            &options,
            CompactionSettings::default(),
            Some(100),
            0,
            1000,
            false,
        );
        assert_eq!((default.min_files, default.max_files, default.ratio), (4, 8, 1.5));
        assert_eq!((default.oldest_unexpired, default.drops_expired), (Some(900), true));
        let own = CompactionSettings {
            min_files: Some(9),
            max_files: Some(5),
            ratio: Some(2.0),
            idle_ratio: Some(7.0),
            delete_expired_files: Some(false),
        };
        let policy = CompactionPolicy::new(&options, own, None, 0, 1000, false);
        // A run is never longer than allowed and shorter than required.
        assert_eq!((policy.min_files, policy.max_files, policy.ratio), (9, 9, 2.0));
        assert_eq!((policy.oldest_unexpired, policy.drops_expired), (None, false));
        // The newest versions outlive their time to live.
        let kept =
            CompactionPolicy::new(&options, CompactionSettings::default(), Some(1), 2, 1000, false);
        assert!(!kept.drops_expired);
        let idle = CompactionPolicy::new(&options, own, None, 0, 1000, true);
        assert_eq!((idle.min_files, idle.max_files, idle.ratio), (2, 5, 7.0));
    }
}
