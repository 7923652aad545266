//! HBase's exploring policy: of all runs of adjacent files with similar sizes, the one with most
//! files, and among those the smallest. Files are passed oldest first, by sequence id. Also the
//! FIFO policy, and what policies have in common.

use super::plan::{CompactionPlan, CompactionPolicy, FileStats};

/// Returns the plan for a store's files, oldest first; `None` if there is nothing to do.
pub(crate) fn select(files: &[FileStats], policy: &CompactionPolicy) -> Option<CompactionPlan> {
    select_run(files, policy, best_run)
}

/// As [`select`], with another selection of similar files.
pub(super) fn select_run(
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
pub(super) fn expired_files(
    files: &[FileStats],
    policy: &CompactionPolicy,
) -> Option<CompactionPlan> {
    let oldest = policy.expiry()?;
    let expired: Vec<usize> =
        (0..files.len()).filter(|&at| files[at].is_older_than(oldest)).collect();
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

pub(super) fn best_run(
    files: &[FileStats],
    policy: &CompactionPolicy,
) -> Option<std::ops::Range<usize>> {
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
pub(super) fn is_in_ratio(bytes: u64, others: u64, ratio: f64) -> bool {
    bytes as f64 <= others as f64 * ratio
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::compaction::settings::CompactionSettings;
    use crate::options::Options;

    pub(crate) const POLICY: CompactionPolicy = CompactionPolicy {
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

    pub(crate) fn files(sizes: &[u64]) -> Vec<FileStats> {
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
