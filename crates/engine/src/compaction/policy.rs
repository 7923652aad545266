//! Compaction policy: a pure function of file sizes and ages that selects the files of a store to
//! compact.
//!
//! The rules are those of HBase's exploring policy: of all runs of adjacent files with similar
//! sizes, the one with most files, and among those the smallest. Files are passed oldest first, by
//! sequence id.

mod date_tiered;
mod ratio;
mod stripe_layout;
mod stripes;

pub(crate) use date_tiered::DateTiered;
pub(crate) use ratio::select_ratio;
pub(crate) use stripes::{StripeMerge, StripeSplit, Stripes};

use super::settings::CompactionSettings;
use crate::options::Options;
use crate::store::StripeBounds;

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

/// Returns the plan for a store's files, oldest first; `None` if there is nothing to do.
pub(crate) fn select(files: &[FileStats], policy: &CompactionPolicy) -> Option<CompactionPlan> {
    select_run(files, policy, best_run)
}

/// As [`select`], with another selection of similar files.
fn select_run(
    files: &[FileStats],
    policy: &CompactionPolicy,
    similar: impl FnOnce(&[FileStats], &CompactionPolicy) -> Option<std::ops::Range<usize>>,
) -> Option<CompactionPlan> {
    let expired = expired_files(files, policy);
    if expired.is_some() {
        return expired;
    }
    if files.iter().any(|file| file.is_reference) || is_major_due(files, policy) {
        return Some(CompactionPlan::Major);
    }
    let run = similar(files, policy)?;
    debug_assert!(
        run.len() >= policy.min_files && run.len() <= policy.max_files,
        "a run has as many files as the policy allows"
    );
    debug_assert!(
        !files[run.clone()].iter().any(|file| file.is_excluded),
        "excluded files are compacted with all others only"
    );
    // As in HBase, a run of all files may drop cells that no read can see.
    Some(if run.len() == files.len() {
        CompactionPlan::Major
    } else {
        CompactionPlan::Minor(run.collect())
    })
}

/// Returns the plan of HBase's FIFO policy, which merges nothing but parts of other regions' files.
pub(crate) fn select_fifo(
    files: &[FileStats],
    policy: &CompactionPolicy,
) -> Option<CompactionPlan> {
    let has_references = || files.iter().any(|file| file.is_reference);
    expired_files(files, policy).or_else(|| has_references().then_some(CompactionPlan::Major))
}

/// Returns the plan to delete the files in which every cell has expired; `None` if there are none.
fn expired_files(files: &[FileStats], policy: &CompactionPolicy) -> Option<CompactionPlan> {
    let oldest = policy.oldest_unexpired.filter(|_| policy.drops_expired)?;
    let expired: Vec<usize> = (0..files.len())
        .filter(|&i| files[i].newest.is_some_and(|newest| newest < oldest))
        .collect();
    (!expired.is_empty()).then_some(CompactionPlan::Drop(expired))
}

/// Returns `true` if a file is older than the major compaction interval. A single file that is the
/// result of a major compaction is rewritten only if it has delete markers or cells have expired
/// since (`RatioBasedCompactionPolicy.shouldPerformMajorCompaction`).
fn is_major_due(files: &[FileStats], policy: &CompactionPolicy) -> bool {
    let old = policy.major_interval_ms > 0
        && files
            .iter()
            .any(|file| policy.now.saturating_sub(file.created_ms) > policy.major_interval_ms);
    let has_expired = |file: &FileStats| {
        policy.oldest_unexpired.is_some_and(|least| file.oldest.is_none_or(|oldest| oldest < least))
    };
    let settled =
        matches!(files, [only] if only.is_major && !only.has_deletes && !has_expired(only));
    old && !settled
}

fn best_run(files: &[FileStats], policy: &CompactionPolicy) -> Option<std::ops::Range<usize>> {
    let mut best: Option<(std::ops::Range<usize>, u64)> = None;
    for start in 0..files.len() {
        let (mut total, mut largest) = (0_u64, 0);
        for (at, file) in files
            .iter()
            .enumerate()
            .skip(start)
            .take(policy.max_files)
            .take_while(|(_, file)| !file.is_excluded)
        {
            total = total.saturating_add(file.bytes);
            largest = largest.max(file.bytes);
            let length = at + 1 - start;
            if length < policy.min_files {
                continue;
            }
            // If the largest file is within the ratio, so are the others: each is smaller, and the
            // rest is larger.
            let alike =
                total < policy.small_bytes || is_in_ratio(largest, total - largest, policy.ratio);
            let better = match &best {
                None => true,
                Some((known, bytes)) => {
                    length > known.len() || length == known.len() && total < *bytes
                }
            };
            if alike && better {
                best = Some((start..at + 1, total));
            }
        }
    }
    best.map(|(run, _)| run)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of sizes needs no more than 53 bits")]
fn is_in_ratio(bytes: u64, others: u64, ratio: f64) -> bool {
    bytes as f64 <= others as f64 * ratio
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const POLICY: CompactionPolicy = CompactionPolicy {
        min_files: 3,
        max_files: 10,
        ratio: 1.2,
        small_bytes: 0,
        flush_bytes: 0,
        major_interval_ms: 0,
        now: 1000,
        oldest_unexpired: None,
        drops_expired: true,
    };

    pub(super) fn files(sizes: &[u64]) -> Vec<FileStats> {
        let file = |&bytes| FileStats {
            bytes,
            cells: 1,
            sequence: 1,
            is_reference: false,
            is_major: false,
            is_excluded: false,
            is_claimed: false,
            oldest: Some(400),
            newest: Some(500),
            has_deletes: false,
            created_ms: 900,
            stripe: None,
        };
        sizes.iter().map(file).collect()
    }

    #[test]
    fn files_of_similar_size_are_selected_without_large_ones() {
        assert_eq!(
            select(&files(&[1000, 10, 11, 9]), &POLICY),
            Some(CompactionPlan::Minor(vec![1, 2, 3]))
        );
        assert_eq!(select(&files(&[10, 11]), &POLICY), None);
        assert_eq!(select(&files(&[1000, 100, 10]), &POLICY), None);
        assert_eq!(select(&files(&[10, 10, 10]), &POLICY), Some(CompactionPlan::Major));
        assert_eq!(
            select(&files(&[10; 12]), &POLICY),
            Some(CompactionPlan::Minor((0..10).collect()))
        );
        assert_eq!(
            select(&files(&[1000, 10, 1, 1]), &CompactionPolicy { small_bytes: 100, ..POLICY }),
            Some(CompactionPlan::Minor(vec![1, 2, 3]))
        );
    }

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

    #[test]
    fn idle_region_merges_files_that_a_busy_one_keeps() {
        let of = |is_idle| {
            let settings = CompactionSettings::default();
            CompactionPolicy::new(&Options::default(), settings, None, 0, 1000, is_idle)
        };
        let sizes = |sizes: &[u64]| files(&sizes.iter().map(|mb| mb << 20).collect::<Vec<_>>());
        for unlike in [&[460, 198, 132][..], &[400, 100]] {
            assert_eq!(select(&sizes(unlike), &of(false)), None, "{unlike:?}");
            assert_eq!(select(&sizes(unlike), &of(true)), Some(CompactionPlan::Major));
        }
        assert_eq!(select(&sizes(&[400, 20]), &of(true)), None, "too little to gain");
        assert_eq!(select(&sizes(&[400]), &of(true)), None);
    }

    #[test]
    fn references_are_rewritten_and_expired_files_dropped() {
        let mut some = files(&[10, 20]);
        some[1].is_reference = true;
        assert_eq!(select(&some, &POLICY), Some(CompactionPlan::Major));
        some[0].newest = Some(3);
        assert_eq!(
            select(&some, &CompactionPolicy { oldest_unexpired: Some(4), ..POLICY }),
            Some(CompactionPlan::Drop(vec![0]))
        );
    }

    #[test]
    fn excluded_file_is_selected_only_by_major_compaction() {
        let mut some = files(&[10, 10, 10, 10, 10, 10]);
        some[1].is_excluded = true;
        assert_eq!(select(&some, &POLICY), Some(CompactionPlan::Minor(vec![2, 3, 4, 5])));
        assert_eq!(select(&some[..4], &POLICY), None);
        assert_eq!(
            select(&some, &CompactionPolicy { major_interval_ms: 50, ..POLICY }),
            Some(CompactionPlan::Major)
        );
    }

    #[test]
    fn old_store_is_rewritten_unless_already_major_compacted() {
        let policy = CompactionPolicy { major_interval_ms: 50, ..POLICY };
        assert_eq!(select(&files(&[10]), &policy), Some(CompactionPlan::Major));
        let mut settled = files(&[10]);
        settled[0].is_major = true;
        assert_eq!(select(&settled, &policy), None);
        settled[0].has_deletes = true;
        assert_eq!(select(&settled, &policy), Some(CompactionPlan::Major));
    }

    #[test]
    fn major_compacted_file_is_rewritten_when_cells_expire() {
        let mut settled = files(&[10]);
        settled[0].is_major = true;
        for drops_expired in [true, false] {
            let policy = CompactionPolicy { major_interval_ms: 50, drops_expired, ..POLICY };
            assert_eq!(
                select(&settled, &CompactionPolicy { oldest_unexpired: Some(400), ..policy }),
                None
            );
            assert_eq!(
                select(&settled, &CompactionPolicy { oldest_unexpired: Some(401), ..policy }),
                Some(CompactionPlan::Major)
            );
        }
        let outlived = CompactionPolicy {
            major_interval_ms: 50,
            drops_expired: false,
            oldest_unexpired: Some(501),
            ..POLICY
        };
        assert_eq!(
            select(&settled, &outlived),
            Some(CompactionPlan::Major),
            "the newest versions are kept"
        );
        assert_eq!(
            select(&settled, &CompactionPolicy { drops_expired: true, ..outlived }),
            Some(CompactionPlan::Drop(vec![0]))
        );
    }

    #[test]
    fn selection_handles_extreme_limits_and_thousands_of_files() {
        let no_limit = CompactionPolicy { min_files: usize::MAX, max_files: usize::MAX, ..POLICY };
        assert_eq!(select(&files(&[10, 10, 10]), &no_limit), None);
        let many = files(&vec![10; 5000]);
        assert_eq!(
            select(&many, &CompactionPolicy { max_files: usize::MAX, ..POLICY }),
            Some(CompactionPlan::Major)
        );
        assert_eq!(select(&files(&[u64::MAX, u64::MAX, u64::MAX]), &POLICY), None);
    }
}
